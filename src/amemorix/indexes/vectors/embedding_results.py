"""What a model makes of paragraphs and relations: a vector, nothing, or a failure, text by text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import ModelUnavailable
from ...models.embedding_batches import Outcome, embed_each
from ...ports import Embedder, Encoded
from ...store.rows.embeddings import ParagraphVectors, Pending
from ...store.rows.relations import PendingRelation, RelationVector
from ..name_directory import NameDirectory

__all__ = ["Failure", "failure_of_all", "of_paragraphs", "of_relations"]


@dataclass(frozen=True, slots=True)
class Failure:
    """A paragraph or relation that the model failed on."""

    id: int
    error: ModelUnavailable


def of_paragraphs(
    embedder: Embedder, names: NameDirectory, batch: Sequence[Pending]
) -> list[ParagraphVectors | Failure]:
    """What the model makes of each paragraph without its names, nothing of a text that it does not read."""
    read = [p for p in batch if embedder.reads(p.content)]
    unread: list[ParagraphVectors | Failure] = [ParagraphVectors(p.id, b"") for p in batch if p not in read]
    texts = [names.find(p.content, (p.chat,)).bare or p.content for p in read]
    return [*unread, *(_of_paragraph(p.id, made) for p, made in zip(read, _embedded(embedder, texts), strict=True))]


def of_relations(embedder: Embedder, batch: Sequence[PendingRelation]) -> list[RelationVector | Failure]:
    """What the model makes of each relation's sentence, nothing of one that it does not read."""
    read = [r for r in batch if embedder.reads(r.sentence)]
    unread: list[RelationVector | Failure] = [RelationVector(r.id, b"", r.sentence) for r in batch if r not in read]
    outcomes = _embedded(embedder, [r.sentence for r in read])
    return [*unread, *(_of_relation(r, made) for r, made in zip(read, outcomes, strict=True))]


def failure_of_all(failures: Sequence[Failure]) -> ModelUnavailable | None:
    """The error for which no text is to blame: the model itself does not answer."""
    return next((failed.error for failed in failures if failed.error.details.get("endpoint_down")), None)


def _of_paragraph(paragraph: int, made: Outcome) -> ParagraphVectors | Failure:
    if isinstance(made, Encoded):
        return ParagraphVectors(paragraph, _half(made), made.tokens.tobytes())
    return Failure(paragraph, made)


def _of_relation(relation: PendingRelation, made: Outcome) -> RelationVector | Failure:
    if isinstance(made, Encoded):
        return RelationVector(relation.id, _half(made), relation.sentence)
    return Failure(relation.id, made)


def _half(made: Encoded) -> bytes:
    return np.asarray(made.vector, "<f2").tobytes()


def _embedded(embedder: Embedder, texts: Sequence[str]) -> Sequence[Outcome]:
    try:
        return embed_each(embedder, texts)
    except ModelUnavailable as exc:
        return [exc] * len(texts)
