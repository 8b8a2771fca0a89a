"""Where in a course of events a query looks: the first or the last of them, or those around another event."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from ...language.normalise import fold
from ...lazy_regex import lazy_regex

__all__ = ["End", "Ordering", "Relation", "read_ordering"]

End = Literal["first", "last", ""]
"""Which of several events is asked for."""
Relation = Literal["before", "after", ""]
"""Where what is asked for lies, seen from another event."""


@dataclass(frozen=True, slots=True)
class Ordering:
    """What a query says about the order of events."""

    end: End = ""
    relation: Relation = ""
    anchor: str = ""
    """The other event as written; empty if it is a time, or something said earlier ("after that")."""
    offset_seconds: float = 0.0
    """How far from the anchor, never negative; 0 if the query does not say."""
    offset_span: float = 0.0
    """By how many seconds the offset may be off: one of its units, more for "a few"."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A relation with the stretch of the text that says it; "during" relates nothing, but its stretch is an aside."""

    relation: Relation
    stretch: tuple[int, int]
    anchor: tuple[int, int] = (0, 0)
    offset: tuple[float, float] = (0.0, 0.0)


def read_ordering(text: str, *, persons: Collection[str] = ()) -> Ordering:
    """What a text says about the order of events: its first relation to another event, and which end is asked for.

    `persons` are names that are no events by themselves, as in "林澈之前住在哪里". Words about first and last within the
    anchor ("after her first job") describe the anchor and not what is asked for.
    """
    folded = fold(text)
    source = text if len(text) == len(folded) else folded
    found = None
    if _WORDS.search(folded):
        links = islice(_LINK_EN.finditer(folded), _MOST_LINKS)
        found = next(filter(None, (_link_en(folded, link) for link in links)), None)
    if found is None and not folded.isascii():
        names, links = {fold(name) for name in persons}, islice(_LINK_ZH.finditer(folded), _MOST_LINKS)
        found = next(filter(None, (_link_zh(folded, link, names) for link in links)), None)
    if found is None:
        return Ordering(_end(folded))
    begin, end = found.stretch
    anchor = source[slice(*found.anchor)]
    return Ordering(_end(f"{folded[:begin]}\n{folded[end:]}"), found.relation, anchor, *found.offset)


# First and last

_NOT_FIRST = (
    "aid|and foremost|avenue|base|baptist|born|choice|class|come|cousins?|degree|edition|floor|generation|glance|grade"
    "|graders?|half|hand|hours?|initial|lady|language|lieutenant|line|mate|minister|names?|nations?|of all|officer|person"
    "|place|principles?|prize|quarter|rate|responders?|row|sergeant|sight|street|thing in the morning|world|year"
    "|(?:days?|weeks?|weekend|months?|half|(?:mon|tues|wednes|thurs|fri|satur|sun)day) of"
    "|of (?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_TIMES = (
    "seconds?|minutes?|hours?|days?|nights?|weeks?|weekends?|months?|quarters?|semesters?|years?|decades?|century|morning|afternoon"
    "|evening|spring|summer|autumn|fall|winter|season|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may"
    "|june|july|august|september|october|november|december|christmas|easter|thanksgiving|halloween|new year"
)
_NOT_LAST = (
    rf"{_TIMES}|[0-9]+|two|three|four|five|six|seven|ten|few|couple|several|names?|straws?|resorts?|call|stand|words?|laugh"
    "|supper|but not least|but one|of all|ditch|rites|for|until|till|long|longer|forever|through|throughout|over|more|less"
    "|about|around|at|under|only|all|beyond|past|and|or"
)
_FIRST_EN = lazy_regex(
    rf"(?<![a-z0-9'-])(?:(?<!come )(?<!comes )(?<!came )(?<!ladies )(?<!safety )first(?![a-z0-9'-]| (?:{_NOT_FIRST})(?![a-z]))"
    r"|earliest|initially|originally(?! from))(?![a-z0-9-])"
)
_LAST_EN = lazy_regex(
    rf"(?<![a-z0-9'-])(?:(?<!at )(?<!at long )(?<!to )(?<!second )last(?=[ ]+[a-z0-9])(?! (?:{_NOT_LAST})(?![a-z]))"
    r"|(?<!at the )latest|most recent(?:ly)?|newest)(?![a-z0-9-])"
)
_NOW_EN = lazy_regex(
    r"(?<![a-z0-9'-])(?:currently|(?<!electric )(?<!ocean )(?<!direct )(?<!alternating )current(?! (?:affairs|events?|accounts?))(?= [a-z])"
    r"|at present|at the moment|right now|nowadays|these days"
    r"|(?<!by )(?<!until )(?<!till )(?<!from )(?<!just )(?<!and )(?<!before )(?<!up to )now(?! (?:and then|that)(?![a-z])))(?![a-z0-9-])"
)
_ONE_OF = "(?:个(?!月|周|年|星期|礼拜|小时)|段(?!时)|部(?!分)|[次回份只本台辆家场位任封张条套趟届款首篇顿])"
_FIRST_ZH = lazy_regex(rf"最早|最初|最先|最开始|第[一1]{_ONE_OF}|首次|首度|头一[次回个]|起初|[一刚]开始")
_LAST_ZH = lazy_regex(
    rf"最[近后]的?[一那这]{_ONE_OF}|(?<![早晚])上一?次|(?<![早晚路])上一?回(?![家到来去复])|最新|最晚"
)
_NOW_ZH = lazy_regex(r"(?<![到至从])(?:现在|目前)(?!分词|进行时|完成时|为止)|如今|眼下|(?<!相)(?<!适)当前")


