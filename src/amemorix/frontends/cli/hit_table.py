"""Search hits for people: who, when, what, and why it was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

__all__ = ["hit_table", "reason"]

SIGNALS = {
    "person": "said by the person asked about",
    "when": "speaks of time",
    "question": "is itself a question",
    "graph": "linked to what is named",
    "previous": "follows a near line",
}
LANES = {"sparse": "words", "dense": "meaning", "graph": "links", "time": "time"}
MOST_CHARS = 300
MOST_TERMS = 6


def hit_table(hits: Sequence[dict[str, Any]], *, marked: Sequence[bool] = ()) -> Table:
    """One row a hit; with `marked`, a first column that ticks some of them."""
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False)
    if marked:
        table.add_column("")
    table.add_column("score", justify="right")
    for name, ratio in (("who", 2), ("when", 2), ("text", 8), ("why", 5)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for place, hit in enumerate(hits):
        tick = [Text("✓", style="green") if marked[place] else Text("")] if marked else []
        table.add_row(
            *tick, Text(f"{hit['score']:.2f}"), Text(_who(hit)), Text(hit["time"]["text"][:16].replace("T", " ")),
            Text(_text(hit)), Text(reason(hit)),
        )  # fmt: skip
    return table


def reason(hit: dict[str, Any]) -> str:
    """Why it was found, such as `words #1, meaning #3; said by the person asked about; has: train, station`."""
    explain = hit.get("explain", {})
    parts = [
        _lanes(explain),
        *(words for name, words in SIGNALS.items() if explain.get("signals", {}).get(name)),
        _terms(explain),
    ]
    if explain.get("branches"):
        parts.insert(0, f"found by {', '.join(explain['branches'])}")
    if explain.get("order"):
        parts.append(str(explain["order"]))
    return "; ".join(part for part in parts if part) or "beside lines that match"


def _lanes(explain: dict[str, Any]) -> str:
    lanes = explain.get("lanes", {})
    named = [f"{LANES.get(name, name)} #{lane['rank']:g}" for name, lane in lanes.items() if "rank" in lane]
    return ", ".join(named)


def _terms(explain: dict[str, Any]) -> str:
    """The words of the query that it has; single characters of a longer word are not repeated."""
    terms = [str(term) for term in explain.get("matched_terms", [])]
    longest = [term for term in terms if not any(term != other and term in other for other in terms)]
    return f"has: {', '.join(longest[:MOST_TERMS])}" if longest else ""


def _who(hit: dict[str, Any]) -> str:
    return hit["speaker"] or ", ".join(hit["person_ids"][:3])


def _text(hit: dict[str, Any]) -> str:
    text = "\n".join(" ".join(line.split()) for line in hit["content"].strip().splitlines())
    short = text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"
    return f"{hit['title']}\n{short}" if hit["title"] else short
