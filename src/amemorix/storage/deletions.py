"""What a deletion touches, and the rows that record it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from .embeddings import WATERMARK
from .queries import array, optional_array, queries

__all__ = [
    "DELETED_BEFORE", "MOVED_KINDS", "ROW_KINDS", "DeletionRepository", "Item", "MovedRow", "OperationRow", "Restorable", "RowKind",
]  # fmt: skip

T = TypeVar("T")
RowKind = Literal["paragraph", "ref", "relation", "entity", "fact"]
ROW_KINDS: tuple[RowKind, ...] = ("entity", "paragraph", "ref", "relation", "fact")
"""Kinds that keep their row, marked as deleted; in the order in which they can come back."""
_DELETE = {
    "paragraph": "delete_paragraphs", "ref": "delete_refs", "relation": "delete_relations",
    "entity": "delete_entities", "fact": "delete_facts",
}  # fmt: skip
_RESTORE = {
    "paragraph": "restore_paragraphs", "ref": "restore_refs", "relation": "restore_relations",
    "entity": "restore_entities", "fact": "restore_facts",
}  # fmt: skip
_STANDING = {
    "paragraph": "paragraphs_to_restore", "ref": "refs_to_restore", "relation": "relations_to_restore",
    "entity": "entities_to_restore", "fact": "facts_to_restore",
}  # fmt: skip
_LABELS = {
    "paragraph": "labels_of_paragraphs", "relation": "labels_of_relations", "entity": "labels_of_entities",
    "fact": "labels_of_facts", "person": "labels_of_persons",
}  # fmt: skip
_MOVED = {
    "profile_snapshot": "moved_profile_snapshots", "profile_override": "moved_profile_overrides",
    "person_alias": "moved_person_aliases", "summary_cursor": "moved_summary_cursors",
}  # fmt: skip
_REMOVE = {
    "profile_snapshot": "remove_profile_snapshot", "profile_override": "remove_profile_override",
    "person_alias": "remove_person_alias", "summary_cursor": "remove_summary_cursor",
}  # fmt: skip
_PUT_BACK = {
    "profile_snapshot": "put_back_profile_snapshot", "profile_override": "put_back_profile_override",
    "person_alias": "put_back_person_alias", "summary_cursor": "put_back_summary_cursor",
}  # fmt: skip
DELETED_BEFORE = "deleted_before"
"""Why a row is in an operation that it was deleted before: to be purged, never to be brought back by it."""
MOVED_KINDS = tuple(_MOVED)
"""Kinds whose row is taken out and kept with the operation."""


@dataclass(frozen=True, slots=True)
class MovedRow:
    """A row that is taken out; `id` tells it from others of its kind within an operation."""

    kind: str
    id: int
    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One row of an operation; `detail` says why it is in it, and holds the row if it was taken out."""

    kind: str
    id: int
    detail: Mapping[str, Any]
    restored_at: float | None = None


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


@dataclass(frozen=True, slots=True)
class Restorable:
    """How a row stands that is to come back: `blocked` if something newer is in its place; `ref` of a paragraph."""

    id: int
    alive: bool
    blocked: bool
    ref: int


