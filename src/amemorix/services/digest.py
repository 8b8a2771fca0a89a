"""Title, summary and keywords of a stretch of talk, taken from its own words."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from ..text import STOP_WORDS, tokens

__all__ = ["keywords", "summarise", "title"]

_LATIN = re.compile(r"[A-Za-z][A-Za-z'-]{2,}")
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")
_FILLER = frozenset("的了是我你他她它们这那有在就都也还不吗呢吧啊呀哦嗯和与很要会能可以没说个么什怎为到去来上下一")
COMMON_TALK = frozenset(
    [
        "yeah",
        "okay",
        "really",
        "great",
        "thanks",
        "thank",
        "good",
        "nice",
        "know",
        "like",
        "think",
        "going",
        "got",
        "get",
        "one",
        "time",
        "well",
        "also",
        "see",
        "lot",
        "sure",
        "wow",
        "hey",
        "let",
        "want",
        "make",
        "much",
        "that's",
        "it's",
        "i'm",
        "don't",
        "can't",
        "i've",
        "you're",
        "way",
        "back",
        "right",
        "haha",
    ]
)
LONGEST_GRAM = 4
LOOKED_AT = 16
"""Candidates for each keyword wanted: many are part of one another."""
LINE_CHARS, SUMMARY_CHARS = 160, 800
KEYWORD, LENGTH_AT_REST = 2.0, 30
"""What a word of a keyword counts; what is added to the length of a line, so that shouts do not win."""


def keywords(texts: Sequence[str], count: int = 8) -> list[str]:
    """The words that the texts keep coming back to, the most frequent first."""
    latin = Counter(word for text in texts for word in _latin_words(text))
    found = {word: float(n) for word, n in latin.items()}
    for gram, n in _han_grams(texts).items():
        found[gram] = n * (len(gram) - 1) ** 0.5
    ranked = heapq.nsmallest(count * LOOKED_AT, found, key=lambda word: (-found[word], word))
    return _without_overlap(ranked, count)


def _latin_words(text: str) -> list[str]:
    words = (match.group().lower().removesuffix("'s") for match in _LATIN.finditer(text))
    return [word for word in words if word not in STOP_WORDS and word not in COMMON_TALK]


def _han_grams(texts: Sequence[str]) -> dict[str, int]:
    """Chinese stretches of 2 to 4 characters that occur at least twice, and not only within a longer one; or once."""
    counts: Counter[str] = Counter()
    for text in texts:
        for run in _HAN.findall(text):
            for size in range(2, LONGEST_GRAM + 1):
                counts.update(run[i : i + size] for i in range(len(run) - size + 1))
    usable = {gram: n for gram, n in counts.items() if not _FILLER & set(gram)}
    repeated = {gram: n for gram, n in usable.items() if n > 1}
    within = {part for gram, n in repeated.items() for part in (gram[1:], gram[:-1]) if repeated.get(part) == n}
    return {gram: n for gram, n in repeated.items() if gram not in within} or {
        gram: n for gram, n in usable.items() if len(gram) == 2
    }


def _without_overlap(ranked: Sequence[str], count: int) -> list[str]:
    """The first `count`, without what is part of a word already taken, holds one, or only straddles its end."""
    kept: list[str] = []
    for word in ranked:
        if len(kept) == count:
            break
        if not any(_overlap(word, other) for other in kept):
            kept.append(word)
    return kept


def _overlap(one: str, other: str) -> bool:
    if one in other or other in one:
        return True
    if one.isascii() or other.isascii():
        return False
    return any(one.endswith(other[:n]) or other.endswith(one[:n]) for n in range(2, min(len(one), len(other))))


def title(words: Sequence[str], texts: Sequence[str]) -> str:
    """The first keywords, or the first words of the first text."""
    chosen = " · ".join(words[:4])
    return (chosen or " ".join(texts[0].split())[:60]).strip()[:120]


def summarise(lines: Sequence[tuple[str, str]], words: Sequence[str]) -> str:
    """Lines (speaker, text) in their order, as many as a summary holds: those that together tell the most.

    Greedy maximum coverage of the lines' words, after Filatova and Hatzivassiloglou 2004: a word counts once, a keyword
    and a word that comes back more, and a long line has to tell more than a short one.
    """
    short = [_line(*line) for line in lines]
    if sum(map(len, short)) <= SUMMARY_CHARS:
        return "\n".join(short)
    said = [frozenset(tokens(text[:LINE_CHARS])) for _, text in lines]
    chosen = sorted(_cover(said, [len(line) for line in short], _weights(said, words)))
    return "\n".join(short[i] for i in chosen)


def _weights(said: Sequence[frozenset[str]], words: Sequence[str]) -> dict[str, float]:
    """What each word is worth: 1, more if others say it too, more again if it is part of a keyword."""
    counts = Counter(word for line in said for word in line if word not in STOP_WORDS and word not in COMMON_TALK)
    key = set(tokens(" ".join(words)))
    return {word: (1 + math.log(n)) * (KEYWORD if word in key else 1.0) for word, n in counts.items()}


def _cover(said: Sequence[frozenset[str]], lengths: Sequence[int], weights: Mapping[str, float]) -> list[int]:
    """Places of the lines chosen one after the other, each for what it adds by its length."""
    left, room = {i: set(line) & weights.keys() for i, line in enumerate(said)}, SUMMARY_CHARS
    chosen: list[int] = []
    while left:
        best = max(left, key=lambda i: (sum(map(weights.__getitem__, left[i])) / (LENGTH_AT_REST + lengths[i]), -i))
        told = left.pop(best)
        if not told:
            break
        if lengths[best] <= room:
            chosen.append(best)
            room -= lengths[best] + 1
            left = {i: words - told for i, words in left.items() if lengths[i] <= room}
    return chosen


def _line(speaker: str, text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= LINE_CHARS else short[: LINE_CHARS - 1] + "…"
    return f"{speaker}: {short}" if speaker else short
