"""Exo's stores and what is built around them: the shared suite, and what the protocol of a store says of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix.facades.exo import (
    EncryptedMemoryStore,
    HumanMemory,
    KernelStore,
    LongTermMemory,
    MemoryCategory,
    MemoryError,
    MemoryEventEmitter,
    MemoryItem,
    MemoryMetadata,
    MemoryStatus,
    MemoryStore,
    PostgresStore,
    ShortTermMemory,
)
from amemorix.testing import lay_empty_database
from suite import FacadeSuite, HostedPort, Lack, Port, Text

KEY = "l1Yb8PThIoXZnOQ8tyWw-nP2Cqe_UGl-LBEXhKZ2eEw="


class ExoPort(HostedPort):
    """A store for each space, as the suite calls it, of a kind: what is around what."""

    refuses = MemoryError

    def __init__(self, kind: str, folder: Path, address: str) -> None:
        super().__init__(folder, "HTTP" if "HTTP" in kind else "vectors" if "vectors" in kind else "words")
        self.lacks = {*BASE, *KINDS.get(kind, ("restart", "meaning"))}
        self.kind, self._address = kind, address
        self._prefix = uuid4().hex

    async def __aenter__(self) -> Self:
        self._made: dict[str, Any] = {}
        if "kernel" in self.kind:
            lay_empty_database(self._folder)
            return await super().__aenter__()
        self._open = AsyncExitStack()
        return self

    def store(self, namespace: str) -> Any:
        """One for a namespace, whatever is around it."""
        if namespace not in self._made:
            self._made[namespace] = self._make(namespace)
        store = self._made[namespace]
        for layer in self.kind.split(" over ")[-2::-1]:
            match layer:
                case "events":
                    store = MemoryEventEmitter(store)
                case "once":
                    store = LongTermMemory(namespace if "PostgreSQL" not in self.kind else store.namespace, store=store)
                case "encrypted":
                    store = EncryptedMemoryStore(store, KEY)
                case _:
                    store = EncryptedMemoryStore(store, KEY, embed=store.embed)
        return store

    def _make(self, namespace: str) -> Any:
        if self.kind == "short":
            return ShortTermMemory()
        if "PostgreSQL" not in self.kind:
            return KernelStore(self.memory, namespace)
        store = PostgresStore(self._address, f"{self._prefix} {namespace}")
        self._open.push_async_callback(store.close)
        return store

    async def put(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:  # fmt: skip
        whose = MemoryMetadata(extra=dict(metadata or {}))
        await self.store(space).add(MemoryItem(id=id, content=text, memory_type="note", metadata=whose))
        return id

    async def get(self, id: str, *, space: str = "a") -> Text | None:
        item = await self.store(space).get(id)
        return None if item is None else told(item)

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        return [told(item) for item in await self.store(space).search(query=query, limit=limit)]

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        found = [told(item) for item in await self.store(space).search(limit=100_000)]
        return found if self.kind == "short" else found[::-1]

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object:
        return await self.put(id, text, space=space, metadata=metadata)

    async def delete(self, id: str, *, space: str = "a") -> object:
        return await self.store(space).delete(id)

    async def clear(self, *, space: str = "a") -> object:
        return await self.store(space).clear()

    async def settle(self) -> None:
        if "kernel" in self.kind:
            await super().settle()


def told(item: MemoryItem) -> Text:
    return Text(item.id, item.content, item.metadata.extra)


BASE: tuple[Lack, ...] = ("expiry", "similarity")
KINDS: dict[str, tuple[Lack, ...]] = {
    "kernel": ("meaning", "loops"),
    "kernel with vectors": ("loops", "long"),
    "kernel by HTTP": ("meaning", "long"),
    "once over kernel": ("meaning", "loops", "twins", "long"),
    "events over encrypted over kernel": ("meaning", "loops", "words", "long"),
    "once over events over compared over kernel with vectors": ("loops", "words", "model", "twins", "long"),
    "PostgreSQL": ("meaning",),
    "encrypted over once over PostgreSQL": ("meaning", "words", "twins"),
}
"""What is built how -> what it lacks. A ciphertext is a third longer than its text; a long text through one kernel is enough."""


@pytest.fixture
async def port(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[ExoPort]:
    address = request.getfixturevalue("address") if "PostgreSQL" in kind else ""
    async with ExoPort(kind, tmp_path, address) as port:
        yield port


@pytest.mark.parametrize("kind", KINDS)
class TestStores(FacadeSuite):
    async def test_a_search_gives_no_more_than_asked(self, port: Port) -> None:
        if {"words", "meaning"} <= set(port.lacks):
            pytest.skip("ciphertext alone cannot be searched")
        await super().test_a_search_gives_no_more_than_asked(port)


@pytest.mark.parametrize("kind", ["short"])
class TestShortTerm(FacadeSuite):
    async def test_a_text_that_nothing_can_hold_is_refused(self, port: Port) -> None:
        """What a model says beside a call of a tool may be empty."""
        await port.put("empty", "")
        assert await port.get("empty") == Text("empty", "")


# what the protocol says


async def filled(store: Any) -> None:
    ann, bob = (
        MemoryMetadata(user_id="ann", session_id="s"),
        MemoryMetadata(user_id="bob", extra={"n": 1, "deep": {"a": []}}),
    )
    await store.add(HumanMemory(id="1", content="the kettle is red", metadata=ann))
    await store.add(
        MemoryItem(id="2", content="the kettle is blue", memory_type="fact", category="semantic", metadata=bob)
    )  # pyright: ignore[reportArgumentType]
    await store.add(MemoryItem(id="3", content="the kettle was sold", memory_type="fact", status=MemoryStatus.DISCARD))
    await store.add(
        MemoryItem(id="4", content="colour=red", memory_type="state", category=MemoryCategory.VARIABLE, metadata=ann)
    )
    await store.add(MemoryItem(id="5", content="perhaps a kettle", memory_type="fact", status=MemoryStatus.DRAFT))


EVERY = ["kernel", "events over encrypted over kernel", "PostgreSQL", "once over encrypted over PostgreSQL"]


@pytest.mark.parametrize("kind", EVERY)
async def test_filters_are_joined(port: ExoPort) -> None:
    store = port.store("a")
    assert isinstance(store, MemoryStore)
    await filled(store)

    async def found(**filters: Any) -> list[str]:
        return [item.id for item in await store.search(**filters)]

    assert await found() == ["5", "4", "2", "1"]
    assert await found(limit=2) == ["5", "4"]
    assert await found(category=MemoryCategory.SEMANTIC) == await found(category="semantic") == ["2"]
    assert await found(category=MemoryCategory.SUMMARY) == []
    assert await found(memory_type="fact") == ["5", "2"]
    assert await found(memory_type="fact", status=MemoryStatus.DISCARD) == ["3"]
    assert await found(status=MemoryStatus.DRAFT) == ["5"]
    assert await found(metadata=MemoryMetadata(user_id="ann")) == ["4", "1"]
    assert await found(metadata=MemoryMetadata(user_id="ann", session_id="other")) == []
    assert await found(metadata=MemoryMetadata(extra={"n": 1})) == ["2"]
    assert await found(metadata=MemoryMetadata(extra={"n": 1, "deep": {"a": []}})) == ["2"]
    assert await found(metadata=MemoryMetadata(extra={"deep": {}})) == []
    assert await found(metadata=MemoryMetadata(user_id="ann"), memory_type="human", category=None, status=None) == ["1"]
    if "encrypted" not in port.kind:
        assert set(await found(query="kettle")) == {"1", "2", "5"}
        assert await found(query="kettle", metadata=MemoryMetadata(user_id="bob")) == ["2"]
        assert await found(query="kettle", status=MemoryStatus.DISCARD) == ["3"]
    discarded = await store.get("3")
    assert discarded.status == MemoryStatus.DISCARD
    assert await store.clear(metadata=MemoryMetadata(user_id="ann")) == 2
    assert await found() == ["5", "2"]
    assert await store.clear() == 3
    assert await store.get("3") is None
    with pytest.raises(MemoryError, match="limit"):
        await store.search(limit=0)
    with pytest.raises(MemoryError, match="extra"):
        await store.add(MemoryItem(content="x", memory_type="fact", metadata=MemoryMetadata(extra={"x": {1, 2}})))
    with pytest.raises(MemoryError, match="content"):
        await store.add(MemoryItem(content=" \n", memory_type="fact"))


@pytest.mark.parametrize("kind", ["kernel", "PostgreSQL"])
@settings(max_examples=15, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
async def test_any_history_leaves_what_a_dictionary_would_hold(port: ExoPort, data: st.DataObject) -> None:
    store: Any = port.store("a")
    await store.clear()
    held: dict[str, MemoryItem] = {}
    whose = st.builds(
        MemoryMetadata, user_id=st.sampled_from([None, "ann", " Ann ", ""]), task_id=st.sampled_from([None, "t" * 600]),
        extra=st.dictionaries(st.sampled_from(["k", "l"]), st.sampled_from([None, 0, False, "0", [1, {"a": "é"}]]), max_size=2),
    )  # fmt: skip
    kinds, categories = st.sampled_from(["human", "ai", "custom kind"]), st.sampled_from([None, *MemoryCategory])
    for _ in range(data.draw(st.integers(1, 8))):
        if data.draw(st.booleans()) or not held:
            item = MemoryItem(
                id=data.draw(st.sampled_from(["a", " a", "A", "a\r", "值" * 512])), content=data.draw(st.sampled_from(["one", "two "])),
                memory_type=data.draw(kinds), category=data.draw(categories), status=data.draw(st.sampled_from(MemoryStatus)),
                metadata=data.draw(whose),
            )  # fmt: skip
            await store.add(item)
            held[item.id] = item
        wanted: Any = data.draw(st.none() | whose)
        kind, category, status = (
            data.draw(st.none() | kinds),
            data.draw(categories),
            data.draw(st.none() | st.sampled_from(MemoryStatus)),
        )
        expected = {
            one.id
            for one in held.values()
            if kind in (None, one.memory_type)
            and category in (None, one.category)
            and (one.status != "discard" if status is None else one.status == status)
            and (wanted is None or meets(one.metadata, wanted))
        }
        found = await store.search(metadata=wanted, memory_type=kind, category=category, status=status, limit=100)
        assert {one.id for one in found} == expected
        assert all(plain(one) == plain(held[one.id]) for one in found)
        if data.draw(st.integers(0, 4)) == 0:
            gone = {id_ for id_, one in held.items() if wanted is None or meets(one.metadata, wanted)}
            assert await store.clear(metadata=wanted) == len(gone)
            held = {id_: one for id_, one in held.items() if id_ not in gone}


def meets(own: MemoryMetadata, wanted: MemoryMetadata) -> bool:
    ids = [(getattr(own, name), value) for name, value in wanted if name != "extra" and value is not None]
    extra = [(own.extra.get(key, ...), value) for key, value in wanted.extra.items()]
    return all((type(a), a) == (type(b), b) for a, b in [*ids, *extra])


def plain(item: MemoryItem) -> dict[str, Any]:
    return {"tool_calls": [], **item.model_dump()}


@pytest.mark.parametrize(
    "kind", ["once over kernel", "once over encrypted over kernel", "once over encrypted over PostgreSQL"]
)
async def test_nothing_is_kept_twice(port: ExoPort) -> None:
    store = port.store("a")
    ann, bob = MemoryMetadata(user_id="ann"), MemoryMetadata(user_id="bob")
    await asyncio.gather(*(store.add(HumanMemory(content="I like tea", metadata=ann)) for _ in range(5)))
    assert len(await store.search()) == 1
    await store.add(MemoryItem(content="I like tea", memory_type="fact", metadata=ann))
    await store.add(HumanMemory(content="I like tea", metadata=bob))
    await store.add(HumanMemory(content="I like tea.", metadata=ann))
    assert len(await store.search()) == 4
    item = (await store.search(metadata=bob))[0]
    await store.add(item.model_copy(update={"metadata": bob.model_copy(update={"session_id": "s"})}))
    assert (await store.get(item.id)).metadata.session_id == "s"
    await store.add((await store.get(item.id)).transition(MemoryStatus.DISCARD))
    await store.add(HumanMemory(content="I like tea", metadata=bob))
    assert len(await store.search(metadata=bob)) == 1


@pytest.mark.parametrize("kind", ["kernel"])
async def test_nothing_crosses_into_a_namespace(port: ExoPort) -> None:
    host = port.host
    await host.invoke("ingest_text", {"text": "the kettle of everybody", "scope": "global"})
    await host.invoke("ingest_text", {"text": "the kettle of a chat", "chat_id": "exo:a"})
    await host.invoke("ingest_messages", {"chat_id": "exo:a", "messages": [{"text": "a kettle", "speaker": "x"}]})
    one, other = KernelStore(host, "a"), KernelStore(host, "b")
    await other.add(HumanMemory(content="the kettle of b"))
    assert await one.search() == await one.search(query="kettle") == []
    assert await one.clear() == 0
    assert len(await other.search(query="kettle")) == 1


@pytest.mark.parametrize("kind", ["kernel"])
async def test_what_is_said_of_somebody_is_read_from_items(port: ExoPort) -> None:
    host = port.host
    store, ann = KernelStore(host, "a"), MemoryMetadata(user_id="ann")
    await store.add(HumanMemory(content="I live in Lisbon.", metadata=ann))
    await store.add(
        MemoryItem(content="I live in Berlin.", memory_type="human", category=MemoryCategory.VARIABLE, metadata=ann)
    )
    await EncryptedMemoryStore(store, KEY).add(HumanMemory(content="I live in Rome.", metadata=ann))
    await host.settle()
    told = await host.invoke("memory_fact_admin", {"action": "list", "scope": "all"})
    assert "Berlin" not in str(told) and "Rome" not in str(told) and "gAAAA" not in str(told)
    assert "ann" in str(await host.invoke("memory_text_admin", {"action": "list", "scope": "all", "person_id": "ann"}))


@pytest.mark.parametrize("kind", ["kernel with vectors"])
async def test_vectors_that_were_made_before_are_what_ciphertext_is_found_by(port: ExoPort) -> None:
    host = port.host
    within = KernelStore(host, "a")
    store = EncryptedMemoryStore(within, KEY, embed=within.embed)
    for id_, text in (("safe", "the number of the safe is 1234"), ("dog", "the dog sleeps in the barn")):
        await store.add(MemoryItem(id=id_, content=text, memory_type="fact", metadata=MemoryMetadata(user_id=id_)))
    assert [one.id for one in await store.search(query="number of the safe", limit=1)] == ["safe"]
    assert [
        one.id for one in await store.search(query="number of the safe", metadata=MemoryMetadata(user_id="dog"))
    ] == ["dog"]
    await store.add(MemoryItem(id="safe", content="a horse", memory_type="fact"))
    assert [one.content for one in await store.search(query="the horse", limit=1)] == ["a horse"]
    assert await store.clear() == 2
    assert await store.search(query="the horse") == []
    with pytest.raises(MemoryError, match="embed"):
        EncryptedMemoryStore(ShortTermMemory(), KEY, embed=within.embed)


@pytest.mark.parametrize("kind", ["kernel"])
async def test_an_item_whose_vector_does_not_fit_is_not_stored(port: ExoPort) -> None:
    host = port.host
    store = KernelStore(host, "a")
    await store.add(MemoryItem(id="1", content="first", memory_type="fact", embedding=[1.0, 0.0]))  # type: ignore[call-arg]
    for vector in ([1.0], [], [1.0] * 9_000):
        for id_ in ("1", "2"):
            with pytest.raises(MemoryError, match="dimension"):
                await store.add(MemoryItem(id=id_, content="second", memory_type="fact", embedding=vector))  # type: ignore[call-arg]
    assert [one.content for one in await store.search()] == ["first"]
    assert [one.content for one in await store.search(vector=[1.0, 0.0])] == ["first"]
