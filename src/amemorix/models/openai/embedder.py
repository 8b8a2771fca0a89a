"""The client of an OpenAI-compatible embedding endpoint."""

from __future__ import annotations

import asyncio
import base64
import binascii
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from ...clock import Clock
from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...language.encoding import encodable
from ...ports import Embedder, EmbedderInfo
from ..api_key import key_of
from ..host.embedder import EmbedderContext
from ..vectors import unit_vectors
from .client import OpenAIClient, Refused

__all__ = ["OpenAIEmbedder", "create"]

_REFUSED = frozenset({400, 413, 422})
"""Answers that may be the fault of one text, or of the batch's size."""
_LARGEST_ANSWER = 64 * 2**20
"""Bytes; a batch with a larger answer is halved."""


class _Row(BaseModel):
    index: int
    embedding: list[float] | str


class _Answer(BaseModel):
    data: list[_Row]


class OpenAIEmbedder:
    """Embeds with `POST {base_url}/embeddings`, many texts a request; any number of threads may call it at once.

    The requests run on an event loop in a thread of its own, so that each can be ended at any point: looking up the
    host, connecting, or reading an answer that drips in. A batch that is refused is halved, so that a bad text fails
    alone: `embed` then raises ModelUnavailable with the positions in `details["failed"]`. `details["endpoint_down"]` is
    true when no text is to blame.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimension: int = 0,
        request_dimension: bool = False,
        timeout: float = 30.0,
        max_attempts: int = 3,
        max_concurrent: int = 2,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
        max_answer_bytes: int = _LARGEST_ANSWER,
    ) -> None:
        self._client = OpenAIClient(
            "embedding", base_url, "/embeddings", key=(api_key or "").strip(), fault=ModelUnavailable,
            details={"endpoint_down": True}, refused=_REFUSED, timeout=timeout, max_attempts=max_attempts,
            max_bytes=max_answer_bytes, max_concurrent=max_concurrent, clock=clock, sleep=sleep,
        )  # fmt: skip
        self._model = model
        self._dimension = dimension
        self._extra = {"dimensions": dimension} if request_dimension and dimension else {}
        self._lock = threading.Lock()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="amemorix-http", daemon=True)
        self._thread.start()

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity; embeds one word if the dimension is not known yet."""
        if not self._dimension:
            self.embed(["dimension"])
        url = self._client.url
        place = f"{url.netloc.decode()}{url.path.removesuffix('/embeddings')}"
        fingerprint = f"openai:{place}:{self._model}:{self._dimension}"
        return EmbedderInfo("openai", self._model, fingerprint, self._dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension). Raises ModelUnavailable."""
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        try:
            return self._request(texts)
        except Refused as exc:
            return self._narrow(texts, exc)

    def reads(self, text: str) -> bool:  # noqa: ARG002
        return True

    def close(self) -> None:
        """End the requests under way, which raise ModelUnavailable, and close the connections."""
        with self._lock:
            if self._closed:
                return
            self._closed = True

        async def end() -> None:
            requests = asyncio.all_tasks() - {asyncio.current_task()}
            for request in requests:
                request.cancel()
            await asyncio.gather(*requests, return_exceptions=True)
            try:
                await self._client.close()
            finally:
                self._loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self._loop)
        self._thread.join()
        self._loop.close()

    def _narrow(self, texts: Sequence[str], refusal: Refused) -> NDArray[np.float32]:
        """Embed a refused batch in parts, and say which texts are refused by themselves.

        One plain word tells a bad text from a wrong model name, which would be refused once for every text.
        """
        try:
            self._request(["word"])
        except Refused as exc:
            raise self._client.failed(f"refuses every text: {refusal}") from exc
        vectors: dict[int, NDArray[np.float32]] = {}
        self._embed_halves(texts, range(len(texts)), vectors)
        failed = [row for row in range(len(texts)) if row not in vectors]
        if failed:
            told = f"{self._client.who} refused {len(failed)} of {len(texts)} texts: {refusal}"
            raise ModelUnavailable(told, failed=failed)
        return np.stack([vectors[row] for row in range(len(texts))])

    def _embed_halves(self, texts: Sequence[str], rows: range, vectors: dict[int, NDArray[np.float32]]) -> None:
        """Embed each half of the rows that were refused together; a row refused alone gets no vector."""
        if len(rows) == 1:
            return
        half = len(rows) // 2
        for part in (rows[:half], rows[half:]):
            try:
                vectors.update(zip(part, self._request([texts[row] for row in part]), strict=True))
            except Refused:
                self._embed_halves(texts, part, vectors)
            except ModelUnavailable as exc:
                exc.details["failed"] = [part[row] for row in exc.details.get("failed", [])]
                raise

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        body = {"model": self._model, "input": [encodable(text) for text in texts], **self._extra}
        with self._lock:
            if self._closed:
                raise self._client.failed("cannot be asked: it is closed")
            work = asyncio.run_coroutine_threadsafe(self._client.post(body), self._loop)
        try:
            rows = sorted(_Answer.model_validate_json(work.result()).data, key=lambda row: row.index)
            vectors = [_numbers(row.embedding) for row in rows]
        except CancelledError as exc:
            raise self._client.failed("cannot be asked: it was closed meanwhile") from exc
        except (ValidationError, binascii.Error, ValueError) as exc:
            raise self._client.failed("answered something else than embeddings") from exc
        if [row.index for row in rows] != list(range(len(rows))):
            raise ModelUnavailable(f"{self._client.who} numbered its vectors wrongly.")
        with self._lock:
            made = unit_vectors(vectors, count=len(texts), dimension=self._dimension, who=self._client.who)
            self._dimension = made.shape[1]
        return made


def create(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The client of the configured endpoint; ModelUnavailable names the setting or the variable that is missing."""
    for name in ("base_url", "model_name"):
        if not getattr(settings, name):
            raise ModelUnavailable(f"embedding.{name} is empty; provider `openai` needs it.", field=f"embedding.{name}")
    embedder = OpenAIEmbedder(
        settings.base_url, settings.model_name,
        api_key=key_of(settings.api_key_env, context.environ, section="embedding", fault=ModelUnavailable),
        dimension=settings.dimension, request_dimension=settings.request_dimension, timeout=settings.timeout_seconds,
        max_attempts=settings.max_attempts, max_concurrent=settings.max_concurrent,
    )  # fmt: skip
    return embedder, ""


def _numbers(embedding: list[float] | str) -> NDArray[np.float32]:
    """A vector as a list, or as base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.asarray(embedding, np.float32)