class DeletionRepository:
    """Reads what hangs on what, marks rows, and keeps operations; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    # what is chosen

    def ids(self, db: sqlite3.Connection, query: str, ids: Iterable[int | str], **values: Any) -> list[int]:
        """The rows that a named query finds for these ids, ascending."""
        return sorted({row[0] for row in db.execute(self._q[query], {"ids": array(ids), **values})})

    def flagged(self, db: sqlite3.Connection, query: str, ids: Iterable[int], **values: Any) -> dict[int, bool]:
        """The rows that a named query finds for these ids, each with its yes or no."""
        return {row[0]: bool(row[1]) for row in db.execute(self._q[query], {"ids": array(ids), **values})}

    def texts_after(
        self, db: sqlite3.Connection, after: int, chats: Sequence[int] | None, page: int = 1_000
    ) -> Iterator[tuple[int, int, str]]:
        """(paragraph, chat, text) of everything past `after`, deleted or not, of some chats or all."""
        values = {"chats": optional_array(chats), "limit": page}
        while rows := db.execute(self._q["texts_after"], {**values, "after": after}).fetchall():
            yield from rows
            after = rows[-1][0]

    def sentences(self, db: sqlite3.Connection) -> list[tuple[int, str, str, str]]:
        """Every relation that is not deleted, with its three words."""
        return db.execute(self._q["relation_sentences"]).fetchall()

    def sources_named(self, db: sqlite3.Connection, names: Iterable[str], chat: int | None) -> list[tuple[int, str]]:
        """(row, name) of the sources of these names that hold something."""
        return db.execute(self._q["sources_of_names"], {"names": array(names), "chat": chat}).fetchall()

    def persons_known(self, db: sqlite3.Connection, ids: Iterable[int]) -> list[tuple[int, str, str]]:
        """(row, id, name) of those of the persons that have a row."""
        return db.execute(self._q["persons_known"], {"ids": array(ids)}).fetchall()

    def names_of_persons(self, db: sqlite3.Connection, ids: Iterable[int], every: int) -> list[tuple[int, int, str]]:
        """(person, chat, name) of every name of these persons; those that count in every chat have the chat `every`."""
        return db.execute(self._q["names_of_persons"], {"ids": array(ids), "every": every}).fetchall()

    def entities_unspoken(self, db: sqlite3.Connection, norms: Iterable[str], but: Iterable[int]) -> list[int]:
        """Entities of these names that nothing alive speaks of but these paragraphs."""
        return [row[0] for row in db.execute(self._q["entities_unspoken"], {"norms": array(norms), "ids": array(but)})]

    def refs_kept(self, db: sqlite3.Connection, ids: Iterable[int], but: Iterable[int], limit: int) -> dict[int, str]:
        """References of these paragraphs that are not among `but`, with their external id."""
        values = {"ids": array(ids), "but": array(but), "limit": limit}
        return dict(db.execute(self._q["refs_kept"], values).fetchall())

    def rows_to_move(
        self, db: sqlite3.Connection, persons: Sequence[int], scope: int | None, chats: Sequence[int]
    ) -> list[MovedRow]:
        """Rows about these persons (in one scope, or in all) and of these chats that a deletion takes out."""
        values = {"persons": array(persons), "scope": scope, "scopes": array(chats)}
        kinds = [kind for kind in MOVED_KINDS if kind != "profile_override" or scope is None]
        return [row for kind in kinds for row in self._moved(db, kind, values)]

    def _moved(self, db: sqlite3.Connection, kind: str, values: Mapping[str, Any]) -> list[MovedRow]:
        cursor = db.execute(self._q[_MOVED[kind]], values)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return [MovedRow(kind, row.get("id", place), row) for place, row in enumerate(rows, 1)]

    # telling

    def labels(self, db: sqlite3.Connection, kind: str, ids: Iterable[int]) -> list[tuple[Any, ...]]:
        """What to show of rows, by id: (id, text, …)."""
        return db.execute(self._q[_LABELS[kind]], {"ids": array(ids)}).fetchall()

    def sources_of(self, db: sqlite3.Connection, ids: Iterable[int]) -> list[str]:
        """Names of the sources of these paragraphs."""
        return [row[0] for row in db.execute(self._q["sources_of_paragraphs"], {"ids": array(ids)})]

    def count_current(self, db: sqlite3.Connection, ids: Iterable[int]) -> int:
        """How many of the paragraphs are not superseded."""
        return db.execute(self._q["count_current"], {"ids": array(ids)}).fetchone()[0]

    # deleting and bringing back

    def mark(self, db: sqlite3.Connection, kind: RowKind, ids: Sequence[int], now: float) -> None:
        """Delete rows softly."""
        if ids:
            db.execute(self._q[_DELETE[kind]], {"ids": array(ids), "now": now})

    def unmark(self, db: sqlite3.Connection, kind: RowKind, ids: Sequence[int]) -> None:
        """Bring rows back as they were."""
        if ids:
            db.execute(self._q[_RESTORE[kind]], {"ids": array(ids)})

    def take_out(self, db: sqlite3.Connection, moved: MovedRow) -> None:
        """Remove a row that the operation keeps."""
        db.execute(self._q[_REMOVE[moved.kind]], dict(moved.row))

    def put_back(self, db: sqlite3.Connection, kind: str, row: Mapping[str, Any]) -> bool:
        """Insert a row that was taken out; False if its place is taken, or what it belongs to is gone."""
        return db.execute(self._q[_PUT_BACK[kind]], dict(row)).rowcount > 0

    def restorable(self, db: sqlite3.Connection, kind: RowKind, ids: Iterable[int]) -> dict[int, Restorable]:
        """How the rows stand that still exist."""
        rows = db.execute(self._q[_STANDING[kind]], {"ids": array(ids)})
        return {row[0]: Restorable(row[0], bool(row[1]), bool(row[2]), row[3]) for row in rows}

    def deleted_again(self, db: sqlite3.Connection, operation: int, kind: str, ids: Iterable[int]) -> set[int]:
        """Those of the rows that a later operation holds deleted."""
        values = {"operation": operation, "kind": kind, "ids": array(ids)}
        return {row[0] for row in db.execute(self._q["deleted_again"], values)}

    def lower_watermarks(self, db: sqlite3.Connection, paragraphs: Sequence[int]) -> int | None:
        """Let the paragraphs that lack a vector be looked at again; returns the first of them, None if all have one."""
        found = db.execute(self._q["first_without_vector"], {"ids": array(paragraphs)}).fetchall()
        for generation, first in found:
            values = {"key": WATERMARK.format(generation), "upto": first - 1}
            db.execute(self._q["watermark_lower"], values)
        return min((first for _, first in found), default=None)

    # operations

    def record(
        self,
        db: sqlite3.Connection,
        *,
        mode: str,
        selector: Any,
        counts: Mapping[str, int],
        items: Iterable[Item],
        requested_by: str,
        reason: str,
        status: str,
        now: float,
    ) -> int:
        """Write an operation with its items; returns its row."""
        values = {
            "mode": mode, "selector": _json(selector), "counts": _json(counts), "requested_by": requested_by,
            "reason": reason, "status": status, "now": now,
        }  # fmt: skip
        id_ = db.execute(self._q["operation_insert"], values).fetchone()[0]
        rows = [{"operation": id_, "kind": i.kind, "id": i.id, "detail": _json(i.detail)} for i in items]
        db.executemany(self._q["operation_item_insert"], rows)
        return id_

    def operation(self, db: sqlite3.Connection, id_: int) -> OperationRow | None:
        """One operation."""
        row = db.execute(self._q["operation_get"], {"id": id_}).fetchone()
        return None if row is None else _operation(row)

    def operations(
        self, db: sqlite3.Connection, *, mode: str | None, status: str | None, limit: int, offset: int
    ) -> tuple[int, list[OperationRow]]:
        """(how many there are, a page of them, the newest first)."""
        which = {"mode": mode, "status": status}
        total = db.execute(self._q["operations_count"], which).fetchone()[0]
        rows = db.execute(self._q["operations_list"], {**which, "limit": limit, "offset": offset})
        return total, [_operation(row) for row in rows]

    def older(self, db: sqlite3.Connection, until: float, limit: int) -> list[int]:
        """Executed operations up to a time, the oldest first."""
        return [row[0] for row in db.execute(self._q["operations_older"], {"until": until, "limit": limit})]

    def binned(self, db: sqlite3.Connection, until: float) -> list[Item]:
        """What was forgotten or has expired, and lies in the recycle bin since a time, with its references."""
        rows: dict[str, list[int]] = {}
        for kind, query in (("paragraph", "binned_paragraphs"), ("relation", "binned_relations")):
            rows[kind] = [row[0] for row in db.execute(self._q[query], {"until": until})]
        emptied = self.ids(db, "refs_left_empty", rows["paragraph"])
        rows["ref"] = self.ids(db, "refs_deleted", emptied)
        rows["paragraph"] = sorted({*rows["paragraph"], *self.ids(db, "wordings_of_refs", emptied)})
        return [Item(kind, id_, {"why": DELETED_BEFORE}) for kind, ids in rows.items() for id_ in ids]

    def purging(self, db: sqlite3.Connection) -> list[int]:
        """Operations whose purge was begun and not finished."""
        return [row[0] for row in db.execute(self._q["operations_purging"])]

    def purged(self, db: sqlite3.Connection) -> list[int]:
        """Operations whose purge is done."""
        return [row[0] for row in db.execute(self._q["operations_purged"])]

    def forget(self, db: sqlite3.Connection, operations: Iterable[int]) -> None:
        """Remove operations with their items."""
        db.execute(self._q["operations_forget"], {"ids": array(operations)})

    def items(self, db: sqlite3.Connection, operation: int, limit: int, offset: int) -> list[Item]:
        """A page of an operation's items."""
        values = {"operation": operation, "limit": limit, "offset": offset}
        rows = db.execute(self._q["operation_items"], values)
        return [Item(kind, id_, json.loads(detail), at) for kind, id_, detail, at in rows]

    def open_items(self, db: sqlite3.Connection, operation: int) -> list[Item]:
        """What the operation still holds deleted."""
        rows = db.execute(self._q["operation_items_open"], {"operation": operation})
        return [Item(kind, id_, json.loads(detail)) for kind, id_, detail in rows]

    def note_restored(self, db: sqlite3.Connection, operation: int, kind: str, ids: Iterable[int], now: float) -> None:
        """Remember that these items are back."""
        values = {"operation": operation, "kind": kind, "ids": array(ids), "now": now}
        db.execute(self._q["operation_items_restored"], values)

    def set_restored(self, db: sqlite3.Connection, operation: int, whole: bool, now: float) -> None:
        """Remember a restore; with `whole`, nothing of the operation is left to restore."""
        values = {"id": operation, "status": "restored" if whole else "executed", "now": now}
        db.execute(self._q["operation_restored"], values)


def _operation(row: Sequence[Any]) -> OperationRow:
    id_, mode, selector, counts, by, reason, status, at, restored_at, purged_at, receipt, items, restored = row
    return OperationRow(
        id_, mode, json.loads(selector), json.loads(counts), by, reason, status, at, restored_at, purged_at,
        json.loads(receipt), items, restored,
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
