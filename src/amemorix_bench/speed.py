"""The speed of everything that a host waits for, at a size of choice."""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from amemorix.errors import InvalidRequest
from amemorix.host.service import AMemorixHostService

from .speed_derive import DeriveFigures, measure_derive
from .speed_embedding import EmbeddingRate, measure_embedding
from .speed_ingest import Singles, measure_singles
from .speed_load import Load, measure_load
from .speed_machine import Machine, describe_machine, load_average
from .speed_process import ProcessFigures, measure_process
from .speed_reload import Reload, measure_reloads
from .speed_search import SearchTimes, measure_searches
from .speed_store import Fill, OnProgress, filled
from .workspace import answered, open_memory, read_setting, working_folder

__all__ = ["MEASURES", "Effort", "SpeedReport", "main", "run"]

MEASURES = ("search", "embedding", "ingest", "load", "reload", "derive", "process")
SMALL_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    searches: int = 300
    embedded_texts: int = 3_000
    seconds: float = 5.0
    runs: int = 3

    @classmethod
    def quick(cls) -> Effort:
        """Enough to see that everything works."""
        return cls(searches=20, embedded_texts=100, seconds=0.5, runs=1)


@dataclass(frozen=True, slots=True)
class SpeedReport:
    """What was measured; None or empty for what was left out."""

    machine: Machine
    rows: int
    model: str
    fill: Fill
    searches: Sequence[SearchTimes] = ()
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
    effort, config = effort or Effort(), config or {}
    with working_folder(data_dir) as folder:
        machine = describe_machine(folder)
        fill = await filled(folder, rows, config, on_progress)
        async with open_memory(folder, config) as host:
            report = SpeedReport(machine, rows, await _model(host), fill)
            report = await _in_process(host, report, wanted, effort, on_progress)
        report = await _apart(folder, report, wanted, effort, config, on_progress)
        return replace(report, load_at_end=load_average())


async def _model(host: AMemorixHostService) -> str:
    stats = await answered(host, "memory_stats", {})
    return stats["embedding"]["model"] or "no model"


async def _in_process(
    host: AMemorixHostService, report: SpeedReport, wanted: frozenset[str], effort: Effort, on_progress: OnProgress
) -> SpeedReport:
    """The measures that share one open memory; the last first that leave the most behind."""
    rows = report.rows
    steps: dict[str, Callable[[], Any]] = {
        "search": lambda: measure_searches(host, rows, effort.searches),
        "embedding": lambda: measure_embedding(host, effort.embedded_texts),
        "ingest": lambda: measure_singles(host, rows, effort.seconds),
        "load": lambda: measure_load(host, rows, effort.seconds),
        "reload": lambda: measure_reloads(host, rows),
    }
    fields = {"search": "searches", "ingest": "singles", "reload": "reloads"}
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
        report = replace(report, small_singles=await _small_singles(min(report.rows, SMALL_ROWS), effort, config))
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


async def _small_singles(rows: int, effort: Effort, config: Mapping[str, Any]) -> Singles:
    with working_folder() as folder:
        await filled(folder, rows, config, _silent)
        async with open_memory(folder, config) as host:
            await host.settle()
            return await measure_singles(host, rows, effort.seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m amemorix_bench.speed --rows N`: run and print."""
    from .speed_report import print_report, shown_progress

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--only", default="", help=f"of {', '.join(MEASURES)}, separated by commas")
    parser.add_argument("--data-dir", type=Path, help="keep the filled store here for the next run")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, its value as JSON")
    options = parser.parse_args(argv)
    config = dict(map(read_setting, options.set))
    only = [name for name in options.only.split(",") if name]
    effort = Effort.quick() if options.quick else Effort()
    with shown_progress() as on_progress:
        report = asyncio.run(
            run(
                options.rows,
                only=only,
                data_dir=options.data_dir,
                config=config,
                effort=effort,
                on_progress=on_progress,
            )
        )
    if options.json:
        options.json.write_text(report.to_json(), "utf-8")
    print_report(report)


if __name__ == "__main__":
    main()
