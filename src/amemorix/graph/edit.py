"""The changing of the graph by hand: each change is one transaction and leaves a record by which it is undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import Conflict, InvalidRequest, NotFound
from ..ids import row_number
from ..ingest.relations import RelationWriteService, Written
from ..language.normalise import clean_text, normalise_name
from ..store.ports import Connection
from ..store.records import Alias, Entity, Relation
from ..store.rows import entities as entity_rows
from ..store.rows import relations as relation_rows
from ..store.rows import undo_records
from ..store.rows.entities import AliasRow, EntityRow
from ..store.rows.relations import RelationRow
from . import relation_restore
from .entity_lookup import find_edge, find_node, known_node, live_paragraphs
from .entity_merge import merge
from .requests import AliasEdit, CreateEdge, CreateNode, DeleteNode, EdgeEdit, MergeNodes, RenameNode, WeighEdge

__all__ = ["Changed", "Edit"]

MOST_METADATA = 65_536


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
class Edit:
    """A transaction in which the graph is changed by hand."""

    db: Connection
    now: float
    requested_by: str
    reason: str
    relations: RelationWriteService

    def record(self, kind: str, detail: Mapping[str, Any], touches: Iterable[str]) -> int:
        """Keep what the change is undone by, and which rows it touches (n12, r12, a:name); returns the record's row."""
        whole = {**detail, "touches": sorted(set(touches))}
        return undo_records.keep(self.db, kind, whole, self.requested_by, self.reason, self.now)


