"""Conversations, questions and evidence out of a file in LoCoMo's format."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import InvalidRequest

__all__ = ["CATEGORIES", "Conversation", "Question", "Session", "Turn", "read_conversations"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D:?(\d+):(\d+)")
_TIME_FORMAT = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said."""

    id: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    """Turns in the order they were said; `time` is ISO 8601 in UTC, empty if the file names none."""

    name: str
    time: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the ids of the turns that answer it, and the evidence that named no turn."""

    text: str
    category: int
    evidence: tuple[str, ...]
    unusable: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One chat with its questions."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    def session_of(self) -> dict[str, str]:
        """The session's name for each turn id."""
        return {turn.id: session.name for session in self.sessions for turn in session.turns}


def read_conversations(file: Path) -> list[Conversation]:
    """Read the file. Raises InvalidRequest if it is not what LoCoMo publishes."""
    try:
        samples = json.loads(file.read_text("utf-8"))
        return [_conversation(sample) for sample in samples]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} is not a file in LoCoMo's format: {exc!r}.", field="file") from exc


def _conversation(sample: dict[str, Any]) -> Conversation:
    parts = sample["conversation"]
    numbers = sorted(int(m[1]) for key in parts if (m := _SESSION.fullmatch(key)) and isinstance(parts[key], list))
    sessions = tuple(_session(parts, f"session_{number}") for number in numbers)
    known = {turn.id for session in sessions for turn in session.turns}
    return Conversation(sample["sample_id"], sessions, tuple(_question(qa, known) for qa in sample["qa"]))


def _session(parts: dict[str, Any], name: str) -> Session:
    said = parts.get(f"{name}_date_time", "")
    time = datetime.strptime(said, _TIME_FORMAT).replace(tzinfo=UTC).isoformat() if said else ""
    return Session(name, time, tuple(map(_turn, parts[name])))


def _turn(turn: dict[str, Any]) -> Turn:
    caption = turn.get("blip_caption", "")
    shared = f" [shares {caption}]" if caption else ""
    return Turn(_turn_ids(turn["dia_id"])[0], turn["speaker"], f"{turn['text']}{shared}".strip())


def _question(qa: dict[str, Any], known: set[str]) -> Question:
    found: dict[str, None] = {}
    unusable: list[str] = []
    for entry in map(str, qa.get("evidence", ())):
        ids = [id_ for id_ in _turn_ids(entry) if id_ in known]
        found.update(dict.fromkeys(ids))
        if not ids:
            unusable.append(entry)
    return Question(str(qa["question"]), int(qa["category"]), tuple(found), tuple(unusable))


def _turn_ids(text: str) -> list[str]:
    """Every `D<session>:<turn>` in a text; `D8:6; D9:17` holds two, `D:11:26` means `D11:26`."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]
