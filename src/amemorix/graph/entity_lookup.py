"""From what a caller calls a node, an edge or a paragraph to its row."""

from __future__ import annotations

from ..errors import InvalidRequest, NotFound
from ..ids import row_number
from ..language.normalise import normalise_name
from ..store.access import Sight
from ..store.ports import Connection
from ..store.rows import entities as entity_rows
from ..store.rows import entity_names
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.entities import EntityRow
from ..store.rows.relations import RelationRow
from . import rows as graph_rows

__all__ = ["find_edge", "find_node", "known_node", "live_paragraphs"]


def find_node(db: Connection, field: str, said: str, sight: Sight | None = None) -> EntityRow:
    """The entity of this id, name or alias; of one that was merged, what it became."""
    if not said:
        raise InvalidRequest(f"{field}: say which node, by its id or its name.", field=field)
    row = known_node(db, said)
    if row is None or not row.alive or (sight is not None and not _known_to(db, row, said, sight)):
        raise NotFound(f"{field}: there is no node {said!r}.", field=field)
    return row


def _known_to(db: Connection, row: EntityRow, said: str, sight: Sight) -> bool:
    """Whether the node may be seen and, where it is of several names, whoever looks has said this one."""
    if not graph_rows.nodes(db, [row.id], sight):
        return False
    names = entity_names.said(db, [row.id], sight.scopes).get(row.id)
    if names is None:
        return True
    return bool(names) and (row_number(said, "n") == row.id or normalise_name(said) in names)


def known_node(db: Connection, said: str) -> EntityRow | None:
    """The entity of this id, name or alias, deleted ones too."""
    by_id = row_number(said, "n", bare=False)
    row = _of_id(db, by_id) or entity_rows.meant(db, normalise_name(said))
    return row or _of_id(db, row_number(said, "n"))


def _of_id(db: Connection, id_: int | None) -> EntityRow | None:
    row = None if id_ is None else entity_rows.entity_row(db, id_)
    return row if row is None or row.merged_into is None else entity_rows.entity_row(db, row.merged_into)


def find_edge(
    db: Connection, relation: str, source: str, target: str, predicate: str, sight: Sight | None = None
) -> list[RelationRow]:
    """The relation of this id (of one that has become part of another, that one), or all from a source to a target
    (those of them with the predicate, if one is given); at least one."""
    if relation:
        id_ = row_number(relation, "r")
        if id_ is None:
            raise InvalidRequest(f"relation: {relation!r} is no id of a relation, such as r12.", field="relation")
        row = relation_rows.rows(db, [id_]).get(id_)
        if row is not None and row.merged_into is not None:
            row = relation_rows.rows(db, [row.merged_into]).get(row.merged_into)
        if row is None or not row.alive or not _seen(db, [row], sight):
            raise NotFound(f"relation: there is no relation {relation!r}.", field="relation")
        return [row]
    if not source and not target:
        raise InvalidRequest(
            "relation: say which edge, by the id of a relation or by source and target.", field="relation"
        )
    begins, ends = find_node(db, "source", source, sight).id, find_node(db, "target", target, sight).id
    found = _seen(db, relation_rows.between(db, begins, ends, predicate), sight)
    if not found:
        said = f" that says {predicate!r}" if predicate else ""
        names = entity_names.shown(db, (begins, ends), None if sight is None else sight.scopes)
        begin, end = names.get(begins, ""), names.get(ends, "")
        raise NotFound(f"target: there is no relation from {begin!r} to {end!r}{said}.", field="target")
    return found


def _seen(db: Connection, rows: list[RelationRow], sight: Sight | None) -> list[RelationRow]:
    if sight is None:
        return rows
    seen = {edge.id for edge in graph_rows.edges(db, [row.id for row in rows], sight)}
    return [row for row in rows if row.id in seen]


def live_paragraphs(db: Connection, said: list[str]) -> list[int]:
    """Live paragraphs by their ids."""
    ids: list[int] = []
    for i, one in enumerate(said):
        field, id_ = f"paragraphs.{i}", row_number(one, "p")
        if id_ is None:
            raise InvalidRequest(f"{field}: {one!r} is no id of a paragraph, such as p12.", field=field)
        ids.append(id_)
    live = paragraph_rows.current(db, ids)
    for i, id_ in enumerate(ids):
        if id_ not in live:
            raise NotFound(f"paragraphs.{i}: there is no paragraph {said[i]!r}.", field=f"paragraphs.{i}")
    return sorted(live)
