"""Names in texts: found as they stand, with titles around them, and as words that need not mean anybody."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..lazy_regex import lazy_regex
from .chinese_words import HAN, is_known_word, tagged_words
from .normalise import STOP_WORDS, normalise_name
from .stopwords import CHINESE_TALK, is_talk
from .word_lists import word_lists

__all__ = [
    "COMMON_WORDS", "LETTER", "SHORTEST_NAME", "TITLE_BEFORE", "NamePattern", "any_as_word", "is_part_of_word", "is_used_as_name",
    "is_word", "respelled", "untitled",
]  # fmt: skip

_LISTS = word_lists("names")

# As they stand

SHORTEST_NAME = 2
"""Letters of a name that is looked for; a single letter would be met everywhere."""
LETTER = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or digit of a script that puts spaces between words."""
_SPACED = lazy_regex(LETTER)


class NamePattern:
    """Normalised names, found as whole words where words are kept apart, and anywhere in Chinese."""

    def __init__(self, names: Iterable[str]) -> None:
        known = {name for name in names if len(name) >= SHORTEST_NAME}
        self._any = any_as_word(known) if known else None

    def held(self, text: str) -> bool:
        """Whether the text holds one of the names."""
        return self._any is not None and self._any.search(normalise_name(text)) is not None

    def places(self, normalised: str) -> Iterator[tuple[str, int, int]]:
        """Every name in reading order, the longest at each place, with where it begins and ends in a normalised text."""
        for match in self._any.finditer(normalised) if self._any is not None else ():
            yield match.group(), *match.span()


def any_as_word(names: Iterable[str]) -> re.Pattern[str]:
    """One expression for normalised names, the longest first: whole words where words are kept apart, anywhere in Chinese."""

    def as_word(name: str) -> str:
        before = f"(?<!{LETTER})" if _SPACED.match(name[0]) else ""
        after = f"(?!{LETTER})" if _SPACED.match(name[-1]) else ""
        return before + re.escape(name) + after

    return re.compile("|".join(map(as_word, sorted(names, key=len, reverse=True))))


# Titles

_SPELLINGS = (
    ("dr", "doctor"), ("prof", "professor"), ("mr", "mister"), ("mrs",), ("ms",), ("miss",), ("mx",), ("sir",), ("madam",), ("rev",),
)  # fmt: skip
"""Titles, each with the ways to write it."""
TITLE_BEFORE = "(?:" + "|".join(title for group in _SPELLINGS for title in group) + r")\b\.?"
_TITLED_BEFORE = lazy_regex(rf"(?P<title>{TITLE_BEFORE})\s*(?P<name>[^\W\d_].+)")
_TITLED_FAMILIES = (
    "赵钱孙李周吴郑王冯陈沈韩杨朱秦许何吕张孔曹严华魏陶姜谢邹苏潘葛范彭鲁韦俞袁柳唐罗薛雷贺倪汤殷毕郝常于傅齐康伍余顾孟黄萧尹姚邵汪毛戴宋庞纪舒项祝董梁杜阮蓝季贾"
    "郭林钟徐邱夏蔡田樊胡霍万柯卢莫丁邓崔龚程邢裴陆翁段侯武刘景叶黎欧司诸上小老阿"
)
_TITLED_AFTER = lazy_regex(
    rf"(?P<name>[{_TITLED_FAMILIES}][\u4e00-\u9fff]{{1,3}}?)(?:老师|医生|大夫|教授|博士|总|先生|女士|主任|经理|律师|师傅)"
)
"""A family name alone with a title is the whole name: 陈医生."""


def untitled(name: str) -> str:
    """A normalised name without its title: chen for dr. chen, 林澈 for 林澈老师; empty if it has none."""
    found = _TITLED_BEFORE.fullmatch(name) or _TITLED_AFTER.fullmatch(name)
    return found["name"].strip() if found else ""


def respelled(name: str) -> frozenset[str]:
    """The normalised name with its title written otherwise: dr chen, doctor chen."""
    found = _TITLED_BEFORE.fullmatch(name)
    if found is None:
        return frozenset()
    title = found["title"].rstrip(".")
    same = next((group for group in _SPELLINGS if title in group), ())
    return frozenset(f"{one}{mark}{found['name']}" for one in same for mark in (" ", ". ", ".")) - {name}


# Names that are words

