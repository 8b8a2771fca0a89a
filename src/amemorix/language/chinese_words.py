"""Chinese words, cut apart and looked up by the dictionary of jieba."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Protocol

from ..lazy_regex import lazy_regex
from .normalise import fold, tokens
from .stopwords import VAGUE
from .word_lists import word_lists

__all__ = ["HAN", "is_firm", "is_known_word", "is_person", "tagged_words", "words_held"]

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


def words_held(terms: Collection[str], text: str) -> list[str]:
    """The words of a text in which terms of a search stand, in their order: 过敏, and not the pair 我对.

    Of a Chinese word as much as the terms, which are pairs of characters, cover of it; a single character if it is a noun.
    """
    folded, held = fold(text), frozenset(terms)
    tagged = [(word, "") for word in _LATIN.findall(folded)] if folded.isascii() else tagged_words(folded)
    found: dict[str, None] = {}
    for word, flag in tagged:
        if not HAN.search(word):
            if held & set(tokens(word)):
                found[word] = None
        elif len(word) == 1:
            if word in held and flag.startswith("n"):
                found[word] = None
        elif flag[:1] not in _FUNCTION_TAGS:
            start = 0
            for end in range(1, len(word) + 1):
                if end == len(word) or word[end - 1 : end + 1] not in held:
                    if end - start > 1:
                        found[word[start:end]] = None
                    start = end
    return list(found)


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


_LATIN = lazy_regex(r"[a-z0-9][a-z0-9'-]*")
_FUNCTION_TAGS = frozenset("rpucx")
"""Pronouns, prepositions, particles, conjunctions and marks, by the tags of jieba."""
HAN = lazy_regex(r"[\u3400-\u9fff]")
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
_TITLES = ("老师", "师傅", "阿姨", "叔叔", "医生", "教授", "总", "哥", "姐", "经理", "主任")


def is_firm(word: str) -> bool:
    """Whether the word is known for a firm, whatever it looks like."""
    return word in word_lists("names")["firms"]


def is_person(word: str, flag: str) -> bool:
    """Whether a word tagged as a person's name looks like one: a surname first, 小 or 老, or a title at the end."""
    if not flag.startswith("nr") or not 2 <= len(word) <= 4 or word in VAGUE or is_firm(word):
        return False
    if any(char in "一二三四五六七八九十" for char in word):
        return False
    return word[0] in _SURNAMES or word[0] in "小老阿" or word.endswith(_TITLES)
