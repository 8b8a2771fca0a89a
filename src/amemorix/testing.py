"""Fakes for the tests of programs that hold a memory: an embedder, a clock, a memory on a scratch folder."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
from numpy.typing import NDArray

from .clock import Clock, FrozenClock
from .config import default_toml, patched
from .errors import ChatUnavailable
from .host.environment import Surroundings
from .host.service import AMemorixHostService
from .language.normalise import is_mostly_cjk, term_hashes, tokens
from .models.chat_registry import GivenChat
from .models.host.embedder import EmbedFunction
from .ports import ChatInfo, EmbedderInfo

__all__ = ["FrozenClock", "HashEmbedder", "ScriptedChat", "memory_host", "scratch_config"]


class HashEmbedder:
    """Vectors from the distinct words of a text, the same on every machine: texts that share words are near each other.

    Either the host's embedding function (call it) or an `Embedder` (`info`, `embed`, `reads`, `close`). Feature hashing with
    signs, after Weinberger et al. 2009.
    """

    def __init__(self, dimension: int = 256, *, model: str = "hash", languages: tuple[str, ...] = ("*",)) -> None:
        self._info = EmbedderInfo("hash", model, f"hash:{model}:{dimension}", dimension, languages)

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity."""
        return self._info

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same as `embed`."""
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
        """The model's identity."""
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


ASK_NOBODY = {
    "episode": {"model_enabled": False}, "extraction": {"model": False}, "profile": {"use_chat_model": False},
}  # fmt: skip
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

    Without `embed` there are no vectors and no table of Chinese words, with it the provider is `host`. `settings` are tables of the configuration:
    `memory_host(folder, retrieval={"candidates": 50})`, or dotted names, as those of `[chat]` have to be:
    `memory_host(folder, chat=model, **{"chat.daily_token_budget": 5})`. A chat model is asked for
    episodes, profiles, or what a text says only where `episode`, `profile` or `extraction` is given. The clock stands still unless another is given; the
    configuration file is not watched.
    """
    embedding = {"provider": "none", "glosses": False} if embed is None else {"provider": "host"}
    given = settings.get("embedding", {})
    settings = ASK_NOBODY | settings
    path = scratch_config(folder, {**settings, "embedding": given if "provider" in given else {**embedding, **given}})
    around = Surroundings(environ or {}, clock or FrozenClock(), zone, embed, chat)
    async with AMemorixHostService(path, surroundings=around, watch=False) as host:
        yield host
