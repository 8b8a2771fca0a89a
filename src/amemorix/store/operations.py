"""The rows that record deletions, with what each took along."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .ports import Connection
from .queries import array

__all__ = ["DELETED_BEFORE", "Item", "NewOperation", "OperationRow"]

DELETED_BEFORE = "deleted_before"
"""Why a row is in an operation that it was deleted before: to be purged, never to be brought back by it."""


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


def operation(db: Connection, id_: int) -> OperationRow | None:
    row = db.run("operation_get", id=id_).fetchone()
    return None if row is None else _operation(row)


def operations(
    db: Connection, *, mode: str | None, status: str | None, limit: int, offset: int
) -> tuple[int, list[OperationRow]]:
    """(how many there are, a page of them, the newest first)."""
    which = {"mode": mode, "status": status}
    total = db.run("operations_count", **which).fetchone()[0]
    rows = db.run("operations_list", **which, limit=limit, offset=offset)
    return total, [_operation(row) for row in rows]


def older(db: Connection, until: float, limit: int) -> list[int]:
    """Executed operations up to a time, the oldest first."""
    return [row[0] for row in db.run("operations_older", until=until, limit=limit)]


def purging(db: Connection) -> list[int]:
    """Operations whose purge was begun and not finished."""
    return [row[0] for row in db.run("operations_purging")]


def purged(db: Connection) -> list[int]:
    """Operations whose purge is done."""
    return [row[0] for row in db.run("operations_purged")]


def forget(db: Connection, operations: Iterable[int]) -> None:
    """Remove operations with their items."""
    db.run("operations_forget", ids=array(operations))


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


def note_wanted(db: Connection, operation: int, kind: str, ids: Iterable[int]) -> None:
    """Remember that these items were asked back, and come back when what they rest on does."""
    db.run("operation_items_wanted", operation=operation, kind=kind, ids=array(ids))


def beneath(db: Connection, operation: int, kind: str, id_: int) -> list[int]:
    """Other operations that hold deleted what a row of this one rests on."""
    return [row[0] for row in db.run("operations_beneath", operation=operation, kind=kind, id=id_)]


def wanted(db: Connection) -> list[int]:
    """Executed operations of which something was asked back that had to wait."""
    return [row[0] for row in db.run("operations_wanted")]


def set_restored(db: Connection, operation: int, whole: bool, now: float) -> None:
    """Remember a restore; with `whole`, nothing of the operation is left to restore."""
    db.run("operation_restored", id=operation, status="restored" if whole else "executed", now=now)


def deleted_again(db: Connection, operation: int, kind: str, ids: Iterable[int]) -> set[int]:
    """Those of the rows that a later operation holds deleted."""
    return {row[0] for row in db.run("deleted_again", operation=operation, kind=kind, ids=array(ids))}


def _operation(row: Sequence[Any]) -> OperationRow:
    id_, mode, selector, counts, by, reason, status, at, restored_at, purged_at, receipt, items, restored = row
    return OperationRow(
        id_, mode, json.loads(selector), json.loads(counts), by, reason, status, at, restored_at, purged_at,
        json.loads(receipt), items, restored,
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
