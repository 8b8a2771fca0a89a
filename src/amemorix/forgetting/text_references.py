"""Records that quote or name what is erased, outside the rows that are the memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..lazy_regex import lazy_regex
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entity_names
from .purge_rows import Targets

__all__ = ["ASKED", "QUOTING", "Going", "Record", "leaves"]

_QUOTING = {
    "undo_records": "quoting_undo_records", "memory_v5_operations": "quoting_memory_v5_operations",
    "correction_plans": "quoting_correction_plans", "feedback_tasks": "quoting_feedback_tasks",
    "delete_operations": "quoting_delete_operations", "delete_operation_items": "quoting_delete_operation_items",
    "fact_transitions": "quoting_fact_transitions", "profile_snapshots": "quoting_profile_snapshots",
    "tuning_queries": "quoting_tuning_queries", "tuning_tasks": "quoting_tuning_tasks",
    "retrieval_profiles": "quoting_retrieval_profiles",
    "import_tasks": "quoting_import_tasks", "import_tasks.texts": "quoting_import_texts",
    "import_files": "quoting_import_files",
    "import_chunks": "quoting_import_chunks", "audit": "quoting_audit",
}  # fmt: skip
_SCRUB = {
    "undo_records": "scrub_undo_records", "memory_v5_operations": "scrub_memory_v5_operations",
    "correction_plans": "scrub_correction_plans", "feedback_tasks": "scrub_feedback_tasks",
    "delete_operations": "scrub_delete_operations", "delete_operation_items": "scrub_delete_operation_items",
    "fact_transitions": "scrub_fact_transitions", "profile_snapshots": "scrub_profile_snapshots",
    "tuning_queries": "scrub_tuning_queries", "tuning_tasks": "scrub_tuning_tasks",
    "retrieval_profiles": "scrub_retrieval_profiles",
    "import_tasks": "scrub_import_tasks", "import_tasks.texts": "scrub_import_texts",
    "import_files": "scrub_import_files", "import_chunks": "scrub_import_chunks",
    "audit": "scrub_audit",
}  # fmt: skip
QUOTING = tuple(_QUOTING)
"""Tables whose rows may quote what somebody said, and parts of tables that are emptied apart."""
_OWN_WORD = lazy_regex(r"[a-z_]+")
"""Words such as the program writes into JSON of its own."""
_ASKED = {
    "undo_records": "asked_undo_records", "memory_v5_operations": "asked_memory_v5_operations",
    "correction_plans": "asked_correction_plans", "fact_transitions": "asked_fact_transitions",
    "delete_operations": "asked_delete_operations", "audit": "asked_audit",
    "profile_overrides": "asked_profile_overrides",
    "import_tasks": "asked_import_tasks",
}  # fmt: skip
_UNNAME = {
    "undo_records": "unname_undo_records", "memory_v5_operations": "unname_memory_v5_operations",
    "correction_plans": "unname_correction_plans", "fact_transitions": "unname_fact_transitions",
    "delete_operations": "unname_delete_operations", "audit": "unname_audit",
    "profile_overrides": "unname_profile_overrides",
    "import_tasks": "unname_import_tasks",
}  # fmt: skip
_FORGET = {
    "memory_v5_operations": "forget_memory_v5_operations", "delete_operations": "forget_delete_operations",
    "undo_records": "forget_undo_records", "fact_transitions": "forget_fact_transitions", "audit": "forget_audit",
    "import_chunks": "forget_import_chunks", "import_files": "forget_import_files",
}  # fmt: skip
ASKED = tuple(_ASKED)
"""Tables that keep who asked for something."""


@dataclass(frozen=True, slots=True)
class Going:
    """Persons and entities of whom nothing is left after a purge, and names that nobody who stays bears."""

    persons: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    person_names: tuple[str, ...] = ()
    entity_names: tuple[str, ...] = ()
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Ids of chats, persons and references that are not borne by another of the kind, by kind."""
    told_ids: tuple[str, ...] = ()
    """Those of them that are not a name of what stays."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a row of a table says: free text, and values of JSON."""

    key: int | str
    free: str
    held: tuple[str, ...] = ()

    @property
    def raw(self) -> str:
        """All of it as it stands."""
        return "\n".join((self.free, *self.held))

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The texts within the JSON, each with the key under which it stands; further keys that are no words of ours."""
        return [one for value in self.held for one in leaves(json.loads(value))]

    @property
    def words(self) -> str:
        """The free text and the texts within the JSON."""
        return "\n".join((self.free, *(text for _, text in self.fields)))


def going(db: Connection, targets: Targets, names: Iterable[str], norm: Callable[[str], str]) -> Going:
    """Who and what goes with these rows; `names` are further names of the persons, `norm` tells which are the same."""
    rows = {kind: array(getattr(targets, kind)) for kind in ("persons", "paragraphs", "facts", "entities", "relations")}
    unsaid = entity_names.leaving(db, targets.paragraphs)
    persons = _column(db, "persons_going", rows)
    entities = [*_column(db, "entities_going", rows), *unsaid.merged]
    renamed = {"entities": array({*entities, *unsaid.renamed}), "aliases": array(unsaid.aliases)}
    ids = {"persons": array(persons), "entities": array(entities)}
    lost = set(db.run("names_lost", **rows).fetchall())
    kept = [name for person, name in db.run("persons_borne", **ids) if (person, name) not in lost]
    kept += _column(db, "names_borne", {**ids, **renamed}) + [name for name, _ in unsaid.renamed.values()]
    borne = {norm(name) for name in kept}
    called = [*_column(db, "names_going", ids), *names, *(name for _, name in lost)]
    things = [*_column(db, "entity_names_going", ids), *unsaid.names]
    known = record_ids(db, chats=targets.chats, persons=persons, refs=targets.refs)
    told = tuple(sorted({id_ for some in known.values() for id_ in some if norm(id_) not in borne}))
    return Going(
        tuple(persons), tuple(entities), _free(called, borne, norm), _free(things, borne, norm),
        known, told,
    )  # fmt: skip


def record_ids(
    db: Connection,
    *,
    chats: Iterable[int] = (),
    persons: Iterable[int] = (),
    refs: Iterable[int] = (),
) -> dict[str, tuple[str, ...]]:
    """The ids of these rows as they are given from outside, by kind; of references those that no other bears."""
    found = {
        "chats": ("ids_of_chats", chats),
        "persons": ("ids_of_persons", persons),
        "refs": ("ids_of_refs", refs),
    }
    return {kind: tuple(_column(db, query, {"ids": array(rows)})) for kind, (query, rows) in found.items()}


def records(db: Connection, table: str, operation: int) -> Iterator[Record]:
    """What the rows of a table say that may quote."""
    for key, free, *held in db.run(_QUOTING[table], operation=operation):
        yield Record(key, free, tuple(held))


def quoting(db: Connection, table: str, operation: int, quotes: Callable[[Record], bool]) -> list[int | str]:
    """Keys of the rows of a table that quote."""
    return [record.key for record in records(db, table, operation) if quotes(record)]


def names_staying(db: Connection, targets: Targets, going: Going) -> Iterator[bytes]:
    """Names and ids of what stays."""
    values = {kind: array(getattr(targets, kind)) for kind in ("paragraphs", "refs", "chats")}
    values |= {"persons": array(going.persons), "entities": array(going.entities)}
    return (row[0].encode() for row in db.run("names_staying", **values))


def about(db: Connection, table: str, targets: Targets, going: Going) -> list[int | str]:
    """Keys of the rows of a table that point at what goes, whatever they say of it."""
    if table == "undo_records":
        return _column(db, "changes_of_entities", {"ids": array(going.entities)})
    if table == "correction_plans":
        return _column(db, "plans_about_paragraphs", {"ids": array(targets.paragraphs)})
    if table == "feedback_tasks":
        return _column(db, "feedback_about_paragraphs", {"ids": array(targets.paragraphs)})
    if table == "audit":
        going_too = {"persons": array({*targets.persons, *going.persons}), "chats": array(targets.chats)}
        return _column(db, "acts_on", going_too)
    return []


def kept_of(db: Connection, operation: int, targets: Targets) -> list[tuple[str, dict[str, Any]]]:
    """(key, row) of what other operations have taken out of these persons and chats."""
    values = {"operation": operation, "persons": array(targets.persons), "chats": array(targets.chats)}
    rows = db.run("rows_kept_of", **values)
    return [(key, json.loads(detail)["row"]) for key, detail in rows]


def scrub(db: Connection, table: str, keys: Iterable[int | str]) -> int:
    """Empty the texts of these rows; returns how many there were."""
    return db.run(_SCRUB[table], ids=array(keys)).rowcount


def forget(db: Connection, targets: Targets) -> dict[str, int]:
    """Forget what was noted of these rows, by their numbers: reasons, what their files were called and hold.

    Returns how many records of each table that were; while the rows are still there.
    """
    rows = {kind: array(getattr(targets, kind)) for kind in ("paragraphs", "relations", "facts")}
    done = {table: db.run(query, **rows).rowcount for table, query in _FORGET.items()}
    return {table: count for table, count in done.items() if count}


def asked(db: Connection, table: str, named: Callable[[str], bool]) -> list[int]:
    """Rows of a table that name as who asked whoever is meant."""
    return [id_ for id_, by in db.run(_ASKED[table]) if named(by)]


def unname(db: Connection, table: str, ids: Sequence[int]) -> None:
    """Forget who asked."""
    db.run(_UNNAME[table], ids=array(ids))


def _column(db: Connection, query: str, values: dict[str, str]) -> list[Any]:
    return [row[0] for row in db.run(query, **values)]


def _free(names: Iterable[str], borne: set[str], norm: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(sorted({norm(name) for name in names} - borne - {""}))


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
