"""A made-up conversation of five friends with a café, in Chinese and English, to show the memory with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Literal

from pydantic import TypeAdapter

__all__ = ["Demo", "DemoMessage", "DemoPerson", "DemoQuestion", "DemoSession", "load"]


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Someone who speaks."""

    person_id: str
    name: str
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DemoMessage:
    """One turn; `id` is `s<session>:<turn>`, both from 1, and `time` is aware."""

    id: str
    speaker: str
    person_id: str
    text: str
    time: datetime


@dataclass(frozen=True, slots=True)
class DemoSession:
    """Turns without a long pause, in their order; `start` is the time of the first."""

    source: str
    start: datetime
    messages: tuple[DemoMessage, ...]


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """A search to try, and the messages that answer it."""

    mode: Literal["search", "time", "hybrid", "episode", "aggregate"]
    question: str
    """As a person would ask."""
    args: dict[str, Any]
    """Arguments of `search_memory` besides `mode` and `chat_id`."""
    expect: tuple[str, ...]
    """Ids of messages."""
    note: str


@dataclass(frozen=True, slots=True)
class Demo:
    """The whole conversation, of one group chat."""

    chat_id: str
    group_id: str
    people: tuple[DemoPerson, ...]
    sessions: tuple[DemoSession, ...]
    questions: tuple[DemoQuestion, ...]

    @property
    def messages(self) -> tuple[DemoMessage, ...]:
        """The turns of all sessions, in order of time."""
        return tuple(message for session in self.sessions for message in session.messages)


def load() -> Demo:
    """Read the conversation that is shipped with the package."""
    return TypeAdapter(Demo).validate_json(
        files("amemorix.frontends.cli").joinpath("demo_conversation.json").read_bytes()
    )
