"""The OpenAI Agents SDK: a session that keeps every item exactly, and tools that recall across sessions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, SessionSettings, SQLiteSession, set_tracing_disabled
from agents.memory import Session
from agents.testing import ModelCall, ScriptedModel, assistant_message, function_call

from agent_memory import WORDS_ALONE, run_example, words_memory
from amemorix import AsyncClient, AsyncMemory, Client, Memory
from amemorix.errors import InvalidRequest, NotReady
from amemorix.integrations import openai_agents
from amemorix.integrations.memory_tools import MemoryTools
from amemorix.integrations.openai_agents import AMemorixSession, memory_tools
from amemorix.integrations.scoped_memory import AnyMemory
from amemorix.testing import scratch_config
from daemon_process import daemon
from database_file import on_disk

set_tracing_disabled(True)
KINDS = ("Memory", "AsyncMemory", "Client", "AsyncClient")
IMAGE = "data:image/png;base64," + "iVBORw0KGgo+/" * 20_000
ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Leeds?"},
    {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAAA" * 3_000},
    {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Leeds", "days": 3}', "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": '{"rain": true, "note": "\\"wet\\""}'},
    {
        "id": "m1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "It rains in Leeds.", "annotations": [], "logprobs": None}],
    },
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "这张图片里是什么？"}, {"type": "input_image", "detail": "auto", "image_url": IMAGE}],
    },
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I cannot say."}]},
    {"role": "user", "content": [{"type": "input_image", "detail": "low", "image_url": "https://example.org/a.png"}]},
    {"role": "user", "content": ""},
    {"role": "user", "content": " \x00\r\n\t"},
    {"role": "user", "content": "  ends in blanks\r\n\ud800 \x00 é e\u0301  "},
    {"role": "user", "content": "A long report on kites. " * 2_000},
    {"role": "user", "content": "yes"},
    {"role": "user", "content": "yes"},
    {"type": "item_reference", "id": "ref", "score": 0.1 + 0.2, "big": 2**70, "none": None},
]  # fmt: skip


def exact(items: Any) -> list[str]:
    return [json.dumps(item) for item in items]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with words_memory(tmp_path_factory.mktemp("memory")) as opened:
        yield opened


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with daemon(scratch_config(tmp_path_factory.mktemp("served"), WORDS_ALONE)) as running:
        yield running.url


@pytest.fixture(params=KINDS)
async def each(request: pytest.FixtureRequest, memory: Memory, tmp_path: Path) -> AsyncIterator[AnyMemory]:
    """Each kind of memory."""
    async with AsyncExitStack() as stack:
        match request.param:
            case "Memory":
                yield memory
            case "AsyncMemory":
                yield await stack.enter_async_context(AsyncMemory(tmp_path, settings=WORDS_ALONE))
            case "Client":
                yield stack.enter_context(Client(request.getfixturevalue("served")))
            case _:
                yield await stack.enter_async_context(AsyncClient(request.getfixturevalue("served")))


async def test_a_session_of_each_kind_of_memory_does_what_theirs_does(each: AnyMemory) -> None:
    name = type(each).__name__
    mine, theirs = AMemorixSession("s", each, user=name), SQLiteSession("s")
    assert isinstance(mine, Session)
    for session in (mine, theirs):
        assert await session.get_items() == [] and await session.pop_item() is None
        await session.add_items([])
        await session.add_items(ITEMS[:6])
        await session.add_items(ITEMS[6:])
    for limit in (None, 0, 1, 2, 7, 14, 15, 16, 1_000, -1):
        assert exact(await mine.get_items(limit)) == exact(await theirs.get_items(limit)), limit
    assert exact(await mine.get_items()) == exact(ITEMS)
    for _ in range(11):
        assert exact([await mine.pop_item()]) == exact([await theirs.pop_item()])
    for session in (mine, theirs):
        await session.add_items(ITEMS[4:5])
    assert exact(await mine.get_items()) == exact(await theirs.get_items()) == exact([*ITEMS[:4], ITEMS[4]])
    await mine.clear_session()
    assert await mine.get_items() == []
    await mine.add_items(ITEMS[:1])
    assert await mine.get_items() == ITEMS[:1]
    theirs.close()


async def test_a_session_outlives_the_process_that_wrote_it(tmp_path: Path) -> None:
    with words_memory(tmp_path) as memory:
        await AMemorixSession("s", memory, user="ann").add_items(ITEMS)
    with words_memory(tmp_path) as memory:
        assert exact(await AMemorixSession("s", memory, user="ann").get_items()) == exact(ITEMS)


LOOK_ALIKES = (
    "a",
    "A",
    "a ",
    " a",
    "ａ",
    "á",
    "a\u0301",
    "a\n",
    "a\r",
    "a/b",
    "a:b",
    "a%20",
    '"a"',
    "%",
    "_",
    "",
    "a" * 400,
)


async def test_sessions_whose_names_look_alike_are_apart(memory: Memory) -> None:
    sessions = [
        AMemorixSession(name, memory, user=user, chat=chat)
        for name in LOOK_ALIKES
        for user, chat in (("eve", ""), ("Eve", ""), ("", "eve"), ("eve", "club"))
    ]
    for n, session in enumerate(sessions):
        await session.add_items([{"role": "user", "content": f"line {n}"}])
    for n, session in enumerate(sessions):
        assert await session.get_items() == [{"role": "user", "content": f"line {n}"}], n
    await sessions[0].clear_session()
    assert [len(await session.get_items()) for session in sessions] == [0] + [1] * (len(sessions) - 1)


async def test_what_is_said_in_a_session_is_remembered_of_the_user_and_of_nobody_else(memory: Memory) -> None:
    session = AMemorixSession("s", memory, user="ida")
    await session.add_items(
        [
            {"role": "user", "content": "I moved to Uppsala in May."},
            {"type": "function_call", "call_id": "c", "name": "uppsala_map", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "Uppsala: 59.86 N"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "How is Uppsala?"}]},
        ]
    )
    found = {(hit.speaker, hit.text) for hit in memory.search("Uppsala map", user="ida")}
    assert found - {("tool", "…")} == {("ida", "I moved to Uppsala in May."), ("assistant", "How is Uppsala?")}
    assert memory.search("Uppsala map", user="ida")[0].speaker != "tool"
    assert "…" not in await MemoryTools(memory, user="ida").recall("Uppsala map")
    memory.settle()
    assert "Uppsala" in str(memory.facts("ida"))
    assert not memory.search("Uppsala", user="ibo") and not memory.search("Uppsala", chat="s")
    assert "Uppsala" not in str(memory.profile("ida", chat="private:ibo"))


async def test_members_of_a_chat_do_not_take_its_lines_into_their_private_chats(memory: Memory) -> None:
    await AMemorixSession("s", memory, user="kai", chat="team").add_items(
        [{"role": "user", "content": "Kai's key is blue"}]
    )
    await AMemorixSession("s", memory, user="lou", chat="team").add_items(
        [{"role": "user", "content": "Lou's key is red"}]
    )
    assert [hit.speaker for hit in memory.search("key is blue", chat="team")][:1] == ["kai"]
    assert len(memory.search("key", chat="team")) == 2
    assert not memory.search("key", user="kai") and not memory.search("key", user="lou")


@pytest.mark.parametrize("purge", [False, True])
async def test_what_is_popped_or_cleared_is_gone_from_everything(tmp_path: Path, purge: bool) -> None:
    with words_memory(tmp_path) as memory:
        session = AMemorixSession("s", memory, user="ann", purge=purge)
        kept = AMemorixSession("t", memory, user="ann")
        await kept.add_items([{"role": "user", "content": "I keep bees."}])
        await session.add_items([{"role": "user", "content": f"I live in {town}."} for town in ("Cork", "Zwolle")])
        assert await session.pop_item() == {"role": "user", "content": "I live in Zwolle."}
        assert memory.search("where does ann live: Zwolle or Cork", user="ann")[0].text == "I live in Cork."
        await session.clear_session()
        memory.settle()
        assert [text.text for text in memory.texts(user="ann")] == ["I keep bees."]
        assert "live" not in str(memory.facts("ann")) + str(memory.profile("ann"))
        deleted = memory.call("memory_delete_admin", action="list_operations")["items"]
        assert {one["status"] for one in deleted} == {"purged" if purge else "executed"}
    assert purge != any(b"Zwolle" in file for file in on_disk(tmp_path))


async def test_two_who_pop_at_once_get_two_items(memory: Memory) -> None:
    sessions = [AMemorixSession("race", memory, user="ann") for _ in range(4)]
    await sessions[0].add_items([{"role": "user", "content": f"line {n}"} for n in range(4)])
    popped = await asyncio.gather(*(session.pop_item() for session in sessions))
    assert sorted(one["content"] for one in popped) == [f"line {n}" for n in range(4)]


async def test_a_line_that_was_forgotten_takes_its_item_along_and_no_other(memory: Memory) -> None:
    session = AMemorixSession("s", memory, user="oda")
    await session.add_items([ITEMS[0], ITEMS[5], ITEMS[1], ITEMS[12]])
    pictures = [text for text in memory.texts(user="oda") if text.text.startswith("这张")]
    memory.forget(id=[text.id for text in pictures])
    assert exact(await session.get_items()) == exact([ITEMS[0], ITEMS[1], ITEMS[12]])
    memory.forget(id=[text.id for text in memory.texts(user="oda") if text.text == "…"][:1])
    assert exact(await session.get_items()) == exact([ITEMS[0], ITEMS[12]])
    await session.clear_session()
    assert await session.get_items() == [] and not memory.texts(user="oda")


async def test_a_user_who_is_forgotten_leaves_no_session(memory: Memory) -> None:
    sessions = [AMemorixSession(name, memory, user="abe") for name in ("s", "t")]
    for session in sessions:
        await session.add_items(ITEMS)
    memory.forget(user="abe")
    assert [await session.get_items() for session in sessions] == [[], []]


async def test_the_settings_of_a_session_say_how_many_items(memory: Memory) -> None:
    session = AMemorixSession("s", memory, user="uma", session_settings=SessionSettings(limit=2))
    await session.add_items(ITEMS[:4])
    assert await session.get_items() == ITEMS[2:4]
    assert await session.get_items(3) == ITEMS[1:4]


async def test_whose_session_it_is_has_to_be_said(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="user: say"):
        AMemorixSession("s", memory)
    with pytest.raises(InvalidRequest, match="user: say"):
        memory_tools(memory, user=" ")
    closed = {**WORDS_ALONE, "filter.enabled": True, "filter.mode": "whitelist"}
    with Memory(tmp_path, settings=closed) as strict, pytest.raises(NotReady, match="chat_filtered"):
        await AMemorixSession("s", strict, user="ann").add_items(ITEMS[:1])


def tool_output(call: ModelCall) -> str:
    return next(item["output"] for item in reversed(call.input) if item.get("type") == "function_call_output")


def answer_from_tool(call: ModelCall) -> list[Any]:
    return [assistant_message(tool_output(call))]


async def test_an_agent_answers_in_one_session_from_what_it_was_told_in_another(memory: Memory) -> None:
    model = ScriptedModel([[assistant_message("Noted.")]])
    agent = Agent(name="Mai", model=model, tools=memory_tools(memory, user="pia"))
    monday = AMemorixSession("monday", memory, user="pia")
    await Runner.run(agent, "My train leaves at 7:42 from Ghent.", session=monday)

    model.extend(
        [
            [function_call("recall", {"query": "when does the train leave?"}, call_id="c1")],
            {"responder": answer_from_tool},
        ]
    )
    tuesday = AMemorixSession("tuesday", memory, user="pia")
    result = await Runner.run(agent, "When does my train leave?", session=tuesday)
    assert "pia: My train leaves at 7:42 from Ghent." in result.final_output
    kept = await tuesday.get_items()
    assert [item.get("type") or item.get("role") for item in kept] == [
        "user", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert exact(kept[:3]) == exact(model.calls[-1].input)

    model.enqueue([assistant_message("At 7:42, as I said.")])
    await Runner.run(agent, "Sure?", session=tuesday)
    assert exact(model.calls[-1].input) == exact([*kept, {"content": "Sure?", "role": "user"}])

    model.extend([[function_call("recall", {"query": "train Ghent"}, call_id="c1")], {"responder": answer_from_tool}])
    other = Agent(name="Mai", model=model, tools=memory_tools(memory, user="pit"))
    result = await Runner.run(
        other, "When does Pia's train leave?", session=AMemorixSession("tuesday", memory, user="pit")
    )
    assert "7:42" not in result.final_output
    model.assert_complete()


async def test_an_agent_keeps_tells_and_forgets_by_its_tools(memory: Memory) -> None:
    model = ScriptedModel()
    agent = Agent(name="Mai", model=model, tools=memory_tools(memory, user="quin"))

    async def use(tool: str, **arguments: str) -> str:
        model.extend([[function_call(tool, arguments, call_id="c")], {"responder": answer_from_tool}])
        return (await Runner.run(agent, "…")).final_output

    memory.add("I am allergic to lilies", user="ruth")
    assert await use("remember", text="I am allergic to peanuts") == "Kept."
    memory.settle()
    found = await use("recall", query="allergic")
    assert "peanuts" in found and "lilies" not in found
    assert "peanuts" in await use("who_is", person="quin")
    assert "lilies" not in await use("who_is", person="ruth")
    (lilies,) = memory.texts(user="ruth")
    assert "not possible" in await use("forget", id=lilies.id)
    assert len(memory.texts(user="ruth")) == 1
    assert "not possible" in await use("forget", id="everything")
    assert await use("forget", id=found[1:].partition("]")[0]) == "Deleted."
    assert await use("recall", query="allergic") == "Nothing is known of that."


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [function_call("recall", {"query": "allergic"}, call_id="c1")]
    model = ScriptedModel([[assistant_message("Noted.")], asked, {"responder": answer_from_tool}])
    run_example(openai_agents, tmp_path, model=model)
    assert "I am allergic to peanuts." in capsys.readouterr().out
