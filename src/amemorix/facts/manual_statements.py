"""What was stated by hand, where it may name a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array
from ..store.records import MovedRow

MENTION = "mention"
"""Why such a row goes."""

_BY_HAND = {"fact": "statements_facts", "relation": "statements_relations"}


def overrides(db: Connection, persons: Iterable[int]) -> list[MovedRow]:
    """Profiles written by hand, as rows that may be taken out; the id is the person."""
    cursor = db.run("statements_overrides", persons=array(persons))
    names = [column[0] for column in cursor.description]
    return [MovedRow("profile_override", row[0], dict(zip(names, row, strict=True)), MENTION) for row in cursor]


def texts(
    db: Connection, kind: Literal["fact", "relation"], persons: Iterable[int], scope: int | None
) -> list[tuple[int, int, str]]:
    """(row, chat, what it says) of facts and relations given by hand."""
    values = {"persons": array(persons), "scope": scope}
    return db.run(_BY_HAND[kind], **values).fetchall()


def entities(
    db: Connection, names: Iterable[str], but: Iterable[int], paragraphs: Iterable[int]
) -> list[tuple[int, str]]:
    """(entity, its names and notes) of those that hold a normalised name and stay without these paragraphs."""
    values = {"names": array(names), "but": array(but), "paragraphs": array(paragraphs)}
    return db.run("statements_entities", **values).fetchall()


def aliases(db: Connection, names: Iterable[str], persons: Iterable[int]) -> list[tuple[int, str]]:
    """(person, aliases) of others who have one that holds a normalised name."""
    values = {"names": array(names), "persons": array(persons)}
    return db.run("statements_aliases", **values).fetchall()
