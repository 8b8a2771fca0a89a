"""A store of any size, filled through the front door."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemorix import config as configuration
from amemorix.errors import InvalidRequest
from amemorix.host.service import AMemorixHostService
from amemorix.models.embedding_batches import encode
from amemorix.models.registry import make_embedder
from amemorix.ports import Embedder, EmbedderInfo
from amemorix.store.metadata_store import MetadataStore
from amemorix.store.ports import Connection
from amemorix.store.rows import embeddings as embedding_rows
from amemorix.store.rows.embeddings import Generation, ParagraphVectors

from ..corpus import TOGETHER, Call, calls, fresh_texts
from ..workspace import answered, open_memory

__all__ = ["Fill", "OnProgress", "filled", "ingest_all", "perturbed", "sample_embedder"]

OnProgress = Callable[[str, int, int], None]
"""Called with what is going on, how many rows are done, and how many there are."""

CALLERS = 4
SAMPLE_TEXTS = 2_000
VECTOR_STEP = 2_000
NOISE = 0.75
"""Length of the noise added to a unit vector: the cosine to it is then about 0.8."""
_MARK = "bench-fill.json"
_BARE = {"embedding.provider": "none", "episode.enabled": False}


@dataclass(frozen=True, slots=True)
class Fill:
    """How a store was filled: paragraphs a second, acknowledged as durable and found by the next search."""

    rows: int
    rate: float
    first_tenth: float
    last_tenth: float
    cpu_micros: float
    """Microseconds that all threads of the process spent on a paragraph."""
    vectors: int = 0
    episode_rate: float = 0.0
    """Paragraphs a second that the grouping into episodes takes up when nothing else goes on."""
    embedding: str = ""
    """The settings of the model, as JSON: another model needs another store."""


async def filled(folder: Path, rows: int, config: Mapping[str, Any], on_progress: OnProgress) -> Fill:
    """Fill the store below `folder` with `rows` paragraphs, their vectors and episodes; one that holds them is kept.

    Raises InvalidRequest if the folder holds anything else.
    """
    wanted = {"rows": rows, "embedding": _embedding_settings(config)}
    if any(folder.iterdir()):
        return _kept(folder, wanted)
    async with open_memory(folder, {**config, **_BARE}) as host:
        fill = await ingest_all(host, rows, on_progress)
        vectors = await _put_vectors(host.kernel.store, config, rows, on_progress)
    async with open_memory(folder, config) as host:
        rate = await _derive(host, rows, on_progress)
        await answered(host, "memory_runtime_admin", {"action": "save"})
    fill = replace(fill, vectors=vectors, episode_rate=rate, embedding=wanted["embedding"])
    (folder / _MARK).write_text(json.dumps(asdict(fill)), "utf-8")
    return fill


def _kept(folder: Path, wanted: Mapping[str, Any]) -> Fill:
    """How the store that is there was filled. Raises InvalidRequest if it is not the one that is wanted."""
    with contextlib.suppress(OSError, ValueError, TypeError):
        known = Fill(**json.loads((folder / _MARK).read_text("utf-8")))
        if wanted.items() <= asdict(known).items():
            return known
    raise InvalidRequest(
        f"{folder} is not empty, and holds no finished store of {wanted['rows']} rows with these embedding settings.",
        field="data_dir",
    )


def _embedding_settings(config: Mapping[str, Any]) -> str:
    return json.dumps({name: value for name, value in sorted(config.items()) if name.startswith("embedding")})


async def ingest_all(host: AMemorixHostService, rows: int, on_progress: OnProgress) -> Fill:
    """Send the corpus through `ingest_messages`, a few calls in flight, with a search after every eight calls.

    Making the texts is not timed.
    """
    done, spent, times = 0, 0.0, []
    for block in _blocks(calls(rows), TOGETHER):
        count = sum(len(call.messages) for call in block)
        started, before = time.perf_counter(), time.process_time()
        await _send(host, block)
        times.append((count, time.perf_counter() - started))
        done, spent = done + count, spent + time.process_time() - before
        on_progress("storing", done, rows)
    tenth = max(1, len(times) // 10)
    return Fill(rows, _rate(times), _rate(times[:tenth]), _rate(times[-tenth:]), round(spent / rows * 1e6, 1))


async def _send(host: AMemorixHostService, block: list[Call]) -> None:
    waiting = iter(block)

    async def caller() -> None:
        for call in waiting:
            await answered(host, "ingest_messages", call.args())

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    last = block[-1]
    await answered(host, "search_memory", {"query": last.messages[-1]["text"], "chat_id": last.chat_id, "limit": 1})


def _rate(times: Iterable[tuple[int, float]]) -> float:
    counted = list(times)
    return round(sum(count for count, _ in counted) / max(sum(seconds for _, seconds in counted), 1e-9), 1)


def _blocks(items: Iterator[Call], size: int) -> Iterator[list[Call]]:
    while block := list(islice(items, size)):
        yield block


# vectors


def sample_embedder(config: Mapping[str, Any]) -> Embedder | None:
    """The embedder that these settings choose; None if they choose none."""
    settings = configuration.parse(configuration.patched(configuration.default_toml(), config)).embedding
    return make_embedder(settings, environ=os.environ)[0]


def perturbed(sample: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """A unit vector for each row id, shape (len(rows), dimension): a copy of one of the sample, with noise of its own.

    The same rows give the same vectors.
    """
    rng = np.random.default_rng([int(rows[0]), rows.size])
    noise = rng.standard_normal((rows.size, sample.shape[1]), np.float32) * np.float32(NOISE / sample.shape[1] ** 0.5)
    vectors = sample[rows % sample.shape[0]] + noise
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def _put_vectors(store: MetadataStore, config: Mapping[str, Any], rows: int, on_progress: OnProgress) -> int:
    """Give every paragraph a vector of the configured model's generation; returns how many. None without a model."""
    embedder = await asyncio.to_thread(sample_embedder, config)
    if embedder is None:
        return 0
    on_progress("embedding a sample", 0, rows)
    encoded = await asyncio.to_thread(encode, embedder, fresh_texts(min(SAMPLE_TEXTS, max(rows, 1)), "sample"))
    sample = np.stack([one.vector for one in encoded])
    tokens = [one.tokens.tobytes() for one in encoded]
    generation = await store.write(lambda db: _generation(db, embedder.info))
    embedder.close()
    done = last = 0
    while ids := await store.read(lambda db, after=last: _without_vector(db, generation.id, after)):
        vectors = perturbed(sample, np.array(ids, np.int64)).astype("<f2")
        made = [
            ParagraphVectors(id_, vector.tobytes(), tokens[id_ % len(tokens)])
            for id_, vector in zip(ids, vectors, strict=True)
        ]
        await store.write(lambda db, made=made: embedding_rows.put(db, generation.id, made))
        done, last = done + len(ids), ids[-1]
        on_progress("writing vectors", done, rows)
    return done


def _generation(db: Connection, info: EmbedderInfo) -> Generation:
    return embedding_rows.create(db, info, "serving", time.time())


def _without_vector(db: Connection, generation: int, after: int) -> list[int]:
    return [row.id for row in embedding_rows.pending(db, generation, after, time.time(), VECTOR_STEP)]


async def _derive(host: AMemorixHostService, rows: int, on_progress: OnProgress) -> float:
    """Group everything into episodes; paragraphs a second."""
    on_progress("deriving episodes", 0, rows)
    started = time.perf_counter()
    await host.settle()
    rate = rows / (time.perf_counter() - started)
    on_progress("deriving episodes", rows, rows)
    return round(rate, 1)
