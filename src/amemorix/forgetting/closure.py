"""What hangs on what: the rows that a deletion reaches from those that are named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..store.ports import Connection
from ..store.queries import array

_LABELS = {
    "paragraph": "labels_of_paragraphs", "relation": "labels_of_relations", "entity": "labels_of_entities",
    "fact": "labels_of_facts", "person": "labels_of_persons",
}  # fmt: skip


def ids(db: Connection, query: str, ids: Iterable[int | str], **values: Any) -> list[int]:
    """The rows that a named query finds for these ids, ascending."""
    return sorted({row[0] for row in db.run(query, ids=array(ids), **values)})


def flagged(db: Connection, query: str, ids: Iterable[int], **values: Any) -> dict[int, bool]:
    """The rows that a named query finds for these ids, each with its yes or no."""
    return {row[0]: bool(row[1]) for row in db.run(query, ids=array(ids), **values)}


def labels(db: Connection, kind: str, ids: Iterable[int]) -> list[tuple[Any, ...]]:
    """What to show of rows, by id: (id, text, …)."""
    return db.run(_LABELS[kind], ids=array(ids)).fetchall()


def count_current(db: Connection, ids: Iterable[int]) -> int:
    """How many of the paragraphs are not superseded."""
    return db.run("count_current", ids=array(ids)).fetchone()[0]
