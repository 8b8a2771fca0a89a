"""What the first bytes of a database file say about the rest."""

from __future__ import annotations

from pathlib import Path

from ..errors import StorageFailure

__all__ = ["refuse_if_cut_short"]

_HEADER_BYTES = 100
_SIGNS = {"indexes": "indexes/*/current.json", "backups": "backups/*/manifest.json"}
"""What a memory leaves beside its database, and where."""


def refuse_if_cut_short(path: Path) -> None:
    """Raise StorageFailure if the file ends before the last page that its header counts, or lost all that it held.

    SQLite reads missing pages as empty ones and notices only when it needs them. With a write-ahead log beside it the
    file may end early for good reasons, and nothing is said. (Database header: sqlite.org/fileformat2.html, 1.3.)
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        size, log = path.stat().st_size, path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            return
        if not header:
            _refuse_if_lost(path, "empty")
            return
    except FileNotFoundError:
        _refuse_if_lost(path, "not there")
        return
    except OSError as exc:
        raise StorageFailure(f"{path} cannot be read: {exc.strerror}.", file=str(path)) from exc
    wanted = _bytes_counted(header)
    if size < max(wanted, _HEADER_BYTES):
        raise StorageFailure(
            f"{path} is cut short: {size} of {wanted or 'an unknown number of'} bytes are there. Restore it from a backup.",
            file=str(path), damaged=True,
        )  # fmt: skip


def _refuse_if_lost(path: Path, state: str) -> None:
    """Without rows it is a memory that was never begun, unless indexes or backups of one stand beside it."""
    beside = next((kind for kind, sign in _SIGNS.items() if next(path.parent.glob(sign), None) is not None), "")
    if beside:
        raise StorageFailure(
            f"{path} is {state}, and {beside} of a memory stand beside it: what it held is lost. Restore it from a backup; "
            f"to begin anew, move {path.parent} away.", file=str(path), damaged=True,
        )  # fmt: skip


def _bytes_counted(header: bytes) -> int:
    """Page size times pages; 0 where the header does not vouch for its count, because an older writer left it."""
    page = int.from_bytes(header[16:18], "big")
    vouched = len(header) == _HEADER_BYTES and header[24:28] == header[92:96]
    return (65_536 if page == 1 else page) * int.from_bytes(header[28:32], "big") if vouched else 0
