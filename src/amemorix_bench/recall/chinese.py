"""The Chinese benchmark: group chats and questions about them, each in Chinese and in English."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from amemorix.errors import InvalidRequest

from .dataset import Corpus, Dataset, Question, Session, Turn

__all__ = ["ASKED_AFTER", "CATEGORIES", "Language", "read_chinese"]

Language = Literal["zh", "en"]
CATEGORIES = ("keyword", "paraphrase", "time", "person", "multi", "multi-hop")
HEADLINE = CATEGORIES[:5]
ASKED_AFTER = 30 * 86_400.0
"""Questions are asked so many seconds after the beginning of the last session: the same whenever they are run."""


def read_chinese(path: Path | None = None, *, questions: Language = "zh", chat: Language = "zh") -> Dataset:
    """The chats in one language, asked about in one; those that are shipped, or a file, or all `*.json` of a folder.

    Raises InvalidRequest if a file is not in the format, or there is none.
    """
    found = list(_files(path))
    if not found:
        raise InvalidRequest(f"{path or 'The package'} holds no Chinese chats.", field="file")
    corpora = tuple(_read(file, questions, chat) for file in found)
    return Dataset(f"chinese {questions}→{chat}", corpora, CATEGORIES, HEADLINE, leading="any_5")


def _files(path: Path | None) -> Iterable[Traversable | Path]:
    if path is not None:
        return sorted(path.glob("*.json")) if path.is_dir() else [path]
    folder = files("amemorix_bench").joinpath("data")
    if not folder.is_dir():
        return []
    shipped = (file for file in folder.iterdir() if file.name.startswith("zh_") and file.name.endswith(".json"))
    return sorted(shipped, key=lambda file: file.name)


def _read(file: Traversable | Path, questions: Language, chat: Language) -> Corpus:
    try:
        return _corpus(json.loads(file.read_text("utf-8")), questions, chat)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} is not a file of the Chinese benchmark: {exc!r}.", field="file") from exc


def _corpus(data: Mapping[str, Any], questions: Language, chat: Language) -> Corpus:
    names = {person["zh"]: person[chat] for person in data["persons"]}
    sessions = tuple(_session(session, names, chat) for session in data["sessions"])
    session_of = {turn.id: session.id for session in sessions for turn in session.turns}
    asked_at = max(session.time or 0.0 for session in sessions) + ASKED_AFTER
    asked = tuple(_question(entry, questions, session_of, asked_at) for entry in data["questions"])
    return Corpus(data["id"], sessions, asked)


def _session(data: Mapping[str, Any], names: Mapping[str, str], chat: Language) -> Session:
    start = datetime.fromisoformat(data["start"])
    if start.tzinfo is None:
        raise ValueError(f"{data['start']!r} has no offset from UTC")
    return Session(data["id"], start.timestamp(), tuple(_turn(m, names, chat) for m in data["messages"]))


def _turn(message: Mapping[str, Any], names: Mapping[str, str], chat: Language) -> Turn:
    return Turn(message["id"], names[message["speaker"]], message[chat])


def _question(data: Mapping[str, Any], language: Language, session_of: Mapping[str, str], asked_at: float) -> Question:
    if data["kind"] not in CATEGORIES:
        raise ValueError(f"{data['kind']!r} is no kind of question")
    named: Sequence[str] = data["evidence"]
    sessions = dict.fromkeys(session_of[turn] for turn in named)
    return Question(data["id"], data[language], data["kind"], tuple(named), tuple(sessions), asked_at=asked_at)
