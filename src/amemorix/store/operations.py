"""The journal of what can be undone: deletions with the rows that each took along, and changes with what there was before."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import NotFound
from .keys import DataKey
from .ports import Connection
from .queries import array
from .records import MovedRow
from .rows.embeddings import WATERMARK

__all__ = [
    "DELETED_BEFORE", "MOVED_KINDS", "ROW_KINDS", "Item", "NewOperation", "OperationRow",
    "RowKind", "flagged_ids", "row_ids", "rows_to_move",
]  # fmt: skip

DELETED_BEFORE = "deleted_before"
"""Why a row is in an operation that it was deleted before: to be purged, never to be brought back by it."""


RowKind = Literal["paragraph", "ref", "relation", "entity", "fact"]
ROW_KINDS: tuple[RowKind, ...] = ("entity", "paragraph", "ref", "relation", "fact")
"""Kinds that keep their row, marked as deleted; in the order in which they can come back."""
_PLURAL = {"paragraph": "paragraphs", "ref": "refs", "relation": "relations", "entity": "entities", "fact": "facts",
           "person": "persons"}  # fmt: skip
MOVED_KINDS = ("profile_override", "person_alias", "summary_cursor")
"""Kinds whose row is taken out and kept with the operation."""


@dataclass(frozen=True, slots=True)
class Item:
    """One row of an operation; `detail` says why it is in it, and holds the row if it was taken out."""

    kind: str
    id: int
    detail: Mapping[str, Any]
    restored_at: float | None = None


@dataclass(frozen=True, slots=True)
class NewOperation:
    """A deletion that is to be recorded; `stays`: (kind, row, why) of what one might have expected to go, no texts."""

    mode: str
    status: str
    items: Sequence[Item]
    counts: Mapping[str, int]
    selector: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stays: Sequence[tuple[str, int, str]] = ()
    requested_by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OperationRow:
    """A deletion as it was recorded; times in epoch seconds."""

    id: int
    mode: str
    selector: Any
    counts: dict[str, int]
    requested_by: str
    reason: str
    status: str
    created_at: float
    restored_at: float | None
    purged_at: float | None
    receipt: dict[str, Any]
    items: int
    restored: int


def record(db: Connection, new: NewOperation, now: float) -> int:
    """Write an operation with its items; returns its row."""
    values = {
        "mode": new.mode, "selector": _json(new.selector), "counts": _json(new.counts), "status": new.status,
        "stays": _json(new.stays), "requested_by": new.requested_by, "reason": new.reason, "now": now,
    }  # fmt: skip
    id_ = db.run("operation_insert", **values).fetchone()[0]
    rows = [{"operation": id_, "kind": i.kind, "id": i.id, "detail": _json(i.detail)} for i in new.items]
    db.run_many("operation_item_insert", rows)
    return id_


def stays(db: Connection, operation: int) -> list[tuple[str, int, str]]:
    """(kind, row, why) of what one might have expected to go with the operation."""
    row = db.run("operation_stays", id=operation).fetchone()
    return [(kind, id_, why) for kind, id_, why in json.loads(row[0])] if row else []


def operation(db: Connection, id_: int) -> OperationRow:
    """A deletion as it was recorded. Raises NotFound."""
    row = db.run("operation_get", id=id_).fetchone()
    if row is None:
        raise NotFound(f"operation_id: there is no deletion d{id_}.", field="operation_id")
    return _operation(row)


def operations(
    db: Connection, *, mode: str | None, status: str | None, limit: int, offset: int
) -> tuple[int, list[OperationRow]]:
    """(how many there are, a page of them, the newest first)."""
    which = {"mode": mode, "status": status}
    total = db.run("operations_count", **which).fetchone()[0]
    rows = db.run("operations_list", **which, limit=limit, offset=offset)
    return total, [_operation(row) for row in rows]


def purging(db: Connection) -> list[int]:
    """Operations whose purge was begun and not finished."""
    return [row[0] for row in db.run("operations_purging")]


def wants_rotation(db: Connection, key: DataKey) -> bool:
    """Whether a purge has ended after which this data key is to be retired."""
    return bool(db.run("rotations_wanted", key=key.id, made=key.created_at).fetchall())


def note_rotation(db: Connection, *, retired: DataKey, key: DataKey, needed_by: Sequence[str]) -> None:
    """Let the receipts of such purges say which key takes the place, and which files need the old one still."""
    told = {"retired": retired.id, "key": key.id, "needed_by": needed_by}
    for id_, receipt in db.run("rotations_wanted", key=retired.id, made=retired.created_at).fetchall():
        db.run("purge_note", id=id_, receipt=_json({**json.loads(receipt), "rotation": told}))


def items(db: Connection, operation: int, limit: int, offset: int) -> list[Item]:
    """A page of an operation's items."""
    rows = db.run("operation_items", operation=operation, limit=limit, offset=offset)
    return [Item(kind, id_, json.loads(detail), at) for kind, id_, detail, at in rows]


