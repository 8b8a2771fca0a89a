"""The installed sentence encoder, run in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..config.model import Embedding
from ..errors import ModelUnavailable
from ..ports import Embedder, EmbedderInfo
from .cache import cache_dir
from .catalog import known_model
from .inputs import encodable
from .install import GRAPH, installed
from .manifest import Manifest, read_manifest
from .surroundings import Surroundings
from .telemetry import refuse_telemetry
from .vectors import unit_vectors

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

__all__ = ["LocalEmbedder", "create", "create_if_installed"]

_BATCH_TEXTS = 32
_BATCH_TOKENS = 256
"""Padded tokens of one forward pass: more gains no speed on one core, and 32 long texts at once take 200 MiB."""


class LocalEmbedder:
    """Embeds with the model in `folder`; any number of threads may call it at once.

    A forward pass runs on the calling thread alone with `threads=1`, so that it keeps that thread's priority; with
    more, the runtime adds its own threads. Raises ModelUnavailable if the folder cannot be used.
    """

    def __init__(self, folder: Path, *, threads: int = 1) -> None:
        manifest = read_manifest(folder)
        if manifest is None:
            raise ModelUnavailable(f"{folder} holds no installed model.", folder=str(folder))
        self._tokenizer = _load_tokenizer(folder, manifest)
        self._session: onnxruntime.InferenceSession | None = _load_session(folder, threads)
        self._info = EmbedderInfo(
            provider="local",
            model=manifest.model,
            fingerprint=f"local:{manifest.model}:{manifest.format}:{manifest.weights_sha256[:16]}",
            dimension=manifest.dimension,
            languages=manifest.languages,
        )

    @property
    def info(self) -> EmbedderInfo:
        """The model's identity."""
        return self._info

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (len(texts), dimension); only the first tokens of a long text count."""
        session = self._session
        if session is None:
            raise ModelUnavailable(f"The embedder {self._info.model} is closed.")
        tokens = [self._tokenizer.encode(encodable(text)).ids for text in texts]
        vectors = np.zeros((len(texts), self._info.dimension), np.float32)
        for rows in _batches([len(ids) for ids in tokens]):
            vectors[rows] = _forward(session, [tokens[row] for row in rows])
        return unit_vectors(vectors, count=len(texts), dimension=self._info.dimension, who=self._info.model)

    def close(self) -> None:
        """Give the model's memory back once the calls under way have ended."""
        self._session = None


def create(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:
    """The installed model that the settings name; ModelUnavailable if it is not installed."""
    folder = _installed_folder(settings, surroundings)
    if folder is None:
        name = known_model(settings.model_name).name
        raise ModelUnavailable(f"{name} is not installed. Run `amemorix models install`.", model=name)
    return LocalEmbedder(folder), ""


def create_if_installed(settings: Embedding, surroundings: Surroundings) -> tuple[Embedder | None, str]:
    """The same, but None with a notice if the model is not installed or cannot be used."""
    try:
        folder = _installed_folder(settings, surroundings)
        if folder is not None:
            return LocalEmbedder(folder), ""
    except ModelUnavailable as exc:
        return None, f"{exc} Searching by words and structure only."
    return (
        None,
        "No embedding model is installed: searching by words and structure only. Run `amemorix models install`.",
    )


def _installed_folder(settings: Embedding, surroundings: Surroundings) -> Path | None:
    return installed(known_model(settings.model_name), cache_dir(surroundings.environ))


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


def _forward(session: onnxruntime.InferenceSession, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    """One forward pass over token ids, padded to the longest."""
    length = max(map(len, tokens))
    ids = np.zeros((len(tokens), length), np.int64)
    mask = np.zeros((len(tokens), length), np.int64)
    for row, sequence in enumerate(tokens):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    return np.asarray(session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0], np.float32)


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
