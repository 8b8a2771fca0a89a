"""Records from which a change of the graph, of facts or of a profile's evidence can be undone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import Conflict, NotFound
from ..ports import Connection
from ..queries import array

__all__ = ["UndoRecord"]


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """A change; `detail` is what its subject needs to take it back. Times in epoch seconds."""

    id: int
    kind: str
    detail: dict[str, Any]
    requested_by: str
    reason: str
    created_at: float
    undone_at: float | None


def keep(db: Connection, kind: str, detail: Mapping[str, Any], requested_by: str, reason: str, now: float) -> int:
    """A record from which something can be undone; returns its row."""
    values = {"kind": kind, "requested_by": requested_by, "reason": reason, "now": now}
    return db.run("undo_insert", **values, detail=json.dumps(detail, ensure_ascii=False)).fetchone()[0]


def use(
    db: Connection, row: int, kinds: Sequence[str], now: float, *, field: str, said: str, missing: str
) -> UndoRecord:
    """The record of one of these kinds, marked as undone.

    Raises NotFound with the message `missing`, or Conflict if it has been undone, about the argument `field`, `said`.
    """
    found = db.run("undo_find", id=row, kinds=array(kinds)).fetchone()
    if found is None:
        raise NotFound(f"{field}: {missing}", field=field)
    record = _record(found)
    if record.undone_at is not None:
        raise Conflict(f"{field}: {said} has been undone already.", field=field)
    db.run("undo_done", id=row, now=now)
    return record


def listed(db: Connection, kinds: Sequence[str], *, undone: bool, limit: int, offset: int) -> list[UndoRecord]:
    """Records, the newest first; with `undone` those too that have been undone."""
    values = {"kinds": array(kinds), "undone": undone, "limit": limit, "offset": offset}
    return [_record(row) for row in db.run("undo_list", **values)]


def count(db: Connection, kinds: Sequence[str], *, undone: bool) -> int:
    """How many there are."""
    return db.run("undo_count", kinds=array(kinds), undone=undone).fetchone()[0]


def _record(row: tuple[Any, ...]) -> UndoRecord:
    id_, kind, detail, *rest = row
    return UndoRecord(id_, kind, json.loads(detail), *rest)
