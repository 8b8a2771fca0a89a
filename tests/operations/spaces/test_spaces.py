"""Spaces of vectors that callers bring: kept as given, found by cosine, gone with the text that they are of."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.testing import memory_host
from database_file import on_disk
from entrance import admin_of, call, change, data_of, reading, refused, rows, stats, told

spaces = admin_of("memory_vector_admin")


async def filled(host: AMemorixHostService, space: str, vectors: dict[str, list[float]], **each: Any) -> None:
    await spaces(host, "create_space", space=space)
    await spaces(host, "add", space=space, items=[{"id": id_, "vector": v, **each} for id_, v in vectors.items()])


async def nearest(host: AMemorixHostService, vector: list[float], space: str = "s", **args: Any) -> list[str]:
    return [item["id"] for item in (await spaces(host, "search", space=space, vector=vector, **args))["items"]]


def listed(some: np.ndarray) -> list[Any]:
    return some.astype(float).tolist()


async def test_what_is_given_comes_back(host: AMemorixHostService) -> None:
    given_: dict[str, list[float]] = {
        "long": [300.0, -400.0, 0.0],
        "short": [1e-6, 2e-6, 2e-6],
        "zero": [0.0, 0.0, 0.0],
        "whole": [1, 2, 3],
    }
    attributes = {"s": "text", "n": 1.5, "t": True, "none": None, "list": [1, "a"], "of": {"a": {"b": 2}}, "字": "符"}
    await filled(host, "s", given_, attributes=attributes)
    found = await spaces(host, "get", space="s", ids=["zero", "nobody", "long", "short", "whole"])
    assert [item["id"] for item in found["items"]] == ["zero", "long", "short", "whole"]
    assert found["missing"] == ["nobody"]
    for item in found["items"]:
        assert item["vector"] == pytest.approx(given_[item["id"]], rel=2e-3, abs=0)
        assert item["attributes"] == attributes
        assert item["expires_at"] is None
        assert item["ref"] is None


async def test_the_best_is_first_and_scores_are_cosines(host: AMemorixHostService) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(300, 24)) * rng.uniform(0.01, 900, size=(300, 1))
    vectors[7] = 0
    await filled(host, "s", {f"v{n}": listed(v) for n, v in enumerate(vectors)})
    query = rng.normal(size=24)
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = vectors @ query / np.where(lengths, lengths, 1) / np.linalg.norm(query)
    found = await spaces(host, "search", space="s", vector=listed(query), limit=300)
    assert len(found["items"]) == 300
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    for item in found["items"]:
        assert item["score"] == pytest.approx(cosines[int(item["id"][1:])], abs=2e-3)
    assert next(item["score"] for item in found["items"] if item["id"] == "v7") == 0
    assert await nearest(host, listed(vectors[42] * 5), limit=1) == ["v42"]
    assert len(await nearest(host, listed(query))) == 10, "ten, unless another number is given"
    best = await spaces(host, "search", space="s", vector=listed(query), limit=300, min_score=0.25)
    assert [one["id"] for one in best["items"]] == [one["id"] for one in found["items"] if one["score"] >= 0.25]
    opposite = await spaces(host, "search", space="s", vector=listed(-vectors[42]), limit=300)
    assert opposite["items"][-1]["id"] == "v42"
    assert opposite["items"][-1]["score"] == pytest.approx(-1, abs=2e-3)


async def test_a_zero_query_is_near_to_nothing(host: AMemorixHostService) -> None:
    await filled(host, "s", {"a": [1, 0], "b": [0, 0]})
    found = await spaces(host, "search", space="s", vector=[0, 0])
    assert [(item["id"], item["score"]) for item in found["items"]] == [("a", 0), ("b", 0)]


async def test_a_space_without_vectors_answers_with_none(host: AMemorixHostService) -> None:
    await spaces(host, "create_space", space="s")
    assert await nearest(host, [1, 2, 3]) == []
    listing = await spaces(host, "list", space="s")
    assert (listing["items"], listing["next"]) == ([], "")


async def test_the_first_vector_says_how_long_they_are(host: AMemorixHostService) -> None:
    await spaces(host, "create_space", space="s")
    await spaces(host, "create_space", space="fixed", dimension=2)
    assert (await spaces(host, "add", space="s", items=[{"vector": [1, 2, 3]}]))["dimension"] == 3
    shown = {
        one["space"]: (one["dimension"], one["count"], one["metric"]) for one in (await spaces(host, "spaces"))["items"]
    }
    assert shown == {"s": (3, 1, "cosine"), "fixed": (2, 0, "cosine")}
    for space, length in (("s", 2), ("s", 4), ("fixed", 3)):
        short = {"vector": [1.0] * length}
        await refused(
            host, "memory_vector_admin", {"action": "add", "space": space, "items": [short]}, "items.0.vector"
        )
        await refused(host, "memory_vector_admin", {"action": "search", "space": space, **short}, "vector")
    mixed = [{"vector": [1, 2]}, {"vector": [1, 2, 3]}]
    await spaces(host, "create_space", space="new")
    await refused(host, "memory_vector_admin", {"action": "add", "space": "new", "items": mixed}, "items.1.vector")
    assert (await spaces(host, "create_space", space="new", dimension=7))["dimension"] == 7, "nothing had fixed it"
    assert (await spaces(host, "create_space", space="new", dimension=7))["created"] is False
    await refused(
        host, "memory_vector_admin", {"action": "create_space", "space": "new", "dimension": 8}, "dimension", "conflict"
    )


@pytest.mark.parametrize("action, args", [
    ("add", {"items": [{"vector": [1]}]}), ("search", {"vector": [1]}), ("get", {"ids": ["a"]}), ("list", {}),
    ("delete", {"ids": ["a"]}), ("drop_space", {}),
])  # fmt: skip
async def test_a_space_that_is_not_there_is_named(host: AMemorixHostService, action: str, args: dict[str, Any]) -> None:
    told_ = await refused(
        host, "memory_vector_admin", {"action": action, "space": "nowhere", **args}, "space", "not_found"
    )
    assert "nowhere" in told_


@pytest.mark.parametrize("bad, field", [
    ({"vector": [1.0, math.nan]}, "items.0.vector.1"), ({"vector": [math.inf, 1.0]}, "items.0.vector.0"),
    ({"vector": []}, "items.0.vector"), ({"vector": [True, False]}, "items.0.vector.0"), ({"vector": "1,2"}, "items.0.vector"),
    ({"vector": ["x", "y"]}, "items.0.vector.0"), ({}, "items.0.vector"), ({"vector": [1.7e308, 1.7e308]}, "items.0.vector"),
    ({"vector": [1, 2], "attributes": ["no", "object"]}, "items.0.attributes"),
    ({"vector": [1, 2], "attributes": {"big": "x" * 100_000}}, "items.0.attributes"),
    ({"vector": [1, 2], "id": "x" * 600}, "items.0.id"), ({"vector": [1, 2], "id": "nul\0"}, "items.0.id"),
    ({"vector": [1, 2], "expires_at": "2001-01-01"}, "items.0.expires_at"), ({"vector": [1, 2], "ttl_seconds": -1}, "items.0.ttl_seconds"),
    ({"vector": [1, 2], "ref": {"source": "s", "external_id": "nobody"}}, "items.0.ref"),
])  # fmt: skip
async def test_what_cannot_be_a_vector_is_refused_by_name(
    host: AMemorixHostService, bad: dict[str, Any], field: str
) -> None:
    await spaces(host, "create_space", space="s")
    answer = await host.invoke(
        "memory_vector_admin", {"action": "add", "space": "s", "items": [bad, {"vector": [1, 2]}]}
    )
    assert answer["success"] is False
    assert answer["details"]["field"] == field
    assert field in answer["error"]
    assert (await spaces(host, "spaces"))["items"][0]["count"] == 0, "all of a call or nothing"


@pytest.mark.parametrize("bad", [[1.0, math.nan], [math.inf, 1.0], [], "x", None])
async def test_no_query_is_refused_by_name(host: AMemorixHostService, bad: Any) -> None:
    await filled(host, "s", {"a": [1, 0]})
    answer = await host.invoke("memory_vector_admin", {"action": "search", "space": "s", "vector": bad})
    assert answer["error_code"] == "invalid_request"
    assert answer["details"]["field"].startswith("vector")


async def test_ids_are_made_where_none_is_given(host: AMemorixHostService) -> None:
    await spaces(host, "create_space", space="s")
    added = await spaces(
        host, "add", space="s", items=[{"vector": [1, 0]}, {"id": "mine", "vector": [0, 1]}, {"vector": [1, 1]}]
    )
    assert (added["count"], added["replaced"]) == (3, 0)
    assert added["ids"][1] == "mine"
    assert len(set(added["ids"])) == 3
    assert await nearest(host, [1, 0], limit=1) == added["ids"][:1]


async def test_an_id_is_of_one_vector_the_last_one(host: AMemorixHostService) -> None:
    await filled(host, "s", {"a": [1, 0], "b": [0, 1]}, attributes={"old": 1})
    await filled(host, "other", {"a": [1, 1]})
    assert await nearest(host, [1, 0], limit=1) == ["a"]
    again = await spaces(host, "add", space="s", items=[{"id": "a", "vector": [0, 5]}, {"id": "b", "vector": [3, 0]}])
    assert (again["count"], again["replaced"]) == (2, 2)
    assert await nearest(host, [1, 0]) == ["b", "a"]
    found = await spaces(host, "get", space="s", ids=["a"])
    assert (found["items"][0]["vector"], found["items"][0]["attributes"]) == ([0, 5], {})
    assert (await spaces(host, "get", space="other", ids=["a"]))["items"][0]["vector"] == pytest.approx(
        [1, 1], rel=2e-3
    )
    twice = [{"id": "c", "vector": [1, 0]}, {"id": "c", "vector": [0, 1]}]
    await refused(host, "memory_vector_admin", {"action": "add", "space": "s", "items": twice}, "items.1.id")


async def test_filters_compare_attributes(host: AMemorixHostService) -> None:
    await spaces(host, "create_space", space="s")
    some = [
        {"kind": "a", "n": 1}, {"kind": "a", "n": 2}, {"kind": "b", "n": 1.0}, {"kind": "b", "t": True}, {"kind": None},
        {"deep": {"x": 1}}, {}, {"list": [1, 2]}, {'q"uo.te': "'"}, {"t": 1}, {"n": "1"},
    ]  # fmt: skip
    await spaces(
        host,
        "add",
        space="s",
        items=[{"id": str(n), "vector": [1, n], "attributes": one} for n, one in enumerate(some)],
    )
    wanted: list[tuple[dict[str, Any], list[str]]] = [
        ({"kind": "a"}, ["0", "1"]), ({"kind": "a", "n": 2}, ["1"]), ({"n": 1}, ["0", "2"]), ({"t": True}, ["3"]), ({"t": 1}, ["9"]),
        ({"kind": None}, ["4"]), ({"deep": {"x": 1}}, ["5"]), ({"list": [1, 2]}, ["7"]), ({'q"uo.te': "'"}, ["8"]), ({"n": "1"}, ["10"]),
        ({"kind": "c"}, []), ({}, [str(n) for n in range(11)]),
    ]  # fmt: skip
    for filters, ids in wanted:
        assert await nearest(host, [1, 0], filters=filters, limit=50) == ids, filters
        assert [one["id"] for one in (await spaces(host, "list", space="s", filters=filters))["items"]] == ids
    assert (await spaces(host, "delete", space="s", filters={"kind": "a"}))["deleted_count"] == 2
    assert (await spaces(host, "delete", space="s", filters={"kind": "a"}))["deleted_count"] == 0
    await refused(host, "memory_vector_admin", {"action": "delete", "space": "s"}, "ids")
    await refused(host, "memory_vector_admin", {"action": "delete", "space": "s", "filters": {}}, "ids")
    assert (await spaces(host, "spaces"))["items"][0]["count"] == 9


async def test_a_rare_attribute_is_found_among_many(host: AMemorixHostService) -> None:
    rng = np.random.default_rng(5)
    await spaces(host, "create_space", space="s")
    items = [
        {"id": f"v{n}", "vector": listed(v), "attributes": {"rare": n % 1000 == 0}}
        for n, v in enumerate(rng.normal(size=(3000, 8)))
    ]
    await spaces(host, "add", space="s", items=items)
    assert sorted(await nearest(host, [1.0] * 8, filters={"rare": True}, limit=10)) == ["v0", "v1000", "v2000"]


async def test_listing_goes_on_while_others_write(host: AMemorixHostService) -> None:
    await filled(host, "s", {f"v{n}": [1, n] for n in range(10)})
    first = await spaces(host, "list", space="s", limit=4)
    assert [item["id"] for item in first["items"]] == ["v0", "v1", "v2", "v3"]
    assert "vector" not in first["items"][0] or first["items"][0]["vector"] is None
    await spaces(host, "delete", space="s", ids=["v1", "v4"])
    await spaces(host, "add", space="s", items=[{"id": "v10", "vector": [1, 10]}])
    second = await spaces(host, "list", space="s", limit=4, cursor=first["next"], vectors=True)
    assert [item["id"] for item in second["items"]] == ["v5", "v6", "v7", "v8"]
    assert second["items"][0]["vector"] == pytest.approx([1, 5], rel=2e-3)
    third = await spaces(host, "list", space="s", limit=4, cursor=second["next"])
    assert [item["id"] for item in third["items"]] == ["v9", "v10"]
    assert third["next"] == ""


async def test_what_has_expired_is_gone_at_the_moment(host: AMemorixHostService, clock: FrozenClock) -> None:
    await filled(host, "s", {"stays": [1, 0]})
    await spaces(host, "add", space="s", items=[
        {"id": "a", "vector": [1, 0.1], "ttl_seconds": 60}, {"id": "b", "vector": [1, 0.2], "expires_at": clock.now() + 120},
    ])  # fmt: skip
    assert (await spaces(host, "get", space="s", ids=["a"]))["items"][0]["expires_at"] == clock.now() + 60
    for seconds, left in ((59, ["stays", "a", "b"]), (1, ["stays", "b"]), (60, ["stays"])):
        clock.advance(seconds)
        assert await nearest(host, [1, 0]) == left
        assert [one["id"] for one in (await spaces(host, "list", space="s"))["items"]] == left
        assert (await spaces(host, "spaces"))["items"][0]["count"] == len(left)
    assert (await spaces(host, "get", space="s", ids=["a"]))["missing"] == ["a"]
    again = await spaces(host, "add", space="s", items=[{"id": "a", "vector": [0, 1]}])
    assert again["replaced"] == 0, "what had expired is not there"
    assert rows(host, "select count(*) from space_vectors") == [(2,)], "nor is it kept for ever"


async def test_deleting_and_dropping(host: AMemorixHostService) -> None:
    await filled(host, "s", {"a": [1, 0], "b": [0, 1], "c": [1, 1]})
    await filled(host, "t", {"a": [1, 0]})
    assert await nearest(host, [1, 0]) == ["a", "c", "b"]
    gone = await spaces(host, "delete", space="s", ids=["a", "nobody"])
    assert (gone["deleted_count"], gone["missing"]) == (1, ["nobody"])
    assert await nearest(host, [1, 0]) == ["c", "b"]
    assert (await spaces(host, "drop_space", space="s"))["deleted_count"] == 2
    assert [one["space"] for one in (await spaces(host, "spaces"))["items"]] == ["t"]
    await filled(host, "s", {"x": [1, 0, 0]})
    assert await nearest(host, [1, 0, 0]) == ["x"], "a new one of that name begins empty"
    assert await nearest(host, [1, 0], "t") == ["a"]


async def test_a_space_comes_with_the_first_vector_and_goes_with_the_last(host: AMemorixHostService) -> None:
    async def names() -> list[str]:
        return [one["space"] for one in (await spaces(host, "spaces"))["items"]]

    added = await spaces(host, "add", space="s", create=True, items=[{"id": "a", "vector": [1, 0]}])
    assert (added["dimension"], await names()) == (2, ["s"])
    await spaces(host, "add", space="s", create=True, items=[{"id": "b", "vector": [0, 1]}])
    item = {"id": "c", "vector": [0, 1, 2]}
    await refused(
        host, "memory_vector_admin", {"action": "add", "space": "s", "create": True, "items": [item]}, "items.0.vector"
    )
    await spaces(host, "delete", space="s", ids=["a"], drop_empty=True)
    assert await nearest(host, [1, 0]) == ["b"]
    await spaces(host, "delete", space="s", ids=["b"])
    assert await names() == ["s"]
    await spaces(host, "create_space", space="s", dimension=3, replace_empty=True)
    await spaces(host, "add", space="s", create=True, items=[item])
    assert await nearest(host, [0, 1, 2]) == ["c"]
    await spaces(host, "delete", space="s", ids=["c"], drop_empty=True)
    assert await names() == []


async def test_a_space_that_shows_nothing_may_take_another_dimension(
    host: AMemorixHostService, clock: FrozenClock
) -> None:
    await told(host, "The kite is red.", source="notes", external_id="n1", ttl_seconds=50)
    await filled(host, "s", {"a": [1, 0]}, ref={"source": "notes", "external_id": "n1"})
    wanted = {"action": "create_space", "space": "s", "dimension": 3, "replace_empty": True}
    await refused(host, "memory_vector_admin", wanted, "dimension", "conflict")
    clock.advance(51)
    assert (await spaces(host, **wanted))["dimension"] == 3
    await filled(host, "s", {"x": [1, 0, 0]})
    assert await nearest(host, [1, 0, 0]) == ["x"]


async def test_a_vector_is_of_a_text(host: AMemorixHostService, clock: FrozenClock) -> None:
    note = {"source": "notes", "external_id": "n1"}
    await told(host, "The kite is red.", **note)
    await told(host, "The boat is blue.", source="notes", external_id="n2", ttl_seconds=50)
    await filled(host, "s", {"a": [1, 0]}, ref=note)
    await filled(host, "s", {"b": [1, 1]}, ref={"source": "notes", "external_id": "n2"})
    await filled(host, "s", {"free": [0, 1]})
    shown = (await spaces(host, "search", space="s", vector=[1, 0]))["items"]
    assert [(one["id"], one["ref"] and one["ref"]["external_id"]) for one in shown] == [
        ("a", "n1"),
        ("b", "n2"),
        ("free", None),
    ]
    clock.advance(60)
    assert await nearest(host, [1, 0]) == ["a", "free"], "the text has expired"
    await told(host, "The kite is green now.", **note)
    assert await nearest(host, [1, 0]) == ["a", "free"], "another wording is the same text"
    deleted = await call(host, "memory_delete_admin", "execute", mode="source", selector={"source": "notes"})
    assert await nearest(host, [1, 0]) == ["free"], "a deleted text hides them"
    await call(host, "memory_delete_admin", "restore", operation_id=deleted["operation_id"])
    assert await nearest(host, [1, 0]) == ["a", "free"]
    await refused(
        host,
        "memory_vector_admin",
        {"action": "add", "space": "s", "items": [{"vector": [1, 0], "ref": {"source": "notes"}}]},
        "items.0.ref.external_id",
    )


async def test_a_purge_of_the_text_takes_the_vectors(host: AMemorixHostService) -> None:
    vector = listed(np.random.default_rng(1).normal(size=32))
    note = {"source": "notes", "external_id": "n1"}
    await told(host, "The kite is red.", **note)
    await filled(host, "s", {"vessel-of-the-kite": vector}, ref=note, attributes={"said": "Wolkenkratzerfahrstuhl"})
    await filled(host, "s", {"free": [1.0] * 32}, attributes={"said": "stays here"})
    before = b"".join(on_disk(data_of(host)))
    unit = np.array(vector) / np.linalg.norm(vector)
    needles = [b"vessel-of-the-kite", b"Wolkenkratzerfahrstuhl", unit.astype("<f2").tobytes()]
    assert all(needle in before for needle in needles)
    deleted = await call(host, "memory_delete_admin", "execute", mode="source", selector={"source": "notes"})
    purged = await call(host, "memory_delete_admin", "purge", operation_id=deleted["operation_id"])
    (done,) = purged["operations"]
    assert (done["status"], done["receipt"]["found"], done["receipt"]["complete"]) == ("purged", {}, True)
    after = b"".join(on_disk(data_of(host)))
    assert not [needle for needle in needles if needle in after]
    assert b"stays here" in after
    assert await nearest(host, vector) == ["free"]


@pytest.mark.parametrize("how", ["ids", "filters", "space"])
async def test_vectors_that_were_deleted_are_on_no_page_any_more(host: AMemorixHostService, how: str) -> None:
    vector = listed(np.random.default_rng(1).normal(size=32))
    await filled(host, "s", {"vessel-of-the-kite": vector}, attributes={"said": "Wolkenkratzerfahrstuhl"})
    await filled(host, "t", {"free": [1.0] * 32}, attributes={"said": "stays here"})
    unit = np.array(vector) / np.linalg.norm(vector)
    needles = [b"vessel-of-the-kite", b"Wolkenkratzerfahrstuhl", unit.astype("<f2").tobytes()]
    assert all(needle in b"".join(on_disk(data_of(host))) for needle in needles)
    match how:
        case "ids":
            gone = await spaces(host, "delete", space="s", ids=["vessel-of-the-kite"])
        case "filters":
            gone = await spaces(host, "delete", space="s", filters={"said": "Wolkenkratzerfahrstuhl"})
        case _:
            gone = await spaces(host, "drop_space", space="s")
    assert (gone["deleted_count"], gone["warnings"]) == (1, [])
    assert not [needle for needle in needles if needle in b"".join(on_disk(data_of(host)))]
    assert b"stays here" in b"".join(on_disk(data_of(host)))


async def test_a_reader_that_holds_the_log_open_is_told(host: AMemorixHostService) -> None:
    await filled(host, "s", {"vessel-of-the-kite": [1.0] * 32})
    with reading(host) as db:
        db.execute("select count(*) from space_vectors").fetchone()
        gone = await spaces(host, "delete", space="s", ids=["vessel-of-the-kite"])
        assert gone["deleted_count"] == 1
        assert "write-ahead log" in gone["warnings"][0]


async def test_it_is_all_there_after_a_restart_and_an_export(tmp_path: Path) -> None:
    folder, other = tmp_path / "one", tmp_path / "two"
    async with memory_host(folder) as host:
        await told(host, "The kite is red.", source="notes", external_id="n1")
        await filled(
            host, "s", {"a": [1, 2], "b": [2, 1]}, attributes={"k": "v"}, ref={"source": "notes", "external_id": "n1"}
        )
    async with memory_host(folder) as host:
        assert await nearest(host, [1, 2]) == ["a", "b"]
        assert (await stats(host))["space_vectors"] == 2
        exported = await call(host, "memory_runtime_admin", "export", vectors=False)
        file = Path(exported["path"])
        assert json.loads(file.read_bytes().splitlines()[0])
        before = await spaces(host, "get", space="s", ids=["a", "b"])
    async with memory_host(other, backup={"roots": [str(file.parent)]}) as host:
        await call(host, "memory_runtime_admin", "import_export", path=str(file))
        assert await spaces(host, "get", space="s", ids=["a", "b"]) == before
        assert await nearest(host, [1, 2]) == ["a", "b"]


async def test_a_backup_holds_them(host: AMemorixHostService) -> None:
    await filled(host, "s", {"a": [1, 2]})
    assert await nearest(host, [1, 2]) == ["a"]
    made = await call(host, "memory_runtime_admin", "backup")
    await spaces(host, "add", space="s", items=[{"id": "b", "vector": [1, 2]}])
    await spaces(host, "delete", space="s", ids=["a"])
    assert await nearest(host, [1, 2]) == ["b"]
    await call(host, "memory_runtime_admin", "restore", backup=made["backup"]["id"])
    assert await nearest(host, [1, 2]) == ["a"]


@settings(max_examples=40)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=40))
async def test_any_vector_comes_back_within_float16(vector: list[float]) -> None:
    from amemorix.spaces.service import given_back, unit_of

    raw, norm = unit_of(vector)
    back, length = np.array(given_back(raw, norm)), np.linalg.norm(np.array(vector, np.float64))
    assert np.abs(back - vector).max() <= length * 2**-10


async def test_a_damaged_vector_is_found_and_hurts_no_other(host: AMemorixHostService) -> None:
    async def is_sound() -> bool:
        report = (await call(host, "memory_runtime_admin", "refresh_self_check"))["report"]
        return {one["name"]: one["ok"] for one in report["findings"]}["spaces"]

    await filled(host, "s", {"a": [1, 2], "b": [2, 1]})
    assert await is_sound()
    change(host, "update space_vectors set vector = x'00' where external_id = 'a'")
    assert not await is_sound()
    assert await nearest(host, [1, 2]) == ["b"]
