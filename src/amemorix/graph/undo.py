"""The undoing of what was changed in the graph by hand: each change keeps what there was before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Conflict, InvalidRequest, NotFound
from ..store import operations
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import AliasRow
from . import relation_restore
from .entity_lookup import row_id
from .entity_merge import undo_merge

__all__ = ["UndoRow"]


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


def later(db: Connection, record: UndoRow) -> int | None:
    """The newest later record that stands and has changed any of the same rows."""
    values = {"id": record.id, "kinds": array(GRAPH_KINDS), "touches": array(record.detail["touches"])}
    row = db.run("graph_undo_later", **values).fetchone()
    return None if row is None else row[0]


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


def undo(db: Connection, said: str, now: float) -> UndoRow:
    """Give back exactly the rows that there were before a change; unrelated changes do not matter.

    Raises NotFound, or Conflict if it has been undone or a later one builds on it.
    """
    id_ = row_id(said, "u")
    if id_ is None:
        raise InvalidRequest(f"undo_id: {said!r} is no id of a change, such as u12.", field="undo_id")
    row = db.run("graph_undo_find", id=id_).fetchone()
    if row is None or row[1] not in GRAPH_KINDS:
        raise NotFound(f"undo_id: there is no change {said!r}.", field="undo_id")
    record = _record(row)
    if record.undone_at is not None:
        raise Conflict(f"undo_id: u{id_} has been undone already.", field="undo_id")
    newer = later(db, record)
    if newer is not None:
        raise Conflict(
            f"undo_id: u{newer} came after u{id_} and changed the same; undo that first.",
            field="undo_id", first=f"u{newer}",
        )  # fmt: skip
    operations.note_undone(db, id_, now)
    _WAYS[record.kind](db, {**record.detail, "record": record.id}, now)
    return record


def _rename(db: Connection, detail: Mapping[str, Any], _: float) -> None:
    entity, was = detail["entity"], detail["was"]
    node = entity_rows.entity_row(db, entity)
    if node is None:
        raise Conflict("undo_id: the node is gone for good.", field="undo_id")
    if detail["exchanged"] is not None:
        former = entity_rows.rows(db, [detail["exchanged"]])[detail["exchanged"]]
        entity_rows.exchange_names(db, replace(node, name=detail["name"]), former)
    else:
        if detail["old_alias"]:
            entity_rows.remove_alias(db, was["norm"])
        entity_rows.set_name(db, entity, was["name"], was["norm"])
    if detail["alias"] is not None:
        entity_rows.put_alias(db, AliasRow(**detail["alias"]))
    relation_rows.forget_vectors(db, [row.id for row in relation_rows.at(db, [entity])])


def _alias_add(db: Connection, detail: Mapping[str, Any], _: float) -> None:
    entity_rows.remove_alias(db, detail["norm"])


def _alias_remove(db: Connection, detail: Mapping[str, Any], _: float) -> None:
    alias = AliasRow(**detail["alias"])
    taken = entity_rows.meant(db, alias.norm)
    if taken is not None:
        raise Conflict(f"undo_id: {alias.alias!r} means n{taken.id} by now.", field="undo_id")
    if entity_rows.entity_row(db, alias.entity) is None:
        raise Conflict("undo_id: the node is gone for good.", field="undo_id")
    entity_rows.put_alias(db, alias)


def _delete(db: Connection, detail: Mapping[str, Any], now: float) -> None:
    if "entity" in detail:
        row = entity_rows.entity_row(db, detail["entity"])
        if row is None:
            raise Conflict("undo_id: the node is gone for good.", field="undo_id")
        if row.deleted_at == detail["deleted_at"]:
            entity_rows.set_deleted(db, [row.id], None)
    taken = relation_restore.taken_by(db, detail["relations"], f"u{detail['record']}")
    rows = list(relation_rows.rows(db, taken).values())
    ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
    for row in rows:
        for end in (row.subject, row.object):
            if not ends[end].alive:
                raise Conflict(
                    f"undo_id: n{end}, at an end of r{row.id}, has been deleted since; bring it back first.",
                    field="undo_id", node=f"n{end}",
                )  # fmt: skip
    for row in rows:
        if not relation_rows.evidence(db, row.id):
            relation_rows.put(db, replace(row, deleted_at=None))
    relation_restore.among(db, detail["relations"], now)
    if "entity" in detail:
        relation_restore.at(db, [detail["entity"]], now)


def _weight(db: Connection, detail: Mapping[str, Any], _: float) -> None:
    was = dict(detail["relations"])
    for row in relation_rows.rows(db, was).values():
        relation_rows.put(db, replace(row, weight=was[row.id]))


_WAYS: dict[str, Callable[[Connection, Mapping[str, Any], float], None]] = {
    "entity_merge": undo_merge,
    "entity_rename": _rename,
    "entity_alias_add": _alias_add,
    "entity_alias_remove": _alias_remove,
    "entity_delete": _delete,
    "relation_delete": _delete,
    "relation_weight": _weight,
}
GRAPH_KINDS = tuple(_WAYS)


def sentence(db: Connection, record: UndoRow) -> str:
    """What the change did, by the names of today."""
    detail = record.detail
    if record.kind == "entity_merge":
        sources = ", ".join(_name(db, source["id"]) for source in detail["sources"])
        return f"{sources} became part of {_name(db, detail['target'])}"
    if record.kind == "entity_rename":
        return f"{detail['was']['name']} was renamed; now {_name(db, detail['entity'])}"
    if record.kind == "entity_alias_add":
        return f"{_name(db, detail['entity'])} goes by {detail['norm']} too"
    if record.kind == "entity_alias_remove":
        return f"{_name(db, detail['alias']['entity'])} no longer goes by {detail['alias']['alias']}"
    if record.kind == "entity_delete":
        return f"{_name(db, detail['entity'])} was deleted with {len(detail['relations'])} relations"
    what = "were deleted" if record.kind == "relation_delete" else "were weighed anew"
    return f"{len(detail['relations'])} relations {what}"


def _name(db: Connection, id_: int) -> str:
    row = entity_rows.entity_row(db, id_)
    return f"n{id_}" if row is None else row.name