def create_node(edit: Edit, request: CreateNode) -> Changed:
    """Make a node; one that has the name, or goes by it, stays as it is."""
    db = edit.db
    try:
        metadata = clean_text(json.dumps(request.metadata, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as exc:
        raise InvalidRequest(f"metadata: cannot be written as JSON ({exc}).", field="metadata") from exc
    if len(metadata.encode()) > MOST_METADATA:
        raise InvalidRequest(f"metadata: more than {MOST_METADATA} bytes.", field="metadata")
    norm = normalise_name(request.name)
    known = entity_rows.meant(db, norm)
    aliases = tuple(Alias(a, normalise_name(a), f"aliases.{i}") for i, a in enumerate(request.aliases))
    written = edit.relations.entities(db, [Entity(request.name, norm, request.type, aliases)], "admin", edit.now)
    made = known is None or not known.alive
    if made and request.metadata:
        entity_rows.set_metadata(db, written.entities[norm], metadata)
    warnings = [*written.warnings, *([] if made else ["The node was there already."])]
    return Changed(written.entities[norm], made=made, warnings=tuple(warnings))


def delete_node(edit: Edit, request: DeleteNode) -> Changed:
    """Take a node away with its relations; its paragraphs stay."""
    db = edit.db
    node = find_node(db, "node", request.node)
    rows = [row for row in relation_rows.at(db, [node.id]) if row.alive]
    entity_rows.set_deleted(db, [node.id], edit.now)
    for row in rows:
        relation_rows.put(db, replace(row, deleted_at=edit.now))
    detail = {"entity": node.id, "relations": [row.id for row in rows], "deleted_at": edit.now}
    ends = {end for row in rows for end in (row.subject, row.object)} | {node.id}
    record = edit.record("entity_delete", detail, [*_nodes(ends), *_edges(rows)])
    relation_restore.taken(db, [row.id for row in rows], f"u{record}")
    return Changed(node.id, tuple(row.id for row in rows), record, count=1 + len(rows))


def rename_node(edit: Edit, request: RenameNode) -> Changed:
    """Give a node another name; the old one becomes an alias."""
    db = edit.db
    node = find_node(db, "node", request.node)
    norm = normalise_name(request.new_name)
    meant = entity_rows.meant(db, norm)
    if meant is None or meant.id == node.id:
        return _rename(edit, node, request.new_name, norm)
    if not request.merge:
        raise Conflict(
            f"new_name: {request.new_name!r} means n{meant.id} ({meant.name!r}) already; merge_nodes makes the "
            "two one, and so does merge=true.",
            field="new_name", node=f"n{meant.id}",
        )  # fmt: skip
    if not meant.alive:
        raise Conflict(f"new_name: n{meant.id} was deleted; undo that first.", field="new_name")
    return _merge(edit, [node], meant)


def _rename(edit: Edit, node: EntityRow, name: str, norm: str) -> Changed:
    db = edit.db
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
        entity_rows.put_alias(db, AliasRow(node.norm, node.id, node.name, "admin", edit.now))
        detail["old_alias"] = True
    entity_rows.set_name(db, node.id, name, norm)
    rows = relation_rows.at(db, [node.id])
    relation_rows.forget_vectors(db, [row.id for row in rows])
    ids = [node.id] if detail["exchanged"] is None else [node.id, detail["exchanged"]]
    record = edit.record("entity_rename", detail, [*_nodes(ids), f"a:{norm}", f"a:{node.norm}"])
    return Changed(node.id, undo=record, count=1)


def merge_nodes(edit: Edit, request: MergeNodes) -> Changed:
    """Make several nodes one."""
    db = edit.db
    target = find_node(db, "target", request.target)
    sources: dict[int, EntityRow] = {}
    for i, said in enumerate(request.sources):
        source = find_node(db, f"sources.{i}", said)
        if source.id == target.id:
            raise InvalidRequest(f"sources.{i}: {said!r} is the target itself (n{target.id}).", field=f"sources.{i}")
        sources[source.id] = source
    return _merge(edit, list(sources.values()), target)


def _merge(edit: Edit, sources: list[EntityRow], target: EntityRow) -> Changed:
    merged = merge(edit.db, sources, target, edit.now)
    record = edit.record("entity_merge", merged.detail, merged.touches)
    return Changed(target.id, tuple(merged.before), record, count=len(sources))


def add_alias(edit: Edit, request: AliasEdit) -> Changed:
    """Let a node go by another name too."""
    db = edit.db
    node = find_node(db, "node", request.node)
    norm = normalise_name(request.alias)
    meant = entity_rows.meant(db, norm)
    if meant is not None and meant.id != node.id:
        raise Conflict(
            f"alias: {request.alias!r} means n{meant.id} ({meant.name!r}) already; merge_nodes makes the two "
            "one.",
            field="alias", node=f"n{meant.id}",
        )  # fmt: skip
    if meant is not None:
        return Changed(node.id, warnings=("The node goes by that name already.",))
    entity_rows.put_alias(db, AliasRow(norm, node.id, request.alias, "admin", edit.now))
    record = edit.record("entity_alias_add", {"entity": node.id, "norm": norm}, [f"a:{norm}"])
    return Changed(node.id, undo=record, count=1)


def remove_alias(edit: Edit, request: AliasEdit) -> Changed:
    """Let a node no longer go by an alias."""
    db = edit.db
    norm = normalise_name(request.alias)
    alias = entity_rows.alias_row(db, norm)
    node = find_node(db, "node", request.node) if request.node else None
    if alias is None or (node is not None and alias.entity != node.id):
        own = entity_rows.named(db, norm)
        if own is None or own.deleted_at is not None:
            raise NotFound(f"alias: there is no alias {request.alias!r} of this node.", field="alias")
        if own.merged_into is None:
            told = f"is the name of n{own.id}, not an alias; rename it."
        else:
            told = f"is what n{own.id} was called before it became part of n{own.merged_into}; undo the merge."
        raise Conflict(f"alias: {request.alias!r} {told}", field="alias")
    entity_rows.remove_alias(db, norm)
    record = edit.record("entity_alias_remove", {"alias": asdict(alias)}, [f"a:{norm}"])
    return Changed(alias.entity, undo=record, count=1)


def create_edge(edit: Edit, request: CreateEdge) -> Changed:
    """Make a relation; without paragraphs it is asserted by hand, and needs no evidence to stay."""
    db = edit.db
    paragraphs = live_paragraphs(db, request.paragraphs)
    written, known = Written(), None
    begins, ends = known_node(db, request.subject), known_node(db, request.object)
    if begins is not None and ends is not None:
        known = relation_rows.equal(db, begins.id, request.predicate, ends.id)
    subject = _end("subject", request.subject, begins)
    object_ = _end("object", request.object, ends)
    relation = Relation(subject, request.predicate, object_, request.confidence)
    id_ = edit.relations.relation(db, written, relation, "caller" if paragraphs else "admin", edit.now)
    if id_ is None:
        raise InvalidRequest(
            "object: subject and object are the same: a relation joins two different things.", field="object"
        )
    edit.relations.support(db, written, paragraphs)
    row = relation_rows.rows(db, [id_])[id_]
    if not row.alive:
        raise Conflict(f"predicate: r{id_}, which says this, was forgotten; restore it first.", field="predicate")
    if request.weight is not None:
        relation_rows.put(db, replace(row, weight=request.weight))
    asleep = f"r{id_} is inactive ({row.inactive_reason}); it does not count until it is restored."
    warnings = (asleep,) if row.inactive_at is not None else ()
    return Changed(row.subject, (id_,), made=known is None or not known.alive, count=1, warnings=warnings)


def _end(field: str, said: str, known: EntityRow | None) -> Entity:
    if known is None and row_number(said, "n", bare=False) is not None:
        raise NotFound(f"{field}: there is no node {said!r}.", field=field)
    return Entity(said, normalise_name(said)) if known is None else Entity(known.name, known.norm)


def delete_edge(edit: Edit, request: EdgeEdit) -> Changed:
    """Take relations away."""
    db = edit.db
    rows = find_edge(db, request.relation, request.source, request.target, request.predicate)
    for row in rows:
        relation_rows.put(db, replace(row, deleted_at=edit.now))
    detail = {"relations": [row.id for row in rows], "deleted_at": edit.now}
    ends = {end for row in rows for end in (row.subject, row.object)}
    record = edit.record("relation_delete", detail, [*_nodes(ends), *_edges(rows)])
    relation_restore.taken(db, [row.id for row in rows], f"u{record}")
    return Changed(rows[0].subject, tuple(row.id for row in rows), record, count=len(rows))


def weigh_edge(edit: Edit, request: WeighEdge) -> Changed:
    """Say how much relations weigh in the walk of search and in the order of nodes."""
    db = edit.db
    rows = find_edge(db, request.relation, request.source, request.target, request.predicate)
    for row in rows:
        relation_rows.put(db, replace(row, weight=request.weight))
    detail = {"relations": [[row.id, row.weight] for row in rows]}
    record = edit.record("relation_weight", detail, _edges(rows))
    return Changed(rows[0].subject, tuple(row.id for row in rows), record, count=len(rows))


def _nodes(ids: Iterable[int]) -> list[str]:
    return [f"n{id_}" for id_ in ids]


def _edges(rows: Iterable[RelationRow]) -> list[str]:
    return [f"r{row.id}" for row in rows]
