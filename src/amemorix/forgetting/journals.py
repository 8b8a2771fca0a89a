"""The journals beside the memory (undo records, plans, tasks, deletions, the audit): what of them a purge empties.

A row goes if it points at what is purged, names who goes, or quotes a text; the statements stand in `journals.sql`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, cast

from ..language.normalise import normalise_name
from ..language.person_names import LETTER, NamePattern
from ..lazy_regex import lazy_regex
from ..store import tasks as task_rows
from ..store.operations import row_ids
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entity_names
from ..store.tasks import TaskKind
from .byte_search import Patterns
from .erasure import IDS, NAMES, NOTES, TEXTS, THINGS, Targets, traces, vectors_kept

__all__ = ["JOURNALS", "NO_OPERATION", "Ids", "ImportNote", "Marks", "SearchPatterns", "Vanishing"]

JOURNALS = ("undo_records", "memory_v5_operations", "correction_plans", "feedback_tasks", "delete_operations",
           "delete_operation_items", "fact_transitions", "tuning_queries", "tuning_tasks",
           "retrieval_profiles", "import_tasks", "import_texts", "import_files", "import_chunks", "audit")  # fmt: skip
"""Tables whose rows may quote what somebody said; the texts of `import_tasks` are emptied apart."""
TASKS: dict[str, tuple[TaskKind, str]] = {
    "feedback_tasks": ("feedback", "skipped"), "import_tasks": ("import", "cancel_requested"),
    "import_texts": ("import", ""), "tuning_tasks": ("tuning", ""),
}  # fmt: skip
"""Tables of tasks: of which kind, and what becomes of one that is open when it no longer knows what it was asked for."""
_FORGET = ("memory_v5_operations", "delete_operations", "undo_records", "fact_transitions", "audit", "import_chunks",
           "import_files")  # fmt: skip
NAMING = ("undo_records", "delete_operations")
"""Tables that are looked through for the names of things as well: such a name may be a common word."""
ONLY_IDS = ("import_tasks",)
"""Tables whose rows count only by the ids in them: what a task imports into is what it says it does."""
NO_OPERATION = 0
"""For a copy: the records of the purge itself are looked through as well."""
PORTION = 200
_KEY = lazy_regex(r'"([nr])([0-9]{1,18})"')
_OWN_WORD = lazy_regex(r"[a-z_]+")
"""Words such as the program writes into JSON of its own."""


KEYS = {
    "chats": ("chat_id", "chat_ids", "chats", "session_id", "stream_id", "stream_ids"),
    "persons": ("person_id", "person_ids", "persons", "speaker_id", "user_ids"),
    "refs": ("external_id", "external_ids"),
}
"""For each kind of id, the keys of records that hold such ids."""
TELLING_BYTES = 6
"""A shorter id of letters and digits alone may be any word of a text."""
SIGNS = ":@#/._-"
_TOKEN = lazy_regex(rf"(?:{LETTER}|[{SIGNS}])+")
_PARTS = lazy_regex(r"[./]")
_FIELD = lazy_regex(r'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*"|\[[^\]]*\]|-?\d+)')
"""A field of a record in JSON that holds a text, a number or a list, also where the record is broken elsewhere."""
_VALUE = lazy_regex(r'"(?:[^"\\]|\\.)*"|-?\d+')
GROUP = "group:"
"""What the id of a chat begins with that is known by its group alone."""


class Ids:
    """Ids that go: in a field of a record that holds ids they are compared as they are, in texts as whole words."""

    def __init__(self, by_kind: Mapping[str, Iterable[str]], told: Iterable[str] = ()) -> None:
        """`told`: those that mean nothing else, so that they may be looked for in texts."""
        self._by_key = {key: frozenset(by_kind.get(kind, ())) for kind, keys in KEYS.items() for key in keys}
        groups = (id_.removeprefix(GROUP) for id_ in by_kind.get("chats", ()) if id_.startswith(GROUP))
        self._by_key["group_id"] = frozenset(groups)
        told = {id_ for id_ in told if len(id_.encode()) >= TELLING_BYTES or not id_.isalnum()}
        self._words = frozenset(id_ for id_ in told if _TOKEN.fullmatch(id_))
        others = sorted(told - self._words, key=len, reverse=True)
        self._others = re.compile("|".join(map(_whole, others))) if others else None

    def among(self, fields: Iterable[tuple[str, str]]) -> bool:
        """Whether one of these (key, value) of a record is such an id."""
        return any(value in self._by_key.get(key, ()) for key, value in fields)

    def held(self, text: str) -> bool:
        """Whether a text names such an id."""
        if self._words and any(token in self._words for token in _tokens(text)):
            return True
        return self._others is not None and self._others.search(text) is not None


def fields_in(text: str) -> Iterator[tuple[str, str]]:
    """(key, value) of every text and number in the records of JSON, whole or broken, that a text holds."""
    for key, value in _FIELD.findall(text):
        yield from ((key, _unquoted(one)) for one in _VALUE.findall(value))


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text[1:-1]


def _tokens(text: str) -> Iterator[str]:
    """What may be an id: everything between spaces, with and without what ends a sentence, a path or a name of a file."""
    for match in _TOKEN.finditer(text):
        token = match.group()
        yield token
        yield token.rstrip(SIGNS)
        if "." in token or "/" in token:
            yield from (part.rstrip(SIGNS) for part in _PARTS.split(token))


def _whole(id_: str) -> str:
    """As a pattern that is not met within a longer id."""
    kept_apart = rf"(?:{LETTER}|_)"
    before = rf"(?<!{LETTER})(?<!_)" if re.match(kept_apart, id_[0]) else ""
    after = f"(?!{kept_apart})" if re.match(kept_apart, id_[-1]) else ""
    return before + re.escape(id_) + after


@dataclass(frozen=True, slots=True)
class Vanishing:
    """Persons and entities of whom nothing is left after a purge, and names that nobody who stays bears."""

    persons: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    person_names: tuple[str, ...] = ()
    entity_names: tuple[str, ...] = ()
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Ids of chats, persons and references that are not borne by another of the kind, by kind."""
    told_ids: tuple[str, ...] = ()
    """Those of them that are not a name of what stays."""


