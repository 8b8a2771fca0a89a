"""What was just added is found by meaning: by `Memory`, `Client` and every adapter, and in examples that frameworks publish."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from llama_index.core.base.llms.types import ChatMessage

from amemorix import AMemorixHostService, AsyncMemory, Client, Memory
from amemorix.frontends.mcp.tools import TOOLS
from amemorix.frontends.python.calls import CallsOf
from amemorix.frontends.transport import LocalMemory
from amemorix.integrations.langchain import AMemorixChatMessageHistory, AMemorixRetriever
from amemorix.integrations.langgraph import AMemorixStore
from amemorix.integrations.llama_index import AMemorixBlock
from amemorix.integrations.llama_index import AMemorixRetriever as LlamaIndexRetriever
from amemorix.integrations.memory_tools import MemoryTools
from amemorix.integrations.openai_agents import AMemorixSession
from amemorix.testing import HashEmbedder, memory_host
from conftest import Open
from daemon_process import daemon
from entrance import rows
from pace import until

SAID, ASKED = "The pup has chewed my slippers.", "what did the dog destroy?"
"""A line and a question that share no word."""
NAMESPACE = """
memory_id = str(uuid.uuid4())
user_id = "1"
namespace_for_memory = (user_id, "memories")
memory = {"food_preference" : "I like pizza"}
store.put(namespace_for_memory, memory_id, memory)
memories = store.search(
    namespace_for_memory,
    query="What does the user like to eat?",
    limit=3
)
"""  # docs.langchain.com/oss/python/langgraph/stores
HUNGRY = """
store.put(("user_123", "memories"), "1", {"text": "I love pizza"})
store.put(("user_123", "memories"), "2", {"text": "I am a plumber"})
memories = store.search(
    ("user_123", "memories"), query="I'm hungry", limit=1
)
"""  # docs.langchain.com/oss/python/langgraph/add-memory
RULES = """
user_id = "my-user"
application_context = "chitchat"
namespace = (user_id, application_context)
store.put(
    namespace,
    "a-memory",
    {
        "rules": [
            "User likes short, direct language",
            "User only speaks English & python",
        ],
        "my-key": "my-value",
    },
)
item = store.get(namespace, "a-memory")
memories = store.search(
    namespace, filter={"my-key": "my-value"}, query="language preferences"
)
"""  # docs.langchain.com/oss/python/langchain/long-term-memory


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory, local_model: str) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("memory"), settings={"embedding.model_name": local_model}) as opened:
        yield opened


@pytest.fixture
def user() -> str:
    return uuid.uuid4().hex


@pytest.mark.parametrize(
    ("example", "first"), [(NAMESPACE, "pizza"), (HUNGRY, "pizza"), (RULES, "direct language")],
    ids=["namespace", "hungry", "rules"],
)  # fmt: skip
def test_an_example_of_langgraphs_store_finds_what_it_has_put(
    memory: Memory, user: str, example: str, first: str
) -> None:
    scope: dict[str, Any] = {"store": AMemorixStore(memory, name=user, likely_only=True), "uuid": uuid}
    exec(example, scope)
    assert first in str(scope["memories"][0].value)


def test_a_text_turns_and_new_words_are_found_by_meaning(memory: Memory, user: str) -> None:
    added = memory.add(SAID, user=user)
    assert (len(added.ids), added.wait_error) == (1, "")
    assert [hit.text for hit in memory.search(ASKED, user=user)] == [SAID]
    memory.update(added.ids[0], "My bicycle was stolen in Leeds.")
    assert memory.search("what did the thief take?", user=user)[0].text == "My bicycle was stolen in Leeds."
    memory.add(messages=[{"speaker": "bo", "text": SAID}], chat=user)
    assert [hit.text for hit in memory.search(ASKED, chat=user)] == [SAID]


def test_over_http(tmp_path: Path, local_model: str) -> None:
    with Memory(tmp_path, settings={"embedding.model_name": local_model, "http.port": 0}) as memory:
        config = memory.folder / "a_memorix.toml"
    with daemon(config) as running, Client(running.url) as client:
        assert client.add(SAID, user="ann").wait_error == ""
        assert [hit.text for hit in client.search(ASKED, user="ann")] == [SAID]


async def by_langchain(memory: Memory, user: str) -> str:
    await AMemorixChatMessageHistory("monday", memory, user=user).aadd_messages([HumanMessage(SAID)])
    return str([one.page_content for one in await AMemorixRetriever(memory=memory, user=user).ainvoke(ASKED)])


async def by_llama_index(memory: Memory, user: str) -> str:
    await AMemorixBlock(memory=memory, user=user).aput([ChatMessage(role="user", content=SAID)])
    return str([node.text for node in await LlamaIndexRetriever(memory, user=user).aretrieve(ASKED)])


async def by_openai_agents(memory: Memory, user: str) -> str:
    await AMemorixSession("monday", memory, user=user).add_items([{"role": "user", "content": SAID}])
    return await MemoryTools(memory, user=user).recall(ASKED)


async def by_tools(memory: Memory, user: str) -> str:
    """As Pydantic AI and the OpenAI Agents SDK call them."""
    await MemoryTools(memory, user=user).remember(SAID)
    return await MemoryTools(memory, user=user).recall(ASKED)


async def by_tools_of_a_chat(memory: Memory, user: str) -> str:
    await MemoryTools(memory, chat=user).remember(SAID)
    return await MemoryTools(memory, chat=user).recall(ASKED)


@pytest.mark.parametrize("way", [by_langchain, by_llama_index, by_openai_agents, by_tools, by_tools_of_a_chat])
async def test_an_adapter_finds_by_meaning_what_it_has_just_kept(
    memory: Memory, user: str, way: Callable[[Memory, str], Awaitable[str]]
) -> None:
    assert SAID in await way(memory, user)


@pytest.mark.parametrize("about", ["", "ann"])
async def test_what_mcp_remembers_it_recalls(tmp_path: Path, local_model: str, about: str) -> None:
    async with AsyncMemory(tmp_path, settings={"embedding.model_name": local_model}) as memory:

        async def asked(tool: str, **args: Any) -> Any:
            op, request, _ = TOOLS.resolve(tool, args)
            return await op.handler(memory, request)

        done = await asked("remember", text=SAID, user="ann", about=about)
        assert (len(done.stored), done.wait_error) == (1, "")
        assert [one.text for one in (await asked("recall", query=ASKED, user="ann")).texts] == [SAID]


@pytest.fixture
async def held_back(opened: Open) -> Any:
    """A memory whose model waits at kites, and what lets it go on."""
    words, let_go = HashEmbedder(), threading.Event()

    def embed(texts: Sequence[str]) -> Any:
        if any("kite" in text for text in texts):
            let_go.wait(60)
        return words(texts)

    yield await opened(embed=embed), let_go
    let_go.set()


async def test_more_than_sixteen_are_only_stored_unless_it_is_said(
    held_back: tuple[AMemorixHostService, threading.Event],
) -> None:
    host, let_go = held_back
    memory = CallsOf(LocalMemory(host, "python"))
    turns = [{"speaker": "Ada", "text": f"I flew kite number{n}."} for n in range(17)]
    assert len((await memory.add(messages=turns, chat="many")).ids) == 17
    assert len((await memory.add("one more kite", chat="one", wait="stored")).ids) == 1

    few = asyncio.ensure_future(memory.add(messages=turns[:16], chat="few"))
    many = asyncio.ensure_future(memory.add(messages=turns, chat="awaited", wait="searchable"))

    def are_stored() -> bool:
        return rows(host, "select count(*) from paragraphs") == [(17 + 1 + 16 + 17,)]

    await until(are_stored, "they were not stored")
    assert not few.done() and not many.done()
    let_go.set()
    assert [(len(one.ids), one.wait_error) for one in await asyncio.gather(few, many)] == [(16, ""), (17, "")]


async def test_a_model_that_fails_is_told_with_what_was_stored(tmp_path: Path) -> None:
    fails = False

    def embed(texts: Sequence[str]) -> Any:
        if fails:
            raise RuntimeError("no GPU left")
        return HashEmbedder()(texts)

    async with memory_host(tmp_path, embed=embed) as host:
        fails = True
        added = await CallsOf(LocalMemory(host, "python")).add("a red kite", user="ann")
        assert len(added.ids) == 1
        assert "no GPU left" in added.wait_error
