"""Title, keywords and the most telling lines of a stretch of talk, taken from its own words."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..lazy_regex import lazy_regex
from .chinese_words import is_person, tagged_words
from .normalise import is_mostly_cjk, tokens
from .stopwords import CHINESE_TALK, is_talk
from .times import is_question

__all__ = ["LINE_CHARS", "cut", "keywords", "telling", "title"]

_LATIN = lazy_regex(r"[A-Za-z][A-Za-z'-]{2,}")
_HAN = lazy_regex(r"[\u3400-\u9fff]{2,}")
NAME, NOUN, DEED = 1.3, 1.0, 0.5
"""What a Chinese name, noun and verb count; a name is the rarest of them."""
_NOUNS = ("n", "nz", "nt", "ns", "vn", "an", "nrt", "nrfg", "s")
_DEEDS = ("v", "l", "i", "j", "nr")
LONGEST_JOINED = 4
LOOKED_AT = 16
"""Candidates for each keyword wanted: many are part of one another."""
LINE_CHARS, LOOKED_INTO = 160, 600
LATIN_TITLE, HAN_TITLE = 40, 20
LATER, JOINED, PHRASE, ASKED, POINTING = 0.9, 0.9, 0.7, 0.5, 0.7
"""What a clause that does not begin its sentence counts as a heading, one that ends at a conjunction, one that ends within,
one of a question, and one with a word that points at what it does not name."""
_POINTS = lazy_regex(
    r"\b(?:i|me|my|we|us|our|you|your|it|its|he|she|him|her|they|them|their|that|this|those|these)\b|[我你您他她它这那][们个些]?",
    re.I,
)
_SENTENCE_END = lazy_regex(r"[.!?。！？…~～;；\n]+(?=\s|$|[\u2e80-\uffff])|[。！？…～；\n]+")
_CLAUSE_END = lazy_regex(r"[,，、:：]+(?=\s|$|[\u2e80-\uffff])|[，、：]+|\s[-–—]+\s|——|(?<=[\u3400-\u9fff])\s+")
_JOINT = lazy_regex(
    r"\s(?P<joins>and|but|because|so|when|while|that|which|who|if|since|after|before|then|where|until|though)\s"
    r"|\s(?:to|for|with|in|at|on|from|about|by|as|of|into|like|during)\s"
    r"|(?P<han>(?<=[\u3400-\u9fff])(?=(?:但是?|可是|不过|因为|所以|然后|而且|就是|结果|还[是给把跟在被]|如果|虽然|的时候|(?<!还)[跟和在给被把])))",
    re.I,
)
_AROUND = " \"'“”‘’()（）*"
_LEAD = lazy_regex(
    r"(?:(?:(?:i|we|you|they|he|she|it|that|there|what|who|here)['’](?:m|ve|d|ll|re|s)|yeah|yep|yes|yup|no|nope|oh|ooh|ah|wow|aww?|hey|hi|hello|well"
    r"|so|and|but|or|also|plus|actually|anyways?|btw|by the way|haha+|lol|ok|okay|sure|thanks|thank you|right|just|then|now|because|cause|if|when|while"
    r"|especially|for sure|i|we|you|it|that|this|these|there|they|he|she|my|our|was|were|am|is|are|have|has|had|been|be|got|really|so|very|definitely"
    r"|totally|recently|today|yesterday|tonight|tomorrow|last (?:night|week|weekend|month|year|\w+day)|finally|still|even|always|currently"
    r"|(?:love|like|enjoy|hate) (?:to|the)?|love|into|wanna|gonna|going to|want to|trying to|guess what)\b[\s,!.]*"
    r"|(?:其实|对了|哦+|噢|嗯+|啊+|诶|欸|哎呀?|唉|哈+|嘿+|呃|那个|顺便|因为|所以|不过|但是?|可是|而且|另外|还有|毕竟|反正|然后|后来|现在|目前|最近|今天|昨天|前天|刚刚?|话说|(?:我们?|咱们?|你们?)(?![们家妈爸哥姐弟妹爷奶老儿女同朋俩国])|就|也|都|还|又)\s*)*",
    re.I,
)
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


def title(lines: Sequence[str], words: Sequence[str], names: Iterable[str] = ()) -> str:
    """The most telling clause of the lines, from its head to where a thought ends, without the names of who speaks.

    At most 40 Latin or 20 Chinese characters; the beginning of the first line if no clause tells anything.
    """
    weights = _weights(lines, words, names)
    best, heading = 0.0, ""
    for line in lines:
        asks = is_question(line)
        for sentence in _SENTENCE_END.split(line[:LOOKED_INTO]):
            for head, whole in _heads(sentence):
                told = set(tokens(head))
                if len(told) < 2 or told & weights.named:
                    continue
                worth = sum(weights.of.get(word, 0.0) for word in told) * whole * (ASKED if asks else 1.0)
                worth *= POINTING ** len(_POINTS.findall(head))
                if worth > best:
                    best, heading = worth, head
    heading = heading or cut(" ".join(lines[0].split()), LATIN_TITLE)
    return heading[:1].upper() + heading[1:]


def telling(lines: Sequence[str], words: Sequence[str], most: int, room: int, names: Iterable[str] = ()) -> list[int]:
    """The places of those lines that together tell the most, in order: `most` of them, and `room` characters.

    Greedy maximum coverage of the lines' words, after Filatova and Hatzivassiloglou 2004: a word counts once, a keyword
    and a word that comes back more, and a long line has to tell more than a short one.
    """
    short = [min(len(line), LINE_CHARS) for line in lines]
    if len(lines) <= most and sum(short) <= room:
        return list(range(len(lines)))
    weights, chosen = _weights(lines, words, names), list[int]()
    left = {i: set(tokens(text[:LINE_CHARS])) & weights.of.keys() for i, text in enumerate(lines)}
    while left and len(chosen) < most:
        worth = {i: sum(map(weights.of.__getitem__, line)) / (LENGTH_AT_REST + short[i]) for i, line in left.items()}
        best = min(left, key=lambda i, worth=worth: (-worth[i], i))
        told = left.pop(best)
        if not told:
            break
        if short[best] <= room:
            chosen.append(best)
            room -= short[best]
            left = {i: line - told for i, line in left.items() if short[i] <= room}
    return sorted(chosen)


def cut(text: str, most: int = LINE_CHARS) -> str:
    """A text of so many characters at most; a longer one ends where a clause or at least a word does."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    ends = [found.start() for found in _CLAUSE_END.finditer(head)]
    at = ends[-1] if ends and ends[-1] > most // 2 else head.rfind(" ")
    return (head[:at] if at > most // 2 else head).rstrip() + "…"


@dataclass(frozen=True, slots=True)
class _Weights:
    of: Mapping[str, float]
    """Word -> what it tells."""
    named: frozenset[str]
    """The words of names."""


def _weights(lines: Sequence[str], words: Sequence[str], names: Iterable[str]) -> _Weights:
    named = {word for name in names for word in tokens(name) if name.isascii() or len(word) > 1}
    short = {word for line in lines for word in tokens(line) if len(word) > 2 and word.isascii()}
    named |= {word for word in short if any(name.startswith(word) for name in named)}  # Mel for Melanie
    key = set(tokens(" ".join(words)))
    counts = Counter(word for line in lines for word in set(tokens(line[:LOOKED_INTO])) if not is_talk(word))
    told = {
        word: (1 + math.log(n)) * (KEYWORD if word in key else 1.0) for word, n in counts.items() if word not in named
    }
    return _Weights(told, frozenset(named))


def _heads(sentence: str) -> Iterator[tuple[str, float]]:
    """What a heading may be of a sentence: a clause from its head on up to where one may end, and how whole that is."""
    for at, clause in enumerate(_CLAUSE_END.split(sentence)):
        clause = clause.strip(_AROUND)
        lead = _LEAD.match(clause)
        text = clause[lead.end() if lead else 0 :].strip(_AROUND)
        limit = HAN_TITLE if is_mostly_cjk(text) else LATIN_TITLE
        if len(text) <= limit:
            yield text, 1.0 if at == 0 else LATER
        else:
            for found in _JOINT.finditer(text):
                if found.start() <= limit:
                    yield text[: found.start()].strip(), JOINED if found.group("joins") else PHRASE
