"""The relations that are due for a vector."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ...store import changes as change_log
from ...store.ports import Connection
from ...store.rows import relations as relation_rows
from ...store.rows.relations import PendingRelation

__all__ = ["RelationEmbeddingQueue"]

KINDS = ("relation", "relation_embedding")
"""Changes after which a relation may lack a vector."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """How often a relation failed, and when it is due again."""

    tries: int
    next_at: float


@dataclass(frozen=True, slots=True)
class _Look:
    """How far the relations of a generation have been looked at.

    Whatever lacks a vector has changed after `cursor` or is among the failed; without a cursor it may be any relation.
    """

    generation: int
    cursor: int | None = None
    failed: dict[int, _Failed] = field(default_factory=dict[int, _Failed])


class RelationEmbeddingQueue:
    """Finds live relations without a vector by the change log, and lets those that failed wait.

    One thread at a time asks for what is due, then notes what became of it; any may ask whether something is left.
    """

    def __init__(self, *, retry_seconds: float, give_up_after: int) -> None:
        self._retry_seconds = retry_seconds
        self._give_up_after = give_up_after
        self._look = _Look(0)
        self._noting = threading.Lock()

    def due(self, db: Connection, generation: int, now: float, limit: int) -> list[PendingRelation]:
        """The next relations to embed."""
        look = self._of(generation)
        _, last = change_log.bounds(db)
        found = self._pending(db, look, [id_ for id_, failed in look.failed.items() if failed.next_at > now], limit)
        with self._noting:
            latest = self._of(generation)
            self._look = latest if found else replace(latest, cursor=last)
        return found

    def left(self, db: Connection, generation: int) -> bool:
        """Whether a vector is still to be had; a relation that failed often enough is not waited for."""
        look = self._of(generation)
        hopeless = [id_ for id_, failed in look.failed.items() if failed.tries >= self._give_up_after]
        return bool(self._pending(db, look, hopeless, 1))

    def note(self, done: Iterable[int], failed: Iterable[int], now: float) -> None:
        """Remember what became of relations that were due."""
        gone, next_at = set(done), now + self._retry_seconds
        with self._noting:
            known = self._look.failed
            waiting = {id_: _Failed(known[id_].tries + 1 if id_ in known else 1, next_at) for id_ in failed}
            kept = {id_: one for id_, one in (known | waiting).items() if id_ not in gone}
            self._look = replace(self._look, failed=kept)

    def retry_now(self) -> None:
        """Let what has failed wait no longer."""
        with self._noting:
            due = {id_: replace(one, next_at=0.0) for id_, one in self._look.failed.items()}
            self._look = replace(self._look, failed=due)

    def _of(self, generation: int) -> _Look:
        look = self._look
        return look if look.generation == generation else _Look(generation)

    def _pending(self, db: Connection, look: _Look, but: Iterable[int], limit: int) -> list[PendingRelation]:
        floor, last = change_log.bounds(db)
        among: set[int] | None = None
        if look.cursor is not None and look.cursor >= floor:
            among = {*change_log.between(db, look.cursor, last, KINDS), *look.failed}
        if among is not None and not among:
            return []
        return relation_rows.pending_relations(db, look.generation, limit, among=among, but=but)