COMMON_WORDS = STOP_WORDS | {
    "april", "art", "august", "bill", "dawn", "faith", "grace", "guy", "hope", "joy", "june", "mark", "may",
    "pat", "rich", "rose", "will", "summer", "winter", "user", "assistant", "bot", "me",
}  # fmt: skip
"""Words that are no name unless they are written like one."""


SHORTEST_NUMBER = 5
"""Digits of an id that is not taken for a number."""
_WORDS = COMMON_WORDS | _LISTS["words_as_names"]
"""Words, and places, that many people are named after, or call themselves."""
_CHINESE_WORDS = _LISTS["chinese_words_as_names"]
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


# Whether a Chinese line that holds such a name uses it as one

_OTHERS = lazy_regex(
    "豆包|元宝|小爱|小度|百度|文心|通义|千问|混元|星火|天猫|机器人|客服|端午|清明|中秋|元宵|七夕|除夕|立夏|小满|"
    "宝贝|宝宝|亲爱的|老大|老板|房东|司机|经理|主任|学长|群主|.*[哥姐弟妹爸妈爹娘爷奶叔姨舅婆公嫂侄孙员者师生人长友工客手家迷仔族党民神王精鬼佬医警友童孩娃"
    "猫狗鱼鹿兔熊鸟鸡鸭鹅虎狮猪牛羊马鼠龙蛇猴虫鲸雀燕狼狐鹰]"
)
"""Who and what may be spoken of like the person: machines, feasts, roles, animals."""
_BEFORE_VERBS = lazy_regex(r"[tdrpcmyue]")
"""Tags of words that stand before a verb as they are: 今天, 以前."""
_BROUGHT = lazy_regex(
    r".*[雨雪风雷霜雾雹云光茶包饭菜糖酒水奶饼果瓜豆肉面虾饺糕可乐啡碧汤圆粉团冰天日春夏秋冬]|快递|外卖|周末|假期|机会|彩虹|太阳|月亮|星星"
)
"""What comes, or is brought, without being anybody."""
_LIKE_ADJECTIVES = frozenset(["阳光", "知性", "文艺", "元气", "温柔", "可爱"])
_CONSUMED = lazy_regex(
    r"[^，。！？!?；\n]*(?:[喝买卖]|吃(?!饭|药|火锅)|加[冰糖]|多少|好用|便宜|[几两三一]?[杯瓶罐份袋])"
)
"""What is drunk, bought or priced may stand first in its sentence, before anybody's verb."""

