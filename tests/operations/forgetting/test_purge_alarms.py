"""What rows that stay hold is no trace of what is purged, wherever it stands in a file."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import StorageFailure
from entrance import data_of, said, told

ADMIN = "memory_delete_admin"
WORDS = [
    ("quokka walrus", "ibex marmot", "quokka walrus ibex marmot"),
    ("鹳鹬", "麂麝", "鹳鹬麂麝"),
]  # fmt: skip


async def purged(host: AMemorixHostService, mode: str, selector: str) -> dict[str, Any]:
    result = await host.invoke(ADMIN, {"action": "execute", "mode": mode, "selector": selector, "purge": True})
    assert result["success"], result
    return result["receipt"]


@pytest.mark.parametrize("texts", WORDS)
async def test_words_that_others_say_stand_side_by_side_in_an_index(
    host: AMemorixHostService, texts: tuple[str, str, str]
) -> None:
    for text in texts[:2]:
        await told(host, f"{text} {text} zebra", chat_id="here")
    gone = await told(host, f"{texts[2]} zebra", chat_id="here")
    await host.settle(120)
    await host.invoke("memory_runtime_admin", {"action": "save"})

    receipt = await purged(host, "paragraph", gone["stored_ids"][0])

    assert receipt["found"] == {}
    assert receipt["rewritten"] == 1


async def test_a_fragment_may_reach_into_what_stands_beside_the_words(host: AMemorixHostService) -> None:
    for chat in range(4):
        cities = ("Oslo", "Rome", "杭州")
        turns = [("Bob", f"I live in {cities[n % 3]}. {chat * 400 + n}", 1.6e9 + chat * 20_000 + n) for n in range(400)]
        await said(host, f"qq:{chat}", *turns)
    await host.settle(120)

    for chat in ("qq:2", "qq:1"):
        receipt = await purged(host, "chat", chat)
        assert (receipt["found"], receipt["rewritten"]) == ({}, 1)


@pytest.mark.parametrize("text", ["a quokka sleeps beside the pond", "袋鼠睡在池塘边上"])
async def test_both_doors_tell_alike_what_was_left(host: AMemorixHostService, text: str) -> None:
    (data_of(host) / "elsewhere.txt").write_text(text, encoding="utf-8")
    ids = [(await told(host, text, chat_id=chat))["stored_ids"][0] for chat in ("here", "there")]

    first = await host.invoke(ADMIN, {"action": "execute", "mode": "mixed", "selector": {"paragraph_ids": ids}})
    later = await host.invoke(ADMIN, {"action": "purge", "operation_id": first["operation_id"]})
    again = (await told(host, text, chat_id="here"))["stored_ids"][0]
    at_once = await host.invoke(ADMIN, {"action": "execute", "mode": "paragraph", "selector": again, "purge": True})

    for answer in (at_once, later):
        assert (answer["success"], answer["error_code"]) == (False, StorageFailure.code)
        assert "elsewhere.txt" in answer["error"]
    assert list(at_once["receipt"]["found"]) == ["elsewhere.txt"]
