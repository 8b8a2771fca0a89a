"""Chinese phrases: where a noun phrase begins and ends, and which words are names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Protocol

from ...lazy_regex import lazy_regex
from ..passages import Mention
from ..stopwords import VAGUE, is_name

__all__ = [
    "HAN",
    "MEASURE",
    "PRONOUN",
    "bare",
    "first_phrase",
    "given_name",
    "is_firm",
    "is_known_word",
    "is_particular",
    "is_person",
    "is_place",
    "leading_name",
    "mentions",
    "names",
    "place_name",
    "place_phrase",
    "tagged_words",
    "thing",
    "whole_phrase",
]

Tagged = tuple[str, str]


class _Tagger(Protocol):
    def __call__(self, text: str) -> Sequence[Tagged]: ...


@cache
def _tagger() -> _Tagger:
    """Reads its dictionary when it is first used: a tenth of a second."""
    from rjieba import tag

    return tag


def tagged_words(text: str) -> Sequence[Tagged]:
    """Words with their parts of speech, by the tags of jieba; a verb that it takes for the end of a name stands alone."""
    tagged = _tagger()(text)
    if not any(_may_end_in_verb(word, flag) for word, flag in tagged):
        return tagged
    return list(_with_verbs_apart(tagged))


def is_known_word(word: str) -> bool:
    """Whether the dictionary holds the word, so that it was not put together by guess."""
    from rjieba import has_word

    return has_word(word)


def _may_end_in_verb(word: str, flag: str) -> bool:
    return flag.startswith("nr") and len(word) == 3 and word[0] in _SURNAMES and word[2] in _VERBS


def _with_verbs_apart(tagged: Sequence[Tagged]) -> Iterator[Tagged]:
    """`李静怀 二胎` is `李静 怀 二胎`: what goes on after the name is the object of its last character."""
    for i, (word, flag) in enumerate(tagged):
        after = "".join(then for then, _ in tagged[i + 1 : i + 4])
        if _may_end_in_verb(word, flag) and re.match(_VERBS[word[2]], after):
            yield word[:2], flag
            yield word[2], "v"
        else:
            yield word, flag


HAN = lazy_regex(r"[\u3400-\u9fff]")
_MEASURES = "个只条名位家台辆把本张"
MEASURE = f"(?:一|两|三|几)?[{_MEASURES}]"
_COUNTED = lazy_regex(f"(?:[一两三几那这][{_MEASURES}])(?=.)")
_QUOTES = '“”「」"'
_LAST_MEASURE = lazy_regex(r"^[^，。]{0,8}?(?:一[个家所间座]|的一?[个家所间座])(?=.{2})")
PRONOUN = lazy_regex(r"[他她它你您谁]|自己|大家|别人|人家|这|那|哪|某")
_NOUN = ("n", "vn", "eng", "an", "l", "j", "s")
_BEFORE_NOUN = ("a", "b", "m", "q", "uj", "f", "g", "k", "h", "zg")
_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻苏潘葛范彭郎鲁韦马苗方俞任袁柳唐罗薛雷贺汤滕殷毕郝邬安常乐于傅齐康伍余元顾孟黄穆萧尹姚邵汪毛戴宋庞熊纪舒屈项祝董梁杜阮蓝季贾江郭梅林钟徐邱高夏蔡田樊胡霍万柯卢莫房丁邓包左石崔龚程邢裴陆翁段侯武刘景龙叶白赖卓池乔曾关游岳夏侯欧阳司马上官诸葛"
)
_GOES_ON = "[了过着]|[一两二三四五六七八九十几][个只条本张台辆次]"
_VERBS = {
    "怀": "孕|[一二两三四]胎|上了|了|着|娃", "生": f"病|日|娃|孩|气|[二两三]胎|{_GOES_ON}", "说": "[^，。！!？?]", "去": "[^，。！!？?]",
    "买": "[^，。！!？?]", "养": f"猫|狗|{_GOES_ON}", "住": "在|进|院", "搬": "家|到|去|回", "吃": "[^，。！!？?]", "喝": "[^，。！!？?]",
    "嫁": "给|人|到", "娶": _GOES_ON, "找": f"工作|对象|{_GOES_ON}", "考": f"上|研|试|{_GOES_ON}", "换": f"工作|{_GOES_ON}",
    "辞": "职|掉", "离": "婚|职|开", "结": "婚", "升": f"职|{_GOES_ON}", "想": "[去要买吃学换养]", "要": "[去来买吃学换养结生搬]",
    "在": "[^，。！!？?]", "爱": "[吃喝看听玩上]", "会": "[^，。！!？?长]",
}  # fmt: skip
"""A verb that may follow a name of two characters -> what then comes after it."""
_FIRMS = frozenset(
    [
        "阿里",
        "阿里巴巴",
        "阿里云",
        "小米",
        "小鹏",
        "小红书",
        "华为",
        "京东",
        "老干妈",
        "百度",
        "美团",
        "腾讯",
        "拼多多",
        "滴滴",
        "网易",
        "字节",
        "字节跳动",
        "蔚来",
        "顺丰",
    ]
)
"""Firms that are tagged as persons, places or common words."""
RECURRING, RECURRING_CHARS = 2, 150
_USED_FOR = lazy_regex(r"^v n\w*$")
"""A verb before a noun that says what it is for."""
_TITLES = ("老师", "师傅", "阿姨", "叔叔", "医生", "教授", "总", "哥", "姐", "经理", "主任")
_NAMED = lazy_regex(
    r"(?:[只个条它]|取名|名字|^|(?<=[，。！\s]))叫(?!外卖|救护|滴滴|出租|快递|代驾|服务|停|醒|好|苦|我|你|他|她|人)(?P<o>[\u4e00-\u9fff]{2,4}?)(?=[，。！!；\s吧啦呀]|$)"
)
_AT_HOME = lazy_regex(r"我家(?P<o>[\u4e00-\u9fff]{2})(?!的)")
_HOUSEHOLD_WORDS = (
    "厨房 客厅 卧室 阳台 厕所 水管 天花板 楼下 楼上 门口 门卫 孩子 小孩 儿子 女儿 老公 老婆 老人 大人 亲戚 邻居 冰箱 空调 电视 沙发 衣柜 地址 附近"
    " 对面 隔壁 钥匙 墙上 窗户 大门 年夜 猫咪 狗狗 小区 能睡 那边 这边 里面 有猫 有狗 表弟 表姐 爸妈 父母 奶奶 爷爷 老家 两只 一只 没有"
)
_HOUSEHOLD = frozenset(_HOUSEHOLD_WORDS.split())
_WORK = lazy_regex(r"《([^》\n]{1,40})》")
_QUOTED = lazy_regex(r"[“「\"]([^”」\"\n]{2,12})[”」\"]")
_LATIN = lazy_regex(r"(?<![A-Za-z0-9])[A-Z][A-Za-zÀ-ÿ]*[a-zÀ-ÿ]{2,}(?: [A-Z][a-z]+){0,2}(?![A-Za-z0-9])")
_LATIN_TALK_WORDS = "ok okay lol haha hello hi thanks thx bye yes no sorry the app emo offer flag project day last"
_LATIN_TALK = frozenset(_LATIN_TALK_WORDS.split())
_KINDS = {"nr": "person", "nrt": "person", "nrfg": "person", "ns": "place", "nt": "organisation", "nz": ""}


def place_name(text: str) -> str:
    """The name of a place that the text begins with, with the nouns that go on with it; empty if there is none."""
    if not is_place(text):
        return ""
    words = [(word, flag) for word, flag in tagged_words(first_phrase(text))]
    ends = next((i for i, (_, flag) in enumerate(words) if i and flag.startswith("nr")), len(words))
    return "".join(word for word, _ in words[:ends])


def is_particular(said: str) -> bool:
    """Whether a subject says by itself what is meant: a name, or more than one short common word."""
    tagged = tagged_words(said)
    return len(said) >= 4 or any(flag in _KINDS or flag == "eng" for _, flag in tagged)


def is_place(text: str) -> bool:
    """Whether the text begins with the name of a place."""
    word, flag = next(iter(tagged_words(text)), ("", ""))
    return flag in ("ns", "nt", "nz") and len(word) > 1


def whole_phrase(text: str) -> str:
    """The text if all of it is one noun phrase."""
    found = _phrase(tagged_words(text))
    return found if found and found == bare(text) and is_name(found) else ""


def bare(text: str) -> str:
    """The text without the measure word before it and the quotes around it."""
    counted = _COUNTED.match(text)
    if counted is None and len(text) > 1 and text[0] in _MEASURES:
        word, _ = next(iter(tagged_words(text)))
        return (text[1:] if len(word) == 1 else text).strip(_QUOTES)
    return text[counted.end() if counted else 0 :].strip(_QUOTES)


def thing(text: str) -> str:
    """A noun phrase, of which a single character may be one."""
    kept = bare(text)
    if PRONOUN.search(kept) or kept[:1] in "我咱":
        return ""
    return whole_phrase(text) or (kept if _USED_FOR.match(" ".join(flag for _, flag in tagged_words(kept))) else "")


def given_name(text: str) -> str:
    """A name given: it may be any word."""
    bare = text.strip("“”「」\"'《》")
    return (
        bare
        if is_name(bare, 12) and not PRONOUN.search(bare) and not re.search(r"[我了着过的]|起来|出来|上门|不|车$", bare)
        else ""
    )


def first_phrase(text: str) -> str:
    """The noun phrase at the beginning of what follows the verb, without its measure word."""
    found = _phrase(tagged_words(bare(_LAST_MEASURE.sub("", text))))
    return found if is_name(found, 16) or found in ("猫", "狗") else ""


def place_phrase(text: str) -> str:
    """The same, with a word for the side at its end."""
    tagged = list(tagged_words(re.sub(r"[了呢啦]$", "", text)))
    taken: list[str] = []
    for word, flag in tagged:
        if not (flag.startswith(_NOUN) or flag.startswith(_BEFORE_NOUN) or word in "里上下内中旁边"):
            break
        taken.append(word)
    place = bare("".join(taken)).removesuffix("的")
    return place if is_name(place, 16) and not PRONOUN.search(place) and not place.startswith("我") else ""


def _phrase(tagged: Sequence[Tagged]) -> str:
    """The words up to the last noun of the first run of nouns and what may stand before them."""
    taken: list[Tagged] = []
    for word, flag in tagged:
        noun = flag.startswith(_NOUN)
        if (not noun and not flag.startswith(_BEFORE_NOUN)) or word in VAGUE:
            break
        if flag.startswith("t") or (not noun and flag[:1] in "mq" and taken):
            break
        taken.append((word, flag))
    while taken and (taken[0][1][:1] in "mqfuk" or taken[0][0] == "的"):
        taken.pop(0)
    while taken and not taken[-1][1].startswith(_NOUN):
        taken.pop()
    return "".join(word for word, _ in taken)


def leading_name(text: str) -> str:
    """A proper name at the beginning: a word in which a character is repeated, or one that is tagged as a name."""
    word, flag = next(iter(tagged_words(text)), ("", ""))
    doubled = text[:2] if len(text) > 2 and text[0] == text[1] and HAN.match(text) else ""
    latin = _LATIN.match(text)
    if latin:
        return latin.group()
    return (
        doubled
        if doubled
        and doubled not in VAGUE
        and doubled not in ("天天", "常常", "刚刚", "偏偏", "慢慢", "渐渐", "明明", "年年", "个个", "整整")
        else word
        if is_person(word, flag)
        else ""
    )


def is_firm(word: str) -> bool:
    """Whether the word is known for a firm, whatever it looks like."""
    return word in _FIRMS


def is_person(word: str, flag: str) -> bool:
    """Whether a word tagged as a person's name looks like one: a surname first, 小 or 老, or a title at the end."""
    if not flag.startswith("nr") or not 2 <= len(word) <= 4 or word in VAGUE or is_firm(word):
        return False
    if any(char in "一二三四五六七八九十" for char in word):
        return False
    return word[0] in _SURNAMES or word[0] in "小老阿" or word.endswith(_TITLES)


