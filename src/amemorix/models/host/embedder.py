"""The embedding function that the host hands over."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...ports import Embedder, EmbedderInfo
from ..vectors import unit_vectors

__all__ = ["EmbedFunction", "EmbedderContext", "HostEmbedder", "create"]

EmbedFunction = Callable[[Sequence[str]], Any]
"""Texts to one vector each, or an awaitable of that."""


@dataclass(frozen=True, slots=True)
class EmbedderContext:
    """What the environment of an embedder's factory offers: variables, and the host's embedding function and event loop."""

    environ: Mapping[str, str] = field(default_factory=dict)
    host_callable: EmbedFunction | None = None
    loop: asyncio.AbstractEventLoop | None = None


class HostEmbedder:
    """Embeds with the host's own function, synchronous or asynchronous.

    An asynchronous function is run on `loop` while the calling thread waits at most `timeout` seconds; it must not
    be called from the loop's own thread. A synchronous function has to be thread-safe.
    """

    def __init__(
        self,
        fn: EmbedFunction,
        name: str = "",
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        dimension: int = 0,
        timeout: float = 30.0,
    ) -> None:
        self._fn = fn
        self._name = name or "callable"
        self._loop = loop
        self._dimension = dimension
        self._timeout = timeout
        self._lock = threading.Lock()

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity; embeds one word if the dimension is not known yet."""
        if not self._dimension:
            self.embed(["dimension"])
        fingerprint = f"host:{self._name}:{self._dimension}"
        return EmbedderInfo("host", self._name, fingerprint, self._dimension)

    def reads(self, text: str) -> bool:  # noqa: ARG002
        return True

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension); whatever the host's function raises is a ModelUnavailable."""
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        try:
            answer = self._fn(list(texts))
            if inspect.isawaitable(answer):
                answer = self._wait(answer)
        except ModelUnavailable:
            raise
        except BaseException as exc:
            # A foreign function may raise anything; SystemExit or CancelledError would end whoever waits for the vectors.
            raise _failed(exc) from exc
        with self._lock:
            who = "The host's embedding function"
            vectors = unit_vectors(answer, count=len(texts), dimension=self._dimension, who=who)
            self._dimension = vectors.shape[1]
        return vectors

    def close(self) -> None:
        """Nothing is held."""

    def _wait(self, answer: Awaitable[Any]) -> Any:
        async def run() -> Any:
            try:
                return await answer
            except (SystemExit, KeyboardInterrupt) as exc:
                # They would end the host's loop.
                raise _failed(exc) from exc

        if self._loop is None or not self._loop.is_running():
            if inspect.iscoroutine(answer):
                answer.close()
            raise ModelUnavailable(
                "The host's embedding function is asynchronous and needs the host's running event loop."
            )
        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return future.result(self._timeout)
        except TimeoutError as exc:
            future.cancel()
            raise ModelUnavailable(
                f"The host's embedding function did not answer within {self._timeout:g} s.", endpoint_down=True
            ) from exc


def _failed(exc: BaseException) -> ModelUnavailable:
    return ModelUnavailable(f"The host's embedding function failed: {type(exc).__name__}: {exc}")


def create(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The host's function as an embedder; ModelUnavailable if the host gave none."""
    if context.host_callable is None:
        raise ModelUnavailable("embedding.provider is `host`, but the host handed over no embedding function.")
    embedder = HostEmbedder(
        context.host_callable,
        settings.model_name,
        loop=context.loop,
        dimension=settings.dimension,
        timeout=settings.timeout_seconds,
    )
    return embedder, ""
