"""`memory_runtime_admin`: a whole memory as one file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ..fields import PathInput
from ..ops import Operations, Request, Response
from .portable_file import PortableHeader

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class ExportMemory(Request):
    """What to write, and where to."""

    path: PathInput = Field(
        default="",
        description="A file below `exports/` in the data directory, or an absolute path within `backup.roots`; empty for a name of its own.",
    )  # fmt: skip
    vectors: bool = Field(default=False, description="With the vectors; without, they are made again from the texts.")


class ImportExport(Request):
    """An export."""

    path: PathInput = Field(
        min_length=1,
        description="A file below `exports/` in the data directory, or an absolute path within `backup.roots`.",
    )  # fmt: skip


class ExportedMemory(Response):
    """The file."""

    path: str = ""
    bytes: int = 0
    sha256: str = Field(default="", description="Checksum of all lines but the last, which holds it.")
    rows: int = 0
    vectors: bool = False
    counts: dict[str, int] = Field(default_factory=dict, description="Rows by table.")


class ImportedExport(Response):
    """What the memory was filled with."""

    imported: bool = False
    rows: int = 0
    vectors: bool = False
    fingerprint: str = Field(default="", description="The model of the vectors; of another model they are made anew.")
    counts: dict[str, int] = Field(default_factory=dict, description="Rows by table.")


@ops.operation("memory_runtime_admin", "export", "export_memory", effect="write")
async def export_memory(kernel: SDKMemoryKernel, request: ExportMemory) -> ExportedMemory:
    """Write everything that is stored into one file of JSON lines; calls go on meanwhile."""
    done = await kernel.portable.export(request.path, request.vectors)
    return ExportedMemory(
        path=str(done.path), bytes=done.bytes, sha256=done.sha256, rows=done.header.rows, vectors=request.vectors,
        counts=_counts(done.header),
    )  # fmt: skip


@ops.operation("memory_runtime_admin", "import_export", effect="write")
async def import_export(kernel: SDKMemoryKernel, request: ImportExport) -> ImportedExport:
    """Fill an empty memory with an export; afterwards it answers as the exported one did."""
    header = await kernel.portable.take_in(request.path, kernel.status, kernel)
    return ImportedExport(
        imported=True, rows=header.rows, vectors=header.vectors, fingerprint=header.fingerprint, counts=_counts(header)
    )


def _counts(header: PortableHeader) -> dict[str, int]:
    return {name: shape.rows for name, shape in header.tables.items()}
