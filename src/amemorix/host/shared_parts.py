"""The heavy parts of a kernel, built anew or taken over from the kernel before."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..config.model import Config
from ..indexes.projections import Indexes
from ..models.glosses.table import GlossTable, table_for
from ..models.registry import make_chat, make_embedder, provider_chosen
from ..ports import ChatModel, Embedder
from ..store.metadata_store import MetadataStore
from .environment import Surroundings

__all__ = ["Parts", "Shared", "build_parts"]

log = logging.getLogger(__name__)
T = TypeVar("T")
MODEL_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "dimension", "request_dimension", "max_concurrent",
    "timeout_seconds", "max_attempts", "glosses",
)  # fmt: skip
"""Settings that an embedder is made from: while they stay, it is handed on to the next kernel."""
CHAT_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "timeout_seconds", "max_attempts", "temperature",
    "max_output_tokens",
)  # fmt: skip
"""The same for the chat model."""


class Shared(Generic[T]):
    """A part with the settings it was built from; closed when the last kernel that uses it lets go."""

    def __init__(self, key: Hashable, part: T, close: Callable[[T], None]) -> None:
        self.key = key
        self._lock = threading.Lock()
        self.part = part
        self._close = close
        self._users = 1

    def taken(self) -> Shared[T]:
        """The same part for one more user."""
        with self._lock:
            self._users += 1
        return self

    def release(self) -> None:
        """One user less; blocking if it was the last."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if last:
            self._close(self.part)


def reused(old: Shared[T] | None, key: Hashable, build: Callable[[], T], close: Callable[[T], None]) -> Shared[T]:
    """The old part if it was built from the same settings, else a new one."""
    if old is not None and old.key == key:
        return old.taken()
    return Shared(key, build(), close)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a kernel may share with the next one."""

    store: Shared[MetadataStore]
    indexes: Shared[Indexes]
    embedder: Shared[Embedder | None]
    notice: str
    chat: Shared[ChatModel | None]
    chat_notice: str = ""
    glosses: GlossTable | None = None

    def release_models(self) -> None:
        """Let go of the models; blocking."""
        self.embedder.release()
        self.chat.release()

    def release_data(self) -> None:
        """Let go of the indexes and the store; blocking."""
        self.indexes.release()
        self.store.release()


def build_parts(
    config: Config, folder: Path, around: Surroundings, loop: asyncio.AbstractEventLoop, old: Parts | None
) -> Parts:
    """Build each part, or take it over from the old ones; on failure nothing is left open."""
    with contextlib.ExitStack() as undo:
        store = reused(
            old and old.store,
            (folder, config.storage.synchronous, config.storage.readers, config.storage.group_commit_max),
            lambda: MetadataStore(
                folder,
                synchronous=config.storage.synchronous,
                readers=config.storage.readers,
                group_commit_max=config.storage.group_commit_max,
            ),
            MetadataStore.close,
        )
        undo.callback(store.release)
        indexes = reused(
            old and old.indexes,
            (store.key, config.embedding.quantization_type),
            lambda: _open_indexes(store.part),
            lambda _: None,
        )
        undo.callback(indexes.release)
        if notice := config.retrieval.sparse.notice:
            log.warning("%s", notice)
        chosen, known = provider_chosen(config.embedding, around.embed), old.glosses if old else None
        glosses = table_for(chosen, around.environ, known)
        chat, chat_notice = _chat(config, around, loop, old)
        undo.callback(chat.release)
        embedder, notice = _embedder(config, around, loop, old, glosses)
        undo.pop_all()
    return Parts(store, indexes, embedder, notice, chat, chat_notice, glosses)


def _open_indexes(store: MetadataStore) -> Indexes:
    indexes = Indexes(store)
    how = indexes.open()
    for projection in indexes:
        if how[projection.name] == "rebuilt" and projection.keeps_snapshot and len(projection.index):
            log.info("the %s index was built from the rows", projection.name)
    return indexes


def _embedder(
    config: Config, around: Surroundings, loop: asyncio.AbstractEventLoop, old: Parts | None, glosses: GlossTable | None
) -> tuple[Shared[Embedder | None], str]:
    """The model and its notice; the old one if nothing that it is made from changed."""
    key = tuple(getattr(config.embedding, name) for name in MODEL_SETTINGS)
    if old is not None and old.embedder.key == key and old.embedder.part is not None:
        return old.embedder.taken(), old.notice
    embedder, notice = make_embedder(
        config.embedding, environ=around.environ, host_callable=around.embed, loop=loop, glosses=glosses
    )
    if notice:
        log.warning("%s", notice)
    return Shared(key, embedder, lambda held: held.close() if held else None), notice


def _chat(
    config: Config, around: Surroundings, loop: asyncio.AbstractEventLoop, old: Parts | None
) -> tuple[Shared[ChatModel | None], str]:
    """The chat model and its notice; the old one if nothing that it is made from changed."""
    key = tuple(getattr(config.chat, name) for name in CHAT_SETTINGS)
    if old is not None and old.chat.key == key and old.chat.part is not None:
        return old.chat.taken(), old.chat_notice
    model, notice = make_chat(config.chat, environ=around.environ, given=around.chat)
    if notice:
        log.warning("%s", notice)

    def close(model: ChatModel | None) -> None:
        if model is not None and model is not around.chat and loop.is_running():
            asyncio.run_coroutine_threadsafe(model.close(), loop).result()

    return Shared(key, model, close), notice
