"""Where a text says what a correction calls wrong, and what it says without it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ...language.normalise import fold, is_mostly_cjk, tokens
from ...language.times import is_question
from ...lazy_regex import lazy_regex
from .claim import Correction

__all__ = [
    "alike", "calls_kin", "bears_on", "bears_on_value", "corrected", "holds", "is_present", "in_its_words", "matters",
    "only_asks", "of_household", "of_that_one", "parts_of", "plain", "rewritten", "says", "wrong_parts",
]  # fmt: skip

SHORT = 3
"""Letters below which a word is taken as it stands."""
_WORD = lazy_regex(r"[^\W_]+(?:'[^\W_]+)?")
_PART = lazy_regex(r"[^，,。；;！!？?\n]+[，,。；;！!？?\n]*|[^.;!?\n]+[.;!?\n]*")
_PART_EN = lazy_regex(r"[^,.;!?\n]+[,.;!?\n]*\s*")
_JOINT = lazy_regex(
    r"(?<=[^\s，,]{3})(?=(?:而且|并且|同时|但是|不过)[^\s，,]{2})|(?<=[^\s，,]{3})(?=、(?:我|住|在[^、，,]+(?:上班|工作)|对[^、，,]+过敏|今年|养了|来自))"
)
_VERBS_EN = "live|work|like|love|hate|have|own|study|speak|play|drive|drink|eat|enjoy|prefer|want|am|is|was|moved?|got|don't|doesn't|can't|used to"
_JOINT_EN = lazy_regex(
    rf"(?<=\w)(?= (?:and|but|while) (?:(?:I|he|she|we|they)(?:'\w+)? \w|(?:my|his|her) \w+ \w|(?:{_VERBS_EN})(?:e?s)?\b))"
)
"""Where a second statement begins within a clause: 而且 and "and" before a subject or a verb."""
_JOINING = lazy_regex(r"\s*(?:and|but|while)\s+|而且|并且|同时|但是|不过|、", re.I)
_PART_END = lazy_regex(r"[，,。.；;！!？?\n]\s*$")
_SUBJECT = lazy_regex(
    r"^\W*(?P<zh>我|他|她|[\u4e00-\u9fff]{2,3}(?=[住在]))|^\W*(?P<en>I|we|he|she|they|We|He|She|They|[A-Z][a-z]+)(?='|\s)"
)


_PAST = lazy_regex(
    r"以前|曾经|从前|过去|原来|当年|之前|小时候|\b(?:used to|formerly|previously|back then|once|as a child|as a kid)\b",
    re.I,
)
_ASKED = lazy_regex(r"[?？]\s*$|[吗么呢]\W*$")
_KIN_ZH = (
    "爸|妈|爹|娘|爷|奶|哥|姐|弟|妹|父亲|母亲|父母|老婆|老公|妻子|丈夫|太太|媳妇|儿子|女儿|孩子|朋友|同事|室友|对象|外公|外婆|姥|老板|老师|同学|"
    "邻居|家人|叔|姨|舅"
)
_KIN_EN = (
    r"\b(?:m[ou]m(?:my)?|mother|dad(?:dy)?|father|parents?|brothers?|sisters?|wife|husband|sons?|daughters?|kids?|child(?:ren)?|(?:boy|girl)?friends?|"
    r"partner|fianc[eé]e?|room-?mates?|flat-?mates?|colleagues?|co-?workers?|boss|teacher|neighbou?rs?|cousins?|aunt|uncle|grand\w+|nieces?|nephews?)\b"
)
_KIN = lazy_regex(f"{_KIN_ZH}|{_KIN_EN}", re.I)
_PETS = r"同桌|宠物|[狗猫兔鸟](?!粮)|仓鼠|乌龟|金毛|\b(?:dogs?|cats?|pets?|puppy|kitten|rabbits?|hamsters?)\b"
_OF_HOUSEHOLD = lazy_regex(f"{_KIN_ZH}|{_KIN_EN}|{_PETS}", re.I)
_PET_FIRST = lazy_regex(
    rf"\W*.{{0,2}}?[我你他她](?:的|家)?(?:那|这)?[只条个]?(?:{_PETS})|\W*(?:(?:and|but|so|because|well|oh|yes|no),?\s+)*(?:my|your|his|her|their|our|[\w-]+'s)\s+(?:\w+\s+){{0,2}}?(?:{_PETS})",
    re.I,
)
_AGAIN_OWN = lazy_regex(
    r"我(?![们国校司])|俺(?!们)|本人|\b(?:i|i'm|i've|i'd)\b|^\W*[A-Z][a-z]+\s+(?:is|has|lives?|works?|likes?)\b", re.I
)
"""Somebody speaks of themselves, or of somebody by name, and no more of a relative."""
_KIN_FIRST = lazy_regex(
    rf"\W*.{{0,4}}?(?:[我你他她]|[^\s，,]{{1,4}}的)(?:的|家)?(?:男|女|大|小|好)?(?:{_KIN_ZH})"
    rf"|\W*(?:(?:and|but|so|because|well|oh|yes|no),?\s+)*(?:my|your|his|her|their|our|[\w-]+'s)\s+(?:\w+\s+){{0,2}}?{_KIN_EN}",
    re.I,
)
"""Clauses that begin with somebody's relative or friend."""
_TO_NAME = lazy_regex(
    r"[哥姐弟妹爸妈爷奶叔舅姨友事学]?(?:[\s,，]|-in-law|叫做?|名叫|是|\b(?:is )?(?:called|named)\b)*", re.I
)
"""What may stand between a relative and their name."""


