"""Relations by their meaning: vectors as rows, and the paragraphs behind them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .queries import array, optional_array, queries

__all__ = ["PendingRelation", "RelationRepository", "RelationVector"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class PendingRelation:
    """A relation that has no vector yet."""

    id: int
    subject: str
    predicate: str
    object: str

    @property
    def sentence(self) -> str:
        """What is embedded; an identifier such as `lives_in` becomes words."""
        return " ".join((self.subject, self.predicate.replace("_", " "), self.object))


@dataclass(frozen=True, slots=True)
class RelationVector:
    """A relation's vector (float16, little-endian), empty if the model does not read the sentence."""

    relation: int
    vector: bytes


class RelationRepository:
    """Reads and writes vectors of relations, and finds what supports a relation; the caller owns the transaction."""

    def __init__(self) -> None:
        self._q = queries()

    def pending_relations(
        self, db: sqlite3.Connection, generation: int, limit: int, *, among: Iterable[int] | None, but: Iterable[int]
    ) -> list[PendingRelation]:
        """Live relations without a vector of the generation, of those among `among` (None: of all) without `but`."""
        values = {"generation": generation, "limit": limit, "but": array(but)}
        if among is None:
            rows = db.execute(self._q["relations_pending"], values)
        else:
            rows = db.execute(self._q["relations_pending_among"], {**values, "among": array(among)})
        return [PendingRelation(*row) for row in rows]

    def put_relations(self, db: sqlite3.Connection, generation: int, made: Iterable[RelationVector]) -> None:
        """Store vectors of relations; relations that are gone are passed over."""
        for one in made:
            values = {"relation": one.relation, "generation": generation, "vector": one.vector}
            db.execute(self._q["relation_embedding_put"], values)

    def seen(self, db: sqlite3.Connection, relations: Iterable[int], scopes: Scopes, now: float) -> set[int]:
        """Those that somebody told, and that rest on a paragraph which is alive, current, unexpired and in scope."""
        values = {"ids": array(relations), "scopes": optional_array(scopes), "now": now}
        return {row[0] for row in db.execute(self._q["relations_seen"], values)}

    def support(
        self, db: sqlite3.Connection, relations: Iterable[int], scopes: Scopes, now: float, each: int
    ) -> dict[int, list[int]]:
        """Relation -> its newest `each` paragraphs that are alive, current, unexpired and in scope, the newest first."""
        values = {"ids": array(relations), "scopes": optional_array(scopes), "now": now, "each": each}
        found: dict[int, list[int]] = {}
        for relation, paragraph in db.execute(self._q["relation_support"], values):
            found.setdefault(relation, []).append(paragraph)
        return {relation: sorted(paragraphs, reverse=True) for relation, paragraphs in found.items()}
