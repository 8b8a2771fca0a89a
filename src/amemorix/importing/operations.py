"""`memory_import_admin`: import files in the background, and see how far they are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from itertools import groupby, islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Field, model_validator

from ..errors import InvalidRequest, NotFound
from ..fields import Name, Offset, RequiredName, TimeInput
from ..ids import HIGHEST
from ..ops import NoArguments, Operations, Request, Response
from ..store.ports import Connection
from . import rows as import_rows
from .manager import BACKFILL
from .readers.formats import FORMATS, SUFFIXES, reader_for
from .readers.maibot import MaiBotDatabase
from .records import sentences
from .roots import ALIASES, STAGING
from .rows import STATES, ChunkItem, ImportFile, ImportTask, NewImportFile

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
COMPONENT = "memory_import_admin"
MOST_CHUNKS = 500
Strategy = Literal["auto", "factual", "narrative", "quote"]
Ids = Annotated[list[RequiredName], Field(max_length=10_000)]
RowNumber = Annotated[int, Field(ge=0, le=HIGHEST)]

# what may be asked


class Where(Request):
    """A file or folder, by an alias and the path below it, or by a path below one of `imports.roots`."""

    alias: Name = Field("", description="One of `raw`, `lpmm`, `maibot`, `converted`.")
    relative_path: str = Field("", max_length=4096, description="Below the alias; empty for the folder itself.")
    path: str = Field("", max_length=4096, description="Instead: an absolute path below one of `imports.roots`.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Where:
        if self.path and (self.alias or self.relative_path):
            raise ValueError("give path, or alias with relative_path, not both")
        return self


class ResolvePath(Where):
    """What to resolve."""

    must_exist: bool = Field(True, description="Whether it is an error if nothing is there.")


class Common(Request):
    """What every import may be told."""

    chat_id: Name = Field(
        "", description="The chat of whatever names none of its own; without one everybody may find it."
    )
    scope_type: Literal["", "chat", "global"] = Field(
        "",
        description="`global`: every chat may find the texts, whatever they say of themselves; `chat`: only `chat_id`, "
        "which has to be given: what calls itself global stays in that chat, and what names another chat, or is shown "
        "in every chat as the text of a profile is, counts as bad, but for the groups of OneBot and the users of mem0, "
        "which are put into it; empty: as each says, else `chat_id`.",
    )
    strategy_override: Strategy = Field(
        "auto",
        validation_alias=AliasChoices("strategy_override", "knowledge_type"),
        description="What kind of text the texts are; `auto` tells by their form.",
    )
    dedupe_policy: Literal["manifest", "content_hash", "none"] = Field(
        "manifest",
        description="`none`: read a file again that was imported before; what it told already stays as it is.",
    )
    force: bool = Field(False, description="The same as `dedupe_policy` `none`.")
    chat_log: bool = Field(False, description="Plain texts are saved chats: `name: text` a line. Wants `chat_id`.")
    chat_reference_time: TimeInput = Field(None, description="The time of turns of a chat log that have none.")
    columns: dict[str, str] = Field(
        default_factory=dict, description='For tables: what is in which column, {"text": "comment"}.'
    )
    skip_bad: bool = Field(False, description="Store the good records of a chunk that holds bad ones.")
    dry_run: bool = Field(False, description="Read and check everything, store nothing.")
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    requested_by: Name = ""

    @model_validator(mode="after")
    def _has_its_chat(self) -> Common:
        if self.scope_type == "chat" and not self.chat_id:
            raise ValueError("chat_id is required with scope_type `chat`")
        if self.chat_log and not self.chat_id:
            raise ValueError("chat_id is required with chat_log")
        return self

    def params(self) -> dict[str, Any]:
        """As the task keeps them."""
        names = set(Common.model_fields) - {"requested_by", "dedupe_policy"}
        kept = self.model_dump(include=names, exclude_defaults=True)
        return {**kept, "force": True} if self.dedupe_policy == "none" else kept


class Formatted(Common):
    """An import of files whose format may be said."""

    format: Name = Field("auto", description="One of the formats of `settings`; `auto`: by name and content.")
    input_mode: Literal["", "text", "json"] = Field("", description="Older: `json` is format `json`, `text` is `txt`.")

    def format_of(self, name: str, own: str = "") -> str:
        """The format said for a file of this name; empty to find it out. Raises InvalidRequest for an unknown one."""
        said = own or ("" if self.format == "auto" else self.format)
        said = said or {"json": "json", "text": "txt"}.get(self.input_mode, "")
        if said and said not in FORMATS:
            raise InvalidRequest(
                f"format: there is no {said!r}. Known: {', '.join(FORMATS)}.", field="format", allowed=list(FORMATS)
            )
        suffix = f".{name.rpartition('.')[2].lower()}" if "." in name else ""
        plain = said == "txt" or (not said and SUFFIXES.get(suffix, "txt") == "txt")
        return "chat_log" if self.chat_log and plain else said


class CreateLpmmOpenie(Common, Where):
    """The OpenIE files below a folder, or one of them."""

    include_all_json: bool = Field(False, description="All `.json` files, not only those that end in `-openie.json`.")


class CreateLpmmConvert(Common, Where):
    """The folder of a store of LPMM."""


class CreateMaiBotMigration(Common):
    """A database of MaiBot, and which of its messages."""

    source_db: str = Field(
        min_length=1, max_length=4096,
        description="Its path below the alias `maibot`, or an absolute one below one of `imports.roots`.",
    )  # fmt: skip
    time_from: TimeInput = Field(None, description="Only messages from then on.")
    time_to: TimeInput = Field(None, description="Only messages until then.")
    stream_ids: Ids = Field(default_factory=list, description="Only of these chats.")
    group_ids: Ids = Field(default_factory=list, description="Only of these groups.")
    user_ids: Ids = Field(default_factory=list, description="Only by these users.")
    start_id: RowNumber | None = Field(None, description="Only from this row of the table on.")
    end_id: RowNumber | None = Field(None, description="Only up to this row.")


class FileInput(Request):
    """A file: staged before, or its content."""

    staged: Name = Field(
        "", validation_alias=AliasChoices("staged", "staged_id", "id", "path"), description="Id of an uploaded file."
    )
    name: Name = Field("", description="Its name; with `content` it tells the format.")
    content: str = Field("", description="Its text, instead of `staged`.")
    format: Name = Field("", description="Its format, if it differs from the task's.")

    @model_validator(mode="after")
    def _one_of_both(self) -> FileInput:
        if bool(self.staged) == bool(self.content):
            raise ValueError("give staged or content, one of them")
        if self.content and not self.name:
            raise ValueError("name is required with content")
        return self


class CreateUpload(Formatted):
    """Files that were uploaded, or are handed over here."""

    files: list[FileInput] = Field(min_length=1, max_length=100_000)


class CreatePaste(Formatted):
    """A text."""

    content: str = Field(description="The text, of any format.")
    name: Name = Field("paste.txt", description="What to call it; its source is `import:NAME`.")


class CreateRawScan(Formatted, Where):
    """The files below a folder."""

    glob: str = Field("*", min_length=1, max_length=512, description="Only files whose name or path fits.")
    recursive: bool = Field(True, description="Folders within it as well.")


class CreateBackfill(Request):
    """What to date."""

    limit: int = Field(100_000, ge=1, le=1_000_000_000, description="Most paragraphs looked at.")
    dry_run: bool = Field(False, description="Only count.")
    no_created_fallback: bool = Field(
        False, description="Leave those whose text names no time as they are; else they get the time they were stored."
    )
    requested_by: Name = ""


class ListImports(Request):
    """Which tasks to list."""

    limit: int = Field(50, ge=1, le=1000)
    offset: Offset = 0
    status: Literal["", "queued", "preparing", "running", "cancel_requested", "cancelled", "completed",
                    "completed_with_errors", "failed"] = ""  # fmt: skip


class Which(Request):
    """A task."""

    task_id: RequiredName = Field(description="Such as `i12`.")

    def row(self) -> int:
        """Its row. Raises NotFound."""
        digits = self.task_id.removeprefix("i")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
            raise NotFound(f"task_id: there is no import {self.task_id!r}.", field="task_id")
        return int(digits)


class GetImport(Which):
    """Which task to show."""

    include_chunks: bool = Field(False, description=f"With the first {MOST_CHUNKS} chunks of each file.")


class GetChunks(Which):
    """Which chunks to show."""

    file_id: RequiredName
    offset: Offset = 0
    limit: int = Field(50, ge=1, le=MOST_CHUNKS)
    status: Literal["", "queued", "completed", "failed", "cancelled"] = ""


class Overrides(Request):
    """What the new task is told differently."""

    skip_bad: bool | None = Field(default=None, description="Store the good records of chunks that hold bad ones.")
    chat_id: Name | None = None
    strategy_override: Strategy | None = None


class RetryFailed(Which):
    """The task whose failures are read again."""

    overrides: Overrides = Field(default_factory=Overrides)


# what is answered


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


class ImportItem(BaseModel):
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

    task: ImportItem = Field(default_factory=ImportItem)


class Retried(Task):
    """A new task that reads again what failed."""

    retry_summary: dict[str, int] = Field(default_factory=dict)


class Tasks(Response):
    """Tasks, the newest first."""

    items: list[ImportItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class Chunks(Response):
    """Chunks of a file, in their order."""

    task_id: str = ""
    file_id: str = ""
    items: list[ChunkItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


# the actions


@ops.operation(COMPONENT, "settings", "get_settings", "get_guide")
async def settings(kernel: SDKMemoryKernel, request: NoArguments) -> Settings:  # noqa: ARG001
    """Show what can be imported, how, and within which limits."""
    created = [op for op in ops if (op.action or "").startswith("create_")]
    return Settings(
        enabled=kernel.config.imports.enabled,
        limits=kernel.config.imports.model_dump(mode="json"),
        kinds=[KindItem(action=op.action or "", what=op.summary) for op in created],
        formats=[
            FormatItem(format=name, what=one.what, fields=one.fields, example=one.example)
            for name, one in FORMATS.items()
        ],
        statuses=list(STATES),
        data_dir=str(kernel.store.folder),
    )


@ops.operation(COMPONENT, "path_aliases", "get_path_aliases")
async def path_aliases(kernel: SDKMemoryKernel, request: NoArguments) -> PathAliases:  # noqa: ARG001
    """Name the folders that files may be imported from."""
    found = await asyncio.to_thread(kernel.imports.places.aliases)
    return PathAliases(aliases={name: str(path) for name, path in found.items()}, roots=kernel.imports.places.roots)


@ops.operation(COMPONENT, "resolve_path", "resolve")
async def resolve_path(kernel: SDKMemoryKernel, request: ResolvePath) -> ResolvedPath:
    """Say where a path leads, and what is there."""
    places = kernel.imports.places

    def look() -> ResolvedPath:
        root, path = _place(kernel, request, *ALIASES)
        shown = {"alias": root, "relative_path": path, "resolved_path": str(places.shown(root, path))}
        try:
            with places.opened(root, path) as opened:
                found = {"is_file": not opened.is_folder, "is_dir": opened.is_folder, "size": opened.size}
        except NotFound:
            if request.must_exist:
                raise
            return ResolvedPath.model_validate(shown)
        return ResolvedPath.model_validate({**shown, **found, "exists": True})

    return await asyncio.to_thread(look)


@ops.operation(COMPONENT, "create_upload", effect="write", role="admin")
async def create_upload(kernel: SDKMemoryKernel, request: CreateUpload) -> Task:
    """Import files that were uploaded, or whose content is handed over."""
    staging = kernel.imports.staging

    def stage() -> list[NewImportFile]:
        for number, file in enumerate(request.files):
            _check_length(kernel, f"files.{number}.content", file.content)
            request.format_of(file.name, file.format)
        kernel.imports.refuse_if_too_many(len(request.files))
        found = [staging.find(file.staged) if file.staged else None for file in request.files]
        made: list[NewImportFile] = []
        for known, file in zip(found, request.files, strict=True):
            one = known or staging.put(file.name, file.content.encode("utf-8", "replace"))
            name = file.name or one.name
            made.append(NewImportFile(name, STAGING, one.path, request.format_of(name, file.format), one.size))
        return made

    return await _created(
        kernel, "upload", request, stage, keep={file.staged.partition("/")[0] for file in request.files}
    )


@ops.operation(COMPONENT, "create_paste", effect="write", role="admin")
async def create_paste(kernel: SDKMemoryKernel, request: CreatePaste) -> Task:
    """Import a text that is handed over."""

    def stage() -> list[NewImportFile]:
        _check_length(kernel, "content", request.content)
        if not request.content.strip():
            raise InvalidRequest("content: there is no text.", field="content")
        format_ = request.format_of(request.name)
        staged = kernel.imports.staging.put(request.name, request.content.encode("utf-8", "replace"))
        return [NewImportFile(request.name, STAGING, staged.path, format_, staged.size)]

    return await _created(kernel, "paste", request, stage)


@ops.operation(COMPONENT, "create_raw_scan", effect="write", role="admin")
async def create_raw_scan(kernel: SDKMemoryKernel, request: CreateRawScan) -> Task:
    """Import the files below a folder, or one file."""

    def find() -> list[NewImportFile]:
        known = request.format_of("")
        if known and FORMATS[known].folder:
            return [_file_at(kernel, *_place(kernel, request, "raw"), known)]
        return _files_below(kernel, request, "raw", request.glob, request.format_of, recursive=request.recursive)

    return await _created(kernel, "raw_scan", request, find)


@ops.operation(COMPONENT, "create_lpmm_openie", effect="write", role="admin")
async def create_lpmm_openie(kernel: SDKMemoryKernel, request: CreateLpmmOpenie) -> Task:
    """Import the OpenIE files of LPMM."""
    pattern = "*.json" if request.include_all_json else "*-openie.json"
    find = partial(_files_below, kernel, request, "lpmm", pattern, lambda _: "lpmm_openie")
    return await _created(kernel, "lpmm_openie", request, find)


@ops.operation(COMPONENT, "create_lpmm_convert", effect="write", role="admin")
async def create_lpmm_convert(kernel: SDKMemoryKernel, request: CreateLpmmConvert) -> Task:
    """Import the store of LPMM; its texts get vectors of this memory's model."""

    def find() -> list[NewImportFile]:
        return [_file_at(kernel, *_place(kernel, request, "lpmm", "converted"), "lpmm_parquet")]

    return await _created(kernel, "lpmm_convert", request, find)


