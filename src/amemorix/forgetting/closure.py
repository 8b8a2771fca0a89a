"""What hangs on what: the rows that a deletion reaches from those that are named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array

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


def texts_after(
    db: Connection, after: int, chats: Sequence[int] | None, page: int = 1_000
) -> Iterator[tuple[int, int, str]]:
    """(paragraph, chat, text) of everything past `after`, deleted or not, of some chats or all."""
    values = {"chats": optional_array(chats), "limit": page}
    while rows := db.run("texts_after", **values, after=after).fetchall():
        yield from rows
        after = rows[-1][0]


def sentences(db: Connection) -> list[tuple[int, str, str, str]]:
    """Every relation that is not deleted, with its three words."""
    return db.run("relation_sentences").fetchall()


def sources_named(db: Connection, names: Iterable[str], chat: int | None) -> list[tuple[int, str]]:
    """(row, name) of the sources of these names that hold something."""
    return db.run("sources_of_names", names=array(names), chat=chat).fetchall()


def persons_known(db: Connection, ids: Iterable[int]) -> list[tuple[int, str, str]]:
    """(row, id, name) of those of the persons that have a row."""
    return db.run("persons_known", ids=array(ids)).fetchall()


def entities_unspoken(db: Connection, norms: Iterable[str], but: Iterable[int]) -> list[int]:
    """Entities of these names that nothing alive speaks of but these paragraphs."""
    return [row[0] for row in db.run("entities_unspoken", norms=array(norms), ids=array(but))]


def refs_kept(db: Connection, ids: Iterable[int], but: Iterable[int], limit: int) -> dict[int, str]:
    """References of these paragraphs that are not among `but`, with their external id."""
    values = {"ids": array(ids), "but": array(but), "limit": limit}
    return dict(db.run("refs_kept", **values).fetchall())


def binned(db: Connection, until: float) -> dict[str, list[int]]:
    """What was forgotten or has expired, and lies in the recycle bin since a time, by kind, with its references."""
    rows: dict[str, list[int]] = {}
    for kind, query in (("paragraph", "binned_paragraphs"), ("relation", "binned_relations")):
        rows[kind] = [row[0] for row in db.run(query, until=until)]
    emptied = ids(db, "refs_left_empty", rows["paragraph"])
    rows["ref"] = ids(db, "refs_deleted", emptied)
    rows["paragraph"] = sorted({*rows["paragraph"], *ids(db, "wordings_of_refs", emptied)})
    return rows


def labels(db: Connection, kind: str, ids: Iterable[int]) -> list[tuple[Any, ...]]:
    """What to show of rows, by id: (id, text, …)."""
    return db.run(_LABELS[kind], ids=array(ids)).fetchall()


def sources_of(db: Connection, ids: Iterable[int]) -> list[str]:
    """Names of the sources of these paragraphs."""
    return [row[0] for row in db.run("sources_of_paragraphs", ids=array(ids))]


def count_current(db: Connection, ids: Iterable[int]) -> int:
    """How many of the paragraphs are not superseded."""
    return db.run("count_current", ids=array(ids)).fetchone()[0]
