"""What the adapters of databases share: threads for a client that blocks, one dimension, expiry, and the ranking of a room."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from ....clock import Clock, SystemClock
from ....errors import InvalidRequest, NotReady, TooLarge
from ....language.normalise import tokens
from ..models import MemoryEntry, MemorySearchOptions

__all__ = ["BlockingAdapter", "by_similarity", "by_words"]

T = TypeVar("T")
log = logging.getLogger(__name__)
LONGEST_DATA = 1_000_000
"""Characters of an entry, as `ingest.max_text_chars` is by default."""
SWEEP_SECONDS = 60.0
"""How often a write also removes what has expired."""


class BlockingAdapter:
    """An adapter over a client that blocks, usable from any event loop: its calls wait in `threads` threads.

    A backend writes the methods that begin with an underscore; where it compares vectors or words itself, also `_near` and
    `_matching`. Expired entries are in no answer of theirs; `clock` says what has expired.
    """

    vectors = True
    threads = 1

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="amemorix-rooms")
        self._opening, self._storing_once = threading.Lock(), threading.Lock()
        self._opened = self._closed = False
        self._dimension = 0
        self._swept = -math.inf
        self._warned = False

    @property
    def now(self) -> datetime:
        """By the clock that expiry goes by."""
        return datetime.fromtimestamp(self._clock.now(), UTC)

    async def init(self) -> None:
        await self._call(lambda: None)

    async def create_memory(self, input: MemoryEntry) -> MemoryEntry:
        await self._call(self._create, input)
        return input

    async def create_once(self, input: MemoryEntry) -> MemoryEntry:
        return await self._call(self._create_once, input)

    async def get_memory_by_id(self, id: str, room_id: str) -> MemoryEntry | None:
        return await self._call(self._get, room_id, id)

    async def search_memory(self, query: str, options: MemorySearchOptions) -> list[MemoryEntry]:
        return await self._call(self._search, query, options)

    async def get_all_memories(self, room_id: str) -> list[MemoryEntry]:
        return await self._call(self._all, room_id)

    async def delete_memory_by_id(self, id: str, room_id: str) -> None:
        await self._call(self._delete, room_id, id)

    async def clear_memories(self, room_id: str) -> None:
        await self._call(self._clear, room_id)

    async def close(self) -> None:
        if self._opened and not self._closed:
            await self._call(self._close)
        self._closed = True
        self._pool.shutdown(wait=False)

    async def _call(self, function: Callable[..., T], *args: Any) -> T:
        def call() -> T:
            with self._opening:
                if not self._opened:
                    self._open()
                    self._opened = True
            return function(*args)

        if self._closed:
            raise NotReady(f"This {type(self).__name__} is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def _create(self, entry: MemoryEntry) -> None:
        if len(entry.data) > LONGEST_DATA:
            raise TooLarge(f"data: it has {len(entry.data)} characters, more than {LONGEST_DATA}.", field="data")
        if entry.embedding:
            self._dimension = self._dimension or self._stored_dimension() or len(entry.embedding)
            if len(entry.embedding) != self._dimension:
                raise InvalidRequest(
                    f"embedding: it has {len(entry.embedding)} numbers, those that are stored have {self._dimension}.",
                    field="embedding",
                )
        if self._clock.now() >= self._swept + SWEEP_SECONDS:
            self._swept = self._clock.now()
            self._sweep()
        self._put(entry)

    def _create_once(self, entry: MemoryEntry) -> MemoryEntry:
        with self._storing_once:
            for one in self._all(entry.room_id):
                if one.data == entry.data:
                    return one
            self._create(entry)
            return entry

    def _search(self, query: str, options: MemorySearchOptions) -> list[MemoryEntry]:
        """What is near in meaning, then what has the words and no vector; without a vector of the query what has the words."""
        compared = options.embedding is not None and self.vectors
        if compared and self._dimension and len(options.embedding or ()) != self._dimension:
            raise InvalidRequest(
                f"embedding: that of the query has {len(options.embedding or ())} numbers, those stored have {self._dimension}.",
                field="embedding",
            )
        if options.min_similarity and not compared and not self._warned:
            self._warned = True
            log.warning(
                "minSimilarity has no effect: there is no vector of the query to compare with (Rooms(embed=…))."
            )
        near = self._near(options) if compared else []
        if len(near) < options.limit:
            near += self._matching(query, options, without_vector=compared)
        return near[: options.limit]

    def _near(self, options: MemorySearchOptions) -> list[MemoryEntry]:
        return by_similarity(self._all(options.room_id), options)

    def _matching(self, query: str, options: MemorySearchOptions, *, without_vector: bool) -> list[MemoryEntry]:
        return by_words(query, [e for e in self._all(options.room_id) if not (without_vector and e.embedding)])

    def _stored_dimension(self) -> int:
        """Of the vectors that are there, 0 if there is none."""
        return 0

    def _sweep(self) -> None:
        """Remove what has expired."""

    def _open(self) -> None: ...

    def _close(self) -> None: ...

    def _put(self, entry: MemoryEntry) -> None:
        raise NotImplementedError

    def _get(self, room_id: str, id: str) -> MemoryEntry | None:
        raise NotImplementedError

    def _all(self, room_id: str) -> list[MemoryEntry]:
        raise NotImplementedError

    def _delete(self, room_id: str, id: str) -> None:
        raise NotImplementedError

    def _clear(self, room_id: str) -> None:
        raise NotImplementedError


def by_similarity(entries: Sequence[MemoryEntry], options: MemorySearchOptions) -> list[MemoryEntry]:
    """Those with a vector, the nearest (cosine) first, as far as they are similar enough."""
    compared = [one for one in entries if one.embedding]
    if not compared or not options.embedding:
        return []
    vectors, query = np.array([one.embedding for one in compared]), np.array(options.embedding)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(query)
    similarity = np.where(norms > 0, vectors @ query / np.where(norms > 0, norms, 1), 0).clip(0, 1)
    order = np.argsort(-similarity, kind="stable")[: options.limit]
    return [compared[i] for i in order if similarity[i] >= (options.min_similarity or 0)]


def by_words(query: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Those that have words of the query, first the one with the most of those that are rare among the entries."""
    wanted = set(tokens(query))
    shared = [wanted.intersection(tokens(one.data)) for one in entries]
    occurs = Counter(term for terms in shared for term in terms)
    weight = {term: math.log1p(len(entries) / n) for term, n in occurs.items()}
    scores = [sum(weight[term] for term in terms) for terms in shared]
    return [entries[i] for i in sorted(range(len(entries)), key=lambda i: -scores[i]) if scores[i] > 0]