_WORDS = lazy_regex("[a-z]{3}")


def _end(folded: str) -> End:
    """Superlatives before words for the present; none if both ends are named."""
    first = _says(folded, _FIRST_EN, _FIRST_ZH)
    last = _says(folded, _LAST_EN, _LAST_ZH)
    if first or last:
        return "" if first and last else "first" if first else "last"
    return "last" if _says(folded, _NOW_EN, _NOW_ZH) else ""


def _says(folded: str, english: re.Pattern[str], chinese: re.Pattern[str]) -> bool:
    if _WORDS.search(folded) and english.search(folded):
        return True
    return not folded.isascii() and chinese.search(folded) is not None


# Amounts of time

_SECONDS = {
    "second": 1, "秒": 1, "minute": 60, "分": 60, "hour": 3600, "小时": 3600, "钟头": 3600,
    "day": 86_400, "night": 86_400, "morning": 86_400, "evening": 86_400, "天": 86_400, "日": 86_400,
    "week": 604_800, "周": 604_800, "星期": 604_800, "礼拜": 604_800, "fortnight": 1_209_600,
    "month": 2_592_000, "月": 2_592_000, "year": 31_536_000, "年": 31_536_000, "decade": 315_360_000,
}  # fmt: skip
"""A month has 30 days, a year 365."""
_COUNTS = {
    "a": 1, "an": 1, "the": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
    "couple": 2, "couple of": 2, "half a": 0.5, "half an": 0.5, "半": 0.5, "几": 4, "好几": 5, "few": 4, "several": 4,
}  # fmt: skip
_VAGUE = frozenset({"few", "several", "几", "好几"})
_DIGITS = {digit: number for number, digit in enumerate("〇一二三四五六七八九")} | {"两": 2}
_AMOUNT_EN = (
    rf"(?:(?:the|a) (?=few|couple|half))?(?P<n>[0-9]{{1,4}}|couple(?: of)?|{'|'.join(n for n in _COUNTS if n.isascii() and n != 'couple')})"
    r"(?P<plus>-and-a-half| and a half)?[ -](?:or (?:two|so|three) )?(?:(?:very|whole|full|next|following) )?"
    r"(?P<unit>second|minute|hour|day|night|morning|evening|week|fortnight|month|year|decade)s?(?P<half> and a half)?(?: or (?:so|two))?"
)
_AMOUNT_ZH = (
    r"(?<![〇零一二三四五六七八九十百千第月0-9.])(?P<n>[0-9]{1,3}|半|好?几|[一二三四五六七八九十两]{1,3})(?P<some>个(?P<plus>半)?)?"
    r"(?P<unit>秒|分(?=钟)|小时|钟头|天|日|周|星期|礼拜|(?<=[个半])月|年)钟?(?P<half>半)?[多来]?"
)
_BEFORE_WORD_EN = lazy_regex(rf"(?<![a-z0-9'-]){_AMOUNT_EN} (?:(?:right|just|immediately|shortly|even|or more) )?$")
_AMOUNT_ALONE_EN = lazy_regex(_AMOUNT_EN)
_BEFORE_WORD_ZH = lazy_regex(rf"(?:大约|大概|差不多|约)?{_AMOUNT_ZH}$")
_AFTER_WORD_ZH = lazy_regex(
    rf"的?(?:大约|大概|差不多|约)?(?P<nth>第(?=[一二三四五六七八九十两0-9]))?{_AMOUNT_ZH.replace('第', '')}"
)


