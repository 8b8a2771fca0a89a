"""What a recall benchmark found, question by question and on the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..conditions import Conditions, Footprint
from ..metrics import Interval, Score, intervals, mean_score, percentile
from .dataset import Dataset
from .fill import Filling

__all__ = ["ContextResult", "Costs", "Line", "QuestionResult", "RecallReport", "Subject", "breakdown"]


@dataclass(frozen=True, slots=True)
class ContextResult:
    """The block of `get_context` for a question: the share of the evidence lines whose text stands in it, and its tokens."""

    evidence: float
    tokens: int


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one question found, from the memory and from plain BM25.

    Turns are named `corpus/turn` and sessions `corpus/session`; `found` is best first, with `scores` beside it;
    `degraded` are lanes that did not answer.
    """

    corpus: str
    id: str
    question: str
    category: str
    evidence: tuple[str, ...]
    sessions: tuple[str, ...]
    found: tuple[str, ...]
    scores: tuple[float, ...]
    score: Score
    floor_found: tuple[str, ...]
    floor: Score
    milliseconds: float
    degraded: tuple[str, ...] = ()
    confidences: tuple[float, ...] = ()
    """Of the hits, in their order."""
    weak: bool = False
    context: ContextResult | None = None

    def to_record(self) -> dict[str, Any]:
        """For JSON: with the rank of each evidence turn, from 1, None if it was not found."""
        return asdict(self) | {
            "ranks": _ranks(self.evidence, self.found),
            "floor_ranks": _ranks(self.evidence, self.floor_found),
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """What was asked about."""

    dataset: str
    corpora: tuple[str, ...]
    categories: tuple[str, ...]
    headline: tuple[str, ...]
    leading: str
    sessions: int
    turns: int
    merged: bool

    @classmethod
    def of(cls, dataset: Dataset, *, merged: bool) -> Subject:
        """The data set in short."""
        return cls(
            dataset=dataset.name, corpora=tuple(corpus.id for corpus in dataset.corpora),
            categories=dataset.categories, headline=dataset.headline, leading=dataset.leading,
            sessions=sum(len(corpus.sessions) for corpus in dataset.corpora), turns=dataset.turns, merged=merged,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Costs:
    """Time and room; `after` is what the process held when the questions had been asked."""

    filling: Filling
    after: Footprint
    ask_seconds: float


@dataclass(frozen=True, slots=True)
class RecallReport:
    """Every question that was asked, with what it found, and the conditions.

    `unanswerable` are the questions to which nothing stored is an answer: they have no score. `without_evidence`
    counts questions that were left out because no turn is named that answers them.
    """

    subject: Subject
    conditions: Conditions
    costs: Costs
    results: tuple[QuestionResult, ...]
    unanswerable: tuple[QuestionResult, ...]
    without_evidence: int
    unusable: tuple[str, ...]

    @property
    def counted(self) -> list[QuestionResult]:
        """The results of the headline's categories."""
        return [result for result in self.results if result.category in self.subject.headline]

    @property
    def score(self) -> Score:
        """The mean over the headline's categories."""
        return mean_score([result.score for result in self.counted])

    @property
    def floor(self) -> Score:
        """The same of plain BM25."""
        return mean_score([result.floor for result in self.counted])

    @property
    def unanswered(self) -> int:
        """How many unanswerable questions found nothing, as they should."""
        return sum(not result.found for result in self.unanswerable)

    @property
    def degraded(self) -> int:
        """How many searches went without one of the lanes: their figures are not those of a healthy memory."""
        return sum(bool(result.degraded) for result in (*self.results, *self.unanswerable))

    @property
    def bytes_per_turn(self) -> float:
        """What a turn takes on disk, the database and all indexes together."""
        return self.costs.filling.filled.store_bytes / self.subject.turns if self.subject.turns else 0.0

    @property
    def weak(self) -> float:
        """The share of answerable questions whose best hit is called weak."""
        return float(np.mean([result.weak for result in self.counted])) if self.counted else 0.0

    @property
    def context(self) -> ContextResult | None:
        """The means over the headline's questions; None if `get_context` was not asked."""
        asked = [result.context for result in self.counted if result.context is not None]
        if not asked:
            return None
        return ContextResult(
            float(np.mean([one.evidence for one in asked])), round(float(np.mean([one.tokens for one in asked])))
        )

    def latency(self, percent: float) -> float:
        """Milliseconds of a search."""
        return percentile([r.milliseconds for r in (*self.results, *self.unanswerable)], percent)

    def to_record(self) -> dict[str, Any]:
        """For JSON: the figures by category with their intervals, then one record a question."""
        questions = {"results": self.results, "unanswerable": self.unanswerable}
        return {
            **asdict(self), "summary": [asdict(line) for line in breakdown(self)],
            "milliseconds": {"p50": self.latency(50), "p95": self.latency(95)},
            "bytes_per_turn": round(self.bytes_per_turn, 1), "unanswered": self.unanswered, "degraded": self.degraded, "weak": self.weak,
            "context": None if self.context is None else asdict(self.context),
            **{name: [result.to_record() for result in found] for name, found in questions.items()},
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """Mean figures of a group of questions with their 95 % intervals, and `gain`: that of the gain over plain BM25."""

    label: str
    questions: int
    score: Score
    intervals: Mapping[str, Interval]
    floor: Score
    floor_intervals: Mapping[str, Interval]
    gain: Mapping[str, Interval]


def breakdown(report: RecallReport) -> list[Line]:
    """One line a category of the headline, then `all` of them, then one line for each of the others."""
    groups = [(name, [r for r in report.results if r.category == name]) for name in report.subject.categories]
    counted = [group for group in groups if group[0] in report.subject.headline]
    others = [group for group in groups if group[0] not in report.subject.headline]
    return [_line(label, results) for label, results in (*counted, ("all", report.counted), *others) if results]


def _line(label: str, results: Sequence[QuestionResult]) -> Line:
    scores, floors = [r.score for r in results], [r.floor for r in results]
    return Line(
        label=label, questions=len(results), score=mean_score(scores), intervals=intervals(scores),
        floor=mean_score(floors), floor_intervals=intervals(floors), gain=intervals(scores, minus=floors),
    )  # fmt: skip


def _ranks(evidence: Sequence[str], found: Sequence[str]) -> dict[str, int | None]:
    places = {turn: rank for rank, turn in enumerate(found, 1)}
    return {turn: places.get(turn) for turn in evidence}