@dataclass(frozen=True)
class Record:
    """What a row of a table says: free text, and values of JSON."""

    key: int | str
    free: str
    held: tuple[str, ...] = ()

    @property
    def raw(self) -> bytes:
        """All of it as it stands."""
        return "\n".join((self.free, *self.held)).encode()

    @cached_property
    def fields(self) -> list[tuple[str, str]]:
        """The texts within the JSON, each with the key under which it stands; further keys that are no words of ours."""
        return [one for value in self.held for one in leaves(json.loads(value))]

    @cached_property
    def words(self) -> str:
        """The free text and the texts within the JSON."""
        return "\n".join((self.free, *(text for _, text in self.fields)))


@dataclass(frozen=True, slots=True)
class ImportNote:
    """A file of an import at its end of which something is noted, and what may be about anybody: no row tells of it."""

    id: int
    task: int
    root: str
    path: str
    params: Mapping[str, Any]

    @property
    def named_chat(self) -> str:
        """The chat that it was to go into, where it said so."""
        return str(self.params.get("chat_id", ""))


@dataclass(frozen=True, slots=True)
class Marks:
    """What tells that a record or a file speaks of what is purged."""

    persons: NamePattern = field(default_factory=lambda: NamePattern(()))
    things: NamePattern = field(default_factory=lambda: NamePattern(()))
    rows: frozenset[str] = frozenset()
    """Public ids of entities and relations that go."""
    ids: Ids = field(default_factory=lambda: Ids({}))

    @classmethod
    def of(cls, vanishing: Vanishing, relations: Iterable[int] = ()) -> Marks:
        """The marks of who and what vanishes, and of relations that go."""
        rows = {f"n{id_}" for id_ in vanishing.entities} | {f"r{id_}" for id_ in relations}
        return cls(
            NamePattern(vanishing.person_names), NamePattern(vanishing.entity_names), frozenset(rows),
            Ids(vanishing.ids, vanishing.told_ids),
        )  # fmt: skip

    def in_export(self, text: str) -> bool:
        """Whether an export of the graph shows it."""
        if any(f"{letter}{row}" in self.rows for letter, row in _KEY.findall(text)):
            return True
        return self.persons.held(text) or self.things.held(text)

    def in_record(self, table: str, record: Record) -> bool:
        """Whether a row of a table names it."""
        if self.ids.among(record.fields):
            return True
        if table in ONLY_IDS:
            return False
        words = record.words
        return self.persons.held(words) or self.ids.held(words) or (table in NAMING and self.things.held(words))


