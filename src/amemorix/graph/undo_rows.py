"""What was done to the graph by hand, so that it can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array

__all__ = ["GRAPH_KINDS", "UndoRow"]

GRAPH_KINDS = (
    "entity_merge", "entity_rename", "entity_alias_add", "entity_alias_remove", "entity_delete", "relation_delete",
    "relation_weight",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class UndoRow:
    """One record; `detail` holds what was there before, its `touches` names every row that was changed."""

    id: int
    kind: str
    detail: dict[str, Any]
    requested_by: str
    reason: str
    created_at: float
    undone_at: float | None


def add(
    db: Connection,
    kind: str,
    detail: Mapping[str, Any],
    touches: Iterable[str],
    *,
    requested_by: str,
    reason: str,
    now: float,
) -> int:
    """Store a record; returns its id."""
    whole = json.dumps({**detail, "touches": sorted(set(touches))}, ensure_ascii=False)
    values = {"kind": kind, "detail": whole, "requested_by": requested_by, "reason": reason, "now": now}
    return db.run("graph_undo_insert", **values).fetchone()[0]


def find(db: Connection, id_: int) -> UndoRow | None:
    """The record, if it is one of the graph's."""
    row = db.run("graph_undo_find", id=id_).fetchone()
    return _record(row) if row is not None and row[1] in GRAPH_KINDS else None


def later(db: Connection, record: UndoRow) -> int | None:
    """The newest later record that stands and has changed any of the same rows."""
    values = {"id": record.id, "kinds": array(GRAPH_KINDS), "touches": array(record.detail["touches"])}
    row = db.run("graph_undo_later", **values).fetchone()
    return None if row is None else row[0]


def done(db: Connection, id_: int, now: float) -> None:
    """Mark a record as undone."""
    db.run("graph_undo_done", id=id_, now=now)


def listed(db: Connection, *, undone: bool, limit: int, offset: int) -> list[UndoRow]:
    """Records, the newest first; with `undone` those too that have been undone."""
    values = {"kinds": array(GRAPH_KINDS), "undone": undone, "limit": limit, "offset": offset}
    return [_record(row) for row in db.run("graph_undo_list", **values)]


def count(db: Connection, *, undone: bool) -> int:
    """How many there are."""
    return db.run("graph_undo_count", kinds=array(GRAPH_KINDS), undone=undone).fetchone()[0]


def _record(row: tuple[Any, ...]) -> UndoRow:
    id_, kind, detail, *rest = row
    return UndoRow(id_, kind, json.loads(detail), *rest)
