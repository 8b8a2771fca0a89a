"""The store for LangGraph: items of agents in a memory, as LangGraph's own store keeps them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from amemorix import Memory
from amemorix.clock import FrozenClock
from amemorix.errors import InvalidRequest
from amemorix.frontends.python.blocking import Calls
from amemorix.frontends.python.calls import Answering, AsyncCalls
from amemorix.frontends.transport import LocalMemory
from amemorix.integrations.langgraph import AMemorixStore
from amemorix.testing import memory_host

WORDS_ALONE = {"embedding.provider": "none"}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("memory"), settings=WORDS_ALONE) as memory:
        yield memory


@pytest.fixture
def store(memory: Memory, request: pytest.FixtureRequest) -> AMemorixStore:
    return AMemorixStore(memory, name=request.node.name, likely_only=True)


def keys(items: Any) -> list[str]:
    return [item.key for item in items]


def test_items_are_put_found_changed_and_deleted(store: AMemorixStore) -> None:
    store.put(("ann", "food"), "1", {"likes": "oolong tea", "since": 2024})
    store.put(("ann", "food"), "2", {"likes": "peanuts", "never": True})
    store.put(("bob", "food"), "1", {"likes": "oolong tea in the morning"})
    first = store.get(("ann", "food"), "1")
    assert first is not None and first.value == {"likes": "oolong tea", "since": 2024}

    found = store.search(("ann",), query="which tea does she like?")
    assert (found[0].namespace, found[0].key) == (("ann", "food"), "1")
    assert found[0].score is not None and 0 < found[0].score <= 1
    assert {item.namespace for item in store.search((), query="oolong tea")} == {("ann", "food"), ("bob", "food")}
    assert store.search(("ann",), query="a trip to the moon") == []

    store.put(("ann", "food"), "1", {"likes": "oolong tea", "since": 2025})
    second = store.get(("ann", "food"), "1")
    assert second is not None and second.value["since"] == 2025
    assert second.created_at == first.created_at and second.updated_at > first.updated_at
    store.put(("ann", "food"), "3", {"likes": "noodles"})
    assert keys(store.search(("ann",))) == ["3", "1", "2"]

    store.delete(("ann", "food"), "1")
    store.delete(("ann", "food"), "none such")
    assert store.get(("ann", "food"), "1") is None
    assert store.search(("ann",), query="oolong tea") == []
    store.put(("ann", "food"), "1", {"likes": "oolong tea", "since": 2025})
    assert keys(store.search(("ann",), query="oolong tea")) == ["1"]


def test_namespaces_that_look_alike_are_apart(store: AMemorixStore, memory: Memory) -> None:
    spaces = [
        ("a", "b"), ("a", "bc"), ("a/b",), ("a%2Fb",), ("a", "b/"), ("a b",), ("a", "*"), ("ａ", "b"), ("A", "b"),
        ("é", "x"), ("e\u0301", "x"), (" a", "b"), ("日本", "語"), ("ab",), ("a", "b", "c"),
    ]  # fmt: skip
    for i, space in enumerate(spaces):
        store.put(space, "k", {"text": f"umbrella number {i}"})
    memory.add("an umbrella that is nobody's", everything=True)
    memory.add("an umbrella of a chat", chat="a/b")
    for i, space in enumerate(spaces):
        below = {f"umbrella number {n}" for n, one in enumerate(spaces) if one[: len(space)] == space}
        for found in (store.search(space, limit=50), store.search(space, query="umbrella number", limit=50)):
            assert {item.value["text"] for item in found} == below
        item = store.get(space, "k")
        assert item is not None and item.value == {"text": f"umbrella number {i}"}
    assert store.list_namespaces() == sorted(spaces)
    assert store.list_namespaces(prefix=("a",)) == [("a", "*"), ("a", "b"), ("a", "b", "c"), ("a", "b/"), ("a", "bc")]
    assert AMemorixStore(memory, name="another").search(()) == []
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"text": "x"})])


def test_what_is_not_indexed_is_kept_and_not_searched(store: AMemorixStore) -> None:
    store.put(("n",), "whole", {"title": "a red kite", "body": "and a blue whale"})
    store.put(("n",), "title", {"title": "a green kite", "body": "and a grey whale"}, index=["title"])
    store.put(("n",), "none", {"title": "a black kite", "body": "and a white whale"}, index=False)
    store.put(("n",), "empty", {})
    assert set(keys(store.search(("n",), query="kite"))) == {"whole", "title"}
    assert keys(store.search(("n",), query="whale")) == ["whole"]
    assert keys(store.search(("n",))) == ["empty", "none", "title", "whole"]
    store.put(("n",), "none", {"title": "a black kite"})
    store.put(("n",), "whole", {"title": "a red kite"}, index=False)
    assert set(keys(store.search(("n",), query="kite"))) == {"none", "title"}
    assert sorted(keys(store.search(("n",)))) == ["empty", "none", "title", "whole"]
    assert store.list_namespaces() == [("n",)]


def test_what_is_unlikely_follows_without_a_score(memory: Memory) -> None:
    store = AMemorixStore(memory, name="all")
    for key, text in (("1", "apple pie"), ("2", "a rainy day"), ("3", "a grey heron")):
        store.put(("n",), key, {"text": text, "short": len(text) < 10}, index=["text"])
    found = store.search(("n",), query="apple pie")
    assert keys(found) == ["1", "3", "2"] and [item.score is None for item in found] == [False, True, True]
    assert keys(store.search(("n",), query="apple pie", limit=1)) == ["1"]
    assert keys(store.search(("n",), query="apple pie", filter={"short": False})) == ["3", "2"]


def test_a_long_item_is_one_item(store: AMemorixStore) -> None:
    story = "\n\n".join(f"On day {i} the otter swam {i} miles and slept on a raft of kelp." for i in range(60))
    store.put(("n",), "story", {"text": story}, index=["text"])
    store.put(("n",), "note", {"text": "The heron eats fish."})
    assert keys(store.search(("n",), query="how far did the otter swim?")) == ["story"]
    assert keys(store.search(("n",))) == ["note", "story"]
    assert keys(store.search(("n",), limit=1, offset=1)) == ["story"]
    store.delete(("n",), "story")
    assert store.search(("n",), query="otter") == []


def test_what_a_value_may_not_be_is_said(store: AMemorixStore) -> None:
    with pytest.raises(InvalidRequest, match="max_metadata_bytes"):
        store.put(("n",), "k", {"text": "x" * 70_000})
    with pytest.raises(ValueError, match="Unsupported operator"):
        store.put(("n",), "k", {"text": "x"})
        store.search(("n",), filter={"text": {"$near": "y"}})


async def test_awaited_the_same(store: AMemorixStore) -> None:
    await store.aput(("n",), "k", {"text": "a lantern"})
    found = await store.asearch(("n",), query="lantern")
    item = await store.aget(("n",), "k")
    assert item is not None and item.value == found[0].value == {"text": "a lantern"}
    assert await store.alist_namespaces() == [("n",)]
    await store.adelete(("n",), "k")
    assert await store.abatch([GetOp(("n",), "k"), SearchOp(("n",)), ListNamespacesOp()]) == [None, [], []]


class Hosted(AsyncCalls):
    """The calls of a memory whose clock stands still."""

    def __init__(self, folder: Path, clock: FrozenClock) -> None:
        self._host = memory_host(folder, clock=clock)
        self._memory: Answering | None = None

    async def _ready(self) -> Answering:
        self._memory = self._memory or LocalMemory(await self._host.__aenter__(), "python")
        return self._memory

    async def close(self) -> None:
        await self._host.__aexit__(None, None, None)


def test_what_has_expired_is_not_served(tmp_path: Path) -> None:
    clock = FrozenClock()
    with Calls(Hosted(tmp_path, clock)) as memory:
        store = AMemorixStore(memory, ttl={"default_ttl": 10})
        store.put(("n",), "ten", {"text": "a kettle for ten minutes"})
        store.put(("n",), "hour", {"text": "a kettle for an hour. " + "It hums and it hums. " * 100}, ttl=60)
        store.put(("n",), "ever", {"text": "a kettle for ever"}, ttl=None)
        clock.advance(9 * 60)
        assert store.get(("n",), "ten", refresh_ttl=False) is not None
        clock.advance(2 * 60)
        assert store.get(("n",), "ten") is None
        assert sorted(keys(store.search(("n",), query="kettle", refresh_ttl=False))) == ["ever", "hour"]
        clock.advance(30 * 60)
        assert store.get(("n",), "hour") is not None  # lives an hour from now
        clock.advance(59 * 60)
        assert sorted(keys(store.search(("n",)))) == ["ever", "hour"]
        clock.advance(59 * 60)
        assert sorted(keys(store.search(("n",), query="kettle"))) == ["ever", "hour"]
        memory.call("memory_v5_admin", action="run")
        store.put(("n",), "ten", {"text": "a kettle for ten minutes"}, ttl=None)
        clock.advance(61 * 60)
        assert sorted(keys(store.search(("n",)))) == ["ever", "ten"]
        store.put(("m",), "short", {"text": "x"})
        assert store.list_namespaces() == [("m",), ("n",)]
        clock.advance(11 * 60)
        assert store.list_namespaces() == [("n",)]


LABELS = st.sampled_from(["a", "b", "ab", "a b", "*", "é", "日", "%61"]) | st.text(min_size=1, max_size=3).filter(
    lambda text: "." not in text and "\0" not in text
)
SPACES = st.lists(LABELS, max_size=3).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
NUMBERED = st.fixed_dictionaries({"n": st.integers(-3, 3), "tag": st.sampled_from(["x", "y"])})
VALUES = NUMBERED | st.dictionaries(st.text(max_size=4), JSON, max_size=3)
COMPARED = st.dictionaries(
    st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]), st.integers(-3, 3), min_size=1, max_size=2
)
FILTERS = st.none() | st.fixed_dictionaries(
    {}, optional={"n": st.integers(-3, 3) | COMPARED, "tag": st.sampled_from(["x", "y"]) | st.just({"$ne": "x"})}
)
KEYS = st.sampled_from(["k", "K", " k", "0"])
PUTS = st.builds(
    PutOp,
    SPACES.filter(bool),
    KEYS,
    st.none() | NUMBERED | VALUES,
    index=st.sampled_from([None, False, ["tag"]]),
    ttl=st.none(),
)
CONDITIONS = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), SPACES.filter(bool))
READS = (
    st.builds(GetOp, SPACES.filter(bool), KEYS)
    | st.builds(SearchOp, SPACES, FILTERS, st.just(1000), st.just(0), st.none())
    | st.builds(
        ListNamespacesOp, st.none() | st.lists(CONDITIONS, max_size=2).map(tuple), st.none() | st.integers(1, 3),
        limit=st.integers(1, 5), offset=st.integers(0, 2),
    )
)  # fmt: skip


RUNS = count()


def as_told(op: Op, result: Any) -> Any:
    """What an operation answers, without times and without the order of a listing."""
    if isinstance(op, GetOp):
        return result and (result.namespace, result.key, result.value)
    if isinstance(op, SearchOp):
        return sorted(((one.namespace, one.key, repr(one.value)) for one in result), key=repr)
    return result


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batches=st.lists(st.lists(PUTS | READS, max_size=5), max_size=5), page=st.integers(1, 3))
def test_it_answers_as_langgraphs_own_store(memory: Memory, batches: list[list[Op]], page: int) -> None:
    theirs = InMemoryStore()
    ours = AMemorixStore(memory, name=f"property {next(RUNS)}")
    for ops in batches:
        kept = [op for op in ops if not (isinstance(op, SearchOp) and not comparable(theirs, op))]
        kept.sort(key=lambda op: not isinstance(op, ListNamespacesOp))
        for space in [space for space, items in theirs._data.items() if not items]:
            del theirs._data[space]  # theirs lists a namespace that holds nothing any more, or was only asked for
        assert [*map(as_told, kept, ours.batch(kept))] == [*map(as_told, kept, theirs.batch(copy.deepcopy(kept)))]
    everything = ours.search((), limit=1000)
    paged = [item for start in range(0, len(everything), page) for item in ours.search((), limit=page, offset=start)]
    assert [(item.namespace, item.key) for item in paged] == [(item.namespace, item.key) for item in everything]


def comparable(theirs: InMemoryStore, op: SearchOp) -> bool:
    """Whether theirs can compare: it takes a value that is no number for an error."""
    try:
        theirs.batch([op])
    except (TypeError, ValueError):
        return False
    return True