def open_items(db: Connection, operation: int) -> list[Item]:
    """What the operation still holds deleted."""
    rows = db.run("operation_items_open", operation=operation)
    return [Item(kind, id_, json.loads(detail)) for kind, id_, detail in rows]


def note_restored(db: Connection, operation: int, kind: str, ids: Iterable[int], now: float) -> None:
    """Remember that these items are back."""
    db.run("operation_items_restored", operation=operation, kind=kind, ids=array(ids), now=now)


def set_restored(db: Connection, operation: int, whole: bool, now: float) -> None:
    """Remember a restore; with `whole`, nothing of the operation is left to restore."""
    db.run("operation_restored", id=operation, status="restored" if whole else "executed", now=now)


@dataclass(frozen=True, slots=True)
class Restorable:
    """How a row stands that is to come back: `blocked` if something newer is in its place; `ref` of a paragraph."""

    id: int
    alive: bool
    blocked: bool
    ref: int


def mark(db: Connection, kind: RowKind, ids: Sequence[int], now: float) -> None:
    """Delete rows softly."""
    if ids:
        db.run(f"delete_{_PLURAL[kind]}", ids=array(ids), now=now)


def unmark(db: Connection, kind: RowKind, ids: Sequence[int]) -> None:
    """Bring rows back as they were."""
    if ids:
        db.run(f"restore_{_PLURAL[kind]}", ids=array(ids))


def take_out(db: Connection, moved: MovedRow) -> bool:
    """Remove a row that the operation keeps; False if it is not there."""
    return db.run(f"remove_{moved.kind}", **dict(moved.row)).rowcount > 0


def put_back(db: Connection, kind: str, row: Mapping[str, Any]) -> bool:
    """Insert a row that was taken out; False if its place is taken, or what it belongs to is gone."""
    return db.run(f"put_back_{kind}", **dict(row)).rowcount > 0


def restorable(db: Connection, kind: RowKind, ids: Iterable[int]) -> dict[int, Restorable]:
    """How the rows stand that still exist."""
    rows = db.run(f"{_PLURAL[kind]}_to_restore", ids=array(ids))
    return {row[0]: Restorable(row[0], bool(row[1]), bool(row[2]), row[3]) for row in rows}


def labels(db: Connection, kind: str, ids: Iterable[int]) -> list[tuple[Any, ...]]:
    """What to show of rows, by id: (id, text, …)."""
    return db.run(f"labels_of_{_PLURAL[kind]}", ids=array(ids)).fetchall()


def lower_watermarks(db: Connection, paragraphs: Sequence[int]) -> int | None:
    """Let the paragraphs that lack a vector be looked at again; returns the first of them, None if all have one."""
    found = db.run("first_without_vector", ids=array(paragraphs)).fetchall()
    for generation, first in found:
        values = {"key": WATERMARK.format(generation), "upto": first - 1}
        db.run("watermark_lower", **values)
    return min((first for _, first in found), default=None)


def rows_to_move(db: Connection, persons: Sequence[int], scope: int | None, chats: Sequence[int]) -> list[MovedRow]:
    """Rows about these persons (in one scope, or in all) and of these chats that a deletion takes out."""
    values = {"persons": array(persons), "scope": scope, "scopes": array(chats)}
    kinds = [kind for kind in MOVED_KINDS if kind != "profile_override" or scope is None]
    found = list[MovedRow]()
    for kind in kinds:
        cursor = db.run(f"moved_{kind}", **values)
        names = [column[0] for column in cursor.description]
        rows = (dict(zip(names, row, strict=True)) for row in cursor)
        found += [MovedRow(kind, row.get("id", place), row) for place, row in enumerate(rows, 1)]
    return found


def row_ids(db: Connection, query: str, ids: Iterable[int | str], **values: Any) -> list[int]:
    """The rows that a named query finds for these ids, ascending."""
    return sorted({row[0] for row in db.run(query, ids=array(ids), **values)})


def flagged_ids(db: Connection, query: str, ids: Iterable[int], **values: Any) -> dict[int, bool]:
    """The rows that a named query finds for these ids, each with its yes or no."""
    return {row[0]: bool(row[1]) for row in db.run(query, ids=array(ids), **values)}


def _operation(row: Sequence[Any]) -> OperationRow:
    id_, mode, selector, counts, by, reason, status, at, restored_at, purged_at, receipt, items, restored = row
    return OperationRow(
        id_, mode, json.loads(selector), json.loads(counts), by, reason, status, at, restored_at, purged_at,
        json.loads(receipt), items, restored,
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
