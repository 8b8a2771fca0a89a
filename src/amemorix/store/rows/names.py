"""Rows that are found by a name: chats, sources, persons and entities."""

from __future__ import annotations

from collections.abc import Iterable

from ...language.normalise import normalise_name
from ..ports import Connection
from ..queries import array
from ..records import ChatKey, Entity, Person

__all__ = ["NameRepository"]

CACHE = 50_000


class NameRepository:
    """Finds or creates named rows; remembers what the writer thread has seen, until `forget`."""

    def __init__(self) -> None:
        self._chats: dict[str, tuple[int, str, str]] = {}
        self._sources: dict[tuple[str, int], int] = {}
        self._persons: dict[str, int] = {}
        self._met: set[tuple[int, int, str]] = set()

    def forget(self) -> None:
        """Drop what was remembered: a transaction that created rows has been undone."""
        for memory in (self._chats, self._sources, self._persons, self._met):
            memory.clear()

    # written on the writer thread

    def chat(self, db: Connection, key: ChatKey, now: float) -> int:
        """The chat's row, created if new. The last group said is its group; a chat of no group is its last user's."""
        known = self._chats.get(key.chat_id) or db.run("chat_by_id", chat_id=key.chat_id).fetchone()
        if known is None:
            values = {"chat_id": key.chat_id, "group_id": key.group_id, "user_id": key.user_id, "now": now}
            known = db.run("chat_insert", **values).fetchone()[0], key.group_id, key.user_id
        row, group, user = known
        owner = (key.group_id or group, user if key.group_id or group else key.user_id or user)
        if owner != (group, user):
            db.run("chat_set_owner", id=row, group_id=owner[0], user_id=owner[1])
        _bounded(self._chats)[key.chat_id] = (row, *owner)
        return row

    def source(self, db: Connection, name: str, chat: int, source_type: str, now: float) -> int:
        """The source's row, created if it is new; a name in another chat is another source."""
        known = self._sources.get((name, chat))
        if known is None:
            row = db.run("source_by_name", name=name, chat=chat).fetchone()
            row = row or db.run("source_insert", name=name, chat=chat, source_type=source_type, now=now).fetchone()
            known = _bounded(self._sources)[name, chat] = row[0]
        return known

    def person(self, db: Connection, person: Person, chat: int, now: float) -> int:
        """The person's row, created if new; the name is one that this person has in this chat."""
        known = self._persons.get(person.person_id)
        if known is None:
            row = db.run("person_by_key", person_id=person.person_id).fetchone()
            values = {"person_id": person.person_id, "name": person.name, "now": now}
            row = row or db.run("person_insert", **values).fetchone()
            known = _bounded(self._persons)[person.person_id] = row[0]
        met = (known, chat, person.name)
        if met not in self._met:
            db.run("chat_person_insert", person=known, chat=chat, name=person.name)
            if len(self._met) >= CACHE:
                self._met.clear()
            self._met.add(met)
        return known

    def known_as(self, db: Connection, name: str, chat: int) -> int | None:
        """The row of the one person who is called so in the chat and has an id of their own; None if it is not one."""
        rows = db.run("persons_called", name=name, norm=normalise_name(name), chat=chat).fetchall()
        return rows[0][0] if len(rows) == 1 else None

    def alias(self, db: Connection, person: int, chat: int, alias: str, now: float) -> None:
        """Let a further name given by a caller mean the person in this chat (0: in every one)."""
        values = {"person": person, "chat": chat, "alias": alias, "norm": normalise_name(alias), "now": now}
        db.run("person_alias_insert", **values, origin="caller")

    def entity(self, db: Connection, entity: Entity, now: float, origin: str, paragraph: int | None = None) -> int:
        """The entity's row by name or alias, of the one it was merged into; created if new, alive again if deleted.

        A `paragraph` that is read again does not revive what was deleted since it was read first.
        """
        row = db.run("entity_by_norm", norm=entity.norm).fetchone()
        if row is not None:
            db.run("entity_revive", id=row[0], paragraph=paragraph)
            if origin in ("caller", "admin"):
                db.run("entity_set_origin", id=row[0], origin=origin)
            return row[0]
        values = {"name": entity.name, "norm": entity.norm, "kind": entity.kind, "origin": origin, "now": now}
        return db.run("entity_insert", **values).fetchone()[0]

    # read on any thread

    def chat_row(self, db: Connection, chat_id: str) -> int | None:
        """The row of a chat, None if nothing was ever stored for it."""
        row = db.run("chat_by_id", chat_id=chat_id).fetchone()
        return None if row is None else row[0]

    def chat_key(self, db: Connection, chat_id: str) -> ChatKey | None:
        """A chat with the group and user it is known to belong to, None if nothing was ever stored for it."""
        row = db.run("chat_by_id", chat_id=chat_id).fetchone()
        return None if row is None else ChatKey(chat_id, row[1], row[2])

    def chat_of(self, db: Connection, row: int) -> ChatKey | None:
        """The chat of a row with the group and user it is known to belong to, None if there is no such chat."""
        found = db.run("profile_chat", chat=row).fetchone()
        return None if found is None else ChatKey(*found)

    def chats_of(self, db: Connection, group_id: str, user_id: str) -> list[int]:
        """Rows of the group's chats, or without a group of the user's private chats."""
        return [row[0] for row in db.run("chats_by_owner", group_id=group_id, user_id=user_id)]

    def chats(self, db: Connection) -> list[tuple[int, ChatKey]]:
        """Every chat with its row."""
        return [(id_, ChatKey(*key)) for id_, *key in db.run("chats_all")]

    def entities(self, db: Connection, norms: Iterable[str]) -> list[tuple[int, str, str]]:
        """(row, normalised name, name) of the entities with these normalised names."""
        return db.run("entities_by_norms", norms=array(norms)).fetchall()

    def entity_names(self, db: Connection, ids: Iterable[int]) -> dict[int, str]:
        return dict(db.run("entity_names", ids=array(ids)).fetchall())


def _bounded(memory: dict) -> dict:
    if len(memory) >= CACHE:
        memory.clear()
    return memory
