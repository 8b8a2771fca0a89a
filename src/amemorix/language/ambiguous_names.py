"""Names that are words as well, so that they need not mean anybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from .normalise import STOP_WORDS
from .relations.chinese_phrases import HAN, is_known_word, tagged_words
from .topic_stopwords import CHINESE_TALK, is_talk

__all__ = ["COMMON_WORDS", "is_word"]

COMMON_WORDS = STOP_WORDS | {
    "april", "art", "august", "bill", "dawn", "faith", "grace", "guy", "hope", "joy", "june", "mark", "may",
    "pat", "rich", "rose", "will", "summer", "winter", "user", "assistant", "bot", "me",
}  # fmt: skip
"""Words that are no name unless they are written like one."""


SHORTEST_NUMBER = 5
"""Digits of an id that is not taken for a number."""
_NAMES = """
amber angel autumn brook buck bud carol chance chase cherry christian cliff clay cook cricket crystal daisy dale dean dolly
duke earl fern field finch forest fox frank ginger glen grant heath heather holly honey hunter iris ivy jade jasmine jet
lance lane lily lotus major march mason melody mercy miles misty monday moon olive page patience pearl penny pepper pierce
poppy prince queen ray reed river robin rock ruby rusty sage sandy sky skip star stone storm sunny tiger trip victor violet
wade ward wolf woody king
bean bear bee berry biscuit bunny butter cake candy caramel cat cheese cherry chicken chip chocolate cinnamon cloud coco coconut
coffee cola cookie corn cream cupcake dog donut dragon duck eagle egg fish flower fog ghost goat gold grape honeycomb ice jam jelly
kiwi kitten kitty koala lamb leaf lemon lime lion lollipop love mango maple marshmallow milk mint mocha monkey moonlight mouse
muffin noodle nut ocean onion orange otter owl panda pancake panther peach peanut pear pickle pie pig pineapple pizza plum popcorn
potato pudding puppy rabbit rain rainbow raven rice salt shadow shark silver skull snow snowball soda soup spider spirit spring
squirrel strawberry sugar sun sunlight sunset sushi tea thunder toast toffee tofu tomato tree turtle vanilla waffle walnut water
wave whale whiskey wind wine wizard
china india paris london sydney chelsea georgia virginia carolina austin dallas jordan israel florence
"""
_WORDS = COMMON_WORDS | frozenset(_NAMES.split())
"""Words, and places, that many people are named after, or call themselves."""
_CHINESE_WORDS = frozenset(
    [
        "雪碧",
        "立夏",
        "小满",
        "芝士",
        "抹茶",
        "拿铁",
        "泡芙",
        "麻薯",
        "奥利奥",
        "陈皮",
        "陈醋",
        "二哈",
        "奶盖",
        "波霸",
        "生煎",
        "可颂",
        "热可可",
        "冰美式",
        "美式",
        "辣条",
        "螺蛳粉",
        "凉茶",
        "奶昔",
        "桃子",
        "草莓",
        "仙贝",
        "李子",
        "王八",
        "刘海",
        "王国",
        "王法",
        "王道",
        "赵钱",
        "李树",
        "吴语",
        "曹操到",
    ]
)
"""Words that the dictionary lacks, or takes for names."""
_FAMILY = frozenset("李王刘陈赵吴郭邓冯曹蔡姚")
"""Family names that begin few words; of three characters, more do."""
_FAMILY_OF_THREE = _FAMILY | frozenset(
    "张孙徐周朱胡林何罗郑梁谢宋唐许韩彭萧潘田董袁于余叶蒋杜苏魏程吕丁沈任卢傅钟姜崔谭廖范汪陆"
)
_COMPOUND = ("欧阳", "上官", "诸葛", "司马", "夏侯", "东方", "皇甫", "尉迟", "公孙", "慕容", "令狐", "司徒")
_BEFORE_FAMILY = "老小阿"
_CLAUSE = ("v", "r", "d", "p", "c", "u", "m", "y", "t")
MOST_OF_PHRASE = 3


def is_word(name: str) -> bool:
    """Whether people say this normalised name without meaning a person: may, will, 海洋; a short number is one too."""
    if name.isdecimal():
        return len(name) < SHORTEST_NUMBER
    if " " in name:
        return False
    if name.isascii():
        return name in _WORDS or is_talk(name)
    return name in CHINESE_TALK or name in _CHINESE_WORDS or _is_in_dictionary(name)


@cache
def _is_in_dictionary(name: str) -> bool:
    """Whether jieba takes it for a word, or a phrase of words, and not for somebody's full name."""
    tagged = tagged_words(name)
    if len(name) > 2 and name.startswith(_COMPOUND):
        return False
    if len(tagged) > 1:
        return _is_phrase(tagged)
    known, flag = is_known_word(name), tagged[0][1]
    if name[0] in _BEFORE_FAMILY and (
        not known or (len(name) == 2 and flag.startswith("nr") and name[1] in _FAMILY_OF_THREE)
    ):
        return False
    if not flag.startswith(("nr", "x", "eng")):
        return True
    return known and not flag.startswith(("nrt", "nrfg")) and not _is_full_name(name)


def _is_full_name(name: str) -> bool:
    """李娜, 周杰伦: a name that the dictionary knows because many bear it or everybody knows who does."""
    return name[0] in (_FAMILY if len(name) == 2 else _FAMILY_OF_THREE)


def _is_phrase(tagged: Sequence[tuple[str, str]]) -> bool:
    """Words one after the other that people say: 想睡觉, 打工人; 小刘 and 欧阳修远 are none."""
    if not all(HAN.search(word) for word, _ in tagged):
        return False
    clause = any(flag.startswith(_CLAUSE) for _, flag in tagged)
    words = [word for word, flag in tagged if len(word) > 1 and not flag.startswith("nr") and is_known_word(word)]
    short = sum(len(word) for word, _ in tagged) <= MOST_OF_PHRASE
    return (bool(words) and (short or clause)) or (not words and clause and all(len(word) == 1 for word, _ in tagged))
