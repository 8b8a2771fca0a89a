"""The command that imports files of any size and format."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidRequest, StorageFailure
from ..services.importing.formats import FORMATS
from .access import LocalMemory, Memory, answered, opened
from .console import DEFAULT_CONFIG, ConfigPath, remark, say
from .progress_bars import progress_bars

__all__ = ["import_command"]

COMPONENT = "memory_import_admin"
POLL_SECONDS = 0.2
SHOWN_PROBLEMS = 10
SHOWN_FILES = 20
OPEN = ("queued", "preparing", "running", "cancel_requested")


def import_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Texts, chats, tables, exports; or a folder that the memory may read.")],
    chat: Annotated[str, typer.Option(help="The chat of whatever names none of its own.")] = "",
    format_: Annotated[str, typer.Option("--format", help=f"auto, {', '.join(FORMATS)}.")] = "auto",
    chat_log: Annotated[bool, typer.Option("--chat-log", help="Texts are saved chats, `name: text` a line.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Read files again that were imported before.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Store the good records beside bad ones.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check, store nothing.")] = False,
    wait: Annotated[bool, typer.Option(help="Show the progress until the end; a daemon goes on without.")] = True,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:  # fmt: skip
    """Import files in the background of the memory, and show how far it is; what a crash interrupts goes on later."""
    for path in files:
        if not path.exists():
            raise InvalidRequest(f"There is no file {path}.", field="files")
    if chat_log and not chat:
        raise InvalidRequest("--chat-log needs --chat: the chat that was saved.", field="chat")
    told = {
        "chat_id": chat,
        "format": format_,
        "chat_log": chat_log,
        "force": force,
        "skip_bad": skip_bad,
        "dry_run": dry_run,
    }
    tasks = asyncio.run(_import(files, {key: value for key, value in told.items() if value}, wait, config))
    for task in tasks:
        _tell(task)
    if missing := [why for task in tasks if (why := _missing(task, skip_bad))]:
        raise StorageFailure(f"Not everything was imported: {'; '.join(missing)}.")


async def _import(files: list[Path], told: dict[str, Any], wait: bool, config: Path) -> list[dict[str, Any]]:
    async with opened(config, note=remark) as memory:
        tasks = await _created(memory, files, told)
        if wait:
            tasks = [await _finished(memory, task) for task in tasks]
            await _tell_of_vectors(memory)
        return tasks


async def _tell_of_vectors(memory: Memory) -> None:
    """A daemon makes them at once; this process ends before they are made."""
    if isinstance(memory, LocalMemory):
        left = (await answered(memory, "memory_stats", {}))["embedding"]["pending"]
        if left:
            remark(f"{left:,} paragraphs have no vector yet: words find them; the vectors are made in the background "
                   "when the memory is opened next, as by `amemorix serve`.")  # fmt: skip


async def _created(memory: Memory, files: list[Path], told: dict[str, Any]) -> list[dict[str, Any]]:
    """One task for all files, and one for each folder, which is read where it is."""
    calls = [
        {"action": "create_raw_scan", "path": str(path.resolve()), **told} for path in files if path.is_dir()
    ]  # fmt: skip
    staged = [await memory.stage(path) for path in files if not path.is_dir()]
    if staged:
        calls.append({"action": "create_upload", "files": staged, **told})
    return [(await answered(memory, COMPONENT, call))["task"] for call in calls]


async def _finished(memory: Memory, task: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end, and show the way."""
    name = ", ".join(file["name"] for file in task["files"])[:40]
    with progress_bars() as progress:
        bar = progress.add_task(name, total=None, rate="")
        while task["status"] in OPEN:
            await asyncio.sleep(POLL_SECONDS)
            task = (await answered(memory, COMPONENT, {"action": "get", "task_id": task["task_id"]}))["task"]
            rate = f"{task['records']:,} records, {task['rate']:,.0f}/s" if task["rate"] else task["status"]
            progress.update(bar, total=task["bytes_total"] or None, completed=task["bytes_done"], rate=rate)
        for file in task["files"]:
            if file["chunks"].get("failed") or file["counts"].get("failed"):
                file["problems"] = await _problems(memory, task["task_id"], file["file_id"])
    return task


async def _problems(memory: Memory, task: str, file: str) -> list[dict[str, str]]:
    args = {"action": "get_chunks", "task_id": task, "file_id": file, "limit": 500}
    chunks = (await answered(memory, COMPONENT, args))["items"]
    return [problem for chunk in chunks for problem in chunk["errors"]][:SHOWN_PROBLEMS]


def _missing(task: dict[str, Any], skip_bad: bool) -> str:
    """What of a task was not imported, in short; records that were to be skipped are no loss."""
    whole = [file for file in task["files"] if file["status"] == "failed"]
    part = [file for file in task["files"] if file not in whole and file["counts"].get("failed") and not skip_bad]
    told = [
        f"{len(files)} of {len(task['files'])} files {how}"
        for files, how in ((whole, "failed"), (part, "in part"))
        if files
    ]
    return ", ".join(told) or (task["status"] if task["status"] in ("failed", "cancelled") else "")


def _tell(task: dict[str, Any]) -> None:
    waiting = task["status"] in OPEN
    say(f"{task['task_id']} {task['status']}{'' if waiting else f': {_counted(task)}'}")
    for number, file in enumerate(task["files"]):
        if number < SHOWN_FILES and file["format"] and not file["error"] and not waiting:
            remark(f"{file['name']}: read as {file['format']}, {_counted(file)}")
        if file["error"]:
            remark(f"{file['name']}: {file['error']}", "" if file["status"] == "skipped" else "red")
        for problem in file.get("problems", ()):
            remark(f"{file['name']}, {problem['place']}: {problem['reason']}", "red")
    if task["error"] and any(file["error"] == task["error"] for file in task["files"]):  # no fault of the file
        remark(f"`{_retry(task)}` tries it again.")
    params = task["params"]
    if not task["counts"].get("failed") or params.get("dry_run"):
        return
    remark("Mend the file and import it again: what is stored already stays as it is.")
    if not params.get("skip_bad"):
        remark(f"`{_retry(task)} --overrides '{{\"skip_bad\": true}}'` stores the good records beside the bad ones.")


def _retry(task: dict[str, Any]) -> str:
    return f"amemorix call {COMPONENT} retry_failed --task-id {task['task_id']}"


def _counted(one: dict[str, Any]) -> str:
    counts = (f"{count:,} {name}" for name, count in sorted(one["counts"].items()) if count)
    return ", ".join(counts) or "nothing to store"
