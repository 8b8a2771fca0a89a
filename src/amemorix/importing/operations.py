"""`memory_import_admin`: import files in the background, and see how far they are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRequest, NotFound
from ..ops import Operations
from ..store.ports import Connection
from . import rows as import_rows
from .manager import BACKFILL
from .readers.formats import FORMATS, reader_for
from .requests import (
    Common,
    CreateBackfill,
    CreateLpmmConvert,
    CreateLpmmOpenie,
    CreateMaiBotMigration,
    CreatePaste,
    CreateRawScan,
    CreateUpload,
    GetChunks,
    GetTask,
    ListTasks,
    Nothing,
    ResolvePath,
    RetryFailed,
    Where,
    Which,
)
from .responses import (
    Chunks,
    FormatItem,
    KindItem,
    PathAliases,
    ResolvedPath,
    Retried,
    Settings,
    Task,
    Tasks,
    chunk_item,
    items_of,
    known,
    shown,
)
from .roots import ALIASES, STAGING
from .rows import NewImportFile

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
COMPONENT = "memory_import_admin"
STATUSES = (
    "queued", "preparing", "running", "cancel_requested", "cancelled", "completed", "completed_with_errors", "failed",
)  # fmt: skip


@ops.operation(COMPONENT, "settings", "get_settings", "get_guide")
async def settings(kernel: SDKMemoryKernel, request: Nothing) -> Settings:  # noqa: ARG001
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
        statuses=list(STATUSES),
        data_dir=str(kernel.store.folder),
    )


@ops.operation(COMPONENT, "path_aliases", "get_path_aliases")
async def path_aliases(kernel: SDKMemoryKernel, request: Nothing) -> PathAliases:  # noqa: ARG001
    """Name the folders that files may be imported from."""
    found = await kernel.imports.blocking(kernel.imports.places.aliases)
    return PathAliases(aliases={name: str(path) for name, path in found.items()}, roots=kernel.imports.places.roots)


@ops.operation(COMPONENT, "resolve_path", "resolve")
async def resolve_path(kernel: SDKMemoryKernel, request: ResolvePath) -> ResolvedPath:
    """Say where a path leads, and what is there."""
    places = kernel.imports.places

    def look() -> ResolvedPath:
        root, path = _root_of(kernel, request, "raw")
        shown = ResolvedPath(alias=root, relative_path=path, resolved_path=str(places.shown(root, path)))
        try:
            with places.opened(root, path) as opened:
                about = {
                    "exists": True,
                    "is_file": not opened.is_folder,
                    "is_dir": opened.is_folder,
                    "size": opened.size,
                }
        except NotFound:
            if request.must_exist:
                raise
            return shown
        return shown.model_copy(update=about)

    return await kernel.imports.blocking(look)


@ops.operation(COMPONENT, "create_upload", effect="write", role="admin")
async def create_upload(kernel: SDKMemoryKernel, request: CreateUpload) -> Task:
    """Import files that were uploaded, or whose content is handed over."""
    kernel.imports.refuse_if_off()
    _check_columns(request)
    most = kernel.config.imports.max_paste_chars
    for number, file in enumerate(request.files):
        _not_too_long(f"files.{number}.content", file.content, most)
        request.format_of(file.name, file.format)
    if len(request.files) > kernel.config.imports.max_files_per_task:
        raise InvalidRequest(
            f"files: {len(request.files)} in one task, at most {kernel.config.imports.max_files_per_task} "
            "(`imports.max_files_per_task`).", field="files",
        )  # fmt: skip
    staging = kernel.imports.staging

    def stage() -> list[NewImportFile]:
        found = [staging.find(file.staged) if file.staged else None for file in request.files]
        staged = [one or staging.put(file.name, file.content.encode("utf-8", "replace"))
                  for one, file in zip(found, request.files, strict=True)]  # fmt: skip
        return [
            NewImportFile(
                file.name or one.name,
                STAGING,
                one.path,
                request.format_of(file.name or one.name, file.format),
                one.size,
            )
            for one, file in zip(staged, request.files, strict=True)
        ]

    return await _created(kernel, "upload", request, await kernel.imports.blocking(stage))


@ops.operation(COMPONENT, "create_paste", effect="write", role="admin")
async def create_paste(kernel: SDKMemoryKernel, request: CreatePaste) -> Task:
    """Import a text that is handed over."""
    kernel.imports.refuse_if_off()
    _check_columns(request)
    _not_too_long("content", request.content, kernel.config.imports.max_paste_chars)
    if not request.content.strip():
        raise InvalidRequest("content: there is no text.", field="content")
    format_ = request.format_of(request.name)
    staged = await kernel.imports.blocking(
        lambda: kernel.imports.staging.put(request.name, request.content.encode("utf-8", "replace"))
    )
    file = NewImportFile(request.name, STAGING, staged.path, format_, staged.size)
    return await _created(kernel, "paste", request, [file])


@ops.operation(COMPONENT, "create_raw_scan", effect="write", role="admin")
async def create_raw_scan(kernel: SDKMemoryKernel, request: CreateRawScan) -> Task:
    """Import the files below a folder, or one file."""
    kernel.imports.refuse_if_off()
    _check_columns(request)
    _only_alias(request, "raw")
    request.format_of("")
    return await _created(kernel, "raw_scan", request, await kernel.imports.blocking(lambda: _scanned(kernel, request)))


@ops.operation(COMPONENT, "create_lpmm_openie", effect="write", role="admin")
async def create_lpmm_openie(kernel: SDKMemoryKernel, request: CreateLpmmOpenie) -> Task:
    """Import the OpenIE files of LPMM."""
    kernel.imports.refuse_if_off()
    _only_alias(request, "lpmm")
    pattern = "*.json" if request.include_all_json else "*-openie.json"
    files = await kernel.imports.blocking(lambda: _below(kernel, request, "lpmm", pattern, lambda _: "lpmm_openie"))
    return await _created(kernel, "lpmm_openie", request, files)


@ops.operation(COMPONENT, "create_lpmm_convert", effect="write", role="admin")
async def create_lpmm_convert(kernel: SDKMemoryKernel, request: CreateLpmmConvert) -> Task:
    """Import the store of LPMM; its texts get vectors of this memory's model."""
    kernel.imports.refuse_if_off()
    _only_alias(request, "lpmm", "converted")
    file = await kernel.imports.blocking(lambda: _one(kernel, *_root_of(kernel, request, "lpmm"), "lpmm_parquet"))
    return await _created(kernel, "lpmm_convert", request, [file])


