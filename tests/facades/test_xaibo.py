"""Modules for agents of xaibo: the shared suite, xaibo's own classes over them, and an agent from YAML."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import math
import os
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix import AMemorixHostService
from amemorix.facades import xaibo as modules
from amemorix.facades.access import shared
from amemorix.facades.xaibo import AMemorixChunker, AMemorixEmbedder, AMemorixMemory, AMemorixVectorIndex
from amemorix.testing import FrozenClock
from doors import served
from endpoint import ScriptedEndpoint
from endpoint import served as endpoint_served
from entrance import call
from suite import FacadeSuite, HostedPort, Lack, Text, Way
from xaibo_package import xaibo_importable

ALL = [AMemorixMemory, AMemorixChunker, AMemorixEmbedder, AMemorixVectorIndex]
AGENT = """
id: memory-agent
modules:
  - {{module: amemorix.facades.xaibo.AMemorixMemory, id: memory, scope: {scope}, config: {config}}}
  - {{module: xaibo.primitives.modules.memory.MemoryToolProvider, id: memory_tools}}
  - {{module: xaibo.primitives.modules.conversation.conversation.SimpleConversation, id: history}}
  - {{module: xaibo.primitives.modules.llm.MockLLM, id: llm, config: {{responses: {responses}}}}}
  - {{module: xaibo.primitives.modules.orchestrator.simple_tool_orchestrator.SimpleToolOrchestrator, id: orchestrator}}
