"""Title, summary and keywords of a stretch of talk, taken from its own words."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Sequence

from ..lazy_regex import lazy_regex
from .chinese_words import is_person, tagged_words
from .normalise import tokens
from .stopwords import CHINESE_TALK, is_talk

__all__ = ["keywords", "summarise", "title"]

_LATIN = lazy_regex(r"[A-Za-z][A-Za-z'-]{2,}")
_HAN = lazy_regex(r"[\u3400-\u9fff]{2,}")
NAME, NOUN, DEED = 1.3, 1.0, 0.5
"""What a Chinese name, noun and verb count; a name is the rarest of them."""
_NOUNS = ("n", "nz", "nt", "ns", "vn", "an", "nrt", "nrfg", "s")
_DEEDS = ("v", "l", "i", "j", "nr")
LONGEST_JOINED = 4
LOOKED_AT = 16
"""Candidates for each keyword wanted: many are part of one another."""
LINE_CHARS, SUMMARY_CHARS = 160, 800
KEYWORD, LENGTH_AT_REST = 2.0, 30
"""What a word of a keyword counts; what is added to the length of a line, so that shouts do not win."""


def keywords(texts: Sequence[str], count: int = 8) -> list[str]:
    """The words that the texts keep coming back to, the most frequent first.

    None is part of another one, holds it, or only straddles its end.
    """
    latin = Counter[str]()
    for text in texts:
        words = (match.group().lower().removesuffix("'s") for match in _LATIN.finditer(text.replace("’", "'")))
        latin.update(word for word in words if not is_talk(word))
    found = {word: float(n) for word, n in latin.items()} | _han_words(texts)
    kept: list[str] = []
    for word in heapq.nsmallest(count * LOOKED_AT, found, key=lambda word: (-found[word], word)):
        if len(kept) == count:
            break
        if not any(_overlap(word, other) for other in kept):
            kept.append(word)
    return kept


def _han_words(texts: Sequence[str]) -> dict[str, float]:
    """Chinese names, nouns and verbs, and two words in a row that come back as one; each with what it counts."""
    counts: Counter[str] = Counter()
    worth: dict[str, float] = {}
    for text in texts:
        for run in _HAN.findall(text):
            before = ("", "")
            for word, flag in tagged_words(run):
                joined = before[0] + word
                if _worth(word, flag):
                    worth[word] = _worth(word, flag)
                    counts[word] += 1
                if len(joined) <= LONGEST_JOINED and _is_joined(before, (word, flag)):
                    worth.setdefault(joined, 0.0)
                    counts[joined] += 1
                before = (word, flag)
    return {
        word: n * (weight or NOUN) * (len(word) - 1) ** 0.5
        for word, n in counts.items()
        if (weight := worth[word]) or n > 1
    }


def _worth(word: str, flag: str) -> float:
    if len(word) < 2 or word in CHINESE_TALK:
        return 0.0
    if is_person(word, flag) or flag in ("ns", "nt", "nz"):
        return NAME
    return NOUN if flag in _NOUNS else DEED if flag in _DEEDS else 0.0


def _is_joined(before: tuple[str, str], word: tuple[str, str]) -> bool:
    """Whether two words in a row may be one thing: whatever names or does, before something named."""
    return (
        bool(before[0])
        and word[1] in _NOUNS
        and before[1] in (*_NOUNS, "v", "b")
        and not CHINESE_TALK & {before[0], word[0]}
        and (len(before[0]) > 1 or before[1] != "v")
    )


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
    left = {i: set(tokens(text[:LINE_CHARS])) for i, (_, text) in enumerate(lines)}
    counts = Counter(word for line in left.values() for word in line if not is_talk(word))
    key, room, chosen = set(tokens(" ".join(words))), SUMMARY_CHARS, list[int]()
    weights = {word: (1 + math.log(n)) * (KEYWORD if word in key else 1.0) for word, n in counts.items()}
    left = {i: line & weights.keys() for i, line in left.items()}
    while left:
        worth = {i: sum(map(weights.__getitem__, line)) / (LENGTH_AT_REST + len(short[i])) for i, line in left.items()}
        best = min(left, key=lambda i, worth=worth: (-worth[i], i))
        told = left.pop(best)
        if not told:
            break
        if len(short[best]) <= room:
            chosen.append(best)
            room -= len(short[best]) + 1
            left = {i: line - told for i, line in left.items() if len(short[i]) <= room}
    return "\n".join(short[i] for i in sorted(chosen))


def _line(speaker: str, text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= LINE_CHARS else short[: LINE_CHARS - 1] + "…"
    return f"{speaker}: {short}" if speaker else short
