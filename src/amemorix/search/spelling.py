"""What a query may have meant: words typed in pinyin, homophones, slips of the finger, mended by the chat's own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, reduce
from operator import or_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.normalise import STOP_WORDS, fold
from ..lazy_regex import lazy_regex

__all__ = ["Spelling"]

FIRST_SOUND = 0xE000
"""Each syllable has a character of its own in the private use area: texts and their sounds have the same length."""
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")
_LATIN = re.compile(r"[a-z]+(?:['’][a-z]+)*")
_LATIN_RUN = re.compile(r"[a-z]+(?:[ '’]+[a-z]+)*")
_FOLDED = (("zh", "z"), ("ch", "c"), ("sh", "s"), ("ang", "an"), ("eng", "en"), ("ing", "in"))
"""Sounds that many speakers and input methods do not keep apart."""
LONGEST_SYLLABLE = 6
_GOES_BEFORE = lazy_regex(r"[a-z]['’]?\Z")
"""Before a stretch of letters: what makes it a part of a longer word."""
SHORTEST_STEM = 3
SHORTEST = 5
"""Letters of a word that is mended by its letters."""
_LETTER_BITS = np.zeros(128, np.uint32)
_LETTER_BITS[ord("a") : ord("z") + 1] = 1 << np.arange(26)
LONGEST = 4
"""Characters that are looked for together."""
LONGEST_QUERY = 200
"""Characters of a query that may be one slip away; a longer one has words enough that are spelt right."""


class Spelling:
    """The words of a chat, by their sound and by their letters."""

    def __init__(self, texts: Iterable[str], names: Iterable[str]) -> None:
        self._names = sorted({fold(name) for name in names}, key=len, reverse=True)
        said = "\n".join(texts)
        folded = said.lower() if said.isascii() else "\n".join(map(fold, said.split("\n")))
        self._text = "\n".join([*self._names, folded])

    @cached_property
    def _sounds(self) -> str:
        return self._text.translate(_sounds())

    @cached_property
    def _words(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.unsignedinteger[Any]]]:
        """Where the words of Latin letters begin and end in the text, and its characters."""
        narrow = self._text.isascii()
        codes = np.frombuffer(self._text.encode("ascii" if narrow else "utf-32-le"), "u1" if narrow else "<u4")
        letter = np.zeros(len(codes) + 2, np.bool_)
        letter[1:-1] = codes - codes.dtype.type(ord("a")) < 26
        for mark in "'’":
            if mark in self._text:
                letter[1:-1] |= letter[:-2] & letter[2:] & (codes == ord(mark))
        edges = np.flatnonzero(letter[1:] != letter[:-1])
        return edges[::2], edges[1::2], codes

    def corrections(self, query: str) -> dict[str, str]:
        """Stretches of the folded query that the chat does not hold -> what it holds that sounds or looks the same."""
        folded, found = fold(query), dict[str, str]()
        if len(folded) > LONGEST_QUERY:
            return found
        for run in _HAN.findall(folded):
            found.update(self._same_sound(run))
        beginning = self._text[:2_000]
        chinese = not beginning.isascii() and max(beginning.translate(_sounds())) >= "\ue000"
        for run in _LATIN_RUN.findall(folded):
            # a short word is mended as pinyin or not at all
            words = (word for word in run.split() if word not in STOP_WORDS and (chinese or len(word) >= SHORTEST))
            unknown = [word for word in words if not self._holds(word)]
            if chinese and unknown:
                found.update(self._pinyin(run))
            found.update({word: near for word in unknown if word not in found and (near := self._near(word))})
        return found

    def _holds(self, word: str) -> bool:
        """Whether the text has this word of Latin letters, or another form of it."""
        stems = {word, *(word.removesuffix(ending) for ending in ("s", "es", "d", "ed", "ing"))}
        return any(self._begins_a_word(stem) for stem in stems if len(stem) >= SHORTEST_STEM or stem == word)

    def _begins_a_word(self, stem: str) -> bool:
        at = self._text.find(stem) if _LATIN.fullmatch(stem) else -1
        while at >= 0:
            if not _GOES_BEFORE.search(self._text[max(at - 2, 0) : at]):
                return True
            at = self._text.find(stem, at + len(stem))
        return False

    def _same_sound(self, run: str) -> Iterator[tuple[str, str]]:
        """The longest stretches first; of two characters only where the chat's are a word or a name."""
        sounds, taken = run.translate(_sounds()), [False] * len(run)
        for size in range(min(LONGEST, len(run)), 1, -1):
            for at in range(len(run) - size + 1):
                said = run[at : at + size]
                if any(taken[at : at + size]) or said in self._text:
                    continue
                meant = self._heard(sounds[at : at + size])
                if meant and self._is_slip(said, meant):
                    taken[at : at + size] = [True] * size
                    yield said, meant

    def _heard(self, sounds: str) -> str:
        """The commonest stretch of the chat with this sound."""
        places = [match.start() for match in re.finditer(f"(?={re.escape(sounds)})", self._sounds)]
        heard = Counter(self._text[at : at + len(sounds)] for at in places)
        return heard.most_common(1)[0][0] if heard else ""

    def _is_slip(self, said: str, meant: str) -> bool:
        """A name may be written with other characters throughout; of words one is wrong, and what was said is none."""
        from rjieba import has_word

        if meant in self._names:
            return True
        differ = sum(a != b for a, b in zip(said, meant, strict=True))
        return differ <= max(1, len(said) - 2) and not has_word(said) and (len(said) > 2 or has_word(meant))

    def _pinyin(self, run: str) -> Iterator[tuple[str, str]]:
        """Syllables typed in Latin letters, with blanks between words, syllables, or nowhere; initials of a name."""
        for word in run.split():
            if len(word) > 1 and not self._holds(word) and (name := self._initials(word)):
                yield word, name
        words = run.split()
        for first in range(len(words)):
            for last in range(len(words), first, -1):
                said = " ".join(words[first:last])
                heard = self._heard_as(_syllables(said.replace(" ", "").replace("'", "")))
                if heard:
                    yield said, heard
                    break

    def _heard_as(self, sounds: str) -> str:
        """What the chat holds of these syllables, cut into stretches of two and more; nothing if one is left over."""
        heard, at = list[str](), 0
        while at < len(sounds):
            for size in range(min(LONGEST, len(sounds) - at), 1, -1):
                if said := self._heard(sounds[at : at + size]):
                    heard.append(said)
                    at += size
                    break
            else:
                return ""
        return "".join(heard)

    def _initials(self, word: str) -> str:
        for name in self._names:
            if len(name) == len(word) and _HAN.fullmatch(name) and all(map(_begins, name, word)):
                return name
        return ""

    def _near(self, word: str) -> str:
        """The nearest known word: one slip in four letters and more, two in eight and more."""
        from rapidfuzz.distance import OSA
        from rapidfuzz.process import extractOne

        if len(word) < SHORTEST:
            return ""
        slips, (starts, ends, codes) = 2 if len(word) > 7 else 1, self._words
        sizes = ends - starts
        like = np.flatnonzero((np.abs(sizes - len(word)) <= slips) & (sizes >= SHORTEST))
        if not len(like):
            return ""
        # A slip changes the length by one at most, and exchanges one letter for one other.
        starts, ends, sizes = starts[like], ends[like], sizes[like]
        first = np.cumsum(sizes) - sizes
        letters = codes[np.arange(sizes.sum()) + np.repeat(starts - first, sizes)]
        held = np.bitwise_or.reduceat(_LETTER_BITS[np.minimum(letters, 127)], first)
        mine = reduce(or_, _LETTER_BITS[[ord(char) for char in word if char.isascii()]])
        near = np.bitwise_count(held ^ mine) <= 2 * slips
        known = dict.fromkeys(self._text[a:b] for a, b in zip(starts[near].tolist(), ends[near].tolist(), strict=True))
        best = extractOne(
            word, [one for one in known if one not in STOP_WORDS], scorer=OSA.distance, score_cutoff=slips
        )
        return best[0] if best else ""


