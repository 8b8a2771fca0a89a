"""A search that looks back: what was recorded by then, what had happened by then, in the words of then."""

from __future__ import annotations

from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder
from conftest import Open
from entrance import change, contents, found, hits, refused, said, told

DAY = 86_400.0


async def edited(host: AMemorixHostService, text: str, time: float, key: str = "m") -> None:
    message = {"external_id": key, "speaker": "小美", "text": text, "time": time}
    assert (await host.invoke("ingest_messages", {"chat_id": "c", "messages": [message]}))["success"]


@pytest.fixture(params=["words", "vectors"])
async def past(request: pytest.FixtureRequest, opened: Open) -> tuple[AMemorixHostService, FrozenClock]:
    clock = FrozenClock()
    return await opened(clock=clock, embed=HashEmbedder() if request.param == "vectors" else None), clock


async def test_the_wording_of_then(past: tuple[AMemorixHostService, FrozenClock]) -> None:
    host, clock = past
    begun = clock.now()
    await edited(host, "聚餐定在周五的川菜馆", begun)
    clock.advance(DAY)
    await edited(host, "聚餐改到周六的湘菜馆", begun)
    clock.advance(DAY)
    await edited(host, "The dinner is on Sunday at the noodle bar", begun)
    await host.settle(600)

    for args in ({"query": "聚餐 川菜馆"}, {"query": "聚餐定在哪个菜馆"}):
        assert await contents(host, **args, as_of=begun + 1) == ["聚餐定在周五的川菜馆"]
        assert await contents(host, **args, as_of=begun + DAY + 1) == ["聚餐改到周六的湘菜馆"]
    assert await contents(host, "dinner noodle bar", as_of=begun + 2 * DAY + 1) == [
        "The dinner is on Sunday at the noodle bar"
    ]
    assert await contents(host, "dinner noodle bar", as_of=begun + DAY) == []
    assert await contents(host, "聚餐 川菜馆", as_of=begun - 1) == []
    assert "川菜馆" not in str(await contents(host, "聚餐 川菜馆"))


async def test_in_english(past: tuple[AMemorixHostService, FrozenClock]) -> None:
    host, clock = past
    begun = clock.now()
    await told(host, "The key is under the red mat.", external_id="key", chat_id="c")
    clock.advance(DAY)
    await told(host, "The key is with the neighbour.", external_id="key", chat_id="c")
    (hit,) = await hits(host, "where is the key", as_of=begun + 1, chat_id="c")

    assert hit["content"] == "The key is under the red mat."
    assert hit["explain"]["revision"] == "replaced"
    assert await contents(host, "where is the key", as_of=begun + 1, chat_id="d") == []


async def test_what_was_not_recorded_or_had_not_happened(past: tuple[AMemorixHostService, FrozenClock]) -> None:
    host, clock = past
    begun = clock.now()
    await told(host, "kite one, undated", chat_id="c")
    await told(host, "kite two, next week", chat_id="c", timestamp=begun + 7 * DAY)
    clock.advance(DAY)
    await told(host, "kite three, recorded later", chat_id="c", timestamp=begun)

    async def seen(as_of: float, **args: Any) -> set[str]:
        return {text.split(",")[0] for text in await contents(host, "kite", as_of=as_of, limit=10, **args)}

    assert await seen(begun + 1) == {"kite one"}
    assert await seen(begun + 2 * DAY) == {"kite one", "kite three"}
    assert await seen(begun + 8 * DAY) == {"kite one", "kite two", "kite three"}
    assert await seen(begun + 8 * DAY, chat_id="c") == {"kite one", "kite two", "kite three"}
    assert await seen(begun + 8 * DAY, chat_id="d") == set()


@pytest.mark.parametrize("mode", ["search", "time", "hybrid"])
async def test_what_is_deleted_never_comes_back(past: tuple[AMemorixHostService, FrozenClock], mode: str) -> None:
    host, clock = past
    begun = clock.now()
    await edited(host, "secret kite", begun)
    clock.advance(DAY)
    await edited(host, "open kite", begun)
    args: dict[str, Any] = {"mode": mode, "as_of": begun + 1, "time_start": begun - 1}
    assert await contents(host, "kite", **args) == ["secret kite"]
    change(host, "update paragraphs set deleted_at = 1 where content = 'open kite'")
    assert await contents(host, "kite", **args) == [], "the newer wording was deleted, and the older with it"


async def test_within_a_window_and_of_a_person(past: tuple[AMemorixHostService, FrozenClock]) -> None:
    host, clock = past
    begun = clock.now()
    await edited(host, "old kite", begun, "a")
    await edited(host, "old lamp", begun - 10 * DAY, "b")
    clock.advance(DAY)
    await edited(host, "new kite", begun, "a")
    await edited(host, "new lamp", begun - 10 * DAY, "b")
    window = {"time_start": begun - DAY, "time_end": begun + DAY}

    for mode in ("time", "hybrid"):
        assert await contents(host, "old", mode=mode, as_of=begun + 1, **window) == ["old kite"]
    assert await contents(host, mode="time", as_of=begun + 1, time_start=1) == ["old kite", "old lamp"]
    assert await contents(host, "old kite", as_of=begun + 1, person_id="小美", limit=1) == ["old kite"]
    assert await contents(host, "old kite", as_of=begun + 1, person_id="nobody") == []


async def test_the_facts_of_then(past: tuple[AMemorixHostService, FrozenClock]) -> None:
    host, clock = past
    begun = clock.now()
    await said(host, "c", ("林澈", "我住在上海", begun))
    clock.advance(DAY)
    await said(host, "c", ("林澈", "我搬到北京了", begun + DAY))
    await host.settle(600)

    async def lives(**args: Any) -> list[tuple[str, str]]:
        return [(f["value"], f["status"]) for f in (await found(host, "林澈住在哪里", **args))["facts"]]

    assert await lives() == [("北京", "active")]
    assert await lives(as_of=begun + 1) == [("上海", "active")]
    assert await lives(as_of=begun - 1) == []
    assert await lives(as_of=begun + 2 * DAY) == [("北京", "active")]


@pytest.mark.parametrize(
    "args", [{"as_of": "nonsense"}, {"as_of": True}, {"as_of": 1, "mode": "episode"}, {"as_of": 1, "mode": "aggregate"}]
)
async def test_times_and_modes_that_do_not_fit(host: AMemorixHostService, args: dict[str, Any]) -> None:
    await refused(host, "search_memory", {"query": "kite", **args}, "as_of")
