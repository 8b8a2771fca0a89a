"""Commands on the memory's own condition: audit and check."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from ...errors import MemoryFault, StorageFailure
from ...locale import told, word
from .memory_client import answered, ask, opened
from .terminal import DEFAULT_CONFIG, MemoryPath, columns, out, remark, say

__all__ = ["audit", "check", "examined", "show_findings"]

ADMIN = "memory_runtime_admin"


def audit(
    component: Annotated[str, typer.Option(help="Only changes by this component; `config` for settings.")] = "",
    action: Annotated[str, typer.Option(help="Only changes by this action.")] = "",
    by: Annotated[str, typer.Option(help="Only what this person asked for.")] = "",
    since: Annotated[str, typer.Option(help="From this time on.")] = "",
    until: Annotated[str, typer.Option(help="Up to this time.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=500, help="Most changes.")] = 50,
    before: Annotated[str, typer.Option(help="The page after the one that named this.")] = "",
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Show who changed what, and when, the newest first."""
    asked = {"of_component": component, "of_action": action, "requested_by": by, "since": since, "until": until}
    given = {name: value for name, value in {**asked, "before": before}.items() if value}
    answer = ask(config, ADMIN, {"action": "audit", "limit": limit, **given})
    if not answer["items"]:
        say("Nothing has been changed.", "dim")
        return
    table = columns("when", "who", "by", "what", "on", "calls", "rows", "undo", right=("calls", "rows"))
    for one in answer["items"]:
        what, undo = f"{one['component']} {one['action']}".strip(), ", ".join(ref["id"] for ref in one["undo"])
        cells = (one["when"], one["requested_by"], one["door"], what, one["target"], f"{one['calls']:,}",
                 f"{one['rows']:,}", undo)  # fmt: skip
        table.add_row(*map(Text, cells))
    out().print(table)
    if answer["next"]:
        remark(f"`--before {answer['next']}` shows what came before.")


def check(
    deep: Annotated[bool, typer.Option("--deep", help="Read every index entry and every vector.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Check deeply, and mend what can be mended.")] = False,
    probe: Annotated[bool, typer.Option(help="Also ask the models that stand elsewhere.")] = True,
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Check the database, the indexes, the models, the configuration and the disk; exit code 1 if something is wrong."""
    args = {"action": "repair"} if repair else {"action": "refresh_self_check", "deep": deep, "probe": probe}
    answer = asyncio.run(examined(config, args))
    for line in answer.get("done", ()):
        say(f"Mended {line}", "green")
    report = answer["report"]
    show_findings(report["findings"], report["message"])
    if not repair and any(finding["repairable"] for finding in report["findings"]):
        say("Run it with --repair to mend what can be mended.")
    if not report["ok"]:
        raise typer.Exit(1)


def show_findings(findings: Iterable[Mapping[str, Any]], message: str) -> None:
    """A table of what was looked at, and the sentence that sums it up."""
    table, well = columns("check", "ok", "found", "what to do"), True
    for one in findings:
        ok = word("yes") if one["ok"] else word("no")
        table.add_row(one["name"], ok, told(one["detail"]), told(one["mend"]), style="" if one["ok"] else "red")
        well = well and one["ok"]
    out().print(table)
    say(message, "green" if well else "red")


async def examined(config: Path, args: dict[str, Any]) -> dict[str, Any]:
    """The report of a check; of a memory that cannot be opened, why, and which backup to restore."""
    async with AsyncExitStack() as stack:
        try:
            memory = await stack.enter_async_context(opened(config))
        except StorageFailure as exc:
            return {"report": await asyncio.to_thread(_closed, config, exc)}
        return await answered(memory, ADMIN, args)


def _closed(path: Path, fault: StorageFailure) -> dict[str, Any]:
    from ...copies.backup_folder import BackupFolder
    from ...host.environment import data_folder, first_config
    from ...language.times import local_zone
    from ...runtime.recovery_hint import RecoveryHint, closed_findings
    from ...store.access import TimeZones
    from ...store.keys import KEYS_FILE, Keyring, read_secret

    config, _ = first_config(path.absolute())
    folder, encryption, keys = data_folder(path.absolute(), config), config.storage.encryption, None
    if encryption.enabled:
        with suppress(MemoryFault):  # without its keys a backup is said to be encrypted
            keys = Keyring.read(folder / KEYS_FILE, read_secret(encryption, folder, os.environ))
    backups = BackupFolder(folder, config.backup.roots, keys)
    zone = TimeZones.configured(config.general, local_zone()).general
    findings = [asdict(finding) for finding in closed_findings(fault, RecoveryHint(backups, zone))]
    return {"ok": False, "message": "The memory cannot be opened.", "findings": findings}