def _offset(match: re.Match[str]) -> tuple[float, float]:
    """Seconds, and by how many they may be off."""
    words, unit = match["n"], _SECONDS[match["unit"]]
    count = _COUNTS[words] if words in _COUNTS else _number(words)
    if match["plus"] or match["half"]:
        count += 0.5
    if match.groupdict().get("nth"):
        count -= 1  # the second day is one day later
    span = 3 * unit if words in _VAGUE else unit / 2 if count == 0.5 else unit
    return float(count * unit), float(span)


def _number(words: str) -> int:
    """`12`, `三` or `二十四`."""
    if words.isdigit() and words.isascii():
        return int(words)
    tens, ten, ones = words.rpartition("十")
    return (_DIGITS.get(tens[-1:], 1) * 10 if ten else 0) + _DIGITS.get(ones[-1:], 0)


# English

_REACH = 160
"""How many characters of an anchor are read."""
_MOST_LINKS = 32
"""How many linking words of a text are tried."""
_LINK_EN = lazy_regex(
    r"(?<![a-z0-9'-])(?:(?P<before>before|prior to|previous to)"
    r"|(?P<after>(?<!before and )(?<!before or )after)|(?P<during>during|throughout|while|amid)"
    r"|(?P<later>later|afterwards?)|(?P<earlier>earlier|beforehand))(?![a-z0-9'-])"
)
_RELATIONS: dict[str, Relation] = {
    "before": "before", "earlier": "before", "after": "after", "later": "after", "during": "",
}  # fmt: skip
_LAST_WORD = lazy_regex(r"([a-z']+) $")
_NOT_AFTER = {
    "look", "looks", "looked", "looking", "name", "named", "naming", "chase", "chased", "chasing", "inquire", "ever",
}  # fmt: skip
_NOT_WHILE = {"a", "the", "this", "that", "some", "little", "long", "short", "good", "great", "worth", "quite"}
_NO_EVENT_EN = lazy_regex(
    r" (?:all(?! (?:the|that|this|these|those|of|my|your|his|her|its|our|their)\b)"
    r"|(?:long(?: (?:i|you|he|she|it|we|they) .*)?|you|me|him|us|them|last|next|yesterday|tomorrow|(?:and|or|but|to|than) .*|another|the other)$)"
)
_KIN_EN = lazy_regex(
    r" (?:my|your|his|her|its|our|their|the) (?:grand)?(?:mother|father|mum|mom|dad|parent|aunt|uncle)s?$"
)
_SAID_BEFORE_EN = lazy_regex(
    r"(?:it|that|this|then|these|those|which|what|(?:a|some|that|this) (?:while|time|point)|long)$"
)
_CLAUSE_END_EN = lazy_regex(
    r"[?!,;:\n()\"“”。、]|(?<!\bmr)(?<!\bdr)(?<!\bms)(?<!\bst)(?<!\bmrs)\.(?=\s|$)"
    r"| (?:(?:and|but|or) )?(?:then )?(?:right )?(?:before|after|during|while|prior to)(?![a-z0-9'-])"
    r"| (?:and|but|or) (?:what|who|where|when|which|how|why|did|does|do|is|was|are|were) "
)
_MAIN_CLAUSE_EN = lazy_regex(
    r"(?<=[a-z0-9]) (?:(?:what|who|where|which|how|why|when) |(?:did|do|does)(?:n't)? [a-z]+ (?=[a-z])"
    r"|(?:did|do|does|was|were|is|are|will|would|has|have|had|can|could)(?:n't)?"
    r" (?:i|you|he|she|it|we|they|the|my|your|his|her|our|their)(?![a-z]))"
)
_ASKS_HOW_FAR = lazy_regex(
    r"\bhow (?:long|soon|many|much)\b[^?.!]{0,30}$|(?:^|[.!?,\n])\s*(?:and |so |but |right |just )?$"
)
_TIME_WORD_EN = (
    r"(?:a\.m|p\.m|the|a|of|in|on|at|around|about|by|late|early|mid|end|middle|beginning|start|last|next|this|that|past|previous|coming|all"
    rf"|{_TIMES}|day|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed|thu(?:rs)?|fri|sat|sun|today|tonight|tomorrow"
    r"|yesterday|now|noon|midday|midnight|am|pm|o'clock|bc|ad|half|quarter|one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|[0-9]{1,4}(?:[:/.-][0-9]{1,4}){0,2}(?:st|nd|rd|th|s|'s|am|pm)?)"
)
_TIME_ANCHOR_EN = lazy_regex(rf"(?>{_TIME_WORD_EN}(?:'s)?(?![a-z0-9])[ ,.-]*+)++")