@ops.operation(COMPONENT, "create_maibot_migration", effect="write", role="admin")
async def create_maibot_migration(kernel: SDKMemoryKernel, request: CreateMaiBotMigration) -> Task:
    """Import the chats in a database of MaiBot, which may be in use."""
    filters = request.model_dump(include=set(MaiBotDatabase.takes), exclude_defaults=True)

    def find() -> list[NewImportFile]:
        reader_for("maibot", filters)
        kernel.imports.places.aliases()
        absolute = request.source_db.startswith(("/", "~"))
        place = kernel.imports.places.split(request.source_db) if absolute else ("maibot", request.source_db)
        return [_file_at(kernel, *place, "maibot")]

    return await _created(kernel, "maibot_migration", request, find, filters=filters)


@ops.operation(COMPONENT, "create_temporal_backfill", effect="write", role="admin")
async def create_temporal_backfill(kernel: SDKMemoryKernel, request: CreateBackfill) -> Task:
    """Give paragraphs without a time the one that their text names, else the one when they were stored."""
    kernel.imports.refuse_if_off()
    params = request.model_dump(include={"limit", "dry_run", "no_created_fallback"})
    undated = await kernel.store.read(lambda db: db.run("import_undated_count").fetchone()[0])
    file = NewImportFile("paragraphs", "", "", BACKFILL, undated)
    task = await kernel.imports.create(BACKFILL, params, [file], requested_by=request.requested_by)
    return Task(task=await _shown(kernel, task))