"""


@pytest.fixture(scope="module", autouse=True)
def xaibo() -> Iterator[None]:
    with xaibo_importable():
        yield


class MemoriesPort(HostedPort):
    """Memories as the suite calls them: a space is a namespace."""

    refuses = ValueError
    lacks: Collection[Lack] = ("ids", "expiry")

    def of(self, space: str) -> AMemorixMemory:
        return AMemorixMemory.over(self.memory, namespace=space)

    async def put(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:  # fmt: skip
        return await self.of(space).store_memory(text, dict(metadata or {}))

    async def get(self, id: str, *, space: str = "a") -> Text | None:
        found = await self.of(space).get_memory(id)
        return found and Text(found["id"], found["content"], found["attributes"])

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        return [
            Text(one.memory_id, one.content, one.attributes, one.similarity_score)
            for one in await self.of(space).search_memory(query, limit)
        ]

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        found = await self.of(space).list_memories()
        return [Text(one["id"], one["content"], one["attributes"]) for one in found]

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object:
        return await self.of(space).update_memory(id, text, dict(metadata) if metadata else None)

    async def delete(self, id: str, *, space: str = "a") -> object:
        return await self.of(space).delete_memory(id)

    async def clear(self, *, space: str = "a") -> object:
        return [await self.delete(one.id, space=space) for one in await self.list(space=space)]


@pytest.mark.parametrize("way", ["words", "vectors", "HTTP"])
class TestMemories(FacadeSuite):
    @pytest.fixture
    async def port(self, tmp_path: Path, way: Way) -> AsyncIterator[MemoriesPort]:
        async with MemoriesPort(tmp_path, way) as port:
            yield port


@pytest.fixture
def memory(dense_host: AMemorixHostService) -> AMemorixMemory:
    return AMemorixMemory.over(dense_host)


@pytest.fixture
def index(dense_host: AMemorixHostService) -> AMemorixVectorIndex:
    return AMemorixVectorIndex.over(dense_host)


def test_they_are_what_xaibo_asks_for() -> None:
    from xaibo.core.protocols import memory as protocols

    for module in ALL:
        assert module.provides() == [getattr(protocols, module.protocol)]
        assert isinstance(module(config=None), module.provides()[0])


def test_xaibo_can_build_them() -> None:
    """It reads annotations raw: each but that of `config` is a dependency, and a text cannot be one."""
    for module in ALL:
        annotations = module.__init__.__annotations__
        assert annotations.keys() <= {"config"}
        assert not any(isinstance(kind, str) for kind in annotations.values())
        assert next(iter(inspect.signature(module).parameters)) == "config"
        public = {name: one for name, one in vars(module).items() if inspect.isfunction(one) and name[0] != "_"}
        assert public and all(map(inspect.iscoroutinefunction, public.values()))
    assert "annotations" not in vars(modules)


@pytest.mark.parametrize("module", ALL)
def test_settings_are_checked_by_name(module: Any) -> None:
    for config, word in (
        ({"memory_file_path": "x"}, "memory_file_path"), ({"namespace": 3}, "namespace"), ({"namespace": " "}, "namespace"),
        ({"url": True}, "url"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            module(config)
    assert module({"namespace": None}).config["namespace"] == "default"


@pytest.mark.parametrize(("module", "config", "word"), [
    (AMemorixChunker, {"window_size": 0}, "window_size"), (AMemorixChunker, {"window_size": 5, "window_overlap": 5}, "window_overlap"),
    (AMemorixChunker, {"window_overlap": -1}, "window_overlap"), (AMemorixChunker, {"unit": "word"}, "unit"),
    (AMemorixEmbedder, {"multimodal": {"base_url": "http://x"}}, "multimodal"), (AMemorixMemory, {"dedupe": 1}, "dedupe"),
    (AMemorixEmbedder, {"multimodal": {"base_url": "http://x", "model_name": "m", "format": "z"}}, "format"),
])  # fmt: skip
def test_settings_of_each_are_checked_too(module: Any, config: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        module(config)


async def test_a_memory_has_an_id_a_content_attributes_and_chunks(memory: AMemorixMemory) -> None:
    id_ = await memory.store_memory("Notes of the meeting", {"date": "2024-01-15", "participants": ["Alice", "Bob"]})
    assert str(uuid.UUID(id_)) == id_
    assert await memory.get_memory(id_) == {
        "id": id_, "content": "Notes of the meeting", "attributes": {"date": "2024-01-15", "participants": ["Alice", "Bob"]},
        "chunks": [f"{id_}_chunk_0"],
    }  # fmt: skip
    long = await memory.store_memory("\n\n".join(f"Paragraph {n} of the minutes goes on. " * 20 for n in range(9)))
    chunks = (await memory.get_memory(long) or {})["chunks"]
    assert chunks == [f"{long}_chunk_{n}" for n in range(len(chunks))] and len(chunks) > 1


async def test_an_update_replaces_the_attributes(memory: AMemorixMemory) -> None:
    id_ = await memory.store_memory("a", {"x": 1})
    assert await memory.update_memory(id_, "a", {"y": 2}) is True
    assert (await memory.get_memory(id_) or {})["attributes"] == {"y": 2}
    assert await memory.update_memory(id_, "b") is True
    found = await memory.get_memory(id_) or {}
    assert (found["content"], found["attributes"]) == ("b", {})
    for nothing in ({}, None):
        await memory.update_memory(id_, "b", {"x": 1})
        assert await memory.update_memory(id_, "b", nothing) is True
        assert (await memory.get_memory(id_) or {})["attributes"] == {}
    assert await memory.update_memory(str(uuid.uuid4()), "b") is False
    assert await memory.delete_memory(id_) is True
    assert await memory.delete_memory(id_) is False


async def test_results_are_cosines_best_first(memory: AMemorixMemory, dense_host: AMemorixHostService) -> None:
    from xaibo.core.protocols.memory import MemorySearchResult

    for n in range(30):
        await memory.store_memory(f"a kite number {n}" + " with a long tail" * (n % 3), {"n": n})
    await dense_host.settle()
    found = await memory.search_memory("a kite number 7", k=10)
    assert len(found) == 10 and all(isinstance(one, MemorySearchResult) for one in found)
    assert found[0].attributes == {"n": 7}
    scores = [one.similarity_score for one in found]
    assert scores == sorted(scores, reverse=True) and all(0 <= one <= 1 for one in scores)
    assert len(await memory.search_memory("kite", k=1000)) == 30
    assert await memory.search_memory("  ") == []
    assert len(await memory.search_memory("kite", k=1)) == 1


async def test_what_is_refused_is_named(memory: AMemorixMemory) -> None:
    for text, attributes, word in (
        ("", None, "text"), (" \n", None, "text"), ("a", ["x"], "attributes"), ("a", {"x": {1}}, "attributes"), ("a", {"x": math.nan}, "attributes"),
        ("a", "x", "attributes"), ("x" * 2_000_000, None, "text"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=word):
            await memory.store_memory(text, attributes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="k"):
        await memory.search_memory("x", k=0)
    assert await memory.list_memories() == []


async def test_what_goes_wrong_is_said(opened: Any) -> None:
    memory = AMemorixMemory.over(await opened(plugin={"enabled": False}))
    with pytest.raises(RuntimeError, match="disabled"):
        await memory.store_memory("a")


async def test_settings_of_a_memory(opened: Any) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock)
    known = AMemorixMemory.over(host, dedupe=True)
    id_ = await known.store_memory("said twice", {"a": 1})
    assert await known.store_memory("said twice", {"b": 2}) == id_
    assert (await known.get_memory(id_) or {})["attributes"] == {"a": 1, "b": 2}
    assert await known.store_memory("said once") != id_
    await known.update_memory(id_, "said otherwise")
    assert await known.store_memory("said twice") != id_
    short = AMemorixMemory.over(host, namespace="short", ttl_seconds=60, purge_on_delete=True)
    id_ = await short.store_memory("gone soon")
    await short.delete_memory(id_)
    assert (await call(host, "memory_stats"))["deleted"] == 0
    await short.store_memory("gone soon")
    clock.advance(61)
    assert await short.list_memories() == []


async def test_a_daemon_does_the_same(dense_host: AMemorixHostService) -> None:
    async with served(dense_host) as url:
        memory = AMemorixMemory({"url": url, "wait": "vectors"})
        id_ = await memory.store_memory("the ferry leaves at nine", {"n": 1})
        assert [one.memory_id for one in await memory.search_memory("ferry")] == [id_]
        assert await AMemorixMemory.over(dense_host).get_memory(id_) == await memory.get_memory(id_)
        assert await memory.delete_memory(id_) is True
        index = AMemorixVectorIndex({"url": url})
        await index.add_vectors([np.ones(3)], [{"n": 1}])
        assert [one.attributes for one in await index.search(np.ones(3))] == [{"n": 1}]
        shared(url=url).close()


def answer(text: str = "", **called: Any) -> dict[str, Any]:
    calls = [{"id": "c", "name": name, "arguments": arguments} for name, arguments in called.items()]
    return {"content": text, "tool_calls": calls or None}


@pytest.mark.parametrize("scope", ["instance", "agent"])
def test_an_agent_stores_searches_and_answers(tmp_path: Path, scope: str) -> None:
    from xaibo import AgentConfig, Xaibo

    path = tmp_path / "memory.toml"
    path.write_text('[embedding]\nprovider = "none"\n', "utf-8")
    responses = [
        answer(store_memory={"text": "Ada is allergic to nuts.", "attributes": {"of": "Ada"}}), answer("I noted it."),
        answer(search_memory={"query": "what is Ada allergic to", "k": 2}), answer("To nuts."),
        answer(store_memory={"text": ""}), answer("There was nothing to note."),
    ]  # fmt: skip
    agents, events = Xaibo(), list[Any]()
    config = json.dumps({"config_path": str(path), "namespace": "memory-agent"})
    agents.register_agent(
        AgentConfig.from_yaml(AGENT.format(scope=scope, config=config, responses=json.dumps(responses)))
    )
    agents.register_event_listener("", events.append)
    agent = agents.get_agent("memory-agent")
    asked = ("Ada is allergic to nuts.", "What must Ada not eat?", "Note this:")
    told = [asyncio.run(agent.handle_text(one)) for one in asked]
    assert told[-1].text == "I noted it.To nuts.There was nothing to note.", "an agent's response gathers what it says"
    results = [one.result for one in events if one.method_name == "execute_tool" and one.event_type.value == "result"]
    assert [one.success for one in results] == [True, True, False]
    (found,) = results[1].result
    assert (found["content"], found["attributes"]) == ("Ada is allergic to nuts.", {"of": "Ada"})
    assert found["memory_id"] == results[0].result["memory_id"]
    assert "text" in results[2].error
    # another instance of the agent, and the program itself, share the memory
    agents.get_agent("memory-agent")
    memory = AMemorixMemory({"config_path": str(path), "namespace": "memory-agent"})
    assert len(asyncio.run(memory.list_memories())) == 1
    shared(path).close()


async def test_an_agent_is_given_a_memory_that_the_program_runs(dense_host: AMemorixHostService) -> None:
    from xaibo import AgentConfig, ConfigOverrides, Xaibo

    responses = json.dumps([answer(list_memories={}), answer("One.")])
    agents = Xaibo()
    agents.register_agent(AgentConfig.from_yaml(AGENT.format(scope="instance", config="{}", responses=responses)))
    memory = AMemorixMemory.over(dense_host, namespace="mine")
    await memory.store_memory("only this")
    agent = agents.get_agent_with("memory-agent", ConfigOverrides(instances={"memory": memory}))
    told = await agent.handle_text("How many?")
    assert told.text == "One."
    assert [one.result[0]["content"] for one in told.events if one.type == "tool_result"] == ["only this"]


async def test_the_tools_of_xaibo(memory: AMemorixMemory) -> None:
    from xaibo.primitives.modules.memory import MemoryToolProvider

    tools = MemoryToolProvider(memory)

    async def done(tool: str, **parameters: Any) -> Any:
        result = await tools.execute_tool(tool, parameters)
        return result.result if result.success else result.error

    assert {tool.name for tool in await tools.list_tools()} == {
        name for name, one in vars(AMemorixMemory).items() if inspect.iscoroutinefunction(one) and name[0] != "_"
    }
    id_ = (await done("store_memory", text="Test memory", attributes={"category": "test"}))["memory_id"]
    assert (await done("get_memory", memory_id=id_))["content"] == "Test memory"
    assert [one["content"] for one in await done("search_memory", query="test memory", k=2)] == ["Test memory"]
    assert len(await done("list_memories")) == 1
    assert await done("update_memory", memory_id=id_, text="Updated") == {"updated": id_}
    assert await done("delete_memory", memory_id=id_) == {"deleted": id_}
    for tool, parameters, said in (
        ("get_memory", {"memory_id": id_}, "not found"), ("delete_memory", {"memory_id": id_}, "not found"),
        ("update_memory", {"memory_id": id_, "text": "x"}, "not found"), ("store_memory", {"text": " "}, "text"),
        ("search_memory", {"query": "x", "k": 0}, "k: "), ("forget", {}, "Unknown tool"), ("get_memory", {"memory_id": ""}, ""),
    ):  # fmt: skip
        assert said in await done(tool, **parameters)


async def test_the_memory_of_xaibo_stands_on_the_other_three(
    dense_host: AMemorixHostService, index: AMemorixVectorIndex, tmp_path: Path
) -> None:
    from xaibo.primitives.modules.memory import VectorMemory

    chunker = AMemorixChunker({"window_size": 30, "window_overlap": 5, "unit": "char"})
    theirs = VectorMemory(
        chunker, AMemorixEmbedder.over(dense_host), index, {"memory_file_path": str(tmp_path / "m" / "m.pkl")}
    )
    kite = await theirs.store_memory("A red kite flew over the hill in the morning sun.", {"kind": "bird"})
    await theirs.store_memory("The almond cake is in the oven.")
    (found, *_) = await theirs.search_memory("red kite over the hill", k=5)
    assert (found.memory_id, found.attributes) == (kite, {"kind": "bird"})
    held = await index.search(np.asarray(await AMemorixEmbedder.over(dense_host).text_to_embedding("kite")), k=50)
    assert {one.attributes["chunk_index"] for one in held if one.attributes["memory_id"] == kite} >= {0, 1}
    assert all(len(one.attributes["chunk_text"]) <= 30 for one in held)


class SimpleMemorySystem:
    """A memory in this process over three modules, as the description of the protocols puts them together."""

    def __init__(self, chunker: Any, embedder: Any, vector_index: Any) -> None:
        self.chunker, self.embedder, self.index = chunker, embedder, vector_index
        self.memories: dict[str, dict[str, Any]] = {}

    async def store_memory(self, text: str, attributes: dict[str, Any] | None = None) -> str:
        return await self._keep(str(uuid.uuid4()), text, attributes)

    async def _keep(self, id_: str, text: str, attributes: dict[str, Any] | None) -> str:
        chunks = await self.chunker.chunk(text)
        described = [
            {
                "memory_id": id_,
                "chunk_id": f"{id_}_chunk_{n}",
                "chunk_index": n,
                "chunk_text": chunk,
                **(attributes or {}),
            }
            for n, chunk in enumerate(chunks)
        ]
        held = {
            "id": id_,
            "content": text,
            "attributes": attributes or {},
            "chunks": [one["chunk_id"] for one in described],
        }
        self.memories[id_] = held
        await self.index.add_vectors([await self.embedder.text_to_embedding(chunk) for chunk in chunks], described)
        return id_

    async def get_memory(self, memory_id: str) -> dict[str, Any] | None:
        return self.memories.get(memory_id)

    async def search_memory(self, query: str, k: int = 10) -> list[Any]:
        found = await self.index.search(await self.embedder.text_to_embedding(query), 2 * k)
        return list(dict.fromkeys(one.attributes["memory_id"] for one in found))[:k]

    async def list_memories(self) -> list[dict[str, Any]]:
        return list(self.memories.values())

    async def delete_memory(self, memory_id: str) -> bool:
        return self.memories.pop(memory_id, None) is not None

    async def update_memory(self, memory_id: str, text: str, attributes: dict[str, Any] | None = None) -> bool:
        return await self.delete_memory(memory_id) and bool(await self._keep(memory_id, text, attributes))


async def test_a_memory_of_ones_own_stands_on_the_three(
    dense_host: AMemorixHostService, index: AMemorixVectorIndex
) -> None:
    from xaibo.core.protocols.memory import MemoryProtocol

    assert isinstance(SimpleMemorySystem(None, None, None), MemoryProtocol)
    chunker = AMemorixChunker({"window_size": 40, "window_overlap": 0, "unit": "char"})
    system = SimpleMemorySystem(chunker, AMemorixEmbedder.over(dense_host), index)
    notes = await system.store_memory(
        "Notes of the meeting of Monday. The budget was cut by a third.", {"type": "notes"}
    )
    cake = await system.store_memory("An almond cake.")
    assert (await system.get_memory(notes) or {})["chunks"] == [f"{notes}_chunk_0", f"{notes}_chunk_1"]
    assert await system.search_memory("the budget was cut", k=1) == [notes]
    (best,) = await index.search(await system.embedder.text_to_embedding("the budget was cut"), k=1)
    assert best.attributes == {
        "memory_id": notes, "chunk_id": f"{notes}_chunk_1", "chunk_index": 1, "chunk_text": "The budget was cut by a third.",
        "type": "notes",
    }  # fmt: skip
    assert await system.update_memory(cake, "A walnut bread.") and await system.search_memory("walnut bread", 1) == [
        cake
    ]


async def test_vectors_are_found_by_cosine(index: AMemorixVectorIndex) -> None:
    from xaibo.core.protocols.memory import VectorSearchResult

    assert await index.search(np.array([1.0, 0.0, 0.0])) == []
    vectors = [
        np.array([2.0, 0, 0]),
        np.array([0, 0.5, 0]),
        np.array([0.5, 0.5, 0]),
        np.zeros(3),
        np.array([-1.0, 0, 0]),
    ]
    await index.add_vectors(vectors, [{"name": name} for name in ("x", "y", "xy", "zero", "back")])
    found = await index.search(np.array([0.9, 0.1, 0.0]), k=2)
    assert [one.attributes for one in found] == [{"name": "x"}, {"name": "xy"}]
    assert all(isinstance(one, VectorSearchResult) and isinstance(one.vector_id, str) for one in found)
    found = await index.search(np.array([1.0, 0.0, 0.0]))
    assert [round(one.similarity_score, 3) for one in found] == [1, 0.707, 0, 0, 0]
    assert len({one.vector_id for one in found}) == 5
    await index.add_vectors([np.array([1, 0, 0], np.float32)] * 2)
    found = await index.search(np.array([1.0, 0.0, 0.0]), k=3)
    assert [one.similarity_score for one in found] == [1, 1, 1]
    assert [one.attributes for one in found].count({}) == 2
    await index.add_vectors([])


async def test_vectors_that_do_not_fit_are_refused(index: AMemorixVectorIndex) -> None:
    with pytest.raises(ValueError, match="Number of vectors and attributes must match"):
        await index.add_vectors([np.ones(3), np.ones(3)], [{}])
    await index.add_vectors([np.ones(3)])
    for wrong in (np.ones(2), np.array([1.0, math.nan, 0.0])):
        with pytest.raises(ValueError, match="vector"):
            await index.add_vectors([wrong])
        with pytest.raises(ValueError, match="vector"):
            await index.search(wrong)
    with pytest.raises(ValueError, match="k"):
        await index.search(np.ones(3), k=0)
    with pytest.raises(ValueError, match="attributes"):
        await index.add_vectors([np.ones(3)], [{"x": {1}}])
    assert len(await index.search(np.ones(3))) == 1


async def test_indexes_are_kept_apart(dense_host: AMemorixHostService) -> None:
    places = [
        {},
        {"space": "b"},
        {"namespace": "n"},
        {"namespace": "n:b", "space": "c"},
        {"namespace": "n", "space": "b:c"},
    ]
    places += [{"namespace": "n%3Ab", "space": "c"}]
    for n, place in enumerate(places):
        await AMemorixVectorIndex.over(dense_host, **place).add_vectors([np.ones(n + 2)], [place])
    for n, place in enumerate(places):
        found = await AMemorixVectorIndex.over(dense_host, **place).search(np.ones(n + 2))
        assert [one.attributes for one in found] == [place]


async def test_a_text_that_fits_is_one_chunk() -> None:
    chunker = AMemorixChunker()
    assert await chunker.chunk("") == await chunker.chunk(" \n ") == []
    assert await chunker.chunk("  a small text \n") == ["  a small text \n"]


async def test_a_long_text_is_cut_at_its_sentences() -> None:
    text = (
        "The first sentence is here. The second one follows it. 第三句在这里。第四句也在这里。 And the fifth ends it."
    )
    chunker = AMemorixChunker({"window_size": 30, "window_overlap": 0, "unit": "char"})
    assert await chunker.chunk(text) == [
        "The first sentence is here.", "The second one follows it.", "第三句在这里。第四句也在这里。", "And the fifth ends it.",
    ]  # fmt: skip
    plain = await AMemorixChunker({"window_size": 10, "window_overlap": 0}).chunk(text)
    lapping = await AMemorixChunker({"window_size": 10, "window_overlap": 5}).chunk(text)
    assert len(lapping) > len(plain) > 1
    assert lapping[1].split()[0] in lapping[0].split()


TEXTS = st.text(st.sampled_from("ab1.,!? \n\t。，中文字👩‍é\u0301"), max_size=300)


@given(text=TEXTS, window=st.integers(1, 60), share=st.floats(0, 0.99), unit=st.sampled_from(["char", "token"]))
def test_chunks_are_parts_of_the_text_and_lose_nothing(text: str, window: int, share: float, unit: str) -> None:
    overlap = int(window * share)
    chunks = asyncio.run(AMemorixChunker({"window_size": window, "window_overlap": overlap, "unit": unit}).chunk(text))
    assert bool(chunks) == bool(text.strip())
    assert all(chunk in text for chunk in chunks)
    if chunks:
        assert text.strip().startswith(chunks[0].strip()) and text.strip().endswith(chunks[-1].strip())
    if unit == "char":
        assert all(len(chunk) <= window for chunk in chunks) or len(chunks) == 1
    if not overlap:
        assert "".join("".join(chunks).split()) == "".join(text.split())


async def test_texts_become_vectors_of_the_memorys_model(dense_host: AMemorixHostService) -> None:
    embedder = AMemorixEmbedder.over(dense_host)
    vector = await embedder.text_to_embedding("a red kite")
    assert (vector.shape, vector.dtype) == ((256,), np.float32)
    assert np.linalg.norm(vector) == pytest.approx(1)
    assert np.array_equal(vector, await embedder.text_to_embedding("a red kite"))
    near, far = [await embedder.text_to_embedding(text) for text in ("the red kite", "an almond cake")]
    assert vector @ near > vector @ far
    assert not (await embedder.text_to_embedding("  ")).any()
    assert (await embedder.text_to_embedding("")).shape == (256,)
    for method, word in ((embedder.image_to_embedding, "image"), (embedder.audio_to_embedding, "audio")):
        with pytest.raises(NotImplementedError, match=word):
            await method(b"data")


async def test_without_a_model_no_vector_is_made(host: AMemorixHostService) -> None:
    with pytest.raises(RuntimeError, match="model"):
        await AMemorixEmbedder.over(host).text_to_embedding("a kite")


PNG = b"\x89PNG\r\n\x1a\n"
WAV = b"RIFF\x24\0\0\0WAVE"
URLS = [
    f"data:{kind};base64,{base64.b64encode(data).decode()}" for kind, data in (("image/png", PNG), ("audio/wav", WAV))
]


@pytest.mark.parametrize(("form", "asked"), [
    ("vllm", [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a kite"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": URLS[0]}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "audio_url", "audio_url": {"url": URLS[1]}}]}]},
    ]),
    ("jina", [{"input": [{"text": "a kite"}]}, {"input": [{"image": URLS[0].split(",")[1]}]}, {"input": [{"audio": URLS[1].split(",")[1]}]}]),
    ("infinity", [
        {"input": ["a kite"], "modality": "text"}, {"input": [URLS[0]], "modality": "image"}, {"input": [URLS[1]], "modality": "audio"},
    ]),
])  # fmt: skip
async def test_images_and_sounds_become_vectors_of_an_endpoint(
    form: str, asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ScriptedEndpoint(lambda _: (200, {}, {"data": [{"index": 0, "embedding": [3, 4]}]}))
    monkeypatch.setenv("PICTURES_KEY", "secret")
    with endpoint_served(server) as served_:
        settings = {"base_url": served_.base_url, "model_name": "clip", "api_key_env": "PICTURES_KEY", "format": form}
        embedder = AMemorixEmbedder({"multimodal": settings})
        vectors = [
            await embedder.text_to_embedding("a kite"), await embedder.image_to_embedding(PNG), await embedder.audio_to_embedding(WAV),
        ]  # fmt: skip
        assert [vector.tolist() for vector in vectors] == [pytest.approx([0.6, 0.8])] * 3
        assert server.requests == [{"model": "clip", **one} for one in asked]
        assert server.headers[0]["Authorization"] == "Bearer secret"
        assert (await embedder.text_to_embedding(" ")).tolist() == [0, 0]
        server.script = [(400, {}, {"error": "no audio here"}), (401, {}, {"error": "no key"}), (200, {}, {"data": []})]
        with pytest.raises(NotImplementedError, match="audio"):
            await embedder.audio_to_embedding(WAV)
        for why in ("401", "image"):
            with pytest.raises(RuntimeError, match=why):
                await embedder.image_to_embedding(PNG)


async def test_a_request_in_other_words_is_found_by_meaning(opened: Any, local_model: str) -> None:
    host = await opened(embedding={"provider": "local", "model_name": local_model}, environ=os.environ)
    memory = AMemorixMemory.over(host, wait="vectors")
    for text in ("Ada is allergic to nuts.", "The ferry leaves at nine.", "我妈妈住在成都。"):
        await memory.store_memory(text)
    for query, text in (
        ("which food is dangerous for Ada", "Ada"),
        ("departure of the boat", "ferry"),
        ("母亲家在哪个城市", "成都"),
    ):
        found = await memory.search_memory(query, k=3)
        assert text in found[0].content
        assert found[0].similarity_score > found[-1].similarity_score
