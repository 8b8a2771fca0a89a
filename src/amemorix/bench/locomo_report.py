"""LoCoMo's results as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from .locomo import LocomoReport, QuestionResult
from .locomo_file import CATEGORIES
from .metrics import Interval, Score, bootstrap, mean_score, percentile

__all__ = ["Line", "breakdown", "print_report"]

ADVERSARIAL = 5
_FIGURES = {
    "r@5": "recall_5",
    "r@10": "recall_10",
    "r@20": "recall_20",
    "any@5": "any_5",
    "any@10": "any_10",
    "MRR": "mrr",
    "NDCG@10": "ndcg_10",
    "s@1": "session_1",
    "s@3": "session_3",
    "s@5": "session_5",
}


@dataclass(frozen=True, slots=True)
class Line:
    """Mean figures of a group of questions; the intervals are of recall@10."""

    label: str
    questions: int
    score: Score
    interval: Interval
    floor: Score
    floor_interval: Interval


def breakdown(report: LocomoReport) -> list[Line]:
    """One line a category, the adversarial one last, after the line `all` of the others."""
    plain = [r for r in report.results if r.category != ADVERSARIAL]
    groups = [(name, [r for r in report.results if r.category == n]) for n, name in CATEGORIES.items()]
    groups.insert(-1, ("all", plain))
    return [_line(label, results) for label, results in groups if results]


def print_report(report: LocomoReport, console: Console | None = None) -> None:
    """Print the figures of the memory beside those of plain BM25."""
    out = console or Console(width=132)
    lines = breakdown(report)
    out.print(
        f"{report.turns} turns of {', '.join(report.conversations)}, loaded in {report.load_seconds:.1f} s; {report.model}"
    )
    out.print(_table("search_memory", [(line, line.score, line.interval) for line in lines]))
    out.print(_table("plain BM25 over turns", [(line, line.floor, line.floor_interval) for line in lines]))
    times = [r.milliseconds for r in report.results]
    out.print(f"search_memory: p50 {percentile(times, 50):.1f} ms, p95 {percentile(times, 95):.1f} ms")
    if report.unusable or report.without_evidence:
        named = f" ({'; '.join(report.unusable)})" if report.unusable else ""
        out.print(
            f"{len(report.unusable)} unusable evidence entries{named}; "
            f"{report.without_evidence} questions without usable evidence are left out",
            markup=False,
        )


def _line(label: str, results: Sequence[QuestionResult]) -> Line:
    return Line(
        label=label,
        questions=len(results),
        score=mean_score([r.score for r in results]),
        interval=bootstrap([r.score.recall_10 for r in results]),
        floor=mean_score([r.floor for r in results]),
        floor_interval=bootstrap([r.floor.recall_10 for r in results]),
    )


def _table(title: str, rows: Sequence[tuple[Line, Score, Interval]]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("category")
    for name in ("n", *_FIGURES, "95 % of r@10"):
        table.add_column(name, justify="right")
    for line, score, interval in rows:
        figures = [f"{getattr(score, field):.3f}" for field in _FIGURES.values()]
        style = "bold" if line.label == "all" else None
        span = f"{interval.low:.3f}–{interval.high:.3f}"
        table.add_row(line.label, str(line.questions), *figures, span, style=style)
    return table
