"""Questions, each with a chat history of its own, out of a file in LongMemEval's format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from amemorix.errors import InvalidRequest
from amemorix.lazy_regex import lazy_regex

from .dataset import Corpus, Dataset, Question, Session, Turn

__all__ = ["ABSTENTION", "CATEGORIES", "read_longmemeval"]

CATEGORIES = (
    "single-session-user", "single-session-assistant", "single-session-preference", "multi-session",
    "knowledge-update", "temporal-reasoning",
)  # fmt: skip
ABSTENTION = "abstention"
_SUFFIX = "_abs"
_DATE = lazy_regex(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\(\w+\))?(?:\s+(\d{1,2}):(\d{2}))?\s*")
_BLOCK = 1 << 22
_BETWEEN = lazy_regex(r"[\s,\[\]]*")


def read_longmemeval(file: Path) -> Dataset:
    """Read any of the files that LongMemEval publishes, as a JSON array or with one object a line.

    Every question becomes a corpus named after it; the questions that nothing answers are a category of their own.
    Raises InvalidRequest for any other file.
    """
    try:
        with file.open(encoding="utf-8") as text:
            corpora = tuple(map(_corpus, _objects(text)))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise InvalidRequest(f"{file} is not a file in LongMemEval's format: {exc!r}.", field="file") from exc
    if not corpora:
        raise InvalidRequest(f"{file} is not a file in LongMemEval's format: it holds no question.", field="file")
    found = {question.category for corpus in corpora for question in corpus.questions}
    others = tuple(sorted(found - {*CATEGORIES, ABSTENTION}))
    answerable = (*CATEGORIES, *others)
    return Dataset("longmemeval", corpora, (*answerable, ABSTENTION), answerable, unanswerable=ABSTENTION)


def _objects(text: TextIO) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array or of JSON lines, one at a time: the largest file has 2.7 GB. Raises ValueError."""
    decoder, held, at = json.JSONDecoder(), "", 0
    while True:
        gap = _BETWEEN.match(held, at)
        at = gap.end() if gap else at
        try:
            found, at = decoder.raw_decode(held, at)
        except json.JSONDecodeError:
            more = text.read(max(_BLOCK, len(held)))
            if not more and at < len(held):
                raise
            if not more:
                return
            held, at = held[at:] + more, 0
        else:
            yield found


def _corpus(item: dict[str, Any]) -> Corpus:
    ids, dates, said = item["haystack_session_ids"], item["haystack_dates"], item["haystack_sessions"]
    names = _unique([str(id_) for id_ in ids])
    sessions = [_session(*parts) for parts in zip(names, dates, said, strict=True)]
    evidence = [
        turn.id
        for session, turns in zip(sessions, said, strict=True)
        for turn, raw in zip(session.turns, turns, strict=True)
        if raw.get("has_answer") and turn.text
    ]
    question = _question(item, evidence, names)
    ordered = tuple(sorted(sessions, key=lambda session: session.time or 0.0))
    return Corpus(question.id, ordered, (question,))


def _question(item: Mapping[str, Any], evidence: Sequence[str], known: Sequence[str]) -> Question:
    id_ = str(item["question_id"])
    text, asked_at = str(item["question"]), _time(item.get("question_date"))
    if id_.endswith(_SUFFIX):
        return Question(id_, text, ABSTENTION, asked_at=asked_at)
    named = [str(session) for session in item["answer_session_ids"]]
    return Question(
        id_, text, str(item["question_type"]), tuple(evidence),
        sessions=tuple(s for s in named if s in known),
        unusable=tuple(s for s in named if s not in known),
        asked_at=asked_at,
    )  # fmt: skip


def _session(name: str, date: Any, turns: Sequence[Mapping[str, Any]]) -> Session:
    said = (Turn(f"{name}:{n}", str(turn["role"]), str(turn["content"]).strip()) for n, turn in enumerate(turns, 1))
    return Session(name, _time(date), tuple(said))


def _unique(names: Sequence[str]) -> list[str]:
    """The names, with a number after those that came before."""
    seen: Counter[str] = Counter()
    result: list[str] = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result


def _time(date: Any) -> float | None:
    """`2023/05/30 (Tue) 23:40` in UTC. Raises ValueError."""
    if not date:
        return None
    found = _DATE.fullmatch(str(date))
    if found is None:
        raise ValueError(f"{date!r} is not a date")
    return datetime(*(int(part or 0) for part in found.groups()), tzinfo=UTC).timestamp()  # type: ignore[misc]
