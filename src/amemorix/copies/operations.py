"""`memory_runtime_admin`: backups of the memory, and a whole memory as one file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..fields import Name, PathInput, RequiredName
from ..ops import NoArguments, Operations, Request, Response
from .age_files import ExportKey
from .backup_folder import Backup
from .worker import CopyProgress

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

ops: Operations[SDKMemoryKernel] = Operations()


class MakeBackup(Request):
    """Where to."""

    path: PathInput = Field(default="", description="A folder within `backup.roots`; empty for the data directory.")
    check: bool = Field(default=False, description="Read the backup from end to end afterwards.")


class WhichBackup(Request):
    """One backup."""

    backup: RequiredName = Field(description="Its id, or the path of its folder within `backup.roots`.")


class BackupItem(BaseModel):
    """One backup: a folder with a copy of the database and what seals it."""

    id: str = ""
    path: str = ""
    created_at: float = 0.0
    reason: str = Field(default="", description="`manual`, `scheduled`, `before_restore` or `before_import`.")
    bytes: int = 0
    database_id: str = ""
    schema_version: int = 0
    change_seq: int = Field(default=0, description="The last change that it holds.")
    counts: dict[str, int] = Field(default_factory=dict, description="Rows by table.")
    sound: bool = Field(
        default=True, description="False if it was damaged when it was set aside, or a file has another size."
    )
    purged: int = Field(default=0, description="How often rows were erased from it by a purge.")


class Made(Response):
    """The backup; with `check`, what is wrong with it."""

    backup: BackupItem = Field(default_factory=BackupItem)
    checked: bool = False
    problems: list[str] = Field(default_factory=list)


class Backups(Response):
    """What there is, the newest first."""

    backups: list[BackupItem] = Field(default_factory=list)
    every_hours: float = 0.0
    keep: int = 0


class BackupVerdict(Response):
    """Whether a backup can be restored."""

    sound: bool = True
    problems: list[str] = Field(default_factory=list)
    backup: BackupItem = Field(default_factory=BackupItem)


class RestoredBackup(Response):
    """What was put back, and where the rows that were there before are."""

    restored: bool = False
    backup: BackupItem = Field(default_factory=BackupItem)
    set_aside: BackupItem | None = None
    erased: int = Field(default=0, description="Rows that had been purged since, and were not brought back.")


class DeletedBackup(Response):
    """The backup that is gone."""

    deleted: bool = False
    backup: BackupItem = Field(default_factory=BackupItem)


class ExportMemory(Request):
    """What to write, and where to."""

    path: PathInput = Field(
        default="",
        description="A file below `exports/` in the data directory, or an absolute path within `backup.roots`; empty for a name of its own.",
    )  # fmt: skip
    vectors: bool = Field(default=False, description="With the vectors; without, they are made again from the texts.")
    recipients: list[str] = Field(
        default_factory=list, description="Public keys (`age1…`) that the file is encrypted to."
    )
    passphrase_env: Name = Field(
        default="",
        description="Variable of the memory's process with a passphrase that the file is encrypted by instead.",
    )
    plain: bool = Field(default=False, description="Write the file in the clear though the memory is encrypted.")


class ImportExport(Request):
    """An export."""

    path: PathInput = Field(
        min_length=1,
        description="A file below `exports/` in the data directory, or an absolute path within `backup.roots`.",
    )  # fmt: skip
    identity_env: Name = Field(
        default="",
        description="Variable of the memory's process with the private key (`AGE-SECRET-KEY-1…`) that opens the file.",
    )
    passphrase_env: Name = Field(default="", description="Variable of the memory's process with its passphrase.")


class ExportedMemory(Response):
    """The file."""

    path: str = ""
    bytes: int = 0
    sha256: str = Field(default="", description="Checksum of all lines but the last, which holds it.")
    rows: int = 0
    lines: int = Field(default=0, description="Lines of the file: the rows, the header and the checksum.")
    vectors: bool = False
    counts: dict[str, int] = Field(default_factory=dict, description="Rows by table.")


class ImportedExport(Response):
    """What the memory was filled with."""

    imported: bool = False
    rows: int = 0
    vectors: bool = False
    fingerprint: str = Field(default="", description="The model of the vectors; of another model they are made anew.")
    counts: dict[str, int] = Field(default_factory=dict, description="Rows by table.")


@ops.operation("memory_runtime_admin", "backup", effect="write")
async def backup(kernel: SDKMemoryKernel, request: MakeBackup) -> Made:
    """Copy the memory as it is now into a backup; calls go on meanwhile."""
    made = await kernel.backups.make(to=request.path)
    problems = (await kernel.backups.verify(str(made.folder)))[1] if request.check else []
    return Made(backup=_item(made), checked=request.check, problems=problems)


@ops.operation("memory_runtime_admin", "list_backups")
async def list_backups(kernel: SDKMemoryKernel, request: NoArguments) -> Backups:  # noqa: ARG001
    """List the backups in the data directory and within `backup.roots`."""
    settings = kernel.config.backup
    found = await kernel.backups.list()
    return Backups(backups=[_item(one) for one in found], every_hours=settings.every_hours, keep=settings.keep)


@ops.operation("memory_runtime_admin", "verify_backup", "verify")
async def verify_backup(kernel: SDKMemoryKernel, request: WhichBackup) -> BackupVerdict:
    """Compare a backup with its manifest, and look through its database."""
    found, problems = await kernel.backups.verify(request.backup)
    return BackupVerdict(sound=not problems, problems=problems, backup=_item(found))


@ops.operation("memory_runtime_admin", "restore_backup", "restore", effect="destructive")
async def restore_backup(kernel: SDKMemoryKernel, request: WhichBackup) -> RestoredBackup:
    """Put a backup in the place of everything that is stored; that is set aside as a backup first."""
    done = await kernel.backups.restore(request.backup, kernel.status, kernel)
    aside = _item(done.aside) if done.aside else None
    return RestoredBackup(restored=True, backup=_item(done.backup), set_aside=aside, erased=done.erased)


@ops.operation("memory_runtime_admin", "delete_backup", effect="destructive")
async def delete_backup(kernel: SDKMemoryKernel, request: WhichBackup) -> DeletedBackup:
    """Remove a backup for good."""
    gone = await kernel.backups.delete(request.backup)
    return DeletedBackup(deleted=True, backup=_item(gone))


@ops.operation("memory_runtime_admin", "backup_status")
async def backup_status(kernel: SDKMemoryKernel, request: NoArguments) -> CopyProgress:  # noqa: ARG001
    """Tell how far a backup, restore, export or import is."""
    return kernel.copies.progress


@ops.operation("memory_runtime_admin", "export", "export_memory", effect="write")
async def export_memory(kernel: SDKMemoryKernel, request: ExportMemory) -> ExportedMemory:
    """Write everything that is stored into one file of JSON lines; calls go on meanwhile."""
    key = ExportKey.of_environment(
        kernel.surroundings.environ, recipients=request.recipients, passphrase_env=request.passphrase_env
    )
    done = await kernel.portable.export(request.path, request.vectors, key, plain=request.plain)
    return ExportedMemory(
        path=str(done.path), bytes=done.bytes, sha256=done.sha256, rows=done.header.rows, lines=done.header.lines,
        vectors=request.vectors, counts=done.header.counts,
    )  # fmt: skip


@ops.operation("memory_runtime_admin", "import_export", effect="write")
async def import_export(kernel: SDKMemoryKernel, request: ImportExport) -> ImportedExport:
    """Fill an empty memory with an export; afterwards it answers as the exported one did."""
    key = ExportKey.of_environment(
        kernel.surroundings.environ, identity_env=request.identity_env, passphrase_env=request.passphrase_env
    )
    header = await kernel.portable.take_in(request.path, kernel.status, kernel, key)
    return ImportedExport(
        imported=True, rows=header.rows, vectors=header.vectors, fingerprint=header.fingerprint, counts=header.counts
    )


def _item(backup: Backup) -> BackupItem:
    held = asdict(backup.manifest)
    about = {"path": str(backup.folder), "bytes": backup.bytes, "schema_version": held["schema"], "sound": backup.whole}
    return BackupItem.model_validate({**held, **about})
