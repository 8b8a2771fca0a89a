"""Imports as rows: tasks, their files, and the chunks in which files are stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array

__all__ = [
    "OPEN", "ImportChunk", "ImportFile", "ImportTask", "NewImportFile", "Problem", "Undated",
]  # fmt: skip

OPEN = ("queued", "preparing", "running", "cancel_requested")
"""States of a task that is not at its end."""
STATES = (*OPEN, "cancelled", "completed", "completed_with_errors", "failed")


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be stored, where it stood, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A task; times in epoch seconds."""

    id: int
    kind: str
    params: dict[str, Any]
    status: str
    parent: int | None
    attempts: int
    error: str
    requested_by: str
    created_at: float
    started_at: float | None
    finished_at: float | None
    updated_at: float

    @property
    def is_open(self) -> bool:
        """Whether it is not at its end."""
        return self.status in OPEN


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file of a task and how far it is; `share` of it, 0..1, is read."""

    id: int
    task: int
    name: str
    root: str
    path: str
    format: str
    options: str
    size: int
    sha256: str
    position: int
    share: float
    rest: bool
    status: str
    records: int
    counts: Counter[str]
    seconds: float
    error: str
    notes: Counter[str]
    """What was left out or is missing, by kind: how often."""


@dataclass(frozen=True, slots=True)
class ImportChunk:
    """A stretch of a file from position `start` to `stop`, stored together or not at all."""

    file: int
    number: int
    start: int
    stop: int
    status: str
    records: int
    counts: Counter[str]
    problems: tuple[Problem, ...]
    done_at: float | None


@dataclass(frozen=True, slots=True)
class NewImportFile:
    """A file to be read; only `chunks` (start, stop), which failed before, and `rest`: what follows `position`."""

    name: str
    root: str
    path: str
    format: str = ""
    size: int = 0
    sha256: str = ""
    position: int = 0
    rest: bool = True
    chunks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Undated:
    """A paragraph that has no time of its own."""

    id: int
    content: str
    recorded_at: float
    chat_id: str


def create(
    db: Connection,
    kind: str,
    params: Mapping[str, Any],
    files: Iterable[NewImportFile],
    *,
    parent: int | None = None,
    requested_by: str = "",
    now: float,
) -> int:
    """A task that waits for its turn."""
    values = {"kind": kind, "params": _json(params), "parent": parent, "requested_by": requested_by, "now": now}
    task = db.run("import_task_insert", **values).fetchone()[0]
    for file in files:
        row = {"task": task, "name": file.name, "root": file.root, "path": file.path, "format": file.format,
               "size": file.size, "sha256": file.sha256, "position": file.position, "rest": int(file.rest)}  # fmt: skip
        id_ = db.run("import_file_insert", **row).fetchone()[0]
        for number, (start, stop) in enumerate(file.chunks):
            chunk = {"file": id_, "number": number, "start": start, "stop": stop}
            db.run("import_chunk_queue", **chunk)
    return task


def open_count(db: Connection) -> int:
    """Tasks that wait or are under way."""
    return db.run("import_open_count").fetchone()[0]


def open_params(db: Connection) -> list[tuple[int, dict[str, Any]]]:
    """(task, what it was asked for) of those that wait or are under way and were not cancelled."""
    return [(task, json.loads(params)) for task, params in db.run("import_open_params")]


def telling(db: Connection, paragraphs: Iterable[int], since: float) -> list[int]:
    """Tasks at work after `since` that tell something in the sources of these paragraphs."""
    values = {"paragraphs": array(paragraphs), "since": since}
    return [row[0] for row in db.run("import_telling", **values)]


def states(db: Connection) -> dict[str, int]:
    """State -> tasks in it; every state is there."""
    found = dict(db.run("import_states").fetchall())
    return {state: found.get(state, 0) for state in STATES}


def claim(db: Connection, *, worker: str, now: float, lease: float) -> ImportTask | None:
    """Take the oldest open task for `lease` seconds."""
    values = {"worker": worker, "now": now, "until": now + lease}
    row = db.run("import_claim", **values).fetchone()
    return None if row is None else task(db, row[0])


def hold(db: Connection, task: int, *, worker: str, now: float, lease: float) -> str | None:
    """Go on with the lease; the task's state, None if it is no longer this worker's."""
    values = {"id": task, "worker": worker, "now": now, "until": now + lease}
    row = db.run("import_hold", **values).fetchone()
    return None if row is None else row[0]


def running(db: Connection, task: int, *, worker: str, now: float) -> None:
    """What was prepared is under way."""
    db.run("import_run", id=task, worker=worker, now=now)


def stumbled(db: Connection, task: int, *, worker: str, until: float, error: str, now: float) -> int | None:
    """Leave the task alone until then; how often in a row it has stumbled."""
    values = {"id": task, "worker": worker, "until": until, "error": error, "now": now}
    row = db.run("import_stumbled", **values).fetchone()
    return None if row is None else row[0]


def end(db: Connection, task: int, status: str, *, error: str = "", now: float) -> None:
    """The task is at its end; what was not read of a cancelled one never is, of a failed one it can be tried again."""
    if status == "cancelled":
        db.run("import_files_cancelled", task=task)
        db.run("import_chunks_cancelled", task=task)
    if status == "failed":
        db.run("import_files_given_up", task=task, error=error)
    db.run("import_task_end", id=task, status=status, error=error, now=now)
    db.run("import_marks_spent")


def cancel(db: Connection, task: int, now: float) -> str | None:
    """Cancel what waits, ask what runs to end; the new state, None if it cannot be cancelled."""
    row = db.run("import_cancel", id=task, now=now).fetchone()
    if row is not None and row[0] == "cancelled":
        db.run("import_files_cancelled", task=task)
        db.run("import_chunks_cancelled", task=task)
    return None if row is None else row[0]


def task(db: Connection, id_: int) -> ImportTask | None:
    """The task of this row."""
    row = db.run("import_task", id=id_).fetchone()
    return None if row is None else _task(row)


def tasks(db: Connection, *, status: str | None, limit: int, offset: int) -> list[ImportTask]:
    """Tasks, the newest first."""
    values = {"status": status, "limit": limit, "offset": offset}
    return [_task(row) for row in db.run("import_tasks", **values)]


def task_count(db: Connection, status: str | None) -> int:
    """How many tasks there are."""
    return db.run("import_task_count", status=status).fetchone()[0]


def files(db: Connection, tasks: Iterable[int]) -> list[ImportFile]:
    """The files of the tasks, in their order."""
    return [_file(row) for row in db.run("import_files", tasks=array(tasks))]


def file(db: Connection, id_: int) -> ImportFile | None:
    """The file of this row."""
    row = db.run("import_file", id=id_).fetchone()
    return None if row is None else _file(row)


def file_preparing(db: Connection, file: int) -> None:
    """The file is being looked at."""
    db.run("import_file_preparing", id=file)


def file_begin(db: Connection, file: int, *, format_: str, size: int, sha256: str, options: str) -> None:
    """What the file is has been found out."""
    values = {"id": file, "format": format_, "size": size, "sha256": sha256, "options": options}
    db.run("import_file_begin", **values)


def file_told(
    db: Connection,
    file: ImportFile,
    *,
    position: int,
    share: float,
    records: int,
    counts: Mapping[str, int],
    notes: Mapping[str, int] | None = None,
    seconds: float,
) -> None:
    """How far the file is now; what another chunk came to is added."""
    values = {
        "id": file.id, "position": position, "share": share, "records": file.records + records,
        "counts": _json(file.counts + Counter(counts)), "notes": _json(file.notes + Counter(notes)), "seconds": seconds,
    }  # fmt: skip
    db.run("import_file_told", **values)
    db.run("import_progressed", id=file.task)


def file_end(db: Connection, file: int, status: str, error: str = "") -> None:
    """The file is at its end."""
    db.run("import_file_end", id=file, status=status, error=error)
    db.run("import_marks_spent")


def known(db: Connection, file: ImportFile, now: float) -> tuple[int, int] | None:
    """(file, task) that stored this content in the same way before, if all its sources still hold something."""
    values = {"sha256": file.sha256, "size": file.size, "options": file.options, "but": file.id}
    row = db.run("import_known", **values).fetchone()
    if row is None or db.run("import_sources_lost", file=row[0], now=now).fetchone():
        return None
    return row[0], row[1]


def met(db: Connection, file: int, sources: Iterable[int]) -> None:
    """The file has told these sources something."""
    for source in sources:
        db.run("import_source_met", file=file, source=source)


def may_lack(db: Connection, file: int) -> bool:
    """Whether something may be gone of what the file has told."""
    return bool(db.run("import_may_lack", file=file).fetchone()[0])


def lacking(db: Connection, file: int, ids: Iterable[str]) -> int:
    """How many of these texts the sources of the file do not hold any more."""
    values = {"file": file, "ids": json.dumps(list(ids))}
    return db.run("import_lacking", **values).fetchone()[0]


def staged(db: Connection, since: float) -> set[str]:
    """Staged files that are wanted, also by tasks that ended with failures after `since`."""
    return {row[0] for row in db.run("import_staged", since=since)}


def staged_ever(db: Connection) -> set[str]:
    """Staged files that a task has or had."""
    return {row[0] for row in db.run("import_staged_used")}


def put_chunk(db: Connection, chunk: ImportChunk) -> None:
    """Write what became of a chunk."""
    values = {
        "file": chunk.file, "number": chunk.number, "start": chunk.start, "stop": chunk.stop,
        "status": chunk.status, "records": chunk.records, "counts": _json(chunk.counts),
        "errors": json.dumps([{"place": p.place, "reason": p.reason} for p in chunk.problems], ensure_ascii=False),
        "now": chunk.done_at,
    }  # fmt: skip
    db.run("import_chunk_put", **values)


def chunks(
    db: Connection, file: int, *, status: str | None = None, limit: int = -1, offset: int = 0
) -> list[ImportChunk]:
    """Chunks of a file, in their order."""
    values = {"file": file, "status": status, "limit": limit, "offset": offset}
    return [_chunk(row) for row in db.run("import_chunks", **values)]


def chunk_counts(db: Connection, tasks: Sequence[int]) -> dict[int, dict[str, int]]:
    """File -> state -> how many chunks."""
    found: dict[int, dict[str, int]] = {}
    for file, status, count in db.run("import_chunk_counts", tasks=array(tasks)):
        found.setdefault(file, {}).update({status: count} if status else {})
    return found


def next_chunk(db: Connection, file: int) -> int:
    """The number after the last chunk."""
    return db.run("import_chunk_last", file=file).fetchone()[0] + 1


def put_mark(db: Connection, file: int, mark: bytes) -> None:
    """Keep the place of a file's reader, instead of the one that was kept before."""
    db.run("import_mark_put", file=file, mark=mark)


