"""What the relations that are read out of texts are worth: the same questions to a memory with them and to one without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import Interval, Score, difference, intervals, mean_score
from .bench import loaded
from .dataset import Dataset
from .fill import OnStage
from .result import QuestionResult, RecallReport

__all__ = ["RelationGain", "compare", "gains"]

EVERY = "all"
SWITCH = "extraction.enabled"


@dataclass(frozen=True, slots=True)
class RelationGain:
    """One kind of question, or all that count: with relations, without, and the difference with intervals of pairs."""

    label: str
    questions: int
    with_relations: Score
    without: Score
    difference: Score
    intervals: Mapping[str, Interval]


async def compare(
    dataset: Dataset,
    report: RecallReport,
    *,
    config: Mapping[str, Any] | None = None,
    merged: bool = False,
    limit: int | None = None,
    on_stage: OnStage | None = None,
) -> list[RelationGain]:
    """Fill a second memory without extraction, ask it the questions of `report`, and compare."""
    if on_stage:
        on_stage("once more without relations")
    async with loaded(dataset, config={**(config or {}), SWITCH: False}, merged=merged, on_stage=on_stage) as bench:
        without = await bench.ask(limit=limit, on_stage=on_stage)
    return gains(report, without)


def gains(report: RecallReport, without: RecallReport) -> list[RelationGain]:
    """By category, then over those of the headline; both reports are of the same questions in the same order."""
    pairs = list(zip(report.results, without.results, strict=True))
    named = [c for c in report.subject.categories if any(one.category == c for one, _ in pairs)]
    found = [_gain(category, [pair for pair in pairs if pair[0].category == category]) for category in named]
    return [*found, _gain(EVERY, [pair for pair in pairs if pair[0].category in report.subject.headline])]


def _gain(label: str, pairs: Sequence[tuple[QuestionResult, QuestionResult]]) -> RelationGain:
    on, off = [one.score for one, _ in pairs], [other.score for _, other in pairs]
    mean, base = mean_score(on), mean_score(off)
    return RelationGain(label, len(pairs), mean, base, difference(mean, base), intervals(on, minus=off))
