"""Sources: listed as they are, deleted as asked, and gone from every answer."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from conftest import Open
from entrance import contents, found, hits, refused, said, stats, told

MODES = ("search", "time", "hybrid", "episode", "aggregate")


async def admin(host: AMemorixHostService, action: str, **args: Any) -> dict[str, Any]:
    return await host.invoke("memory_source_admin", {"action": action, **args})


async def names(host: AMemorixHostService, **args: Any) -> list[tuple[str, str, int]]:
    items = (await admin(host, "list", **args))["items"]
    return [(item["source"], item["chat_id"], item["count"]) for item in items]


async def test_the_list_tells_what_a_source_holds(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "a kite", 1000), ("Ada", "a lamp", 2000))
    await told(host, "undated", source="notes", chat_id="c")
    result = await admin(host, "list")
    chat = next(item for item in result["items"] if item["source"] == "chat:c")

    assert (result["count"], result["total"]) == (2, 2)
    assert chat == {
        "source": "chat:c", "source_type": "chat", "chat_id": "c", "count": 2, "last_updated": FrozenClock().now(),
        "event_start": 1000, "event_end": 2000,
    }  # fmt: skip


async def test_the_list_is_paged_and_newest_first(host: AMemorixHostService, opened: Open) -> None:
    for n in range(5):
        await told(host, f"kite {n}", source=f"s{n}", chat_id="c" if n % 2 else "d")

    assert [name for name, *_ in await names(host)] == ["s4", "s3", "s2", "s1", "s0"]
    assert [name for name, *_ in await names(host, limit=2, offset=1)] == ["s3", "s2"]
    assert [name for name, *_ in await names(host, chat_id="c")] == ["s3", "s1"]
    assert (await admin(host, "list", chat_id="c"))["total"] == 2
    assert await names(host, chat_id="nowhere") == []


async def test_the_list_may_be_asked_for_what_is_far_beyond_its_end(host: AMemorixHostService) -> None:
    await told(host, "kite")
    assert await names(host, offset=2**62, limit=10_000) == []


async def test_a_deleted_source_is_gone_everywhere(opened: Open) -> None:
    host = await opened(embed=HashEmbedder())
    relation = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
    await told(host, "The kite hangs in the hall.", source="gone", chat_id="c", timestamp=1000, relations=[relation],
               entities=["kite"])  # fmt: skip
    await told(host, "A lamp stands there.", source="kept", chat_id="c", timestamp=2000)
    await host.settle(600)
    result = await admin(host, "delete", source="gone")

    assert result["success"]
    assert (result["requested_source_count"], result["matched_source_count"]) == (1, 1)
    assert (result["deleted_paragraph_count"], result["deleted_count"]) == (1, 1)
    assert result["sources"] == ["gone"]
    for settled in (False, True):
        for mode in MODES:
            texts = await contents(host, "kite hall", mode=mode, time_start=1, limit=20)
            assert not any("kite" in text for text in texts), (mode, settled)
        await host.settle(600)
    assert await names(host) == [("kept", "c", 1)]
    counts = await stats(host)
    assert (counts["paragraphs"], counts["deleted"], counts["relations"], counts["episodes"]) == (1, 1, 0, 1)


@pytest.mark.parametrize("mode", MODES)
async def test_what_is_deleted_is_not_found_at_once(opened: Open, mode: str) -> None:
    """Also in the words of an episode that has not been made anew."""
    host = await opened()
    await said(host, "c", ("Ada", "secret kite", 1000), source="a")
    await host.settle(600)
    await admin(host, "delete", source="a")
    assert await hits(host, "secret kite", mode=mode, time_start=1) == []


async def test_a_source_that_holds_nothing_is_no_success(host: AMemorixHostService) -> None:
    await told(host, "kite", source="a")
    result = await admin(host, "delete", source="b")

    assert not result["success"]
    assert result["error"]
    assert result["error_code"] == "not_found"
    assert (result["requested_source_count"], result["matched_source_count"], result["deleted_count"]) == (1, 0, 0)


async def test_deleting_again_is_no_success(host: AMemorixHostService) -> None:
    await told(host, "kite", source="a")
    assert (await admin(host, "delete", source="a"))["success"]
    assert not (await admin(host, "delete", source="a"))["success"]


async def test_several_at_once(host: AMemorixHostService) -> None:
    for name in "abc":
        await told(host, f"the kite of {name}", source=name)
    result = await admin(host, "batch_delete", sources=["a", "nothing", " b ", "a"])

    assert result["success"]
    assert (result["requested_source_count"], result["matched_source_count"]) == (3, 2)
    assert (result["deleted_paragraph_count"], result["deleted_count"]) == (2, 2)
    assert result["sources"] == ["a", "b"]
    assert await contents(host, "kite") == ["the kite of c"]


async def test_several_that_hold_nothing_are_no_success(host: AMemorixHostService) -> None:
    result = await admin(host, "batch_delete", sources=["x", "y"])
    assert (result["success"], result["requested_source_count"], result["matched_source_count"]) == (False, 2, 0)


async def test_a_chat_can_be_named_with_the_source(host: AMemorixHostService) -> None:
    for chat in "cd":
        await told(host, f"the kite of {chat}", source="notes", chat_id=chat)
    assert (await admin(host, "delete", source="notes", chat_id="c"))["deleted_count"] == 1
    assert await contents(host, "kite") == ["the kite of d"]
    assert not (await admin(host, "delete", source="notes", chat_id="nowhere"))["success"]


async def test_what_was_deleted_can_be_stored_again(host: AMemorixHostService) -> None:
    await told(host, "kite", external_id="x", source="a")
    await admin(host, "delete", source="a")
    result = await told(host, "kite", external_id="x", source="a")

    assert result["stored_ids"]
    assert result["superseded_ids"] == []
    assert await contents(host, "kite") == ["kite"]


async def test_deleting_takes_only_live_revisions_into_account(host: AMemorixHostService) -> None:
    for text in ("kite one", "kite two", "kite three"):
        await told(host, text, external_id="x", source="a")
    assert (await admin(host, "delete", source="a"))["deleted_count"] == 1
    assert await contents(host, "kite") == []


UNFIT: list[Any] = [
    ({"action": "delete"}, "source"),
    ({"action": "delete", "source": " "}, "source"),
    ({"action": "delete", "source": ["a"]}, "source"),
    ({"action": "delete", "source": "x" * 513}, "source"),
    ({"action": "batch_delete"}, "sources"),
    ({"action": "batch_delete", "sources": []}, "sources"),
    ({"action": "batch_delete", "sources": "a"}, "sources"),
    ({"action": "batch_delete", "sources": ["a", ""]}, "sources.1"),
    ({"action": "batch_delete", "sources": ["a"] * 10_001}, "sources"),
    ({"action": "list", "limit": 0}, "limit"),
    ({"action": "list", "offset": -1}, "offset"),
    ({"action": "list", "offset": 2**62 + 1}, "offset"),
    ({"action": "list", "offset": 10**400}, "offset"),
]


async def test_arguments_that_do_not_fit_delete_nothing(host: AMemorixHostService) -> None:
    await told(host, "kite", source="a")
    for args, field in UNFIT:
        await refused(host, "memory_source_admin", args, field)


@pytest.mark.parametrize("action", [None, "", 5, ["delete"]])
async def test_an_action_is_needed(host: AMemorixHostService, action: Any) -> None:
    error = await refused(host, "memory_source_admin", {"action": action, "source": "a"}, "action")
    assert "batch_delete" in error


async def test_an_unknown_action_names_the_nearest(host: AMemorixHostService) -> None:
    error = await refused(host, "memory_source_admin", {"action": "delet", "source": "a"}, code="unknown_component")
    assert "'delete'" in error


async def test_actions_may_be_written_large(host: AMemorixHostService) -> None:
    assert (await admin(host, " LIST "))["success"]


async def test_deleted_texts_stay_deleted_after_a_restart(tmp_path: Any) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, "kite", source="a")
        await told(host, "lamp", source="b")
        await admin(host, "delete", source="a")
    async with memory_host(tmp_path) as host:
        assert (await found(host, "kite"))["hits"] == []
        assert await contents(host, "lamp") == ["lamp"]