def mark(db: Connection, file: int) -> bytes:
    """The place that was kept; empty if none was."""
    row = db.run("import_mark", file=file).fetchone()
    return b"" if row is None else row[0]


def undated(db: Connection, after: int, limit: int) -> list[Undated]:
    """Live paragraphs past `after` that have no time of their own."""
    return [Undated(*row) for row in db.run("import_undated", after=after, limit=limit)]


def undated_count(db: Connection) -> int:
    """How many there are."""
    return db.run("import_undated_count").fetchone()[0]


def date(db: Connection, paragraph: int, start: float, end: float, terms: bytes) -> bool:
    """Give a paragraph a time and the words that find it by its day; False if it has one already or is gone."""
    values = {"id": paragraph, "start": start, "end": end}
    if db.run("import_date", **values).fetchone() is None:
        return False
    db.run("import_terms", id=paragraph, v=terms)
    return True


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)


def _task(row: Sequence[Any]) -> ImportTask:
    values = list(row)
    values[2] = json.loads(row[2])
    return ImportTask(*values)


def _file(row: Sequence[Any]) -> ImportFile:
    values = list(row)
    values[11], values[14] = bool(row[11]), Counter[str](json.loads(row[14]))
    values[17] = Counter[str](json.loads(row[17]))
    return ImportFile(*values)


def _chunk(row: Sequence[Any]) -> ImportChunk:
    values = list(row)
    values[6] = Counter[str](json.loads(row[6]))
    values[7] = tuple(Problem(one["place"], one["reason"]) for one in json.loads(row[7]))
    return ImportChunk(*values)
