"""The examples that talk in the terminal: what is told on one day is known on another, and to nobody else."""

from __future__ import annotations

import asyncio
import io
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import set_tracing_disabled
from agents.testing import ModelCall, ScriptedModel, assistant_message, function_call
from pydantic_ai import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agent_memory import WORDS_ALONE
from amemorix.testing import scratch_config

EXAMPLES = Path(__file__).parents[2] / "examples"
set_tracing_disabled(True)


def recalling_agent(call: ModelCall) -> list[Any]:
    """Of the Agents SDK: recalls what it is asked, says what it has found, and notes everything else."""
    last = call.input[-1]
    if last.get("type") == "function_call_output":
        return [assistant_message(last["output"])]
    if last["content"].endswith("?"):
        return [function_call("recall", {"query": last["content"]}, call_id="c")]
    return [assistant_message("Noted.")]


def recalling_function(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Of Pydantic AI: the same, and keeps what it notes by a tool."""
    last = messages[-1].parts[-1]
    text = str(last.content)  # type: ignore[union-attr]
    if last.part_kind == "tool-return":
        return ModelResponse([TextPart(text)])
    tool, key = ("recall", "query") if text.endswith("?") else ("remember", "text")
    return ModelResponse([ToolCallPart(tool, {key: text})])


def openai_model() -> Any:
    return ScriptedModel([{"responder": recalling_agent}] * 2)


def pydantic_model() -> Any:
    return FunctionModel(recalling_function)


@pytest.mark.parametrize(
    ("example", "model"), [("openai_agents_chat", openai_model), ("pydantic_ai_chat", pydantic_model)]
)
def test_what_is_told_is_known_the_next_time(
    example: str, model: Callable[[], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    scratch_config(tmp_path / "memory", WORDS_ALONE)
    talk = runpy.run_path(str(EXAMPLES / f"{example}.py"))["talk"]

    def said(user: str, line: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n\n"))
        asyncio.run(talk(user, model()))
        return capsys.readouterr().out

    said("ann", "My train leaves at 7:42 from Ghent.")
    assert "7:42 from Ghent" in said("ann", "When does my train leave?")
    assert "7:42" not in said("bo", "When does the train leave?")
