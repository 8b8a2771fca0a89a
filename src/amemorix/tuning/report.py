"""What a tuning task did, for people: text and a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape

from .rows import QuestionCount, RoundItem, TaskRow

__all__ = ["markdown", "record", "rounds_drawing"]

WIDTH, HEIGHT, MARGIN = 640, 280, 44


def record(task: TaskRow, rounds: Sequence[RoundItem], counts: Sequence[QuestionCount]) -> dict[str, Any]:
    """Everything that the report tells, as data."""
    return {
        "task_id": task.id, "status": task.status, "options": task.options, "baseline": task.baseline,
        "result": task.result, "error": task.error,
        "questions": [{"split": one.split, "kind": one.kind, "count": one.count} for one in counts],
        "rounds": [
            {name: getattr(one, name) for name in ("round", "score", "merit", "params", "figures")} for one in rounds
        ],
    }  # fmt: skip


def markdown(task: TaskRow, rounds: Sequence[RoundItem], counts: Sequence[QuestionCount]) -> str:
    """The same in words and tables."""
    options, result = task.options, task.result
    parts = [
        f"# Tuning task {task.id}",
        f"Status: {task.status}. Objective: {options['objective']}, the first {options['top_k']} hits; seed {options['seed']}.",
    ]
    if task.error:
        parts.append(f"Error: {task.error}")
    if counts:
        asked = [(one.split, one.kind, one.count) for one in counts]
        parts += ["## Questions", _table(("part", "kind", "count"), asked)]
    if result:
        word = "Recommended" if result["recommended"] else "Not recommended"
        parts += ["## Verdict", f"{word}: round {result['best_round']}."]
        if result["reasons"]:
            parts.append("\n".join(f"- {reason}" for reason in result["reasons"]))
        compared = {"validation": result["validation"], "held out": result["held_out"]}
        compared |= {f"kind {kind}": one for kind, one in result["kinds"].items()}
        rows = [
            (
                name, one["questions"], f"{one['before']:.4f}", f"{one['after']:.4f}",
                f"{one['difference']:+.4f} ({one['low']:+.4f} … {one['high']:+.4f})", f"{one['p']:.4f}",
            )
            for name, one in compared.items()
        ]  # fmt: skip
        parts.append(_table(("questions", "count", "before", "after", "difference (95 %)", "p"), rows))
        parts.append(f"Slowest twentieth: {result['p95_before']:.1f} ms before, {result['p95_after']:.1f} ms after.")
        if result["changes"]:
            changes = [(f"`{name}`", value) for name, value in result["changes"].items()]
            parts += ["## Settings", _table(("setting", "value"), changes)]
    if rounds:
        tried = [(one.round, f"{one.score:.4f}", one.params["anchor"], _factors(one)) for one in rounds]
        parts += ["## Rounds", _table(("round", "score", "from", "factors"), tried)]
    return "\n\n".join(parts) + "\n"


def _factors(one: RoundItem) -> str:
    return ", ".join(f"{k} {v:g}" for k, v in one.params.items() if k != "anchor" and v != 1.0) or "as it is"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows))


def rounds_drawing(task: TaskRow, rounds: Sequence[RoundItem]) -> str:
    """Score by round as an SVG: dots, the best so far as a line, what is at work dashed."""
    scores = [one.score for one in rounds]
    low, high = (min(scores), max(scores)) if scores else (0.0, 1.0)

    def x(n: int) -> float:
        return round(MARGIN + n * (WIDTH - 2 * MARGIN) / max(len(scores) - 1, 1), 1)

    def y(score: float) -> float:
        return round(HEIGHT - MARGIN - (score - low) / max(high - low, 0.01) * (HEIGHT - 2 * MARGIN), 1)

    line = " ".join(f"{x(n)},{y(max(scores[: n + 1]))}" for n in range(len(scores)))
    dots = "".join(
        f'<circle cx="{x(n)}" cy="{y(score)}" r="3.5"><title>{n}: {score:.4f}</title></circle>'
        for n, score in enumerate(scores)
    )
    base = y(scores[0]) if scores else HEIGHT / 2
    title = escape(f"Tuning task {task.id}: score by round ({task.options['objective']})")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{title}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
        f'<text x="{MARGIN}" y="22" fill="#222">{title}</text>'
        f'<text x="4" y="{y(high) + 4}" fill="#555">{high:.3f}</text><text x="4" y="{y(low) + 4}" fill="#555">{low:.3f}</text>'
        f'<line x1="{MARGIN}" y1="{base}" x2="{WIDTH - MARGIN}" y2="{base}" stroke="#999" stroke-dasharray="5 4"/>'
        f'<polyline points="{line}" fill="none" stroke="#1a7f5a" stroke-width="2"/><g fill="#2457a6">{dots}</g>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 14}" text-anchor="end" fill="#555">round {max(len(scores) - 1, 0)}</text></svg>'
    )
