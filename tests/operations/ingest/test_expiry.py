"""Texts that expire: hidden at once on every path, then in the recycle bin, and editable until then."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from conftest import Open
from entrance import contents, found, hits, refused, said, stats, told

NEVER = {"lifecycle": {"interval_minutes": 100_000_000}}
MODES = ("search", "time", "hybrid", "episode", "aggregate")
KITE = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
NOW = FrozenClock().now()


@pytest.fixture
async def host(opened: Open, clock: FrozenClock) -> AMemorixHostService:
    host = await opened(clock=clock, embed=HashEmbedder(), **NEVER)
    await run(host)
    return host


async def run(host: AMemorixHostService) -> dict[str, Any]:
    result = await host.invoke("memory_v5_admin", {"action": "run"})
    assert result["success"], result
    return result


async def expiry(host: AMemorixHostService, key: str) -> float | None:
    result = await host.invoke("memory_v5_admin", {"action": "status", "target": key})
    return result["items"][0]["expires_at"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"ttl_seconds": 60}, NOW + 60),
        ({"ttl_seconds": 0.5}, NOW + 0.5),
        ({"expires_at": NOW + 100}, NOW + 100),
        ({"expires_at": "2023-11-20T00:00:00Z"}, 1_700_438_400),
        ({"expires_at": "2023/11/20"}, 1_700_438_400 + 86_400),
        ({"expires_at": "明天"}, 1_700_006_400 + 86_400),
        ({"expires_at": "tomorrow"}, 1_700_006_400 + 86_400),
        ({"expires_at": "never"}, None),
        ({"expires_at": "永不"}, None),
        ({}, None),
    ],
)
async def test_the_moment_can_be_said_in_many_ways(
    host: AMemorixHostService, args: dict[str, Any], expected: float | None
) -> None:
    await told(host, "kite", **args)
    await said(host, "c", ("Ada", "kite"), **args)
    assert (
        await host.invoke("ingest_summary", {"external_id": "s", "chat_id": "c", "text": "kite", **args})
    )["success"]  # fmt: skip
    for key in ("p1", "p2", "p3"):
        at = await expiry(host, key)
        assert at == (None if expected is None else pytest.approx(expected, abs=0.01))


@pytest.mark.parametrize(("text", "other"), [("The kite hangs in the hall.", "lamp"), ("风筝挂在大厅里。", "台灯")])
async def test_it_is_hidden_at_once_on_every_path(
    host: AMemorixHostService, clock: FrozenClock, text: str, other: str
) -> None:
    await told(host, text, chat_id="c", source="s", timestamp=1000, ttl_seconds=60, relations=[KITE],
               participants=["Ada"], entities=["kite"])  # fmt: skip
    await told(host, other, chat_id="c", source="t", timestamp=1000, participants=["Ada"])
    await host.settle(600)
    for mode in MODES:
        assert text in str(await found(host, text, mode=mode, chat_id="c", time_start=1)), mode
    assert text in await contents(host, "Ada", chat_id="c")
    clock.advance(60)

    for chat in ({}, {"chat_id": "c"}):
        for mode in MODES:
            for query in (text, "kite", "Ada", ""):
                if query or mode == "time":
                    answer = await found(host, query, mode=mode, time_start=1, **chat)
                    assert text not in str(answer), (mode, query)
        assert text not in str(await found(host, mode="time", time_start=1, person_id="Ada", **chat))
        assert await hits(host, text, mode="episode", **chat) == [] or text not in str(await hits(host, text, **chat))
    listed = (await host.invoke("memory_source_admin", {"action": "list"}))["items"]
    assert [item["source"] for item in listed] == ["t"]
    counts = await stats(host)
    assert (counts["paragraphs"], counts["deleted"], counts["sources"], counts["entities"]) == (1, 1, 1, 0)


async def test_episodes_are_derived_without_what_has_expired(host: AMemorixHostService, clock: FrozenClock) -> None:
    await said(host, "c", ("Ada", "the secret kite", 1000), ttl_seconds=60)
    await said(host, "c", ("Ada", "the open kite", 1060))
    await host.settle(600)
    assert "secret" in str(await hits(host, "kite", mode="episode"))
    clock.advance(61)
    assert await hits(host, "kite", mode="episode") == []
    await said(host, "c", ("Ada", "another kite", 1120))
    await host.settle(600)
    (episode,) = await hits(host, "kite", mode="episode")
    assert "open kite" in episode["content"]
    assert "secret" not in str(episode)


async def test_a_round_moves_it_to_the_bin_and_it_can_be_restored(
    host: AMemorixHostService, clock: FrozenClock
) -> None:
    for n in range(3):
        await told(host, f"kite {n}", ttl_seconds=60 * (n + 1), relations=[{**KITE, "object": f"place {n}"}])
    clock.advance(120)
    assert (await run(host))["expired"] == 2
    assert (await run(host))["expired"] == 0
    counts = await stats(host)
    assert (counts["paragraphs"], counts["deleted"], counts["relations"], counts["external_refs"]) == (1, 2, 1, 1)
    bin_ = (await host.invoke("memory_v5_admin", {"action": "recycle_bin"}))["items"]
    assert [(item["id"], item["reason"], item["restorable"]) for item in bin_] == [
        ("p2", "expired", True), ("p1", "expired", True),
    ]  # fmt: skip
    result = await host.invoke("maintain_memory", {"action": "restore", "target": "p1"})
    assert result["statuses"] == {"p1": "active"}
    assert (await stats(host))["relations"] == 2
    clock.advance(9_999)
    assert (await run(host))["expired"] == 1
    assert await contents(host, "kite") == ["kite 0"]


async def test_what_has_expired_can_be_restored_before_the_round(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "kite", ttl_seconds=60)
    clock.advance(60)
    error = await refused(host, "memory_v5_admin", {"action": "reinforce", "target": "p1"}, "target", "conflict")
    assert "expired" in error
    assert (await host.invoke("memory_v5_admin", {"action": "restore", "target": "p1"}))["success"]
    assert await contents(host, "kite") == ["kite"]
    assert await expiry(host, "p1") is None


async def test_the_same_text_with_another_time_changes_the_time(host: AMemorixHostService, clock: FrozenClock) -> None:
    first = await told(host, "kite", external_id="x", ttl_seconds=60)
    longer = await told(host, "kite", external_id="x", ttl_seconds=600)
    same = await told(host, "kite", external_id="x")
    assert (longer["reason"], longer["stored_ids"], longer["skipped_ids"]) == ("expiry_changed", [], ["x"])
    assert (same["reason"], await expiry(host, "p1")) == ("exists", NOW + 600)
    assert first["stored_ids"] == ["p1"]
    clock.advance(300)
    assert await contents(host, "kite") == ["kite"]
    assert (await told(host, "kite", external_id="x", expires_at="never"))["reason"] == "expiry_changed"
    clock.advance(9_999)
    assert (await run(host))["expired"] == 0
    assert await contents(host, "kite") == ["kite"]


async def test_messages_change_their_time_too(host: AMemorixHostService, clock: FrozenClock) -> None:
    message = {"external_id": "m", "speaker": "Ada", "text": "风筝", "time": 1000}
    for seconds in (60, 30):
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message], "ttl_seconds": seconds})
    assert await expiry(host, "p1") == NOW + 30


@pytest.mark.parametrize("seen", [False, True])
async def test_told_again_after_it_expired_it_is_there_again(
    host: AMemorixHostService, clock: FrozenClock, seen: bool
) -> None:
    await told(host, "kite", external_id="x", ttl_seconds=60)
    clock.advance(60)
    if seen:
        await run(host)
    assert await contents(host, "kite") == []
    await told(host, "kite", external_id="x")
    assert await contents(host, "kite") == ["kite"]
    clock.advance(9_999)
    assert await contents(host, "kite") == ["kite"]


async def test_a_new_wording_does_not_inherit_the_time(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "kite one", external_id="x", ttl_seconds=60)
    await told(host, "kite two", external_id="x")
    clock.advance(61)
    assert (await run(host))["expired"] == 0
    assert await contents(host, "kite") == ["kite two"]


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({"expires_at": NOW}, "expires_at"),
        ({"expires_at": NOW - 1}, "expires_at"),
        ({"expires_at": 0}, "expires_at"),
        ({"expires_at": "2020-01-01"}, "expires_at"),
        ({"expires_at": "昨天"}, "expires_at"),
        ({"expires_at": "whenever"}, "expires_at"),
        ({"expires_at": True}, "expires_at"),
        ({"expires_at": math.inf}, "expires_at"),
        ({"ttl_seconds": 0}, "ttl_seconds"),
        ({"ttl_seconds": -5}, "ttl_seconds"),
        ({"ttl_seconds": math.nan}, "ttl_seconds"),
        ({"ttl_seconds": "soon"}, "ttl_seconds"),
        ({"ttl_seconds": 60, "expires_at": NOW + 60}, ""),
    ],
)
async def test_a_time_that_does_not_fit_stores_nothing(
    host: AMemorixHostService, args: dict[str, Any], field: str
) -> None:
    note = {"external_id": "x", "source_type": "note", "text": "kite"}
    await refused(host, "ingest_text", {**note, **args}, field)
    await refused(host, "ingest_summary", {"external_id": "x", "chat_id": "c", "text": "kite", **args}, field)
    await refused(host, "ingest_messages", {"chat_id": "c", "messages": [{"text": "kite"}], **args}, field)


async def test_an_expiry_outlives_a_restart(tmp_path: Path, clock: FrozenClock) -> None:
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        await told(host, "kite", ttl_seconds=60)
    clock.advance(60)
    async with memory_host(tmp_path, clock=clock, **NEVER) as host:
        assert await contents(host, "kite") == []
        assert (await run(host))["expired"] in (0, 1)
        bin_ = (await host.invoke("maintain_memory", {"action": "recycle_bin"}))["items"]
        assert [item["id"] for item in bin_] == ["p1"]
