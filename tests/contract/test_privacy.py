"""What belongs to one chat or was taken back is not told elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidConfig
from amemorix.testing import memory_host, pause_background
from conftest import Open
from doors import through_each_door
from entrance import contents, told


async def say(host: AMemorixHostService, chat: str, text: str, **turn: Any) -> dict[str, Any]:
    return await host.invoke("ingest_messages", {"chat_id": chat, "messages": [{"text": text, **turn}]})


async def search(host: AMemorixHostService, query: str, **args: Any) -> list[dict[str, Any]]:
    return (await host.invoke("search_memory", {"query": query, **args}))["hits"]


@through_each_door
async def test_a_name_of_one_chat_is_unknown_in_another(opened: Open) -> None:
    host = await opened()
    await say(host, "PA", "I love echidnas", speaker="Real Name", person_id="u1")
    await say(host, "PB", "I love bandicoots", speaker="Anon", person_id="u1")

    hits = await search(host, "bandicoots", chat_id="PB")
    assert [(hit["speaker"], hit["person_ids"]) for hit in hits] == [("Anon", ["u1"])]
    assert await search(host, "love", chat_id="PB", person_id="Real Name") == []
    assert [hit["speaker"] for hit in await search(host, "love", chat_id="PB", person_id="u1")] == ["Anon"]
    (named,) = await search(host, "what does Anon love", chat_id="PB")
    assert named["explain"]["persons"] == ["Anon"]


@pytest.mark.parametrize("blank", [" ", "\t", "\x00", "A\x00B"])
@through_each_door
async def test_a_blank_chat_is_refused_and_not_everybody(opened: Open, blank: str) -> None:
    host = await opened()
    await say(host, "c1", "the quokka diary", speaker="Ann")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_memory", {"query": "quokka", "chat_id": blank}),
        ("ingest_text", {"external_id": "1", "source_type": "note", "text": "secret", "chat_id": blank}),
        ("memory_source_admin", {"action": "delete", "source": "chat:c1", "chat_id": blank}),
    ]
    for component, args in calls:
        answer = await host.invoke(component, args)
        assert (answer["success"], answer["error_code"]) == (False, "invalid_request"), component
        assert answer["details"]["field"] == "chat_id"
    assert (await host.invoke("memory_stats"))["paragraphs"] == 1


async def test_an_episode_does_not_tell_what_was_reworded(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await say(host, "c1", "my wallet pin is kangaroo1234", speaker="Ann", external_id="1", time="2026-01-02 10:00")
        await say(host, "c1", "keep it to yourself", speaker="Ann", external_id="2", time="2026-01-02 10:01")
        await host.settle()
        assert "kangaroo" in (await search(host, "wallet pin", mode="episode"))[0]["content"]
        await pause_background(host)

        await say(host, "c1", "redacted wallet", speaker="Ann", external_id="1", time="2026-01-02 10:00")

        for mode in ("episode", "aggregate"):
            assert not [hit for hit in await search(host, "wallet pin", mode=mode) if "kangaroo" in hit["content"]]


@through_each_door
async def test_a_chat_of_two_users_is_nobodys_private_chat(opened: Open) -> None:
    host = await opened()
    said = {"chat_id": "c", "messages": [{"text": "quokka"}]}
    await host.invoke("ingest_messages", {**said, "user_id": "u1"})
    assert len(await search(host, "quokka", user_id="u1")) == 1

    for owner in ("u2", "u1"):
        await host.invoke("ingest_messages", {**said, "user_id": owner})
        assert [await search(host, "quokka", user_id=one) for one in ("u1", "u2")] == [[], []]
    assert len(await search(host, "quokka", chat_id="c")) == 3


@through_each_door
async def test_a_corrected_speaker_is_a_revision(opened: Open) -> None:
    host = await opened()
    await say(host, "c", "Lee is here", speaker="Ann", external_id="1")

    answer = await say(host, "c", "is here", speaker="Ann Lee", external_id="1")

    assert [result["status"] for result in answer["results"]] == ["revised"]


@pytest.mark.parametrize("setting", ["filter.chats", "shared_memory_groups"])
async def test_a_blank_entry_of_a_list_of_chats_is_refused(tmp_path: Path, setting: str) -> None:
    value: Any = [" "] if setting == "filter.chats" else [{"targets": [" "]}]
    async with memory_host(tmp_path) as host:
        with pytest.raises(InvalidConfig, match=setting):
            await host.update_config({setting: value})


@through_each_door
async def test_a_destructive_call_knows_every_argument(host: AMemorixHostService) -> None:
    await told(host, "kept", source="s", chat_id="mine")
    result = await host.invoke("memory_source_admin", {"action": "delete", "source": "s", "dry_run": True})
    assert (result["success"], result["details"]["field"]) == (False, "dry_run")
    assert await contents(host, "kept") == ["kept"]
