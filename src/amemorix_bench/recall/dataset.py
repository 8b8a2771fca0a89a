"""Conversations and questions about them, in the one form that every benchmark is read into."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from amemorix.errors import InvalidRequest

__all__ = ["Corpus", "Dataset", "Question", "Session", "Turn", "spread"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said; `id` is unique in its corpus, `extra` is what else the file tells of it, which is not stored."""

    id: str
    speaker: str
    text: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Session:
    """Turns in the order they were said; `time` in epoch seconds, None if the file names none."""

    id: str
    time: float | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what answers it.

    `evidence` are ids of turns, `sessions` of sessions; `unusable` is evidence that the file names and does not have.
    `asked_at` is the moment of asking in epoch seconds, None for the present.
    """

    id: str
    text: str
    category: str
    evidence: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    unusable: tuple[str, ...] = ()
    asked_at: float | None = None


@dataclass(frozen=True, slots=True)
class Corpus:
    """One chat with its questions."""

    id: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def turns(self) -> list[Turn]:
        """The turns of all sessions."""
        return [turn for session in self.sessions for turn in session.turns]

    def key(self, name: str) -> str:
        """The name of a turn or a session among those of all corpora."""
        return f"{self.id}/{name}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """Corpora whose questions are asked and counted alike."""

    name: str
    corpora: tuple[Corpus, ...]
    categories: tuple[str, ...]
    """In the order in which they are shown."""
    headline: tuple[str, ...]
    """Those that count for the figures over all."""
    unanswerable: str = ""
    """The category of questions to which nothing stored is an answer."""
    leading: str = "recall_10"
    """The figure of `Score` that is shown first, with its interval."""

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return sum(len(session.turns) for corpus in self.corpora for session in corpus.sessions)

    def questions(self) -> Iterator[tuple[Corpus, Question]]:
        """Every question with the corpus that it is about."""
        return ((corpus, question) for corpus in self.corpora for question in corpus.questions)

    def judged(self) -> list[tuple[Corpus, Question]]:
        """The questions that can be judged: with evidence, or unanswerable on purpose."""
        return [(c, q) for c, q in self.questions() if q.evidence or q.category == self.unanswerable]

    def only(self, names: Collection[str]) -> Dataset:
        """The corpora of these ids, or all if none is named. Raises InvalidRequest for an id that is not there."""
        known = [corpus.id for corpus in self.corpora]
        if unknown := sorted(set(names) - set(known)):
            raise InvalidRequest(f"There is no conversation {unknown[0]!r}.", field="conversations", allowed=known)
        return replace(self, corpora=tuple(c for c in self.corpora if c.id in names)) if names else self

    def sample(self, limit: int) -> Dataset:
        """At most `limit` of the questions that can be judged, evenly spread, and the corpora that they are about."""
        kept: dict[str, list[Question]] = {}
        for corpus, question in spread(self.judged(), limit):
            kept.setdefault(corpus.id, []).append(question)
        corpora = tuple(replace(c, questions=tuple(kept[c.id])) for c in self.corpora if c.id in kept)
        return replace(self, corpora=corpora)


def spread(items: Sequence[T], limit: int | None) -> Sequence[T]:
    """At most `limit` items, evenly spaced; all of them for None."""
    if limit is None or limit >= len(items):
        return items
    return [items[i * len(items) // limit] for i in range(limit)]
