"""Searches narrowed to a source, a kind of source, tags, or to a chat's own: exact in every lane."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from entrance import call, contents, found, refused, said, told


async def test_each_filter(host: AMemorixHostService) -> None:
    await told(host, "a kite of s", source="s", tags=["red", "big"])
    await told(host, "a kite of t", source="t", tags=["red"])
    await told(host, "a kite of a flow", source="s2", source_type="flow", chat_id="c")
    await told(host, "a kite of s in c", source="s", chat_id="c")
    for wanted, filters in (
        ({"a kite of s", "a kite of s in c"}, {"source": "s"}),
        ({"a kite of a flow"}, {"source_type": "flow"}),
        ({"a kite of s", "a kite of t"}, {"tags": ["red"]}),
        ({"a kite of s"}, {"tags": ["big", "red"]}),
        ({"a kite of s"}, {"tags": ["red"], "source": "s"}),
        ({"a kite of s in c"}, {"source": "s", "chat_id": "c", "only_own": True}),
        ({"a kite of a flow", "a kite of s in c"}, {"chat_id": "c", "only_own": True}),
        (set[str](), {"tags": ["blue"]}), (set[str](), {"source": "z"}), (set[str](), {"chat_id": "z", "only_own": True}),
    ):  # fmt: skip
        assert set(await contents(host, "kite", limit=20, **filters)) == wanted, filters
    await refused(host, "search_memory", {"query": "kite", "only_own": True}, "chat_id")
    hit = (await found(host, "kite", source_type="flow"))["hits"][0]
    assert (hit["source"], hit["source_type"]) == ("s2", "flow")


async def test_only_own_leaves_out_what_is_shared(host: AMemorixHostService) -> None:
    await host.update_config(
        {
            "shared_memory_groups": [{"targets": ["stream:a", "stream:b"]}],
            "global_memory_sharing_enabled": False,
        }
    )
    for chat in ("a", "b"):
        await told(host, f"a kite of {chat}", chat_id=chat)
    await told(host, "a kite for all")
    await told(host, "a kite of a for all", chat_id="a", scope="global")
    assert len(await contents(host, "kite", chat_id="a", limit=20)) == 4
    assert await contents(host, "kite", chat_id="a", limit=20, only_own=True) == ["a kite of a"]
    await told(host, "a kite of Ann alone", user_id="ann")
    assert await contents(host, "kite", user_id="ann", only_own=True) == ["a kite of Ann alone"]


@pytest.mark.parametrize("mode", ["search", "hybrid", "aggregate", "time"])
async def test_few_among_very_many_are_all_found(host: AMemorixHostService, mode: str, clock: FrozenClock) -> None:
    await told(
        host,
        "Zoe flew the kite over the dunes",
        source="mine",
        tags=["rare"],
        participants=["Zoe"],
        timestamp=clock.now() - 9_000,
    )
    await call(
        host, "ingest_texts",
        items=[
            {"text": f"Zoe flew the kite, a kite of Zoe, number {i}", "source": "many", "tags": ["common"], "participants": ["Zoe"], "timestamp": clock.now() - i}
            for i in range(900)
        ],
    )  # fmt: skip
    window: dict[str, Any] = {} if mode in ("search", "aggregate") else {"time_start": clock.now() - 10_000}
    for query in ("kite", "Zoe", "what did Zoe fly today?", *([""] if mode == "time" else [])):
        for filters in ({"source": "mine"}, {"tags": ["rare"]}):
            every = [
                hit
                for hit in (await found(host, query, mode=mode, limit=5, **filters, **window))["hits"]
                if hit["type"] == "paragraph"
            ]
            assert [hit["source"] for hit in every] == ["mine"], (query, filters)


async def test_graph_and_relations_within_a_source(host: AMemorixHostService) -> None:
    for i in range(500):
        await told(
            host, f"note {i}: Kestrel works with the Osprey team", source="many",
            entities=["Kestrel", "Osprey"], relations=[{"subject": "Kestrel", "predicate": "works with", "object": "Osprey"}],
        ) if i < 30 else None  # fmt: skip
    await told(
        host,
        "minutes of the meeting",
        source="mine",
        entities=["Kestrel"],
        relations=[{"subject": "Kestrel", "predicate": "leads", "object": "Heron"}],
    )
    for query in ("Kestrel", "who is with Osprey?"):
        assert set(await contents(host, query, source="mine", limit=5)) <= {"minutes of the meeting"}
    assert await contents(host, "Kestrel", source="mine") == ["minutes of the meeting"]


async def test_facts_and_old_wordings_do_not_cross(host: AMemorixHostService, clock: FrozenClock) -> None:
    await said(host, "c", ("Ann", "I live in Leeds and work as a baker"), source="s")
    await told(host, "nothing of note", source="t", chat_id="c")
    await host.settle()
    assert (await found(host, "where does Ann live?", chat_id="c"))["facts"]
    assert (await found(host, "where does Ann live?", chat_id="c", source="t"))["facts"] == []
    at = clock.now()
    await told(host, "the kite is red", external_id="k", source="s2")
    await told(host, "the kite is grey", external_id="k", source="t2")
    clock.advance(100)
    await told(host, "the kite is blue", external_id="k", source="s2")
    then = await contents(host, "kite", as_of=at + 1, source="s2")
    assert then == ["the kite is red"]


async def test_episodes_within_a_source(host: AMemorixHostService) -> None:
    for source in ("s", "t"):
        await said(host, "c", *(("Ann", f"the kite festival of {source}, part {i}") for i in range(6)), source=source)
    await host.settle()
    every = (await found(host, "kite festival", mode="episode", limit=10))["hits"]
    assert {hit["source"] for hit in every} == {"s", "t"}
    assert {
        hit["source"] for hit in (await found(host, "kite festival", mode="episode", limit=10, source="s"))["hits"]
    } == {"s"}


KEPT_OUT = "xylophone"
"""In every text that the filters leave out, and in no other."""


@pytest.fixture
async def mixed(host: AMemorixHostService, clock: FrozenClock) -> AMemorixHostService:
    """Talk about a festival: of what was said in one sitting only a part has the tag, and other chats and sources talk too."""
    await host.update_config({"shared_memory_groups": [{"targets": ["stream:c", "stream:d"]}]})

    def turns(*tags: Any) -> list[dict[str, Any]]:
        lines = [
            "I live in Leeds now, and the kite festival is on Sunday",
            "we need red paper for the kite festival",
            "the kite festival begins at nine",
            "who brings string to the kite festival",
        ]
        return [
            {"speaker": "Ann", "text": f"{line}{'' if tag else f', says the {KEPT_OUT}'}", "tags": ["open"] if tag else [],
             "time": clock.now() - 900 + 60 * i}
            for i, (line, tag) in enumerate(zip(lines, tags, strict=True))
        ]  # fmt: skip

    for source, chat, messages in (
        ("partly", "c", turns(1, 0, 1, 0)), ("none", "c", turns(0, 0, 0, 0)), ("whole", "c", turns(1, 1, 1, 1)), ("theirs", "d", turns(0, 0, 0, 0)),
    ):  # fmt: skip
        await call(host, "ingest_messages", chat_id=chat, source=source, messages=messages)
    await told(
        host, f"Ann told the {KEPT_OUT} about the kite festival", source="note", source_type="note", scope="global",
        timestamp=clock.now() - 60, entities=["Ann"], relations=[{"subject": "Ann", "predicate": "plays", "object": KEPT_OUT}],
    )  # fmt: skip
    await host.settle()
    return host


@pytest.mark.parametrize("mode", ["search", "hybrid", "time", "episode", "aggregate"])
@pytest.mark.parametrize(("filters", "texts"), [
    ({"tags": ["open"]}, 6), ({"tags": ["open"], "chat_id": "c"}, 6), ({"source": "whole"}, 4), ({"tags": ["open"], "source": "partly"}, 2),
    ({"tags": ["open"], "source_type": "chat", "chat_id": "c", "only_own": True}, 6), ({"tags": ["open"], "person_id": "Ann"}, 6),
])  # fmt: skip
async def test_no_answer_tells_what_a_filter_leaves_out(
    mixed: AMemorixHostService, clock: FrozenClock, mode: str, filters: dict[str, Any], texts: int
) -> None:
    window: dict[str, Any] = {"time_start": clock.now() - 10_000} if mode in ("hybrid", "time") else {}
    for query in ("kite festival", "where does Ann live, and what does she play?", "xylofone kite festival"):
        answer = await found(mixed, query, mode=mode, limit=50, gate=False, **filters, **window)
        assert KEPT_OUT not in json.dumps(answer), query
    every = (await found(mixed, "kite festival", mode=mode, limit=50, gate=False, **filters, **window))["hits"]
    assert sum(hit["type"] == "paragraph" for hit in every) == (0 if mode == "episode" else texts)
    whole = {hit["source"] for hit in every if hit["type"] == "episode"}
    assert whole == ({"whole"} if mode in ("episode", "aggregate") and filters.get("source") != "partly" else set())


async def test_a_fact_is_told_in_the_words_that_a_filter_lets_in(host: AMemorixHostService, clock: FrozenClock) -> None:
    await said(host, "c", ("Ann", "I live in Leeds", clock.now() - 500), source="s")
    await said(host, "c", ("Ann", f"I live in Leeds, by the {KEPT_OUT}", clock.now() - 100), source="t")
    await host.settle()
    (fact,) = (await found(host, "where does Ann live?", chat_id="c", source="s"))["facts"]
    assert (fact["value"], len(fact["evidence_ids"])) == ("Leeds", 1)
    assert KEPT_OUT not in json.dumps(fact)
