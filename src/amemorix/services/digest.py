"""Title, summary and keywords of a stretch of talk, taken from its own words."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Sequence

from ..text import STOP_WORDS

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
SENTENCES, SENTENCE_CHARS = 4, 160


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
    """Chinese stretches of 2 to 4 characters that occur at least twice, or once if nothing does."""
    counts: Counter[str] = Counter()
    for text in texts:
        for run in _HAN.findall(text):
            for size in range(2, LONGEST_GRAM + 1):
                counts.update(run[i : i + size] for i in range(len(run) - size + 1))
    usable = {gram: n for gram, n in counts.items() if not _FILLER & set(gram)}
    repeated = {gram: n for gram, n in usable.items() if n > 1}
    return repeated or {gram: n for gram, n in usable.items() if len(gram) == 2}


def _without_overlap(ranked: Sequence[str], count: int) -> list[str]:
    """The first `count`, without what is part of a word already taken, or holds one."""
    kept: list[str] = []
    for word in ranked:
        if len(kept) == count:
            break
        if not any(word in other or other in word for other in kept):
            kept.append(word)
    return kept


def title(words: Sequence[str], texts: Sequence[str]) -> str:
    """The first keywords, or the first words of the first text."""
    chosen = " · ".join(words[:4])
    return (chosen or " ".join(texts[0].split())[:60]).strip()[:120]


def summarise(lines: Sequence[tuple[str, str]], words: Sequence[str]) -> str:
    """The lines (speaker, text) that hold most of the keywords, in their order."""
    weight = {word: len(words) - i for i, word in enumerate(words)}

    def worth(place: int) -> tuple[float, int]:
        text = lines[place][1].lower()
        return (-sum(w for word, w in weight.items() if word in text) / (1 + len(text) / 400), place)

    best = sorted(sorted(range(len(lines)), key=worth)[:SENTENCES])
    return "\n".join(_line(*lines[i]) for i in best)


def _line(speaker: str, text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= SENTENCE_CHARS else short[: SENTENCE_CHARS - 1] + "…"
    return f"{speaker}: {short}" if speaker else short