@ops.operation(COMPONENT, "list")
async def list_tasks(kernel: SDKMemoryKernel, request: ListImports) -> Tasks:
    """List imports with their progress."""

    def read(db: Connection) -> Tasks:
        status = request.status or None
        items = _items(db, import_rows.tasks(db, status=status, limit=request.limit, offset=request.offset))
        states = import_rows.states(db)
        total = states[status] if status else sum(states.values())
        return Tasks(items=items, count=len(items), total=total)

    return await kernel.store.read(read)


@ops.operation(COMPONENT, "get")
async def get_task(kernel: SDKMemoryKernel, request: GetImport) -> Task:
    """Show an import with its files."""
    return Task(task=await _shown(kernel, request.row(), request.include_chunks))


@ops.operation(COMPONENT, "chunks", "get_chunks")
async def get_chunks(kernel: SDKMemoryKernel, request: GetChunks) -> Chunks:
    """Show the chunks of a file, with what could not be stored and why."""
    row, status = request.row(), request.status or None

    def read(db: Connection) -> Chunks:
        import_rows.task(db, row)
        file = next((f for f in import_rows.files(db, [row]) if str(f.id) == request.file_id), None)
        if file is None:
            raise NotFound(f"file_id: i{row} has no file {request.file_id!r}.", field="file_id")
        found = import_rows.chunks(db, file.id, status=status, limit=request.limit, offset=request.offset)
        counts = import_rows.chunk_counts(db, [row])[file.id]
        total = counts.get(status, 0) if status else sum(counts.values())
        return Chunks(task_id=f"i{row}", file_id=request.file_id, items=found, count=len(found), total=total)

    return await kernel.store.read(read)


