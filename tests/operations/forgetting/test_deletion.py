"""Deleting after a look, and bringing back."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import HashEmbedder, pause_background, resume_background
from conftest import Open
from entrance import admin_of, change, contents, hits, refused, rows, said, stats, told
from memory_dump import tables

ADMIN = "memory_delete_admin"


admin = admin_of(ADMIN)


async def kite(host: AMemorixHostService) -> None:
    """Three notes; the first two support the same relation."""
    hangs = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    await told(host, "The kite hangs in the hall.", source="a", chat_id="c", external_id="1", relations=[hangs])
    await told(host, "Yes, the kite is in that hall.", source="b", chat_id="c", external_id="2", relations=[hangs])
    await told(host, "A lamp stands in the attic.", source="a", chat_id="d", external_id="3", entities=["lamp"])


# preview


async def test_a_preview_tells_everything_and_writes_nothing(host: AMemorixHostService) -> None:
    await kite(host)
    before = await tables(host)

    seen = await admin(host, "preview", mode="source", selector="a")

    assert await tables(host) == before
    assert seen["counts"]["paragraphs"] == 2 and seen["counts"]["relations"] == 0
    assert seen["counts"]["external_refs"] == 2 and seen["counts"]["sources"] == 1
    assert [(item["item_type"], item["label"], item["source"], item["why"]) for item in seen["items"]] == [
        ("paragraph", "The kite hangs in the hall.", "a", "selected"),
        ("paragraph", "A lamp stands in the attic.", "a", "selected"),
    ]
    assert [(item["item_type"], item["label"], item["why"]) for item in seen["stays"]] == [
        ("relation", "kite hangs in hall", "other memories support it")
    ]
    assert seen["sources"] == ["a"] and seen["plan_token"]


async def test_the_items_of_a_preview_are_at_most_a_hundred(host: AMemorixHostService) -> None:
    await said(host, "c", *[("Ann", f"kite {n}", 1000 + n) for n in range(130)])
    seen = await admin(host, "preview", mode="chat", selector="c")
    assert (seen["counts"]["paragraphs"], len(seen["items"])) == (130, 100)


async def test_a_plan_that_has_changed_is_not_carried_out(host: AMemorixHostService) -> None:
    await kite(host)
    token = (await admin(host, "preview", mode="source", selector="a"))["plan_token"]
    await told(host, "Another kite.", source="a", chat_id="c", external_id="9")
    args = {"action": "execute", "mode": "source", "selector": "a", "plan_token": token}
    await refused(host, ADMIN, args, "plan_token", "conflict")

    args["plan_token"] = (await admin(host, "preview", mode="source", selector="a"))["plan_token"]
    assert (await host.invoke(ADMIN, args))["deleted_paragraph_count"] == 3


# cascades


async def test_a_relation_goes_with_its_last_evidence(host: AMemorixHostService) -> None:
    await kite(host)
    first = await admin(host, "execute", mode="source", selector={"sources": ["a"]}, chat_id="c")
    assert (first["deleted_paragraph_count"], first["deleted_relation_count"]) == (1, 0)
    second = await admin(host, "execute", mode="source", selector=["b"])
    assert (second["deleted_paragraph_count"], second["deleted_relation_count"]) == (1, 1)
    assert (await stats(host))["relations"] == 0


async def test_what_fell_with_another_deletion_comes_back_with_its_evidence(host: AMemorixHostService) -> None:
    await kite(host)
    first = await admin(host, "execute", mode="source", selector="a")
    second = await admin(host, "execute", mode="source", selector="b")
    await admin(host, "restore", operation_id=first["operation_id"])
    assert (await stats(host))["relations"] == 1
    assert (await admin(host, "restore", operation_id=second["operation_id"]))["status"] == "restored"
    assert (await stats(host))["relations"] == 1


async def test_a_relation_is_deleted_by_id_words_or_ends(host: AMemorixHostService) -> None:
    await kite(host)
    for selector in (
        "r1", "1", 1, [1], {"ids": ["r1"]}, {"query": "kite hangs"}, "hangs in",
        {"subject": "Kite", "object": "hall"},
    ):  # fmt: skip
        done = await admin(host, "execute", mode="relation", selector=selector)
        assert (done["deleted_relation_count"], done["deleted_paragraph_count"]) == (1, 0)
        await admin(host, "restore", operation_id=done["operation_id"])


async def test_an_entity_takes_its_relations_and_its_paragraphs_when_asked(host: AMemorixHostService) -> None:
    await kite(host)
    seen = await admin(host, "preview", mode="entity", selector="Kite")
    assert (seen["counts"]["entities"], seen["counts"]["relations"], seen["counts"]["paragraphs"]) == (1, 1, 0)
    whole = await admin(host, "execute", mode="entity", selector={"names": ["kite"]}, include_paragraphs=True)
    assert (whole["deleted_entity_count"], whole["deleted_paragraph_count"]) == (1, 2)
    assert await contents(host, "kite hall") == []


async def test_a_deletion_of_one_chat_leaves_what_another_holds(host: AMemorixHostService) -> None:
    await kite(host)
    await told(host, "My kite too.", chat_id="d", external_id="4",
               relations=[{"subject": "kite", "predicate": "hangs in", "object": "hall"}])  # fmt: skip
    seen = await admin(host, "preview", mode="entity", selector="kite", chat_id="c", include_paragraphs=True)
    assert (seen["counts"]["entities"], seen["counts"]["relations"], seen["counts"]["paragraphs"]) == (1, 1, 2)
    assert {(item["item_type"], item["why"]) for item in seen["stays"]} >= {
        ("entity", "it stays if another chat holds it too"), ("relation", "it stays if another chat holds it too"),
    }  # fmt: skip
    done = await admin(host, "execute", mode="entity", selector="kite", chat_id="c", include_paragraphs=True,
                       plan_token=seen["plan_token"])  # fmt: skip
    assert (done["deleted_entity_count"], done["deleted_relation_count"], done["deleted_paragraph_count"]) == (0, 0, 2)
    assert {(item["item_type"], item["why"]) for item in done["stays"]} >= {
        ("entity", "another chat holds it too"), ("relation", "another chat holds it too"),
    }  # fmt: skip
    await admin(host, "restore", operation_id=done["operation_id"])
    await refused(host, ADMIN, {"action": "execute", "mode": "relation", "selector": 1, "chat_id": "d"}, "selector",
                  "not_found")  # fmt: skip


async def test_a_paragraph_is_deleted_by_id_hash_external_id_or_words(host: AMemorixHostService) -> None:
    await told(host, "花生过敏的事要记住。", external_id="zh", chat_id="c")
    await told(host, "The kite hangs in the hall.", external_id="en", chat_id="c")
    (hit,) = await hits(host, "kite", limit=1)
    for selector in (hit["id"], hit["id"][1:], {"hash": hit["hash"]}, hit["hash"], {"external_ids": ["en"]},
                     {"query": "KITE  hangs"}, "kite hangs"):  # fmt: skip
        done = await admin(host, "execute", mode="paragraph", selector=selector)
        assert [item["label"] for item in done["items"]] == ["The kite hangs in the hall."], selector
        await admin(host, "restore", operation_id=done["operation_id"])
    done = await admin(host, "execute", mode="paragraph", selector="花生過敏")
    assert [item["label"] for item in done["items"]] == ["花生过敏的事要记住。"]


async def test_older_wordings_go_with_the_text(host: AMemorixHostService) -> None:
    for text in ("my pin is 1234", "my pin is secret"):
        await told(host, text, external_id="x", chat_id="c")
    done = await admin(host, "execute", mode="paragraph", selector={"query": "secret"})
    assert (done["counts"]["paragraphs"], done["counts"]["superseded"]) == (1, 1)
    assert rows(host, "select count(*) from paragraphs where deleted_at is null") == [(0,)]


async def test_several_kinds_at_once(host: AMemorixHostService) -> None:
    await kite(host)
    done = await admin(
        host, "execute", mode="mixed",
        selector={"paragraph_ids": ["p1"], "sources": ["b"], "entity_names": ["lamp"], "relation_ids": []},
    )  # fmt: skip
    assert done["counts"]["paragraphs"] == 2 and done["counts"]["relations"] == 1 and done["counts"]["entities"] == 1


# persons and chats


async def party(host: AMemorixHostService) -> None:
    await said(host, "en", ("Mia", "I drink coffee, black."), ("Bob", "Mia hates tea!"), ("Bob", "The miasma is thick."),
               ("Bob", "It rains."))  # fmt: skip
    await said(host, "zh", ("林澈", "我对花生过敏。"), ("小雨", "林澈不吃花生。"), ("小雨", "下雨了。"))
    await told(host, "A note on coffee.", person_ids=["Mia"], chat_id="en", external_id="n")


@pytest.mark.parametrize(
    ("person", "said_or_bound", "mentioned", "kept"),
    [
        ("Mia", ["A note on coffee.", "I drink coffee, black."], ["Mia hates tea!"], 5),
        ("林澈", ["我对花生过敏。"], ["林澈不吃花生。"], 6),
    ],
)
async def test_everything_of_a_person_is_one_call(
    host: AMemorixHostService, person: str, said_or_bound: list[str], mentioned: list[str], kept: int
) -> None:
    await party(host)
    alone = await admin(host, "preview", mode="person", selector=person, include_mentions=False)
    assert sorted(i["label"] for i in alone["items"] if i["item_type"] == "paragraph") == sorted(said_or_bound)

    done = await admin(
        host, "execute", mode="person", selector={"person_id": person}, requested_by="op", reason="asked"
    )

    gone = [item["label"] for item in done["items"] if item["item_type"] == "paragraph"]
    assert sorted(gone) == sorted([*said_or_bound, *mentioned])
    assert (await stats(host))["paragraphs"] == kept
    assert done["counts"]["persons"] == 1


async def test_a_person_in_one_chat_only(host: AMemorixHostService) -> None:
    await party(host)
    await said(host, "other", ("Mia", "Coffee again."))
    done = await admin(host, "execute", mode="person", selector="Mia", chat_id="other")
    assert [item["label"] for item in done["items"]] == ["Coffee again."]


async def test_what_is_known_of_a_person_goes_and_comes_back(host: AMemorixHostService) -> None:
    await pause_background(host)  # nothing is derived beside what the test writes
    await party(host)
    [person] = rows(host, "select id from persons where name = 'Mia'")
    change(host, "insert into facts (person, scope, attribute, value, norm, cardinality, stability, authority, status, "
                 "confidence, recorded_at, valid_from, asserted_at) values (?, 1, 'drink', 'coffee', 'coffee', 'set', 'stable', 'manual', 'active', 1, 1.5, 1.5, 1.5)",
                 person)  # fmt: skip
    change(host, "insert into profile_overrides values (?, 'a friend', '', '', 2.5)", person)
    change(host, "insert into person_aliases values (?, 0, 'mimi', 'Mimi', 'admin', 3.5)", person)
    before = await tables(host)
    done = await admin(host, "execute", mode="person", selector="Mia")
    assert (done["counts"]["facts"], done["counts"]["profiles"], done["counts"]["aliases"]) == (1, 1, 1)
    kept = "select (select count(*) from profile_overrides), (select count(*) from person_aliases)"
    assert rows(host, kept) == [(0, 0)]
    await admin(host, "restore", operation_id=done["operation_id"])
    assert await tables(host) == before


async def test_a_name_that_several_have_is_not_guessed(host: AMemorixHostService) -> None:
    for person in ("u1", "u2"):
        await host.invoke("ingest_messages", {"chat_id": person, "messages": [
            {"speaker": "Lee", "person_id": person, "text": "kite"}]})  # fmt: skip
    error = await refused(
        host, ADMIN, {"action": "preview", "mode": "person", "selector": "Lee"}, "selector", "conflict"
    )
    assert "u1, u2" in error
    assert (await admin(host, "execute", mode="person", selector="u1"))["deleted_paragraph_count"] == 1


@pytest.mark.parametrize(
    "wish",
    [
        {"mode": "person", "selector": "Lee"},
        {"mode": "person", "selector": {"person_id": "Lee"}},
        {"mode": "mixed", "selector": {"person_ids": ["Lee"]}},
    ],
)
async def test_an_id_that_is_the_name_of_somebody_else_too_is_that_person(
    host: AMemorixHostService, wish: dict[str, Any]
) -> None:
    turns = [{"speaker": "Lee", "text": "A kite"}, {"speaker": "Lee", "person_id": "u2", "text": "A lamp"}]
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns})
    seen = await admin(host, "preview", **wish)
    assert [one["label"] for one in seen["items"] if one["item_type"] == "paragraph"] == ["A kite"]
    assert [one["label"] for one in seen["stays"] if one["item_type"] == "person"] == ["u2"]
    assert (await admin(host, "execute", **wish))["deleted_paragraph_count"] == 1
    assert await contents(host, "lamp", chat_id="c") == ["A lamp"]
    assert (await admin(host, "execute", purge=True, **wish))["status"] == "purged"
    assert (await admin(host, "execute", mode="person", selector="Lee"))["deleted_paragraph_count"] == 1, "it is u2 now"


@pytest.mark.parametrize("given", [{"selector": "zh"}, {"chat_id": "zh"}, {"selector": {"chat_ids": ["zh"]}}])
async def test_a_chat_is_cleared_by_one_call(host: AMemorixHostService, given: dict[str, Any]) -> None:
    await party(host)
    done = await admin(host, "execute", mode="chat", **given)
    assert (done["deleted_paragraph_count"], done["counts"]["chats"]) == (3, 1)
    assert await contents(host, "花生", chat_id="zh") == []
    assert await contents(host, "coffee", chat_id="en")


# restore


async def test_a_restored_deletion_is_as_if_it_had_not_been(dense_host: AMemorixHostService) -> None:
    await kite(dense_host)
    await dense_host.settle(600)
    before, ranked = await tables(dense_host), await hits(dense_host, "kite hall lamp", limit=20)
    done = await admin(dense_host, "execute", mode="mixed", selector={"sources": ["a", "b"], "entity_names": ["kite"]})
    await dense_host.settle(600)
    assert await hits(dense_host, "kite hall lamp", limit=20) == []

    back = await admin(dense_host, "restore", operation_id=done["operation_id"])
    await dense_host.settle(600)

    assert (back["status"], back["not_restored"]) == ("restored", [])
    assert back["counts"] == {"entity": 1, "paragraph": 3, "ref": 3, "relation": 1}
    assert await tables(dense_host) == before
    assert await hits(dense_host, "kite hall lamp", limit=20) == ranked


async def test_single_items_come_back_with_what_hangs_on_them(host: AMemorixHostService) -> None:
    await kite(host)
    done = await admin(host, "execute", mode="mixed", selector={"sources": ["a", "b"]})
    back = await admin(host, "restore", operation_id=done["operation_id"], items=["p2"])
    assert (back["status"], back["counts"]) == ("executed", {"paragraph": 1, "ref": 1, "relation": 1})
    shown = await admin(host, "get_operation", operation_id=done["operation_id"])
    assert {i["item_key"] for i in shown["items"] if i["restored_at"] is not None} >= {"p2", "r1"}
    rest = await admin(host, "restore", operation_id=done["operation_id"])
    assert rest["status"] == "restored" and (await stats(host))["paragraphs"] == 3


async def test_what_was_stored_anew_is_not_overlaid(host: AMemorixHostService) -> None:
    await kite(host)
    done = await admin(host, "execute", mode="source", selector="a")
    await told(host, "The kite was sold.", source="a", chat_id="c", external_id="1")
    back = await admin(host, "restore", operation_id=done["operation_id"])
    assert back["status"] == "executed"
    assert [(n["item_key"], n["reason"]) for n in back["not_restored"]] == [
        ("p1", "a newer text is stored under its external id")
    ]
    assert sorted(await contents(host, "kite lamp", limit=9)) == [
        "A lamp stands in the attic.", "The kite was sold.", "Yes, the kite is in that hall.",
    ]  # fmt: skip


async def test_what_was_deleted_again_waits_for_the_later_deletion(host: AMemorixHostService) -> None:
    await kite(host)
    first = await admin(host, "execute", mode="relation", selector="r1")
    await told(host, "The kite hangs in the hall still.", chat_id="c",
               relations=[{"subject": "kite", "predicate": "hangs in", "object": "hall"}])  # fmt: skip
    second = await admin(host, "execute", mode="relation", selector="r1")
    answer = await host.invoke(ADMIN, {"action": "restore", "operation_id": first["operation_id"]})
    assert (answer["success"], answer["error_code"]) == (False, "conflict") and "later" in answer["error"]
    assert [one["reason"] for one in answer["not_restored"]] == ["a later operation deleted it again"]
    assert (await stats(host))["relations"] == 0
    assert (await admin(host, "restore", operation_id=second["operation_id"]))["status"] == "restored"


async def test_a_paragraph_that_was_not_embedded_yet_is_after_its_restore(opened: Open) -> None:
    calls = HashEmbedder()
    host = await opened(embed=calls)
    await pause_background(host)
    await told(host, "The kite hangs in the hall.", external_id="1", source="a")
    done = await admin(host, "execute", mode="source", selector="a")
    resume_background(host)
    for n in range(5):
        await told(host, f"A lamp, number {n}.")
    await host.settle(600)
    await admin(host, "restore", operation_id=done["operation_id"])
    await host.settle(600)
    missing = "select count(*) from paragraphs p where not exists (select 1 from embeddings e where e.paragraph = p.id)"
    assert rows(host, missing) == [(0,)]


async def test_an_override_that_was_set_anew_stays(host: AMemorixHostService) -> None:
    await said(host, "c", ("Mia", "I drink coffee."))
    given = {"action": "set_override", "person_id": "Mia"}
    assert (await host.invoke("memory_profile_admin", {**given, "text": "OLD"}))["success"]
    done = await admin(host, "execute", mode="person", selector="Mia")
    assert (await host.invoke("memory_profile_admin", {**given, "text": "NEW"}))["success"]
    back = await admin(host, "restore", operation_id=done["operation_id"])
    assert (back["status"], [(n["item_type"], n["reason"]) for n in back["not_restored"]]) == (
        "restored",
        [("profile_override", "something newer is in its place")],
    )
    assert rows(host, "select text from profile_overrides") == [("NEW",)]
    again = {"action": "restore", "operation_id": done["operation_id"]}
    await refused(host, ADMIN, again, "operation_id", "conflict")


# the record


async def test_deletions_are_listed_and_shown(host: AMemorixHostService) -> None:
    await kite(host)
    first = await admin(host, "execute", mode="source", selector="a", requested_by="Ann", reason="too old")
    await admin(host, "execute", mode="entity", selector="kite")
    listed = await admin(host, "list_operations")
    assert [(one["operation_id"], one["mode"]) for one in listed["items"]] == [("d2", "entity"), ("d1", "source")]
    assert (await admin(host, "list_operations", mode="source", limit=1))["total"] == 1
    assert (await admin(host, "list_operations", status="purged"))["items"] == []
    shown = await admin(host, "get_operation", operation_id=first["operation_id"])
    assert shown["operation"]["requested_by"] == "Ann" and shown["operation"]["reason"] == "too old"
    assert shown["operation"]["selector"] == {"sources": ["a"]}
    assert {item["item_key"] for item in shown["items"] if item["item_type"] == "paragraph"} == {"p1", "p3"}


async def test_a_source_deleted_by_its_own_component_can_be_restored(host: AMemorixHostService) -> None:
    await kite(host)
    gone = await host.invoke("memory_source_admin", {"action": "delete", "source": "a"})
    assert gone["deleted_count"] == 2
    assert (await admin(host, "restore", operation_id=gone["operation_id"]))["status"] == "restored"
    assert (await stats(host))["paragraphs"] == 3


# errors


UNFIT: list[Any] = [
    ({}, "mode", "invalid_request"),
    ({"mode": "everything", "selector": "a"}, "mode", "invalid_request"),
    ({"mode": "source"}, "selector", "invalid_request"),
    ({"mode": "source", "selector": ""}, "selector", "invalid_request"),
    ({"mode": "source", "selector": []}, "selector", "invalid_request"),
    ({"mode": "source", "selector": {}}, "selector", "invalid_request"),
    ({"mode": "source", "selector": {"sources": []}}, "selector", "invalid_request"),
    ({"mode": "source", "selector": {"sources": None}}, "selector", "invalid_request"),
    ({"mode": "source", "selector": {"entities": ["kite"]}}, "selector.entities", "invalid_request"),
    ({"mode": "source", "selector": ["a", " "]}, "selector.1", "invalid_request"),
    ({"mode": "source", "selector": ["a", {}]}, "selector.1", "invalid_request"),
    ({"mode": "source", "selector": True}, "selector", "invalid_request"),
    ({"mode": "source", "selector": ["a"] * 10_001}, "selector", "invalid_request"),
    ({"mode": "paragraph", "selector": ["kite"]}, "selector.0", "invalid_request"),
    ({"mode": "paragraph", "selector": {"ids": ["r1"]}}, "selector.ids.0", "invalid_request"),
    ({"mode": "paragraph", "selector": {"hash": "beef"}}, "selector.hash", "invalid_request"),
    ({"mode": "paragraph", "selector": 0}, "selector", "invalid_request"),
    ({"mode": "paragraph", "selector": -1}, "selector", "invalid_request"),
    ({"mode": "paragraph", "selector": 2**70}, "selector", "invalid_request"),
    ({"mode": "paragraph", "selector": 1.5}, "selector", "invalid_request"),
    ({"mode": "mixed", "selector": "a"}, "selector", "invalid_request"),
    ({"mode": "mixed", "selector": {"ids": [1]}}, "selector.ids", "invalid_request"),
    ({"mode": "chat", "selector": "c", "chat_id": "d"}, "chat_id", "invalid_request"),
    ({"mode": "chat"}, "selector", "invalid_request"),
    ({"mode": "mixed", "selector": {"chat_ids": ["d"]}, "chat_id": "c"}, "selector.chat_ids", "invalid_request"),
    ({"mode": "entity", "selector": {"names": ["kite", 1]}}, "selector.names.1", "invalid_request"),
    ({"mode": "person", "selector": {"names": ["林澈", 1]}}, "selector.names.1", "invalid_request"),
    ({"mode": "source", "selector": ["a", 1]}, "selector.1", "invalid_request"),
    ({"mode": "paragraph", "selector": {"query": 1}}, "selector.query", "invalid_request"),
    ({"mode": "paragraph", "selector": "p999"}, "selector", "not_found"),
    ({"mode": "relation", "selector": "r999"}, "selector", "not_found"),
    ({"mode": "entity", "selector": "n999"}, "selector", "not_found"),
    ({"mode": "entity", "selector": "没有这个"}, "selector", "not_found"),
    ({"mode": "source", "selector": "nowhere"}, "selector", "not_found"),
    ({"mode": "person", "selector": "没有人"}, "selector", "not_found"),
    ({"mode": "chat", "selector": "nowhere"}, "selector", "not_found"),
    ({"mode": "paragraph", "selector": "words that nobody said"}, "selector", "not_found"),
    ({"mode": "source", "selector": "a", "chat_id": "nowhere"}, "chat_id", "not_found"),
]


async def test_what_does_not_fit_deletes_nothing(host: AMemorixHostService) -> None:
    await kite(host)
    await host.settle(600)
    before = await tables(host)
    for action in ["preview", "execute"]:
        for args, field, code in UNFIT:
            await refused(host, ADMIN, {"action": action, **args}, field, code)
            assert await tables(host) == before
            assert (await admin(host, "list_operations"))["total"] == 0


async def test_what_is_missing_beside_what_is_there_is_told(host: AMemorixHostService) -> None:
    await kite(host)
    seen = await admin(host, "preview", mode="source", selector=["a", "nowhere"])
    assert seen["missing"] == ["nowhere"] and seen["counts"]["paragraphs"] == 2


WRONGLY_NAMED: list[Any] = [
    ({"action": "restore"}, "operation_id", "invalid_request"),
    ({"action": "restore", "operation_id": "x1"}, "operation_id", "invalid_request"),
    ({"action": "restore", "operation_id": True}, "operation_id", "invalid_request"),
    ({"action": "restore", "operation_id": "d99"}, "operation_id", "not_found"),
    ({"action": "restore", "operation_id": "d1", "items": []}, "items", "invalid_request"),
    ({"action": "restore", "operation_id": "d1", "items": ["kite"]}, "items", "invalid_request"),
    ({"action": "restore", "operation_id": "d1", "items": ["p2"]}, "items", "not_found"),
    ({"action": "get_operation"}, "operation_id", "invalid_request"),
    ({"action": "get_operation", "operation_id": 99}, "operation_id", "not_found"),
    ({"action": "list_operations", "mode": "all"}, "mode", "invalid_request"),
    ({"action": "list_operations", "status": "gone"}, "status", "invalid_request"),
    ({"action": "list_operations", "limit": 0}, "limit", "invalid_request"),
    ({"action": "purge"}, "operation_id", "invalid_request"),
    ({"action": "purge", "operation_id": "d1", "older_than_days": 1}, "operation_id", "invalid_request"),
    ({"action": "purge", "older_than_days": -1}, "older_than_days", "invalid_request"),
    ({"action": "purge", "operation_id": "d99"}, "operation_id", "not_found"),
    ({"action": "purge", "grace_hours": False}, "grace_hours", "invalid_request"),
    ({"action": "purge", "older_than_days": True}, "older_than_days", "invalid_request"),
]


async def test_a_deletion_that_is_named_wrongly(host: AMemorixHostService) -> None:
    await kite(host)
    await admin(host, "execute", mode="source", selector="a")
    before = await tables(host)
    for args, field, code in WRONGLY_NAMED:
        await refused(host, ADMIN, args, field, code)
        assert await tables(host) == before


async def test_a_deletion_in_another_state_is_a_conflict(host: AMemorixHostService) -> None:
    await kite(host)
    first = (await admin(host, "execute", mode="source", selector="a"))["operation_id"]
    await admin(host, "restore", operation_id=first)
    for action in ("restore", "purge"):
        await refused(host, ADMIN, {"action": action, "operation_id": first}, "operation_id", "conflict")
    second = (await admin(host, "execute", mode="source", selector="a"))["operation_id"]
    await admin(host, "purge", operation_id=second)
    for action in ("restore", "purge"):
        await refused(host, ADMIN, {"action": action, "operation_id": second}, "operation_id", "conflict")
