"""A recall benchmark from the data set to its report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .ablation import Ablation, ablate
from .bench import loaded
from .dataset import Dataset
from .fill import OnStage
from .relations import RelationGain, compare
from .result import RecallReport

__all__ = ["run", "run_with_and_without_relations"]


async def run(
    dataset: Dataset,
    *,
    limit: int | None = None,
    config: Mapping[str, Any] | None = None,
    merged: bool = False,
    ablation: bool = False,
    on_stage: OnStage | None = None,
) -> tuple[RecallReport, list[Ablation]]:
    """Store the corpora in a fresh memory and ask every question, or `limit` of them; then again without each part.

    With a limit, conversations that are not asked about are not stored, unless all are merged. Raises InvalidConfig.
    """
    few = dataset if limit is None or merged else dataset.sample(limit)
    async with loaded(few, config=config, merged=merged, on_stage=on_stage) as bench:
        report = await bench.ask(limit=limit, on_stage=on_stage)
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
    few = dataset if limit is None or merged else dataset.sample(limit)
    report, _ = await run(few, config=config, merged=merged, on_stage=on_stage)
    return report, await compare(few, report, config=config, merged=merged, on_stage=on_stage)