_PERSON = "我|你|您|他|她|咱|大家"
_WHEN = "(?:刚才|刚刚|昨天|今天|明天|昨晚|今晚|最近|现在|后来|早上|晚上|以前|也|都|又|还|就|已经|刚|总是|老是|一直|从来|没有|没|不)"
_DOES = (
    f"说(?!明|服|法|不定|起|到底)|告诉|答应|邀请|提醒(?:{_PERSON})|问(?!题)|喜欢(?=[^，。！？吗呢啊])|住(?:在|哪|进|[^了宿院嘴手口])|住院|搬家|搬[到去]|下班了|上班去|"
    "辞职|入职|失业|毕业|考[上研]|结婚|离婚|怀孕了|生病了|出院|失恋|[哭笑]了|睡[了着]|养了|想(?:家|换工作|辞职|知道)|"
    f"对[^，。！？!?]{{1,8}}过敏|[跟骂夸约教](?:{_PERSON})|去(?:哪|医院|公司|学校|上班|上学|旅游|出差|北京|上海|广州|深圳|杭州|成都|日本|国外)|"
    "在(?:吗|干嘛|忙|[^，。！？!?]{1,6}(?:上班|工作|上学|读书|读研))|人呢|是(?:男的|女的)|今年[0-9一二三四五六七八九十]+岁|[他她](?:说|住|今年)"
)
_ADDRESSES = "姐(?!妹)|哥(?!们)|老师|同学|妹妹|弟弟|师傅|学姐|学妹|学弟|先生|女士|大佬|阿姨|叔叔"
_OWNED = "手机|电话|微信|号码|生日|住址|老婆|老公|[爸妈]|男朋友|女朋友|男友|女友|对象|哥哥|姐姐|弟弟|妹妹"
_AFTER = lazy_regex(
    rf"(?:{_WHEN}){{0,2}}(?:{_DOES})|跟(?:{_PERSON})|[和与](?:{_PERSON})(?:都?是|去|说|一起|在一起|吵|结婚|分手|约)"
)
_COMES = lazy_regex(r"(?:也|都|又|还|已经|刚)?(?:来了|来过|走了|到了|到家|没来|回来|回家)")
_WITH = lazy_regex(
    rf"(?:^|[，。！？!?；\s])[我他她你](?:{_WHEN}){{0,2}}(?:要|想|能|可以|去|会)?[跟和]$|(?:告诉|问问|问一下)$|(?:名字|昵称|网名)[叫是]$|叫[我他她]$"
)
_ASKED = lazy_regex(r"(?:^|[，。！？、；：,!?;:\s我你他她去要想就再])[跟找问叫喊约请让陪帮和]$")
_THEN = lazy_regex(
    r"一起(?:去|吃饭|玩|上班|上学|住|工作|聊|来|看|走)|聊|说|吵|打架|商量|借|帮忙|问|过[来去]|来(?![一杯份点])|去(?![冰糖皮掉])|吃饭|见面|玩|结婚|分手|在一起|道歉|学"
)
_CALLED = lazy_regex(r"(?:^|[\n。！？!?])\s*(?:(?:嗨|喂|哈喽|嘿|诶|哎|hi|hello|谢谢|对不起|抱歉|恭喜)[，,\s]*)?$")
_SPOKEN_TO = lazy_regex(
    r"[，,！!~\s]+(?:[你您别帮请]|快(?!乐)|能不能|可不可以|可以(?:帮|来|去)|在吗|生日快乐|谢谢|对不起|什么时候(?:来|到|回|有空)|我们?(?:到了|想你|爱你))"
)
_LABEL = lazy_regex(r"\s?[:：](?!\s*[0-9¥$￥/])")
_GREETED = lazy_regex(r"(?:谢谢你?|生日快乐|对不起|辛苦了?|恭喜|欢迎|嗨|喂|哈喽|嘿|hi|hello)[啊呀啦，,\s]*$")
_END = lazy_regex(r"[啊呀吗呢吧了~～\s]*(?:$|[，。！？、；,!?;(（\n])")


def is_part_of_word(text: str, start: int, end: int) -> bool:
    """Whether a word of the dictionary goes over the edge of the name: 张伟 in 张伟大."""
    at = 0
    for word, _ in tagged_words(text):
        after = at + len(word)
        if (at < start < after or at < end < after) and is_known_word(word):
            return True
        at = after
    return False


def is_used_as_name(text: str, start: int, end: int) -> bool:
    """Whether the words around a name that is a word as well can hardly stand around anything but this person."""
    name, before, after = text[start:end], text[:start], text[end:]
    if before.endswith(("@", "@ ")):
        return True
    if _may_be_another(name):
        return False
    if _CALLED.search(before) and (_SPOKEN_TO.match(after) or _LABEL.match(after)):
        return True
    return not _CONSUMED.match(after) and (_acts(name, before, after) or _is_addressed(name, before, after))


def _acts(name: str, before: str, after: str) -> bool:
    """小雨说, 小雨的生日, 海洋来了: what only persons do and have."""
    if _AFTER.match(after):
        return True
    if re.match(f"的(?:{_OWNED})|{_ADDRESSES}", after):
        return name not in _LIKE_ADJECTIVES
    return bool(_COMES.match(after)) and not before.endswith(("有", "的")) and not _BROUGHT.fullmatch(name)


def _is_addressed(name: str, before: str, after: str) -> bool:
    """我跟小雨去, 问小雨吧, 谢谢小雨: what is done with persons only."""
    if _WITH.search(before) or (_GREETED.search(before) and _END.match(after)):
        return True
    if not _ASKED.search(before) or (
        before[-1] in "叫请让帮" and _BROUGHT.fullmatch(name) and not name.startswith("小")
    ):
        return False
    return bool(_THEN.match(after) or (before[-1] in "问跟约喊" and _END.match(after)))


def _may_be_another(name: str) -> bool:
    """Whether the word itself may do what persons do: 老师 and 小猫; or stand before it: 今天 and 晚安."""
    if name in CHINESE_TALK or _OTHERS.fullmatch(name):
        return True
    tagged = tagged_words(name)
    return len(tagged) > 1 or any(_BEFORE_VERBS.match(flag) for _, flag in tagged)
