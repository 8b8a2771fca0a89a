"""The client of an OpenAI-compatible embedding endpoint."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from ...clock import Clock, SystemClock
from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...ports import Embedder, EmbedderInfo
from ..api_key import key_of
from ..host.environment import Surroundings
from ..inputs import encodable
from ..vectors import unit_vectors
from .endpoint import LONGEST_PAUSE, PASSING, backoff, bearer, endpoint_url, on_one_line, retry_after
from .http_client import Closed, Poster, Reply, TooLarge

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


class _Refused(Exception):
    """The endpoint will not take this input."""


class OpenAIEmbedder:
    """Embeds with `POST {base_url}/embeddings`, many texts a request; any number of threads may call it at once.

    A request that was not answered in full after `timeout` seconds, or meets another passing fault, is tried up to
    `max_attempts` times. A batch that is refused is halved, so that a bad text fails alone: `embed` then raises ModelUnavailable with the positions in `details["failed"]`.
    `details["endpoint_down"]` is true when no text is to blame. No message holds the key.
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
        sleep: Callable[[float], None] | None = None,
        max_answer_bytes: int = _LARGEST_ANSWER,
    ) -> None:
        self._url = endpoint_url(base_url, "/embeddings", section="embedding", fault=ModelUnavailable)
        self._model = model
        self._key = (api_key or "").strip()
        self._dimension = dimension
        self._extra = {"dimensions": dimension} if request_dimension and dimension else {}
        self._attempts = max_attempts
        self._clock = clock or SystemClock()
        self._slots = threading.BoundedSemaphore(max_concurrent)
        self._lock = threading.Lock()
        headers = bearer(self._key, who="embedding endpoint", fault=ModelUnavailable)
        self._poster = Poster(headers=headers, timeout=timeout, max_bytes=max_answer_bytes)
        self._sleep = sleep or self._poster.pause

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity; embeds one word if the dimension is not known yet."""
        if not self._dimension:
            self.embed(["dimension"])
        place = f"{self._url.netloc.decode()}{self._url.path.removesuffix('/embeddings')}"
        fingerprint = f"openai:{place}:{self._model}:{self._dimension}"
        return EmbedderInfo("openai", self._model, fingerprint, self._dimension)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension). Raises ModelUnavailable."""
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        try:
            return self._request(texts)
        except _Refused as exc:
            return self._narrow(texts, exc)

    def reads(self, text: str) -> bool:  # noqa: ARG002
        return True

    def close(self) -> None:
        """End the requests under way, which raise ModelUnavailable, and close the connections."""
        self._poster.close()

    def _narrow(self, texts: Sequence[str], refusal: _Refused) -> NDArray[np.float32]:
        """Embed a refused batch in parts, and say which texts are refused by themselves."""
        self._check_accepts_any(refusal)
        vectors: dict[int, NDArray[np.float32]] = {}
        self._embed_halves(texts, range(len(texts)), vectors)
        failed = [row for row in range(len(texts)) if row not in vectors]
        if failed:
            raise ModelUnavailable(f"{self._who} refused {len(failed)} of {len(texts)} texts: {refusal}", failed=failed)
        return np.stack([vectors[row] for row in range(len(texts))])

    def _check_accepts_any(self, refusal: _Refused) -> None:
        """One plain word tells a bad text from a wrong model name, which would be refused once for every text."""
        try:
            self._request(["word"])
        except _Refused as exc:
            raise ModelUnavailable(f"{self._who} refuses every text: {refusal}", endpoint_down=True) from exc

    def _embed_halves(self, texts: Sequence[str], rows: range, vectors: dict[int, NDArray[np.float32]]) -> None:
        """Embed each half of the rows that were refused together; a row refused alone gets no vector."""
        if len(rows) == 1:
            return
        half = len(rows) // 2
        for part in (rows[:half], rows[half:]):
            try:
                vectors.update(zip(part, self._request([texts[row] for row in part]), strict=True))
            except _Refused:
                self._embed_halves(texts, part, vectors)
            except ModelUnavailable as exc:
                exc.details["failed"] = [part[row] for row in exc.details.get("failed", [])]
                raise

    def _request(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = self._read(
            self._post({"model": self._model, "input": [encodable(text) for text in texts], **self._extra})
        )
        with self._lock:
            vectors = unit_vectors(rows, count=len(texts), dimension=self._dimension, who=self._who)
            self._dimension = vectors.shape[1]
        return vectors

    def _read(self, answer: Reply) -> list[NDArray[np.float32]]:
        try:
            rows = sorted(_Answer.model_validate_json(answer.content).data, key=lambda row: row.index)
            vectors = [_numbers(row.embedding) for row in rows]
        except (ValidationError, binascii.Error, ValueError) as exc:
            raise ModelUnavailable(f"{self._who} answered something else than embeddings.", endpoint_down=True) from exc
        if [row.index for row in rows] != list(range(len(rows))):
            raise ModelUnavailable(f"{self._who} numbered its vectors wrongly.")
        return vectors

    def _post(self, body: dict[str, Any]) -> Reply:
        """The first good answer; _Refused, or ModelUnavailable after the last try."""
        attempt = 1
        while True:
            problem, pause = self._try(body)
            if isinstance(problem, Reply):
                return problem
            if attempt >= self._attempts or (pause or 0) > LONGEST_PAUSE:
                raise ModelUnavailable(f"{self._who} {problem}.", endpoint_down=True, retry_after=pause)
            self._sleep(backoff(attempt) if pause is None else pause)
            attempt += 1

    def _try(self, body: dict[str, Any]) -> tuple[Reply | str, float | None]:
        """A good answer, or what went wrong with the pause that the endpoint asks for."""
        try:
            with self._slots:
                answer = self._poster.post(self._url, body)
        except TooLarge as exc:
            raise _Refused(str(exc)) from exc
        except (TimeoutError, httpx.TimeoutException):
            return "did not answer in time", None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as exc:
            return f"cannot be reached ({self._clean(str(exc))})", None
        except (httpx.HTTPError, Closed) as exc:
            raise ModelUnavailable(f"{self._who} cannot be asked: {self._clean(str(exc))}", endpoint_down=True) from exc
        if 200 <= answer.status < 300:
            return answer, None
        return self._problem(answer), retry_after(answer.headers, self._clock.now())

    def _problem(self, answer: Reply) -> str:
        """What a passing fault is called; raises for any other."""
        said = f"answered HTTP {answer.status}: {self._clean(answer.text)[:200]}"
        if answer.status in _REFUSED:
            raise _Refused(said)
        if answer.status not in PASSING:
            raise ModelUnavailable(f"{self._who} {said}", endpoint_down=True, status=answer.status)
        return said

    @property
    def _who(self) -> str:
        return f"The embedding endpoint {self._url.host}"

    def _clean(self, text: str) -> str:
        return on_one_line(text, self._key)


def create(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:
    """The client of the configured endpoint; ModelUnavailable names the setting or the variable that is missing."""
    for name in ("base_url", "model_name"):
        if not getattr(settings, name):
            raise ModelUnavailable(f"embedding.{name} is empty; provider `openai` needs it.", field=f"embedding.{name}")
    embedder = OpenAIEmbedder(
        settings.base_url,
        settings.model_name,
        api_key=key_of(settings.api_key_env, surroundings.environ, section="embedding", fault=ModelUnavailable),
        dimension=settings.dimension,
        request_dimension=settings.request_dimension,
        timeout=settings.timeout_seconds,
        max_attempts=settings.max_attempts,
        max_concurrent=settings.max_concurrent,
    )
    return embedder, ""


def _numbers(embedding: list[float] | str) -> NDArray[np.float32]:
    """A vector as a list, or as base64 of little-endian float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return np.asarray(embedding, np.float32)
