"""The speed report as a table, beside what is required and what the reference does."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from .process import ProcessFigures
from .run import SpeedReport
from .search import SearchTimes
from .store import OnProgress

__all__ = ["Row", "print_report", "report_rows", "shown_progress"]

MILLION = 1_000_000
_REFERENCE = {
    ("search", False): "31 / 50 (20k)", ("time", False): "44 / 97 (20k)", ("hybrid", False): "49 / 102 (20k)",
    ("episode", False): "80 / 212 (20k)", ("aggregate", False): "116 / 241 (20k)",
    ("search", True): "341 / 401 (20k)", ("time", True): "380 / 439 (20k)", ("hybrid", True): "377 / 484 (20k)",
    ("episode", True): "421 / 565 (20k)", ("aggregate", True): "474 / 612 (20k)",
}  # fmt: skip
"""Milliseconds p50 / p95 of the reference implementation with the rows in brackets."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `met` is None where nothing is required."""

    name: str
    measured: str
    required: str = ""
    stretch: str = ""
    reference: str = ""
    met: bool | None = None


def report_rows(report: SpeedReport) -> list[Row]:
    """Every figure of the report, with what is required of it at 100,000 or a million paragraphs."""
    return [
        *_fill_rows(report),
        *(_search_row(times, report.rows >= MILLION) for times in report.searches),
        *_page_rows(report),
        *_embedding_rows(report),
        *_ingest_rows(report),
        *_load_rows(report),
        *_reload_rows(report),
        *_derive_rows(report),
        *_process_rows(report),
    ]


def print_report(report: SpeedReport, console: Console | None = None) -> None:
    """Print the machine and the table."""
    out = console or Console(width=132)
    table = Table(title=f"{report.rows:,} paragraphs, {report.model}", title_justify="left")
    for name in ("measure", "measured", "required", "stretch", "reference"):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for row in report_rows(report):
        style = {True: "green", False: "red", None: None}[row.met]
        measured = f"[{style}]{row.measured}[/]" if style else row.measured
        table.add_row(row.name, measured, row.required, row.stretch, row.reference)
    out.print(f"{report.machine.line()}, load at the end {report.load_at_end:.1f}", markup=False)
    out.print(table)
    if report.fill.vectors:
        out.print(
            f"The vectors of {report.fill.vectors:,} rows are perturbed copies of a sample that was really embedded."
        )