@dataclass(frozen=True)
class SearchPatterns:
    """What a purge looks for: written down beside the database until the purge ends, and nowhere else."""

    files: Patterns = field(default_factory=Patterns)
    """In files: texts, names and ids."""
    quotes: Patterns = field(default_factory=Patterns)
    """In records, where persons and ids are told by the marks: texts, and names of things."""
    vanishing: Vanishing = field(default_factory=Vanishing)
    relations: tuple[int, ...] = ()
    """Relations that go."""
    moved: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """(kind, row) of what the deletion took out: a copy made before holds it in its place."""

    @cached_property
    def marks(self) -> Marks:
        """The marks of who and what goes, which records and files are held against."""
        return Marks.of(self.vanishing, self.relations)

    def without(self, found: set[bytes]) -> SearchPatterns:
        """The same without the patterns that were found where they may be."""
        return replace(self, files=self.files.without(found), quotes=self.quotes.without(found))

    def by_ids_alone(self) -> SearchPatterns:
        """The same without names and rows: once rows are gone, no name is known to be borne by nobody else."""
        ids = Vanishing(ids=self.vanishing.ids, told_ids=self.vanishing.told_ids)
        return replace(self, vanishing=ids, relations=())

    def to_json(self) -> dict[str, Any]:
        """The patterns as values of JSON, which `from_json` reads."""
        return {
            "files": self.files.to_json(), "quotes": self.quotes.to_json(), "vanishing": asdict(self.vanishing),
            "relations": self.relations, "moved": self.moved,
        }  # fmt: skip

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> SearchPatterns:
        """The patterns that `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        vanishing = {name: tuple(some) for name, some in told["vanishing"].items() if name != "ids"}
        ids = {kind: tuple(some) for kind, some in told["vanishing"]["ids"].items()}
        return cls(
            Patterns.from_json(told["files"]), Patterns.from_json(told["quotes"]), Vanishing(**vanishing, ids=ids),
            tuple(told["relations"]), tuple((kind, row) for kind, row in told["moved"]),
        )  # fmt: skip


def patterns_of(db: Connection, targets: Targets, vanishing: Vanishing, more: Iterable[object] = ()) -> SearchPatterns:
    """What to look for when these rows go; `more`: values of rows that were moved away."""
    named = replace(
        targets,
        persons=tuple({*targets.persons, *vanishing.persons}),
        entities=tuple({*targets.entities, *vanishing.entities}),
    )
    said, notes = list(traces(db, named, TEXTS)), list(traces(db, named, NOTES))
    texts = [*said, *(text for value in (*said, *notes, *more) for text in _texts_within(value))]
    things = list(traces(db, named, THINGS))
    words = [*things, *traces(db, named, NAMES), *traces(db, named, IDS)]
    vectors = [row[0] for row in db.run("traces_of_vectors", ids=array(targets.refs))]
    files, quotes = Patterns.of(texts, words, notes, vectors), Patterns.of(texts, things, notes)
    return SearchPatterns(files, quotes, vanishing, targets.relations)


def vanishing_with(db: Connection, targets: Targets, names: Iterable[str] = ()) -> Vanishing:
    """Who and what goes with these rows; `names` are further names of the persons."""
    rows = {kind: array(getattr(targets, kind)) for kind in ("persons", "paragraphs", "facts", "entities", "relations")}

    def column(query: str, values: Mapping[str, str]) -> list[Any]:
        return [row[0] for row in db.run(query, **values)]

    unsaid = entity_names.leaving(db, targets.paragraphs)
    persons = column("persons_going", rows)
    entities = [*column("entities_going", rows), *unsaid.merged]
    renamed = {"entities": array({*entities, *unsaid.renamed}), "aliases": array(unsaid.aliases)}
    ids = {"persons": array(persons), "entities": array(entities)}
    lost = set(db.run("names_lost", **rows).fetchall())
    kept = [name for person, name in db.run("persons_borne", **ids) if (person, name) not in lost]
    kept += column("names_borne", {**ids, **renamed}) + [name for name, _ in unsaid.renamed.values()]
    borne = {normalise_name(name) for name in kept}
    called = [*column("names_going", ids), *names, *(name for _, name in lost)]
    things = [*column("entity_names_going", ids), *unsaid.names]
    known = record_ids(db, chats=targets.chats, persons=persons, refs=targets.refs)
    told = {id_ for some in known.values() for id_ in some if normalise_name(id_) not in borne}
    free_names, free_things = (
        tuple(sorted({normalise_name(name) for name in some} - borne - {""})) for some in (called, things)
    )
    return Vanishing(tuple(persons), tuple(entities), free_names, free_things, known, tuple(sorted(told)))


def record_ids(
    db: Connection, *, chats: Iterable[int] = (), persons: Iterable[int] = (), refs: Iterable[int] = ()
) -> dict[str, tuple[str, ...]]:
    """The ids of these rows as they are given from outside, by kind; of references those that no other bears."""
    rows = {"chats": chats, "persons": persons, "refs": refs}
    return {kind: tuple(row[0] for row in db.run(f"ids_of_{kind}", ids=array(rows[kind]))) for kind in rows}


def names_staying(db: Connection, targets: Targets, vanishing: Vanishing) -> Iterator[bytes]:
    """Names and ids of what stays, and the vectors that callers have brought."""
    values = {kind: array(getattr(targets, kind)) for kind in ("paragraphs", "refs", "chats")}
    values |= {"persons": array(vanishing.persons), "entities": array(vanishing.entities)}
    said = (row[0].encode() for row in db.run("names_staying", **values))
    return chain(said, vectors_kept(db, targets.refs))


def to_empty(
    db: Connection, table: str, operation: int, targets: Targets, vanishing: Vanishing, wanted: SearchPatterns
) -> list[int | str]:
    """Rows of a journal that point at what goes, name it, or quote it; those of the operation itself are left out."""
    found = set[int | str]()
    if table == "undo_records":
        found.update(row_ids(db, "changes_of_entities", vanishing.entities))
    elif table == "correction_plans":
        found.update(row_ids(db, "plans_about_paragraphs", targets.paragraphs))
    elif table == "feedback_tasks":
        found.update(row_ids(db, "feedback_about_paragraphs", targets.paragraphs))
    elif table == "audit":
        persons = array({*targets.persons, *vanishing.persons})
        found.update(row[0] for row in db.run("acts_on", persons=persons, chats=array(targets.chats)))
    elif table == "delete_operation_items":
        found.update(key for key, _ in rows_kept_of(db, operation, targets))
    rows = (Record(key, free, tuple(held)) for key, free, *held in db.run(f"quoting_{table}", operation=operation))
    while some := list(islice(rows, PORTION)):
        met = Patterns() if table in ONLY_IDS else wanted.quotes
        met = met.only(met.search([b"\n".join(record.raw for record in some)]))
        found.update(record.key for record in some if wanted.marks.in_record(table, record) or met.search([record.raw]))
    return list(found)


def empty(db: Connection, table: str, keys: Iterable[int | str]) -> int:
    """Empty the texts of these rows; returns how many there were."""
    keys = list(keys)
    if table in TASKS:
        kind, status = TASKS[table]
        task_rows.scrub(db, kind, keys, status=status)
    return db.run(f"scrub_{table}", ids=array(keys)).rowcount


def rows_kept_of(db: Connection, operation: int, targets: Targets) -> list[tuple[str, dict[str, Any]]]:
    """(key, row) of what other operations have taken out of these persons and chats."""
    values = {"operation": operation, "persons": array(targets.persons), "chats": array(targets.chats)}
    return [(key, json.loads(detail)["row"]) for key, detail in db.run("rows_kept_of", **values)]


def forget(db: Connection, targets: Targets) -> dict[str, int]:
    """Forget what was noted of these rows, by their numbers: reasons, what their files were called and hold.

    Returns how many records of each table that were; while the rows are still there.
    """
    rows = {kind: array(getattr(targets, kind)) for kind in ("paragraphs", "relations", "facts", "imports")}
    done = {table: db.run(f"forget_{table}", **rows).rowcount for table in _FORGET}
    return {table: count for table, count in done.items() if count}


def imports_noted(db: Connection) -> list[ImportNote]:
    """Files of imports at their end that stored nothing, or of which something could not be stored."""
    rows = db.run("imports_noted").fetchall()
    return [ImportNote(id_, task, root, path, json.loads(params)) for id_, task, root, path, params in rows]


def asked_by(db: Connection, wanted: SearchPatterns) -> dict[str, list[int]]:
    """Rows that say who asked, and name there who goes or quote a text, by table."""
    rows = db.run("journal_askers").fetchall()
    going = {
        by for by in {row[2] for row in rows}
        if wanted.marks.persons.held(by) or wanted.quotes.search([by.encode()])
    }  # fmt: skip
    found: dict[str, list[int]] = {}
    for table, id_, by in rows:
        if by in going:
            found.setdefault(table, []).append(id_)
    return found


def unname(db: Connection, table: str, ids: Iterable[int]) -> None:
    """Forget who asked."""
    db.run(f"unname_{table}", ids=array(ids))


def leaves(value: object, key: str = "") -> Iterator[tuple[str, str]]:
    """(key, text) of every text within a value of JSON, and of keys that are no words of ours; of a list, its key."""
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            if not _OWN_WORD.fullmatch(name):
                yield "", name
            yield from leaves(inner, name)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from leaves(inner, key)
    elif isinstance(value, str):
        yield key, value


def _texts_within(value: object) -> Iterator[str]:
    """The texts of a value of a row; of JSON those within it, without the program's own words."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError):
            yield from (text for _, text in leaves(json.loads(value)) if text and not _OWN_WORD.fullmatch(text))
            return
    if isinstance(value, str) and value:
        yield value
