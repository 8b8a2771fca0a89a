"""The heavy parts of a kernel, built anew or taken over from the kernel before."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..config.model import Config, Embedding
from ..indexes.projections import Indexes
from ..models.cache import cache_dir
from ..models.local.install import find_installed
from ..models.registry import make_chat, make_embedder
from ..ports import ChatModel, Embedder
from ..store.keys import Keyring, open_keyring
from ..store.metadata_store import MetadataStore
from .environment import Surroundings

__all__ = ["Parts", "Shared", "build_parts", "model_has_come"]

log = logging.getLogger(__name__)
T = TypeVar("T")
MODEL_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "dimension", "request_dimension", "max_concurrent",
    "timeout_seconds", "max_attempts",
)  # fmt: skip
"""Settings that an embedder is made from: while they stay, it is handed on to the next kernel."""
CHAT_SETTINGS = (
    "provider", "model_name", "base_url", "api_key_env", "timeout_seconds", "max_attempts", "temperature",
    "max_output_tokens",
)  # fmt: skip
"""The same for the chat model."""


class Shared(Generic[T]):
    """A part with the settings it was built from; closed when the last kernel that uses it lets go."""

    def __init__(self, key: Hashable, part: T, close: Callable[[T], None], notice: str = "") -> None:
        self.key = key
        self._lock = threading.Lock()
        self.part = part
        self.notice = notice
        """What users should know of it: why there is none, or how it is used."""
        self._close = close
        self._users = 1
        if notice:
            log.warning("%s", notice)

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


@dataclass(frozen=True, slots=True)
class Parts:
    """What a kernel may share with the next one."""

    store: Shared[MetadataStore]
    indexes: Shared[Indexes]
    embedder: Shared[Embedder | None]
    chat: Shared[ChatModel | None]


def build_parts(
    config: Config, folder: Path, around: Surroundings, loop: asyncio.AbstractEventLoop, old: Parts | None,
    keys: Keyring | None = None,
) -> Parts:  # fmt: skip
    """Build each part, or take it over from the old ones if its settings are the same; on failure nothing is left open.

    `keys` are those of a memory that was closed just now to be opened again.
    """
    storage, embedding = config.storage, config.embedding

    def close_chat(model: ChatModel | None) -> None:
        if model is not None and model is not around.chat and loop.is_running():
            asyncio.run_coroutine_threadsafe(model.close(), loop).result()

    with contextlib.ExitStack() as undo:
        key: Hashable = (folder, storage.synchronous, storage.readers, storage.group_commit_max)
        if old and old.store.key == key:
            store = old.store.taken()
        else:
            keys = keys or (old.store.part.keys if old else None)
            if old is None and keys is None:
                keys = open_keyring(storage.encryption, folder, around.environ, now=around.clock.now())
            made = MetadataStore(
                folder,
                keys=keys,
                synchronous=storage.synchronous,
                readers=storage.readers,
                group_commit_max=storage.group_commit_max,
            )
            store = Shared(key, made, MetadataStore.close)
        undo.callback(store.release)
        key = (store.key, embedding.quantization_type)
        if old and old.indexes.key == key:
            indexes = old.indexes.taken()
        else:
            opened = Indexes(store.part)
            opened.open()
            indexes = Shared(key, opened, lambda _: None)
        undo.callback(indexes.release)
        if notice := config.retrieval.sparse.notice:
            log.warning("%s", notice)
        key = tuple(getattr(config.chat, name) for name in CHAT_SETTINGS)
        if old and old.chat.key == key and old.chat.part is not None:
            chat = old.chat.taken()
        else:
            model, notice = make_chat(config.chat, environ=around.environ, given=around.chat)
            chat = Shared(key, model, close_chat, notice)
        undo.callback(chat.release)
        key = tuple(getattr(embedding, name) for name in MODEL_SETTINGS)
        if old and old.embedder.key == key and old.embedder.part is not None:
            embedder = old.embedder.taken()
        else:
            found, notice = make_embedder(embedding, environ=around.environ, host_callable=around.embed, loop=loop)
            embedder = Shared(key, found, lambda held: held.close() if held else None, notice)
        undo.pop_all()
    return Parts(store, indexes, embedder, chat)


def model_has_come(settings: Embedding, environ: Mapping[str, str], parts: Parts) -> bool:
    """Whether a local model was installed since the memory was opened without one."""
    if parts.embedder.part is not None or settings.provider != "auto":
        return False
    return find_installed(settings.model_name, cache_dir(environ)) is not None
