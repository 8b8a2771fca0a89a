"""LlamaIndex: a block of their memory, and a retriever."""

from __future__ import annotations

import gc
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory as ShortTerm
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from sqlalchemy.ext.asyncio import create_async_engine

from agent_memory import WORDS_ALONE, run_example, words_memory
from amemorix import AsyncMemory, Memory
from amemorix.errors import InvalidRequest, NotReady
from amemorix.integrations import llama_index
from amemorix.integrations.llama_index import AMemorixBlock, AMemorixRetriever


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with words_memory(tmp_path_factory.mktemp("memory")) as opened:
        yield opened


@pytest.fixture
async def short_term() -> AsyncIterator[Callable[..., ShortTerm]]:
    """Makes their memories, whose messages lie in one database in memory."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")

    def make(*blocks: AMemorixBlock, **given: Any) -> ShortTerm:
        return ShortTerm.from_defaults(memory_blocks=list(blocks), tokenizer_fn=str.split, async_engine=engine, **given)

    yield make
    await engine.dispose()


def said(*texts: str) -> list[ChatMessage]:
    return [ChatMessage(role=("user", "assistant")[n % 2], content=text) for n, text in enumerate(texts)]


async def test_what_leaves_the_short_term_memory_is_told_when_it_matters(
    memory: Memory, short_term: Callable[..., ShortTerm]
) -> None:
    first = short_term(AMemorixBlock(memory=memory, user="ann"), token_limit=40, token_flush_size=10)
    turns = [f"{text} {n} and so on" for n in range(8) for text in ("tell me of kites", "kites fly high")]
    await first.aput_messages(said("I am allergic to peanuts", "I will keep that in mind", *turns))
    assert "peanuts" not in str([one.content for one in (await first.aget())[1:]])
    stored = [text.text for text in memory.texts(user="ann", limit=100)]
    assert stored[-2:] == ["I will keep that in mind", "I am allergic to peanuts"] and turns[-1] not in stored
    memory.settle()

    later = short_term(AMemorixBlock(memory=memory, user="ann"), token_limit=2_000)
    system, *rest = await later.aget("What must I not eat? I have an allergy, allergic")
    assert system.role == "system" and "peanuts" in str(system.content) and "<long_term_memory>" in str(system.content)
    assert rest == []
    other = short_term(AMemorixBlock(memory=memory, user="bo"), token_limit=2_000)
    (system,) = await other.aget("What must I not eat? I have an allergy, allergic")
    assert "Nothing is known of what was asked." in str(system.content) and "peanuts" not in str(system.content)


async def test_only_what_was_said_is_kept_and_asked_with(memory: Memory) -> None:
    block = AMemorixBlock(memory=memory, user="cy", name="ours", budget=60)
    picture = ChatMessage(role="user", blocks=[ImageBlock(url="https://example.org/a.png")])
    both = ChatMessage(
        role="user", blocks=[TextBlock(text="my dog is Rex"), ImageBlock(url="https://example.org/a.png")]
    )
    await block.aput(
        [ChatMessage(role="system", content="You are Mai."), picture, ChatMessage(role="tool", content="42"), both]
    )
    assert [(text.speaker, text.text) for text in memory.texts(user="cy")] == [("cy", "my dog is Rex")]
    assert await block.aget([picture]) == await block.aget([]) == await block.aget(None) == ""
    memory.settle()
    assert "Rex" in await block.aget(said("what is my dog called?"), session_id="s")
    for n in range(20):
        memory.add(f"my dog Rex likes stick number {n}", user="cy")
    memory.settle()
    told = await block.aget(said("what does my dog Rex like?"))
    short = await block.atruncate(told, 10)
    assert short and told.startswith(short) and len(short) <= len(told) - 40 and told[len(short)] == "\n"
    assert await block.atruncate(told, 1_000) is None


async def test_a_chat_engine_with_a_model_tells_it_what_is_known(
    memory: Memory, short_term: Callable[..., ShortTerm]
) -> None:
    memory.add("I am allergic to walnuts", user="dee")
    memory.settle()
    engine = SimpleChatEngine.from_defaults(
        llm=MockLLM(is_chat_model=True), memory=short_term(AMemorixBlock(memory=memory, user="dee"))
    )
    answer = await engine.achat("which nuts am I allergic to?")  # the model says what it is told
    assert "walnuts" in str(answer)


async def test_nodes_come_with_scores_and_who_said_them(memory: Memory) -> None:
    memory.add("my umbrella is blue", user="eve", metadata={"via": "qq"})
    memory.add("my umbrella is red", user="bo")
    retriever = AMemorixRetriever(memory, user="eve")
    (node,) = await retriever.aretrieve("umbrella")
    (hit,) = memory.search("umbrella", user="eve")
    assert (node.node_id, node.text, node.score) == (hit.id, "my umbrella is blue", hit.confidence)
    assert node.metadata["via"] == "qq" and node.metadata["speaker"] == "eve"
    assert [one.node_id for one in retriever.retrieve("umbrella")] == [hit.id]
    assert AMemorixRetriever(memory, user="eve", min_confidence=1.0).retrieve("umbrella") == []


def test_a_query_engine_answers_from_it(memory: Memory) -> None:
    memory.add("my umbrella is purple", user="fay")
    engine = RetrieverQueryEngine(
        AMemorixRetriever(memory, user="fay"), get_response_synthesizer(llm=MockLLM(), response_mode="compact")
    )
    answer = engine.query("what colour is the umbrella?")
    assert "purple" in str(answer) and len(answer.source_nodes) == 1


async def test_an_awaited_memory_and_a_scope(tmp_path: Path, memory: Memory) -> None:
    async with AsyncMemory(tmp_path, settings=WORDS_ALONE) as awaited:
        block = AMemorixBlock(memory=awaited, chat="club")
        await block.aput(said("The club meets on Mondays"))
        assert "Mondays" in await block.aget(said("when does the club meet?"))
        retriever = AMemorixRetriever(awaited, chat="club")
        assert len(await retriever.aretrieve("when does the club meet?")) == 1
        with pytest.raises(NotReady, match="AsyncMemory is awaited"):
            retriever.retrieve("club")
    for make in (lambda: AMemorixBlock(memory=memory), lambda: AMemorixRetriever(memory)):
        with pytest.raises(InvalidRequest, match="user: say"):
            make()


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # their memory leaves its database open
        run_example(llama_index, tmp_path)
        gc.collect()
    block, found = capsys.readouterr().out.strip().splitlines()
    assert "peanuts" in block, "as it was said, or what is known of Ann by then"
    assert "allergic to peanuts" in found
