"""A look at what a deletion in one chat would take is the same whatever other chats hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import told

KITE = {"subject": "kite", "predicate": "hangs in", "object": "hall"}
WISHES: list[dict[str, Any]] = [
    {"mode": "person", "selector": "Zebulonia"},
    {"mode": "person", "selector": "qq:77777001"},
    {"mode": "person", "selector": "Schnucki"},
    {"mode": "person", "selector": "Ann"},
    {"mode": "entity", "selector": "comet"},
    {"mode": "entity", "selector": "kite"},
    {"mode": "entity", "selector": "kite", "include_paragraphs": True},
    {"mode": "entity", "selector": ["lamp"]},
    {"mode": "relation", "selector": {"subject": "comet"}},
    {"mode": "relation", "selector": {"subject": "kite"}},
    {"mode": "relation", "selector": {"query": "kite"}},
    {"mode": "paragraph", "selector": {"query": "kite"}},
    {"mode": "paragraph", "selector": {"query": "comet"}},
    {"mode": "paragraph", "selector": {"external_ids": ["secret-1"]}},
    {"mode": "paragraph", "selector": {"ids": ["p9"]}},
    {"mode": "relation", "selector": {"ids": ["r3"]}},
    {"mode": "source", "selector": "secret source"},
    {"mode": "mixed", "selector": {"entity_names": ["kite", "comet"], "person_ids": ["Ann", "Zebulonia"]}},
]


async def fill(host: AMemorixHostService, elsewhere: str) -> None:
    """The same in the chat `here`; in another chat, memories of the same names, or of others."""
    turn = {"speaker": "Ann", "person_id": "qq:1", "text": "The kettle is blue", "time": 1.7e9, "external_id": "m1"}
    await host.invoke("ingest_messages", {"chat_id": "here", "messages": [turn]})
    await told(host, "the kite hangs in the hall", chat_id="here", external_id="k", relations=[KITE], timestamp=1.7e9)
    await told(host, "a lamp", chat_id="here", external_id="l", entities=["lamp"], timestamp=1.7e9)
    if elsewhere == "the same":
        comet = {"subject": "comet", "predicate": "crosses", "object": "sky"}
        note = {"chat_id": "away", "source": "secret source", "person_aliases": {"qq:77777001": ["Schnucki"]}}
        await told(host, "the kite hangs there too", external_id="secret-1", relations=[KITE, comet], **note)
        await told(
            host, "the lamp is hers", external_id="secret-2", entities=["lamp"], person_ids=["qq:77777001"], **note
        )
        turns = [
            ("Zebulonia", "qq:77777001", "a comet"),
            ("Ann", "qq:1", "I am Ann"),
            ("Ann", "qq:2", "I am another Ann"),
        ]
    else:
        turns = [("Bob", "qq:3", "it rains")]
    messages = [{"speaker": name, "person_id": id_, "text": text, "time": 1.7e9} for name, id_, text in turns]
    await host.invoke("ingest_messages", {"chat_id": "away", "messages": messages})
    await host.settle(600)


async def test_a_preview_in_one_chat_tells_nothing_of_another(tmp_path: Path) -> None:
    answers: dict[str, list[dict[str, Any]]] = {}
    for elsewhere in ("the same", "others"):
        async with memory_host(tmp_path / elsewhere) as host:
            await fill(host, elsewhere)
            answers[elsewhere] = []
            for wish in WISHES:
                answer = await host.invoke("memory_delete_admin", {"action": "preview", "chat_id": "here", **wish})
                answers[elsewhere].append({name: value for name, value in answer.items() if name != "plan_token"})

    for wish, one, other in zip(WISHES, answers["the same"], answers["others"], strict=True):
        assert one == other, wish
    assert any(one["success"] for one in answers["others"])
