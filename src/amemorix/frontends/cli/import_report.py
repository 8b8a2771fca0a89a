"""What a person is told of an import: its files, what became of them, and what could not be stored."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .terminal import remark, say

__all__ = ["COMPONENT", "OPEN", "missing", "tell"]

COMPONENT = "memory_import_admin"
OPEN = ("queued", "preparing", "running", "cancel_requested")
SHOWN_FILES = 20
_FATES = ("stored", "existing", "readable", "in part", "failed", "cancelled", "without a text")

_WELL = ("stored", "existing", "revised", "readable", "filtered")


def tell(task: dict[str, Any]) -> None:
    """An import as it stands: what came of it on standard output, all else beside it."""
    waiting = task["status"] in OPEN
    say(f"{task['task_id']} {task['status']}{'' if waiting else f': {_counted(task)}'}")
    for number, file in enumerate(task["files"]):
        _tell_file(file, number < SHOWN_FILES and not waiting)
    if (more := len(task["files"]) - SHOWN_FILES) > 0:
        remark(f"and {more} more files; `amemorix call {COMPONENT} get --task-id {task['task_id']}` shows them all.")
    if len(task["files"]) > 1 and not waiting:
        remark(_files(task))
    if task["error"] and any(file["error"] == task["error"] for file in task["files"]):  # no fault of the file
        remark(f"`{_retry(task)}` tries it again.")
    if task["counts"].get("failed") and not task["params"].get("dry_run"):
        _tell_a_way_on(task)


def missing(task: dict[str, Any]) -> str:
    """What of a task was not imported, in short; records that were to be skipped are no loss."""
    fates = _fates(task)
    if not (fates["failed"] or fates["in part"]):
        return task["status"] if task["status"] in ("failed", "cancelled") else ""
    return _files(task)


def _tell_file(file: dict[str, Any], whole: bool) -> None:
    if whole and file["format"] and not file["error"]:
        remark(f"{file['name']}: read as {file['format']}, {_counted(file)}")
    if file["error"]:
        colour = ("yellow" if file["counts"].get("gone") else "") if file["status"] == "skipped" else "red"
        remark(f"{file['name']}: {file['error']}", colour)
    for problem in file.get("problems", ()):
        place = f", {problem['place']}" if problem["place"] else ""
        remark(f"{file['name']}{place}: {problem['reason']}", "red")
    for warning in file.get("warnings", ()):
        remark(f"{file['name']}: {warning}", "yellow")


def _tell_a_way_on(task: dict[str, Any]) -> None:
    remark("Mend the file and import it again: what is stored already stays as it is.")
    if not task["params"].get("skip_bad"):
        remark(f"`{_retry(task)} --overrides '{{\"skip_bad\": true}}'` stores the good records beside the bad ones.")


def _retry(task: dict[str, Any]) -> str:
    return f"amemorix call {COMPONENT} retry_failed --task-id {task['task_id']}"


def _files(task: dict[str, Any]) -> str:
    fates, count = _fates(task), len(task["files"])
    told = ", ".join(f"{fates[fate]:,} {fate}" for fate in _FATES if fates[fate])
    return f"{count:,} {'file' if count == 1 else 'files'}: {told}"


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
    counts = (f"{count:,} {name}" for name, count in sorted(one["counts"].items()) if count)
    return ", ".join(counts) or "nothing to store"
