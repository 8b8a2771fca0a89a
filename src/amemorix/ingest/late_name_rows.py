"""Names that have become known, and the lines in which they may stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array

__all__ = ["Blob", "EntityName", "PersonName"]


@dataclass(frozen=True, slots=True)
class PersonName:
    """What somebody is called in a chat; chat 0: everywhere."""

    chat: int
    name: str


@dataclass(frozen=True, slots=True)
class EntityName:
    """A normalised name of an entity, which is known everywhere; `news` is the last row that told of it."""

    entity: int
    norm: str
    news: int


@dataclass(frozen=True, slots=True)
class Blob:
    """The terms of a paragraph, deleted or not, the chats to which it belongs, and the mark of its reading."""

    id: int
    chat: int
    scope: int
    extracted: int
    terms: bytes


def next_name(db: Connection, limit: int) -> int | None:
    """The last of the next pieces of news, None if there are none."""
    return db.run("naming_news", limit=limit).fetchone()[0]


def waiting(db: Connection) -> int:
    """How many pieces of news there are."""
    return db.run("naming_count").fetchone()[0]


def last_paragraph(db: Connection) -> int:
    """The newest paragraph, 0 if there is none."""
    return db.run("naming_last").fetchone()[0]


def persons(db: Connection, upto: int) -> list[PersonName]:
    """The names of persons that are news."""
    return [PersonName(*row) for row in db.run("naming_persons", upto=upto)]


def entities(db: Connection, upto: int) -> list[EntityName]:
    """The names of entities that are news."""
    return [EntityName(*row) for row in db.run("naming_entities", upto=upto)]


def blobs(db: Connection, after: int, last: int, limit: int) -> list[Blob]:
    """The next paragraphs by row."""
    values = {"after": after, "last": last, "limit": limit}
    return [Blob(*row) for row in db.run("naming_blobs", **values)]


def texts(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    """Paragraph -> text."""
    return dict(db.run("naming_texts", ids=array(ids)).fetchall())


def linked(db: Connection, entities: Iterable[int], ids: Iterable[int]) -> set[tuple[int, int]]:
    """(entity, paragraph) of what has been read already."""
    values = {"entities": array(entities), "ids": array(ids)}
    return set(db.run("naming_linked", **values).fetchall())


def read_again(db: Connection, ids: Iterable[int], kind: Literal["naming", "mention"] = "naming") -> None:
    """Have paragraphs read again that hold a person's name, or mention an entity; deleted ones, when they are back."""
    given = array(ids)
    db.run("naming_unread", ids=given)
    db.run("naming_tell", ids=given, kind=kind)


def extracted(db: Connection, ids: Iterable[int]) -> dict[int, int]:
    """Paragraph -> the mark of its reading."""
    return dict(db.run("naming_extracted", ids=array(ids)).fetchall())


def last(db: Connection) -> int:
    """The last piece of news that there ever was."""
    return db.run("naming_last_news").fetchone()[0]


def looked_for(db: Connection) -> int:
    """The last piece of news for which a pass has ended."""
    waiting = db.run("naming_first_waiting").fetchone()[0]
    return last(db) if waiting is None else waiting - 1


def done(db: Connection, upto: int) -> None:
    """Forget the news up to this piece."""
    db.run("naming_done", upto=upto)
