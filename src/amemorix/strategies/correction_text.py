"""Where a text says what a correction calls wrong, and what it says without it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ..text import fold, is_mostly_cjk, tokens
from .correction import Correction

__all__ = [
    "alike",
    "bears_on",
    "bears_on_value",
    "corrected",
    "holds",
    "is_present",
    "in_its_words",
    "matters",
    "parts_of",
    "plain",
    "rewritten",
    "says",
    "wrong_parts",
]

SHORT = 3
"""Letters below which a word is taken as it stands."""
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_PART = re.compile(r"[^，,。；;！!？?\n]+[，,。；;！!？?\n]*|[^.;!?\n]+[.;!?\n]*")
_PART_EN = re.compile(r"[^,.;!?\n]+[,.;!?\n]*\s*")


_PAST = re.compile(
    r"以前|曾经|从前|过去|原来|当年|之前|小时候|\b(?:used to|formerly|previously|back then|once|as a child|as a kid)\b",
    re.I,
)
_ASKED = re.compile(r"[?？]\s*$|[吗么呢]\W*$")
_KIN_ZH = (
    "爸|妈|爹|娘|爷|奶|哥|姐|弟|妹|父亲|母亲|父母|老婆|老公|妻子|丈夫|太太|媳妇|儿子|女儿|孩子|朋友|同事|室友|对象|外公|外婆|姥|老板|老师|同学|"
    "邻居|家人|叔|姨|舅"
)
_KIN_EN = (
    r"\b(?:m[ou]m(?:my)?|mother|dad(?:dy)?|father|parents?|brothers?|sisters?|wife|husband|sons?|daughters?|kids?|child(?:ren)?|(?:boy|girl)?friends?|"
    r"partner|fianc[eé]e?|room-?mates?|flat-?mates?|colleagues?|co-?workers?|boss|teacher|neighbou?rs?|cousins?|aunt|uncle|grand\w+|nieces?|nephews?)\b"
)
_KIN = re.compile(f"{_KIN_ZH}|{_KIN_EN}", re.I)
_KIN_FIRST = re.compile(
    rf"\W*.{{0,4}}?(?:[我你他她]|[^\s，,]{{1,4}}的)(?:的|家)?(?:男|女|大|小|好)?(?:{_KIN_ZH})"
    rf"|\W*(?:(?:and|but|so|because|well|oh|yes|no),?\s+)*(?:my|your|his|her|their|our|[\w-]+'s)\s+(?:\w+\s+){{0,2}}?{_KIN_EN}",
    re.I,
)
"""Clauses that begin with somebody's relative or friend."""


_LISTED_AFTER = re.compile(
    r"(?:\s*[、/]\s*|和|以及|跟|与|\s+(?:and|or|&)\s+)(?=\w)(?!(?:I|he|she|we|they|you|it|am|is|my|then|so|also)\b|[我你他她])",
    re.I,
)
_LISTED_BEFORE = re.compile(
    r"(?<=\w)(?<!我)(?<!你)(?<!他)(?<!她)(?:\s*[、/]\s*|和|以及|跟|与|,?\s+(?:and|or|&)\s+)$", re.I
)
"""What joins a thing to the others of a list."""


def holds(text: str, words: str) -> bool:
    """Whether the text says these words; Latin ones only as whole words."""
    return _places(text, words) != []


def says(text: str, words: str) -> bool:
    """Whether the text says these words, or others that differ in their number: nut and nuts."""
    if holds(text, words):
        return True
    meant = [plain(word) for word in words.split()]
    if not words.isascii() or words[:1].isupper() or len("".join(meant)) < SHORT:
        return False
    said = [plain(word) for word in _WORD.findall(text)]
    return any(said[i : i + len(meant)] == meant for i in range(len(said)))


def alike(one: str, other: str) -> bool:
    """Whether two values are the same, or one is in the other: 上海 and 上海浦东."""
    return says(one, other) or says(other, one)


def matters(text: str) -> frozenset[str]:
    """The attributes that words of the text speak of."""
    return frozenset[str]().union(*(attributes for words, attributes in _MATTERS if words.search(text)))


def bears_on(part: str, correction: Correction) -> bool:
    """Whether this part of a text says what is wrong: it holds the wrong words and speaks of the same matter."""
    if not says(part, correction.wrong):
        return False
    about = _matter(correction)
    return not about or bool(about & _terms(part)) or bool(matters(correction.about) & matters(part))


def bears_on_value(value: str, correction: Correction) -> bool:
    """Whether a value is among those that a correction means as a whole: all, or those it names besides."""
    about = _matter(correction)
    return not about or bool(about & _terms(value))


def in_its_words(text: str, correction: Correction) -> bool:
    """Whether the text says what is right in words of the correction."""
    return holds(text, correction.right) and bool(_matter(correction) & _terms(text))


def is_present(part: str, correction: Correction) -> bool:
    """Whether a clause says how it is, of whom the correction is about, and not how it was, what is asked, or of a relative."""
    spoken = f"{correction.subject} {correction.about}"
    if correction.action == "replace" and (_ASKED.search(part) or (_PAST.search(part) and not _PAST.search(spoken))):
        return False
    return not _KIN_FIRST.match(part) or _KIN.search(spoken) is not None


