"""The file that carries a memory to another place: JSON, a line for each row."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import InvalidRequest
from .age_files import ExportKey

__all__ = ["IN_THE_CLEAR", "PortableHeader", "PortableWriter", "TableShape", "header_of", "is_portable", "rows_of_file"]

FORMAT = "amemorix-portable"
FIRST = b'{"format": "amemorix-portable"'
MOST_HEADER_BYTES = 1 << 20
END, BYTES = "end", "base64"


@dataclass(frozen=True, slots=True)
class TableShape:
    """The columns of a table, and how many rows follow."""

    columns: list[str]
    rows: int


@dataclass(frozen=True, slots=True)
class PortableHeader:
    """The first line: what follows, and what the rows have to be read with."""

    schema: int
    created_at: float
    database_id: str
    vectors: bool
    fingerprint: str
    """The model whose vectors answered; empty if there were none."""
    floor: int
    numbers: dict[str, int]
    meta: dict[str, str]
    tables: dict[str, TableShape]
    format: Literal["amemorix-portable"] = FORMAT
    version: Literal[1] = 1

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    @property
    def lines(self) -> int:
        """Lines of the file: one for each row, the header, and the last one, which seals it."""
        return self.rows + 2

    @property
    def counts(self) -> dict[str, int]:
        return {name: shape.rows for name, shape in self.tables.items()}


IN_THE_CLEAR = ExportKey()
_HEADER = TypeAdapter(PortableHeader)


def is_portable(path: Path) -> bool:
    """Whether the file is an export of a whole memory; it may still be damaged."""
    try:
        with path.open("rb") as file:
            return file.read(len(FIRST)) == FIRST
    except OSError:
        return False


def header_of(path: Path, key: ExportKey = IN_THE_CLEAR) -> PortableHeader:
    """The header of an export. Raises InvalidRequest if it is none, one that a newer program wrote, or not to be opened."""
    try:
        with key.reading(path) as file:
            line = file.readline(MOST_HEADER_BYTES)
    except OSError as exc:
        raise InvalidRequest(f"path: {path} cannot be read: {exc.strerror}.", field="path") from exc
    if not line.startswith(FIRST):
        raise InvalidRequest(f"path: {path} is no export of a memory: its first line is not a header.", field="path")
    try:
        return _HEADER.validate_json(line)
    except ValidationError as exc:
        where = ".".join(str(part) for part in exc.errors()[0]["loc"]) or "line 1"
        raise InvalidRequest(
            f"path: the header of {path} cannot be read ({where}): it is damaged, or a newer version wrote it.",
            field="path",
        ) from exc


class PortableWriter:
    """Writes the header, then rows, then the last line, which seals what is before it."""

    def __init__(self, file: BinaryIO, header: PortableHeader) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.rows = 0
        self.bytes = 0
        fields = asdict(header)
        first = {"format": fields.pop("format"), "version": fields.pop("version")}
        self._line({**first, **fields})

    def row(self, table: str, values: Sequence[Any]) -> None:
        self.rows += 1
        plain = ({BYTES: base64.b64encode(one).decode()} if isinstance(one, bytes) else one for one in values)
        self._line({table: [*plain]})

    def end(self) -> str:
        """The last line; returns the checksum of all before it."""
        seal = self._digest.hexdigest()
        self._line({END: {"rows": self.rows, "sha256": seal}})
        return seal

    def _line(self, value: dict[str, Any]) -> None:
        raw = json.dumps(value, ensure_ascii=False).encode() + b"\n"
        self._digest.update(raw)
        self._file.write(raw)
        self.bytes += len(raw)


def rows_of_file(file: BinaryIO, path: Path) -> Iterator[tuple[int, str, list[Any]]]:
    """(bytes so far, table, values) of each row; the file stands at its start.

    Raises InvalidRequest for a line that is no row, and at the end if the file is not the whole that was written.
    """
    digest, rows, number, read = hashlib.sha256(), 0, 0, 0
    for number, line in enumerate(file, 1):
        read += len(line)
        if number == 1:
            digest.update(line)
            continue
        try:
            ((table, value),) = json.loads(line).items()
        except (ValueError, AttributeError, RecursionError) as exc:
            raise _damaged(path, f"line {number} is no row") from exc
        if table == END:
            if value != {"rows": rows, "sha256": digest.hexdigest()} or file.read(1):
                raise _damaged(path, f"line {number} does not seal what is before it")
            return
        if not isinstance(value, list):
            raise _damaged(path, f"line {number} is no row")
        digest.update(line)
        rows += 1
        yield read, table, [_read(one) for one in cast("list[Any]", value)]
    raise _damaged(path, f"it ends after line {number}, before its last one")


def _damaged(path: Path, what: str) -> InvalidRequest:
    return InvalidRequest(f"path: {path} is damaged: {what}.", field="path")


def _read(value: Any) -> Any:
    """A value as the database holds it; what is none of its kinds is left for the table to refuse."""
    if isinstance(value, dict):
        return base64.b64decode(str(cast("dict[str, Any]", value).get(BYTES)), validate=True)
    return value
