"""What the answer to a question has to hold: a number, or something that has a name; and whether a note is a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...language.normalise import NAME, NUMBER, fold
from ...language.times import asks_something
from ...lazy_regex import lazy_regex

__all__ = ["asks", "wanted_answer"]

_NUMBER_WORDS = """
number age price cost amount salary percentage size height weight score 数字 号码 价格 价钱 年龄 岁数 数量 身高 体重
"""
_NUMBERS = frozenset(_NUMBER_WORDS.split())
_NAMED_WORDS = """
city town village country state county province region district area neighbourhood neighborhood street
address place location spot destination hometown restaurant cafe bar pub hotel museum park beach island airport
station venue hospital university college school library gym shop store church building room
person man woman guy girl boy friend child kid sibling brother sister relative cousin colleague coworker
teacher doctor boss neighbour neighbor singer actor actress author artist student classmate roommate partner
people men women children kids
城市 国家 地方 地点 城 省份 省 县 区 镇 村 街 地址 位置 小区 餐厅 饭店 酒店 咖啡馆 博物馆 公园 海滩 岛 机场 车站 医院 大学 学校
图书馆 商场 店 老家 家乡 人 朋友 同事 同学 老师 医生 老板 邻居 歌手 演员 作家 作者 亲戚 室友 家人 男生 女生 孩子
"""
_NAMED = frozenset(_NAMED_WORDS.split())
"""Persons and places."""
_TITLED_WORDS = """
name title book novel movie film show series song band album artist musician singer author game brand company team
league club festival event concert class course program language instrument dish food pet dog cat book podcast app car
名字 名称 标题 书 小说 电影 剧 综艺 歌 乐队 专辑 歌手 作者 游戏 牌子 品牌 公司 球队 俱乐部 活动 演唱会 课 课程 语言 乐器 菜 宠物 狗 猫 软件 车
"""
_TITLED = frozenset(_TITLED_WORDS.split())
"""Things that are mostly called by a name."""
_UNITS = {"second", "minute", "hour", "day", "night", "week", "weekend", "month", "year", "decade"}
_OTHER_WORDS = "时间 日子 日期 月份 年份 季节 星期 原因 理由 东西 事情 样子 关系 意思"
"""Chinese nouns that are known, and neither named nor numbers: what follows one does not belong to it."""
_KNOWN_ZH = _NAMED | _NUMBERS | frozenset(_OTHER_WORDS.split())
_MEASURE_WORDS = "个种家只本座部首类款间条张件门支场所台辆幅道届位名次"
_REACH = 400
"""How many characters of a question are read."""
_BREAK = lazy_regex(r"[?？!！。\n]|(?<!\b[MDmd]r)(?<!\b[Mm]s)(?<!\b[Ss]t)(?<!\b[Mm]rs)\.(?=\s)")
_STRAIGHT = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "？": "?", "，": ","})


def wanted_answer(text: str) -> int:
    """The flags NUMBER and NAME that the last question of a text asks for, by its form; 0 if nothing is asked.

    A question inside a polite or doubtful one counts ("do you know where…", "你知道谁…吗"). A text without a question
    mark is a question if it begins as one, or holds a Chinese word that asks.
    """
    marked = max(text.rfind("?"), text.rfind("？"))
    if marked < 0:
        question = text[:_REACH].strip()
    else:
        asked = text[max(0, marked - _REACH) : marked + 1].rstrip("?？")
        begin = max((match.end() for match in _BREAK.finditer(asked)), default=0)
        question = asked[begin:].strip() + "?"
    folded = fold(question)
    if not folded.isascii() and (flags := _chinese(folded)) is not None:
        return flags
    return _english(question.translate(_STRAIGHT))


def asks(text: str) -> bool:
    """Whether a text that may as well be a note asks for something.

    A question without its mark counts ("谁住在拱墅", "in which town does Bei live"); a note may hold a word that asks
    ("谁都不许迟到", "告诉小北几点开会", "do the dishes").
    """
    folded = fold(text.strip())
    if folded.endswith("?"):
        return True
    if _NOTE_ZH.search(folded) or _LIST_ZH.search(folded):
        return False
    if asks_something(text):
        return True
    if not folded.isascii():
        return _ASK_ZH.search(folded) is not None or _YES_NO_ZH.search(folded) is not None
    lower = text.strip().translate(_STRAIGHT).lower()
    opening = _OPENING_EN.match(lower)
    begin, asking, whether = (opening.end(), opening["asking"], opening["whether"]) if opening else (0, "", None)
    if _LIST_EN.match(lower) or (asking or "").startswith(_DOUBTS):
        return False
    if (asking and whether) or _YES_NO_BARE_EN.match(lower, begin):
        return True
    word = _asking_word(lower, begin)
    if word is None:
        return False
    return bool(asking) or (word[0] not in ("when", "why", "how") and _stands_first(lower, word, begin))


def _of_noun(noun: str) -> int:
    """What is asked for by "which cities" or "哪些城市"."""
    forms = {noun, noun.removesuffix("s"), noun.removesuffix("es"), noun.removesuffix("ies") + "y"}
    return NAME * bool(forms & _NAMED or _is_titled(noun)) | NUMBER * bool(forms & _NUMBERS)


def _is_titled(noun: str) -> bool:
    return noun in _TITLED or noun.removesuffix("s") in _TITLED


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
_YES_NO_BARE_EN = lazy_regex(
    r"(?:does|did|is|are|was|were|has|had)\b(?! (?:to|not)\b)"
    r"|(?:do|have|can|could|will|would|should|may|might) (?:i|you|he|she|we|they|there|any(?:one|body|thing))\b"
)
"""What a question without its mark begins with, and hardly a note: "do the dishes", "may 4 is my birthday"."""
_DOUBTS = ("i forg", "i can't", "i don't")
_LIST_EN = lazy_regex(
    r"(?:(?:please|can you|could you) )?(?:(?:list|enumerate) (?:me )?|(?:name|give me|tell me) (?:me )?(?=all (?!about)|every |some |as many ))"
)
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
_HOW_MUCH = frozenset(
    ["many", "much", "old", "tall", "far", "big", "large", "heavy", "high", "deep", "fast", "wide", "expensive"]
)
_REASON_EN = lazy_regex(
    r"what(?: on earth)? (?:made|makes|caused|causes|prompted|prompts|motivated|motivates|drove|inspired|led|triggered)\b|what for\b"
)


def _english(question: str) -> int:
    lower = question.lower()
    if len(lower) != len(question):
        question = lower
    if listing := _LIST_EN.match(lower):
        return NAME * _is_titled(_head(_words(question[listing.end() :])))
    opening = _OPENING_EN.match(lower)
    begin, asking, whether = (opening.end(), opening["asking"], opening["whether"]) if opening else (0, None, None)
    if whether or (not asking and _YES_NO_EN.match(lower, begin)):
        return 0
    word = _asking_word(lower, begin)
    if word is None or not (asking or lower.endswith("?") or _stands_first(lower, word, begin)):
        return 0
    if word[0] in ("who", "whom", "whose", "where"):
        return NAME
    words = _words(question[word.end() :])
    if word[0] == "how":
        return _of_how(words)
    about = words[:1] in (["if"], ["about"])
    if word[0] not in ("what", "which") or about or _REASON_EN.match(lower[word.start() :]):
        return 0
    # "what books has she read", "which of the cities", "what are her hobbies"; "what is …" only if it says whose
    words = [word for word in words if word.lower() != "else"]
    if words and words[0].lower() in ("is", "was", "'s", "are", "were", "'re"):
        words = words[1:]
        if not any(word.lower() in _POSSESSIVES or word.endswith(("'s", "s'")) for word in words[:4]):
            return 0
    return _of_noun(_head(words))


def _of_how(words: Sequence[str]) -> int:
    first, second = ([word.lower() for word in words[:2]] + ["", ""])[:2]
    if first not in _HOW_MUCH:
        return 0
    if first not in ("many", "much"):
        return NUMBER
    if second == "time" or second in _UNITS or second.removesuffix("s") in _UNITS:
        return 0
    return NUMBER | NAME * (second != "times" and _is_titled(_head(words[1:])))


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


def _words(following: str) -> list[str]:
    """The next words and marks; "'s" of a question word stands alone."""
    short = re.match(r"'(?:s|re|d)(?![a-z])", following)
    head = [short[0]] if short else []
    return head + _WORD.findall(following[short.end() if short else 0 : 160])[:12]


def _head(words: Sequence[str]) -> str:
    """The noun that a phrase is about, in lower case: the last word before a verb, a preposition or another name.

    Empty if the phrase turns out to be about what somebody is doing. "Kind of" and "types of" are left out.
    """
    for place, word in enumerate(words[:3]):
        if word.lower().removesuffix("s") in ("kind", "type", "sort") and words[place + 1 : place + 2] in (
            ["of"],
            ["Of"],
        ):
            words = words[place + 2 :]
            break
    taken: list[str] = []
    capital = True
    for word in words:
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
    while taken and (taken[-1] in _VERBS or (taken[-1].endswith("ed") and len(taken[-1]) > 4)):
        taken.pop()
    return "" if not taken or (taken[-1].endswith("ing") and taken[-1] not in _ING_NOUNS) else taken[-1]


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
_LIST_ZH = lazy_regex("列出|列举|罗列")
_YES_NO_ZH = lazy_regex(
    r"吗\W*$|有没有|有无|是否|(?P<verb>[\u4e00-\u9fff])[不没](?P=verb)|[了过]没\W*$|没有\W*\?$|[对是]吧\W*$"
)
_NOTE_ZH = lazy_regex(
    r"(?:(?:^|[\s,;:。!要得去先再了天晚早午后候点周])(?:告诉(?!我)|(?<![请想])问|提醒|通知|转告|看看|看一?下|查|确认|打听|商量|讨论|决定|想想)"
    r"|不知道|没想好|不管|无论|不论|随便).*(?:谁|[什甚]么|啥|哪|几|多少|多久|何时|怎么|是否|有没有|(?P<either>[\u4e00-\u9fff])[不没](?P=either))"
    r"|(?:谁|[什甚]么\w{0,3}|啥\w{0,2}|哪\w{0,3}|怎么\w{0,2}|多少\w{0,2}|几\w{0,2})(?:都|也(?=[不没别无]))"
    r"|(?P<same>谁|[什甚]么|啥|哪[里儿个天]|几点|多少)[^?]{1,8}(?P=same)|[什甚]么的(?!\w)|了几|我.{0,4}[有过]几"
)
"""Chinese words that ask within what is no question: told on, whoever it is, "谁输了谁请客", "买了几本"."""
_CHOICE_ZH = lazy_regex(r"还是[^?]{1,20}\?$")


def _chinese(folded: str) -> int | None:
    """What the first Chinese word that asks wants; None if there is none."""
    if _LIST_ZH.search(folded):
        return 0
    asking = _ASK_ZH.search(folded)
    if asking is None:
        return 0 if _CHOICE_ZH.search(folded) or _YES_NO_ZH.search(folded) else None
    match asking.lastgroup:
        case "person" | "place":
            return NAME
        case "thing":
            return _of_noun(_noun_zh(_NOUN_ZH.match(folded, asking.end())))
        case "number":
            return NUMBER | NAME * _is_titled(_noun_zh(_MEASURED_NOUN_ZH.match(folded, asking.end())))
        case _:
            return 0


def _noun_zh(match: re.Match[str] | None) -> str:
    """The noun after a word that asks: a known one, or what stands there if it is short enough to be one."""
    if match is None:
        return ""
    noun = match["noun"]
    known = (noun[:size] for size in (4, 3, 2) if noun[:size] in _KNOWN_ZH)
    return next(known, noun if len(noun) <= 4 else "")
