"""Conversations, questions and evidence out of a file in LoCoMo's format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from amemorix.errors import InvalidRequest
from amemorix.lazy_regex import lazy_regex

from .dataset import Corpus, Dataset, Question, Session, Turn

__all__ = ["CATEGORIES", "read_locomo", "turn_ids"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = lazy_regex(r"session_(\d+)")
_TURN_ID = lazy_regex(r"D:?(\d+):(\d+)")
_TIME_FORMAT = "%I:%M %p on %d %B, %Y"
_STORED = ("dia_id", "speaker", "text")


def read_locomo(file: Path) -> Dataset:
    """Read the file; the adversarial questions count for themselves alone.

    Raises InvalidRequest if it is not what LoCoMo publishes.
    """
    try:
        samples = json.loads(file.read_text("utf-8"))
        corpora = tuple(_corpus(sample) for sample in samples)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} is not a file in LoCoMo's format: {exc!r}.", field="file") from exc
    names = tuple(CATEGORIES.values())
    return Dataset("locomo", corpora, categories=names, headline=names[:4])


def _corpus(sample: dict[str, Any]) -> Corpus:
    parts = sample["conversation"]
    numbers = sorted(int(m[1]) for key in parts if (m := _SESSION.fullmatch(key)) and isinstance(parts[key], list))
    sessions = tuple(_session(parts, f"session_{number}") for number in numbers)
    session_of = {turn.id: session.id for session in sessions for turn in session.turns}
    questions = tuple(_question(f"q{n}", qa, session_of) for n, qa in enumerate(sample["qa"]))
    return Corpus(sample["sample_id"], sessions, questions)


def _session(parts: dict[str, Any], name: str) -> Session:
    said = parts.get(f"{name}_date_time", "")
    time = datetime.strptime(said, _TIME_FORMAT).replace(tzinfo=UTC).timestamp() if said else None
    return Session(name, time, tuple(map(_turn, parts[name])))


def _turn(turn: dict[str, Any]) -> Turn:
    caption = turn.get("blip_caption", "")
    shared = f" [shares {caption}]" if caption else ""
    extra = {key: value for key, value in turn.items() if key not in _STORED}
    return Turn(turn_ids(turn["dia_id"])[0], turn["speaker"], f"{turn['text']}{shared}".strip(), extra)


def _question(id_: str, qa: dict[str, Any], session_of: Mapping[str, str]) -> Question:
    found: dict[str, None] = {}
    unusable: list[str] = []
    for entry in map(str, qa.get("evidence", ())):
        ids = [turn for turn in turn_ids(entry) if turn in session_of]
        found.update(dict.fromkeys(ids))
        if not ids:
            unusable.append(entry)
    sessions = tuple(dict.fromkeys(session_of[turn] for turn in found))
    category = CATEGORIES[int(qa["category"])]
    return Question(id_, str(qa["question"]), category, tuple(found), sessions, tuple(unusable))


def turn_ids(text: str) -> list[str]:
    """Every `D<session>:<turn>` in a text; `D8:6; D9:17` holds two, `D:11:26` means `D11:26`."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _TURN_ID.findall(text)]
