"""A recall benchmark from the data set to its report, and what the relations that are read out of texts are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..metrics import Interval, Score, difference, intervals, mean_score
from .ablation import Ablation, ablate
from .bench import loaded
from .dataset import Dataset
from .fill import OnStage
from .result import QuestionResult, RecallReport

__all__ = ["RelationGain", "run", "run_with_and_without_relations"]


@dataclass(frozen=True, slots=True)
class RelationGain:
    """One kind of question, or all that count: with relations, without, and the difference with intervals of pairs."""

    label: str
    questions: int
    with_relations: Score
    without: Score
    difference: Score
    intervals: Mapping[str, Interval]


async def run(
    dataset: Dataset,
    *,
    limit: int | None = None,
    config: Mapping[str, Any] | None = None,
    merged: bool = False,
    ablation: bool = False,
    context: bool = False,
    on_stage: OnStage | None = None,
) -> tuple[RecallReport, list[Ablation]]:
    """Store the corpora in a fresh memory and ask every question, or `limit` of them; then again without each part.

    With `context` each answerable question is put to `get_context` too.

    With a limit, conversations that are not asked about are not stored, unless all are merged. Raises InvalidConfig.
    """
    few = dataset if limit is None or merged else dataset.sample(limit)
    async with loaded(few, config=config, merged=merged, on_stage=on_stage) as bench:
        report = await bench.ask(limit=limit, context=context, on_stage=on_stage)
        return report, await ablate(bench, report, on_stage=on_stage) if ablation else []


async def run_with_and_without_relations(
    dataset: Dataset,
    *,
    limit: int | None = None,
    config: Mapping[str, Any] | None = None,
    merged: bool = False,
    on_stage: OnStage | None = None,
) -> tuple[RecallReport, list[RelationGain]]:
    """The same as `run`, and then with a memory that reads no relations. Raises InvalidConfig."""
    report, _ = await run(dataset, limit=limit, config=config, merged=merged, on_stage=on_stage)
    if on_stage:
        on_stage("once more without relations")
    bare = {**(config or {}), "extraction.enabled": False}
    without, _ = await run(dataset, limit=limit, config=bare, merged=merged, on_stage=on_stage)
    pairs = list(zip(report.results, without.results, strict=True))
    groups = [(name, [pair for pair in pairs if pair[0].category == name]) for name in report.subject.categories]
    groups.append(("all", [pair for pair in pairs if pair[0].category in report.subject.headline]))
    return report, [_gain(label, some) for label, some in groups if some or label == "all"]


def _gain(label: str, pairs: Sequence[tuple[QuestionResult, QuestionResult]]) -> RelationGain:
    on, off = [one.score for one, _ in pairs], [other.score for _, other in pairs]
    mean, base = mean_score(on), mean_score(off)
    return RelationGain(label, len(pairs), mean, base, difference(mean, base), intervals(on, minus=off))
