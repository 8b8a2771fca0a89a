"""What the memory calls but does not own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .store.sealed_files import Folder

__all__ = ["CODE_SCALE", "ChatInfo", "ChatModel", "Embedder", "EmbedderInfo", "Encoded", "Index", "TokenEmbedder"]


@dataclass(frozen=True, slots=True)
class EmbedderInfo:
    """What identifies an embedding model: two vectors compare only if their `fingerprint` is the same."""

    provider: str
    model: str
    fingerprint: str
    dimension: int
    languages: tuple[str, ...] = ("*",)
    """What the model reads; `("*",)` means any text."""
    token_dimension: int = 0
    """Numbers of a token vector; 0 if the model gives none, else it is a `TokenEmbedder`."""
    queries_apart: bool = False
    """Whether a text has another vector as a query than as what queries find."""


CODE_SCALE = 127
"""A unit vector kept as int8 has this length."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text as one vector and as the vectors of its content tokens."""

    vector: NDArray[np.float32]
    """Of unit length, shape (dimension,)."""
    tokens: NDArray[np.int8]
    """Shape (tokens, token_dimension): unit vectors times CODE_SCALE."""
    weights: NDArray[np.float32]
    """How much each token says, shape (tokens,); they sum to 1."""


class Embedder(Protocol):
    """Turns texts into unit vectors; blocking, thread-safe, called from worker threads only."""

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity. A remote model may have to be asked once for its dimension: raises ModelUnavailable."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension), row i for text i. Raises ModelUnavailable."""
        ...

    def reads(self, text: str) -> bool:
        """Whether the model makes sense of this text; others are left to the other lanes."""
        ...

    def close(self) -> None:
        """Give back memory and connections."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives the token vectors of the same pass, for late interaction."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> list[Encoded]:
        """One result for each text; the vectors are those of `embed`. Raises ModelUnavailable.

        `query` says that the texts are asked of others and not found: some models put the two differently.
        """
        ...


@dataclass(frozen=True, slots=True)
class ChatInfo:
    """What identifies a chat model."""

    provider: str
    model: str


class ChatModel(Protocol):
    """Answers a question with an object of a given shape; asked by background work only, never while a caller waits."""

    @property
    def info(self) -> ChatInfo: ...

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object that is valid against the JSON Schema; `task` names the work in counters.

        Raises ChatUnavailable: the model cannot be reached, its answer does not fit, or the budget is spent. The work
        then goes on by rules.
        """
        ...

    async def close(self) -> None: ...


class Index(Protocol):
    """An in-memory index derived from rows, driven by a projection. Row is whatever that index eats.

    One thread at a time calls build, apply, compact, load or save; any number of threads search meanwhile and
    must always see a consistent state (publish a new immutable state object; never half-update one in place).
    No single numpy call may hold the interpreter lock for more than about 20 ms: work in chunks.
    """

    name: str

    @property
    def fingerprint(self) -> str:
        """Everything besides the rows that the content depends on: analyser version, format, dimension, generation."""
        ...

    def build(self, rows: Iterator[Any]) -> None: ...

    def apply(self, rows: Sequence[Any], removed: Sequence[int]) -> None:
        """Insert or replace rows by their id, and remove ids (an id that is not there is ignored)."""
        ...

    def compact(self) -> bool:
        """Merge what has accumulated, if it is worth it; True if something changed."""
        ...

    def save(self, folder: Folder) -> None:
        """Write the content as files into an existing empty folder."""
        ...

    def load(self, folder: Folder) -> None:
        """Read what `save` wrote; ValueError or OSError if it cannot be used."""
        ...

    def __len__(self) -> int: ...