def parts_of(text: str) -> list[str]:
    """The clauses of a text; together they are the text."""
    pattern = _PART if is_mostly_cjk(text) else _PART_EN
    parts = pattern.findall(text)
    return parts if "".join(parts) == text else [text]


def wrong_parts(parts: Sequence[str], correction: Correction) -> set[int]:
    """Places of the clauses that say what is wrong."""
    found = {i for i, part in enumerate(parts) if bears_on(part, correction)}
    if found or not bears_on("".join(parts), correction):
        return found
    return {i for i, part in enumerate(parts) if says(part, correction.wrong)}


def rewritten(parts: Sequence[str], correction: Correction, places: Collection[int]) -> str:
    """The text with the wrong words of these clauses replaced, or struck out of lists, or else without the clauses."""
    kept: list[str] = []
    for i, part in enumerate(parts):
        if i not in places:
            kept.append(part)
        elif correction.right and holds(part, correction.wrong):
            kept.append(_replaced(part, correction.wrong, correction.right))
        elif not correction.right:
            kept.append(_struck(part, correction.wrong))
    return "".join(kept).strip().rstrip("，,；;").strip()


def corrected(text: str, correction: Correction) -> str:
    """The text with the wrong words replaced, or without the parts that hold them; the same text if it holds none."""
    parts = parts_of(text)
    return rewritten(parts, correction, wrong_parts(parts, correction))


def plain(word: str) -> str:
    """A word without the ending of a third person or a plural: lives and live, owns and own."""
    word = fold(word).strip(".,!?'")
    for ending in ("ies", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return (word.removesuffix(ending) + ("y" if ending == "ies" else "")).removesuffix("e")
    return word.removesuffix("e")


def _matter(correction: Correction) -> set[str]:
    """Content terms of the rest of the sentence, without those of the names and values."""
    without = {term for words in (correction.subject, correction.wrong, correction.right) for term in _terms(words)}
    return {term for term in _terms(correction.about) if term not in without and term not in _EMPTY}


def _terms(text: str) -> set[str]:
    """Content terms, Latin words also without their endings."""
    return set(tokens(text)) | {plain(word) for word in re.findall(r"[A-Za-z]{4,}", text) if tokens(word)}


_MATTERS: tuple[tuple[re.Pattern[str], frozenset[str]], ...] = (
    (re.compile(r"住|搬|定居|落户|\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|resid\w+|settled?|based)\b", re.I),
     frozenset({"residence"})),
    (re.compile(r"工作|上班|就职|任职|入职|公司|\b(?:work\w*|job|employ\w*|join(?:ed)?|hired)\b", re.I),
     frozenset({"workplace", "occupation"})),
    (re.compile(r"叫|名字|姓|\b(?:call(?:ed)?|name[ds]?)\b", re.I),
     frozenset({"name", "nickname"})),
    (re.compile(r"过敏|忌口|(?:不能|不可以|不敢|都不能?)(?:吃|喝|碰|沾)|[吃喝碰沾]不[了得]|[一]?[吃喝碰沾]就|"
                r"\b(?:allerg\w+|(?:can't|cannot|can not|must not|mustn't|never) (?:eat|have|touch|drink)|hives|epipen|anaphyla\w+)\b", re.I),
     frozenset({"allergy", "avoids"})),
    (re.compile(r"喜欢|喜爱|爱(?:吃|喝|看|听|玩)|最爱|\b(?:likes?|loves?|enjoys?|favou?rites?|fond)\b", re.I), frozenset({"like"})),
    (re.compile(r"生日|出生|\b(?:birthday|born)\b", re.I), frozenset({"birthday"})),
    (re.compile(r"[0-9一二三四五六七八九十]岁|\b(?:years? old|turned|age)\b", re.I), frozenset({"age"})),
)  # fmt: skip
"""Words that speak of the same matter, and the attributes under which facts about it are kept."""


_EMPTY = set("的了是在有不我你他她它们这那个和也都就还没会要对把被让") | {"的是", "不是", "他们", "我们"}


def _places(text: str, words: str) -> list[tuple[int, int]]:
    """Where the words stand in the text, folded; only where folding keeps every character in its place."""
    words = words.strip()
    if not words:
        return []
    whole = r"(?<!\w){}(?!\w)" if words.isascii() else "{}"
    body = r"\s+".join(map(re.escape, fold(words).split()))
    folded = fold(text)
    if len(folded) != len(text):
        folded = text.lower() if len(text.lower()) == len(text) else text
    return [found.span() for found in re.finditer(whole.format(body), folded)]


def _replaced(part: str, wrong: str, right: str) -> str:
    out, end = "", 0
    for start, stop in _places(part, wrong):
        out += part[end:start] + right
        end = stop
    return out + part[end:]


def _struck(part: str, wrong: str) -> str:
    """The clause without one of the things that it lists; nothing if they are not in a list."""
    left = part
    for start, stop in reversed(_places(part, wrong)):
        after, before = _LISTED_AFTER.match(left, stop), _LISTED_BEFORE.search(left[:start])
        if before:
            left = left[: before.start()] + left[stop:]
        elif after:
            left = left[:start] + left[after.end() :]
        else:
            return ""
    return left if left != part else ""
