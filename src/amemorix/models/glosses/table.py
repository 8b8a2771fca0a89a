"""The table of Chinese words with the vectors of their English glosses."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...config.model import Embedding
from ...errors import ModelUnavailable
from ...language.normalise import STOP_WORDS, fold, tokens
from ...lazy_regex import lazy_regex
from ..cache import cache_dir as default_cache_dir
from ..local.manifest import FolderManifest

__all__ = [
    "ENGLISH", "FORMAT", "FUNCTION_WORDS", "MAX_CHARACTERS", "NAME", "SURPRISALS", "VECTORS", "WORDS",
    "GlossManifest", "GlossTable", "gloss_folder", "installed_glosses", "table_for",
]  # fmt: skip

NAME = "chinese-glosses"
READS_CHINESE = ("openai", "host")
"""Providers whose models are taken to know Chinese."""
FORMAT = 1
"""Raised when the building changes in a way that changes the table; older folders are built anew."""
WORDS, ENGLISH, VECTORS, SURPRISALS = "words.txt", "english.txt", "vectors.npy", "surprisals.npy"
"""The files: a word a line, its English a line, and arrays with a row a word."""
MAX_CHARACTERS = 6
"""No word of the table is longer."""

_UNKNOWN = 25.0
"""The surprisal of a character that is not in the table: more than that of any word."""
_HAN_RUN = lazy_regex("[\u3400-\u9fff]+")
_PUNCTUATION = str.maketrans("。、「」『』《》【】…", '.,"""""""".')

_SILENT = """
的 了 是 在 和 就 都 也 很 到 要 会 着 把 被 吗 呢 吧 啊 呀 哦 嗯 哈 哈哈 嘿 啦 嘛 哎 唉 呐 噢 喔 哇 时候 后来 一个 还 又 再 从 与 或 及
之 其 而 以 对 上 下 里 中 得 地 过 能 可以 可能 一下 一些 一点 真的 真 太 非常 特别 更 最 但 但是 因为 所以 如果 虽然 而且 然后 就是 还是
或者 只 只是 应该 这样 那样 个 次 种 些 点 当然 有点 有些 那么 这么 这 那 这个 那个
"""
_SPOKEN = """
我:I 我们:we 咱:we 咱们:we 你:you 您:you 你们:you 他:he 她:she 它:it 他们:they 她们:they 它们:they 自己:self
谁:who 什么:what 啥:what 哪:where 哪里:where 哪儿:where 哪些:which 什么时候:when 为什么:why 怎么:how 怎样:how
怎么样:how 咋:how 多少:how_many 几:how_many 不:not 没:not 没有:not 有:have 去:go 来:come 过来:come 想:want 知道:know
觉得:feel 感到:feel 现在:now 今天:today 说:say 看:look 好:good 给:give 让:let
"""
FUNCTION_WORDS: dict[str, str] = {
    **dict.fromkeys(_SILENT.split(), ""),
    **{word: english.replace("_", " ") for word, _, english in (pair.partition(":") for pair in _SPOKEN.split())},
}
"""Words that say little about a topic, with what they leave in an English rendering: mostly nothing."""


class GlossManifest(FolderManifest):
    """The manifest of a table of glosses."""

    words: int


def gloss_folder(cache_dir: Path | None = None) -> Path:
    """Where the table is, or would be, installed."""
    return (cache_dir or default_cache_dir()) / "models" / f"{NAME}.{FORMAT}"


def installed_glosses(cache_dir: Path | None = None) -> Path | None:
    """The table's folder if its manifest is current and every file has its size; reads no file's content."""
    folder = gloss_folder(cache_dir)
    manifest = GlossManifest.read(folder)
    return folder if manifest and manifest.format == FORMAT and manifest.is_complete(folder) else None


def table_for(settings: Embedding, environ: Mapping[str, str], known: GlossTable | None = None) -> GlossTable | None:
    """The installed table, if the settings want it; None for models that read Chinese themselves.

    `known` is returned if it is the one that is installed.
    """
    if not settings.glosses or settings.provider in READS_CHINESE:
        return None
    folder = installed_glosses(default_cache_dir(environ))
    manifest = GlossManifest.read(folder) if folder else None
    if folder is None or manifest is None:
        return None
    return known if known and known.fingerprint == _fingerprint(manifest) else GlossTable.load(folder)


class GlossTable:
    """Chinese text as words with vectors; any number of threads may use it at once.

    `vectors` int8 (words, dimension) are unit vectors times 127, `surprisals` (words,) the negative natural logarithms
    of the words' probabilities. A word's id is its row.
    """

    def __init__(
        self,
        words: Sequence[str],
        english: Sequence[str],
        vectors: NDArray[np.int8],
        surprisals: ArrayLike,
        *,
        fingerprint: str,
    ) -> None:
        self.fingerprint = fingerprint
        self.vectors = vectors
        self._words = words
        self._english = english
        self._ids = {word: row for row, word in enumerate(words)}
        rarity = np.asarray(surprisals, np.float32)
        self._costs: list[float] = rarity.tolist()
        self.weights: NDArray[np.float32] = np.clip((rarity - 6) / 6, 0.05, 2).astype(np.float32)
        self._reach: dict[str, int] = {}
        """The length of the longest word that begins with a character."""
        for word in words:
            self._reach[word[0]] = max(len(word), self._reach.get(word[0], 0))
        self._spoken = {self._ids[word]: said for word, said in FUNCTION_WORDS.items() if word in self._ids}

    @classmethod
    def load(cls, folder: Path) -> GlossTable:
        """The table in `folder`; ModelUnavailable if there is none that can be read."""
        manifest = GlossManifest.read(folder)
        if manifest is None or manifest.format != FORMAT:
            raise ModelUnavailable(f"{folder} holds no table of Chinese glosses.", folder=str(folder))
        try:
            words, english = ((folder / name).read_text("utf-8").split("\n") for name in (WORDS, ENGLISH))
            vectors, surprisals = (np.load(folder / name, allow_pickle=False) for name in (VECTORS, SURPRISALS))
        except (OSError, ValueError, EOFError) as exc:
            raise ModelUnavailable(f"The table in {folder} cannot be read: {exc}", folder=str(folder)) from exc
        shapes = (len(words), len(english), vectors.shape, surprisals.shape)
        if shapes != (manifest.words, manifest.words, (manifest.words, manifest.dimension), (manifest.words,)):
            raise ModelUnavailable(f"The table in {folder} is not of one piece.", folder=str(folder))
        return cls(words, english, vectors, surprisals, fingerprint=_fingerprint(manifest))

    @property
    def dimension(self) -> int:
        return self.vectors.shape[1]

    def segment(self, text: str) -> list[int]:
        """The ids of the text's words in reading order: of all ways to cut it, the most probable (Viterbi).

        Only Han characters count; traditional ones are read as simplified.
        """
        return [word for run in _HAN_RUN.findall(fold(text)) for word in self._cut(run)]

    def content(self, text: str) -> NDArray[np.int32]:
        """The ids of the distinct words that say something about the topic, in order of appearance."""
        ids = dict.fromkeys(word for word in self.segment(text) if word not in self._spoken)
        return np.fromiter(ids, np.int32, len(ids))

    def english(self, text: str) -> str:
        """The text for an English embedder: each Chinese word as the beginning of its first sense.

        What is not Chinese stays in its place, folded. A text without Chinese comes back as it is, and so does one of
        which nothing would be left.
        """
        folded = fold(text)
        if not _HAN_RUN.search(folded):
            return text
        rendered = " ".join(_HAN_RUN.sub(self._rendered, folded).translate(_PUNCTUATION).split())
        return rendered if any(map(str.isalnum, rendered)) else text

    def chinese(self, terms: Sequence[str]) -> str:
        """The commonest Chinese word for each English term (stemmed as `text.tokens` does) that is one's whole English."""
        return " ".join(self._chinese[term] for term in terms if term in self._chinese)

    @cached_property
    def _chinese(self) -> dict[str, str]:
        """English term -> the most probable word of two characters or more whose English is that one term.

        Only an English query about a chat in Chinese wants it.
        """
        words, english = self._words, self._english
        rows = [
            row for row, said in enumerate(english)
            if said.isascii() and said.isalpha() and said not in STOP_WORDS and len(said) > 1 and len(words[row]) > 1
        ]  # fmt: skip
        rows.sort(key=self._costs.__getitem__, reverse=True)
        terms = tokens("\n".join(english[row] for row in rows))
        return {term: words[row] for term, row in zip(terms, rows, strict=True)}

    def mean(self, ids: ArrayLike) -> NDArray[np.float32]:
        """The mean of these words' vectors under their weights, float32 (dimension,) of length 1; zeros for no word."""
        rows = np.asarray(ids, np.intp)
        total = self.weights[rows] @ self.vectors[rows].astype(np.float32)
        length = np.linalg.norm(total)
        return total / length if length else total

    def _rendered(self, run: re.Match[str]) -> str:
        said = (self._spoken.get(word, self._english[word]) for word in self._cut(run[0]))
        return f" {' '.join(filter(None, said))} "

    def _cut(self, run: str) -> list[int]:
        """The words of a run of Han characters by the path of least surprisal; unknown characters are left out."""
        size, ids, costs, reach = len(run), self._ids, self._costs, self._reach
        least = [0.0, *[inf] * size]
        start_of = [0] * (size + 1)
        word_to = [-1] * (size + 1)
        for start in range(size):
            here = least[start]
            for end in range(start + 1, min(start + reach.get(run[start], 0), size) + 1):
                word = ids.get(run[start:end])
                if word is not None and here + costs[word] < least[end]:
                    least[end], start_of[end], word_to[end] = here + costs[word], start, word
            if here + _UNKNOWN < least[start + 1]:
                least[start + 1], start_of[start + 1], word_to[start + 1] = here + _UNKNOWN, start, -1
        return [word for word in _path(start_of, word_to) if word >= 0]


def _path(start_of: list[int], word_to: list[int]) -> list[int]:
    words: list[int] = []
    end = len(start_of) - 1
    while end:
        words.append(word_to[end])
        end = start_of[end]
    words.reverse()
    return words


def _fingerprint(manifest: GlossManifest) -> str:
    content = "".join(manifest.files[name].sha256 for name in (WORDS, ENGLISH, VECTORS, SURPRISALS))
    return f"{NAME}:{manifest.format}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"
