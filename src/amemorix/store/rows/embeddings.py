"""Vectors as rows, in generations: one for each embedding model, or each rebuild."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...ports import EmbedderInfo
from ..ports import Connection
from ..queries import array

__all__ = ["WATERMARK", "EmbeddingState", "Generation", "ParagraphVectors", "Pending", "Waiting"]

WATERMARK = "embedded_upto:{}"
"""Key of the row up to which no live paragraph lacks a vector of a generation."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One complete or growing set of vectors."""

    id: int
    fingerprint: str
    provider: str
    model: str
    dimension: int
    status: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A paragraph that has no vector yet."""

    id: int
    chat: int
    content: str


@dataclass(frozen=True, slots=True)
class ParagraphVectors:
    """What a model made of a paragraph: its vector (float16, little-endian), empty if the model does not read the text,
    and the vectors of its tokens (one byte a number), empty if the model gives none."""

    paragraph: int
    vector: bytes
    tokens: bytes = b""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Paragraphs whose last try failed: how many, when the next one is due, the highest id."""

    count: int
    next_at: float | None
    highest: int


@dataclass(frozen=True, slots=True)
class EmbeddingState:
    """Whether the model has been at a paragraph, whether it does not read it, and what it failed with last."""

    made: bool
    unread: bool
    error: str


def serving(db: Connection) -> Generation | None:
    """The generation that answers searches."""
    return _one(db, "generation_serving")


def building(db: Connection) -> Generation | None:
    """The generation that is being filled to take over."""
    return _one(db, "generation_building")


def of_model(db: Connection, fingerprint: str) -> Generation | None:
    """The newest generation of a model."""
    return _one(db, "generation_by_fingerprint", fingerprint=fingerprint)


def every_generation(db: Connection) -> list[tuple[Generation, int]]:
    """Every generation with its number of vectors."""
    return [(Generation(*row[:6]), row[6]) for row in db.run("generations_all")]


def ids(db: Connection) -> set[int]:
    """Every generation that has a row."""
    return {row[0] for row in db.run("generation_ids")}


def is_whole(db: Connection, id_: int) -> bool:
    """Whether its vectors are there: not once dropping them has begun."""
    return bool(db.run("generation_is_whole", id=id_, watermark=WATERMARK.format(id_)).fetchone()[0])


def create(db: Connection, info: EmbedderInfo, status: str, now: float) -> Generation:
    """A new, empty generation; an older one that was building is given up."""
    values = {"fingerprint": info.fingerprint, "provider": info.provider, "model": info.model}
    row = db.run("generation_insert", **values, dimension=info.dimension, status=status, now=now).fetchone()
    id_: int = row[0]
    if status == "building":
        retire_building(db, id_)
    return Generation(id_, info.fingerprint, info.provider, info.model, info.dimension, status)


def build(db: Connection, id_: int) -> None:
    """Take up a retired generation again."""
    db.run("generation_build", id=id_)
    retire_building(db, id_)


def retire_building(db: Connection, keep: int) -> None:
    """Give up whatever is being built, but for one."""
    db.run("generation_retire_building", id=keep)


def serve(db: Connection, id_: int, now: float) -> None:
    """Let this generation answer searches from now on."""
    db.run("generation_retire_serving", id=id_)
    retire_building(db, id_)
    db.run("generation_serve", id=id_, now=now)


def retired(db: Connection) -> list[int]:
    """Retired generations, the latest in service first."""
    return [row[0] for row in db.run("generations_retired")]


def drop_some(db: Connection, id_: int, limit: int) -> bool:
    """Delete some vectors of a generation; True when none is left and it is gone."""
    which = {"id": id_, "limit": limit}
    removed = max(
        db.run("generation_vectors_drop", **which).rowcount,
        db.run("generation_tokens_drop", **which).rowcount,
        db.run("generation_relations_drop", **which).rowcount,
    )
    if removed < limit:
        db.run("generation_delete", id=id_)
    return removed < limit


def put(db: Connection, generation: int, made: Iterable[ParagraphVectors]) -> None:
    """Store vectors of paragraphs; paragraphs that are gone are passed over."""
    for one in made:
        key = {"paragraph": one.paragraph, "generation": generation}
        db.run("embedding_put", **key, vector=one.vector)
        if one.tokens:
            db.run("token_vectors_put", **key, tokens=one.tokens)
        db.run("embedding_failure_clear", **key)


def tokens(db: Connection, generation: int, ids: Iterable[int]) -> dict[int, bytes]:
    """Paragraph -> token vectors, of those that have any."""
    return dict(db.run("token_vectors_of", generation=generation, ids=array(ids)).fetchall())


def fail(db: Connection, generation: int, failures: Iterable[tuple[int, float, str]]) -> None:
    """Remember (paragraph, time of the next try, reason)."""
    for paragraph, next_at, error in failures:
        db.run("embedding_failure_put", paragraph=paragraph, generation=generation, next_at=next_at, error=error[:500])


def attempts(db: Connection, generation: int, ids: Sequence[int]) -> dict[int, int]:
    """Failed tries so far, of the paragraphs that had any."""
    return dict(db.run("embedding_attempts", generation=generation, ids=array(ids)).fetchall())


def retry_now(db: Connection) -> int:
    """Make every failed paragraph due; returns how many there are."""
    return db.run("embedding_failures_retry_now").rowcount


def pending(db: Connection, generation: int, after: int, now: float, limit: int) -> list[Pending]:
    """Paragraphs past `after` that are due for a vector."""
    values = {"generation": generation, "after": after, "now": now, "limit": limit}
    return [Pending(*row) for row in db.run("embeddings_pending", **values)]


def pending_of(db: Connection, generation: int, ids: Iterable[int], now: float, limit: int) -> list[Pending]:
    """Those of the paragraphs that are due for a vector."""
    values = {"generation": generation, "ids": array(ids), "now": now, "limit": limit}
    return [Pending(*row) for row in db.run("embeddings_pending_of", **values)]


def pending_count(db: Connection, generation: int, after: int) -> int:
    """Paragraphs past `after` without a vector, waiting ones included."""
    return db.run("embeddings_pending_count", generation=generation, after=after).fetchone()[0]


def pending_before(db: Connection, generation: int, after: int, upto: int) -> bool:
    """Whether a paragraph past `after`, up to `upto`, lacks a vector."""
    return bool(db.run("embeddings_pending_between", generation=generation, after=after, upto=upto).fetchone()[0])


def states(db: Connection, generation: int, ids: Iterable[int]) -> list[EmbeddingState]:
    """How far each live paragraph of these is."""
    return [EmbeddingState(*row) for row in db.run("embedding_states", generation=generation, ids=array(ids))]


def waiting(db: Connection, generation: int) -> Waiting:
    """What has failed and waits for another try."""
    count, next_at, highest = db.run("embedding_failures_waiting", generation=generation).fetchone()
    return Waiting(count, next_at, highest or 0)


def hopeless(db: Connection, generation: int, tries: int) -> int:
    """Live paragraphs that failed at least so often."""
    return db.run("embedding_failures_hopeless", generation=generation, tries=tries).fetchone()[0]


def _one(db: Connection, query: str, **values: str) -> Generation | None:
    row = db.run(query, **values).fetchone()
    return None if row is None else Generation(*row)
