"""Which chats the memory serves."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from conftest import Open
from entrance import contents, found, said, written

MODES = ("search", "time", "hybrid", "episode", "aggregate")


async def store_all(host: AMemorixHostService) -> None:
    """Two group chats and a private one, whatever the filter says."""
    await said(host, "s1", ("Ada", "the kite of s1", 1000), group_id="g1", respect_filter=False)
    await said(host, "s2", ("Bob", "the kite of s2", 2000), group_id="g2", respect_filter=False)
    await said(host, "p1", ("Eve", "the kite of p1", 3000), user_id="eve", respect_filter=False)
    await host.settle(600)


async def seen(host: AMemorixHostService, mode: str = "search", **args: Any) -> set[str]:
    window = {"time_start": 1} if mode in ("time", "hybrid") else {}
    texts = await contents(host, "" if mode == "time" else "kite", mode=mode, limit=50, **args, **window)
    return {line.split(" of ")[1] for text in texts for line in text.splitlines() if " of " in line}


BLACKLISTS = [
    (["stream:s1"], {"s2", "p1"}),
    (["group:g1"], {"s2", "p1"}),
    (["user:eve"], {"s1", "s2"}),
    (["private:eve"], {"s1", "s2"}),
    (["s1"], {"s2", "p1"}),
    (["g1", "eve"], {"s2"}),
    ([" GROUP: g1 "], {"s2", "p1"}),
    (["group:s1"], {"s1", "s2", "p1"}),
    (["stream:g1"], {"s1", "s2", "p1"}),
    (["private:ada"], {"s1", "s2", "p1"}),
    ([], {"s1", "s2", "p1"}),
]


async def test_a_blacklist_hides_what_it_names_and_a_whitelist_the_rest(host: AMemorixHostService) -> None:
    await store_all(host)
    for chats, others in BLACKLISTS:
        for mode, served in (("blacklist", others), ("whitelist", {"s1", "s2", "p1"} - others)):
            await host.update_config({"filter": {"mode": mode, "chats": chats}})
            assert await seen(host) == served, (mode, chats)


@pytest.fixture
async def without_g1(opened: Open) -> AMemorixHostService:
    """A memory that does not serve one of the groups that it holds."""
    host = await opened(filter={"chats": ["group:g1"]})
    await store_all(host)
    return host


async def test_the_filter_holds_in_every_mode(without_g1: AMemorixHostService) -> None:
    for mode in MODES:
        assert await seen(without_g1, mode) == {"s2", "p1"}, mode
        assert await seen(without_g1, mode, respect_filter=False) == {"s1", "s2", "p1"}, mode


ASKING = [
    {"chat_id": "s1", "group_id": "g1"},
    {"group_id": "g1"},
    {"chat_id": "s1"},
    {"chat_id": "s1", "user_id": "ada"},
]


async def test_a_chat_that_is_not_served_is_told_so(without_g1: AMemorixHostService) -> None:
    """Also if the call leaves out the group that the memory knows the chat by."""
    for mode, asking in product(MODES, ASKING):
        answer = await found(without_g1, "kite", mode=mode, time_start=1, **asking)
        assert (answer["filtered"], answer["hits"]) == (True, []), (mode, asking)

        answer = await found(without_g1, "kite", mode=mode, time_start=1, respect_filter=False, **asking)
        assert answer["hits"] and not answer["filtered"], (mode, asking)


async def test_a_chat_on_the_whitelist_is_served_however_it_asks(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"mode": "whitelist", "chats": ["group:g1"]}) as host:
        await store_all(host)
        for asking in ASKING:
            assert await seen(host, **asking) == {"s1"}, asking
        assert (await found(host, "kite", chat_id="s2"))["filtered"]
        assert (await found(host, "kite", chat_id="unknown"))["filtered"]


async def test_nothing_is_stored_for_a_chat_that_is_not_served(without_g1: AMemorixHostService) -> None:
    host, before = without_g1, await written(without_g1)
    for asking in ASKING:
        turns = await host.invoke("ingest_messages", {"messages": [{"external_id": "m", "text": "new"}], **asking})
        note = await host.invoke("ingest_text", {"external_id": "n", "source_type": "note", "text": "new", **asking})
        summary = await host.invoke("ingest_summary", {"external_id": "s", "chat_id": "s1", "text": "new", **asking})

        for result, key in ((turns, "m"), (note, "n"), (summary, "s")):
            assert result["success"]
            assert (result["stored_ids"], result["skipped_ids"], result["reason"]) == ([], [key], "chat_filtered")
        assert await written(host) == before


async def test_a_filter_that_is_switched_off_hides_nothing(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"enabled": False, "mode": "whitelist"}) as host:
        await store_all(host)
        assert await seen(host) == {"s1", "s2", "p1"}
        assert not (await found(host, "kite", chat_id="s1"))["filtered"]


async def test_the_filter_and_shared_groups_work_together(tmp_path: Path) -> None:
    """A shared group shows nothing that the filter hides."""
    settings: dict[str, Any] = {
        "filter": {"chats": ["stream:s2"]},
        "shared_memory_groups": [{"targets": ["s1", "s2", "p1"]}],
    }
    async with memory_host(tmp_path, **settings) as host:
        await store_all(host)
        assert await seen(host, chat_id="s1") == {"s1", "p1"}


async def test_global_sharing_shows_nothing_that_the_filter_hides(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"chats": ["s2"]}, global_memory_sharing_enabled=True) as host:
        await store_all(host)
        assert await seen(host, chat_id="s1") == {"s1", "p1"}


async def test_a_whitelist_of_nobody_serves_nobody(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"mode": "whitelist"}) as host:
        await store_all(host)
        assert await seen(host) == set()
        assert (await found(host, "kite", chat_id="s1"))["filtered"]


async def test_a_user_who_is_not_served_does_not_close_the_group_for_others(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"chats": ["user:eve"]}) as host:
        await said(host, "s1", ("Eve", "the kite of s1"), group_id="g1", user_id="eve", respect_filter=False)

        assert await seen(host, chat_id="s1", group_id="g1", user_id="ada") == {"s1"}
        assert await seen(host, chat_id="s1") == {"s1"}
        assert (await found(host, "kite", chat_id="s1", user_id="eve"))["filtered"]


async def test_a_user_on_the_whitelist_is_served_in_his_groups(tmp_path: Path) -> None:
    async with memory_host(tmp_path, filter={"mode": "whitelist", "chats": ["user:ada"]}) as host:
        await said(host, "s1", ("Ada", "the kite of s1"), group_id="g1", user_id="ada")

        assert await seen(host, chat_id="s1", group_id="g1", user_id="ada") == {"s1"}
        assert (await found(host, "kite", chat_id="s1", user_id="eve"))["filtered"]
