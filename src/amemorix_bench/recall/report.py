"""Recall's results as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from ..metrics import Interval, Score
from .ablation import Ablation
from .result import Line, RecallReport, breakdown
from .run import RelationGain

__all__ = ["print_ablation", "print_relations", "print_report"]

WIDTH = 132
_TURNS = {
    "r@5": "recall_5", "r@10": "recall_10", "r@20": "recall_20", "any@1": "any_1", "any@5": "any_5",
    "any@10": "any_10", "all@5": "all_5", "all@10": "all_10", "MRR": "mrr", "NDCG@10": "ndcg_10",
}  # fmt: skip
_SESSIONS = {
    "any@5": "session_any_5", "all@5": "session_all_5", "r@1": "session_1", "r@3": "session_3", "r@5": "session_5",
}  # fmt: skip
_ABLATED = {"r@5": "recall_5", "r@10": "recall_10", "r@20": "recall_20", "MRR": "mrr"}
_GAINED = {"r@5": "recall_5", "r@10": "recall_10", "MRR": "mrr"}
_LEADING = {"recall_10": "r@10", "any_5": "any@5"}
Row = tuple[Line, Score, Mapping[str, Interval]]


def print_report(report: RecallReport, console: Console | None = None) -> None:
    """Print the figures of the memory beside those of plain BM25, and what they cost."""
    out = console or Console(width=WIDTH, highlight=False)
    lines = breakdown(report)
    memory: list[Row] = [(line, line.score, line.intervals) for line in lines]
    plain: list[Row] = [(line, line.floor, line.floor_intervals) for line in lines]
    _say(out, _opening(report))
    _say(out, report.conditions.line())
    out.print(_turn_table("search_memory, turns", memory, report.subject.leading))
    out.print(_turn_table("plain BM25, turns", plain, report.subject.leading))
    out.print(_session_table(lines))
    _say(out, _gain(report, lines))
    for sentence in (*_costs(report), *_left_out(report)):
        _say(out, sentence)


def print_ablation(ablations: Sequence[Ablation], console: Console | None = None) -> None:
    """Print what each part is worth: the figures without it, and the difference to the full run."""
    out = console or Console(width=WIDTH, highlight=False)
    table = _table("without one part, the difference to the full run; * where the interval excludes 0", "without")
    for name in _ABLATED:
        table.add_column(name, justify="right")
        table.add_column("", justify="right")
    for name in ("r@10 change, 95 %", "p50 ms"):
        table.add_column(name, justify="right")
    for one in ablations:
        cells = [
            cell for field in _ABLATED.values() for cell in (f"{getattr(one.score, field):.3f}", _change(one, field))
        ]
        table.add_row(one.name, *cells, _span(one.intervals["recall_10"], signed=True), f"{one.p50:.1f}")
    out.print(table)


def print_relations(gains: Sequence[RelationGain], console: Console | None = None) -> None:
    """Print what relations are worth for each kind of question."""
    out = console or Console(width=WIDTH, highlight=False)
    table = _table("with relations, without, and the difference; * where its interval excludes 0", "category")
    for name in ("n", *(column for figure in _GAINED for column in (figure, "without", "change")), "r@10 change, 95 %"):
        table.add_column(name, justify="right")
    for one in gains:
        cells = [
            cell
            for field in _GAINED.values()
            for cell in (
                f"{getattr(one.with_relations, field):.3f}",
                f"{getattr(one.without, field):.3f}",
                _change(one, field),
            )
        ]
        style = "bold" if one.label == "all" else None
        span = _span(one.intervals["recall_10"], signed=True)
        table.add_row(one.label, str(one.questions), *cells, span, style=style)
    out.print(table)


def _change(one: Ablation | RelationGain, field: str) -> str:
    return f"{getattr(one.difference, field):+.3f}" + ("*" if one.intervals[field].excludes_zero else " ")


def _opening(report: RecallReport) -> str:
    subject = report.subject
    shown = ", ".join(subject.corpora[:10]) + (" …" if len(subject.corpora) > 10 else "")
    asked = "all in one memory, asked without naming the chat" if subject.merged else "each asked about its own chat"
    return f"{subject.dataset}: {subject.turns:,} turns in {subject.sessions:,} sessions of {shown}; {asked}"


def _gain(report: RecallReport, lines: Sequence[Line]) -> str:
    field = report.subject.leading
    overall = next((line for line in lines if line.label == "all"), None)
    if overall is None:
        return "No question counts for the figures over all."
    gain = getattr(overall.score, field) - getattr(overall.floor, field)
    return f"{_LEADING[field]} over plain BM25: {gain:+.3f} ({_span(overall.gain[field], signed=True)})"


def _costs(report: RecallReport) -> list[str]:
    filling, after = report.costs.filling, report.costs.after
    return [
        f"search_memory: p50 {report.latency(50):.1f} ms, p95 {report.latency(95):.1f} ms; "
        f"stored and embedded in {filling.seconds:.1f} s",
        f"memory of the process, MiB: {filling.before.rss_mib:.0f} before, {filling.filled.rss_mib:.0f} with everything "
        f"stored, {after.rss_mib:.0f} now, {after.peak_mib:.0f} at most; "
        f"on disk {report.bytes_per_turn:,.0f} bytes a turn",
    ]


def _left_out(report: RecallReport) -> list[str]:
    told: list[str] = []
    if report.counted:
        told.append(f"best hit called weak: {report.weak:.3f} of the answerable questions")
    if report.context is not None:
        told.append(
            f"get_context: {report.context.evidence:.3f} of the evidence lines stand in its text, {report.context.tokens} "
            f"tokens of 800; search_memory, first ten: {report.score.recall_10:.3f}"
        )
    if report.degraded:
        told.append(f"In {report.degraded} searches a lane did not answer: these figures are not to be trusted.")
    if report.unanswerable:
        told.append(
            f"{len(report.unanswerable)} questions to which nothing is an answer: {report.unanswered} found nothing"
        )
    if report.unusable or report.without_evidence:
        named = f" ({'; '.join(report.unusable)})" if report.unusable else ""
        told.append(
            f"{len(report.unusable)} unusable evidence entries{named}; "
            f"{report.without_evidence} questions without usable evidence are left out"
        )
    return told


def _turn_table(title: str, rows: Sequence[Row], leading: str) -> Table:
    """The leading figure comes first, with its interval."""
    main = _LEADING[leading]
    others = [name for name in _TURNS if name != main]
    table = _table(title, "category")
    for name in ("n", main, "95 %", *others):
        table.add_column(name, justify="right", style="bold" if name == main else None)
    for line, score, spans in rows:
        figures = [f"{getattr(score, _TURNS[name]):.3f}" for name in others]
        first = f"{getattr(score, leading):.3f}"
        style = "bold" if line.label == "all" else None
        table.add_row(line.label, str(line.questions), first, _span(spans[leading]), *figures, style=style)
    return table


def _session_table(lines: Sequence[Line]) -> Table:
    """The memory's figures, then those of plain BM25."""
    table = _table("sessions by their best turn: search_memory, then plain BM25", "category")
    for name in ("n", *_SESSIONS, *_SESSIONS):
        table.add_column(name, justify="right")
    for line in lines:
        figures = [f"{getattr(score, f):.3f}" for score in (line.score, line.floor) for f in _SESSIONS.values()]
        style = "bold" if line.label == "all" else None
        table.add_row(line.label, str(line.questions), *figures, style=style)
    return table


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    return table


def _span(interval: Interval, *, signed: bool = False) -> str:
    if signed:
        return f"{interval.low:+.3f} … {interval.high:+.3f}"
    return f"{interval.low:.3f}–{interval.high:.3f}"


def _say(out: Console, text: str) -> None:
    out.print(text, markup=False)
