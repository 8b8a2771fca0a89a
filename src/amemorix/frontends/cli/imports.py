"""The command that imports files of any size and format."""

from __future__ import annotations

import asyncio
import re
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import InvalidRequest, StorageFailure
from .import_report import COMPONENT, OPEN, missing, tell
from .memory_client import DaemonMemory, Memory, answered, opened
from .progress_bars import progress_bars
from .terminal import DEFAULT_CONFIG, ConfigPath, remark

__all__ = ["FORMATS", "import_command"]

FORMATS = (
    "txt", "md", "chat_log", "jsonl", "csv", "json", "messages", "lpmm_openie", "lpmm_parquet", "mem0", "discord", "wechat",
    "onebot", "telegram", "graphiti", "a_memorix", "maibot",
)  # fmt: skip
POLL_SECONDS = 0.2
SHOWN_PROBLEMS = 10
PAGE = 500


def import_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Texts, chats, tables, exports; or a folder that the memory may read.")],
    chat: Annotated[str, typer.Option(help="The chat of whatever names none of its own.")] = "",
    format_: Annotated[str, typer.Option("--format", help=f"auto, {', '.join(FORMATS)}.")] = "auto",
    chat_log: Annotated[bool, typer.Option("--chat-log", help="Texts are saved chats, `name: text` a line.")] = False,
    columns: Annotated[str, typer.Option("--columns", help="What is in which column of a table: text=内容,speaker=昵称,time=时间.")] = "",
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
        "columns": _columns(columns),
    }
    tasks = asyncio.run(_import(files, {key: value for key, value in told.items() if value}, wait, config))
    for task in tasks:
        tell(task)
    if lacking := [why for task in tasks if (why := missing(task))]:
        raise StorageFailure(f"Not everything was imported: {'; '.join(lacking)}.")


async def _import(files: list[Path], told: dict[str, Any], wait: bool, config: Path) -> list[dict[str, Any]]:
    async with opened(config, note=remark) as memory:
        tasks = await _created(memory, files, told)
        if wait:
            tasks = [await _finished(memory, task) for task in tasks]
            await _tell_of_vectors(memory)
        return tasks


async def _tell_of_vectors(memory: Memory) -> None:
    """A daemon makes them at once; this process ends before they are made."""
    if not isinstance(memory, DaemonMemory):
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
    """The first that could not be stored, and whether there are more."""
    found: list[dict[str, str]] = []
    which = {"action": "chunks", "task_id": task, "file_id": file, "limit": PAGE}
    for page in count():
        chunks = (await answered(memory, COMPONENT, {**which, "offset": page * PAGE}))["items"]
        found += [problem for chunk in chunks for problem in chunk["errors"]]
        if len(chunks) < PAGE or len(found) > SHOWN_PROBLEMS:
            break
    more = f"and more; `amemorix call {COMPONENT} chunks --task-id {task} --file-id {file}` shows them."
    return found[:SHOWN_PROBLEMS] + ([{"place": "", "reason": more}] if len(found) > SHOWN_PROBLEMS else [])


def _columns(told: str) -> dict[str, str]:
    """`text=内容,speaker=昵称` as a mapping. Raises InvalidRequest."""
    pairs = [pair.partition("=") for pair in re.split("[,，]", told) if pair.strip()]
    if wrong := next(
        (meaning for meaning, is_, heading in pairs if not (is_ and meaning.strip() and heading.strip())), ""
    ):
        raise InvalidRequest(f"--columns: {wrong!r} is not of the form MEANING=HEADING.", field="columns")
    return {meaning.strip(): heading.strip() for meaning, _, heading in pairs}
