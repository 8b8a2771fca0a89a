"""What kind of answer a question wants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...language.normalise import fold
from ...lazy_regex import lazy_regex

__all__ = ["AnswerType", "Kind", "read_answer_type"]

Kind = Literal["person", "place", "time", "duration", "number", "reason", "yes_no", "thing", "list", ""]
"""What an answer must name; `list` is several things, an empty one anything."""


@dataclass(frozen=True, slots=True)
class AnswerType:
    """What a question asks for, by its form."""

    kind: Kind = ""
    wants: str = ""
    """The noun that names what is asked for, folded as `fold` does; empty if the question does not plainly name it."""


def read_answer_type(text: str) -> AnswerType:
    """The kind of answer that the last question of a text wants; an empty one if nothing is asked.

    A question inside a polite or doubtful one counts ("do you know where…", "你知道谁…吗"). A text without a question
    mark is a question if it begins as one, or holds a Chinese word that asks.
    """
    question = _question(text)
    folded = fold(question)
    if not folded.isascii() and (asked := _chinese(folded)):
        return asked
    return _english(question.translate(_STRAIGHT))


_MEASURE_WORDS = "个种家只本座部首类款间条张件门支场所台辆幅道届位名次"
_REACH = 400
"""How many characters of a question are read."""
_BREAK = lazy_regex(r"[?？!！。\n]|(?<!\b[MDmd]r)(?<!\b[Mm]s)(?<!\b[Ss]t)(?<!\b[Mm]rs)\.(?=\s)")
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "？": "?", "，": ","})


def _question(text: str) -> str:
    """The last sentence that ends in a question mark, or the beginning of the text if there is none."""
    marked = max(text.rfind("?"), text.rfind("？"))
    if marked < 0:
        return text[:_REACH].strip()
    asked = text[max(0, marked - _REACH) : marked + 1].rstrip("?？")
    begin = max((match.end() for match in _BREAK.finditer(asked)), default=0)
    return asked[begin:].strip() + "?"


# Nouns

_NOUN_WORDS: dict[Kind, str] = {
    "place": """city town village country state county province region district area neighbourhood neighborhood street
        address place location spot destination hometown restaurant cafe bar pub hotel museum park beach island airport
        station venue hospital university college school library gym shop store church building room
        城市 国家 地方 地点 城 省份 省 县 区 镇 村 街 地址 位置 小区 餐厅 饭店 酒店 咖啡馆 博物馆 公园 海滩 岛 机场 车站 医院 大学 学校
        图书馆 商场 店 老家 家乡""",
    "person": """person man woman guy girl boy friend child kid sibling brother sister relative cousin colleague coworker
        teacher doctor boss neighbour neighbor singer actor actress author artist student classmate roommate partner
        people men women children kids 人 朋友 同事 同学 老师 医生 老板 邻居 歌手 演员 作家 作者 亲戚 室友 家人 男生 女生 孩子""",
    "time": """time date day week weekend month year season decade hour birthday 时间 日子 日期 日 天 周 月 月份 年 年份 季节 星期""",
    "number": """number age price cost amount salary percentage size height weight score 数字 号码 价格 价钱 年龄 岁数 数量 身高 体重""",
    "reason": "reason reasons cause motivation motive 原因 理由",
    "duration": "duration",
}
_KINDS: dict[str, Kind] = {noun: kind for kind, nouns in _NOUN_WORDS.items() for noun in nouns.split()}
_EMPTY_NOUNS = {"thing", "things", "stuff", "one", "ones", "东西", "事", "事情", "样子", "关系", "意思"}
_UNITS = {"second", "minute", "hour", "day", "night", "week", "weekend", "month", "year", "decade"}
_IRREGULAR = {"people", "men", "women", "children", "feet", "teeth", "mice"}
_NOT_PLURAL = lazy_regex(r"(?:ss|us|is|news|series|species|gas|lens|means|politics|physics|mathematics|maths|chess)$")


def _is_plural(noun: str) -> bool:
    return noun in _IRREGULAR or (noun.endswith("s") and len(noun) > 3 and not _NOT_PLURAL.search(noun))


def _singular(noun: str) -> str:
    if not _is_plural(noun) or noun in _IRREGULAR:
        return noun
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    return noun[:-2] if noun.endswith(("shes", "ches", "xes", "sses")) else noun[:-1]


def _of_noun(noun: str, plural: bool) -> AnswerType:
    """What is asked for by "which cities" or "哪些城市"; the noun may be empty."""
    kind = _KINDS.get(noun) or _KINDS.get(_singular(noun)) or ("list" if plural else "thing")
    return AnswerType(kind, "" if noun in _EMPTY_NOUNS else noun)


# English

_AUXILIARY = (
    r"(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|shall|may|might|must|am)(?:n't)?"
    r"|won't|can't|shan't|ain't"
)
_OPENING_EN = lazy_regex(
    r"(?:(?:so|and|but|or|ok|okay|oh|hey|hi|hello|please|well|also|then|actually|sorry|by the way)\b[, ]*+)*+"
    r"(?P<asking>(?:do|did|can|could|would|will|don't|might) you (?:please |still |even |ever |happen to |also )?(?:know|remember"
    r"|recall|tell (?:me|us)|remind me|guess|say|think|mind telling me)|(?:please )?(?:tell|remind|show) (?:me|us)(?: again)?"
    r"|i (?:wonder|was wondering|forgot|forget|can't remember|don't remember|don't know|want to know|need to know)"
    r"|i'm (?:wondering|curious)|i'd like to know|(?:have you )?any idea|guess)?+[, ]*(?:about |of )?(?P<whether>(?:if|whether)\b)?"
)
_WH = lazy_regex(r"(?<![a-z'-])(?:who|whom|whose|where|when|why|how|what|which)(?![a-z-])")
_INVERTED = lazy_regex(rf"(?:'s|'re|'d| (?:{_AUXILIARY}))(?![a-z])")
_YES_NO_EN = lazy_regex(rf"(?:{_AUXILIARY})(?![a-z'])")
_YES_NO_INSIDE = lazy_regex(rf",\s*(?:{_AUXILIARY}) (?:not )?[a-z]+")
_LIST_EN = lazy_regex(
    r"(?:(?:please|can you|could you) )?(?:(?:list|enumerate) (?:me )?|(?:name|give me|tell me) (?:me )?(?=all (?!about)|every |some |as many ))"
)
_CHOICE = lazy_regex(r"\bor\b(?! (?:not|so|more|less)\b)")
_AFTER_PREPOSITION = lazy_regex(
    r"(?:in|at|on|to|from|with|for|by|of|since|until|about|during|under|near|around|into|through) $"
)
_WORD = lazy_regex(
    r"[^\W\d_\u3040-\u9fff\uac00-\ud7af]++(?:['-][^\W\d_\u3040-\u9fff\uac00-\ud7af]++)*+'?|[,;:?.!()]|[0-9]+"
)
_STOP_TEXT = """
do does did is are was were has have had can could will would should shall may might must am i you he she it we they
me him us them who whom whose where when why how what which that this these those in at on to from with for by of since
until about during under near around into through over after before like as than and or but if because now today
currently ever most recently usually always also really actually first last lately so far then there
"""
_STOPS = frozenset(_STOP_TEXT.split())
_POSSESSIVES = frozenset({"the", "some", "all", "her", "his", "my", "your", "our", "their", "its"})
_DETERMINERS = _POSSESSIVES | {"a", "an", "any", "other", "else", "exactly", "every"}
_VERB_TEXT = """
came went gave took made got won wrote told said bought ran saw left met sold held built led sent paid kept lost found
began became brought taught makes causes happens keeps drives motivates inspires goes comes means matters happen make
cause keep drive motivate inspire go come mean matter helps help lives works wants want
"""
_VERBS = frozenset(_VERB_TEXT.split())
_ING_NOUNS = frozenset({
    "thing", "painting", "wedding", "meeting", "building", "clothing", "ring", "evening", "morning", "spring", "string",
    "song", "king", "training", "feeling", "meaning", "hearing", "drawing", "recording", "ending", "saying",
})  # fmt: skip
_HOW: dict[str, Kind] = {
    "long": "duration", "soon": "duration", "many": "number", "much": "number", "old": "number", "tall": "number",
    "far": "number", "big": "number", "large": "number", "heavy": "number", "high": "number", "deep": "number",
    "fast": "number", "wide": "number", "expensive": "number", "often": "time", "late": "time", "early": "time",
    "recently": "time", "frequently": "time", "come": "reason",
}  # fmt: skip
_SIMPLE: dict[str, Kind] = {
    "who": "person", "whom": "person", "whose": "person", "where": "place", "when": "time", "why": "reason",
}  # fmt: skip
_REASON_EN = lazy_regex(
    r"what(?: on earth)? (?:made|makes|caused|causes|prompted|prompts|motivated|motivates|drove|inspired|led|triggered)\b|what for\b"
)


def _english(question: str) -> AnswerType:
    lower = question.lower()
    if len(lower) != len(question):
        question = lower
    if listing := _LIST_EN.match(lower):
        return AnswerType("list", _head(_words(question[listing.end() :])))
    opening = _OPENING_EN.match(lower)
    begin, asking, whether = (opening.end(), opening["asking"], opening["whether"]) if opening else (0, None, None)
    if whether or (not asking and _YES_NO_EN.match(lower, begin)):
        return AnswerType("thing" if _CHOICE.search(lower) else "yes_no")
    word = _asking_word(lower, begin)
    if word and (asking or lower.endswith("?") or _stands_first(lower, word, begin)):
        return _of_wh(word[0], question[word.end() :], lower[word.start() :])
    if lower.endswith("?") and (asking or _YES_NO_INSIDE.search(lower)):
        return AnswerType("yes_no")
    return AnswerType()


def _asking_word(lower: str, begin: int) -> re.Match[str] | None:
    """The word that asks: one at the beginning, else the first before an auxiliary verb, else the first.

    "When I was there, what…" begins with a clause, not with a question.
    """
    found = list(_WH.finditer(lower, begin))
    if not found:
        return None
    inverted = [match for match in found if _INVERTED.match(lower, match.end())]
    first = found[0]
    is_clause = first[0] in ("when", "where", "while") and first not in inverted and inverted
    return inverted[0] if inverted and (is_clause or not _stands_first(lower, first, begin)) else first


def _stands_first(lower: str, word: re.Match[str], begin: int) -> bool:
    """Whether the word begins the question, a preposition of its own aside."""
    before = lower[begin : word.start()]
    return not before.strip() or (before.count(" ") == 1 and _AFTER_PREPOSITION.match(before) is not None)


def _of_wh(word: str, following: str, lower: str) -> AnswerType:
    words = _words(following)
    if word == "how":
        return _of_how(words)
    if word == "whose" or word not in ("what", "which"):
        return AnswerType(_SIMPLE[word])
    if _REASON_EN.match(lower):
        return AnswerType("reason")
    if words[:1] in (["if"], ["about"]):
        return AnswerType()
    return _of_what(words)


def _of_how(words: Sequence[str]) -> AnswerType:
    first, second = ([word.lower() for word in words[:2]] + ["", ""])[:2]
    kind = _HOW.get(first, "")
    if first == "long" and second == "ago":
        return AnswerType("time")
    if first not in ("many", "much"):
        return AnswerType(kind)
    if second == "time" or _singular(second) in _UNITS:
        return AnswerType("duration")
    return AnswerType(kind, wants="" if second == "times" else _head(words[1:]))


def _of_what(words: Sequence[str]) -> AnswerType:
    """What "what books has she read", "which of the cities" or "what are her hobbies" asks for."""
    words = [word for word in words if word.lower() != "else"]
    several = any(word.lower() in ("all", "kinds", "types", "sorts") for word in words[:2])
    verb = words[0].lower() if words else ""
    if verb in ("is", "was", "'s", "are", "were", "'re"):
        noun = _head(words[1:]) if _has_owner(words[1:]) else ""
        several = several or (verb in ("are", "were", "'re") and _is_plural(noun))
    else:
        noun = _head(words)
        several = several or _is_plural(noun)
    return _of_noun(noun, several)


def _has_owner(words: Sequence[str]) -> bool:
    """Whether a noun phrase says whose or which it is about: "her job", "Ann's job", "the job"."""
    return any(word.lower() in _POSSESSIVES or word.endswith(("'s", "s'")) for word in words[:4])


def _words(following: str) -> list[str]:
    """The next words and marks; "'s" of a question word stands alone."""
    short = re.match(r"'(?:s|re|d)(?![a-z])", following)
    head = [short[0]] if short else []
    return head + _WORD.findall(following[short.end() if short else 0 : 160])[:12]


def _head(words: Sequence[str]) -> str:
    """The noun that a phrase is about, in lower case: the last word before a verb, a preposition or another name."""
    taken: list[str] = []
    capital = True
    for word in _after_kind_of(words):
        lower = word.lower()
        if lower == "of" and not taken:
            continue
        if lower in _STOPS or not lower[0].isalpha() or (taken and word[0].isupper() and not capital):
            break
        capital = word[0].isupper()
        if lower.endswith(("'s", "s'")):
            taken.clear()
        elif lower not in _DETERMINERS:
            taken.append(lower)
        elif taken:
            break
    return _without_verbs(taken)


def _after_kind_of(words: Sequence[str]) -> Sequence[str]:
    """Leave out "kind of" and "types of"."""
    for place, word in enumerate(words[:3]):
        if word.lower() in ("kind", "kinds", "type", "types", "sort", "sorts") and [
            w.lower() for w in words[place + 1 : place + 2]
        ] == ["of"]:
            return words[place + 2 :]
    return words


def _without_verbs(nouns: list[str]) -> str:
    """The last noun, unless the phrase turns out to be about what somebody is doing."""
    while nouns and (nouns[-1] in _VERBS or (nouns[-1].endswith("ed") and len(nouns[-1]) > 4)):
        nouns.pop()
    if not nouns or (nouns[-1].endswith("ing") and nouns[-1] not in _ING_NOUNS):
        return ""
    return nouns[-1]


# Chinese

_ASK_ZH = lazy_regex(
    r"(?P<reason>[为因]+[什甚]么|为了[什甚]么|为啥|为何|[什甚]么原因|凭什么|何故|怎么会)"
    r"|(?P<time>几几年|[什甚]么(?:时候|时间|日子|日期)|啥时候?|何时|几时|哪一?[天年月日周]|哪个(?:月|星期|季节|周末)|(?:星期|周)几|几[点号月]"
    r"|多久(?:以?前|之前|一次)|多少号)"
    r"|(?P<duration>多久|多长时间|多少(?:秒|分钟|个?小时|天|周|个?月|年|个?星期)"
    r"|(?<![好这那前后近十])几(?:天|年(?!级)|个月|周|个?小时|分钟|个?星期|个钟头))"
    rf"|(?P<place>哪[里儿]|[什甚]么地方|啥地方|何处|(?<=[在去到从往回住])哪(?![些天年一几怕{_MEASURE_WORDS}]))"
    r"|(?P<person>谁|哪位|(?:[什甚]么|啥)人(?![气生工类])|何人)"
    r"|(?P<number>多少|多[大高重远贵](?=\W|[了呀啊]|$)|第几|(?<![好这那前近过十上下最茶])几(?=[\u4e00-\u9fff])(?![乎何率内]))"
    rf"|(?P<thing>(?<!没)[什甚]么|(?<!没)啥|哪(?:些|[一几]?[{_MEASURE_WORDS}]|几))"
)
_NOUN_ZH = lazy_regex(
    r"(?:样的|样子的|类型的|种类的)?(?P<noun>(?:(?![是的了吗呢啊吧呀么我你他她它妳您们在有没不让给把被和跟与或最都也可要去来做更过得就]"
    r"|会(?!议)|对(?![手象])|(?<![智功技性])能(?!力)|比(?!赛)|才(?!能)|看(?!法)|写(?!作)|读(?![物者])|玩(?!具)|住(?![处址])|[买吃喝丢]|(?<!作)用|(?<!爱)好)[\u4e00-\u9fffa-z]){1,9})"
)
_MEASURED_NOUN_ZH = lazy_regex(rf"[{_MEASURE_WORDS}]?+{_NOUN_ZH.pattern}")
_SEVERAL_ZH = lazy_regex(
    r"哪些|哪几|都.{0,6}?(?:[什甚]么|谁|哪|啥)|(?<!没)有过?(?:[什甚]么|啥)(?!时候|意思|关系|用|事)|有谁"
    r"|(?:[什甚]么|谁|哪里|哪儿)和(?:[什甚]么|谁|哪)|分别"
)
_LIST_ZH = lazy_regex("列出|列举|罗列")
_YES_NO_ZH = lazy_regex(
    r"吗\W*$|有没有|有无|是否|(?P<verb>[\u4e00-\u9fff])[不没](?P=verb)|[了过]没\W*$|没有\W*\?$|[对是]吧\W*$"
)
_CHOICE_ZH = lazy_regex(r"还是[^?]{1,20}\?$")


def _chinese(folded: str) -> AnswerType | None:
    """What the first Chinese word that asks wants; None if there is none."""
    if _LIST_ZH.search(folded):
        return AnswerType("list")
    if asking := _ASK_ZH.search(folded):
        return _of_word_zh(folded, asking)
    if _CHOICE_ZH.search(folded):
        return AnswerType("thing")
    return AnswerType("yes_no") if _YES_NO_ZH.search(folded) else None


def _of_word_zh(folded: str, asking: re.Match[str]) -> AnswerType:
    match asking.lastgroup:
        case "thing":
            several = _SEVERAL_ZH.search(folded) is not None
            return _of_noun(_noun_zh(_NOUN_ZH.match(folded, asking.end())), several)
        case "number":
            return AnswerType("number", wants=_noun_zh(_MEASURED_NOUN_ZH.match(folded, asking.end())))
        case "person":
            return AnswerType("person")
        case "place":
            return AnswerType("place")
        case "time":
            return AnswerType("time")
        case "duration":
            return AnswerType("duration")
        case _:
            return AnswerType("reason")


def _noun_zh(match: re.Match[str] | None) -> str:
    """The noun after a word that asks: a known one, or what stands there if it is short enough to be one."""
    if match is None:
        return ""
    noun = match["noun"]
    known = (noun[:size] for size in (4, 3, 2) if noun[:size] in _KINDS or noun[:size] in _EMPTY_NOUNS)
    return next(known, noun if len(noun) <= 4 else "")
