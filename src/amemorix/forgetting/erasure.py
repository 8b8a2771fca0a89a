"""Rows erased for good, with everything that was derived from them; what they say, and what stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from ..store.operations import row_ids
from ..store.ports import Connection
from ..store.queries import array, of_file
from ..store.rows import entity_names
from ..store.rows.entity_names import Leaving
from .byte_search import Patterns

__all__ = ["IDS", "NAMES", "NOTES", "TEXTS", "THINGS", "Targets", "traces", "vectors_kept"]

TEXTS = (
    ("paragraphs", "traces_of_paragraphs"), ("paragraphs", "traces_of_originals"), ("facts", "traces_of_facts"),
)  # fmt: skip
NOTES = (("paragraphs", "traces_of_notes"), ("entities", "traces_of_metadata"), ("refs", "traces_of_vector_attributes"))
NAMES = (("paragraphs", "traces_of_their_persons"), ("persons", "traces_of_persons"))
THINGS = (("entities", "traces_of_entities"), ("entities", "traces_of_aliases"))
IDS = (
    ("refs", "traces_of_refs"),
    ("refs", "traces_of_vector_ids"),
    ("chats", "ids_of_chats"),
    ("persons", "ids_of_persons"),
)
_KNOWN_OF = ("erase_aliases_of", "erase_overrides_of", "erase_facts_of", "erase_cursors_of")
_KINDS = {"paragraph": "paragraphs", "ref": "refs", "relation": "relations", "entity": "entities", "fact": "facts",
          "person": "persons", "chat": "chats"}  # fmt: skip
PORTION = 20_000


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
    imports: tuple[int, ...] = ()
    """Files of imports: nothing is erased of them, what is noted of them is emptied."""

    @classmethod
    def of(cls, items: Iterable[tuple[str, int]]) -> Targets:
        """From (kind, row) pairs; other kinds are passed over."""
        found: dict[str, list[int]] = {}
        for kind, id_ in items:
            if kind in _KINDS:
                found.setdefault(_KINDS[kind], []).append(id_)
        return cls(**{name: tuple(ids) for name, ids in found.items()})


@dataclass(slots=True)
class Erased:
    """How many rows of each kind are gone, and which persons and sources."""

    counts: Counter[str] = field(default_factory=Counter[str])
    persons: set[int] = field(default_factory=set[int])
    sources: set[int] = field(default_factory=set[int])


def erasing(targets: Targets, step: int, *, force: bool = False) -> list[Callable[[Connection], Erased]]:
    """Erase rows that are deleted, so many in each of these units; what was not finished may be repeated.

    With `force`, rows are erased whether they are marked as deleted or not: for copies made before the deletion.
    """
    erasers = {
        _erase_paragraphs: targets.paragraphs, _erase_relations: targets.relations,
        _erase_entities: targets.entities, _erase_facts: targets.facts,
    }  # fmt: skip
    units: list[Callable[[Connection], Erased]] = [
        partial(erase, ids=ids[start : start + step], force=force)
        for erase, ids in erasers.items()
        for start in range(0, len(ids), step)
    ]
    return [*units, partial(_erase_persons, ids=targets.persons), partial(_erase_chats, ids=targets.chats)]


def _erase_paragraphs(db: Connection, *, ids: Sequence[int], force: bool) -> Erased:
    rows = db.run("erasable_paragraphs", ids=array(ids), force=force).fetchall()
    going = [row[0] for row in rows]
    done = Erased()
    relations, facts = row_ids(db, "links_to_relations", going), row_ids(db, "links_to_facts", going)
    entities = row_ids(db, "links_to_entities", going)
    names = db.run("links_to_persons", ids=array(going)).fetchall()
    unsaid = entity_names.leaving(db, going)
    _run(db, "erase_wake_neighbours", going)
    done.counts["episodes"] += _run(db, "erase_episodes", going)
    done.counts["paragraphs"] += _run(db, "erase_paragraphs", going)
    done.counts["facts"] += _run(db, "erase_facts", row_ids(db, "facts_unfounded", facts))
    _drop_relations(db, row_ids(db, "relations_unfounded", relations), done)
    _drop_orphans(db, entities, done)
    _drop_names(db, unsaid, done)
    done.counts["external_refs"] += _run(db, "erase_refs", {row[1] for row in rows})
    _run(db, "erase_sessions", {row[3] for row in rows})
    sources = row_ids(db, "erase_sources", {row[2] for row in rows})
    done.counts["sources"] += len(sources)
    done.sources.update(sources)
    _drop_chat_names(db, names, done)
    return done


def _erase_relations(db: Connection, *, ids: Sequence[int], force: bool) -> Erased:
    done = Erased()
    _drop_relations(db, row_ids(db, "erasable_relations", ids, force=force), done)
    return done


def _erase_facts(db: Connection, *, ids: Sequence[int], force: bool) -> Erased:
    return Erased(Counter(facts=_run(db, "erase_facts", row_ids(db, "erasable_facts", ids, force=force))))


def _erase_entities(db: Connection, *, ids: Sequence[int], force: bool) -> Erased:
    """With their relations, links and the names that were merged into them."""
    going = row_ids(db, "erasable_entities", ids, force=force)
    merged, done = row_ids(db, "names_merged_into", going), Erased()
    _drop_relations(db, row_ids(db, "relations_touching", [*merged, *going]), done)
    for some in (merged, going):
        _run(db, "erase_entity_links", some)
        done.counts["entities"] += _run(db, "erase_entities", some)
    return done


def _erase_persons(db: Connection, *, ids: Sequence[int]) -> Erased:
    """Their names where nothing is left that bears them, and those of whom nothing is left."""
    done = Erased()
    _run(db, "erase_person_aliases", ids)
    _drop_chat_names(db, db.run("chat_persons_of", ids=array(ids)).fetchall(), done)
    _drop_persons(db, ids, done)
    return done


def _erase_chats(db: Connection, *, ids: Sequence[int]) -> Erased:
    """What hangs on chats that were cleared, and the chats themselves where nothing is left."""
    done = Erased()
    _run(db, "erase_chat_feedback", ids)
    _run(db, "erase_chat_corrections", ids)
    empty = row_ids(db, "chats_emptied", ids)
    named = row_ids(db, "chat_persons_in", empty)
    _run(db, "erase_chat_names", empty)
    _drop_persons(db, named, done)
    done.counts["chats"] += _run(db, "erase_chats", empty)
    return done


def erase_known_of(db: Connection, persons: Iterable[int], chats: Iterable[int]) -> int:
    """Erase what is kept of persons and chats that are gone altogether: aliases, profiles, facts, how far summaries are."""
    values = {"persons": array(persons), "chats": array(chats)}
    return sum(db.run(query, **values).rowcount for query in _KNOWN_OF)


def _drop_relations(db: Connection, ids: Sequence[int], done: Erased) -> None:
    ends = row_ids(db, "relation_ends", ids)
    _run(db, "erase_relations_merged_into", ids)
    done.counts["relations"] += _run(db, "erase_relations", ids)
    _drop_orphans(db, ends, done)


def _drop_orphans(db: Connection, entities: Iterable[int], done: Erased) -> None:
    orphans = row_ids(db, "entities_orphaned", entities)
    merged = row_ids(db, "entities_orphaned", row_ids(db, "names_merged_into", orphans))
    for some in (merged, orphans):
        done.counts["entities"] += _run(db, "erase_entities", some)


def _drop_names(db: Connection, leaving: Leaving, done: Erased) -> None:
    """Take names away from entities that stay; the main one gives way to one that is still said."""
    _drop_relations(db, row_ids(db, "relations_touching", leaving.merged), done)
    _run(db, "erase_entity_links", leaving.merged)
    done.counts["names"] += _run(db, "erase_entities", leaving.merged)
    for norm in leaving.aliases:
        done.counts["names"] += db.run("entity_alias_remove", norm=norm).rowcount
    for entity, (name, norm) in leaving.renamed.items():
        db.run("entity_set_name", id=entity, name=name, norm=norm)
    _run(db, "relation_vectors_remove", row_ids(db, "relations_touching", leaving.renamed))


def _drop_chat_names(db: Connection, names: Sequence[tuple[int, int, str]], done: Erased) -> None:
    for person, chat, name in names:
        db.run("erase_chat_person", person=person, chat=chat, name=name)
    _drop_persons(db, {person for person, _, _ in names}, done)


def _drop_persons(db: Connection, ids: Iterable[int], done: Erased) -> None:
    persons = list(ids)
    gone = row_ids(db, "erase_persons", persons)
    _run(db, "rename_persons", persons)
    done.counts["persons"] += len(gone)
    done.persons.update(gone)


def gone(db: Connection, kind: str, ids: Iterable[int]) -> tuple[int, ...]:
    """Those of the ids that have no row any more; `kind`: relations, entities, facts, persons, chats, paragraphs."""
    return tuple(row_ids(db, f"{kind}_gone", ids))


def gone_of(db: Connection, targets: Targets) -> tuple[Targets, tuple[int, ...], tuple[int, ...]]:
    """(the rows to erase from a copy, persons and chats of whom nothing is left): what has come back to life stays."""
    left = Targets(
        targets.paragraphs, targets.refs, gone(db, "relations", targets.relations),
        gone(db, "entities", targets.entities), gone(db, "facts", targets.facts), targets.persons, targets.chats,
        targets.imports,
    )  # fmt: skip
    return left, gone(db, "persons", targets.persons), gone(db, "chats", targets.chats)


# what rows say


def traces(db: Connection, targets: Targets, of: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The texts, names or ids of the rows that are to be erased."""
    for kind, query in of:
        for row in db.run(query, ids=array(getattr(targets, kind))):
            yield from (str(text) for text in row if text not in ("", "[]", "{}"))


