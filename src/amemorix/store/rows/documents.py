"""The writing of texts: one external reference with its paragraphs and persons."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..ports import Connection
from ..records import NewText, Person, SessionRule, Stored
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
            changed = self._expire_at(db, known[0], known[2], text.expires_at, now)
            return Stored(
                "existing", text.external_id, self._paragraphs(db, known[0], known[2]), expiry_changed=changed
            )
        ref, revision, superseded = self._reference(db, known, key, now)
        scope = 0 if text.shared else chat
        shared = self._shared_values(db, text, source, chat, scope, now) | {"ref": ref, "revision": revision}
        shared["session"] = self._session(db, text, source, scope, shared["at"], superseded)
        ids = tuple(self._paragraph(db, text, i, shared) for i in range(len(text.paragraphs)))
        self._participants(db, text, chat, ids, now)
        return Stored("revised" if superseded else "stored", text.external_id, ids, superseded=superseded)

    def _known(self, db: Connection, key: dict[str, Any]) -> tuple[Any, ...] | None:
        """(reference, hash, revision, when it was deleted); one that is deleted while a text of it lives is not."""
        known = db.run("ref_find", **key).fetchone()
        if known is None or known[3] is None or not db.run("ref_current", ref=known[0]).fetchone():
            return known
        db.run("ref_revive", ref=known[0])
        return (*known[:3], None)

    def _expire_at(self, db: Connection, ref: int, revision: int, expires_at: float | None, now: float) -> bool:
        """Let a text that is told again expire at another time; one that had expired is kept if nothing is said."""
        if expires_at is None:
            key = {"ref": ref, "revision": revision, "now": now}
            if not db.run("ref_has_expired", **key).fetchone()[0]:
                return False
        values = {"ref": ref, "revision": revision, "expires_at": _finite(expires_at)}
        return db.run("ref_set_expiry", **values).rowcount > 0

    def _paragraphs(self, db: Connection, ref: int, revision: int) -> tuple[int, ...]:
        values = {"ref": ref, "revision": revision}
        return tuple(row[0] for row in db.run("ref_paragraphs", **values))

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

    def _shared_values(
        self, db: Connection, text: NewText, source: int, chat: int, scope: int, now: float
    ) -> dict[str, Any]:
        at = now if text.event_start is None else text.event_start
        return {
            "at": at,
            "source": source,
            "chat": chat,
            "scope": scope,
            "kind": text.kind,
            "knowledge": text.knowledge,
            "speaker": self._names.person(db, text.speaker, chat, now) if text.speaker else 0,
            "event_start": text.event_start,
            "event_end": text.event_end,
            "now": now,
            "expires_at": _finite(text.expires_at),
            "tags": text.tags,
            "metadata": text.metadata,
        }

    def _session(
        self, db: Connection, text: NewText, source: int, scope: int, at: float, superseded: Sequence[int]
    ) -> int:
        """A text is a session of its own; a turn belongs to the latest, an edited one to that of its first wording."""
        if text.session is None:
            return self._new_session(db, source, scope)
        if superseded:
            row = db.run("session_of", id=superseded[0], scope=scope).fetchone()
            if row is not None:
                return row[0]
        return self._latest_session(db, source, scope, at, text.session)

    def _latest_session(self, db: Connection, source: int, scope: int, at: float, rule: SessionRule) -> int:
        """The session that the turn goes on with: the last one, or for a turn out of order the one nearest in time."""
        key = (source, scope)
        session, last, count = self._sessions.get(key) or self._last_session(db, source, scope)
        if session and abs(at - last) > rule.gap_seconds:
            session, last, count = self._session_near(db, source, scope, at, rule)
        if not session or count >= rule.max_paragraphs:
            session, count = self._new_session(db, source, scope), 0
        if len(self._sessions) > 50_000:
            self._sessions.clear()
        self._sessions[key] = (session, max(at, last) if count else at, count + 1)
        return session

    def _last_session(self, db: Connection, source: int, scope: int) -> tuple[int, float, int]:
        row = db.run("session_last", source=source, scope=scope).fetchone()
        return row if row and row[0] is not None else (0, 0.0, 0)

    def _session_near(
        self, db: Connection, source: int, scope: int, at: float, rule: SessionRule
    ) -> tuple[int, float, int]:
        values = {"source": source, "scope": scope, "at": at, "gap": rule.gap_seconds}
        return db.run("session_near", **values).fetchone() or (0, 0.0, 0)

    def _new_session(self, db: Connection, source: int, scope: int) -> int:
        return db.run("session_insert", source=source, scope=scope).fetchone()[0]

    def _paragraph(self, db: Connection, text: NewText, position: int, shared: dict[str, Any]) -> int:
        part = text.paragraphs[position]
        values = shared | {
            "position": position,
            "flags": part.flags,
            "content_hash": part.content_hash,
            "content": part.content,
        }
        id_ = db.run("paragraph_insert", **values).fetchone()[0]
        db.run("terms_insert", id=id_, v=part.terms)
        if shared["speaker"]:
            self._person_of(db, id_, shared["speaker"], SPEAKER, text.speaker.name if text.speaker else "")
        return id_

    def _person_of(self, db: Connection, paragraph: int, person: int, role: int, name: str) -> None:
        values = {"paragraph": paragraph, "person": person, "role": role, "name": name}
        db.run("paragraph_person_insert", **values)

    def _participants(self, db: Connection, text: NewText, chat: int, paragraphs: Iterable[int], now: float) -> None:
        persons = {self._bound(db, person, chat, now): person for person in reversed(text.persons)}
        for person, alias in text.aliases:
            self._names.alias(db, self._names.person(db, person, chat, now), chat, alias, now)
        for paragraph in paragraphs:
            for row, person in persons.items():
                self._person_of(db, paragraph, row, ABOUT if person.about else PARTICIPANT, person.name)

    def _bound(self, db: Connection, person: Person, chat: int, now: float) -> int:
        """The person's row; of one who was only named that of the one person known by the name, if it is one."""
        known = self._names.known_as(db, person.name, chat) if person.by_name else None
        return self._names.person(db, person, chat, now) if known is None else known


def _finite(expires_at: float | None) -> float | None:
    """As it stands in the row: what never expires has no time."""
    return None if expires_at is None or math.isinf(expires_at) else expires_at
