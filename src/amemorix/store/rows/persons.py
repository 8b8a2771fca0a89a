"""Persons with all the names they go by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from ..ports import Connection
from ..queries import array

__all__ = ["EVERY_CHAT", "Called", "PersonNames"]

EVERY_CHAT = 0
"""The chat of an alias that counts everywhere."""


@dataclass(frozen=True, slots=True)
class Called:
    """A name and the chat where the person has it; `origin` is empty for a display name."""

    chat: int
    name: str
    origin: str = ""

    @property
    def everywhere(self) -> bool:
        """Whether it is an alias that counts in every chat."""
        return self.chat == EVERY_CHAT and self.origin != ""


@dataclass(frozen=True, slots=True)
class PersonNames:
    """A person with every name."""

    row: int
    person_id: str
    first: str
    """The name by which the person was first met."""
    called: tuple[Called, ...]

    @property
    def by_name_alone(self) -> bool:
        """Whether nothing but the name tells who it is: an id that was met without any name counts as one."""
        return self.person_id == self.first and all(c.name == self.person_id for c in self.called)

    def within(self, chats: Collection[int] | None) -> list[str]:
        """Distinct names that count in one of the chats (None: all), display names first; the id is none."""
        held = [c for c in self.called if chats is None or c.everywhere or c.chat in chats]
        ordered = sorted(held, key=lambda c: c.origin != "")
        return [name for name in dict.fromkeys(c.name for c in ordered) if name != self.person_id or self.by_name_alone]


@dataclass(frozen=True, slots=True)
class Namesake:
    """Somebody known by a name alone who, where that name is this person's and nobody else's, is this person."""

    row: int
    name: str
    contested: frozenset[int | None]
    """Chats where somebody else has the name too; None for everywhere."""

    def is_meant(self, person: PersonNames, chat: int) -> bool:
        """Whether the name means the person in this chat."""
        if chat in self.contested or None in self.contested:
            return False
        return self.name in person.within((chat,))


def names(db: Connection, person: int) -> PersonNames | None:
    """The person of this row with every name."""
    row = db.run("profile_person", person=person).fetchone()
    if row is None:
        return None
    called = db.run("profile_person_names", person=person)
    return PersonNames(row[0], row[1], row[2], tuple(Called(*one) for one in called))


def by_id(db: Connection, person_id: str) -> int | None:
    """The row of the person with this id."""
    row = db.run("person_by_key", person_id=person_id).fetchone()
    return None if row is None else row[0]


def namesakes(db: Connection, person: PersonNames) -> list[Namesake]:
    """Those known by one of the person's names alone."""
    if person.by_name_alone:
        return []
    names = {c.name for c in person.called} - {person.person_id}
    alone = db.run("profile_by_name_alone", names=_array(names)).fetchall()
    mine = {person.row, *(row for row, _ in alone)}
    return [Namesake(row, name, frozenset(_contested(db, name, mine))) for row, name in alone]


def contested(db: Connection, person: PersonNames, mine: Collection[int]) -> dict[str, set[int | None]]:
    """Name -> chats where somebody besides `mine` has it too; None for everywhere."""
    return {name: set(_contested(db, name, mine)) for name in {c.name for c in person.called}}


def _contested(db: Connection, name: str, mine: Collection[int]) -> Iterator[int | None]:
    for person, chat in db.run("profile_known_as", names=_array([name])):
        if person not in mine:
            yield chat


def add_alias(db: Connection, person: int, chat: int, alias: tuple[str, str], origin: str, now: float) -> bool:
    """Let (alias, normalised) mean the person in a chat (0: in every one); False if it already does."""
    values = {"person": person, "chat": chat, "alias": alias[0], "norm": alias[1], "origin": origin, "now": now}
    return db.run("person_alias_insert", **values).fetchone() is not None


def remove_alias(db: Connection, person: int, chat: int | None, norm: str) -> int:
    """Take a normalised alias away in a chat, or wherever it counts (None); returns from how many places."""
    return len(db.run("person_alias_delete", person=person, chat=chat, norm=norm).fetchall())


def _array(names: Iterable[str]) -> str:
    return array(sorted(names))
