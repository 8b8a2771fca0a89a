"""Commands on what is remembered: invoke, search, stats."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from ...errors import InvalidRequest, NotFound
from ...locale import joined, told, word
from ...search import LIKELY
from ..http.json_response import read_object
from .memory_client import ask
from .terminal import DEFAULT_CONFIG, ConfigPath, MemoryPath, out, print_json, remark, require_memory, say

__all__ = ["Arguments", "hit_table", "print_answer", "read_arguments"]

Mode = Literal["search", "time", "hybrid", "episode", "aggregate"]
Arguments = Annotated[
    str, typer.Option("--json", "-j", metavar="JSON|@FILE|-", help="Arguments: JSON, a file, or standard input.")
]


def invoke(
    component: Annotated[str, typer.Argument(help="Such as search_memory.")],
    arguments: Arguments = "{}",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Call a component and print its JSON answer; exit code 1 if it failed."""
    print_answer(config, component, read_arguments(arguments))


def print_answer(config: Path, component: str, args: dict[str, Any]) -> None:
    """Print the JSON answer of a component; ends the command with exit code 1 if it failed.

    Raises NotFound where there is no memory, unless the operation writes and so may begin one.
    """
    try:
        require_memory(config)
    except NotFound:
        from ...host.operations import OPERATIONS

        op = OPERATIONS.find(component, args.get("action"))
        if op is None or op.effect != "write":
            raise
    answer = ask(config, component, args, raising=False)
    print_json(answer)
    if not answer.get("success"):
        raise typer.Exit(1)


def read_arguments(given: str) -> dict[str, Any]:
    """The object that `JSON`, `@FILE` or `-` (standard input) stands for. Raises InvalidRequest."""
    if given == "-":
        return read_object(sys.stdin.buffer.read())
    if not given.startswith("@"):
        return read_object(given.encode("utf-8", "surrogateescape"))
    try:
        return read_object(Path(given[1:]).read_bytes())
    except OSError as exc:
        raise InvalidRequest(f"{given[1:]} cannot be read: {exc.strerror}.", field="json") from exc


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")] = "",
    chat: Annotated[str, typer.Option(help="The chat that asks.")] = "",
    user: Annotated[
        str, typer.Option(help="The user who asks: in their private chat, unless --chat names another.")
    ] = "",
    mode: Annotated[Mode, typer.Option(help="How to search.")] = "search",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most hits.")] = 5,
    person: Annotated[str, typer.Option(help="Only what is bound to this person.")] = "",
    since: Annotated[str, typer.Option(help="From this time: 2025-03-01, yesterday, 上周三 …")] = "",
    until: Annotated[str, typer.Option(help="Until this time, included.")] = "",
    unlikely: Annotated[bool, typer.Option("--unlikely", help="List hits that hardly answer, too.")] = False,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Search the memory, and say of each hit why it was found; those that are unlikely to answer are left out."""
    wanted = {
        "query": query, "chat_id": chat, "user_id": user, "mode": mode, "limit": limit, "person_id": person, "time_start": since,
        "time_end": until, "min_confidence": 0.0 if unlikely else LIKELY,
    }  # fmt: skip
    if not (chat or user):
        wanted["scope"] = "all"
        remark("Every chat is searched; --chat or --user names one.", "dim")
    answer = ask(config, "search_memory", {name: value for name, value in wanted.items() if value})
    if answer["degraded"]:
        remark(f"Not answering: {', '.join(answer['degraded'])}.", "yellow")
    for warning in answer["warnings"]:
        remark(warning, "yellow")
    if answer["hits"]:
        out().print(hit_table(answer["hits"]))
        if answer["weak"]:
            remark("It is not sure that one of these answers it.", "yellow")
    elif answer["filtered"]:
        say("The chat filter of the configuration leaves this chat out.", "dim")
    elif answer["disabled"]:
        say("The memory is switched off (plugin.enabled).", "dim")
    else:
        say(
            "Nothing is known of that; --unlikely lists what hardly answers."
            if query and not unlikely
            else "Nothing found.",
            "dim",
        )


def stats(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Show what is stored and how current the indexes are."""
    answer = ask(config, "memory_stats", {})
    table = Table(box=box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in answer.items():
        if name in ("success", "warnings", "notice"):
            continue
        inner: dict[str, Any] = value if isinstance(value, dict) else {}
        for key, item in inner.items() or (("", value),):
            number = isinstance(item, int) and not isinstance(item, bool)
            text = item if isinstance(item, str) else f"{item:,}" if number else json.dumps(item, ensure_ascii=False)
            table.add_row(f"{name}.{key}" if inner else name, text)
    out().print(table)
    if answer["notice"]:
        remark(answer["notice"], "yellow")


# hits for people: who, when, what, and why it was found

SIGNALS = {
    "person": "said by the person asked about",
    "when": "speaks of time",
    "question": "is itself a question",
    "graph": "linked to what is named",
    "previous": "follows a near line",
}
LANES = {"sparse": "words", "dense": "meaning", "graph": "links", "time": "time"}
HEADINGS = {"who": 2, "when": 2, "text": 8, "why": 5}
"""Columns of a table of hits after the score, with their shares of its width."""
MOST_CHARS, MOST_TERMS = 300, 6


def hit_table(hits: Sequence[dict[str, Any]], *, marked: Sequence[bool] = ()) -> Table:
    """One row a hit; with `marked`, a first column that ticks some of them."""
    table = Table(box=box.SIMPLE_HEAD, expand=False, pad_edge=False)
    if marked:
        table.add_column("")
    table.add_column(word("score"), justify="right")
    for name, ratio in HEADINGS.items():
        table.add_column(word(name), ratio=ratio, overflow="fold")
    for place, hit in enumerate(hits):
        tick = [Text("✓" if marked[place] else "", style="green")] if marked else []
        text = "\n".join(" ".join(line.split()) for line in hit["content"].strip().splitlines())
        short = text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS - 1]}…"
        who, when = hit["speaker"] or ", ".join(hit["person_ids"][:3]), hit["time"]["text"][:16].replace("T", " ")
        cells = (f"{hit['score']:.2f}", who, when, f"{hit['title']}\n{short}" if hit["title"] else short, reason(hit))
        table.add_row(*tick, *map(Text, cells))
    return table


def reason(hit: dict[str, Any]) -> str:
    """Why it was found, such as `words #1, meaning #3; said by the person asked about; has: train, station`."""
    explain = hit.get("explain", {})
    lanes = [
        f"{word(str(LANES.get(name, name)))} #{lane['rank']:g}"
        for name, lane in explain.get("lanes", {}).items()
        if "rank" in lane
    ]
    signals = [told(words) for name, words in SIGNALS.items() if explain.get("signals", {}).get(name)]
    from ...language.chinese_words import words_held

    words = words_held(explain.get("matched_terms", []), hit["content"])
    parts = [
        told(f"found by {', '.join(explain['branches'])}") if explain.get("branches") else "",
        ", ".join(lanes),
        *signals,
        f"{word('has')}: {', '.join(words[:MOST_TERMS])}" if words else "",
        told(str(explain.get("order") or "")),
    ]
    return joined(part for part in parts if part) or told("beside lines that match")
