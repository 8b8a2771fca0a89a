"""What `memory_import_admin` answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from ..errors import NotFound
from ..ops import Response
from ..store.ports import Connection
from . import rows as import_rows
from .requests import MOST_CHUNKS
from .rows import ImportChunk, ImportFile, ImportTask
from .warnings import sentences

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = [
    "ChunkItem",
    "Chunks",
    "FileItem",
    "FormatItem",
    "KindItem",
    "PathAliases",
    "ResolvedPath",
    "Retried",
    "Settings",
    "Task",
    "TaskItem",
    "Tasks",
    "chunk_item",
    "items_of",
    "known",
    "shown",
]


class FormatItem(BaseModel):
    """A format that can be imported."""

    format: str
    what: str
    fields: str
    example: str


class KindItem(BaseModel):
    """A way to create a task."""

    action: str
    what: str


class Settings(Response):
    """The settings of imports, what can be imported, and how."""

    enabled: bool = True
    limits: dict[str, Any] = Field(default_factory=dict, description="`[imports]` of the configuration.")
    kinds: list[KindItem] = Field(default_factory=list)
    formats: list[FormatItem] = Field(default_factory=list)
    statuses: list[str] = Field(default_factory=list)
    data_dir: str = ""


class PathAliases(Response):
    """Folders from which files may be imported."""

    aliases: dict[str, str] = Field(default_factory=dict, description="Name to folder; made where it was missing.")
    roots: list[str] = Field(default_factory=list, description="`imports.roots` of the configuration.")


class ResolvedPath(Response):
    """Where it is, and what."""

    alias: str = ""
    relative_path: str = ""
    resolved_path: str = ""
    exists: bool = False
    is_file: bool = False
    is_dir: bool = False
    size: int = 0


class ChunkItem(BaseModel):
    """A stretch of a file."""

    index: int
    status: str
    start: int
    stop: int
    records: int
    counts: dict[str, int]
    errors: list[dict[str, str]] = Field(description="place, reason.")
    done_at: float | None


class FileItem(BaseModel):
    """A file of a task."""

    file_id: str
    name: str
    format: str
    status: str
    size: int
    progress: float
    records: int
    counts: dict[str, int] = Field(
        description="What became of the records: `stored`, `existing`, `revised`, `failed` …; `gone`: told by the same "
        "file before, and not there any more."
    )
    chunks: dict[str, int] = Field(description="Chunks by status.")
    error: str
    warnings: list[str] = Field(default_factory=list, description="What is missing or left out of what was stored.")
    chunk_list: list[ChunkItem] = Field(default_factory=list[ChunkItem])


class TaskItem(BaseModel):
    """An import; times in epoch seconds."""

    task_id: str = ""
    kind: str = ""
    status: str = ""
    progress: float = Field(default=0.0, description="0..1, by bytes where the format tells.")
    records: int = 0
    counts: dict[str, int] = Field(default_factory=dict)
    bytes_total: int = 0
    bytes_done: int = 0
    rate: float = Field(default=0.0, description="Records a second.")
    seconds_left: float | None = Field(default=None, description="None while it cannot be told.")
    params: dict[str, Any] = Field(default_factory=dict)
    error: str = ""
    warnings: list[str] = Field(default_factory=list, description="Those of its files, with their names.")
    retry_parent_task_id: str = ""
    requested_by: str = ""
    created_at: float = 0.0
    started_at: float | None = None
    finished_at: float | None = None
    updated_at: float = 0.0
    files: list[FileItem] = Field(default_factory=list[FileItem])


class Task(Response):
    """A task as it stands."""

    task: TaskItem = Field(default_factory=TaskItem)


class Retried(Task):
    """A new task that reads again what failed."""

    retry_summary: dict[str, int] = Field(default_factory=dict)


class Tasks(Response):
    """Tasks, the newest first."""

    items: list[TaskItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class Chunks(Response):
    """Chunks of a file, in their order."""

    task_id: str = ""
    file_id: str = ""
    items: list[ChunkItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


async def shown(kernel: SDKMemoryKernel, task: int, chunks: bool = False) -> TaskItem:
    """A task as it stands. Raises NotFound."""

    def read(db: Connection) -> TaskItem:
        return items_of(db, [known(db, task)], chunks)[0]

    return await kernel.store.read(read)


def known(db: Connection, task: int) -> ImportTask:
    """The task of a row. Raises NotFound."""
    found = import_rows.task(db, task)
    if found is None:
        raise NotFound(f"task_id: there is no import i{task}.", field="task_id")
    return found


def items_of(db: Connection, tasks: Iterable[ImportTask], chunks: bool = False) -> list[TaskItem]:
    """Tasks with their files, in their order."""
    tasks = list(tasks)
    ids = [task.id for task in tasks]
    counts, files = import_rows.chunk_counts(db, ids), dict[int, list[ImportFile]]()
    for file in import_rows.files(db, ids):
        files.setdefault(file.task, []).append(file)
    return [_task(db, task, files.get(task.id, []), counts, chunks) for task in tasks]


def _task(
    db: Connection,
    task: ImportTask,
    files: list[ImportFile],
    chunks: dict[int, dict[str, int]],
    with_chunks: bool,
) -> TaskItem:
    done, total = sum(f.size * _share(f) for f in files), sum(f.size for f in files)
    share = 1.0 if task.status.startswith("completed") else done / total if total else 0.0
    records, seconds = sum(f.records for f in files), sum(f.seconds for f in files)
    left = seconds / share * (1 - share) if task.is_open and 0 < share < 1 and seconds else None
    return TaskItem(
        task_id=f"i{task.id}", kind=task.kind, status=task.status, progress=round(share, 4), records=records,
        counts=dict(sum((f.counts for f in files), Counter[str]())), bytes_total=total, bytes_done=round(done),
        rate=round(records / seconds, 1) if seconds else 0.0, seconds_left=None if left is None else round(left, 1),
        params=task.params, error=task.error, retry_parent_task_id=f"i{task.parent}" if task.parent else "",
        warnings=[f"{f.name}: {one}" for f in files for one in sentences(f.notes)],
        requested_by=task.requested_by, created_at=task.created_at, started_at=task.started_at,
        finished_at=task.finished_at, updated_at=task.updated_at,
        files=[_file(db, f, chunks.get(f.id, {}), with_chunks) for f in files],
    )  # fmt: skip


def _share(file: ImportFile) -> float:
    return 1.0 if file.status in ("completed", "skipped", "failed") else file.share


def _file(db: Connection, file: ImportFile, chunks: dict[str, int], with_chunks: bool) -> FileItem:
    listed = import_rows.chunks(db, file.id, limit=MOST_CHUNKS) if with_chunks else []
    return FileItem(
        file_id=str(file.id), name=file.name, format=file.format, status=file.status, size=file.size,
        progress=round(file.share, 4), records=file.records, counts=dict(file.counts), chunks=chunks, error=file.error,
        warnings=sentences(file.notes),
        chunk_list=[chunk_item(one) for one in listed],
    )  # fmt: skip


def chunk_item(chunk: ImportChunk) -> ChunkItem:
    """A chunk as it is shown."""
    return ChunkItem(
        index=chunk.number, status=chunk.status, start=chunk.start, stop=chunk.stop, records=chunk.records,
        counts=dict(chunk.counts), errors=[{"place": p.place, "reason": p.reason} for p in chunk.problems],
        done_at=chunk.done_at,
    )  # fmt: skip
