"""What each part of search is worth: the same questions without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amemorix.config import Config, Section

from ..metrics import Interval, Score, difference, intervals, mean_score, percentile
from .bench import RecallBench
from .fill import OnStage
from .result import QuestionResult, RecallReport

__all__ = ["Ablation", "Variant", "ablate", "variants"]


@dataclass(frozen=True, slots=True)
class Variant:
    """A change of settings that takes a part away, and the settings that put it back."""

    name: str
    patch: Mapping[str, Any]
    undo: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ablation:
    """The headline's figures without one part; `difference` is this run less the full one, with intervals of pairs."""

    name: str
    patch: Mapping[str, Any]
    score: Score
    difference: Score
    intervals: Mapping[str, Interval]
    p50: float
    p95: float
    scores: tuple[Score, ...]
    """One a question, in the order of the full run's headline."""


def variants(config: Config, *, with_model: bool = True) -> list[Variant]:
    """Every signal that has a weight, every part of retrieval that can be switched off and is on, and the model."""
    retrieval = config.retrieval
    found = [
        _variant(name, f"retrieval.weights.{name}", weight, 0.0)
        for name, weight in retrieval.weights
        if isinstance(weight, int | float) and weight > 0
    ]
    found += [_variant(path, f"retrieval.{path}.enabled", True, False) for path in _switched_on(retrieval)]
    provider = config.embedding.provider
    if with_model and provider != "none":
        found.append(_variant("embedding model", "embedding.provider", provider, "none"))
    return found


async def ablate(bench: RecallBench, full: RecallReport, *, on_stage: OnStage | None = None) -> list[Ablation]:
    """Ask the headline's questions of `full` again without one part after another."""
    found: list[Ablation] = []
    for variant in variants(bench.host.kernel.config, with_model=full.conditions.has_model):
        if on_stage:
            on_stage(f"asking without {variant.name}")
        try:
            await bench.configure(variant.patch)
            results = await bench.ask_again(full.counted)
        finally:
            await bench.configure(variant.undo)
        found.append(_compared(variant, full.counted, results))
    return found


def _compared(variant: Variant, full: Sequence[QuestionResult], results: Sequence[QuestionResult]) -> Ablation:
    scores, before = [r.score for r in results], [r.score for r in full]
    mean, base = mean_score(scores), mean_score(before)
    times = [r.milliseconds for r in results]
    return Ablation(
        name=variant.name, patch=variant.patch, score=mean, difference=difference(mean, base),
        intervals=intervals(scores, minus=before), p50=percentile(times, 50), p95=percentile(times, 95),
        scores=tuple(scores),
    )  # fmt: skip


def _switched_on(section: Section, path: str = "") -> Iterator[str]:
    """Paths of the sections below that have a switch which is on."""
    for name, value in section:
        if isinstance(value, Section):
            below = f"{path}.{name}" if path else name
            if getattr(value, "enabled", False) is True:
                yield below
            yield from _switched_on(value, below)


def _variant(name: str, setting: str, now: Any, without: Any) -> Variant:
    return Variant(name, {setting: without}, {setting: now})
