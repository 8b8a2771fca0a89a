"""Imports as rows: tasks, their files, and the chunks in which files are stored."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ..errors import NotFound
from ..store import tasks as task_rows
from ..store.ports import Connection
from ..store.queries import array

__all__ = ["STATES", "ChunkItem", "ImportFile", "ImportTask", "NewImportFile"]

OPEN = ("queued", "preparing", "running", "cancel_requested")
"""States of a task that is not at its end."""
STATES = (*OPEN, "cancelled", "completed", "completed_with_errors", "failed")


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A task; times in epoch seconds."""

    id: int
    kind: str
    params: dict[str, Any]
    status: str
    parent: int | None
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
class ChunkItem:
    """A stretch of a file."""

    index: int
    status: str
    start: int
    stop: int
    records: int
    counts: dict[str, int]
    errors: Annotated[list[dict[str, str]], Field(description="place, reason.")]
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
    values = {"kind": kind, "params": _json(params), "parent": parent, "requested_by": requested_by}
    task = db.run("import_task_insert", **values).fetchone()[0]
    task_rows.enqueue(db, "import", task, due_at=now, now=now)
    for file in files:
        row = {"task": task, "name": file.name, "root": file.root, "path": file.path, "format": file.format,
               "size": file.size, "sha256": file.sha256, "position": file.position, "rest": int(file.rest)}  # fmt: skip
        id_ = db.run("import_file_insert", **row).fetchone()[0]
        for number, (start, stop) in enumerate(file.chunks):
            db.run("import_chunk_queue", file=id_, number=number, start=start, stop=stop)
    return task


def open_params(db: Connection) -> list[tuple[int, dict[str, Any]]]:
    """(task, what it was asked for) of those that wait or are under way and were not cancelled."""
    return [(task, json.loads(params)) for task, params in db.run("import_open_params")]


def telling(db: Connection, paragraphs: Iterable[int], since: float) -> list[int]:
    """Tasks at work after `since` that tell something in the sources of these paragraphs."""
    return [row[0] for row in db.run("import_telling", paragraphs=array(paragraphs), since=since)]


def states(db: Connection) -> dict[str, int]:
    """State -> tasks in it; every state is there."""
    found = task_rows.counts(db, "import")
    return {state: found[state] for state in STATES}


def cancel(db: Connection, task: int, now: float) -> str | None:
    """Cancel what waits, ask what runs to end; the new state, None if it cannot be cancelled."""
    status = task_rows.cancel(db, "import", task, now=now)
    if status == "cancelled":
        cancel_rest(db, task)
    return status


def cancel_rest(db: Connection, task: int) -> None:
    """What was not read never is."""
    db.run("import_files_cancelled", task=task)
    db.run("import_chunks_cancelled", task=task)


def task(db: Connection, id_: int) -> ImportTask:
    """The task of this row. Raises NotFound."""
    if found := tasks(db, id_=id_):
        return found[0]
    raise NotFound(f"task_id: there is no import i{id_}.", field="task_id")


def tasks(
    db: Connection, *, id_: int | None = None, status: str | None = None, limit: int = 1, offset: int = 0
) -> list[ImportTask]:
    """Tasks, the newest first."""
    rows = db.run("import_tasks", id=id_, status=status, limit=limit, offset=offset)
    return [ImportTask(row, kind, json.loads(params), *rest) for row, kind, params, *rest in rows]


def files(db: Connection, tasks: Iterable[int]) -> list[ImportFile]:
    """The files of the tasks, in their order."""
    return [_file(row) for row in db.run("import_files", id=None, tasks=array(tasks))]


def file(db: Connection, id_: int) -> ImportFile:
    """The file of this row, which a task has."""
    return _file(db.run("import_files", id=id_, tasks=array(())).fetchone())


def add_progress(
    db: Connection,
    file: ImportFile,
    *,
    position: int,
    share: float,
    records: int = 0,
    counts: Mapping[str, int] | None = None,
    notes: Mapping[str, int] | None = None,
    seconds: float = 0.0,
) -> None:
    """How far the file is now; what another chunk came to is added."""
    values = {
        "id": file.id, "position": position, "share": share, "records": file.records + records,
        "counts": _json(file.counts + Counter(counts)), "notes": _json(file.notes + Counter(notes)), "seconds": seconds,
    }  # fmt: skip
    db.run("import_file_told", **values)


def file_end(db: Connection, file: int, status: str, error: str = "") -> None:
    """The file is at its end."""
    db.run("import_file_end", id=file, status=status, error=error)


def known(db: Connection, file: ImportFile, now: float) -> ImportFile | None:
    """The file that stored this content in the same way before, if all its sources still hold something."""
    values = {"sha256": file.sha256, "size": file.size, "options": file.options, "but": file.id}
    row = db.run("import_known", **values).fetchone()
    if row is None or db.run("import_sources_lost", file=row[0], now=now).fetchone():
        return None
    return _file(db.run("import_files", id=row[0], tasks=array(())).fetchone())


def keep_chunk(
    db: Connection, file: ImportFile, chunk: ChunkItem, *, position: int, share: float, seconds: float,
    notes: Mapping[str, int] | None = None,
) -> None:  # fmt: skip
    """Write what became of a chunk, and how far the file is with it."""
    values = {
        "file": file.id, "number": chunk.index, "start": chunk.start, "stop": chunk.stop, "status": chunk.status,
        "records": chunk.records, "counts": _json(chunk.counts),
        "errors": json.dumps(chunk.errors, ensure_ascii=False), "now": chunk.done_at,
    }  # fmt: skip
    db.run("import_chunk_put", **values)
    add_progress(
        db, file, position=position, share=share, records=chunk.records, counts=chunk.counts, notes=notes, seconds=seconds,
    )  # fmt: skip


def chunks(
    db: Connection, file: int, *, status: str | None = None, limit: int = -1, offset: int = 0
) -> list[ChunkItem]:
    """Chunks of a file, in their order."""
    rows = db.run("import_chunks", file=file, status=status, limit=limit, offset=offset)
    return [
        ChunkItem(number, status, start, stop, records, json.loads(counts), json.loads(errors), at)
        for number, status, start, stop, records, counts, errors, at in rows
    ]


def chunk_counts(db: Connection, tasks: Sequence[int]) -> dict[int, dict[str, int]]:
    """File -> state -> how many chunks."""
    found: dict[int, dict[str, int]] = {}
    for file, status, count in db.run("import_chunk_counts", tasks=array(tasks)):
        found.setdefault(file, {}).update({status: count} if status else {})
    return found


def next_chunk(db: Connection, file: int) -> int:
    """The number after the last chunk."""
    return db.run("import_chunk_last", file=file).fetchone()[0] + 1


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value), ensure_ascii=False)


def _file(row: Sequence[Any]) -> ImportFile:
    values = list(row)
    values[11], values[14], values[17] = bool(row[11]), Counter(json.loads(row[14])), Counter(json.loads(row[17]))
    return ImportFile(*values)
