"""Profiles of persons as rows: snapshots with their evidence, and overrides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["OverrideRow", "ProfiledPerson", "SnapshotDraft", "SnapshotRow"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class SnapshotDraft:
    """What is known of a person from one scope, before it has a row; `evidence` are paragraphs."""

    scope: int
    text: str
    content: str
    confidence: float
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A stored snapshot."""

    scope: int
    version: int
    content: str
    confidence: float
    derived_at: float


@dataclass(frozen=True, slots=True)
class OverrideRow:
    """What somebody wrote in the place of a profile."""

    text: str
    updated_by: str
    source: str
    updated_at: float


@dataclass(frozen=True, slots=True)
class ProfiledPerson:
    """A person who has a profile, and when it changed last."""

    row: int
    person_id: str
    name: str
    updated_at: float
    has_override: bool


def newest(db: Connection, person: int, scopes: Scopes, limit: int) -> list[SnapshotRow]:
    """The newest snapshot of each scope, the last derived first."""
    values = {"person": person, "scopes": optional_array(scopes), "limit": limit}
    return [SnapshotRow(*row) for row in db.run("profile_newest", **values)]


def history(db: Connection, person: int, scopes: Scopes, limit: int, offset: int) -> tuple[list[SnapshotRow], int]:
    """(snapshots, the last derived first; how many there are)."""
    values = {"person": person, "scopes": optional_array(scopes), "limit": limit, "offset": offset}
    rows = [SnapshotRow(*row) for row in db.run("profile_history", **values)]
    values = {"person": person, "scopes": optional_array(scopes)}
    return rows, db.run("profile_history_count", **values).fetchone()[0]


def store(db: Connection, person: int, draft: SnapshotDraft, keep: int, now: float) -> None:
    """Add a version, and forget all but the newest `keep` of its scope."""
    values = {
        "person": person,
        "scope": draft.scope,
        "text": draft.text,
        "content": draft.content,
        "confidence": draft.confidence,
        "now": now,
    }
    snapshot = db.run("profile_snapshot_insert", **values).fetchone()[0]
    evidence = {"snapshot": snapshot, "paragraphs": array(draft.evidence)}
    db.run("profile_evidence_insert", **evidence)
    db.run("profile_snapshots_prune", person=person, scope=draft.scope, keep=keep)


def override(db: Connection, person: int) -> OverrideRow | None:
    """What stands in the place of the person's profile."""
    row = db.run("profile_override", person=person).fetchone()
    return None if row is None else OverrideRow(*row)


def put_override(db: Connection, person: int, text: str, *, updated_by: str, source: str, now: float) -> None:
    """Put a text in the place of the person's profile."""
    values = {"person": person, "text": text, "updated_by": updated_by, "source": source, "now": now}
    db.run("profile_override_put", **values)


def delete_override(db: Connection, person: int) -> bool:
    """Let the derived profile be seen again; False if nothing stood in its place."""
    return db.run("profile_override_delete", person=person).rowcount > 0


def listed(
    db: Connection, keyword: str | None, folded: str | None, limit: int, offset: int
) -> tuple[list[ProfiledPerson], int]:
    """(persons with a profile whose id, name or alias holds the keyword, the last changed first; how many)."""
    values = {"keyword": keyword, "folded": folded}
    rows = db.run("profiles_list", **values, limit=limit, offset=offset)
    found = [ProfiledPerson(*row, has_override=bool(held)) for *row, held in rows]
    return found, db.run("profiles_count", **values).fetchone()[0]


def news(db: Connection, cursor: int, seen: int, limit: int) -> tuple[int, int, list[tuple[int, float]]]:
    """(how far this reads, the last paragraph met, persons with the first paragraph that is news to them).

    For the changes after `cursor`, of which the paragraphs up to `seen` have been met before.
    """
    upto, highest = db.run("profile_news_upto", cursor=cursor, limit=limit).fetchone()
    if upto is None:
        return cursor, seen, []
    values = {"cursor": cursor, "upto": upto, "seen": seen}
    return upto, max(seen, highest), db.run("profile_news", **values).fetchall()