def values(db: Connection) -> Iterator[bytes]:
    """Every text and blob that the database holds, whatever the tables are."""
    for _, statement in db.run("statements_reading_texts").fetchall():
        for row in of_file(db).execute(statement):
            yield from (one if isinstance(one, bytes) else str(one).encode() for one in row if one)


def held(
    db: Connection, patterns: Patterns, names: Iterable[bytes] | None = None, *, but: Collection[int] = ()
) -> set[bytes]:
    """The patterns that rows hold which stay: all paragraphs but these, and `names`, else all other texts of rows."""
    going = frozenset(but)

    def texts() -> Iterator[bytes]:
        after = 0
        while page := db.run("texts_kept", after=after).fetchall():
            yield from (text.encode() for id_, text in page if id_ not in going)
            after = page[-1][0]
        after = 0
        while originals := db.run("originals_kept", after=after).fetchall():
            yield from (text.encode() for _, text, ids in originals if going.isdisjoint(map(int, ids.split(","))))
            after = originals[-1][0]

    said = (
        names if names is not None else chain((row[0].encode() for row in db.run("names_kept")), vectors_kept(db, ()))
    )
    return patterns.search(joined(texts())) | patterns.search(joined(said))


def vectors_kept(db: Connection, refs: Iterable[int]) -> Iterator[bytes]:
    """The vectors that callers have brought but those of texts that go."""
    return (row[0] for row in db.run("vectors_kept", refs=array(refs)))


def joined(some: Iterable[bytes]) -> Iterator[bytes]:
    """Values in portions that are searched at once, each on a line of its own."""
    rest = iter(some)
    while portion := list(islice(rest, PORTION)):
        yield b"\n".join(portion) + b"\n"


def _run(db: Connection, query: str, ids: Iterable[int]) -> int:
    return max(db.run(query, ids=array(ids)).rowcount, 0)