@ops.operation(COMPONENT, "cancel", effect="write")
async def cancel(kernel: SDKMemoryKernel, request: Which) -> Task:
    """End an import; what it has stored stays."""
    await kernel.imports.cancel(request.row())
    return Task(task=await _shown(kernel, request.row()))


@ops.operation(COMPONENT, "retry_failed", effect="write")
async def retry_failed(kernel: SDKMemoryKernel, request: RetryFailed) -> Retried:
    """Read again the chunks that failed, and what was not read of files that failed."""
    overrides = request.overrides.model_dump(exclude_none=True)
    task, summary = await kernel.imports.retry(request.row(), overrides)
    return Retried(task=await _shown(kernel, task), retry_summary=summary)


# creating


async def _created(
    kernel: SDKMemoryKernel,
    kind: str,
    request: Common,
    find: Callable[[], list[NewImportFile]],
    *,
    keep: Collection[str] = (),
    **more: Any,
) -> Task:
    """Queue the files that `find` finds or stages; if they are refused, what was staged goes, but for the ids of `keep`."""
    kernel.imports.refuse_if_off()
    if request.columns:
        reader_for("csv", {"columns": request.columns})  # refuses a meaning that no column has
    files = await asyncio.to_thread(find)
    params = {**request.params(), **more}
    try:
        task = await kernel.imports.create(kind, params, files, requested_by=request.requested_by)
    except BaseException:
        for file in files:
            if file.root == STAGING and file.path.partition("/")[0] not in keep:
                kernel.imports.staging.remove(file.path)
        raise
    return Task(task=await _shown(kernel, task))


