"""The writing of texts: one external reference with its paragraphs and persons."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..ports import Connection
from ..records import NewText, Person, Stored
from .names import NameRepository

__all__ = ["TextRepository"]

SPEAKER, PARTICIPANT, ABOUT = 1, 2, 3


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
            return Stored(
                "existing", text.external_id, self._paragraphs(db, known[0], known[2]), expiry_changed=changed
            )
        ref, revision, superseded = self._reference(db, known, key, now)
        scope = 0 if text.shared else chat
        at = now if text.event_start is None else text.event_start
        shared = {
            "ref": ref, "revision": revision, "at": at, "source": source, "chat": chat, "scope": scope, "kind": text.kind,
            "knowledge": text.knowledge, "event_start": text.event_start, "event_end": text.event_end, "now": now,
            "expires_at": _finite(text.expires_at), "tags": text.tags, "metadata": text.metadata,
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
        return Stored("revised" if superseded else "stored", text.external_id, ids, superseded=superseded)

    def _known(self, db: Connection, key: dict[str, Any]) -> tuple[Any, ...] | None:
        """(reference, hash, revision, when it was deleted); one that is deleted while a text of it lives is not."""
        known = db.run("ref_find", **key).fetchone()
        if known is None or known[3] is None or not db.run("ref_current", ref=known[0]).fetchone():
            return known
        db.run("ref_revive", ref=known[0])
        return (*known[:3], None)

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
        if len(self._sessions) > 50_000:
            self._sessions.clear()
        self._sessions[key] = (session, max(at, last) if count else at, count + 1)
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


def _finite(expires_at: float | None) -> float | None:
    """As it stands in the row: what never expires has no time."""
    return None if expires_at is None or math.isinf(expires_at) else expires_at
