"""Rows that are deleted softly: marked, or taken out, and brought back as they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .ports import Connection
from .queries import array
from .records import MovedRow
from .rows.embeddings import WATERMARK

__all__ = ["MOVED_KINDS", "ROW_KINDS", "Restorable", "RowKind"]

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
MOVED_KINDS = tuple(_MOVED)
"""Kinds whose row is taken out and kept with the operation."""


@dataclass(frozen=True, slots=True)
class Restorable:
    """How a row stands that is to come back: `blocked` if something newer is in its place; `ref` of a paragraph."""

    id: int
    alive: bool
    blocked: bool
    ref: int


def mark(db: Connection, kind: RowKind, ids: Sequence[int], now: float) -> None:
    if ids:
        db.run(_DELETE[kind], ids=array(ids), now=now)


def unmark(db: Connection, kind: RowKind, ids: Sequence[int]) -> None:
    """Bring rows back as they were."""
    if ids:
        db.run(_RESTORE[kind], ids=array(ids))


def take_out(db: Connection, moved: MovedRow) -> bool:
    """Remove a row that the operation keeps; False if it is not there."""
    return db.run(_REMOVE[moved.kind], **dict(moved.row)).rowcount > 0


def put_back(db: Connection, kind: str, row: Mapping[str, Any]) -> bool:
    """Insert a row that was taken out; False if its place is taken, or what it belongs to is gone."""
    return db.run(_PUT_BACK[kind], **dict(row)).rowcount > 0


def restorable(db: Connection, kind: RowKind, ids: Iterable[int]) -> dict[int, Restorable]:
    """How the rows stand that still exist."""
    rows = db.run(_STANDING[kind], ids=array(ids))
    return {row[0]: Restorable(row[0], bool(row[1]), bool(row[2]), row[3]) for row in rows}


def lower_watermarks(db: Connection, paragraphs: Sequence[int]) -> int | None:
    """Let the paragraphs that lack a vector be looked at again; returns the first of them, None if all have one."""
    found = db.run("first_without_vector", ids=array(paragraphs)).fetchall()
    for generation, first in found:
        db.run("watermark_lower", key=WATERMARK.format(generation), upto=first - 1)
    return min((first for _, first in found), default=None)


def rows_to_move(db: Connection, persons: Sequence[int], scope: int | None, chats: Sequence[int]) -> list[MovedRow]:
    """Rows about these persons (in one scope, or in all) and of these chats that a deletion takes out."""
    values = {"persons": array(persons), "scope": scope, "scopes": array(chats)}
    kinds = [kind for kind in MOVED_KINDS if kind != "profile_override" or scope is None]
    return [row for kind in kinds for row in _moved(db, kind, values)]


def _moved(db: Connection, kind: str, values: Mapping[str, Any]) -> list[MovedRow]:
    cursor = db.run(_MOVED[kind], **values)
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return [MovedRow(kind, row.get("id", place), row) for place, row in enumerate(rows, 1)]