@ops.operation(COMPONENT, "create_maibot_migration", effect="write", role="admin")
async def create_maibot_migration(kernel: SDKMemoryKernel, request: CreateMaiBotMigration) -> Task:
    """Import the chats in a database of MaiBot, which may be in use."""
    kernel.imports.refuse_if_off()
    filters = request.filters()
    reader_for("maibot", filters)

    def find() -> NewImportFile:
        kernel.imports.places.aliases()
        absolute = request.source_db.startswith(("/", "~"))
        place = kernel.imports.places.split(request.source_db) if absolute else ("maibot", request.source_db)
        return _one(kernel, *place, "maibot")

    file = await kernel.imports.blocking(find)
    return await _created(kernel, "maibot_migration", request, [file], filters=filters)


@ops.operation(COMPONENT, "create_temporal_backfill", effect="write", role="admin")
async def create_temporal_backfill(kernel: SDKMemoryKernel, request: CreateBackfill) -> Task:
    """Give paragraphs without a time the one that their text names, else the one when they were stored."""
    kernel.imports.refuse_if_off()
    params = request.model_dump(include={"limit", "dry_run", "no_created_fallback"})
    file = NewImportFile("paragraphs", "", "", BACKFILL, await kernel.imports.undated())
    task = await kernel.imports.create(BACKFILL, params, [file], requested_by=request.requested_by)
    return Task(task=await shown(kernel, task))


@ops.operation(COMPONENT, "list")
async def list_tasks(kernel: SDKMemoryKernel, request: ListTasks) -> Tasks:
    """List imports with their progress."""

    def read(db: Connection) -> Tasks:
        status = request.status or None
        found = import_rows.tasks(db, status=status, limit=request.limit, offset=request.offset)
        items = items_of(db, found)
        return Tasks(items=items, count=len(items), total=import_rows.task_count(db, status))

    return await kernel.store.read(read)


@ops.operation(COMPONENT, "get")
async def get_task(kernel: SDKMemoryKernel, request: GetTask) -> Task:
    """Show an import with its files."""
    return Task(task=await shown(kernel, request.row(), request.include_chunks))