def _link_en(folded: str, link: re.Match[str]) -> _Found | None:
    """What one linking word says, or None if it joins no two events."""
    relation = _RELATIONS[link.lastgroup or ""]
    before = folded[max(0, link.start() - 60) : link.start()]
    amount = _BEFORE_WORD_EN.search(before) if relation else None
    offset = _offset(amount) if amount else (0.0, 0.0)
    begin, end = link.start() - (len(before) - amount.start() if amount else 0), link.end()
    phrase = ""
    if link.lastgroup not in ("later", "earlier"):
        phrase = folded[end : end + _anchor_length(folded[end : end + _REACH], folded[max(0, begin - 60) : begin])]
    if _is_idiom(link[0], before, phrase) or not (phrase or amount):
        return None
    event, anchor = phrase.strip(), (0, 0)
    if relation and not (_SAID_BEFORE_EN.fullmatch(event) or _TIME_ANCHOR_EN.fullmatch(event)):
        at = end + phrase.index(event)
        anchor = (at, at + len(event))
    found = _Found(relation, (begin, end + len(phrase)), anchor, offset)
    if amount is None and relation and (later := _AMOUNT_ALONE_EN.fullmatch(phrase.strip())):
        return replace(found, anchor=(0, 0), offset=_offset(later))
    return found


def _anchor_length(following: str, before: str) -> int:
    """How many characters the clause after a linking word has."""
    stop = _CLAUSE_END_EN.search(following)
    if stop:
        following = following[: stop.start()]
    elif len(following) == _REACH:
        following = following.rpartition(" ")[0]
    if not (stop and stop[0] == ",") and _ASKS_HOW_FAR.search(before) and (main := _MAIN_CLAUSE_EN.search(following)):
        following = following[: main.start()]
    return len(following.rstrip(" .'-"))


def _is_idiom(link: str, before: str, phrase: str) -> bool:
    """Whether the word joins no two events: "look after", "day after day", "after all", "in a while"."""
    previous = match[1] if (match := _LAST_WORD.search(before[-24:])) else ""
    if link == "while":
        return previous in _NOT_WHILE or not phrase
    if previous and phrase.split()[:1] == [previous]:
        return True
    if link == "after" and (
        previous in _NOT_AFTER or (previous in ("take", "takes", "took") and _KIN_EN.fullmatch(phrase))
    ):
        return True
    return _NO_EVENT_EN.match(phrase) is not None


# Chinese

