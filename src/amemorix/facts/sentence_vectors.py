"""The vectors of sentences, which more than one reader of a line asks for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from ..language.normalise import content_hash
from ..ports import Embedder

__all__ = ["SentenceVectors"]

MOST_SENTENCES = 8_192
"""So many vectors are kept: 6 MB of 384 values each."""


class SentenceVectors:
    """A cache of embeddings: of the model in use, the least recently used go first."""

    def __init__(self) -> None:
        self._model = ""
        self._kept: OrderedDict[str, NDArray[np.float16]] = OrderedDict()
        self._lock = Lock()

    def of(self, embedder: Embedder, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        """A unit vector for each text, shape (dimension,), rounded as stored vectors are. Blocking. Raises ModelUnavailable.

        Vectors are kept by the hash of their text: no text stays in memory.
        """
        model, keys = embedder.info.fingerprint, [content_hash(text) for text in texts]
        with self._lock:
            if model != self._model:
                self._model = model
                self._kept.clear()
            found = {key: self._kept[key] for key in keys if key in self._kept}
        if missing := {key: text for key, text in zip(keys, texts, strict=True) if key not in found}:
            made = embedder.embed(list(missing.values())).astype(np.float16)
            for key, row in zip(missing, made, strict=True):
                found[key] = row.copy()  # a view would keep the whole batch
        with self._lock:
            for key in keys if model == self._model else ():
                self._kept[key] = found[key]
                self._kept.move_to_end(key)
            while len(self._kept) > MOST_SENTENCES:
                self._kept.popitem(last=False)
        return [found[key].astype(np.float32) for key in keys]
