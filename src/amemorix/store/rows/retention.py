"""The retention of memories: how much is left of each, and what was done to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..ports import Connection
from ..queries import array, optional_array

__all__ = ["Memory", "MemoryKind", "MemoryState", "Ref", "Retention"]

MemoryKind = Literal["paragraph", "relation"]
MemoryState = Literal["active", "inactive", "deleted", "expired", "superseded"]
Ref = tuple[MemoryKind, int]
"""A memory by kind and row."""
Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Retention:
    """What was left of a memory at a time; times in epoch seconds."""

    strength: float
    """0..1, at `anchor_at`."""
    anchor_at: float
    pinned: bool = False
    protected_until: float | None = None
    accessed_at: float | None = None
    reinforced_at: float | None = None
    reinforcements: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """A paragraph or relation with what its life cycle goes by."""

    kind: MemoryKind
    id: int
    since: float
    """When it was recorded."""
    text: str
    confidence: float
    retention: Retention
    deleted_at: float | None
    reason: str
    """Why it is inactive or in the recycle bin."""
    inactive_at: float | None = None
    expires_at: float | None = None
    whole: bool = True
    """False for a paragraph that a newer wording replaced, and for a relation that nothing live speaks for."""
    lost_end: int | None = None
    """Of a relation, an entity at an end that is deleted or has become part of another."""

    @property
    def ref(self) -> Ref:
        return (self.kind, self.id)

    @property
    def key(self) -> str:
        return f"{self.kind[0]}{self.id}"

    def state(self, now: float) -> MemoryState:
        if self.kind == "paragraph" and not self.whole:
            return "superseded"
        if self.deleted_at is not None:
            return "deleted"
        if self.inactive_at is not None:
            return "inactive"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


def memories(db: Connection, refs: Iterable[Ref], scopes: Scopes) -> dict[Ref, Memory]:
    """Those of the memories that exist, in the scopes given, whatever their state."""
    wanted = list(dict.fromkeys(refs))
    found: dict[Ref, Memory] = {}
    for kind, query, read in (
        ("paragraph", "memory_paragraphs", _paragraph),
        ("relation", "memory_relations", _relation),
    ):
        ids = [id_ for of, id_ in wanted if of == kind]
        values = {"ids": array(ids), "scopes": optional_array(scopes)}
        found |= {memory.ref: memory for memory in map(read, db.run(query, **values) if ids else ())}
    return {ref: found[ref] for ref in wanted if ref in found}


def of(db: Connection, kind: MemoryKind, ids: Iterable[int]) -> dict[int, Retention]:
    """Row -> retention, of those that were ever touched."""
    rows = db.run("retention_of", kind=kind, ids=array(ids))
    return {id_: _retention(0.0, values) for id_, *values in rows}


def put(db: Connection, ref: Ref, retention: Retention) -> None:
    db.run("retention_put", kind=ref[0], id=ref[1], **asdict(retention) | {"pinned": int(retention.pinned)})


def touched(db: Connection, scopes: Scopes, limit: int) -> list[Ref]:
    """What use or a hand has touched, the last touched first."""
    rows = db.run("retention_touched", scopes=optional_array(scopes), limit=limit)
    return [(kind, id_) for kind, id_ in rows]


def log(
    db: Connection,
    action: str,
    items: Sequence[Mapping[str, Any]],
    *,
    kinds: Iterable[MemoryKind],
    strength: float | None = None,
    requested_by: str = "",
    reason: str = "",
    now: float,
) -> int:
    """Record what was done; returns the operation's number."""
    distinct = sorted(set(kinds))
    values = {
        "action": action, "kind": distinct[0] if len(distinct) == 1 else "mixed", "items": json.dumps(list(items)),
        "strength": strength, "requested_by": requested_by, "reason": reason, "now": now,
    }  # fmt: skip
    return db.run("v5_operation_insert", **values).fetchone()[0]


def relations_by_words(db: Connection, norm: str, scopes: Scopes, *, gone: bool, limit: int) -> list[int]:
    """Relations with the name at an end or as predicate; where none has it, those that hold it. `gone`: inactive ones."""
    rows = db.run("relations_by_words", norm=norm, scopes=optional_array(scopes), gone=gone, limit=limit).fetchall()
    exact = [id_ for id_, whole in rows if whole]
    return exact or [id_ for id_, _ in rows]


def paragraphs_in_bin(db: Connection, scopes: Scopes) -> list[tuple[int, str]]:
    """(row, text) of the paragraphs in the recycle bin, the last first."""
    return db.run("paragraphs_in_bin", scopes=optional_array(scopes)).fetchall()


def relations_of(db: Connection, paragraphs: Iterable[int], limit: int) -> list[int]:
    """Active relations that these paragraphs support."""
    return [row[0] for row in db.run("relations_of_paragraphs", ids=array(paragraphs), limit=limit)]


def old_relations(
    db: Connection, cutoff: float, now: float, after: tuple[float, int], limit: int
) -> list[tuple[float, int]]:
    """(created, row) past `after` of active, unprotected relations recorded up to `cutoff` that nothing refreshed
    since, or that were weakened."""
    values = {"cutoff": cutoff, "now": now, "after_at": after[0], "after_id": after[1], "limit": limit}
    return [(at, id_) for id_, at in db.run("relations_faded_by_age", **values)]


def weakened_relations(db: Connection, now: float, after: int, limit: int) -> list[int]:
    """Active, unprotected relations past `after` of which less than the whole was left at some time."""
    return [row[0] for row in db.run("relations_weakened", now=now, after=after, limit=limit)]


def _retention(since: float, values: Sequence[Any]) -> Retention:
    """From the last columns of a row; a memory that was never touched is whole at the time it was recorded."""
    strength, anchor_at, pinned, *rest = values
    return Retention(1.0, since) if strength is None else Retention(strength, anchor_at, bool(pinned), *rest)


def _relation(row: Sequence[Any]) -> Memory:
    id_, since, subject, predicate, object_, confidence, inactive_at, reason, deleted_at, supported, lost, *values = row
    return Memory(
        "relation", id_, since, f"{subject} {predicate} {object_}", confidence, _retention(since, values),
        deleted_at=deleted_at, reason=reason, inactive_at=inactive_at, whole=bool(supported), lost_end=lost,
    )  # fmt: skip


def _paragraph(row: Sequence[Any]) -> Memory:
    id_, since, content, expires_at, reason, deleted_at, current, *values = row
    return Memory(
        "paragraph", id_, since, content, 1.0, _retention(since, values),
        deleted_at=deleted_at, reason=reason, expires_at=expires_at, whole=bool(current),
    )  # fmt: skip
