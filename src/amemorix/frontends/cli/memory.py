"""Commands on what is remembered: invoke, search, stats."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table

from ...errors import InvalidRequest
from ..http.json_response import read_object
from .hit_table import hit_table
from .memory_client import ask, opened
from .terminal import DEFAULT_CONFIG, ConfigPath, out, print_json, remark, say

__all__ = ["Arguments", "Mode", "invoke", "print_answer", "read_arguments", "search", "stats"]

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
    """Print the JSON answer of a component; ends the command with exit code 1 if it failed."""

    async def asked() -> dict[str, Any]:
        async with opened(config, note=remark) as memory:
            return await memory.invoke(component, args)

    answer = asyncio.run(asked())
    print_json(answer)
    if not answer.get("success"):
        raise typer.Exit(1)


def read_arguments(given: str) -> dict[str, Any]:
    """The object that `JSON`, `@FILE` or `-` (standard input) stands for. Raises InvalidRequest."""
    return read_object(_source(given))


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")] = "",
    chat: Annotated[str, typer.Option(help="The chat that asks.")] = "",
    mode: Annotated[Mode, typer.Option(help="How to search.")] = "search",
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most hits.")] = 5,
    person: Annotated[str, typer.Option(help="Only what is bound to this person.")] = "",
    since: Annotated[str, typer.Option(help="From this time: 2025-03-01, yesterday, 上周三 …")] = "",
    until: Annotated[str, typer.Option(help="Until this time, included.")] = "",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Search the memory, and say of each hit why it was found."""
    wanted = {
        "query": query, "chat_id": chat, "mode": mode, "limit": limit, "person_id": person, "time_start": since,
        "time_end": until,
    }  # fmt: skip
    if not chat:
        wanted["scope"] = "all"
        remark("Every chat is searched; --chat names one.", "dim")
    answer = ask(config, "search_memory", {name: value for name, value in wanted.items() if value})
    if answer["degraded"]:
        remark(f"Not answering: {', '.join(answer['degraded'])}.", "yellow")
    for warning in answer["warnings"]:
        remark(warning, "yellow")
    if not answer["hits"]:
        say(_nothing(answer), "dim")
        return
    out().print(hit_table(answer["hits"]))


def stats(config: ConfigPath = DEFAULT_CONFIG) -> None:
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
            table.add_row(f"{name}.{key}" if inner else name, _plain(item))
    out().print(table)
    if answer["notice"]:
        remark(answer["notice"], "yellow")


def _source(given: str) -> bytes:
    """The bytes that `JSON`, `@FILE` or `-` stand for."""
    if given == "-":
        return sys.stdin.buffer.read()
    if not given.startswith("@"):
        return given.encode("utf-8", "surrogateescape")
    try:
        return Path(given[1:]).read_bytes()
    except OSError as exc:
        raise InvalidRequest(f"{given[1:]} cannot be read: {exc.strerror}.", field="json") from exc


def _nothing(answer: dict[str, Any]) -> str:
    if answer["filtered"]:
        return "The chat filter of the configuration leaves this chat out."
    return "The memory is switched off (plugin.enabled)." if answer["disabled"] else "Nothing found."


def _plain(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
