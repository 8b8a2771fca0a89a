"""The demonstration: a conversation stored, and its questions asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timezone
from pathlib import Path
from typing import Any

from ...host.environment import Surroundings
from ...host.service import AMemorixHostService
from .demo_conversation import Demo, DemoMessage, DemoQuestion, DemoSession
from .local_memory import LocalMemory
from .memory_client import answered

__all__ = ["Asked", "DemoRun"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer."""

    question: DemoQuestion
    answer: dict[str, Any]
    marked: tuple[bool, ...]
    """Which hits are, or hold, a line that was expected."""
    found: int
    """How many of the expected lines came back."""


class DemoRun:
    """A memory below a folder, in the conversation's own time zone."""

    def __init__(self, demo: Demo, folder: Path) -> None:
        offset = demo.sessions[0].start.utcoffset()
        assert offset is not None, "the demo's times are aware"
        around = replace(Surroundings.default(), zone=timezone(offset))
        self.config_path = folder / "config" / "a_memorix.toml"
        self._demo = demo
        self._sources = {message.id: session.source for session in demo.sessions for message in session.messages}
        self._messages = {message.id: message for message in demo.messages}
        self.host = AMemorixHostService(self.config_path, surroundings=around, watch=False)

    async def store(self) -> int:
        """Store every session and wait for its vectors; the same again changes nothing. Returns the turns stored."""
        memory, stored = LocalMemory(self.host), 0
        for session in self._demo.sessions:
            stored += len((await answered(memory, "ingest_messages", self._request(session)))["stored_ids"])
        await memory.settle()
        return stored

    async def ask(self) -> AsyncIterator[Asked]:
        """Every question in its mode."""
        for question in self._demo.questions:
            args = {**question.args, "mode": question.mode, "chat_id": self._demo.chat_id}
            answer = await answered(LocalMemory(self.host), "search_memory", args)
            held = [self._expected_in(hit, question) for hit in answer["hits"]]
            found = len(set[str]().union(*held))
            yield Asked(question, answer, tuple(map(bool, held)), found)

    def _request(self, session: DemoSession) -> dict[str, Any]:
        return {
            "chat_id": self._demo.chat_id,
            "group_id": self._demo.group_id,
            "source": session.source,
            "messages": [_turn(message) for message in session.messages],
        }

    def _expected_in(self, hit: dict[str, Any], question: DemoQuestion) -> set[str]:
        """The expected lines that a hit is, or that its stretch of talk holds."""
        if hit["type"] == "paragraph":
            return {hit["external_id"]} & set(question.expect)
        start, end = hit["time"]["start"], hit["time"]["end"]
        return {
            id_
            for id_ in question.expect
            if self._sources[id_] == hit["source"] and start <= self._messages[id_].time.timestamp() <= end
        }


def _turn(message: DemoMessage) -> dict[str, Any]:
    return {
        "external_id": message.id,
        "speaker": message.speaker,
        "person_id": message.person_id,
        "text": message.text,
        "time": message.time.isoformat(),
    }
