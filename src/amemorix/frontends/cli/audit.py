"""The command that shows who changed what."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from .memory_client import answered, opened
from .terminal import DEFAULT_CONFIG, ConfigPath, out, remark, say

__all__ = ["audit"]

COLUMNS = ("when", "who", "by", "what", "on", "calls", "rows", "undo")


def audit(
    component: Annotated[str, typer.Option(help="Only changes by this component; `config` for settings.")] = "",
    action: Annotated[str, typer.Option(help="Only changes by this action.")] = "",
    by: Annotated[str, typer.Option(help="Only what this person asked for.")] = "",
    since: Annotated[str, typer.Option(help="From this time on.")] = "",
    until: Annotated[str, typer.Option(help="Up to this time.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="Most changes.")] = 50,
    before: Annotated[str, typer.Option(help="The page after the one that named this.")] = "",
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Show who changed what, and when, the newest first."""
    asked = {"of_component": component, "of_action": action, "requested_by": by, "since": since, "until": until}
    given = {name: value for name, value in {**asked, "before": before}.items() if value}
    answer = asyncio.run(_asked(config, {"action": "audit", "limit": limit, **given}))
    if not answer["items"]:
        say("Nothing has been changed.", "dim")
        return
    out().print(_table(answer["items"]))
    if answer["next"]:
        remark(f"`--before {answer['next']}` shows what came before.")


async def _asked(config: Path, args: dict[str, Any]) -> dict[str, Any]:
    async with opened(config, note=remark) as memory:
        return await answered(memory, "memory_runtime_admin", args)


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, overflow="fold", justify="right" if name in ("calls", "rows") else "left")
    for one in items:
        what, undo = f"{one['component']} {one['action']}".strip(), ", ".join(ref["id"] for ref in one["undo"])
        cells = (one["when"], one["requested_by"], one["door"], what, one["target"], f"{one['calls']:,}",
                 f"{one['rows']:,}", undo)  # fmt: skip
        table.add_row(*map(Text, cells))
    return table