_LISTED_AFTER = lazy_regex(
    r"(?:\s*[、/]\s*|和|以及|跟|与|\s+(?:and|or|&)\s+)(?=\w)(?!(?:I|he|she|we|they|you|it|am|is|my|then|so|also)\b|[我你他她])",
    re.I,
)
_LISTED_BEFORE = lazy_regex(
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


def is_present(part: str, correction: Correction, *, of_kin: bool = False) -> bool:
    """Whether a clause says how it is, of whom the correction is about, and not how it was, what is asked, or of a relative.

    `of_kin`: a relative may be whom the correction is about.
    """
    spoken = f"{correction.subject} {correction.about}"
    if correction.action == "replace" and (_ASKED.search(part) or (_PAST.search(part) and not _PAST.search(spoken))):
        return False
    return of_kin or not _KIN_FIRST.match(part) or _KIN.search(spoken) is not None


def calls_kin(part: str, correction: Correction) -> bool:
    """Whether the clause tells of a relative by the name that the correction gives: `my sister Anna`."""
    found = _KIN_FIRST.match(part)
    if found is None or not correction.subject:
        return False
    before = _TO_NAME.match(part, found.end())
    rest = part[before.end() if before else found.end() :]
    return holds(rest[: len(correction.subject) + 1].rstrip(), correction.subject)


def only_asks(part: str) -> bool:
    """Whether the clause asks, and tells nothing."""
    return is_question(part)


def of_household(parts: Sequence[str], correction: Correction) -> set[int]:
    """Places of the clauses without a subject that go on about a relative or a pet, if the correction is about neither."""
    meant = _OF_HOUSEHOLD.search(f"{correction.subject} {correction.about}")
    return set() if meant else _carried_on(parts, "")


def of_that_one(parts: Sequence[str], correction: Correction) -> set[int]:
    """Places of the clauses without a subject that go on about the relative or pet whom the correction is about."""
    meant = _OF_HOUSEHOLD.search(f"{correction.subject} {correction.about}")
    return _carried_on(parts, meant[0]) if meant else set()


def _carried_on(parts: Sequence[str], who: str) -> set[int]:
    """Places of the clauses that go on about one of the household whom a clause before them calls so."""
    found: set[int] = set()
    carried = False
    for place, part in enumerate(parts):
        if _KIN_FIRST.match(part) or _PET_FIRST.match(part):
            carried = who.lower() in part.lower()
        elif _AGAIN_OWN.search(part):
            carried = False
        elif carried:
            found.add(place)
    return found


def parts_of(text: str) -> list[str]:
    """The clauses of a text; together they are the text."""
    pattern, joint = (_PART, _JOINT) if is_mostly_cjk(text) else (_PART_EN, _JOINT_EN)
    parts = [half for part in pattern.findall(text) for half in joint.split(part) if half]
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
    left = "".join(_led(kept, parts)) if "" in kept else "".join(kept)
    return left.strip().rstrip("，,；;、").strip()


def _led(kept: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
    """What is kept; where the first half of a clause is left out, the second begins with its subject."""
    for i, part in enumerate(kept):
        halved = part and i and not kept[i - 1] and not _PART_END.search(parts[i - 1])
        joining = _JOINING.match(part) if halved else None
        if joining is None:
            yield part
            continue
        rest, subject = part[joining.end() :], _SUBJECT.match(parts[i - 1])
        led = subject is not None and not _SUBJECT.match(rest)
        yield (f"{subject['zh'] or subject['en'] + ' '}{rest}" if subject and led else rest)


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
    (lazy_regex(r"住|搬|定居|落户|\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|resid\w+|settled?|based)\b", re.I),
     frozenset({"residence"})),
    (lazy_regex(r"工作|上班|就职|任职|入职|公司|\b(?:work\w*|job|employ\w*|join(?:ed)?|hired)\b", re.I),
     frozenset({"workplace", "occupation"})),
    (lazy_regex(r"叫|名字|姓|\b(?:call(?:ed)?|name[ds]?)\b", re.I),
     frozenset({"name", "nickname"})),
    (lazy_regex(r"过敏|忌口|(?:不能|不可以|不敢|都不能?)(?:吃|喝|碰|沾)|[吃喝碰沾]不[了得]|[一]?[吃喝碰沾]就|"
                r"\b(?:allerg\w+|(?:can't|cannot|can not|must not|mustn't|never) (?:eat|have|touch|drink)|hives|epipen|anaphyla\w+)\b", re.I),
     frozenset({"allergy", "avoids"})),
    (lazy_regex(r"喜欢|喜爱|爱(?:吃|喝|看|听|玩)|最爱|\b(?:likes?|loves?|enjoys?|favou?rites?|fond)\b", re.I), frozenset({"like"})),
    (lazy_regex(r"生日|出生|\b(?:birthday|born)\b", re.I), frozenset({"birthday"})),
    (lazy_regex(r"[0-9一二三四五六七八九十]岁|\b(?:years? old|turned|age)\b", re.I), frozenset({"age"})),
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
