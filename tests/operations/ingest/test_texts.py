"""What is stored can be paged through and shown by id, as far as whoever asks may see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import refused

TEXTS = "memory_text_admin"


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[AMemorixHostService]:
    async with memory_host(tmp_path) as host:
        for chat in ("one", "two"):
            turns = [
                {
                    "speaker": ("Ann", "Bo")[n % 2],
                    "text": f"{chat} says {n}",
                    "time": 1_700_000_000 + 3_600 * n,
                    "external_id": f"{n}",
                }
                for n in range(7)
            ]
            await host.call("ingest_messages", {"chat_id": chat, "messages": turns})
        await host.call(
            "ingest_text", {"text": "for everybody", "scope": "global", "tags": ["rule"], "metadata": {"by": "x"}}
        )
        yield host


async def texts(host: AMemorixHostService, **args: object) -> list[str]:
    return [item["text"] for item in (await host.invoke(TEXTS, {"action": "list", **args}))["items"]]


async def test_pages_follow_each_other_to_the_first_text(host: AMemorixHostService) -> None:
    found: list[str] = []
    before: dict[str, object] = {}
    while True:
        page = await host.invoke(TEXTS, {"action": "list", "chat_id": "one", "limit": 3, **before})
        found += [item["text"] for item in page["items"]]
        assert page["count"] == len(page["items"]) <= 3
        if not page["next"]:
            break
        before = {"before": page["next"]}
    assert found == ["for everybody", *(f"one says {n}" for n in reversed(range(7)))]
    assert len(await texts(host, scope="all")) == 15


async def test_a_text_says_where_it_is_from(host: AMemorixHostService) -> None:
    newest = (await host.invoke(TEXTS, {"action": "list", "chat_id": "two", "limit": 2}))["items"]
    assert newest[0]["metadata"] == {"by": "x"} and newest[0]["tags"] == ["rule"] and newest[0]["chat_id"] == ""
    shown = await host.invoke(TEXTS, {"action": "get", "ids": newest[1]["id"], "chat_id": "two"})
    assert shown["items"] == [newest[1]]
    assert {key: shown["items"][0][key] for key in ("speaker", "external_id", "kind", "time", "expires_at")} == {
        "speaker": "Ann", "external_id": "6", "kind": "message", "time": 1_700_000_000 + 6 * 3_600, "expires_at": None,
    }  # fmt: skip


async def test_what_may_not_be_seen_is_missing(host: AMemorixHostService) -> None:
    of_one = (await host.invoke(TEXTS, {"action": "list", "chat_id": "one", "limit": 3}))["items"]
    ids = [item["id"] for item in of_one if item["chat_id"]]
    shown = await host.invoke(TEXTS, {"action": "get", "ids": [*ids, "p9999"], "chat_id": "two"})
    assert (shown["items"], shown["missing"]) == ([], [*ids, "p9999"])
    await host.call("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": ids[0]})
    assert (await host.invoke(TEXTS, {"action": "get", "ids": ids[0]}))["missing"] == [ids[0]]
    assert "one says 6" not in await texts(host, chat_id="one")


async def test_filters_by_person_source_and_time(host: AMemorixHostService) -> None:
    assert await texts(host, chat_id="one", person_id="Bo") == ["one says 5", "one says 3", "one says 1"]
    assert await texts(host, chat_id="one", person_id="nobody") == []
    assert await texts(host, chat_id="one", source="chat:two") == []
    span = {"time_start": 1_700_000_000 + 3_600, "time_end": 1_700_000_000 + 7_200}
    assert await texts(host, chat_id="one", **span) == ["one says 2", "one says 1"]
    assert await refused(host, TEXTS, {"action": "get", "ids": ["f1"]}, "ids.0")
    assert await refused(host, TEXTS, {"action": "list", "before": "x"}, "before")
