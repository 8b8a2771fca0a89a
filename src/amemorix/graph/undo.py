"""The undoing of what was changed in the graph by hand: each change keeps what there was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import Conflict, InvalidRequest
from ..ids import row_number
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows import undo_records
from ..store.rows.entities import AliasRow
from ..store.rows.undo_records import UndoRecord
from . import relation_restore
from .entity_merge import undo_merge

KINDS = (
    "entity_merge", "entity_rename", "entity_alias_add", "entity_alias_remove", "entity_delete", "relation_delete",
    "relation_weight",
)  # fmt: skip


def later(db: Connection, record: UndoRecord) -> int | None:
    """The newest later record that stands and has changed any of the same rows, which `touches` names."""
    values = {"id": record.id, "kinds": array(KINDS), "touches": array(record.detail["touches"])}
    row = db.run("graph_undo_later", **values).fetchone()
    return None if row is None else row[0]


def undo(db: Connection, said: str, now: float) -> UndoRecord:
    """Give back exactly the rows that there were before a change; unrelated changes do not matter.

    Raises NotFound, or Conflict if it has been undone or a later one builds on it.
    """
    id_ = row_number(said, "u")
    if id_ is None:
        raise InvalidRequest(f"undo_id: {said!r} is no id of a change, such as u12.", field="undo_id")
    missing = f"there is no change {said!r}."
    record = undo_records.use(db, id_, KINDS, now, field="undo_id", said=f"u{id_}", missing=missing)
    newer = later(db, record)
    if newer is not None:
        raise Conflict(
            f"undo_id: u{newer} came after u{id_} and changed the same; undo that first.",
            field="undo_id", first=f"u{newer}",
        )  # fmt: skip
    detail = record.detail
    match record.kind:
        case "entity_merge":
            undo_merge(db, detail, now)
        case "entity_rename":
            _rename(db, detail)
        case "entity_alias_add":
            entity_rows.remove_alias(db, detail["norm"])
        case "entity_alias_remove":
            alias = AliasRow(**detail["alias"])
            taken = entity_rows.meant(db, alias.norm)
            if taken is not None:
                raise Conflict(f"undo_id: {alias.alias!r} means n{taken.id} by now.", field="undo_id")
            if entity_rows.entity_row(db, alias.entity) is None:
                raise Conflict("undo_id: the node is gone for good.", field="undo_id")
            entity_rows.put_alias(db, alias)
        case "relation_weight":
            was = dict(detail["relations"])
            for row in relation_rows.rows(db, was).values():
                relation_rows.put(db, replace(row, weight=was[row.id]))
        case _:
            _delete(db, record, now)
    return record


def _rename(db: Connection, detail: Mapping[str, Any]) -> None:
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


def _delete(db: Connection, record: UndoRecord, now: float) -> None:
    """Bring back the relations that a deletion took, and the node if it took one."""
    detail = record.detail
    if "entity" in detail:
        node = entity_rows.entity_row(db, detail["entity"])
        if node is None:
            raise Conflict("undo_id: the node is gone for good.", field="undo_id")
        if node.deleted_at == detail["deleted_at"]:
            entity_rows.set_deleted(db, [node.id], None)
    rows = list(relation_rows.rows(db, relation_restore.taken_by(db, detail["relations"], f"u{record.id}")).values())
    ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
    for row in rows:
        for end in (row.subject, row.object):
            if not ends[end].alive:
                raise Conflict(
                    f"undo_id: n{end}, at an end of r{row.id}, has been deleted since; bring it back first.",
                    field="undo_id", node=f"n{end}",
                )  # fmt: skip
        if not relation_rows.evidence(db, row.id):
            relation_rows.put(db, replace(row, deleted_at=None))
    relation_restore.among(db, detail["relations"], now)
    if "entity" in detail:
        relation_restore.at(db, [detail["entity"]], now)


def sentence(db: Connection, record: UndoRecord) -> str:
    """What the change did, by the names of today."""

    def name(id_: int) -> str:
        row = entity_rows.entity_row(db, id_)
        return f"n{id_}" if row is None else row.name

    detail = record.detail
    match record.kind:
        case "entity_merge":
            sources = ", ".join(name(source["id"]) for source in detail["sources"])
            return f"{sources} became part of {name(detail['target'])}"
        case "entity_rename":
            return f"{detail['was']['name']} was renamed; now {name(detail['entity'])}"
        case "entity_alias_add":
            return f"{name(detail['entity'])} goes by {detail['norm']} too"
        case "entity_alias_remove":
            return f"{name(detail['alias']['entity'])} no longer goes by {detail['alias']['alias']}"
        case "entity_delete":
            return f"{name(detail['entity'])} was deleted with {len(detail['relations'])} relations"
        case kind:
            what = "were deleted" if kind == "relation_delete" else "were weighed anew"
            return f"{len(detail['relations'])} relations {what}"