@cache
def _syllable_codes() -> dict[str, str]:
    """Syllable without tone, and with sounds that are often confused taken as one -> its character."""
    codes: dict[str, str] = {}
    for syllable in sorted(set(_readings().values())):
        codes.setdefault(_merged(syllable), chr(FIRST_SOUND + len(codes)))
    return {syllable: codes[_merged(syllable)] for syllable in set(_readings().values())}


@cache
def _readings() -> dict[int, str]:
    """Character -> its commonest reading, without the tone."""
    from pypinyin.pinyin_dict import pinyin_dict

    return {code: _toneless(said.split(",")[0]) for code, said in pinyin_dict.items() if 0x3400 <= code <= 0x9FFF}


@cache
def _sounds() -> dict[int, str]:
    codes = _syllable_codes()
    return {code: codes[said] for code, said in _readings().items()}


def _merged(syllable: str) -> str:
    for sound, other in _FOLDED:
        syllable = syllable.replace(sound, other)
    return syllable


def _toneless(said: str) -> str:
    import unicodedata

    plain = unicodedata.normalize("NFD", said.replace("ü", "v"))
    return "".join(c for c in plain if c.isascii()) or "?"


def _begins(char: str, letter: str) -> bool:
    return _readings().get(ord(char), "?").startswith(letter)


def _syllables(letters: str) -> str:
    """The sounds of letters that are pinyin from end to end, the longest syllables first; empty for others."""
    codes = _syllable_codes()
    ends: dict[int, str] = {len(letters): ""}
    """Place -> the sounds from there to the end."""
    for at in range(len(letters) - 1, -1, -1):
        for size in range(min(LONGEST_SYLLABLE, len(letters) - at), 0, -1):
            if (code := codes.get(letters[at : at + size])) and (rest := ends.get(at + size)) is not None:
                ends[at] = code + rest
                break
    return ends.get(0, "")
