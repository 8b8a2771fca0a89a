"""The merging of entities into one, and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import EntityRow
from ..store.rows.relations import RelationRow
from . import relation_restore

__all__ = ["EntityMerge", "MergeRecord"]


@dataclass(slots=True)
class MergeRecord:
    """What a merge has changed, by ids."""

    target: int
    sources: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    evidence: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    before: dict[int, RelationRow] = field(default_factory=dict[int, RelationRow])
    after: dict[int, RelationRow] = field(default_factory=dict[int, RelationRow])

    @property
    def detail(self) -> dict[str, Any]:
        """As it is kept: of each relation only the columns that differ."""
        relations = [
            {"id": id_, **_differences(was, self.after[id_])}
            for id_, was in self.before.items()
            if was != self.after[id_]
        ]
        return {"target": self.target, "sources": self.sources, "evidence": self.evidence, "relations": relations}

    @property
    def touches(self) -> list[str]:
        """Every row that was changed."""
        entities = [self.target, *(id_ for source in self.sources for id_ in (source["id"], *source["merged"]))]
        aliases = [f"a:{norm}" for source in self.sources for norm in source["aliases"]]
        return [*(f"n{id_}" for id_ in entities), *(f"r{id_}" for id_ in self.before), *aliases]


class EntityMerge:
    """Moves everything of some entities to another one; they keep their rows, which point at it."""

    def __init__(self, store: MetadataStore) -> None:
        pass

    def merge(self, db: Connection, sources: Sequence[EntityRow], target: EntityRow, now: float) -> MergeRecord:
        """Merge live entities into a live one that is none of them."""
        record = MergeRecord(target.id)
        becomes = {source.id: target.id for source in sources}
        self._move_relations(db, becomes, record, now)
        for source in sources:
            record.sources.append(self._move_entity(db, source.id, target.id))
        return record

    def undo(self, db: Connection, detail: Mapping[str, Any], now: float) -> None:
        """Give back the rows that there were; what has been stored since stays with the target."""
        target = detail["target"]
        for source in detail["sources"]:
            self._restore_entity(db, source, target)
        for moved in detail["evidence"]:
            relation_rows.unlink(db, moved["to"], moved["added"])
            relation_rows.link(db, [moved["from"]], moved["paragraphs"])
        rows = relation_rows.rows(db, [one["id"] for one in detail["relations"]])
        for one in detail["relations"]:
            if one["id"] in rows:
                relation_rows.put(db, _reverted(rows[one["id"]], one["was"], one["now"]))
        relation_rows.forget_vectors(db, [one["id"] for one in detail["relations"] if _moved(one["was"])])
        behind = [paragraph for moved in detail["evidence"] for paragraph in moved["paragraphs"]]
        relation_rows.drop_unsupported(db, behind, now)
        self._drop_loose(db, rows, now)
        relation_restore.at(db, [target, *(source["id"] for source in detail["sources"])], now)

    def _drop_loose(self, db: Connection, ids: Iterable[int], now: float) -> None:
        """Take away what has come back to life while the entity at its other end was deleted."""
        rows = [row for row in relation_rows.rows(db, ids).values() if row.alive]
        ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
        for row in rows:
            if ends[row.subject].deleted_at is not None or ends[row.object].deleted_at is not None:
                relation_rows.put(db, replace(row, deleted_at=now))

    # entities

    def _move_entity(self, db: Connection, source: int, target: int) -> dict[str, Any]:
        merged = entity_rows.merged(db, source)
        aliases = [alias.norm for alias in entity_rows.aliases(db, [source])]
        paragraphs, facts = entity_rows.paragraphs(db, source), entity_rows.facts(db, source)
        linked = sorted(set(paragraphs) - set(entity_rows.paragraphs(db, target)))
        entity_rows.set_merged(db, [source, *merged], target)
        entity_rows.move_aliases(db, aliases, target)
        entity_rows.link(db, [target], linked)
        entity_rows.unlink(db, source, paragraphs)
        entity_rows.move_facts(db, facts, target)
        moved = {"merged": merged, "aliases": aliases, "paragraphs": paragraphs, "linked": linked, "facts": facts}
        return {"id": source, **moved}

    def _restore_entity(self, db: Connection, source: Mapping[str, Any], target: int) -> None:
        entity_rows.set_merged(db, [source["id"]], None)
        entity_rows.set_merged(db, source["merged"], source["id"])
        entity_rows.move_aliases(db, source["aliases"], source["id"])
        entity_rows.unlink(db, target, source["linked"])
        entity_rows.link(db, [source["id"]], source["paragraphs"])
        entity_rows.move_facts(db, source["facts"], source["id"])

    # relations

    def _move_relations(self, db: Connection, becomes: Mapping[int, int], record: MergeRecord, now: float) -> None:
        rows = relation_rows.at(db, becomes)
        ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
        for row in rows:
            if row.merged_into is None and all(ends[end].merged_into is None for end in (row.subject, row.object)):
                self._move(db, self._current(db, row), becomes, record, now)
        moved = [id_ for id_, was in record.before.items() if _ends(was) != _ends(record.after[id_])]
        relation_rows.forget_vectors(db, moved)

    def _current(self, db: Connection, row: RelationRow) -> RelationRow:
        """The row as this merge has left it so far."""
        return relation_rows.rows(db, [row.id])[row.id]

    def _move(
        self, db: Connection, row: RelationRow, becomes: Mapping[int, int], record: MergeRecord, now: float
    ) -> None:
        subject, object_ = becomes.get(row.subject, row.subject), becomes.get(row.object, row.object)
        if subject == object_:
            self._put(db, record, row, replace(row, deleted_at=now if row.alive else row.deleted_at))
            return
        twin = relation_rows.equal(db, subject, row.predicate, object_)
        if twin is None:
            self._put(db, record, row, replace(row, subject=subject, object=object_))
        else:
            self._join(db, row, twin, record, now)

    def _join(self, db: Connection, row: RelationRow, twin: RelationRow, record: MergeRecord, now: float) -> None:
        """Let a relation become part of one that says the same."""
        if row.alive:
            self._put(db, record, twin, _stronger(twin, row))
            paragraphs = relation_rows.evidence(db, row.id)
            added = sorted(set(paragraphs) - set(relation_rows.evidence(db, twin.id)))
            relation_rows.link(db, [twin.id], added)
            relation_rows.unlink(db, row.id, paragraphs)
            record.evidence.append({"from": row.id, "to": twin.id, "paragraphs": paragraphs, "added": added})
        for child in relation_rows.rows(db, relation_rows.joined(db, row.id)).values():
            self._put(db, record, child, replace(child, merged_into=twin.id))
        self._put(db, record, row, replace(row, merged_into=twin.id, deleted_at=now if row.alive else row.deleted_at))

    def _put(self, db: Connection, record: MergeRecord, was: RelationRow, now: RelationRow) -> None:
        record.before.setdefault(was.id, was)
        record.after[was.id] = now
        relation_rows.put(db, now)


def _stronger(twin: RelationRow, row: RelationRow) -> RelationRow:
    """The twin as it stands once the row, which is alive, has become part of it."""
    if not twin.alive:
        return replace(row, id=twin.id, subject=twin.subject, object=twin.object)
    inactive = twin.inactive_at is not None and row.inactive_at is not None
    return replace(
        twin,
        confidence=max(twin.confidence, row.confidence),
        weight=max(twin.weight, row.weight),
        origin="admin" if "admin" in (twin.origin, row.origin) else twin.origin,
        inactive_at=twin.inactive_at if inactive else None,
        inactive_reason=twin.inactive_reason if inactive else "",
    )


def _ends(row: RelationRow) -> tuple[int, int]:
    return row.subject, row.object


def _moved(was: Mapping[str, Any]) -> bool:
    return "subject" in was or "object" in was


def _differences(was: RelationRow, now: RelationRow) -> dict[str, dict[str, Any]]:
    old, new = asdict(was), asdict(now)
    changed = [name for name in old if old[name] != new[name]]
    return {"was": {name: old[name] for name in changed}, "now": {name: new[name] for name in changed}}


def _reverted(row: RelationRow, was: Mapping[str, Any], now: Mapping[str, Any]) -> RelationRow:
    """The row with each column as it was, unless it has been changed since."""
    current = asdict(row)
    return replace(row, **{name: was[name] for name in was if current[name] == now[name]})