def _is_pet(word: str) -> bool:
    """A common word that names one of the house: no room, no side of it, no relative."""
    tagged = tagged_words(word)
    return len(tagged) == 1 and tagged[0][1] in ("n", "nr", "nz") and word not in _HOUSEHOLD and is_name(word)


def names(text: str) -> Iterator[str]:
    """Words and up to three neighbouring ones, each once."""
    words = [word for word, _ in tagged_words(text)]
    met: set[str] = set()
    for i in range(len(words)):
        for j in range(i + 1, min(len(words), i + 3) + 1):
            name = "".join(words[i:j]).strip()
            if (
                name not in met
                and 2 <= len(name) <= 12
                and name[:1].isalnum()
                and name[-1:].isalnum()
                and not (name.isascii() and name.islower())
            ):
                met.add(name)
                yield name


def mentions(text: str) -> Iterator[Mention]:
    """Titles, names by part of speech, names in Latin letters, and in a long text the nouns that it comes back to."""
    yield from (Mention(title, "work") for title in _WORK.findall(text))
    yield from (Mention(quoted) for quoted in _QUOTED.findall(text) if whole_phrase(quoted))
    yield from (Mention(name) for name in _LATIN.findall(text) if name.lower() not in _LATIN_TALK and is_name(name))
    yield from (Mention(name) for match in _NAMED.finditer(text) if (name := given_name(match["o"])))
    yield from (Mention(match["o"]) for match in _AT_HOME.finditer(text) if _is_pet(match["o"]))
    tagged = tagged_words(text)
    for word, flag in tagged:
        if is_firm(word) and flag in _KINDS:
            yield Mention(word, "organisation")
        elif flag in ("ns", "nt") and len(word) >= 2 and HAN.search(word) and is_name(word):
            yield Mention(word, _KINDS[flag])
        elif is_person(word, flag):
            yield Mention(word, "person" if word[0] in "小老阿" or word.endswith(_TITLES) else "")
    if len(text) >= RECURRING_CHARS:
        counts = Counter(word for word, flag in tagged if flag in ("n", "vn", "nz", "eng", "l") and len(word) >= 2)
        yield from (Mention(word) for word, n in counts.items() if n >= RECURRING and is_name(word))
