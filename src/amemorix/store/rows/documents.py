"""The writing of texts, and the rows that they name: chats, sources, persons and entities."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ...language.normalise import content_hash, normalise_name
from ..ports import Connection
from ..queries import array
from ..records import ABOUT, PARTICIPANT, SPEAKER, ChatKey, Entity, NewText, Person, Stored

__all__ = ["NameRepository", "TextRepository", "joined"]

NO_METADATA, NO_TAGS = "{}", "[]"
Memory = TypeVar("Memory", dict[Any, Any], set[Any])
CACHE = 50_000
"""Rows of a kind that are remembered."""


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
        """The chat's row, created if new. The last group said is its group; a chat of no group is its user's, and one in
        which a second user is named is a group by its own id: it is nobody's private chat."""
        known = self._chats.get(key.chat_id) or db.run("chat_by_id", chat_id=key.chat_id).fetchone()
        if known is None:
            values = {"chat_id": key.chat_id, "group_id": key.group_id, "user_id": key.user_id, "now": now}
            known = db.run("chat_insert", **values).fetchone()[0], key.group_id, key.user_id
        row, group, user = known
        others = user and key.user_id not in ("", user)
        of_group = key.group_id or group or (key.chat_id if others else "")
        owner = (of_group, user if of_group else key.user_id or user)
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
            _bounded(self._met).add(met)
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

    def chats_like(self, db: Connection, pattern: str) -> list[int]:
        """Rows of the chats whose ids match the pattern, in which `*` stands for any characters."""
        head, *rest = map(re.escape, pattern.split("*"))
        inner = "".join(f"(?>.*?{part})" for part in rest[:-1])  # atomic: many stars cost no more than one
        like = re.compile(head + inner + (f".*{rest[-1]}" if rest else ""), re.DOTALL)
        found = db.run("chats_from", head=pattern.partition("*")[0])
        return [row for row, chat_id in found if like.fullmatch(chat_id)]

    def chats(self, db: Connection) -> list[tuple[int, ChatKey]]:
        """Every chat with its row."""
        return [(id_, ChatKey(*key)) for id_, *key in db.run("chats_all")]

    def entities(self, db: Connection, norms: Iterable[str]) -> list[tuple[int, str, str]]:
        """(row, normalised name, name) of the entities with these normalised names."""
        return db.run("entities_by_norms", norms=array(norms)).fetchall()

    def entity_names(self, db: Connection, ids: Iterable[int]) -> dict[int, str]:
        return dict(db.run("entity_names", ids=array(ids)).fetchall())


def _bounded(memory: Memory) -> Memory:
    if len(memory) >= CACHE:
        memory.clear()
    return memory


