"""The merging of entities into one, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import EntityRow
from ..store.rows.relations import RelationRow
from . import relation_restore

__all__ = ["MergeRecord", "merge", "undo_merge"]


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
        relations: list[dict[str, Any]] = []
        for id_, before in self.before.items():
            old, new = asdict(before), asdict(self.after[id_])
            if changed := [name for name in old if old[name] != new[name]]:
                was, now = ({name: row[name] for name in changed} for row in (old, new))
                relations.append({"id": id_, "was": was, "now": now})
        return {"target": self.target, "sources": self.sources, "evidence": self.evidence, "relations": relations}

    @property
    def touches(self) -> list[str]:
        """Every row that was changed."""
        entities = [self.target, *(id_ for source in self.sources for id_ in (source["id"], *source["merged"]))]
        aliases = [f"a:{norm}" for source in self.sources for norm in source["aliases"]]
        return [*(f"n{id_}" for id_ in entities), *(f"r{id_}" for id_ in self.before), *aliases]


def merge(db: Connection, sources: Sequence[EntityRow], target: EntityRow, now: float) -> MergeRecord:
    """Merge live entities into a live one that is none of them."""
    record = MergeRecord(target.id)
    becomes = {source.id: target.id for source in sources}
    rows = relation_rows.at(db, becomes)
    ends = entity_rows.rows(db, {end for row in rows for end in (row.subject, row.object)})
    for row in rows:
        if row.merged_into is None and all(ends[end].merged_into is None for end in (row.subject, row.object)):
            current = relation_rows.rows(db, [row.id])[row.id]  # as this merge has left it so far
            _move(db, current, becomes, record, now)
    after = record.after
    reworded = [
        id_ for id_, was in record.before.items()
        if (was.subject, was.object) != (after[id_].subject, after[id_].object)
    ]  # fmt: skip
    relation_rows.forget_vectors(db, reworded)
    for source in sources:
        merged = entity_rows.merged(db, source.id)
        aliases = [alias.norm for alias in entity_rows.aliases(db, [source.id])]
        paragraphs, facts = entity_rows.paragraphs(db, source.id), entity_rows.facts(db, source.id)
        linked = sorted(set(paragraphs) - set(entity_rows.paragraphs(db, target.id)))
        entity_rows.set_merged(db, [source.id, *merged], target.id)
        entity_rows.move_aliases(db, aliases, target.id)
        entity_rows.link(db, [target.id], linked)
        entity_rows.unlink(db, source.id, paragraphs)
        entity_rows.move_facts(db, facts, target.id)
        moved = {"merged": merged, "aliases": aliases, "paragraphs": paragraphs, "linked": linked, "facts": facts}
        record.sources.append({"id": source.id, **moved})
    return record


def undo_merge(db: Connection, detail: Mapping[str, Any], now: float) -> None:
    """Give back the rows that there were; what has been stored since stays with the target."""
    target = detail["target"]
    for source in detail["sources"]:
        entity_rows.set_merged(db, [source["id"]], None)
        entity_rows.set_merged(db, source["merged"], source["id"])
        entity_rows.move_aliases(db, source["aliases"], source["id"])
        entity_rows.unlink(db, target, source["linked"])
        entity_rows.link(db, [source["id"]], source["paragraphs"])
        entity_rows.move_facts(db, source["facts"], source["id"])
    for moved in detail["evidence"]:
        relation_rows.unlink(db, moved["to"], moved["added"])
        relation_rows.link(db, [moved["from"]], moved["paragraphs"])
    rows = relation_rows.rows(db, [one["id"] for one in detail["relations"]])
    for one in detail["relations"]:
        if (row := rows.get(one["id"])) is not None:
            current = asdict(row)  # each column as it was, unless it has been changed since
            was = {name: value for name, value in one["was"].items() if current[name] == one["now"][name]}
            relation_rows.put(db, replace(row, **was))
    relation_rows.forget_vectors(
        db, [one["id"] for one in detail["relations"] if {"subject", "object"} & one["was"].keys()]
    )
    behind = [paragraph for moved in detail["evidence"] for paragraph in moved["paragraphs"]]
    relation_rows.drop_unsupported(db, behind, now)
    # what has come back to life while the entity at its other end was deleted goes away
    alive = [row for row in relation_rows.rows(db, rows).values() if row.alive]
    ends = entity_rows.rows(db, {end for row in alive for end in (row.subject, row.object)})
    for row in alive:
        if ends[row.subject].deleted_at is not None or ends[row.object].deleted_at is not None:
            relation_rows.put(db, replace(row, deleted_at=now))
    relation_restore.at(db, [target, *(source["id"] for source in detail["sources"])], now)


def _move(db: Connection, row: RelationRow, becomes: Mapping[int, int], record: MergeRecord, now: float) -> None:
    """Let a relation join what its ends become; one that says the same as another becomes part of that."""

    def put(was: RelationRow, after: RelationRow) -> None:
        record.before.setdefault(was.id, was)
        record.after[was.id] = after
        relation_rows.put(db, after)

    subject, object_ = becomes.get(row.subject, row.subject), becomes.get(row.object, row.object)
    gone = replace(row, deleted_at=now if row.alive else row.deleted_at)
    if subject == object_:
        put(row, gone)
        return
    twin = relation_rows.equal(db, subject, row.predicate, object_)
    if twin is None:
        put(row, replace(row, subject=subject, object=object_))
        return
    if row.alive:
        put(twin, _stronger(twin, row))
        paragraphs = relation_rows.evidence(db, row.id)
        added = sorted(set(paragraphs) - set(relation_rows.evidence(db, twin.id)))
        relation_rows.link(db, [twin.id], added)
        relation_rows.unlink(db, row.id, paragraphs)
        record.evidence.append({"from": row.id, "to": twin.id, "paragraphs": paragraphs, "added": added})
    for child in relation_rows.rows(db, relation_rows.joined(db, row.id)).values():
        put(child, replace(child, merged_into=twin.id))
    put(row, replace(gone, merged_into=twin.id))


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
