"""The speed of everything that a host waits for, at a size of choice."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from amemorix.errors import InvalidRequest
from amemorix.extras import require
from amemorix.host.service import AMemorixHostService

from ..machine import Machine, describe_machine, load_average
from ..workspace import answered, open_memory, working_folder
from .console import PageTimes, measure_pages
from .derive import DeriveFigures, measure_derive
from .embedding import EmbeddingRate, measure_embedding
from .ingest import Singles, measure_singles
from .load import Load, measure_load
from .process import ProcessFigures, measure_process
from .reload import Reload, measure_reloads
from .search import SearchTimes, measure_searches
from .store import Fill, OnProgress, filled

__all__ = ["MEASURES", "Effort", "SpeedReport", "run"]

MEASURES = ("search", "console", "embedding", "ingest", "load", "reload", "derive", "process")
SMALL_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    searches: int = 300
    pages: int = 20
    embedded_texts: int = 3_000
    seconds: float = 5.0
    runs: int = 3

    @classmethod
    def quick(cls) -> Effort:
        """Enough to see that everything works."""
        return cls(searches=20, pages=3, embedded_texts=100, seconds=0.5, runs=1)


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """What was measured; None or empty for what was left out."""

    machine: Machine
    rows: int
    model: str
    fill: Fill
    searches: Sequence[SearchTimes] = ()
    pages: Sequence[PageTimes] = ()
    embedding: EmbeddingRate | None = None
    singles: Singles | None = None
    small_singles: Singles | None = None
    load: Load | None = None
    reloads: Sequence[Reload] = ()
    derive: DeriveFigures | None = None
    process: ProcessFigures | None = None
    empty_process: ProcessFigures | None = None
    load_at_end: float = 0.0

    def to_json(self) -> str:
        """The report as JSON."""
        return json.dumps(asdict(self), indent=1)


def _silent(_what: str, _done: int, _rows: int) -> None: ...


async def run(
    rows: int,
    *,
    only: Collection[str] = (),
    data_dir: Path | None = None,
    config: Mapping[str, Any] | None = None,
    effort: Effort | None = None,
    on_progress: OnProgress = _silent,
) -> SpeedReport:
    """Fill a store with `rows` paragraphs and measure everything, or what `only` names.

    `data_dir` keeps the filled store for the next run. Raises InvalidRequest for a measure that does not exist.
    """
    if unknown := sorted(set(only) - set(MEASURES)):
        raise InvalidRequest(f"There is no measure {unknown[0]!r}.", field="only", allowed=list(MEASURES))
    wanted = frozenset(only or MEASURES)
    if "console" in wanted:
        require("server", "The console")
    effort, config = effort or Effort(), config or {}
    with working_folder(data_dir) as folder:
        machine = describe_machine(folder)
        fill = await filled(folder, rows, config, on_progress)
        async with open_memory(folder, config) as host:
            stats = await answered(host, "memory_stats", {})
            report = SpeedReport(machine, rows, stats["embedding"]["model"] or "no model", fill)
            report = await _in_process(host, report, wanted, effort, on_progress)
        report = await _apart(folder, report, wanted, effort, config, on_progress)
        return replace(report, load_at_end=load_average())


async def _in_process(
    host: AMemorixHostService, report: SpeedReport, wanted: frozenset[str], effort: Effort, on_progress: OnProgress
) -> SpeedReport:
    """The measures that share one open memory; the last first that leave the most behind."""
    rows = report.rows
    steps: dict[str, Callable[[], Any]] = {
        "search": lambda: measure_searches(host, rows, effort.searches),
        "console": lambda: measure_pages(host, rows, effort.pages),
        "embedding": lambda: measure_embedding(host, effort.embedded_texts),
        "ingest": lambda: measure_singles(host, rows, effort.seconds),
        "load": lambda: measure_load(host, rows, effort.seconds),
        "reload": lambda: measure_reloads(host, rows),
    }
    fields = {"search": "searches", "console": "pages", "ingest": "singles", "reload": "reloads"}
    for name, measure in steps.items():
        if name in wanted:
            on_progress(f"measuring {name}", 0, 0)
            await host.settle()
            report = replace(report, **{fields.get(name, name): await measure()})
    await host.settle()
    return report


async def _apart(
    folder: Path,
    report: SpeedReport,
    wanted: frozenset[str],
    effort: Effort,
    config: Mapping[str, Any],
    on_progress: OnProgress,
) -> SpeedReport:
    """The measures that want a small store, or the store in another process."""
    if "ingest" in wanted:
        on_progress("measuring ingest into a small store", 0, 0)
        rows = min(report.rows, SMALL_ROWS)
        with working_folder() as small:
            await filled(small, rows, config, _silent)
            async with open_memory(small, config) as host:
                await host.settle()
                report = replace(report, small_singles=await measure_singles(host, rows, effort.seconds))
    if "derive" in wanted:
        on_progress("measuring the deriving of episodes", 0, 0)
        report = replace(report, derive=await measure_derive(report.rows, config))
    if "process" in wanted:
        on_progress("measuring fresh processes", 0, 0)
        with working_folder() as nothing:
            empty = await measure_process(nothing, 0, config, effort.runs)
        full = await measure_process(folder, report.rows, config, effort.runs)
        report = replace(report, process=full, empty_process=empty)
    return report
