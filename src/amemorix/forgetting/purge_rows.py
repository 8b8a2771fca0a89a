"""The erasing of rows for good, with everything that was derived from them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.normalise import unpack_terms
from ..store.connection import of_file
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entity_names
from ..store.rows.entity_names import Leaving

__all__ = ["Erased", "ErasureRepository", "Targets", "Traces"]

_TEXTS = {
    "paragraphs": ("traces_of_paragraphs",), "entities": ("traces_of_metadata",), "facts": ("traces_of_facts",),
}  # fmt: skip
_NAMES = {
    "paragraphs": ("traces_of_their_persons",), "persons": ("traces_of_persons",),
}  # fmt: skip
_THINGS = {"entities": ("traces_of_entities", "traces_of_aliases")}
_IDS = {"refs": ("traces_of_refs",), "chats": ("traces_of_chats",), "persons": ("traces_of_person_ids",)}
_GONE = {
    "paragraphs": "paragraphs_gone",
    "relations": "relations_gone",
    "entities": "entities_gone",
    "facts": "facts_gone",
    "persons": "persons_gone",
    "chats": "chats_gone",
}
_KNOWN_OF = ("erase_aliases_of", "erase_overrides_of", "erase_snapshots_of", "erase_facts_of", "erase_cursors_of")


@dataclass(frozen=True, slots=True)
class Targets:
    """Rows to erase, by kind."""

    paragraphs: tuple[int, ...] = ()
    refs: tuple[int, ...] = ()
    relations: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    persons: tuple[int, ...] = ()
    chats: tuple[int, ...] = ()

    @classmethod
    def of(cls, items: Iterable[tuple[str, int]]) -> Targets:
        """From (kind, row) pairs; other kinds are passed over."""
        names = {"paragraph": "paragraphs", "ref": "refs", "relation": "relations", "entity": "entities",
                 "fact": "facts", "person": "persons", "chat": "chats"}  # fmt: skip
        found: dict[str, list[int]] = {}
        for kind, id_ in items:
            if kind in names:
                found.setdefault(names[kind], []).append(id_)
        return cls(**{name: tuple(ids) for name, ids in found.items()})


@dataclass(frozen=True, slots=True)
class Traces:
    """What rows say: texts and blobs; names of persons, and of things; ids."""

    texts: list[str | bytes]
    names: list[str]
    things: list[str]
    ids: list[str]


@dataclass(slots=True)
class Erased:
    """How many rows of each kind are gone, and which persons lost a profile, or are gone with their source."""

    counts: Counter[str] = field(default_factory=Counter[str])
    profiles: set[int] = field(default_factory=set[int])
    persons: set[int] = field(default_factory=set[int])
    sources: set[int] = field(default_factory=set[int])


class ErasureRepository:
    """Erases rows that are deleted; the caller owns the transaction, and may repeat what it did not finish.

    With `force`, rows are erased whether they are marked as deleted or not: for copies made before the deletion.
    """

    def __init__(self, forget: Callable[[], None] = lambda: None) -> None:
        self._forget = forget

    # erasing

    def paragraphs(self, db: Connection, ids: Sequence[int], *, force: bool = False) -> Erased:
        """Erase paragraphs with their derived rows, and what rested on them alone."""
        rows = db.run("erasable_paragraphs", ids=array(ids), force=force).fetchall()
        going = [row[0] for row in rows]
        done = Erased()
        relations, facts = self._ids(db, "links_to_relations", going), self._ids(db, "links_to_facts", going)
        entities = self._ids(db, "links_to_entities", going)
        names = db.run("links_to_persons", ids=array(going)).fetchall()
        unsaid = entity_names.leaving(db, going)
        self._run(db, "erase_wake_neighbours", going)
        done.counts["episodes"] += self._run(db, "erase_episodes", going)
        self._profiles(db, going, done)
        done.counts["paragraphs"] += self._run(db, "erase_paragraphs", going)
        db.run("erase_import_marks")
        done.counts["facts"] += self._run(db, "erase_facts", self._ids(db, "facts_unfounded", facts))
        self._relations(db, self._ids(db, "relations_unfounded", relations), done)
        self._orphans(db, entities, done)
        self._unsaid(db, unsaid, done)
        done.counts["external_refs"] += self._run(db, "erase_refs", {row[1] for row in rows})
        self._run(db, "erase_sessions", {row[3] for row in rows})
        self._sources(db, {row[2] for row in rows}, done)
        self._names(db, names, done)
        self._forget()
        return done

    def relations(self, db: Connection, ids: Sequence[int], *, force: bool = False) -> Erased:
        """Erase relations, and entities that nothing speaks of any more."""
        done = Erased()
        self._relations(db, self._ids(db, "erasable_relations", ids, force=force), done)
        return done

    def facts(self, db: Connection, ids: Sequence[int], *, force: bool = False) -> Erased:
        """Erase facts with their history."""
        going = self._ids(db, "erasable_facts", ids, force=force)
        return Erased(Counter(facts=self._run(db, "erase_facts", going)))

    def entities(self, db: Connection, ids: Sequence[int], *, force: bool = False) -> Erased:
        """Erase entities with their relations, links and the names that were merged into them."""
        going = self._ids(db, "erasable_entities", ids, force=force)
        merged = self._ids(db, "names_merged_into", going)
        done = Erased()
        self._relations(db, self._ids(db, "relations_touching", [*merged, *going]), done)
        for some in (merged, going):
            self._run(db, "erase_entity_links", some)
            done.counts["entities"] += self._run(db, "erase_entities", some)
        return done

    def persons(self, db: Connection, ids: Sequence[int]) -> Erased:
        """Erase the names of persons where nothing is left that bears them, and those of whom nothing is left."""
        done = Erased()
        self._run(db, "erase_person_aliases", ids)
        self._names(db, db.run("chat_persons_of", ids=array(ids)).fetchall(), done)
        self._persons(db, ids, done)
        self._forget()
        return done

    def known_of(self, db: Connection, persons: Iterable[int], chats: Iterable[int]) -> int:
        """Erase what is kept of persons and chats that are gone altogether: aliases, profiles, facts, how far summaries are."""
        values = {"persons": array(persons), "chats": array(chats)}
        return sum(db.run(query, **values).rowcount for query in _KNOWN_OF)

    def chats(self, db: Connection, ids: Sequence[int]) -> Erased:
        """Erase what hangs on chats that were cleared, and the chats themselves where nothing is left."""
        done = Erased()
        self._run(db, "erase_chat_feedback", ids)
        self._run(db, "erase_chat_corrections", ids)
        empty = self._ids(db, "chats_emptied", ids)
        named = self._ids(db, "chat_persons_in", empty)
        self._run(db, "erase_chat_names", empty)
        self._persons(db, named, done)
        done.counts["chats"] += self._run(db, "erase_chats", empty)
        self._forget()
        return done

    def alive(self, db: Connection, paragraphs: Iterable[int]) -> list[int]:
        """Those of the paragraphs that are not to be erased: they answer, or a live text is a newer wording of them."""
        return self._ids(db, "paragraphs_alive", paragraphs)

    def chats_lively(self, db: Connection, ids: Iterable[int]) -> list[int]:
        """Those of the chats in which something is alive."""
        return self._ids(db, "chats_lively", ids)

    def gone(self, db: Connection, kind: str, ids: Iterable[int]) -> tuple[int, ...]:
        """Those of the ids that have no row any more."""
        return tuple(self._ids(db, _GONE[kind], ids))

    def _profiles(self, db: Connection, paragraphs: Sequence[int], done: Erased) -> None:
        persons = self._ids(db, "erase_snapshots_of_paragraphs", paragraphs)
        done.counts["profiles"] += len(persons)
        done.profiles.update(persons)

    def _relations(self, db: Connection, ids: Sequence[int], done: Erased) -> None:
        ends = self._ids(db, "relation_ends", ids)
        self._run(db, "erase_relations_merged_into", ids)
        done.counts["relations"] += self._run(db, "erase_relations", ids)
        self._orphans(db, ends, done)

    def _orphans(self, db: Connection, entities: Iterable[int], done: Erased) -> None:
        orphans = self._ids(db, "entities_orphaned", entities)
        merged = self._ids(db, "entities_orphaned", self._ids(db, "names_merged_into", orphans))
        for some in (merged, orphans):
            done.counts["entities"] += self._run(db, "erase_entities", some)

    def _unsaid(self, db: Connection, leaving: Leaving, done: Erased) -> None:
        """Take names away from entities that stay; the main one gives way to one that is still said."""
        self._relations(db, self._ids(db, "relations_touching", leaving.merged), done)
        self._run(db, "erase_entity_links", leaving.merged)
        done.counts["names"] += self._run(db, "erase_entities", leaving.merged)
        for norm in leaving.aliases:
            done.counts["names"] += db.run("entity_alias_remove", norm=norm).rowcount
        for entity, (name, norm) in leaving.renamed.items():
            db.run("entity_set_name", id=entity, name=name, norm=norm)
        self._run(db, "relation_vectors_remove", self._ids(db, "relations_touching", leaving.renamed))

    def _sources(self, db: Connection, ids: Iterable[int], done: Erased) -> None:
        gone = self._ids(db, "erase_sources", ids)
        done.counts["sources"] += len(gone)
        done.sources.update(gone)

    def _names(self, db: Connection, names: Sequence[tuple[int, int, str]], done: Erased) -> None:
        for person, chat, name in names:
            db.run("erase_chat_person", person=person, chat=chat, name=name)
        self._persons(db, {person for person, _, _ in names}, done)

    def _persons(self, db: Connection, ids: Iterable[int], done: Erased) -> None:
        persons = list(ids)
        gone = self._ids(db, "erase_persons", persons)
        self._run(db, "rename_persons", persons)
        done.counts["persons"] += len(gone)
        done.persons.update(gone)

    # reading what is erased, and what stays

    def traces(self, db: Connection, targets: Targets) -> Traces:
        """The texts, names, ids and term blobs of the rows that are to be erased."""
        found = (self._said(db, targets, of) for of in (_TEXTS, _NAMES, _THINGS, _IDS))
        texts, names, things, ids = map(list, found)
        return Traces(texts, [*map(str, names)], [*map(str, things)], [*map(str, ids)])

    def _said(self, db: Connection, targets: Targets, of: Mapping[str, Sequence[str]]) -> Iterator[str | bytes]:
        for kind, queries_ in of.items():
            for query in queries_:
                for row in db.run(query, ids=array(getattr(targets, kind))):
                    yield from (text for text in row if text not in ("", b"", "[]", "{}"))

    def texts_kept(self, db: Connection, after: int) -> list[tuple[int, bytes]]:
        """A page of (paragraph, all that it says, with its terms) past `after`, of every paragraph that has a row.

        The bytes stand beside each other as they do in the file, so that no fragment that reaches over the end of a
        column is strange.
        """
        rows = db.run("texts_kept", after=after)
        return [
            (id_, hash_ + said.encode() + b"\n" + _record_head(id_, terms) + terms) for id_, hash_, said, terms in rows
        ]

    def terms_kept(self, db: Connection, after: int) -> tuple[int, NDArray[np.uint32]]:
        """(how far this reads, distinct hashes of a page of paragraphs past `after`); none at the end."""
        rows = db.run("terms_kept", after=after).fetchall()
        hashes = [unpack_terms(blob)[0] for _, blob in rows]
        return (rows[-1][0] if rows else after), np.unique(np.concatenate(hashes)) if hashes else np.zeros(0, np.uint32)

    def names_kept(self, db: Connection) -> Iterator[bytes]:
        """All other texts of rows that stay."""
        return (row[0].encode() for row in db.run("names_kept"))

    def values(self, db: Connection) -> Iterator[tuple[str, bytes]]:
        """(table, value) of every text and blob that the database holds, whatever the tables are."""
        for table, statement in db.run("statements_reading_texts").fetchall():
            for row in of_file(db).execute(statement):
                for value in row:
                    if value:
                        yield table, value if isinstance(value, bytes) else str(value).encode()

    # the operation

    def begin(self, db: Connection, operation: int) -> bool:
        """Set out to purge an executed operation; False if it is in another state."""
        db.run("purge_begin_audit", id=operation)
        return db.run("purge_begin", id=operation).fetchone() is not None

    def note(self, db: Connection, operation: int, receipt: dict[str, Any]) -> None:
        """Write down how far the purge has come."""
        db.run("purge_note", id=operation, receipt=json.dumps(receipt, ensure_ascii=False))

    def clear_items(self, db: Connection, operation: int) -> None:
        """Empty the rows that the operation kept; their ids stay."""
        db.run("purge_items_cleared", id=operation)

    def end(self, db: Connection, operation: int, receipt: dict[str, Any], now: float) -> None:
        """The purge is done."""
        values = {"id": operation, "receipt": json.dumps(receipt, ensure_ascii=False), "now": now}
        db.run("purge_end", **values)

    def _ids(self, db: Connection, query: str, ids: Iterable[int], **values: Any) -> list[int]:
        return [row[0] for row in db.run(query, ids=array(ids), **values).fetchall()]

    def _run(self, db: Connection, query: str, ids: Iterable[int]) -> int:
        return max(db.run(query, ids=array(ids)).rowcount, 0)


def _record_head(row: int, blob: bytes) -> bytes:
    """What stands before a blob that is the only column beside the row's number (SQLite file format, section 2.1)."""
    kind = _varint(2 * len(blob) + 12)
    return _varint(row) + bytes([2 + len(kind), 0]) + kind


def _varint(number: int) -> bytes:
    """A number as SQLite writes it: seven bits a byte, the highest first."""
    found = [number & 0x7F]
    while number := number >> 7:
        found.append(number & 0x7F | 0x80)
    return bytes(reversed(found))
