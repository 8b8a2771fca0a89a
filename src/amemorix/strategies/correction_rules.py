"""Corrections said in words, read by rules: what is wrong, what is right instead, and whom it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..text import fold, is_mostly_cjk, tokens

__all__ = ["Correction", "bears_on", "corrected", "holds", "read_correction"]

MOST_CHARS = 400
"""A correction is a sentence or two; what is longer is a text of its own."""


@dataclass(frozen=True, slots=True)
class Correction:
    """`wrong` is to become `right` (empty: to go); `about` is the rest of the sentence, whom and what it speaks of."""

    action: Literal["replace", "remove"]
    wrong: str
    right: str = ""
    subject: str = ""
    about: str = ""


_ZH_LEAD = re.compile(
    r"^(?:(?:你|我)?(?:记错了?|搞错了?|弄错了?|说错了?|更正一下|更正|纠正一下|纠正|不对|错了|其实|实际上|请注意|注意)[，,：:。！!\s]*)+"
)
_ZH_NOT = r"(?:已经不|早就不|并不|从不|不再|没有|不|没)"
_ZH_VERBS = (
    r"(?:是|住在|住|搬到了?|搬去|在|叫做|叫|姓|喜欢|喜爱|爱|讨厌|不喜欢|想要|想|会|吃|喝|养了|养|有|去过?|用|做|当|学|来自|属于|负责|"
    r"对|要|买了?|送了?|放在|生于|毕业于|认识)"
)
_ZH_BETWEEN = (
    r"[，,；;。！!\s]+(?:而是|而|但是|但|其实|应该|应当|实际上|现在|已经|早就|(?P<who>他们|她们|他|她|它|我|你))*"
)
_ZH_END = r"(?:了|的|呢|啦|哦|吧)?[。！!\s]*$"
_ZH_SPLIT = re.compile(rf"^(?P<subject>.*?){_ZH_NOT}(?P<first>.+?){_ZH_BETWEEN}(?P<second>.+?){_ZH_END}")
_ZH_TOWARDS = re.compile(
    r"^(?P<subject>.*?)(?:对(?P<wrong>[^，,；;不]+?)(?:并|已经|其实)?不(?P<what>[^，,；;]{1,4}?)|(?:并|已经|其实)?不对(?P<wrong2>[^，,；;]+?)(?P<what2>过敏|感兴趣|满意|熟))"
    r"(?:的|了)?(?:[，,；;。\s]+(?:而是|其实|应该|是|他|她|我|(?P=subject))*对(?P<right>.+?)(?P=what)?(?P=what2)?)?(?:的|了)?[。！!\s]*$"
)
_ZH_HAS_NOT = re.compile(r"^(?P<subject>[^，,。]{1,8}?)(?:并没有|没有|并没)(?P<wrong>[^，,。了过]{2,12})[。！!\s]*$")
_ZH_ADVERB = re.compile(r"(?:现在|目前|如今|今年|其实|真的|早就|已经|最近|根本)+$")
_ZH_AFTER = re.compile(rf"^(?P<first>.+?)[，,；;]\s*(?:而)?不(?P<verb>{_ZH_VERBS})?(?P<wrong>.+?){_ZH_END}")
_ZH_CHANGE = re.compile(rf"^(?:请)?(?:把|将)?(?P<wrong>.+?)(?:改成|改为|换成|更正为)(?P<right>.+?){_ZH_END}")
_ZH_FORGET = re.compile(
    r"^(?:请|麻烦)?(?:帮我)?(?:把)?(?:删掉|删除|删了|忘掉|忘记|忘了|去掉|清除|移除|不要再?记得?|别再?记得?|不用记)"
    r"(?:关于|有关|所有)?(?P<what>.+?)(?:的|这件|那件)?(?:记录|记忆|事情|事儿|事|内容|信息|资料|话)?[。！!\s]*$"
)
_ZH_FORGET_LAST = re.compile(
    r"^(?:请)?(?:把)(?:关于|有关)?(?P<what>.+?)(?:的)?(?:记录|记忆|事情|事|内容|信息)?(?:都)?(?:删掉|删除|删了|忘掉|忘记|忘了|去掉|清除|移除)[吧了。！!\s]*$"
)
_ZH_NO_LONGER = re.compile(r"^(?P<subject>.*?)(?:已经不|早就不|不再|不)(?P<first>.+?)(?P<end>了?)[。！!\s]*$")
_ZH_FIXED = re.compile(
    r"不(?:错|知道|好意思|客气|行|用了?$|过[，,]|管|清楚|太|要紧|一定|然|如|同)|没(?:事|关系|问题|错|什么|空)"
)
"""Words that begin like a negation and are none."""
_ATTRIBUTE = re.compile(
    r"(?:名字|姓名|生日|地址|电话|号码|时间|日期|工作|职业|年龄|爱好|name|birthday|address|phone|number|time|date|job|age|hobby)$",
    re.I,
)
"""What has a value, and is none itself."""
_ZH_VERB_HEAD = re.compile(rf"^{_ZH_VERBS}")
_ZH_SUBJECT_VERB = re.compile(rf"^(?P<subject>.*?)(?P<verb>{_ZH_VERBS})(?P<object>.+)$")

_EN_LEAD = re.compile(
    r"^(?:(?:no|wrong|incorrect|wait|actually|sorry|correction|you(?:'re| are) wrong|you got (?:that|it) wrong|that(?:'s| is) (?:wrong|not right|incorrect))"
    r"[\s,.:;!-]+)+",
    re.I,
)
_EN_NOT = r"(?:(?:do|does|did|is|are|was|were|has|have|will|would|can)(?:n't| not)|ain't|never|no longer|am not|'m not|'s not|'re not|not)"
_EN_STILL = r"(?:\s+(?:any ?more|any longer|these days|now|at all|yet))?"
_EN_BETWEEN = r"\s*[,.;:–-]+\s*(?:(?:but|rather|instead|actually|now|it was|it is|it's|(?P<who>he|she|it|they|we|i|that)(?:'s|'m|'re)?)\s+)*"
_EN_SPLIT = re.compile(
    rf"^(?P<subject>.*?)\s*\b{_EN_NOT}\s+(?P<first>.+?){_EN_STILL}{_EN_BETWEEN}(?P<second>[^,;]+?)(?:\s+(?:instead|now))?[.!\s]*$",
    re.I,
)
_EN_NOT_BUT = re.compile(rf"^(?P<about>.*?)\b{_EN_NOT}\s+(?P<wrong>[^,;]+?),?\s+but\s+(?P<right>[^,;]+?)[.!\s]*$", re.I)
_EN_AFTER = re.compile(
    r"^(?P<first>.+?)(?:\s*(?:,|;|-|–)\s*(?:and |but )?not|\s+(?:rather than|instead of))\s+(?:(?:in|on|at|a|an|the|to)\s+)?(?P<wrong>[^,;]+?)[.!\s]*$",
    re.I,
)
_EN_CHANGE = re.compile(
    r"^(?:please\s+)?(?:change|replace|correct)\s+(?P<wrong>.+?)\s+(?:to|with|by|into)\s+(?P<right>.+?)[.!\s]*$", re.I
)
_EN_SHOULD = re.compile(r"^(?P<wrong>.+?)\s+should (?:be|read|say)\s+(?P<right>.+?)[.!\s]*$", re.I)
_EN_FORGET = re.compile(
    r"^(?:please\s+)?(?:forget|delete|remove|erase|drop)\s+(?:everything\s+|anything\s+|all\s+)?(?:(?:the\s+)?(?:notes?|memory|memories|records?|lines?|facts?)\s+)?"
    r"(?:(?:that|about|of|saying)\s+)?(?P<what>.+?)[.!\s]*$",
    re.I,
)
_EN_NO_LONGER = re.compile(rf"^(?P<subject>.*?)\s*\b{_EN_NOT}\s+(?P<first>.+?)(?P<end>{_EN_STILL})[.!\s]*$", re.I)
_EN_COPULA = re.compile(r"^(?:is|are|was|were|be|am|'s|'m|'re)\s+", re.I)
_EN_IS_NOT = re.compile(r"(?:\b(?:is|are|was|were)(?:n't| not)|'s not|'re not|'m not|^\s*not)\s*$", re.I)
_EN_CLAUSE = re.compile(
    r"^(?:so|and|because|since|if|when|then|we|you|let|please|i|he|she|it|they|this|that|there)\b", re.I
)
_EN_SMALL = re.compile(r"\b(?:to|at|in|on|for|with|from|of|about|by)\b", re.I)
_EN_HEAD = re.compile(r"^(?:(?:a|an|the|in|on|at|to|for|of|as)\s+)+", re.I)
_EN_SUBJECT = re.compile(
    r"^(?P<subject>[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*)*|I|he|she|they|we|my \w+|the \w+)\b\s*(?P<rest>.*)$"
)
_NOBODY = {"", "i", "he", "she", "it", "they", "we", "you", "我", "他", "她", "它", "你", "this", "that", "there"}
_PART = re.compile(r"[^，,。；;！!？?\n]+[，,。；;！!？?\n]*|[^.;!?\n]+[.;!?\n]*")
_PART_EN = re.compile(r"[^,.;!?\n]+[,.;!?\n]*\s*")


def read_correction(text: str) -> Correction | None:
    """What the sentence corrects; None if it reads as no correction."""
    said = " ".join(text.replace("’", "'").split())
    if not said or len(said) > MOST_CHARS:
        return None
    found = _read_chinese(_ZH_LEAD.sub("", said)) if is_mostly_cjk(said) else _read_english(_EN_LEAD.sub("", said))
    if found is None or not _telling(found.wrong) or fold(found.wrong) == fold(found.right):
        return None
    if found.action == "replace" and _ATTRIBUTE.search(found.wrong) and not _ATTRIBUTE.search(found.right):
        return None
    return found


def holds(text: str, words: str) -> bool:
    """Whether the text says these words; Latin ones only as whole words."""
    return _places(text, words) != []


def bears_on(part: str, correction: Correction) -> bool:
    """Whether this part of a text says what is wrong: it holds the wrong words and speaks of the same matter."""
    if not holds(part, correction.wrong):
        return False
    about = _matter(correction.about, (correction.subject, correction.wrong, correction.right))
    return (
        not about
        or bool(about & _terms(part))
        or any(_of_group(correction.about, g) and _of_group(part, g) for g in _SAME_MATTER)
    )


def corrected(text: str, correction: Correction) -> str:
    """The text with the wrong words replaced, or without the parts that hold them; the same text if it holds none."""
    pattern = _PART if is_mostly_cjk(text) else _PART_EN
    parts = pattern.findall(text) or [text]
    whole = len(parts) > 1 and not any(bears_on(part, correction) for part in parts) and bears_on(text, correction)
    kept: list[str] = []
    for part in parts:
        if not (holds(part, correction.wrong) if whole else bears_on(part, correction)):
            kept.append(part)
        elif correction.right:
            kept.append(_replaced(part, correction.wrong, correction.right))
    return "".join(kept).strip().rstrip("，,；;").strip()


def _read_chinese(said: str) -> Correction | None:
    if found := _ZH_FORGET.match(said) or _ZH_FORGET_LAST.match(said):
        return _forgotten_chinese(found["what"])
    if _ZH_FIXED.search(said):
        return None
    if found := _towards(said):
        return found
    if found := _ZH_SPLIT.match(said):
        wrong, right, verb = _apart_chinese(found["first"], found["second"])
        subject = found["subject"].strip("的， ,") or ""
        return Correction("replace", wrong, right, _named(subject), f"{subject}{verb}") if wrong and right else None
    if (found := _ZH_AFTER.match(said)) and not _ZH_CHANGE.match(said):
        return _after_chinese(found["first"], found["wrong"])
    if found := _ZH_CHANGE.match(said):
        about, wrong = _of(found["wrong"])
        return Correction("replace", wrong, found["right"].strip(), _named(about), about)
    if found := _ZH_NO_LONGER.match(said):
        subject, first = found["subject"].strip(), found["first"].strip("了 ")
        ended = found["end"] or "再" in said or "已经" in said or "早就" in said
        head = _ZH_VERB_HEAD.match(first)
        wrong = first[head.end() :] if head and len(first) > head.end() else first
        if ended:
            return Correction("remove", wrong, "", _named(subject), f"{subject}{first[: len(first) - len(wrong)]}")
    if (found := _ZH_HAS_NOT.match(said)) and _named(found["subject"]):
        return Correction("remove", found["wrong"].strip(), "", _named(found["subject"]), found["subject"])
    return None


def _towards(said: str) -> Correction | None:
    """`我对花生不过敏，是对虾过敏`: what somebody is not, towards something."""
    found = _ZH_TOWARDS.match(said)
    if found is None:
        return None
    subject, wrong, what = found["subject"], found["wrong"] or found["wrong2"], found["what"] or found["what2"]
    right = (found["right"] or "").strip().removesuffix(what)
    return Correction("replace" if right else "remove", wrong.strip(), right, _named(subject), f"{subject}{what}")


def _apart_chinese(first: str, second: str) -> tuple[str, str, str]:
    """(wrong, right, the words both begin with): 住在上海 / 住在杭州 differ in the place."""
    first, second = first.strip("了的 "), second.strip()
    head = _ZH_VERB_HEAD.match(first)
    verb = head.group() if head else ""
    if verb and second.startswith(verb):
        return first[len(verb) :].strip(), second[len(verb) :].removeprefix("的").removeprefix("是").strip(), verb
    other = _ZH_VERB_HEAD.match(second)
    if not verb or other is None:
        return "", "", verb
    return first[len(verb) :].strip(), second[other.end() :].strip(), verb


def _after_chinese(first: str, wrong: str) -> Correction | None:
    """`他住在杭州，不是上海`."""
    found = _ZH_SUBJECT_VERB.match(first.strip())
    if found is None:
        return None
    head = _ZH_VERB_HEAD.match(wrong)
    wrong = wrong[head.end() :] if head and len(wrong) > head.end() else wrong
    subject = found["subject"].strip()
    return Correction("replace", wrong.strip(), found["object"].strip(), _named(subject), f"{subject}{found['verb']}")


def _forgotten_chinese(what: str) -> Correction | None:
    what = what.strip("的， ")
    found = re.match(rf"^(?P<subject>我们|我|他|她|[^\s，]{{2,4}}?)(?P<verb>{_ZH_VERBS})(?P<object>.+)$", what)
    if found:
        return Correction("remove", found["object"], "", _named(found["subject"]), f"{found['subject']}{found['verb']}")
    subject, rest = _of(what)
    if not subject and what[:1] in "我他她" and len(what) > 2:
        subject, rest = what[0], what[1:]
    return Correction("remove", rest, "", _named(subject), subject)


def _of(words: str) -> tuple[str, str]:
    """(whom or what, its part): `小王的生日` is of 小王."""
    owner, mark, rest = words.strip().partition("的")
    return (owner, rest) if mark and rest and len(owner) <= 8 else ("", words.strip())


def _read_english(said: str) -> Correction | None:
    if found := _EN_FORGET.match(said):
        return _forgotten_english(found["what"])
    if found := _EN_CHANGE.match(said) or _EN_SHOULD.match(said):
        return Correction("replace", _bare(found["wrong"]), _bare(found["right"]))
    if found := _EN_NOT_BUT.match(said):
        return None if _EN_CLAUSE.match(found["right"]) else _not_but(found["about"], found["wrong"], found["right"])
    if (found := _EN_SPLIT.match(said)) and not re.fullmatch(_EN_NOT, found["second"], re.I):
        copula = bool(_EN_IS_NOT.search(said[: found.start("first")])) and not _EN_CLAUSE.match(found["second"])
        wrong, right, verb = _apart_english(found["first"], found["second"], copula=copula)
        subject = found["subject"].strip()
        return Correction("replace", wrong, right, _named(subject), f"{subject} {verb}") if wrong and right else None
    if found := _EN_AFTER.match(said):
        return _after_english(found["first"], found["wrong"])
    if (found := _EN_NO_LONGER.match(said)) and (found["end"] or "no longer" in said.lower()):
        subject, (verb, wrong) = found["subject"].strip(), _verb_and_object(found["first"])
        return Correction("remove", wrong, "", _named(subject), f"{subject} {verb}")
    return None


def _apart_english(first: str, second: str, *, copula: bool) -> tuple[str, str, str]:
    """(wrong, right, the words both begin with): `work at Google` / `works at Stripe` differ in the company."""
    said, instead = first.split(), _EN_COPULA.sub("", second).split()
    shared = 0
    for a, b in zip(said[:-1], instead[:-1], strict=False):
        if _plain(a) != _plain(b):
            break
        shared += 1
    verb = " ".join(said[:shared])
    if not verb and not copula:
        return "", "", verb
    return _bare(" ".join(said[shared:])), _bare(" ".join(instead[shared:])), verb


def _not_but(about: str, wrong: str, right: str) -> Correction:
    """`not allergic to peanuts but to cashews`: what comes before the shared small word belongs to the matter."""
    small = _EN_SMALL.match(right)
    before = [m for m in _EN_SMALL.finditer(wrong) if small and m.group().lower() == small.group().lower()]
    cut = before[-1].end() if before else 0
    if not cut:
        words = list(re.finditer(r"\S+", wrong))
        shorter = len(_bare(right).split())
        cut = words[-shorter].start() if len(words) > shorter else 0
    subject = _EN_SUBJECT.match(about)
    return Correction(
        "replace", _bare(wrong[cut:]), _bare(right), _named(subject["subject"]) if subject else "",
        f"{about} {wrong[:cut]}".strip(),
    )  # fmt: skip


def _after_english(first: str, wrong: str) -> Correction | None:
    """`the meeting was on Tuesday, not Monday`: the right word is the last one of the same kind."""
    wrong = _bare(wrong)
    words = first.split()
    count = min(len(wrong.split()), len(words) - 1)
    if count < 1:
        return None
    right, about = " ".join(words[-count:]), " ".join(words[:-count])
    found = _EN_SUBJECT.match(about)
    return Correction("replace", wrong, _bare(right), _named(found["subject"]) if found else "", about)


def _forgotten_english(what: str) -> Correction | None:
    found = _EN_SUBJECT.match(what.strip())
    if found is None or not found["rest"]:
        return Correction("remove", _bare(what))
    verb, wrong = _verb_and_object(found["rest"])
    return Correction("remove", wrong, "", _named(found["subject"]), f"{found['subject']} {verb}")


def _verb_and_object(words: str) -> tuple[str, str]:
    """(`like`, `coffee`): the object is what follows the verb and its small words; alone, the verb is the object."""
    verb, _, rest = words.strip().partition(" ")
    rest = _bare(rest)
    return (verb, rest) if rest else ("", verb)


def _plain(word: str) -> str:
    """A word without the ending of a third person or a plural: lives and live, owns and own."""
    word = fold(word).strip(".,!?'")
    for ending in ("ies", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return (word.removesuffix(ending) + ("y" if ending == "ies" else "")).removesuffix("e")
    return word.removesuffix("e")


def _bare(words: str) -> str:
    return _EN_HEAD.sub("", words.strip().strip("\"“”'")).strip()


def _named(subject: str) -> str:
    subject = _ZH_ADVERB.sub("", re.sub(r"(?:'s.*|的.*)$", "", subject.strip()))
    return "" if fold(subject) in _NOBODY else subject


def _telling(words: str) -> bool:
    return bool(tokens(words)) and len(words) <= 200


def _matter(about: str, but: Sequence[str]) -> set[str]:
    """Content terms of the rest of the sentence, without those of the names and values."""
    without = {term for words in but for term in _terms(words)}
    return {term for term in _terms(about) if term not in without and term not in _EMPTY}


def _terms(text: str) -> set[str]:
    """Content terms, Latin words also without their endings."""
    return set(tokens(text)) | {_plain(word) for word in re.findall(r"[A-Za-z]{4,}", text) if tokens(word)}


def _of_group(text: str, words: re.Pattern[str]) -> bool:
    return words.search(text) is not None


_SAME_MATTER = (
    re.compile(r"住|搬|定居|落户|\b(?:liv(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|resid\w+|settled?|based)\b", re.I),
    re.compile(r"工作|上班|就职|任职|入职|公司|\b(?:work\w*|job|employ\w*|join(?:ed)?|hired)\b", re.I),
    re.compile(r"叫|名字|姓|\b(?:call(?:ed)?|name[ds]?)\b", re.I),
    re.compile(r"过敏|不能吃|\b(?:allerg\w+|can't eat|cannot eat)\b", re.I),
)
"""Words that speak of the same matter: where somebody lives, works, what they are called, what they do not stand."""


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
