"""What a ranking needs of every paragraph beside its words, in columns: who may see it and when, and what speaks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sorted_arrays import contains, distinct
from ..store.rows.paragraphs import Visible
from ..store.sealed_files import Folder, load_array, save_array

__all__ = ["ColumnRow", "ParagraphColumns"]

_ROW = np.dtype([
    ("id", "<i8"), ("scope", "<i8"), ("speaker", "<i8"), ("flags", "<i8"), ("event_start", "<f8"), ("recorded_at", "<f8"),
    ("expires_at", "<f8"),
])  # fmt: skip
_FILE = "columns.npy"
_CHUNK_ROWS = 4_000
_MOST_RECENT, _RECENT_SHARE = 4_000, 1 / 16
"""Rows beside the large table from which they are merged into it."""

Ids = NDArray[np.int64]
Table = NDArray[np.void]


class ColumnRow(NamedTuple):
    """A paragraph that is alive and current; times in epoch seconds."""

    id: int
    scope: int
    speaker: int
    flags: int
    event_start: float | None
    recorded_at: float
    expires_at: float | None


@dataclass(frozen=True, slots=True)
class _State:
    """A large table, a small one of what came since, and the ids of the large one that count no more; all by id."""

    base: Table
    recent: Table
    gone: Ids

    def rows_of(self, ids: Ids) -> Table:
        """The rows of those of the ascending ids that are here, by id."""
        base = _rows_of(self.base, ids[~contains(self.gone, ids)] if len(self.gone) else ids)
        recent = _rows_of(self.recent, ids)
        return _by_id(np.concatenate([base, recent])) if len(recent) else base

    def merged(self) -> Table:
        kept = self.base if not len(self.gone) else self.base[~contains(self.gone, self.base["id"])]
        return _by_id(np.concatenate([kept, self.recent]))


class ParagraphColumns:
    """The columns of paragraphs; a change puts a new state in the place of the old one, which searches go on reading."""

    name = "columns"
    fingerprint = "columns:1"

    def __init__(self) -> None:
        self._state = _State(np.zeros(0, _ROW), np.zeros(0, _ROW), np.zeros(0, np.int64))
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return len(self._state.base) - len(self._state.gone) + len(self._state.recent)

    def visible(self, ids: Ids, scopes: Sequence[int] | None, now: float) -> Visible:
        """Those of the ascending ids that are alive, current, unexpired and in scope, as fresh as when they were recorded."""
        rows = self._state.rows_of(ids)
        seen = ~(rows["expires_at"] <= now)
        if scopes is not None:
            seen &= contains(np.array(sorted(scopes), np.int64), rows["scope"])
        rows = rows[seen]
        return Visible(
            ids=rows["id"].copy(),
            speaker=rows["speaker"].copy(),
            flags=rows["flags"].copy(),
            event_start=rows["event_start"].copy(),
            strength=np.ones(len(rows), np.float64),
            anchor_at=rows["recorded_at"].copy(),
        )

    def flags(self, ids: Ids) -> tuple[Ids, Ids]:
        """(those of the ids that are alive and current, their flags), ascending."""
        rows = self._state.rows_of(distinct(ids.copy()))
        return rows["id"], rows["flags"]

    # Index

    def build(self, rows: Iterator[ColumnRow]) -> None:
        """Replace the whole content."""
        parts = [np.zeros(0, _ROW)]
        while chunk := [*islice(rows, _CHUNK_ROWS)]:
            parts.append(np.array(chunk, _ROW))
        table = _by_id(np.concatenate(parts))
        with self._changing:
            self._state = _State(table, np.zeros(0, _ROW), np.zeros(0, np.int64))

    def apply(self, rows: Sequence[ColumnRow], removed: Sequence[int]) -> None:
        """Insert or replace rows, and remove ids."""
        new = _by_id(np.array(list(rows), _ROW))  # NaN for None
        changed = distinct(np.array([*(row.id for row in rows), *removed], np.int64))
        with self._changing:
            state = self._state
            gone = np.concatenate([state.gone, changed[contains(state.base["id"], changed)]])
            recent = state.recent[~contains(changed, state.recent["id"])]
            self._state = _State(state.base, _by_id(np.concatenate([recent, new])), distinct(gone))

    def compact(self) -> bool:
        """Merge what came into the large table once it is much."""
        with self._changing:
            state = self._state
            if len(state.recent) + len(state.gone) < max(_MOST_RECENT, len(state.base) * _RECENT_SHARE):
                return False
            self._state = _State(state.merged(), np.zeros(0, _ROW), np.zeros(0, np.int64))
        return True

    def save(self, folder: Folder) -> None:
        """Write one `.npy` file."""
        save_array(folder, _FILE, self._state.merged())

    def load(self, folder: Folder) -> None:
        """Map the file that `save` wrote. Raises OSError or ValueError if it cannot be used."""
        table = load_array(folder, _FILE)
        if table.dtype != _ROW or table.ndim != 1 or np.any(table["id"][1:] <= table["id"][:-1]):
            raise ValueError(f"{_FILE} is no table of paragraphs by id")
        with self._changing:
            self._state = _State(table, np.zeros(0, _ROW), np.zeros(0, np.int64))

    def dump(self) -> dict[int, tuple[float | None, ...]]:
        """Every row by its id, None for NaN; for comparing indexes."""
        rows = self._state.merged().tolist()
        return {row[0]: tuple(None if value != value else value for value in row[1:]) for row in rows}


def _by_id(table: Table) -> Table:
    """In the order of the ids; of equal ones the last."""
    if np.all(table["id"][1:] > table["id"][:-1]):
        return table
    table = table[np.argsort(table["id"], kind="stable")]
    return table[np.append(table["id"][1:] != table["id"][:-1], [True] * bool(len(table)))]


def _rows_of(table: Table, ids: Ids) -> Table:
    if not len(table):
        return table
    at = np.minimum(np.searchsorted(table["id"], ids), len(table) - 1)
    rows = table[at]
    return rows[rows["id"] == ids]