@ops.operation(COMPONENT, "chunks", "get_chunks")
async def get_chunks(kernel: SDKMemoryKernel, request: GetChunks) -> Chunks:
    """Show the chunks of a file, with what could not be stored and why."""
    row = request.row()

    def read(db: Connection) -> Chunks:
        known(db, row)
        file = next((f for f in import_rows.files(db, [row]) if str(f.id) == request.file_id), None)
        if file is None:
            raise NotFound(f"file_id: i{row} has no file {request.file_id!r}.", field="file_id")
        status = request.status or None
        items = [
            chunk_item(c)
            for c in import_rows.chunks(db, file.id, status=status, limit=request.limit, offset=request.offset)
        ]
        counts = import_rows.chunk_counts(db, [row])[file.id]
        total = counts.get(status, 0) if status else sum(counts.values())
        return Chunks(task_id=f"i{row}", file_id=request.file_id, items=items, count=len(items), total=total)

    return await kernel.store.read(read)


@ops.operation(COMPONENT, "cancel", effect="write")
async def cancel(kernel: SDKMemoryKernel, request: Which) -> Task:
    """End an import; what it has stored stays."""
    await kernel.imports.cancel(request.row())
    return Task(task=await shown(kernel, request.row()))


@ops.operation(COMPONENT, "retry_failed", effect="write")
async def retry_failed(kernel: SDKMemoryKernel, request: RetryFailed) -> Retried:
    """Read again the chunks that failed, and what was not read of files that failed."""
    overrides = request.overrides.model_dump(exclude_none=True)
    task, summary = await kernel.imports.retry(request.row(), overrides)
    return Retried(task=await shown(kernel, task), retry_summary=summary)


# creating


async def _created(
    kernel: SDKMemoryKernel, kind: str, request: Common, files: list[NewImportFile], **more: Any
) -> Task:
    params = {**request.params(), **more}
    try:
        task = await kernel.imports.create(kind, params, files, requested_by=request.requested_by)
    except BaseException:
        made = [file.path for file in files if file.root == STAGING]
        given = {f.staged.partition("/")[0] for f in request.files} if isinstance(request, CreateUpload) else set[str]()
        for path in made:
            if path.partition("/")[0] not in given:
                kernel.imports.staging.remove(path)
        raise
    return Task(task=await shown(kernel, task))


def _scanned(kernel: SDKMemoryKernel, request: CreateRawScan) -> list[NewImportFile]:
    said = FORMATS.get(request.format_of(""))
    if said and said.folder:
        return [_one(kernel, *_root_of(kernel, request, "raw"), request.format)]
    return _below(kernel, request, "raw", request.glob, request.format_of, recursive=request.recursive)


def _below(
    kernel: SDKMemoryKernel,
    request: Where,
    alias: str,
    pattern: str,
    format_of: Callable[[str], str],
    *,
    recursive: bool = True,
) -> list[NewImportFile]:
    """The files there that fit. Raises NotFound if none does."""
    root, path = _root_of(kernel, request, alias)
    found = kernel.imports.places.matching(root, path, pattern, recursive)
    some = list(islice(found, kernel.config.imports.max_files_per_task + 1))
    if not some:
        raise NotFound(f"relative_path: no file there fits {pattern!r}.", field="relative_path")
    return [_one(kernel, root, one, format_of(one.rpartition("/")[2])) for one in some]


def _one(kernel: SDKMemoryKernel, root: str, path: str, format_: str) -> NewImportFile:
    with kernel.imports.places.opened(root, path) as opened:
        if opened.is_folder and not (format_ and FORMATS[format_].folder):
            raise InvalidRequest(f"relative_path: {path or root} is a folder.", field="relative_path")
        return NewImportFile(path.rpartition("/")[2] or root, root, path, format_, opened.size)


def _root_of(kernel: SDKMemoryKernel, request: Where, alias: str) -> tuple[str, str]:
    if request.path:
        return kernel.imports.places.split(request.path)
    kernel.imports.places.aliases()
    root = request.alias or alias
    if root not in ALIASES:
        raise InvalidRequest(
            f"alias: there is no {root!r}. Known: {', '.join(ALIASES)}.", field="alias", allowed=list(ALIASES)
        )
    return root, request.relative_path.strip("/") if not request.relative_path.startswith(
        "/"
    ) else request.relative_path


def _only_alias(request: Where, *allowed: str) -> None:
    if request.alias and request.alias not in allowed:
        raise InvalidRequest(
            f"alias: this import takes {', '.join(allowed)}, not {request.alias!r}.",
            field="alias",
            allowed=list(allowed),
        )


def _check_columns(request: Common) -> None:
    """Raises InvalidRequest for a meaning that no column has."""
    if request.columns:
        reader_for("csv", {"columns": request.columns})


def _not_too_long(field: str, content: str, most: int) -> None:
    if len(content) > most:
        raise InvalidRequest(
            f"{field}: {len(content)} characters, at most {most} (`imports.max_paste_chars`); upload it as a file.",
            field=field, limit=most,
        )  # fmt: skip