def _files_below(
    kernel: SDKMemoryKernel,
    request: Where,
    alias: str,
    pattern: str,
    format_of: Callable[[str], str],
    *,
    recursive: bool = True,
) -> list[NewImportFile]:
    """The files there that fit. Raises NotFound if none does."""
    root, path = _place(kernel, request, alias)
    found = kernel.imports.places.matching(root, path, pattern, recursive)
    some = list(islice(found, kernel.config.imports.max_files_per_task + 1))
    if not some:
        raise NotFound(f"relative_path: no file there fits {pattern!r}.", field="relative_path")
    return [_file_at(kernel, root, one, format_of(one.rpartition("/")[2])) for one in some]


def _file_at(kernel: SDKMemoryKernel, root: str, path: str, format_: str) -> NewImportFile:
    with kernel.imports.places.opened(root, path) as opened:
        if opened.is_folder and not (format_ and FORMATS[format_].folder):
            raise InvalidRequest(f"relative_path: {path or root} is a folder.", field="relative_path")
        return NewImportFile(path.rpartition("/")[2] or root, root, path, format_, opened.size)


def _place(kernel: SDKMemoryKernel, request: Where, *aliases: str) -> tuple[str, str]:
    """(root, path below it); the root is one of the aliases, the first if none is named. Raises InvalidRequest."""
    if request.path:
        return kernel.imports.places.split(request.path)
    kernel.imports.places.aliases()
    root, path = request.alias or aliases[0], request.relative_path
    if root not in aliases:
        raise InvalidRequest(
            f"alias: there is no {root!r} here. Known: {', '.join(aliases)}.", field="alias", allowed=list(aliases)
        )
    return root, path if path.startswith("/") else path.rstrip("/")


