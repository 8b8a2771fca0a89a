"""For the tests of programs that hold a memory: fakes, a memory on a scratch folder, its background work by hand."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema
import numpy as np
from numpy.typing import NDArray

from .clock import Clock, FrozenClock
from .config import Config, default_toml, patched
from .errors import ChatUnavailable
from .host.environment import Surroundings
from .host.service import AMemorixHostService
from .indexes.columns import ParagraphColumns
from .indexes.graph.store import GraphStore
from .indexes.name_directory import NameDirectory
from .indexes.sparse.bm25 import SparseBM25Index
from .indexes.vectors.store import QuantizationType, VectorStore
from .language.normalise import is_mostly_cjk, term_hashes, tokens, unpack_terms
from .models.host.embedder import EmbedFunction
from .models.registry import GivenChat
from .ports import ChatInfo, EmbedderInfo
from .store.ports import Connection
from .store.private_files import create_private
from .store.rows import embeddings as embedding_rows
from .store.sqlite import Database

__all__ = [
    "FrozenClock", "HashEmbedder", "ScriptedChat", "lay_empty_database", "memory_host", "pause_background",
    "resume_background", "run_maintenance", "scratch_config", "stale_indexes",
]  # fmt: skip


class HashEmbedder:
    """Vectors from the distinct words of a text, the same on every machine: texts that share words are near each other.

    Either the host's embedding function (call it) or an `Embedder` (`info`, `embed`, `reads`, `close`). Feature hashing with
    signs, after Weinberger et al. 2009.
    """

    def __init__(self, dimension: int = 256, *, model: str = "hash", languages: tuple[str, ...] = ("*",)) -> None:
        self._info = EmbedderInfo("hash", model, f"hash:{model}:{dimension}", dimension, languages)

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed(texts)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension)."""
        rows = [self._vector(text) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self._info.dimension), np.float32)

    def reads(self, text: str) -> bool:
        """Any text, unless the languages given name no Chinese."""
        return "*" in self._info.languages or not is_mostly_cjk(text)

    def close(self) -> None:
        """Nothing is held."""

    def _vector(self, text: str) -> NDArray[np.float32]:
        hashes = np.unique(term_hashes(tokens(text) or ["", text]))
        vector = np.zeros(self._info.dimension, np.float32)
        signs = np.where(hashes >> np.uint32(31), np.float32(1), np.float32(-1))
        np.add.at(vector, hashes % self._info.dimension, signs)
        if not vector.any():
            vector[hashes[0] % self._info.dimension] = 1.0
        return vector / np.float32(np.linalg.norm(vector))


Script = Callable[[str, str], Mapping[str, Any]]
"""(task, user text) to the answer."""


class ScriptedChat:
    """A chat model that answers what it is told to, and remembers what it was asked.

    `script` is a function of (task, user text), or answers by task. Raise ChatUnavailable in it to play a model that
    is away; a task without an answer is unavailable too.
    """

    def __init__(self, script: Script | Mapping[str, Mapping[str, Any]]) -> None:
        self._script = script
        self.asked: list[tuple[str, str]] = []

    @property
    def info(self) -> ChatInfo:
        return ChatInfo("scripted", "script")

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        """The scripted answer, for `task` and the user text; `asked` keeps both texts. Raises ChatUnavailable if there is none, or if it does not fit the schema."""
        self.asked.append((task, f"{system}\n\n{user}"))
        if callable(self._script):
            found = self._script(task, user)
        elif task in self._script:
            found = self._script[task]
        else:
            raise ChatUnavailable(f"The script has no answer for {task}.")
        try:
            jsonschema.validate(dict(found), schema)
        except jsonschema.ValidationError as exc:
            raise ChatUnavailable(f"The answer for {task} does not fit: {exc.message}") from exc
        return dict(found)

    async def close(self) -> None:
        """Nothing is held."""


def scratch_config(folder: Path, settings: Mapping[str, Any]) -> Path:
    """Write `folder/config/a_memorix.toml` with these settings (nested or dotted); returns its path."""
    path = folder / "config" / "a_memorix.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(patched("", settings) or default_toml(), "utf-8")
    return path


