"""The command that imports files of any size and format."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from ...errors import InvalidRequest, StorageFailure
from ...locale import told, word
from ..transport import DaemonMemory
from .memory_client import Memory, answered, opened, remark_unread
from .terminal import DEFAULT_CONFIG, ConfigPath, counted, print_stored, progress_bars, remark

FORMATS = (
    "txt", "md", "chat_log", "jsonl", "csv", "json", "messages", "lpmm_openie", "lpmm_parquet", "mem0", "discord", "wechat",
    "onebot", "telegram", "graphiti", "a_memorix", "maibot",
)  # fmt: skip
COMPONENT = "memory_import_admin"
TASK_STATES = (
    "queued", "preparing", "running", "cancel_requested", "completed", "completed_with_errors", "failed", "cancelled",
)  # fmt: skip
OPEN = TASK_STATES[:4]
SHOWN_FILES = 20
_FATES = ("stored", "existing", "readable", "in part", "failed", "cancelled", "without a text")
_WELL = ("stored", "existing", "revised", "readable", "filtered")
POLL_SECONDS = 0.2
SHOWN_PROBLEMS = 10
PAGE = 500
READ_SECONDS = 10.0
"""How long what was imported is read, and its vectors made, before the command ends."""


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
    wanted = {
        "chat_id": chat, "format": format_, "chat_log": chat_log, "force": force, "skip_bad": skip_bad,
        "dry_run": dry_run, "columns": _columns(columns),
    }  # fmt: skip
    tasks = asyncio.run(_import(files, {key: value for key, value in wanted.items() if value}, wait, config))
    for task in tasks:
        tell(task)
    if lacking := [why for task in tasks if (why := missing(task))]:
        raise StorageFailure(f"Not everything was imported: {'; '.join(lacking)}.")


async def _import(files: list[Path], wanted: dict[str, Any], wait: bool, config: Path) -> list[dict[str, Any]]:
    async with opened(config) as memory:
        # one task for all files, and one for each folder, which is read where it is
        folders = [path for path in files if path.is_dir()]
        calls = [{"action": "create_raw_scan", "path": str(path.resolve()), **wanted} for path in folders]
        if staged := [await memory.stage(path) for path in files if not path.is_dir()]:
            calls.append({"action": "create_upload", "files": staged, **wanted})
        tasks = [(await answered(memory, COMPONENT, call))["task"] for call in calls]
        if wait:
            tasks = [await _finished(memory, task) for task in tasks]
            if not isinstance(memory, DaemonMemory):  # a daemon makes them at once; this process ends before
                with suppress(TimeoutError), progress_bars() as progress:
                    progress.add_task(word("reading"), total=None, rate="")
                    async with asyncio.timeout(READ_SECONDS):
                        await memory.settle()
                left = (await answered(memory, "memory_stats", {}))["embedding"]["pending"]
                if left:
                    remark(f"{left:,} paragraphs have no vector yet: words find them; the vectors are made in the "
                           "background when the memory is opened next, as by `amemorix serve`.")  # fmt: skip
                await remark_unread(memory)
        return tasks


async def _finished(memory: Memory, task: dict[str, Any]) -> dict[str, Any]:
    name = ", ".join(file["name"] for file in task["files"])[:40]
    with progress_bars() as progress:
        bar = progress.add_task(name, total=None, rate="")
        while task["status"] in OPEN:
            await asyncio.sleep(POLL_SECONDS)
            task = (await answered(memory, COMPONENT, {"action": "get", "task_id": task["task_id"]}))["task"]
            rate = told(f"{task['records']:,} records, {task['rate']:,.0f}/s") if task["rate"] else task["status"]
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


def _columns(given: str) -> dict[str, str]:
    """`text=内容,speaker=昵称` as a mapping. Raises InvalidRequest."""
    pairs = [pair.partition("=") for pair in re.split("[,，]", given) if pair.strip()]
    if wrong := next(
        (meaning for meaning, is_, heading in pairs if not (is_ and meaning.strip() and heading.strip())), ""
    ):
        raise InvalidRequest(f"--columns: {wrong!r} is not of the form MEANING=HEADING.", field="columns")
    return {meaning.strip(): heading.strip() for meaning, _, heading in pairs}


# what a person is told of an import: its files, what became of them, and what could not be stored


def tell(task: dict[str, Any]) -> None:
    """An import as it stands: what came of it on standard output, all else beside it."""
    waiting = task["status"] in OPEN
    print_stored(f"{task['task_id']} {word(task['status'])}{'' if waiting else f': {_counted(task)}'}")
    for number, file in enumerate(task["files"]):
        if number < SHOWN_FILES and not waiting and file["format"] and not file["error"]:
            remark(f"{file['name']}: read as {file['format']}, {_counted(file)}")
        if file["error"]:
            colour = ("yellow" if file["counts"].get("gone") else "") if file["status"] == "skipped" else "red"
            remark(f"{file['name']}: {file['error']}", colour)
        for problem in file.get("problems", ()):
            place = f", {problem['place']}" if problem["place"] else ""
            remark(f"{file['name']}{place}: {problem['reason']}", "red")
        for warning in file.get("warnings", ()):
            remark(f"{file['name']}: {warning}", "yellow")
    if (more := len(task["files"]) - SHOWN_FILES) > 0:
        remark(f"and {more} more files; `amemorix call {COMPONENT} get --task-id {task['task_id']}` shows them all.")
    if len(task["files"]) > 1 and not waiting:
        remark(_files(task))
    if task["error"] and any(file["error"] == task["error"] for file in task["files"]):  # no fault of the file
        remark(f"`{_retry(task)}` tries it again.")
    if task["counts"].get("failed") and not task["params"].get("dry_run"):
        remark("Mend the file and import it again: what is stored already stays as it is.")
        if not task["params"].get("skip_bad"):
            remark(
                f"`{_retry(task)} --overrides '{{\"skip_bad\": true}}'` stores the good records beside the bad ones."
            )


def missing(task: dict[str, Any]) -> str:
    """What of a task was not imported, in short; records that were to be skipped are no loss."""
    fates = _fates(task)
    if not (fates["failed"] or fates["in part"]):
        return task["status"] if task["status"] in ("failed", "cancelled") else ""
    return _files(task)


def _retry(task: dict[str, Any]) -> str:
    return f"amemorix call {COMPONENT} retry_failed --task-id {task['task_id']}"


def _files(task: dict[str, Any]) -> str:
    fates, count = _fates(task), len(task["files"])
    named = ", ".join(counted(fates[fate], fate) for fate in _FATES if fates[fate])
    return f"{counted(count, 'file' if count == 1 else 'files')}: {named}"


def _fates(task: dict[str, Any]) -> Counter[str]:
    return Counter(_fate(file, bool(task["params"].get("skip_bad"))) for file in task["files"])


def _fate(file: dict[str, Any], skip_bad: bool) -> str:
    counts = file["counts"]
    if file["status"] in ("failed", "cancelled"):
        return file["status"]
    if counts.get("failed") and not skip_bad:
        return "in part" if any(counts.get(one) for one in _WELL) else "failed"
    if file["status"] == "skipped" or (counts.get("existing") and not (counts.get("stored") or counts.get("revised"))):
        return "existing"
    return "readable" if counts.get("readable") else "stored" if counts else "without a text"


def _counted(one: dict[str, Any]) -> str:
    counts = dict(one["counts"])
    counts["without a text"] = counts.pop("empty_text", 0)
    named = (counted(count, name) for name, count in sorted(counts.items()) if count)
    return ", ".join(named) or told("nothing to store")
