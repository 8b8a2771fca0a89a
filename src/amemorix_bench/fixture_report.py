"""The fixture's results as tables."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from .fixture import FixtureReport, groups

__all__ = ["print_report"]

WIDTH = 132


def print_report(report: FixtureReport, console: Console | None = None) -> None:
    """Print every case, then a line for each kind of case."""
    out = console or Console(width=WIDTH, highlight=False)
    out.print(_cases(report))
    out.print(_summary(report))
    out.print(report.conditions.line(), markup=False)


def _cases(report: FixtureReport) -> Table:
    table = Table(title="cases: keywords within five hits", title_justify="left")
    for name in ("kind", "query", "", "keywords", "missing"):
        table.add_column(name, justify="right" if name == "keywords" else "left")
    for result in report.results:
        beside = [*result.missing, *([f"{result.wrong_day} hits of another day"] if result.wrong_day else [])]
        verdict = "pass" if result.passed else "FAIL"
        table.add_row(
            result.group, result.query, verdict, f"{result.recall:.2f}" if result.worded else "", ", ".join(beside)
        )
    return table


def _summary(report: FixtureReport) -> Table:
    table = Table(title="by kind", title_justify="left")
    table.add_column("kind")
    for name in ("passed", "keyword recall", "first hit right", "required"):
        table.add_column(name, justify="right")
    for group in groups(report):
        required = ", ".join(f"{name} {value:g}" for name, value in group.required.items())
        passed, first = f"{group.passed} of {group.cases}", f"{group.first} of {group.cases}"
        recall = f"{group.recall:.3f}" + (f", evidence {group.evidence_rate:g}" if group.name == "profile" else "")
        table.add_row(group.name, passed, *((recall, first) if group.worded else ("", "")), required)
    return table
