"""The installed sentence encoder, run in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...extras import require
from ...language.normalise import STOP_WORDS, is_mostly_cjk
from ...ports import CODE_SCALE, Embedder, EmbedderInfo, Encoded
from ..cache import cache_dir
from ..glosses.table import GlossTable
from ..host.environment import EmbedderContext
from ..inputs import encodable
from ..telemetry import refuse_telemetry
from ..vectors import unit_vectors
from .catalog import known_model
from .install import GRAPH, installed
from .manifest import Manifest

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

__all__ = ["LocalEmbedder", "create", "create_if_installed"]

_COMMONEST = 900
"""Word pieces up to here are marks, letters and placeholders; beyond, the vocabulary goes from common to rare."""
_BATCH_TEXTS = 32
_BATCH_TOKENS = 256
"""Padded tokens of one forward pass: more gains no speed on one core, and 32 long texts at once take 200 MiB."""


class _TokenChoice:
    """Content tokens of a WordPiece vocabulary: words and numbers, but no stop-words.

    A token's weight grows with the logarithm of its place in the vocabulary, which is ordered by frequency.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        size = max(vocabulary.values(), default=0) + 1
        self._content = np.zeros(size, np.bool_)
        for piece, token in vocabulary.items():
            self._content[token] = piece.removeprefix("##").isalnum() and piece not in STOP_WORDS
        self._weights = np.log(np.maximum(np.arange(size) - _COMMONEST, 2)).astype(np.float32)

    def places(self, tokens: Sequence[int]) -> NDArray[np.intp]:
        """Where the content tokens stand; those between the first and the last mark if there are none."""
        found = np.flatnonzero(self._content[np.asarray(tokens, np.intp)])
        return found if len(found) else np.arange(1, max(len(tokens) - 1, 1))

    def weights(self, tokens: NDArray[np.intp]) -> NDArray[np.float32]:
        """The tokens' weights, with the sum 1."""
        weights = self._weights[tokens]
        return weights / max(float(weights.sum()), 1e-9)


@dataclass(frozen=True, slots=True)
class _Pass:
    """What one forward pass made of a batch."""

    vectors: NDArray[np.float32]
    tokens: NDArray[np.float32]
    """Shape (batch, length, token_dimension); empty if it was not asked for."""


class LocalEmbedder:
    """Embeds with the model in `folder`; any number of threads may call it at once.

    With `glosses`, Chinese is given to the model word by word in English, so that it lies beside English of the same
    meaning. A forward pass runs on the calling thread alone with `threads=1`, so that it keeps that thread's priority;
    with more, the runtime adds its own threads. Raises ModelUnavailable if the folder cannot be used.
    """

    def __init__(self, folder: Path, *, glosses: GlossTable | None = None, threads: int = 1) -> None:
        manifest = Manifest.read(folder)
        if manifest is None:
            raise ModelUnavailable(f"{folder} holds no installed model.", folder=str(folder))
        require("local", "The local model", fault=ModelUnavailable)
        from tokenizers import Tokenizer

        try:
            self._tokenizer: tokenizers.Tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as exc:
            # The library raises bare Exception for a file it cannot read.
            raise ModelUnavailable(f"The tokenizer in {folder} cannot be loaded: {exc}", folder=str(folder)) from exc
        self._tokenizer.enable_truncation(manifest.max_tokens)
        self._tokenizer.no_padding()
        self._choice = _TokenChoice(self._tokenizer.get_vocab())
        session = _load_session(folder, threads)
        token_dimension = next(int(output.shape[-1]) for output in session.get_outputs() if output.name == "tokens")
        self._session: onnxruntime.InferenceSession | None = session
        self._glosses = glosses
        self._info = _info(manifest, glosses, token_dimension)

    @property
    def info(self) -> EmbedderInfo:
        return self._info

    def reads(self, text: str) -> bool:
        """English and what else is written in words; Chinese if there are glosses, no Japanese and no Korean."""
        return not is_mostly_cjk(self._rendered(text))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension); only the first tokens of a long text count."""
        tokens = self._tokenized(texts)
        vectors = np.zeros((len(texts), self._info.dimension), np.float32)
        for rows in _batches([len(ids) for ids in tokens]):
            vectors[rows] = self._forward([tokens[row] for row in rows]).vectors
        return unit_vectors(vectors, count=len(texts), dimension=self._info.dimension, who=self._info.model)

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """The vectors of `embed` with those of the content tokens."""
        tokens = self._tokenized(texts)
        found: dict[int, Encoded] = {}
        dimension = self._info.dimension
        for rows in _batches([len(ids) for ids in tokens]):
            made = self._forward([tokens[row] for row in rows], with_tokens=True)
            for place, row in enumerate(rows):
                (vector,) = unit_vectors(
                    made.vectors[place : place + 1], count=1, dimension=dimension, who=self._info.model
                )
                at = self._choice.places(tokens[row])
                weights = self._choice.weights(np.asarray(tokens[row], np.intp)[at])
                found[row] = Encoded(vector, np.rint(made.tokens[place][at] * CODE_SCALE).astype(np.int8), weights)
        return [found[row] for row in range(len(texts))]

    def close(self) -> None:
        """Give the model's memory back once the calls under way have ended."""
        self._session = None

    def _rendered(self, text: str) -> str:
        return text if self._glosses is None else self._glosses.english(text)

    def _tokenized(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._tokenizer.encode(encodable(self._rendered(text))).ids for text in texts]

    def _forward(self, tokens: Sequence[Sequence[int]], *, with_tokens: bool = False) -> _Pass:
        session = self._session
        if session is None:
            raise ModelUnavailable(f"The embedder {self._info.model} is closed.")
        if with_tokens:
            vectors, states = _run(session, tokens, ["embedding", "tokens"])
            return _Pass(vectors, states)
        return _Pass(_run(session, tokens, ["embedding"])[0], np.zeros((0, 0, 0), np.float32))


