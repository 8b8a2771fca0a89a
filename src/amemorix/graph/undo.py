"""The undoing of what was changed in the graph by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..clock import Clock
from ..errors import Conflict, InvalidRequest, NotFound
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import AliasRow
from ..store.rows.relations import RelationRow
from . import relation_restore, undo_rows
from .entity_lookup import row_id
from .entity_merge import EntityMerge
from .undo_rows import UndoRow

__all__ = ["GraphUndoService", "UndoPage"]


@dataclass(frozen=True, slots=True)
class UndoPage:
    """Records with a sentence and the later record, if any, that has to be undone before."""

    records: list[tuple[UndoRow, str, int | None]]
    total: int


class GraphUndoService:
    """Gives back exactly the rows that there were.

    A change on which a later one builds cannot be undone before that one; unrelated changes do not matter.
    """

    def __init__(self, store: MetadataStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._merging = EntityMerge(store)
        self._ways = {
            "entity_merge": self._merge,
            "entity_rename": self._rename,
            "entity_alias_add": self._alias_add,
            "entity_alias_remove": self._alias_remove,
            "entity_delete": self._delete,
            "relation_delete": self._delete,
            "relation_weight": self._weight,
        }

    async def undo(self, said: str) -> UndoRow:
        """Undo one change. Raises NotFound, or Conflict if it has been undone or a later one builds on it."""
        id_ = row_id(said, "u")
        if id_ is None:
            raise InvalidRequest(f"undo_id: {said!r} is no id of a change, such as u12.", field="undo_id")

        def unit(db: Connection) -> UndoRow:
            record = undo_rows.find(db, id_)
            if record is None:
                raise NotFound(f"undo_id: there is no change {said!r}.", field="undo_id")
            if record.undone_at is not None:
                raise Conflict(f"undo_id: u{id_} has been undone already.", field="undo_id")
            later = undo_rows.later(db, record)
            if later is not None:
                raise Conflict(
                    f"undo_id: u{later} came after u{id_} and changed the same; undo that first.",
                    field="undo_id", first=f"u{later}",
                )  # fmt: skip
            now = self._clock.now()
            undo_rows.done(db, id_, now)
            self._ways[record.kind](db, {**record.detail, "record": record.id}, now)
            return record

        return await self._store.write(unit)

    async def list(self, *, undone: bool, limit: int, offset: int) -> UndoPage:
        """The changes, the newest first."""

        def read(db: Connection) -> UndoPage:
            rows = undo_rows.listed(db, undone=undone, limit=limit, offset=offset)
            kept = [(row, None if row.undone_at is not None else undo_rows.later(db, row)) for row in rows]
            told = [(row, self._sentence(db, row), later) for row, later in kept]
            return UndoPage(told, undo_rows.count(db, undone=undone))

        return await self._store.read(read)

    # the ways back

    def _merge(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:
        self._merging.undo(db, detail, now)

    def _rename(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:  # noqa: ARG002
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

    def _alias_add(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:  # noqa: ARG002
        entity_rows.remove_alias(db, detail["norm"])

    def _alias_remove(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:  # noqa: ARG002
        alias = AliasRow(**detail["alias"])
        taken = entity_rows.meant(db, alias.norm)
        if taken is not None:
            raise Conflict(f"undo_id: {alias.alias!r} means n{taken.id} by now.", field="undo_id")
        if entity_rows.entity_row(db, alias.entity) is None:
            raise Conflict("undo_id: the node is gone for good.", field="undo_id")
        entity_rows.put_alias(db, alias)

    def _delete(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:
        if "entity" in detail:
            row = entity_rows.entity_row(db, detail["entity"])
            if row is None:
                raise Conflict("undo_id: the node is gone for good.", field="undo_id")
            if row.deleted_at == detail["deleted_at"]:
                entity_rows.set_deleted(db, [row.id], None)
        taken = relation_restore.taken_by(db, detail["relations"], f"u{detail['record']}")
        rows = list(relation_rows.rows(db, taken).values())
        self._stand(db, rows)
        for row in rows:
            if not relation_rows.evidence(db, row.id):
                relation_rows.put(db, replace(row, deleted_at=None))
        relation_restore.among(db, detail["relations"], now)
        if "entity" in detail:
            relation_restore.at(db, [detail["entity"]], now)

    def _stand(self, db: Connection, rows: Sequence[RelationRow]) -> None:
        """Raise Conflict unless both ends of every relation are there."""
        ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
        for row in rows:
            for end in (row.subject, row.object):
                if not ends[end].alive:
                    raise Conflict(
                        f"undo_id: n{end}, at an end of r{row.id}, has been deleted since; bring it back first.",
                        field="undo_id", node=f"n{end}",
                    )  # fmt: skip

    def _weight(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:  # noqa: ARG002
        was = dict(detail["relations"])
        for row in relation_rows.rows(db, was).values():
            relation_rows.put(db, replace(row, weight=was[row.id]))

    # telling

    def _sentence(self, db: Connection, record: UndoRow) -> str:
        detail = record.detail
        if record.kind == "entity_merge":
            sources = ", ".join(self._name(db, source["id"]) for source in detail["sources"])
            return f"{sources} became part of {self._name(db, detail['target'])}"
        if record.kind == "entity_rename":
            return f"{detail['was']['name']} was renamed; now {self._name(db, detail['entity'])}"
        if record.kind == "entity_alias_add":
            return f"{self._name(db, detail['entity'])} goes by {detail['norm']} too"
        if record.kind == "entity_alias_remove":
            return f"{self._name(db, detail['alias']['entity'])} no longer goes by {detail['alias']['alias']}"
        if record.kind == "entity_delete":
            return f"{self._name(db, detail['entity'])} was deleted with {len(detail['relations'])} relations"
        what = "were deleted" if record.kind == "relation_delete" else "were weighed anew"
        return f"{len(detail['relations'])} relations {what}"

    def _name(self, db: Connection, id_: int) -> str:
        row = entity_rows.entity_row(db, id_)
        return f"n{id_}" if row is None else row.name
