"""The changing of the graph by hand: each change is one transaction and leaves a record by which it is undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..audit_context import naming
from ..clock import Clock
from ..errors import Conflict, InvalidRequest, NotFound
from ..ingest.relations import RelationWriteService, Written
from ..language.normalise import clean_text, normalise_name
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection, Unit
from ..store.records import Alias, Entity, Relation
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import AliasRow, EntityRow
from ..store.rows.relations import RelationRow
from . import relation_restore, undo_rows
from .entity_lookup import GraphFinder, row_id
from .entity_merge import EntityMerge
from .requests import AliasEdit, CreateEdge, CreateNode, DeleteNode, EdgeEdit, MergeNodes, RenameNode, WeighEdge

__all__ = ["Changed", "GraphEditService"]

MOST_METADATA = 65_536
MOST_NAMED = 20
"""Relations that the audit names; the record of the change holds all of them."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What a change by hand came to; `undo` is 0 where there is nothing to undo."""

    node: int = 0
    relations: tuple[int, ...] = ()
    undo: int = 0
    made: bool = False
    count: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Change:
    """A unit of work under way."""

    db: Connection
    now: float
    requested_by: str
    reason: str


class GraphEditService:
    """Creates, renames, merges, weighs and deletes nodes and edges.

    Raises InvalidRequest, NotFound or Conflict, naming the argument; then nothing has changed.
    """

    def __init__(self, store: MetadataStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._finder = GraphFinder(store)
        self._merging = EntityMerge(store)
        self._knowledge = RelationWriteService(store)

    async def _written(self, unit: Unit[Changed]) -> Changed:
        """Do it, and let the audit say to which node and relations it was done."""
        name = naming()

        def named(db: Connection) -> Changed:
            changed = unit(db)
            relations = [f"r{id_}" for id_ in changed.relations[:MOST_NAMED]]
            name(node=f"n{changed.node}" if changed.node else "", relations=",".join(relations))
            return changed

        return await self._store.write(named)

    # nodes

    async def create_node(self, request: CreateNode) -> Changed:
        """Make a node; one that has the name, or goes by it, stays as it is."""
        metadata = _metadata(request.metadata)

        def unit(db: Connection) -> Changed:
            now, norm = self._clock.now(), normalise_name(request.name)
            known = entity_rows.meant(db, norm)
            aliases = tuple(Alias(a, normalise_name(a), f"aliases.{i}") for i, a in enumerate(request.aliases))
            written = self._knowledge.entities(db, [Entity(request.name, norm, request.type, aliases)], "admin", now)
            made = known is None or not known.alive
            if made and request.metadata:
                entity_rows.set_metadata(db, written.entities[norm], metadata)
            warnings = [*written.warnings, *([] if made else ["The node was there already."])]
            return Changed(written.entities[norm], made=made, warnings=tuple(warnings))

        return await self._written(unit)

    async def delete_node(self, request: DeleteNode) -> Changed:
        """Take a node away with its relations; its paragraphs stay."""

        def unit(db: Connection) -> Changed:
            change = self._change(db, request.requested_by, request.reason)
            node = self._finder.node(db, "node", request.node)
            rows = [row for row in relation_rows.at(db, [node.id]) if row.alive]
            entity_rows.set_deleted(db, [node.id], change.now)
            for row in rows:
                relation_rows.put(db, replace(row, deleted_at=change.now))
            detail = {"entity": node.id, "relations": [row.id for row in rows], "deleted_at": change.now}
            ends = {end for row in rows for end in (row.subject, row.object)} | {node.id}
            undo = self._record(change, "entity_delete", detail, [*_nodes(ends), *_edges(rows)])
            relation_restore.taken(db, [row.id for row in rows], f"u{undo}")
            return Changed(node.id, tuple(row.id for row in rows), undo, count=1 + len(rows))

        return await self._written(unit)

    async def rename_node(self, request: RenameNode) -> Changed:
        """Give a node another name; the old one becomes an alias."""

        def unit(db: Connection) -> Changed:
            change = self._change(db, request.requested_by, request.reason)
            node = self._finder.node(db, "node", request.node)
            norm = normalise_name(request.new_name)
            meant, _ = self._finder.owner_of_name(db, norm)
            if meant is None or meant.id == node.id:
                return self._rename(change, node, request.new_name, norm)
            if not request.merge:
                raise Conflict(
                    f"new_name: {request.new_name!r} means n{meant.id} ({meant.name!r}) already; merge_nodes makes the "
                    "two one, and so does merge=true.",
                    field="new_name", node=f"n{meant.id}",
                )  # fmt: skip
            return self._merge(change, [node], self._finder.alive(meant, "new_name"))

        return await self._written(unit)

    def _rename(self, change: _Change, node: EntityRow, name: str, norm: str) -> Changed:
        db = change.db
        if name == node.name:
            return Changed(node.id, warnings=("The node has that name already.",))
        own_alias, former = entity_rows.alias_row(db, norm), entity_rows.named(db, norm)
        was = {"name": node.name, "norm": node.norm}
        detail: dict[str, Any] = {"entity": node.id, "was": was, "alias": None, "exchanged": None, "old_alias": False}
        if former is not None and former.id != node.id:
            entity_rows.exchange_names(db, node, former)
            detail["exchanged"] = former.id
            detail["name"] = former.name
        elif norm != node.norm:
            if own_alias is not None:
                entity_rows.remove_alias(db, norm)
                detail["alias"] = asdict(own_alias)
            entity_rows.put_alias(db, AliasRow(node.norm, node.id, node.name, "admin", change.now))
            detail["old_alias"] = True
        entity_rows.set_name(db, node.id, name, norm)
        rows = relation_rows.at(db, [node.id])
        relation_rows.forget_vectors(db, [row.id for row in rows])
        ids = [node.id] if detail["exchanged"] is None else [node.id, detail["exchanged"]]
        undo = self._record(change, "entity_rename", detail, [*_nodes(ids), f"a:{norm}", f"a:{node.norm}"])
        return Changed(node.id, undo=undo, count=1)

    async def merge_nodes(self, request: MergeNodes) -> Changed:
        """Make several nodes one."""

        def unit(db: Connection) -> Changed:
            target = self._finder.node(db, "target", request.target)
            sources: dict[int, EntityRow] = {}
            for i, said in enumerate(request.sources):
                source = self._finder.node(db, f"sources.{i}", said)
                if source.id == target.id:
                    raise InvalidRequest(
                        f"sources.{i}: {said!r} is the target itself (n{target.id}).", field=f"sources.{i}"
                    )
                sources[source.id] = source
            return self._merge(self._change(db, request.requested_by, request.reason), list(sources.values()), target)

        return await self._written(unit)

    def _merge(self, change: _Change, sources: list[EntityRow], target: EntityRow) -> Changed:
        record = self._merging.merge(change.db, sources, target, change.now)
        undo = self._record(change, "entity_merge", record.detail, record.touches)
        return Changed(target.id, tuple(record.before), undo, count=len(sources))

    # aliases

    async def add_alias(self, request: AliasEdit) -> Changed:
        """Let a node go by another name too."""

        def unit(db: Connection) -> Changed:
            change = self._change(db, request.requested_by, request.reason)
            node = self._finder.node(db, "node", request.node)
            norm = normalise_name(request.alias)
            meant, _ = self._finder.owner_of_name(db, norm)
            if meant is not None and meant.id != node.id:
                raise Conflict(
                    f"alias: {request.alias!r} means n{meant.id} ({meant.name!r}) already; merge_nodes makes the two "
                    "one.",
                    field="alias", node=f"n{meant.id}",
                )  # fmt: skip
            if meant is not None:
                return Changed(node.id, warnings=("The node goes by that name already.",))
            entity_rows.put_alias(db, AliasRow(norm, node.id, request.alias, "admin", change.now))
            undo = self._record(change, "entity_alias_add", {"entity": node.id, "norm": norm}, [f"a:{norm}"])
            return Changed(node.id, undo=undo, count=1)

        return await self._written(unit)

    async def remove_alias(self, request: AliasEdit) -> Changed:
        """Let a node no longer go by an alias."""

        def unit(db: Connection) -> Changed:
            change = self._change(db, request.requested_by, request.reason)
            norm = normalise_name(request.alias)
            alias = entity_rows.alias_row(db, norm)
            node = self._finder.node(db, "node", request.node) if request.node else None
            if alias is None or (node is not None and alias.entity != node.id):
                raise self._no_alias(db, request.alias, norm)
            entity_rows.remove_alias(db, norm)
            undo = self._record(change, "entity_alias_remove", {"alias": asdict(alias)}, [f"a:{norm}"])
            return Changed(alias.entity, undo=undo, count=1)

        return await self._written(unit)

    def _no_alias(self, db: Connection, said: str, norm: str) -> Conflict | NotFound:
        own = entity_rows.named(db, norm)
        if own is None or own.deleted_at is not None:
            return NotFound(f"alias: there is no alias {said!r} of this node.", field="alias")
        if own.merged_into is None:
            return Conflict(f"alias: {said!r} is the name of n{own.id}, not an alias; rename it.", field="alias")
        return Conflict(
            f"alias: {said!r} is what n{own.id} was called before it became part of n{own.merged_into}; undo the merge.",
            field="alias",
        )

    # edges

    async def create_edge(self, request: CreateEdge) -> Changed:
        """Make a relation; without paragraphs it is asserted by hand, and needs no evidence to stay."""

        def unit(db: Connection) -> Changed:
            now = self._clock.now()
            paragraphs = self._finder.paragraphs(db, request.paragraphs)
            origin = "caller" if paragraphs else "admin"
            written, known = Written(), self._relations_of(db, request)
            ends = (("subject", request.subject), ("object", request.object))
            subject, object_ = (self._end(db, field, said) for field, said in ends)
            relation = Relation(subject, request.predicate, object_, request.confidence)
            id_ = self._knowledge.relation(db, written, relation, origin, now)
            if id_ is None:
                raise InvalidRequest(
                    "object: subject and object are the same: a relation joins two different things.", field="object"
                )
            self._knowledge.support(db, written, paragraphs)
            return self._weighed(db, id_, request.weight, made=known is None or not known.alive)

        return await self._written(unit)

    def _relations_of(self, db: Connection, request: CreateEdge) -> RelationRow | None:
        """The relation that says this already."""
        ends = [self._finder.known(db, said) for said in (request.subject, request.object)]
        if ends[0] is None or ends[1] is None:
            return None
        return relation_rows.equal(db, ends[0].id, request.predicate, ends[1].id)

    def _end(self, db: Connection, field: str, said: str) -> Entity:
        known = self._finder.known(db, said)
        if known is None and row_id(said, "n", bare=False) is not None:
            raise NotFound(f"{field}: there is no node {said!r}.", field=field)
        return Entity(said, normalise_name(said)) if known is None else Entity(known.name, known.norm)

    def _weighed(self, db: Connection, id_: int, weight: float | None, *, made: bool) -> Changed:
        row = relation_rows.rows(db, [id_])[id_]
        if not row.alive:
            raise Conflict(f"predicate: r{id_}, which says this, was forgotten; restore it first.", field="predicate")
        if weight is not None:
            relation_rows.put(db, replace(row, weight=weight))
        asleep = f"r{id_} is inactive ({row.inactive_reason}); it does not count until it is restored."
        warnings = (asleep,) if row.inactive_at is not None else ()
        return Changed(row.subject, (id_,), made=made, count=1, warnings=warnings)

    async def delete_edge(self, request: EdgeEdit) -> Changed:
        """Take relations away."""

        def unit(db: Connection) -> Changed:
            change, rows = self._rows(db, request)
            for row in rows:
                relation_rows.put(db, replace(row, deleted_at=change.now))
            detail = {"relations": [row.id for row in rows], "deleted_at": change.now}
            ends = {end for row in rows for end in (row.subject, row.object)}
            undo = self._record(change, "relation_delete", detail, [*_nodes(ends), *_edges(rows)])
            relation_restore.taken(db, [row.id for row in rows], f"u{undo}")
            return Changed(rows[0].subject, tuple(row.id for row in rows), undo, count=len(rows))

        return await self._written(unit)

    async def weigh_edge(self, request: WeighEdge) -> Changed:
        """Say how much relations weigh in the walk of search and in the order of nodes."""

        def unit(db: Connection) -> Changed:
            change, rows = self._rows(db, request)
            for row in rows:
                relation_rows.put(db, replace(row, weight=request.weight))
            detail = {"relations": [[row.id, row.weight] for row in rows]}
            undo = self._record(change, "relation_weight", detail, _edges(rows))
            return Changed(rows[0].subject, tuple(row.id for row in rows), undo, count=len(rows))

        return await self._written(unit)

    def _rows(self, db: Connection, request: EdgeEdit) -> tuple[_Change, list[RelationRow]]:
        rows = self._finder.edge(db, request.relation, request.source, request.target, request.predicate)
        return self._change(db, request.requested_by, request.reason), rows

    # records

    def _change(self, db: Connection, requested_by: str, reason: str) -> _Change:
        return _Change(db, self._clock.now(), requested_by, reason)

    def _record(self, change: _Change, kind: str, detail: Mapping[str, Any], touches: Iterable[str]) -> int:
        return undo_rows.add(
            change.db, kind, detail, touches, requested_by=change.requested_by, reason=change.reason, now=change.now
        )


def _metadata(value: dict[str, Any]) -> str:
    try:
        encoded = clean_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidRequest(f"metadata: cannot be written as JSON ({exc}).", field="metadata") from exc
    if len(encoded.encode()) > MOST_METADATA:
        raise InvalidRequest(f"metadata: more than {MOST_METADATA} bytes.", field="metadata")
    return encoded


def _nodes(ids: Iterable[int]) -> list[str]:
    return [f"n{id_}" for id_ in ids]


def _edges(rows: Iterable[RelationRow]) -> list[str]:
    return [f"r{row.id}" for row in rows]
