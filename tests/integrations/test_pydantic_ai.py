"""Pydantic AI: a tool set that keeps, recalls, tells and forgets for one user."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import AbstractToolset

from agent_memory import WORDS_ALONE, run_example, words_memory
from amemorix import AsyncMemory, Memory
from amemorix.errors import InvalidRequest
from amemorix.integrations import pydantic_ai
from amemorix.integrations.pydantic_ai import memory_toolset

TestModel.__test__ = False  # it is no test


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with words_memory(tmp_path_factory.mktemp("memory")) as opened:
        yield opened


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Keeps what it is told with "I …", recalls what it is asked, and answers what the tool has said."""
    last = messages[-1].parts[-1]
    if last.part_kind == "tool-return":
        return ModelResponse([TextPart(str(last.content))])
    said = str(last.content)
    if said.startswith("I "):
        return ModelResponse([ToolCallPart("remember", {"text": said})])
    tool, _, argument = said.partition(": ")
    name = next(one.name for one in info.function_tools if one.name == tool)
    key = {"recall": "query", "who_is": "person", "forget": "id"}[name]
    return ModelResponse([ToolCallPart(name, {key: argument})])


async def test_an_agent_answers_in_one_run_from_what_it_was_told_in_another(memory: Memory) -> None:
    ann = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, user="ann")])
    bo = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, user="bo")])
    assert (await ann.run("I am allergic to peanuts")).output == "Kept."
    assert (await bo.run("I am allergic to lilies")).output == "Kept."
    memory.settle()
    assert [(text.speaker, text.text) for text in memory.texts(user="ann")] == [("ann", "I am allergic to peanuts")]

    found = (await ann.run("recall: allergic")).output
    assert "ann: I am allergic to peanuts" in found and "lilies" not in found
    assert "peanuts" in (await ann.run("who_is: ann")).output
    for nobody in ("bo", "Zed"):
        assert (await ann.run(f"who_is: {nobody}")).output == f"Nothing is known of {nobody}."
    (lilies,) = memory.texts(user="bo")
    for wrong in (lilies.id, "p999", "everything", "lilies", ""):
        assert "not possible" in (await ann.run(f"forget: {wrong}")).output
    assert len(memory.texts(user="bo")) == 1
    assert (await ann.run(f"forget: {found[1:].partition(']')[0]}")).output == "Deleted."
    assert (await ann.run("recall: allergic")).output == "Nothing is known of that."
    assert "lilies" in (await bo.run("recall: allergic")).output


@dataclass
class Deps:
    memory: Memory
    user: str


async def test_one_agent_for_many_users_takes_whose_memory_it_is_from_its_deps(memory: Memory) -> None:
    def mine(context: RunContext[Deps]) -> AbstractToolset[Deps]:
        return memory_toolset(context.deps.memory, user=context.deps.user)

    agent = Agent(FunctionModel(scripted), deps_type=Deps, toolsets=[mine])
    for user, town in (("cy", "Cork"), ("dee", "Delft")):
        assert (await agent.run(f"I live in {town}", deps=Deps(memory, user))).output == "Kept."
    for user, town in (("cy", "Cork"), ("dee", "Delft")):
        found = (await agent.run("recall: where do I live", deps=Deps(memory, user))).output
        assert found.count("live in") == 1 and town in found


async def test_in_a_chat_notes_are_of_the_chat_and_turns_of_who_spoke(memory: Memory) -> None:
    club = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, chat="club")])
    member = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, user="eve", chat="club")])
    await club.run("I collect stamps")
    await member.run("I collect maps")
    assert {(text.speaker, text.text) for text in memory.texts(chat="club")} == {
        ("", "I collect stamps"), ("eve", "I collect maps"),
    }  # fmt: skip
    assert "maps" in (await club.run("recall: collect")).output
    eve = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, user="eve")])
    assert (await eve.run("recall: collect")).output == "Nothing is known of that."


async def test_any_arguments_of_their_test_model_are_answered(memory: Memory, tmp_path: Path) -> None:
    async with AsyncMemory(tmp_path, settings=WORDS_ALONE) as awaited:
        for kind in (memory, awaited):
            model = TestModel()
            agent = Agent(model, toolsets=[memory_toolset(kind, user="gus")])
            answer = (await agent.run("go on")).output
            assert all(f'"{tool}":"' in answer for tool in ("remember", "recall", "who_is", "forget"))
            assert model.last_model_request_parameters is not None
            tools = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
            assert "earlier conversations" in str(tools["recall"].description)
            for tool in tools.values():
                ((_, argument),) = tool.parameters_json_schema["properties"].items()
                assert argument["type"] == "string" and argument["description"]


async def test_what_is_wrong_with_a_call_is_told_to_the_model(memory: Memory) -> None:
    agent = Agent(FunctionModel(scripted), toolsets=[memory_toolset(memory, user="ann")])
    for call, why in (("recall: ", "query"), ("who_is:  ", "blank"), (f"who_is: {'z' * 999}", "at most 512")):
        answer = (await agent.run(call)).output
        assert answer.startswith("That is not possible.") and why in answer, answer
    with pytest.raises(InvalidRequest, match="user: say"):
        memory_toolset(memory)


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        asks = last.part_kind == "user-prompt" and str(last.content).startswith("What")
        return ModelResponse([ToolCallPart("recall", {"query": "allergic"})]) if asks else scripted(messages, info)

    monkeypatch.chdir(tmp_path)
    with asyncio.Runner() as loops:  # theirs would leave one open
        asyncio.set_event_loop(loops.get_loop())
        run_example(pydantic_ai, tmp_path, model=FunctionModel(model))
    assert "I am allergic to peanuts" in capsys.readouterr().out