def _check_length(kernel: SDKMemoryKernel, field: str, content: str) -> None:
    if len(content) > (most := kernel.config.imports.max_paste_chars):
        raise InvalidRequest(
            f"{field}: {len(content)} characters, at most {most} (`imports.max_paste_chars`); upload it as a file.",
            field=field, limit=most,
        )  # fmt: skip


# showing


async def _shown(kernel: SDKMemoryKernel, task: int, chunks: bool = False) -> ImportItem:
    """A task as it stands. Raises NotFound."""
    return await kernel.store.read(lambda db: _items(db, [import_rows.task(db, task)], chunks)[0])


def _items(db: Connection, tasks: list[ImportTask], with_chunks: bool = False) -> list[ImportItem]:
    """Tasks with their files, in their order."""
    ids = [task.id for task in tasks]
    chunks, items = import_rows.chunk_counts(db, ids), list[ImportItem]()
    files = {id_: [*some] for id_, some in groupby(import_rows.files(db, ids), lambda file: file.task)}
    for task in tasks:
        own = files.get(task.id, [])
        item = _task_item(task, own)
        item.files = [
            FileItem(
                file_id=str(f.id), name=f.name, format=f.format, status=f.status, size=f.size, progress=round(f.share, 4),
                records=f.records, counts=dict(f.counts), chunks=chunks.get(f.id, {}), error=f.error,
                warnings=sentences(f.notes),
                chunk_list=import_rows.chunks(db, f.id, limit=MOST_CHUNKS) if with_chunks else [],
            )
            for f in own
        ]  # fmt: skip
        items.append(item)
    return items


def _task_item(task: ImportTask, files: list[ImportFile]) -> ImportItem:
    total, records, seconds = sum(f.size for f in files), sum(f.records for f in files), sum(f.seconds for f in files)
    done = sum(f.size * (1.0 if f.status in ("completed", "skipped", "failed") else f.share) for f in files)
    share = 1.0 if task.status.startswith("completed") else done / total if total else 0.0
    left = seconds / share * (1 - share) if task.is_open and 0 < share < 1 and seconds else None
    told = {
        "task_id": f"i{task.id}", "progress": round(share, 4), "records": records, "bytes_total": total,
        "bytes_done": round(done), "counts": sum((f.counts for f in files), Counter[str]()),
        "rate": round(records / seconds, 1) if seconds else 0.0, "seconds_left": None if left is None else round(left, 1),
        "retry_parent_task_id": f"i{task.parent}" if task.parent else "",
        "warnings": [f"{f.name}: {one}" for f in files for one in sentences(f.notes)],
    }  # fmt: skip
    return ImportItem.model_validate({**asdict(task), **told})