def _info(manifest: Manifest, glosses: GlossTable | None, token_dimension: int) -> EmbedderInfo:
    fingerprint = f"local:{manifest.model}:{manifest.format}:{manifest.weights_sha256[:16]}"
    return EmbedderInfo(
        provider="local",
        model=manifest.model,
        fingerprint=f"{fingerprint}:{glosses.fingerprint}" if glosses else fingerprint,
        dimension=manifest.dimension,
        languages=(*manifest.languages, "zh") if glosses else manifest.languages,
        token_dimension=token_dimension,
    )


def create(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The installed model that the settings name; ModelUnavailable if it is not installed."""
    embedder = _loaded(settings, context)
    if embedder is None:
        name = known_model(settings.model_name).name
        raise ModelUnavailable(f"{name} is not installed. Run `amemorix models install`.", model=name)
    return embedder, ""


def create_if_installed(settings: Embedding, context: EmbedderContext) -> tuple[Embedder | None, str]:
    """The same, but None with a notice if the model is not installed or cannot be used."""
    try:
        embedder = _loaded(settings, context)
    except ModelUnavailable as exc:
        return None, f"{exc} Searching by words and structure only."
    if embedder is not None:
        return embedder, ""
    return (
        None,
        "No embedding model is installed: searching by words and structure only. Run `amemorix models install`.",
    )


def _loaded(settings: Embedding, context: EmbedderContext) -> LocalEmbedder | None:
    folder = installed(known_model(settings.model_name), cache_dir(context.environ))
    if folder is None:
        return None
    return LocalEmbedder(folder, glosses=context.glosses)


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


def _run(
    session: onnxruntime.InferenceSession, tokens: Sequence[Sequence[int]], outputs: list[str]
) -> list[NDArray[np.float32]]:
    length = max(map(len, tokens))
    ids = np.zeros((len(tokens), length), np.int64)
    mask = np.zeros((len(tokens), length), np.int64)
    for row, sequence in enumerate(tokens):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return [np.asarray(made, np.float32) for made in session.run(outputs, {"input_ids": ids, "attention_mask": mask})]


def _load_session(folder: Path, threads: int) -> onnxruntime.InferenceSession:
    """A session without the runtime's memory arena, which would keep the largest batch's memory for good."""
    refuse_telemetry()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(folder / GRAPH), options, providers=["CPUExecutionProvider"])
    except Exception as exc:
        # The runtime's errors share no base class but Exception.
        raise ModelUnavailable(f"The model in {folder} cannot be loaded: {exc}", folder=str(folder)) from exc
