"""`embed_texts`: the vectors of the memory's own model."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from ..errors import InvalidRequest, ModelUnavailable
from ..models.embedding_batches import encode
from ..ops import Operations, Request, Response

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["EmbedTexts", "Embedded", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
DIGITS = 7
"""Decimals of a number: what a float32 below 1 holds."""


class EmbedTexts(Request):
    """Texts, and what they are embedded for."""

    texts: Annotated[list[str], Field(min_length=1, max_length=1000)] = Field(
        description="At most `ingest.max_call_chars` characters together; of a long one the model reads the beginning."
    )
    kind: Literal["passage", "query"] = Field(
        "passage",
        description="`passage`: texts to be found, or compared with each other; `query`: to find those with. Some models put "
        "the two differently.",
    )


class Embedded(Response):
    """The vectors of the texts, in their order."""

    vectors: list[list[float]] = Field(
        default_factory=list, description="Of unit length; zeros for a text without a character."
    )
    dimension: int = 0
    model: str = ""


@ops.operation("embed_texts", role="read")
async def embed_texts(kernel: SDKMemoryKernel, request: EmbedTexts) -> Embedded:
    """Embed texts with the model whose vectors the memory searches by; nothing is stored."""
    size, most = sum(map(len, request.texts)), kernel.config.ingest.max_call_chars
    if size > most:
        raise InvalidRequest(
            f"texts: {size} characters in one call, at most {most} (`ingest.max_call_chars`): make several calls of them.",
            field="texts", limit=most,
        )  # fmt: skip
    model = kernel.vectors.embedder() or kernel.vectors.configured
    if model is None:
        raise ModelUnavailable(kernel.vectors.why_none)
    said = [place for place, text in enumerate(request.texts) if text]
    batch, is_query = kernel.config.embedding.batch_size, request.kind == "query"

    def work() -> Embedded:
        made = np.zeros((len(request.texts), model.info.dimension))
        for first in range(0, len(said), batch):
            kernel.store.right_of_way.give_way()
            places = said[first : first + batch]
            encoded = encode(model, [request.texts[place] for place in places], query=is_query)
            made[places] = [one.vector for one in encoded]
        vectors = np.round(made, DIGITS).tolist()
        return Embedded.model_construct(vectors=vectors, dimension=model.info.dimension, model=model.info.model)

    return await asyncio.to_thread(work)
