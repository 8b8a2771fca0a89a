"""Memories that fade, are used, kept, put to rest, forgotten and brought back."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, stale_indexes
from conftest import Open
from entrance import admin_of, contents, found, hits, refused, rows, said, stats, told
from pace import until

HOUR, DAY = 3_600.0, 86_400.0
NEVER = {"lifecycle": {"interval_minutes": 100_000_000}}
"""No round but those that a test asks for."""
KITE = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
ALLERGY = {"subject": "林澈", "predicate": "过敏", "object": "花生"}


@pytest.fixture
async def host(opened: Open, clock: FrozenClock) -> AMemorixHostService:
    host = await opened(clock=clock, **NEVER)
    await v5(host, "run")
    return host


@pytest.fixture
async def kite(host: AMemorixHostService) -> AsyncIterator[str]:
    """A relation with one paragraph, and another one in Chinese."""
    first = await told(host, "The kite hangs in the hall.", chat_id="c", relations=[KITE])
    await told(host, "林澈对花生过敏。", chat_id="c", relations=[ALLERGY])
    yield first["relation_ids"][0]


v5 = admin_of("memory_v5_admin")


maintain = admin_of("maintain_memory")


async def status(host: AMemorixHostService, target: str) -> dict[str, Any]:
    (item,) = (await v5(host, "status", target=target))["items"]
    return item


async def bin_ids(host: AMemorixHostService, **args: Any) -> list[str]:
    return [item["id"] for item in (await v5(host, "recycle_bin", **args))["items"]]


async def operations(host: AMemorixHostService) -> list[dict[str, Any]]:
    names = ("id", "action", "kind", "items", "strength", "requested_by", "reason")
    found = rows(host, f"select {', '.join(names)} from memory_v5_operations")
    return [dict(zip(names, row, strict=True)) | {"items": json.loads(row[3])} for row in found]


async def edges(host: AMemorixHostService) -> int:
    await host.settle(600)
    assert await stale_indexes(host) == []
    return rows(host, "select count(*) from relations where deleted_at is null and inactive_at is null")[0][0]


# fading and ranking


async def test_a_relation_fades_by_the_formula(host: AMemorixHostService, clock: FrozenClock, kite: str) -> None:
    born = clock.now()
    clock.advance(90 * DAY)
    item = await status(host, kite)

    assert item["retention_score"] == pytest.approx(math.sqrt(0.5), abs=1e-6)
    assert item["retention_anchor_at"] == born
    assert item["next_lifecycle_at"] == pytest.approx(born + 180 * DAY * math.log2(10))
    assert (item["state"], item["is_pinned"], item["temp_protected"], item["confidence"]) == ("active", False, False, 1)
    assert item["text"] == "kite hangs in hall"


async def test_of_two_equal_paragraphs_the_fresher_one_comes_first(
    host: AMemorixHostService, clock: FrozenClock
) -> None:
    texts = ("The walrus sleeps on the pier.", "海象睡在码头上。")
    for text in texts:
        await told(host, text, external_id=f"new {text}", source="b", metadata={"age": "new"})
    first = {text: [hit["metadata"]["age"] for hit in await hits(host, text)] for text in texts}
    assert list(first.values()) == [["new"], ["new"]]
    await maintain(host, "protect", target="p1")
    clock.advance(400 * DAY)
    for text in texts:
        await told(host, text, external_id=f"newest {text}", source="a", metadata={"age": "newest"})
    clock.advance(400 * DAY)
    ages = {text: [hit["metadata"]["age"] for hit in await hits(host, text)] for text in texts}

    assert ages == {texts[0]: ["new", "newest"], texts[1]: ["newest", "new"]}
    kept = {hit["metadata"]["age"]: hit["explain"] for hit in await hits(host, texts[0])}
    assert kept["new"]["retention"] == 1
    assert kept["newest"]["retention"] == pytest.approx(2 ** (-400 / 730), abs=1e-4)
    lost = 0.1 * round(1 - 2 ** (-400 / 730), 2)
    assert kept["newest"]["signals"]["retention"] == pytest.approx(-lost, abs=1e-4)
    assert "retention" not in kept["new"]["signals"]


async def test_reinforcing_turns_the_order_of_equals(host: AMemorixHostService, clock: FrozenClock) -> None:
    for name in ("one", "two"):
        await told(host, "The walrus sleeps on the pier.", external_id=name)
    clock.advance(365 * DAY)
    before = [hit["id"] for hit in await hits(host, "walrus")]
    await v5(host, "reinforce", target=before[1])
    after = [hit["id"] for hit in await hits(host, "walrus")]

    assert len(before) == 2
    assert after == before[::-1]


@pytest.mark.parametrize("embed", [None, HashEmbedder()])
async def test_where_all_are_as_fresh_nothing_changes(tmp_path: Path, embed: Any) -> None:
    """Bit for bit: age takes nothing from scores while it takes the same from all."""
    lines = [f"kite {n} flies over the {word}" for n, word in enumerate(("pier", "hall", "sea", "town", "hill") * 6)]
    found_: list[Any] = []
    for weight, later in ((0.0, 0.0), (0.1, 0.0), (10.0, 3 * DAY), (0.1, 900 * DAY)):
        clock = FrozenClock()
        settings = {"retrieval": {"weights": {"retention": weight}, "rerank": {"weights": {"retention": weight}}}}
        async with memory_host(tmp_path / f"{weight}-{later}", embed=embed, clock=clock, **settings, **NEVER) as host:
            await said(host, "c", *(("Ada", line, 1_600_000_000 + n) for n, line in enumerate(lines)))
            await host.settle(600)
            clock.advance(later)
            found_.append([(hit["id"], hit["score"]) for hit in await hits(host, "kite over the hall", limit=20)])
    assert len(found_[0]) == 20
    assert found_[0] == found_[1] == found_[2] == found_[3]


# rounds


async def test_what_has_faded_leaves_the_graph_and_later_goes_to_the_bin(
    host: AMemorixHostService, clock: FrozenClock, kite: str
) -> None:
    clock.advance(180 * DAY * math.log2(10) - 60)
    assert (await v5(host, "run"))["faded"] == 0
    assert await edges(host) == 2
    clock.advance(120)
    assert (await v5(host, "run"))["faded"] == 2
    item = await status(host, kite)
    assert (item["state"], item["inactive_reason"]) == ("inactive", "decay")
    assert item["next_lifecycle_at"] == clock.now() + 30 * DAY
    assert await edges(host) == 0
    assert await bin_ids(host) == []
    assert (await contents(host, "where does the kite hang?"))[0] == "The kite hangs in the hall."

    clock.advance(30 * DAY - 60)
    assert (await v5(host, "run"))["recycled"] == 0
    clock.advance(120)
    assert (await v5(host, "run"))["recycled"] == 2
    item = await status(host, kite)
    assert (item["state"], item["deleted_at"]) == ("deleted", clock.now())
    assert await bin_ids(host) == ["r2", "r1"]
    assert (await contents(host, "kite"))[0] == "The kite hangs in the hall."

    restored = await maintain(host, "restore", target="花生")
    assert restored["statuses"] == {"r2": "active"}
    assert restored["retention_scores"] == {"r2": 1}
    assert await edges(host) == 1
    assert (await v5(host, "run"))["faded"] == 0


async def test_a_round_runs_by_itself_when_its_time_has_come(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with memory_host(tmp_path, clock=clock, lifecycle={"interval_minutes": 60}) as host:
        await told(host, "The kite hangs in the hall.", relations=[KITE], ttl_seconds=10)
        await v5(host, "run")
        clock.advance(3601)

        async def ended() -> bool:
            return (await v5(host, "status"))["last_maintenance_at"] == clock.now()

        await until(ended)
        assert await bin_ids(host) == ["p1"]


async def test_rounds_move_many_in_batches_and_nothing_twice(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, lifecycle={"interval_minutes": 100_000_000, "batch": 3})
    await v5(host, "run")
    for n in range(10):
        await told(host, f"note {n}", relations=[{**KITE, "object": f"place {n}"}])
    await v5(host, "weaken", target="r4", strength=1.5)
    clock.advance(599 * DAY)
    assert (await v5(host, "run"))["faded"] == 10
    assert (await v5(host, "run"))["faded"] == 0
    clock.advance(31 * DAY)
    assert (await v5(host, "run"))["recycled"] == 10
    assert (await v5(host, "run"))["recycled"] == 0
    batches = [(op["action"], len(op["items"])) for op in await operations(host)]
    assert batches == [("weaken", 1)] + [("decay", 3)] * 3 + [("decay", 1)] + [("recycle", 3)] * 3 + [("recycle", 1)]


async def test_a_weakened_relation_fades_sooner(host: AMemorixHostService, clock: FrozenClock, kite: str) -> None:
    await v5(host, "weaken", target=kite, strength=1)
    clock.advance(180 * DAY * math.log2(5) - 60)
    assert (await v5(host, "run"))["faded"] == 0
    clock.advance(120)
    assert (await v5(host, "run"))["faded"] == 1
    assert (await status(host, kite))["state"] == "inactive"


async def test_what_is_pinned_or_protected_is_left_alone(
    host: AMemorixHostService, clock: FrozenClock, kite: str
) -> None:
    clock.advance(590 * DAY)
    assert (await maintain(host, "protect", target=kite, hours=24 * 20))["statuses"] == {kite: "active"}
    await v5(host, "remember_forever", target="r2")
    clock.advance(10 * DAY)
    assert (await v5(host, "run"))["faded"] == 0
    assert (await status(host, kite))["temp_protected"]
    clock.advance(11 * DAY)
    assert (await v5(host, "run"))["faded"] == 1
    clock.advance(99_999 * DAY)
    await v5(host, "run")
    assert (await status(host, kite))["state"] == "deleted"
    item = await status(host, "r2")
    assert (item["state"], item["is_pinned"], item["next_lifecycle_at"]) == ("active", True, None)
    left = 2 ** (-590 / 180)
    assert item["retention_score"] == pytest.approx(left + 0.5 * (1 - left), abs=1e-6)


async def test_fading_can_be_switched_off(tmp_path: Path) -> None:
    clock = FrozenClock()
    async with memory_host(tmp_path, clock=clock, lifecycle={"enabled": False}) as host:
        await told(host, "kite", relations=[KITE])
        await told(host, "lamp", ttl_seconds=60)
        clock.advance(9_999 * DAY)
        assert (await v5(host, "run"))["faded"] == 0
        assert await bin_ids(host) == ["p2"]


# evidence


async def test_new_evidence_makes_a_relation_fresh_and_wakes_what_has_faded(
    host: AMemorixHostService, clock: FrozenClock, kite: str
) -> None:
    clock.advance(100 * DAY)
    await told(host, "The kite still hangs in the hall.", relations=[KITE])
    assert (await status(host, kite))["retention_score"] == 1
    assert (await status(host, kite))["retention_anchor_at"] == clock.now()
    clock.advance(500 * DAY)
    await v5(host, "run")
    assert (await status(host, kite))["state"] == "active"
    assert (await status(host, "r2"))["state"] == "inactive"
    await told(host, "林澈还是对花生过敏。", relations=[ALLERGY])
    assert (await status(host, "r2"))["state"] == "active"
    clock.advance(700 * DAY)
    await v5(host, "run")
    clock.advance(31 * DAY)
    assert (await v5(host, "run"))["recycled"] == 2
    await told(host, "林澈一直对花生过敏。", relations=[ALLERGY])
    item = await status(host, "r2")
    assert (item["state"], item["retention_score"], item["deleted_at"]) == ("active", 1, None)
    assert await edges(host) == 1


@pytest.mark.parametrize(("action", "state"), [("freeze", "inactive"), ("forget", "deleted")])
async def test_what_a_hand_put_to_rest_stays_there_when_it_is_said_again(
    host: AMemorixHostService, clock: FrozenClock, kite: str, action: str, state: str
) -> None:
    await (maintain if action == "freeze" else v5)(host, action, target=kite)
    clock.advance(60)
    await told(host, "The kite hangs in the hall again.", relations=[KITE])
    assert (await status(host, kite))["state"] == state
    await maintain(host, "restore", target=kite)
    assert (await status(host, kite))["state"] == "active"
    assert await edges(host) == 2


# by hand


async def test_reinforcing_by_the_numbers(host: AMemorixHostService, clock: FrozenClock, kite: str) -> None:
    clock.advance(360 * DAY)
    result = await v5(host, "reinforce", target=kite, strength=0.5, reason="asked", requested_by="Ada")

    assert result["retention_scores"] == {kite: pytest.approx(0.25 + 0.25 * 0.75)}
    assert (result["ids"], result["count"], result["statuses"]) == ([kite], 1, {kite: "active"})
    item = await status(host, kite)
    assert item["protected_until"] == clock.now() + 12 * HOUR
    assert (item["last_reinforced"], item["reinforcement_count"]) == (clock.now(), 1)
    (operation,) = await operations(host)
    assert operation["id"] == result["operation_id"]
    assert (operation["action"], operation["kind"], operation["strength"]) == ("reinforce", "relation", 0.5)
    assert (operation["requested_by"], operation["reason"]) == ("Ada", "asked")
    assert operation["items"][0]["before"]["retention"] == pytest.approx(0.25)
    assert operation["items"][0]["after"]["retention"] == pytest.approx(0.4375)
    assert "kite" not in json.dumps(operation["items"])


async def test_a_faded_relation_is_taken_up_by_a_reinforcement_that_is_strong_enough(
    host: AMemorixHostService, clock: FrozenClock, kite: str
) -> None:
    clock.advance(600 * DAY)
    await v5(host, "run")
    assert (await v5(host, "reinforce", target=kite, strength=0.01))["statuses"] == {kite: "inactive"}
    assert (await v5(host, "reinforce", target=kite))["statuses"] == {kite: "active"}
    assert (await v5(host, "reinforce", target="r2", strength=0.2))["statuses"] == {"r2": "active"}


async def test_a_weakened_relation_goes_to_rest_at_once_when_too_little_is_left(
    host: AMemorixHostService, kite: str
) -> None:
    first = await v5(host, "weaken", target=kite, strength=1)
    assert (first["retention_scores"][kite], first["statuses"][kite]) == (0.5, "active")
    second = await v5(host, "weaken", target=kite, strength=1.9)
    assert (second["retention_scores"][kite], second["statuses"][kite]) == (pytest.approx(0.025), "inactive")
    await v5(host, "remember_forever", target="r2", strength=0.1)
    assert (await v5(host, "weaken", target="r2", strength=2))["statuses"] == {"r2": "active"}
    weak = await v5(host, "weaken", target="p1", strength=2)
    assert (weak["retention_scores"], weak["statuses"]) == ({"p1": 0}, {"p1": "active"})
    assert await contents(host, "kite") == ["The kite hangs in the hall."]


async def test_a_frozen_relation_comes_back_by_reinforcing(host: AMemorixHostService, kite: str) -> None:
    assert (await maintain(host, "freeze", target="kite"))["statuses"] == {kite: "inactive"}
    assert (await status(host, kite))["inactive_reason"] == "frozen"
    assert await edges(host) == 1
    assert (await maintain(host, "reinforce", target=kite))["statuses"] == {kite: "active"}
    assert await edges(host) == 2


async def test_a_frozen_relation_never_goes_to_the_bin_by_itself(
    host: AMemorixHostService, clock: FrozenClock, kite: str
) -> None:
    await maintain(host, "freeze", target=kite)
    clock.advance(9999 * DAY)
    await v5(host, "run")
    assert (await status(host, kite))["state"] == "inactive"
    assert (await status(host, kite))["next_lifecycle_at"] is None


@pytest.mark.parametrize(("word", "text"), [("kite", "The kite hangs in the hall."), ("花生", "林澈对花生过敏。")])
async def test_a_forgotten_paragraph_is_gone_until_it_is_restored(
    opened: Open, clock: FrozenClock, word: str, text: str
) -> None:
    host = await opened(clock=clock, embed=HashEmbedder(), **NEVER)
    await told(host, "The kite hangs in the hall.", chat_id="c", relations=[KITE], timestamp=1_600_000_000)
    await told(host, "林澈对花生过敏。", chat_id="c", relations=[ALLERGY], timestamp=1_600_000_000)
    await host.settle(600)
    before = {mode: await found(host, word, mode=mode, time_start=1) for mode in ("hybrid", "aggregate", "episode")}
    counts = await stats(host)
    gone = await v5(host, "forget", target=text)
    await host.settle(600)

    assert list(gone["statuses"].values()) == ["deleted"]
    assert text not in await contents(host, word)
    assert text not in await contents(host, mode="time", time_start=1)
    assert (await stats(host))["paragraphs"] == 1
    assert (await stats(host))["relations"] == 1
    (item,) = (await v5(host, "recycle_bin"))["items"]
    assert (item["id"], item["text"], item["reason"]) == (gone["ids"][0], text, "forgotten")
    assert (item["deleted_at"], item["restorable"]) == (clock.now(), True)

    back = await v5(host, "restore", target=text)
    await host.settle(600)
    assert back["ids"] == gone["ids"]
    assert await bin_ids(host) == []
    assert await stats(host) == counts
    again = {mode: await found(host, word, mode=mode, time_start=1) for mode in ("hybrid", "aggregate", "episode")}
    assert [hit["score"] for hit in again["hybrid"]["hits"]] == [hit["score"] for hit in before["hybrid"]["hits"]]
    assert [hit["content"] for answer in again.values() for hit in answer["hits"]] == [
        hit["content"] for answer in before.values() for hit in answer["hits"]
    ]


async def test_a_text_is_forgotten_and_restored_with_what_it_says(host: AMemorixHostService, kite: str) -> None:
    gone = await v5(host, "forget", target="kite")
    assert sorted(gone["ids"]) == ["p1"]
    assert (await status(host, kite))["state"] == "deleted"
    await told(host, "A red kite.", relations=[{**KITE, "object": "sky"}])
    back = await maintain(host, "restore", target="kite")
    assert back["ids"] == ["p1"]
    assert (await status(host, kite))["state"] == "active"


async def test_a_restored_paragraph_gets_the_vector_that_it_never_had(opened: Open, clock: FrozenClock) -> None:
    waits = True

    def embed(texts: Any) -> Any:
        if waits and any("kite" in text for text in texts):
            raise RuntimeError("not now")
        return HashEmbedder()(texts)

    settings = {"embedding": {"provider": "host", "retry_seconds": 0.05, "retry_max_seconds": 0.05}}
    host = await opened(clock=clock, embed=embed, **settings, **NEVER)
    first = await told(host, "The kite hangs in the hall.")
    await told(host, "A lamp stands there.")
    await v5(host, "forget", target=first["stored_ids"][0])
    waits = False
    clock.advance(60)
    await host.settle(600)
    await v5(host, "restore", target=first["stored_ids"][0])
    clock.advance(60)
    await host.settle(600)
    assert (await host.invoke("memory_stats"))["embedding"]["done"] == 2


async def test_told_again_after_it_was_forgotten_it_is_new(host: AMemorixHostService) -> None:
    await told(host, "a kite", external_id="x")
    await v5(host, "forget", target="p1")
    again = await told(host, "a kite", external_id="x")
    assert again["stored_ids"] == ["p2"]
    error = await refused(host, "memory_v5_admin", {"action": "restore", "target": "p1"}, "target", "conflict")
    assert "superseded" in error
    (item,) = (await v5(host, "recycle_bin"))["items"]
    assert (item["id"], item["restorable"]) == ("p1", False)
    assert await contents(host, "kite") == ["a kite"]


# use


async def test_a_search_alone_is_no_use(host: AMemorixHostService, clock: FrozenClock, kite: str) -> None:
    clock.advance(365 * DAY)
    assert await hits(host, "kite")
    await host.settle(600)
    assert (await v5(host, "status"))["items"] == []


async def test_first_hits_that_a_search_says_it_uses_fade_later(opened: Open, clock: FrozenClock) -> None:
    host = await opened(clock=clock, lifecycle={"interval_minutes": 100_000_000, "access_top": 1})
    await told(host, "The kite hangs in the hall.", chat_id="c", relations=[KITE])
    await told(host, "A kite was seen, far away, over the harbour and the long pier.", chat_id="c")
    clock.advance(730 * DAY)
    first, second = await hits(host, "where is the kite in the hall?", used=True)
    await host.settle(600)

    assert (await status(host, first["id"]))["retention_score"] == pytest.approx(0.5 + 0.05 * 0.5)
    assert (await status(host, first["id"]))["last_access_reinforced_at"] == clock.now()
    assert (await status(host, second["id"]))["retention_score"] == pytest.approx(0.5)
    left = 2 ** (-730 / 180)
    assert (await status(host, "r1"))["retention_score"] == pytest.approx(left + 0.05 * (1 - left), abs=1e-6)
    assert await operations(host) == []


async def test_uses_are_written_when_the_memory_stops(tmp_path: Path, clock: FrozenClock) -> None:
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        await told(host, "The kite hangs in the hall.")
        clock.advance(730 * DAY)
        await found(host, "kite", used=True)
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        assert (await status(host, "p1"))["retention_score"] == pytest.approx(0.525)


async def test_used_counts_once_in_an_hour(host: AMemorixHostService, clock: FrozenClock, kite: str) -> None:
    clock.advance(730 * DAY)
    result = await maintain(host, "used", targets=["p1"], requested_by="host")
    assert result["retention_scores"]["p1"] == pytest.approx(0.525)
    assert sorted(result["ids"]) == ["p1", kite]
    assert result["operation_id"] == (await operations(host))[0]["id"]
    clock.advance(3599)
    soon = await maintain(host, "used", targets=["p1"])
    assert (soon["count"], soon["skipped"], soon["operation_id"]) == (0, ["p1"], 0)
    clock.advance(1)
    assert (await maintain(host, "used", targets=["P1", "r1"]))["count"] == 2


async def test_a_used_episode_is_its_paragraphs(host: AMemorixHostService, clock: FrozenClock) -> None:
    await said(host, "c", ("Ada", "a kite", 1000), ("Ada", "a lamp", 1060))
    await host.settle(600)
    (episode,) = await hits(host, "kite", mode="episode", used=True)
    await host.settle(600)
    assert {item["id"] for item in (await v5(host, "status"))["items"]} == {"p1", "p2"}
    clock.advance(HOUR)
    assert sorted((await maintain(host, "used", targets=[episode["id"]], chat_id="c"))["ids"]) == ["p1", "p2"]
    args = {"action": "used", "targets": [episode["id"]], "chat_id": "d"}
    await refused(host, "maintain_memory", args, "target", "not_found")


async def test_what_is_not_active_is_passed_over_when_used(host: AMemorixHostService, kite: str) -> None:
    await maintain(host, "freeze", target=kite)
    await v5(host, "forget", target="p2")
    result = await maintain(host, "used", targets=[kite, "p1", "p2"])
    assert (result["ids"], result["skipped"]) == (["p1"], ["p2", kite])


# targets


TARGETS = [
    ("kite", {"r1", "p1"}), ("KITE", {"r1", "p1"}), ("hangs in", {"r1", "p1"}), ("花生", {"r2", "p2"}), ("林澈", {"r2", "p2"}),
    ("过敏", {"r2", "p2"}), ("林澈对花生", {"p2"}), ("p1", {"p1"}), ("R2", {"r2"}), ("hal", {"r1"}),
]  # fmt: skip


async def test_a_target_is_an_id_or_words(host: AMemorixHostService, kite: str) -> None:
    for target, ids in TARGETS:
        assert set((await maintain(host, "reinforce", target=target))["ids"]) == ids, target


async def test_a_kind_narrows_the_target(host: AMemorixHostService, kite: str) -> None:
    assert (await v5(host, "reinforce", target="kite", kind="paragraph"))["ids"] == ["p1"]
    assert (await v5(host, "reinforce", target="kite", kind="relation"))["ids"] == [kite]
    assert (await v5(host, "reinforce", target="2", kind="relation"))["ids"] == ["r2"]
    await refused(host, "memory_v5_admin", {"action": "reinforce", "target": "2"}, "target", "not_found")


async def test_a_text_means_at_most_ten(host: AMemorixHostService) -> None:
    for n in range(15):
        await told(host, f"note {n}", relations=[{**KITE, "object": f"place {n}"}])
    assert (await v5(host, "weaken", target="kite"))["count"] == 10
    assert (await v5(host, "weaken", target="place"))["count"] == 10
    assert (await v5(host, "weaken", target="place 1"))["count"] == 1


async def test_a_chat_reaches_only_what_it_may_see(host: AMemorixHostService, kite: str) -> None:
    for target in ("r1", "p1", "kite"):
        for action in ("reinforce", "weaken", "remember_forever", "forget", "status"):
            args = {"action": action, "target": target, "chat_id": "d"}
            await refused(host, "memory_v5_admin", args, "target", "not_found")
        for action in ("reinforce", "protect", "freeze"):
            args = {"action": action, "target": target, "chat_id": "d"}
            await refused(host, "maintain_memory", args, "target", "not_found")
    await refused(host, "maintain_memory", {"action": "used", "targets": ["p1"], "chat_id": "d"}, "target", "not_found")
    await v5(host, "forget", target="kite", chat_id="c")
    await refused(host, "maintain_memory", {"action": "restore", "target": "kite", "chat_id": "d"}, code="not_found")
    await refused(host, "memory_v5_admin", {"action": "restore", "target": "p1", "chat_id": "d"}, code="not_found")
    assert await bin_ids(host, chat_id="d") == []
    assert await bin_ids(host, chat_id="c") == ["p1"]
    assert (await v5(host, "status", chat_id="d"))["items"] == []
    assert [item["id"] for item in (await v5(host, "status", chat_id="c"))["items"]] == ["p1"]
    assert (await v5(host, "restore", target="kite", chat_id="c"))["ids"] == ["p1"]


async def test_a_chat_that_the_filter_refuses_reaches_nothing(opened: Open) -> None:
    host = await opened(filter={"chats": ["c"]}, **NEVER)
    await told(host, "The kite hangs in the hall.", chat_id="c", respect_filter=False)
    await refused(host, "memory_v5_admin", {"action": "forget", "target": "p1", "chat_id": "c"}, code="not_found")
    assert (await v5(host, "forget", target="p1"))["count"] == 1


# errors

ACTIONS = [("memory_v5_admin", action) for action in ("restore", "reinforce", "weaken", "remember_forever", "forget")]
ACTIONS += [("maintain_memory", action) for action in ("restore", "reinforce", "protect", "freeze")]


UNFIT_TARGETS: list[Any] = [
    ({}, "target", "invalid_request"),
    ({"target": ""}, "target", "invalid_request"),
    ({"target": " "}, "target", "invalid_request"),
    ({"target": 5}, "target", "invalid_request"),
    ({"target": ["r1"]}, "target", "invalid_request"),
    ({"target": "x" * 2001}, "target", "invalid_request"),
    ({"target": "r1", "kind": "episode"}, "kind", "invalid_request"),
    ({"target": "r1", "chat_id": " "}, "chat_id", "invalid_request"),
    ({"target": "r1", "reason": "x" * 2001}, "reason", "invalid_request"),
    ({"target": "r999"}, "target", "not_found"),
    ({"target": "p999"}, "target", "not_found"),
    ({"target": "r99999999999999999999"}, "target", "not_found"),
    ({"target": "p9999999999999999999"}, "target", "not_found"),
    ({"target": "r1", "kind": "paragraph"}, "target", "not_found"),
    ({"target": "walrus"}, "target", "not_found"),
    ({"target": "海象"}, "target", "not_found"),
    ({"target": "!!!"}, "target", "not_found"),
]


async def test_arguments_that_do_not_fit_change_nothing(host: AMemorixHostService, kite: str) -> None:
    for component, action in ACTIONS:
        for args, field, code in UNFIT_TARGETS:
            await refused(host, component, {"action": action, **args}, field, code)
            assert await operations(host) == []


UNFIT: list[Any] = [
    ("memory_v5_admin", {"action": "reinforce", "target": "r1", "strength": 0}, "strength", "invalid_request"),
    ("memory_v5_admin", {"action": "weaken", "target": "r1", "strength": -1}, "strength", "invalid_request"),
    ("memory_v5_admin", {"action": "weaken", "target": "r1", "strength": math.nan}, "strength", "invalid_request"),
    ("memory_v5_admin", {"action": "remember_forever", "target": "r1", "strength": math.inf}, "strength",
     "invalid_request"),
    ("memory_v5_admin", {"action": "status", "limit": 0}, "limit", "invalid_request"),
    ("memory_v5_admin", {"action": "status", "target": ""}, "target", "invalid_request"),
    ("memory_v5_admin", {"action": "status", "target": "r999"}, "target", "not_found"),
    ("memory_v5_admin", {"action": "status", "target": "walrus"}, "target", "not_found"),
    ("memory_v5_admin", {"action": "recycle_bin", "limit": 1001}, "limit", "invalid_request"),
    ("memory_v5_admin", {"action": "recycle_bin", "offset": -1}, "offset", "invalid_request"),
    ("memory_v5_admin", {"action": "recycle_bin", "offset": 2**62 + 1}, "offset", "invalid_request"),
    ("memory_v5_admin", {}, "action", "invalid_request"),
    ("memory_v5_admin", {"action": "remember"}, "", "unknown_component"),
    ("maintain_memory", {}, "action", "invalid_request"),
    ("maintain_memory", {"action": "forgt"}, "", "unknown_component"),
    ("maintain_memory", {"action": "recycle_bin", "limit": True}, "limit", "invalid_request"),
    ("maintain_memory", {"action": "protect", "target": "r1", "hours": -1}, "hours", "invalid_request"),
    ("maintain_memory", {"action": "protect", "target": "r1", "hours": 1e7}, "hours", "invalid_request"),
    ("maintain_memory", {"action": "protect", "target": "r1", "hours": "soon"}, "hours", "invalid_request"),
    ("maintain_memory", {"action": "freeze", "target": "p1"}, "target", "invalid_request"),
    ("maintain_memory", {"action": "freeze", "target": "p1", "kind": "paragraph"}, "target", "invalid_request"),
    ("maintain_memory", {"action": "used"}, "targets", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": []}, "targets", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": "p1"}, "targets", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": ["p1", "kite"]}, "targets.1", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": ["n1"]}, "targets.0", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": ["p9999999999999999999"]}, "targets.0", "invalid_request"),
    ("maintain_memory", {"action": "used", "targets": ["p1", "p99"]}, "target", "not_found"),
    ("maintain_memory", {"action": "used", "targets": ["e99"]}, "target", "not_found"),
    ("maintain_memory", {"action": "used", "targets": ["p1"] * 201}, "targets", "invalid_request"),
    ("search_memory", {"query": "kite", "used": "perhaps"}, "used", "invalid_request"),
]  # fmt: skip


async def test_other_arguments_that_do_not_fit(host: AMemorixHostService, kite: str) -> None:
    for component, args, field, code in UNFIT:
        await refused(host, component, args, field, code)
        assert await operations(host) == []


@pytest.mark.parametrize(
    ("prepared", "component", "action", "says"),
    [
        (None, "memory_v5_admin", "restore", "active"),
        ("freeze", "maintain_memory", "freeze", "inactive"),
        ("freeze", "maintain_memory", "protect", "inactive"),
        ("freeze", "memory_v5_admin", "weaken", "inactive"),
        ("forget", "memory_v5_admin", "forget", "deleted"),
        ("forget", "memory_v5_admin", "reinforce", "restore"),
        ("forget", "memory_v5_admin", "remember_forever", "restore"),
        ("forget", "memory_v5_admin", "weaken", "restore"),
        ("forget", "maintain_memory", "protect", "restore"),
        ("forget", "maintain_memory", "freeze", "restore"),
    ],
)
async def test_a_state_that_does_not_allow_it_is_a_conflict(
    host: AMemorixHostService, kite: str, prepared: str | None, component: str, action: str, says: str
) -> None:
    if prepared:
        await (maintain if prepared == "freeze" else v5)(host, prepared, target=kite)
    before = await operations(host)
    error = await refused(host, component, {"action": action, "target": kite}, "target", "conflict")
    assert says in error
    assert await operations(host) == before


async def test_what_was_deleted_otherwise_is_not_in_the_bin(host: AMemorixHostService, kite: str) -> None:
    await host.invoke("memory_source_admin", {"action": "delete", "source": "note:c"})
    assert await bin_ids(host) == []
    for target in ("p1", "r1"):
        error = await refused(host, "memory_v5_admin", {"action": "restore", "target": target}, "target", "conflict")
        assert "recycle bin" in error


async def test_a_relation_that_nothing_supports_any_more_stays_in_the_bin(host: AMemorixHostService, kite: str) -> None:
    await v5(host, "forget", target=kite)
    await host.invoke("memory_source_admin", {"action": "delete", "source": "note:c"})
    error = await refused(host, "memory_v5_admin", {"action": "restore", "target": kite}, "target", "conflict")
    assert "supports" in error
    (item,) = (await v5(host, "recycle_bin"))["items"]
    assert (item["id"], item["restorable"]) == (kite, False)


async def test_the_bin_is_paged(host: AMemorixHostService, clock: FrozenClock) -> None:
    for n in range(5):
        await told(host, f"kite {n}")
        await v5(host, "forget", target=f"p{n + 1}")
        clock.advance(1)
    assert await bin_ids(host) == ["p5", "p4", "p3", "p2", "p1"]
    page = await maintain(host, "recycle_bin", limit=2, offset=1)
    assert ([item["id"] for item in page["items"]], page["count"], page["total"]) == (["p4", "p3"], 2, 5)
    assert await bin_ids(host, offset=2**62) == []


async def test_the_status_tells_the_settings(host: AMemorixHostService) -> None:
    assert (await v5(host, "status"))["config"] == {
        "half_life_hours": 4320, "paragraph_half_life_hours": 17520, "prune_threshold": 0.1, "revive_threshold": 0.15,
        "freeze_duration_hours": 720, "base_decay_interval_hours": 100_000_000 / 60, "access_cooldown_minutes": 60,
    }  # fmt: skip


# restart


async def test_all_of_it_is_there_after_a_restart(tmp_path: Path, clock: FrozenClock) -> None:
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        await told(host, "The kite hangs in the hall.", relations=[KITE])
        await told(host, "林澈对花生过敏。", relations=[ALLERGY])
        clock.advance(100 * DAY)
        await v5(host, "reinforce", target="r1")
        await maintain(host, "freeze", target="r2")
        await v5(host, "forget", target="p1", kind="paragraph")
        before = [await status(host, target) for target in ("r2", "p2")], await bin_ids(host), await operations(host)
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        after = [await status(host, target) for target in ("r2", "p2")], await bin_ids(host), await operations(host)
        assert after == before
        await v5(host, "restore", target="p1")
        assert (await status(host, "r1"))["reinforcement_count"] == 1
        assert await contents(host, "kite") == ["The kite hangs in the hall."]