@contextlib.contextmanager
def shown_progress() -> Generator[OnProgress, None, None]:
    """Bars on standard error: what is going on, how far it is, how long it will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, int] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def show(what: str, done: int, rows: int) -> None:
            if what not in tasks:
                tasks[what] = int(progress.add_task(what, total=rows or None))
            progress.update(progress.task_ids[tasks[what]], completed=done)

        yield show


def _fill_rows(report: SpeedReport) -> Iterator[Row]:
    fill = report.fill
    yield Row("batched ingest, paragraphs/s", f"{fill.rate:,.0f}", "≥ 3,000", "6,000", "65 (5k)", fill.rate >= 3000)
    flat = fill.last_tenth / fill.first_tenth if fill.first_tenth else 0.0
    yield Row("  first · last tenth", f"{fill.first_tenth:,.0f} · {fill.last_tenth:,.0f} ({flat:.2f})", "flat")
    yield Row("  CPU µs a paragraph", f"{fill.cpu_micros:,.0f}")
    yield Row("episodes, paragraphs/s", f"{fill.episode_rate:,.0f}")


def _search_row(times: SearchTimes, million: bool) -> Row:
    where = "one chat" if times.scoped else "everything"
    bound, stretch = _search_bounds(times.scoped, million)
    wanted = times.mode == "search"
    return Row(
        f"{times.mode}, {where}, p50 / p95 ms (CPU)", f"{times.p50:.1f} / {times.p95:.1f} ({times.cpu:.1f})",
        _milliseconds(bound) if wanted else "", _milliseconds(stretch) if wanted else "",
        _REFERENCE[times.mode, times.scoped], (times.p50 <= bound[0] and times.p95 <= bound[1]) if wanted else None,
    )  # fmt: skip


def _search_bounds(scoped: bool, million: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """(required, stretch), each milliseconds p50 and p95; at a million only p50 is bounded."""
    none = float("inf")
    if million:
        return ((9, none), (5, none)) if scoped else ((20, none), (8, none))
    return ((8, 16), (4.5, 8)) if scoped else ((14, 30), (6, 12))


def _milliseconds(bound: tuple[float, float]) -> str:
    return " / ".join(f"{value:g}" for value in bound if value != float("inf"))


def _page_rows(report: SpeedReport) -> Iterator[Row]:
    """A page has to be there within a third of a second, that of a search within half of that beyond the search."""
    for one in report.pages:
        took = f"{one.first:.0f} · {one.p50:.1f} / {one.p95:.1f} ({one.cpu:.0f})"
        yield Row(f"page: {one.page}, first · p50 / p95 ms (CPU)", took, "≤ 300", "", "", one.p50 <= 300)
        if one.over is not None:
            yield Row("  beyond the search itself", f"{one.over:.1f}", "≤ 150", "", "", one.over <= 150)


def _embedding_rows(report: SpeedReport) -> Iterator[Row]:
    if report.embedding:
        rate = report.embedding.rate
        yield Row("background embedding, texts/s", f"{rate:,.0f}", "≥ 250", "350", "", rate >= 250)
        yield Row("  CPU ms a text", f"{report.embedding.cpu_ms:.1f}")


def _ingest_rows(report: SpeedReport) -> Iterator[Row]:
    singles, small = report.singles, report.small_singles
    if singles:
        name = f"single ingests/s, {singles.callers} callers"
        yield Row(name, f"{singles.rate:,.0f}", "≥ 1,000", "3,000", "87 → 17 (5k)", singles.rate >= 1000)
        yield Row("  acknowledged, p50 / p99 ms", f"{singles.p50:.1f} / {singles.p99:.1f}", "", "", "8 / –")
    if singles and small:
        share = singles.rate / small.rate if small.rate else 0.0
        yield Row(f"  the same at {small.rows:,} rows · share kept", f"{small.rate:,.0f} · {share:.2f}", "≥ 0.6", "0.8")


def _derive_rows(report: SpeedReport) -> Iterator[Row]:
    if report.derive:
        derived = report.derive
        name = f"episodes of {derived.rows:,} paragraphs in {derived.sources:,} chats, s · paragraphs/s"
        yield Row(name, f"{derived.seconds:.1f} · {derived.rate:,.0f}")
        yield Row("  CPU ms a paragraph", f"{derived.cpu_ms:.2f}")
        shown = f"{derived.loop_share:.1%} · {derived.longest_ms:.0f}"
        yield Row("  share of the event loop · longest stall, ms", shown)


def _load_rows(report: SpeedReport) -> Iterator[Row]:
    load = report.load
    if load:
        name = f"{load.writers} writers + {load.readers} readers: longest stall, ms"
        yield Row(name, f"{load.stall_ms:.1f}", "≤ 60", "", "", load.stall_ms <= 60)
        rates = f"{load.writes / load.seconds:,.0f} · {load.searches / load.seconds:,.0f}"
        yield Row("  writes/s · searches/s", rates, "", "", "22 · 22")
        yield Row("  write p50 · search p50, ms", f"{load.write_p50:.1f} · {load.search_p50:.1f}", "", "", "26 · 375")


def _reload_rows(report: SpeedReport) -> Iterator[Row]:
    for reload in report.reloads:
        measured = f"{reload.seconds:.2f} · {reload.failed} of {reload.searches}"
        yield Row(f"reload, {reload.name}: s · failed searches", measured, "0 failed", "", "", reload.failed == 0)
        yield Row("  longest stall, ms", f"{reload.stall_ms:.1f}", "≤ 60", "", "", reload.stall_ms <= 60)


def _process_rows(report: SpeedReport) -> Iterator[Row]:
    if report.empty_process:
        yield from _process(report.empty_process, "empty", (1.0, "0.5", "3.0"), (200, "150", "245"))
    if report.process:
        where = f"{report.rows:,} rows"
        yield from _process(report.process, where, (1.5, "0.7", "3.6 (20k)"), (450, "350", "286–364 (20k)"))


def _process(
    figures: ProcessFigures, where: str, start: tuple[float, str, str], memory: tuple[float, str, str]
) -> Iterator[Row]:
    """Start and memory of one process, each with (required, stretch, reference); nothing is required at a million."""
    took = f"{figures.answer_seconds:.2f} ({figures.cpu_seconds:.2f})"
    rows = (
        (f"cold start to first answer, {where}, s (CPU)", took, figures.answer_seconds, start),
        (f"RSS, {where}, MiB", f"{figures.rss_mib:.0f}", figures.rss_mib, memory),
    )
    for name, measured, value, (required, stretch, reference) in rows:
        if figures.rows >= MILLION:
            yield Row(name, measured, reference=reference)
        else:
            yield Row(name, measured, f"≤ {required:g}", stretch, reference, value <= required)
