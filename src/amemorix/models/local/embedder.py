"""The installed sentence encoder, run in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...extras import require
from ...language.normalise import is_mostly_cjk
from ...ports import Embedder, EmbedderInfo, Encoded
from ..cache import cache_dir
from ..glosses.table import GlossTable
from ..host.environment import Surroundings
from ..inputs import encodable
from ..telemetry import refuse_telemetry
from ..vectors import unit_vectors
from .catalog import known_model
from .install import GRAPH, installed
from .manifest import Manifest, read_manifest
from .token_vectors import TokenChoice, to_codes

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

__all__ = ["LocalEmbedder", "create", "create_if_installed"]

_BATCH_TEXTS = 32
_BATCH_TOKENS = 256
"""Padded tokens of one forward pass: more gains no speed on one core, and 32 long texts at once take 200 MiB."""


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
        manifest = read_manifest(folder)
        if manifest is None:
            raise ModelUnavailable(f"{folder} holds no installed model.", folder=str(folder))
        require("local", "The local model", fault=ModelUnavailable)
        self._tokenizer = _load_tokenizer(folder, manifest)
        self._choice = TokenChoice(self._tokenizer.get_vocab())
        self._session: onnxruntime.InferenceSession | None = _load_session(folder, threads)
        self._glosses = glosses
        self._info = _info(manifest, glosses, _token_dimension(self._session))

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
        for rows in _batches([len(ids) for ids in tokens]):
            made = self._forward([tokens[row] for row in rows], with_tokens=True)
            for place, row in enumerate(rows):
                found[row] = self._encoded(made, place, tokens[row])
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

    def _encoded(self, made: _Pass, place: int, tokens: Sequence[int]) -> Encoded:
        vector = unit_vectors(
            made.vectors[place : place + 1], count=1, dimension=self._info.dimension, who=self._info.model
        )[0]
        at = self._choice.places(tokens)
        return Encoded(vector, to_codes(made.tokens[place][at]), self._choice.weights(np.asarray(tokens, np.intp)[at]))


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


def _token_dimension(session: onnxruntime.InferenceSession) -> int:
    return next(int(output.shape[-1]) for output in session.get_outputs() if output.name == "tokens")


def create(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:
    """The installed model that the settings name; ModelUnavailable if it is not installed."""
    embedder = _loaded(settings, surroundings)
    if embedder is None:
        name = known_model(settings.model_name).name
        raise ModelUnavailable(f"{name} is not installed. Run `amemorix models install`.", model=name)
    return embedder, ""


def create_if_installed(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:
    """The same, but None with a notice if the model is not installed or cannot be used."""
    try:
        embedder = _loaded(settings, surroundings)
    except ModelUnavailable as exc:
        return None, f"{exc} Searching by words and structure only."
    if embedder is not None:
        return embedder, ""
    return (
        None,
        "No embedding model is installed: searching by words and structure only. Run `amemorix models install`.",
    )


def _loaded(settings: Embedding, surroundings: Surroundings) -> LocalEmbedder | None:
    folder = installed(known_model(settings.model_name), cache_dir(surroundings.environ))
    if folder is None:
        return None
    return LocalEmbedder(folder, glosses=surroundings.glosses)


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


def _load_tokenizer(folder: Path, manifest: Manifest) -> tokenizers.Tokenizer:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as exc:
        # The library raises bare Exception for a file it cannot read.
        raise ModelUnavailable(f"The tokenizer in {folder} cannot be loaded: {exc}", folder=str(folder)) from exc
    tokenizer.enable_truncation(manifest.max_tokens)
    tokenizer.no_padding()
    return tokenizer


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