@cache
def _empty_database() -> tuple[bytes, str]:
    """A database without rows, and its id."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "memory.db")
        database.close()
        return database.path.read_bytes(), database.database_id


def lay_empty_database(folder: Path) -> None:
    """Lay an empty database where a new memory would make one table by table, which takes longer than most tests."""
    data = folder / "data" / "a-memorix"
    if not data.exists() and not Config().storage.encryption.enabled:
        data.mkdir(parents=True, mode=0o700)
        raw, id_ = _empty_database()
        create_private(data / "memory.db")
        (data / "memory.db").write_bytes(raw.replace(id_.encode(), secrets.token_hex(len(id_) // 2).encode()))


ASK_NOBODY = {"episode": {"model_enabled": False}, "extraction": {"chinese_names": False}}
"""What derives in the background asks no chat model."""


@contextlib.asynccontextmanager
async def memory_host(
    folder: Path,
    *,
    embed: EmbedFunction | None = None,
    chat: GivenChat | None = None,
    clock: Clock | None = None,
    zone: tzinfo = UTC,
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncGenerator[AMemorixHostService, None]:
    """A started memory with its data below `folder`, stopped at the end; the same folder again is the same memory.

    Without `embed` there are no vectors, with it the provider is `host`. `settings` are tables of the configuration:
    `memory_host(folder, retrieval={"candidates": 50})`, or dotted names, as those of `[chat]` have to be:
    `memory_host(folder, chat=model, **{"chat.daily_token_budget": 5})`. A chat model reads
    episodes only where `episode` is given. The clock stands still unless another is given, in
    November 2023: what is dated later has not happened yet, and no search shows its facts. Chinese names are read where
    `extraction` says so. The configuration file is not watched.
    """
    embedding = {"provider": "none"} if embed is None else {"provider": "host"}
    given = settings.get("embedding", {})
    settings = ASK_NOBODY | settings
    settings["extraction"] = {"chinese_names": False, **settings["extraction"]}
    path = scratch_config(folder, {**settings, "embedding": given if "provider" in given else {**embedding, **given}})
    if not any(name.startswith("storage") for name in settings):
        lay_empty_database(folder)
    around = Surroundings(environ or {}, clock or FrozenClock(), zone, embed, chat)
    async with AMemorixHostService(path, surroundings=around, watch=False) as host:
        yield host


async def pause_background(host: AMemorixHostService) -> None:
    """End the background work of a memory until `resume_background`: calls are answered, `settle` does what waits but embedding."""
    await host.kernel.pause()


def resume_background(host: AMemorixHostService) -> None:
    """Take the background work up again."""
    host.kernel.start()


async def run_maintenance(host: AMemorixHostService, what: Literal["audit", "backup", "lifecycle"]) -> int:
    """Do now what the background does by the clock: forget old changes, make the backup that is due, make a round over what
    has expired or faded. How many rows, backups or memories that were."""
    kernel = host.kernel
    match what:
        case "audit":
            return await kernel.audit.prune()
        case "backup":
            return int(await kernel.backups.due())
        case "lifecycle":
            done = await kernel.decay.round()
            return done.expired + done.faded + done.recycled


async def stale_indexes(host: AMemorixHostService) -> list[str]:
    """Names of the indexes that differ from those made of the rows alone; reads everything, so `settle` comes first."""
    kernel = host.kernel
    quantization = QuantizationType(kernel.config.embedding.quantization_type)

    def unit(db: Connection) -> list[str]:
        serving, stale = embedding_rows.serving(db), list[str]()
        for projection in kernel.indexes:
            projection.catch_up(db)
            fresh: Any
            match projection.name:
                case "sparse":
                    fresh = SparseBM25Index()
                case "columns":
                    fresh = ParagraphColumns()
                case "graph":
                    fresh = GraphStore()
                case "names":
                    fresh = NameDirectory()
                case _:
                    fresh = VectorStore(serving.dimension if serving else 1, quantization)
            fresh.build(projection.rows(db))
            held: Any = projection.index
            same = held.dump() == fresh.dump()
            if projection.name == "sparse":
                blobs = (blob for *_, blob in fresh.dump().values())
                terms = np.unique(np.concatenate([np.zeros(0, np.uint32), *(unpack_terms(blob)[0] for blob in blobs)]))
                (mine, documents), (theirs, total) = held.document_frequency(terms), fresh.document_frequency(terms)
                same = same and mine.tolist() == theirs.tolist() and documents == total
            if not same:
                stale.append(projection.name)
        return stale

    return await kernel.store.read(unit)