class TextRepository:
    """Stores a text once per (source, external id); the caller owns the transaction."""

    def __init__(self, names: NameRepository) -> None:
        self._names = names
        self._sessions: dict[tuple[int, int], tuple[int, float, int]] = {}

    def forget(self) -> None:
        """Drop what was remembered: a transaction has been undone."""
        self._sessions.clear()

    def store(self, db: Connection, text: NewText, now: float) -> Stored:
        """Write the text, or leave it if its reference already holds the same content.

        New content under a known reference becomes a new revision and supersedes the old paragraphs.
        """
        chat = self._names.chat(db, text.chat, now) if text.chat else 0
        source = self._names.source(db, text.source, chat, text.source_type, now)
        key = {"source": source, "external_id": text.external_id, "content_hash": text.content_hash, "now": now}
        known = self._known(db, key)
        if known and bytes(known[1]) == text.content_hash and known[3] is None:
            # What is told again may expire at another time; what had expired is kept if nothing is said.
            at, now_held = text.expires_at, {"ref": known[0], "revision": known[2]}
            changed = at is not None or bool(db.run("ref_has_expired", **now_held, now=now).fetchone()[0])
            changed = changed and db.run("ref_set_expiry", **now_held, expires_at=_finite(at)).rowcount > 0
            described = [
                db.run(f"ref_set_{name}", **now_held, **{name: said}).rowcount > 0
                for name, said in (("metadata", text.metadata), ("tags", text.tags))
                if said is not None
            ]
            respaced = bool(text.told) and self._respaced(db, text, **now_held)
            if changed or any(described) or respaced:
                db.run("ref_touch", ref=known[0], now=now)
            return Stored(
                "existing", text.external_id, self._paragraphs(db, known[0], known[2]), expiry_changed=changed,
                metadata_changed=any(described),
            )  # fmt: skip
        ref, revision, superseded = self._reference(db, known, key, now)
        scope = 0 if text.shared else chat
        at = now if text.event_start is None else text.event_start
        shared = {
            "ref": ref, "revision": revision, "at": at, "source": source, "chat": chat, "scope": scope, "kind": text.kind,
            "knowledge": text.knowledge, "event_start": text.event_start, "event_end": text.event_end, "now": now,
            "expires_at": _finite(text.expires_at), "tags": text.tags or NO_TAGS, "metadata": text.metadata or NO_METADATA,
            "derive": int(text.derive),
            "speaker": self._names.person(db, text.speaker, chat, now) if text.speaker else 0,
            "session": self._session(db, text, source, scope, at, superseded),
        }  # fmt: skip
        # One who was only named is the one person known by that name, if there is one.
        persons: dict[int, Person] = {}
        for person in reversed(text.persons):
            known_as = self._names.known_as(db, person.name, chat) if person.by_name else None
            persons[self._names.person(db, person, chat, now) if known_as is None else known_as] = person
        for person, alias in text.aliases:
            self._names.alias(db, self._names.person(db, person, chat, now), chat, alias, now)
        ids = tuple(self._paragraph(db, text, i, shared, persons) for i in range(len(text.paragraphs)))
        if text.told and text.told != joined(part.content for part in text.paragraphs):
            db.run("original_put", ref=ref, revision=revision, content=text.told)
        return Stored("revised" if superseded else "stored", text.external_id, ids, superseded=superseded)

    def _known(self, db: Connection, key: dict[str, Any]) -> tuple[Any, ...] | None:
        """(reference, hash, revision, when it was deleted); one that is deleted while a text of it lives is not."""
        known = db.run("ref_find", **key).fetchone()
        if known is None or known[3] is None or not db.run("ref_current", ref=known[0]).fetchone():
            return known
        db.run("ref_revive", ref=known[0])
        return (*known[:3], None)

    def _respaced(self, db: Connection, text: NewText, ref: int, revision: int) -> bool:
        """Keep the same words in the spacing in which they are told now; what was corrected since stays corrected."""
        rows = db.run("ref_words", ref=ref, revision=revision).fetchall()
        held = joined(content for content, _ in rows)
        if not rows or text.told == (rows[0][1] or held) or _unspaced(text.told) != _unspaced(held):
            return False
        if text.told == held:
            db.run("original_remove", ref=ref, revision=revision)
        else:
            db.run("original_put", ref=ref, revision=revision, content=text.told)
        return True

    def _paragraphs(self, db: Connection, ref: int, revision: int) -> tuple[int, ...]:
        return tuple(row[0] for row in db.run("ref_paragraphs", ref=ref, revision=revision))

    def _reference(
        self, db: Connection, known: tuple[Any, ...] | None, key: dict[str, Any], now: float
    ) -> tuple[int, int, tuple[int, ...]]:
        """(reference, revision, paragraphs superseded)."""
        if known is None:
            return db.run("ref_insert", **key).fetchone()[0], 1, ()
        ref, _, revision, deleted_at = known
        old = () if deleted_at is not None else self._paragraphs(db, ref, revision)
        if old:
            db.run("paragraphs_supersede", ref=ref, now=now)
            db.run("relations_unsupported", paragraphs=json.dumps(old), now=now)
        db.run("ref_revise", **(key | {"id": ref, "revision": revision + 1}))
        return ref, revision + 1, old

    def _session(
        self, db: Connection, text: NewText, source: int, scope: int, at: float, superseded: Sequence[int]
    ) -> int:
        """A text is a session of its own; a turn belongs to the latest, an edited one to that of its first wording."""
        if text.session is None:
            return db.run("session_insert", source=source, scope=scope).fetchone()[0]
        if superseded:
            row = db.run("session_of", id=superseded[0], scope=scope).fetchone()
            if row is not None:
                return row[0]
        # The session that the turn goes on with: the last one, or for a turn out of order the one nearest in time.
        rule = text.session
        key = (source, scope)
        last_row = self._sessions.get(key) or db.run("session_last", source=source, scope=scope).fetchone()
        session, last, count = last_row if last_row and last_row[0] is not None else (0, 0.0, 0)
        if session and abs(at - last) > rule.gap_seconds:
            near = db.run("session_near", source=source, scope=scope, at=at, gap=rule.gap_seconds).fetchone()
            session, last, count = near or (0, 0.0, 0)
        if not session or count >= rule.max_paragraphs:
            session, count = db.run("session_insert", source=source, scope=scope).fetchone()[0], 0
        _bounded(self._sessions)[key] = (session, max(at, last) if count else at, count + 1)
        return session

    def _paragraph(
        self, db: Connection, text: NewText, position: int, shared: dict[str, Any], persons: Mapping[int, Person]
    ) -> int:
        part = text.paragraphs[position]
        own = {"position": position, "flags": part.flags, "content_hash": part.content_hash, "content": part.content}
        id_ = db.run("paragraph_insert", **shared, **own).fetchone()[0]
        db.run("terms_insert", id=id_, v=part.terms)
        bound = [(row, ABOUT if person.about else PARTICIPANT, person.name) for row, person in persons.items()]
        if text.speaker and shared["speaker"]:
            bound.insert(0, (shared["speaker"], SPEAKER, text.speaker.name))
        for person, role, name in bound:
            db.run("paragraph_person_insert", paragraph=id_, person=person, role=role, name=name)
        return id_


def joined(paragraphs: Iterable[str]) -> str:
    """What paragraphs say, each on a line."""
    return "\n".join(paragraphs)


def _unspaced(text: str) -> str:
    """The same for texts that differ only in blank space or Unicode composition."""
    return content_hash("".join(text.split()))


def _finite(expires_at: float | None) -> float | None:
    """As it stands in the row: what never expires has no time."""
    return None if expires_at is None or math.isinf(expires_at) else expires_at
