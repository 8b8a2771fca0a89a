"""The installed sentence encoder, run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...extras import require
from ...language.encoding import encodable
from ...ports import CODE_SCALE, Embedder, EmbedderInfo, Encoded
from ..cache import cache_dir
from ..host.embedder import EmbedderContext
from ..vectors import unit_vectors
from . import catalog
from .catalog import READS_ALL, known_model
from .e5 import E5
from .install import GRAPH, find_installed, installed
from .manifest import Manifest
from .minilm import MiniLM
from .runtime import open_session

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["LocalEmbedder", "create", "create_if_installed", "made_by", "token_counter"]

_BATCH_TEXTS = 32
_BATCH_TOKENS = 256
"""Padded tokens of one forward pass: more gains no speed on one core, and 32 long texts at once take 200 MiB."""


class _Encoder(Protocol):
    """What one model does beside running its graph."""

    states: str
    """The graph's output of which token vectors are made."""
    weights: NDArray[np.float32]
    """How much each token of the vocabulary says; negative for what is no content: stop-words, marks, halves of signs."""

    def reads(self, text: str) -> bool: ...

    def cut(self, text: str, *, query: bool) -> list[int]:
        """The ids of the text's tokens, the marks around them included."""
        ...

    def before(self, *, query: bool) -> int:
        """The tokens before those of the text; one mark stands behind them."""
        ...

    def feed(self, ids: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        """The graph's input beside the mask, for ids (batch, length)."""
        ...

    def finished(self, vectors: NDArray[np.float32], *, query: bool) -> NDArray[np.float32]:
        """The text vectors, of any length, out of the graph's."""
        ...

    def token_vectors(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """Unit vectors (tokens, token_dimension) of one text's tokens."""
        ...


class LocalEmbedder:
    """Embeds with the model in `folder`; any number of threads may call it at once.

    A forward pass runs on the calling thread alone, so that it keeps that thread's priority. Raises ModelUnavailable if
    the folder cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        manifest = Manifest.read(folder)
        if manifest is None:
            raise ModelUnavailable(f"{folder} holds no installed model.", folder=str(folder))
        encoder = _encoder_of(manifest)
        try:
            self._encoder: _Encoder = encoder(folder, manifest.max_tokens)
            session = open_session(str(folder / GRAPH))
        except Exception as exc:
            # Neither the tokenizer's nor the runtime's errors share a base class but Exception.
            raise ModelUnavailable(f"The model in {folder} cannot be loaded: {exc}", folder=str(folder)) from exc
        self._session: onnxruntime.InferenceSession | None = session
        width = next(output.shape[-1] for output in session.get_outputs() if output.name == self._encoder.states)
        self._info = EmbedderInfo(
            provider="local",
            model=manifest.model,
            fingerprint=f"local:{manifest.model}:{manifest.format}:{manifest.weights_sha256[:16]}",
            dimension=manifest.dimension,
            languages=manifest.languages,
            token_dimension=self._encoder.token_vectors(np.zeros((1, width), np.float32)).shape[1],
            queries_apart=encoder is E5,
        )

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    def reads(self, text: str) -> bool:
        return self._encoder.reads(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension); only the first tokens of a long text count."""
        made = np.zeros((len(texts), self._info.dimension), np.float32)
        for rows, _, (vectors,) in self._passes(texts, ["embedding"], query=False):
            made[rows] = self._encoder.finished(vectors, query=False)
        return unit_vectors(made, count=len(texts), dimension=self._info.dimension, who=self._info.model)

    def encode(self, texts: Sequence[str], *, query: bool = False) -> list[Encoded]:
        """The vectors of `embed`, or those of queries, with the vectors of the content tokens."""
        encoder, found = self._encoder, dict[int, tuple[NDArray[np.int8], NDArray[np.float32]]]()
        first = encoder.before(query=query)
        made = np.zeros((len(texts), self._info.dimension), np.float32)
        for rows, tokens, (vectors, states) in self._passes(texts, ["embedding", encoder.states], query=query):
            made[rows] = encoder.finished(vectors, query=query)
            for row, ids, mine in zip(rows, tokens, states, strict=True):
                weights = encoder.weights[ids[first:-1]]
                at = np.flatnonzero(weights > 0) if (weights > 0).any() else np.arange(len(weights))
                weights = np.abs(weights[at])
                weights /= max(float(weights.sum()), 1e-9)
                codes = np.rint(encoder.token_vectors(mine[first + at]) * CODE_SCALE).astype(np.int8)
                found[row] = codes, weights
        unit = unit_vectors(made, count=len(texts), dimension=self._info.dimension, who=self._info.model)
        return [Encoded(vector, *found[row]) for row, vector in enumerate(unit)]

    def close(self) -> None:
        """Give the model's memory back once the calls under way have ended."""
        self._session = None

    def _passes(
        self, texts: Sequence[str], outputs: list[str], *, query: bool
    ) -> Iterator[tuple[list[int], list[list[int]], list[NDArray[np.float32]]]]:
        """Forward passes over all of the texts: the positions of a batch's texts, their tokens, the outputs."""
        cut = [self._encoder.cut(encodable(text), query=query) for text in texts]
        for rows in _batches([len(ids) for ids in cut]):
            session = self._session
            if session is None:
                raise ModelUnavailable(f"The embedder {self._info.model} is closed.")
            tokens = [cut[row] for row in rows]
            ids, mask = np.zeros((2, len(rows), max(map(len, tokens))), np.int64)
            for place, sequence in enumerate(tokens):
                ids[place, : len(sequence)] = sequence
                mask[place, : len(sequence)] = 1
            made = session.run(outputs, {**self._encoder.feed(ids), "attention_mask": mask})
            yield rows, tokens, [np.asarray(one, np.float32) for one in made]


def create(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The installed model that the settings name, or the best there is; ModelUnavailable if it is not installed."""
    folder = find_installed(settings.model_name, cache_dir(context.environ))
    if folder is None:
        name = known_model(settings.model_name).name
        raise ModelUnavailable(f"{name} is not installed. Run `amemorix models install`.", model=name)
    return LocalEmbedder(folder), ""


def create_if_installed(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The same, but None with a notice if no model is installed or it cannot be used."""
    try:
        folder = find_installed(settings.model_name, cache_dir(context.environ))
        if folder is not None:
            return LocalEmbedder(folder), ""
    except ModelUnavailable as exc:
        return None, f"{exc} Searching by words and structure only."
    return (
        None,
        "No embedding model is installed: searching by words and structure until it is. `Memory` installs it by itself in the "
        "background, elsewhere `amemorix models install` does.",
    )


def made_by(fingerprint: str, environ: Mapping[str, str]) -> Embedder | None:
    """The installed model that makes vectors of this fingerprint, None if there is none that can be used."""
    folders = (
        installed(model, cache_dir(environ)) for model in catalog.MODELS.values() if f":{model.name}:" in fingerprint
    )
    for folder in filter(None, folders):
        try:
            embedder = LocalEmbedder(folder)
        except ModelUnavailable:
            continue
        # Up to 0.1.1 a table that read Chinese for a model stood at the end; English has the same vectors without it.
        if f"{fingerprint}:".startswith(f"{embedder.info.fingerprint}:"):
            return embedder
        embedder.close()
    return None


def token_counter(environ: Mapping[str, str]) -> Callable[[str], int] | None:
    """What counts the tokens of a text, however long it is, as the best installed model does; None if there is none."""
    folder = find_installed(cache_dir=cache_dir(environ))
    manifest = Manifest.read(folder) if folder else None
    if folder is None or manifest is None:
        return None
    try:
        encoder = _encoder_of(manifest)(folder, 2**31)
    except ModelUnavailable:
        return None
    return lambda text: len(encoder.cut(encodable(text), query=False)) - encoder.before(query=False) - 1


def _encoder_of(manifest: Manifest) -> type[E5] | type[MiniLM]:
    if READS_ALL in manifest.languages:
        return E5
    require("minilm", manifest.model, fault=ModelUnavailable)
    return MiniLM


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Positions in batches of similar length, bounded in texts and in padded tokens."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _BATCH_TEXTS or lengths[row] * (len(batch) + 1) > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