_NUMERAL = "0-9〇零一二三四五六七八九十两几半"
_LINK_ZH = lazy_regex(
    r"(?P<before>(?:之|以)前|前夕|(?<![目以之从先提当眼面跟午史空门向往最靠超])前(?!天|年|面|任|[男女]|妻|夫|台|途|提|往|后|端|者|[几两](?:[天年周次]|个[月星礼])|些|段|阵|期"
    r"|景|进|方|排|半|头|辈|锋|线|言|列|夜|门|院|座|一[阵段]|同事|老板|公司|领导|室友|队友|总统|首相|雇主|主管))"
    r"|(?P<after>(?:之|以|过)后|以来|(?<![以之最然今随前背落往皇午幕善延推靠先此其事身脑王太过售绝零0-9])后(?!天|来|面|悔|果|台|代|续|期|背|院|者|勤|备|门|座"
    r"|排|半|妈|爸|继|遗|辈|盾|腿|脑|劲|方|现|世|宫|缀|顾|退|卫|援|人|山|街))"
    rf"|(?P<during>期间|的?过程[中里]|的时候|(?<![小平同随及按临暂准到届当何有此那这古旧限定即实顿霎多点不{_NUMERAL}])时"
    r"(?![间候常刻代期尚髦装区差光机速段不事而针钟时]))"
)
_CLAUSE_BEGIN_ZH = lazy_regex(r".*[,.?!;:。、“”‘’「」()\n]", re.DOTALL)
_OPENING_ZH = lazy_regex(r"\s*(?:请问|告诉我|想知道|我想|你?还?记得|那么|所以|为什么|怎么|到底|是不是|有没有)*")
_AT_ZH = lazy_regex(
    r".*(?<![住坐放站留待呆存现正实所还])(?:自从|直到|在)|等到?|自|到(?=[0-9])|从(?!.*[回来去])|当(?=[我你您妳他她它])"
)
_SAID_BEFORE_ZH = lazy_regex(r"[从自]?(?:[那这此]|[那这](?:个|次|天|件事))?")
_NO_EVENT_ZH = lazy_regex(
    r"(?:[我你您妳他她它咱](?:们|自己|俩)?|大家|自己|[很好许]久|不久|没多久|[很许好]?多年?|很早|早|曾经?|其|事|生|今|今日|一"
    r"|(?:[我你他她]的?)?(?:[爸妈哥姐弟妹爷奶]{1,2}|老[公婆板师]|同[事学]|[男女]?朋友|外[公婆]|[叔舅姑姨伯]{1,2}|儿子|女儿|孩子)"
    r"|[小阿老][\u4e00-\u9fff]|谁|什么|有些?|某些?|当|平常|同|的)(?:们|都|就|也|还|又|才|是)?"
)
_TIME_ANCHOR_ZH = lazy_regex(
    r"(?:[0-9〇零一二三四五六七八九十两](?:[年月日号点时]|点半|世纪|分)|[0-9]{4}|[0-9]:[0-9]{2}|[前昨今明后大去][天年]|[昨今明][早晚]"
    r"|[上下这本]一?个?(?:周|月|星期|礼拜)[一二三四五六日天]?|(?:周|星期|礼拜)[一二三四五六日天末]|[年月][初底末]"
    r"|[上中下]旬|凌晨|早[上晨]|[上中下]午|傍晚|晚上|[半深]夜|[春夏秋冬][天季]|现在|目前|最近)$"
)
_SHORT_EVENTS = frozenset("婚饭课产术睡赛战餐孕")
_BACK = 40
"""How many characters of an anchor are read before its linking word."""


def _link_zh(folded: str, link: re.Match[str], persons: Collection[str]) -> _Found | None:
    """What one linking word says about the clause before it, or None if that is no event."""
    relation = _RELATIONS[link.lastgroup or ""]
    clause = _CLAUSE_BEGIN_ZH.sub("", folded[max(0, link.start() - _BACK) : link.start()])
    amount = _BEFORE_WORD_ZH.search(clause) if relation else None
    event = clause[: amount.start()] if amount else clause
    if amount and relation == "before" and not event.endswith("的"):
        return None  # 三天前 is counted from now
    begin = link.start() - len(clause)
    for opening in (_OPENING_ZH, _AT_ZH):  # what only leads to the event
        if match := opening.match(event):
            begin, event = begin + match.end(), event[match.end() :]
    event = event.removesuffix("的").rstrip()
    if amount is None and event and relation:
        amount = _AFTER_WORD_ZH.match(folded, link.end(), link.end() + 16)
    found = _Found(
        relation,
        (begin, max(link.end(), amount.end() if amount and amount.re is _AFTER_WORD_ZH else 0)),
        offset=_offset(amount) if amount else (0.0, 0.0),
    )
    if event and (_SAID_BEFORE_ZH.fullmatch(event) or _TIME_ANCHOR_ZH.search(event)):
        return found
    is_event = event not in persons and not _NO_EVENT_ZH.fullmatch(event)
    if is_event and (len(event) > (1 if len(link[0]) == 1 else 0) or event in _SHORT_EVENTS):
        return replace(found, anchor=(begin, begin + len(event))) if relation else found
    return found if amount and relation == "after" else None
