"""The command that examines a memory and mends it."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from ...errors import StorageFailure
from .memory_client import answered, opened
from .terminal import DEFAULT_CONFIG, ConfigPath, out, remark, say

__all__ = ["check"]


def check(
    deep: Annotated[bool, typer.Option("--deep", help="Read every index entry and every vector.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Check deeply, and mend what can be mended.")] = False,
    probe: Annotated[bool, typer.Option(help="Also ask the models that stand elsewhere.")] = True,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Check the database, the indexes, the models, the configuration and the disk; exit code 1 if something is wrong."""
    args = {"action": "repair"} if repair else {"action": "refresh_self_check", "deep": deep, "probe": probe}
    answer = asyncio.run(_asked(config, args))
    for line in answer.get("done", ()):
        say(f"Mended {line}", "green")
    report = answer["report"]
    out().print(_table(report["findings"]))
    say(report["message"], "green" if report["ok"] else "red")
    if not repair and any(finding["repairable"] for finding in report["findings"]):
        say("Run it with --repair to mend what can be mended.")
    if not report["ok"]:
        raise typer.Exit(1)


async def _asked(config: Path, args: dict[str, Any]) -> dict[str, Any]:
    async with AsyncExitStack() as stack:
        try:
            memory = await stack.enter_async_context(opened(config, note=remark))
        except StorageFailure as exc:
            return {"report": await asyncio.to_thread(_closed, config, exc)}
        return await answered(memory, "memory_runtime_admin", args)


def _closed(path: Path, fault: StorageFailure) -> dict[str, Any]:
    from ...copies.backup_folder import BackupFolder
    from ...host.bootstrap_config import data_folder, first_config
    from ...language.times import local_zone
    from ...runtime.checks.offline import examined_closed
    from ...runtime.checks.recovery_hint import WayBack
    from ...store.time_zones import TimeZones

    config, _ = first_config(path.absolute())
    backups = BackupFolder(data_folder(path.absolute(), config), config.backup.roots)
    zone = TimeZones.configured(config.general, local_zone()).general
    found = examined_closed(fault, WayBack(backups, zone), time.time())
    findings = [asdict(finding) for finding in found.findings]
    return {"ok": False, "message": "The memory cannot be opened.", "findings": findings}


def _table(findings: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("check", "ok", "found", "what to do"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        ok = "yes" if finding["ok"] else "no"
        table.add_row(finding["name"], ok, finding["detail"], finding["mend"], style="" if finding["ok"] else "red")
    return table
