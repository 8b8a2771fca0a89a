"""LangChain: a retriever in a chain, and a history of chat messages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough

from agent_memory import WORDS_ALONE, run_example, words_memory
from amemorix import AsyncMemory, Client, Memory
from amemorix.errors import InvalidRequest, NotReady
from amemorix.integrations import langchain
from amemorix.integrations.langchain import AMemorixChatMessageHistory, AMemorixRetriever
from amemorix.testing import scratch_config
from daemon_process import daemon

MESSAGES: list[Any] = [
    SystemMessage("You are Mai."),
    HumanMessage("What is the weather in Leeds?", id="h1", name="ann"),
    AIMessage("", id="a1", tool_calls=[{"name": "weather", "args": {"city": "Leeds", "days": [1, 2]}, "id": "c1"}]),
    ToolMessage("rain", tool_call_id="c1", artifact={"raw": [1, None]}, status="success"),
    AIMessage([{"type": "text", "text": "It rains."}, {"type": "reasoning", "reasoning": "wet"}], response_metadata={"n": 1}),
    HumanMessage([{"type": "text", "text": "和这张？"}, {"type": "image_url", "image_url": {"url": "data:x," + "A" * 90_000}}]),
    HumanMessage("  \r\n"),
]  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with words_memory(tmp_path_factory.mktemp("memory")) as opened:
        yield opened


def test_documents_come_with_who_said_them_when_and_how_likely_they_answer(memory: Memory) -> None:
    memory.add("my umbrella is blue", user="ann", time="2026-03-03", metadata={"via": "qq", "speaker": "?"}, id="m1")
    memory.add("my umbrella is red", user="bo")
    memory.add("The umbrella stand is green", chat="club")
    retriever = AMemorixRetriever(memory=memory, user="ann")
    (document,) = retriever.invoke("what colour is the umbrella?")
    (hit,) = memory.search("what colour is the umbrella?", user="ann")
    assert document == Document(
        id=hit.id,
        page_content="my umbrella is blue",
        metadata={
            "via": "qq", "speaker": "ann", "time": hit.time and hit.time.isoformat(), "chat": "private:ann",
            "confidence": hit.confidence,
        },
    )  # fmt: skip
    assert asyncio.run(retriever.ainvoke("what colour is the umbrella?")) == [document]
    assert [len(found) for found in retriever.batch(["umbrella", "giraffes"])] == [1, 0]
    club = AMemorixRetriever(memory=memory, chat="club", limit=1)
    assert [one.page_content for one in club.invoke("umbrella")] == ["The umbrella stand is green"]
    assert AMemorixRetriever(memory=memory, user="ann", min_confidence=1.0).invoke("umbrella") == []


def test_whose_memory_it_is_has_to_be_said(memory: Memory) -> None:
    with pytest.raises(InvalidRequest, match="user: say"):
        AMemorixRetriever(memory=memory)
    with pytest.raises(ValueError, match="memory"):
        AMemorixRetriever(memory="./memory", user="ann")  # type: ignore[arg-type]


async def test_an_awaited_memory_is_asked_by_ainvoke(tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path, settings=WORDS_ALONE) as memory:
        await memory.add("my umbrella is blue", user="ann")
        retriever = AMemorixRetriever(memory=memory, user="ann")
        assert [one.page_content for one in await retriever.ainvoke("umbrella")] == ["my umbrella is blue"]
        with pytest.raises(NotReady, match="AsyncMemory is awaited"):
            retriever.invoke("umbrella")


async def test_inside_a_running_event_loop_both_ways_answer(memory: Memory) -> None:
    memory.add("my scarf is yellow", user="cy")
    retriever = AMemorixRetriever(memory=memory, user="cy")
    assert retriever.invoke("scarf") == await retriever.ainvoke("scarf") != []


def test_over_http(tmp_path: Path) -> None:
    with daemon(scratch_config(tmp_path, WORDS_ALONE)) as running, Client(running.url) as client:
        history = AMemorixChatMessageHistory("s", client, user="ann")
        history.add_messages(MESSAGES)
        assert history.messages == MESSAGES
        assert (
            AMemorixRetriever(memory=client, user="ann").invoke("weather in Leeds")[0].page_content.endswith("Leeds?")
        )
        history.clear()
        assert history.messages == []


def test_a_history_keeps_messages_exactly_and_apart(memory: Memory) -> None:
    history = AMemorixChatMessageHistory("s", memory, user="dee")
    assert isinstance(history, BaseChatMessageHistory) and history.messages == []
    history.add_messages(MESSAGES[:3])
    history.add_messages(MESSAGES[3:])
    history.add_user_message("Thanks!")
    assert history.messages == [*MESSAGES, HumanMessage("Thanks!")]
    assert asyncio.run(history.aget_messages()) == history.messages
    others: list[AMemorixChatMessageHistory] = []
    for session, user in (("s ", "dee"), ("S", "dee"), ("s", "eli")):
        others.append(AMemorixChatMessageHistory(session, memory, user=user))
        assert others[-1].messages == []
    others[0].add_ai_message("Kept.")
    history.clear()
    assert history.messages == [] and others[0].messages == [AIMessage("Kept.")]
    assert [text.text for text in memory.texts(user="dee")] == ["Kept."]


def test_a_chain_answers_from_what_was_said_in_an_earlier_one(memory: Memory) -> None:
    AMemorixChatMessageHistory("monday", memory, user="fay").add_messages(
        [HumanMessage("My train leaves at 7:42 from Ghent."), AIMessage("Have a good trip.")]
    )
    AMemorixChatMessageHistory("monday", memory, user="gus").add_user_message("My train leaves at 9:10 from Ghent.")
    asked: list[str] = []

    class Echo(FakeListChatModel):
        def _call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
            asked.append(messages[-1].text)
            return super()._call(messages, *args, **kwargs)

    prompt = ChatPromptTemplate.from_template("What is known:\n{known}\nAnswer: {question}")
    chain = (
        {"known": AMemorixRetriever(memory=memory, user="fay") | (lambda found: "\n".join(d.page_content for d in found)),
         "question": RunnablePassthrough()}
        | prompt | Echo(responses=["At 7:42."]) | StrOutputParser()
    )  # fmt: skip
    assert chain.invoke("When does the train from Ghent leave?") == "At 7:42."
    assert "7:42 from Ghent" in asked[0] and "9:10" not in asked[0]


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    run_example(langchain, tmp_path)
    assert capsys.readouterr().out.startswith("I am allergic to peanuts. 0.")
