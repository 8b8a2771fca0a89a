"""What may stand as the value of a fact, and the form under which two values are the same."""

from __future__ import annotations

import re

from ...language.chinese_words import is_firm, is_person, tagged_words
from ...language.normalise import normalise_name
from ...language.times import has_time_words
from ...lazy_regex import lazy_regex
from .patterns import Shape

__all__ = ["accepted", "normal", "parts"]

_PRONOUN = lazy_regex(
    r"[我你他她它您这那咱谁哪某]|自己|什么|怎么|多少|有人|大家|别人"
    r"|\b(?:i|me|my|mine|you|your|he|him|his|she|her|it|its|they|them|their|we|us|our|this|that|these|those|who|what|how|why|when|where|someone|something|anything|everything|everyone|nothing)\b",
    re.I,
)
_LOOSE = lazy_regex(r"^[的了到过着得]|[吧吗呢]$|(?:的)?时候?$|的$|^(?:and|or|but|to|of|for|a|an|the)$")
_CJK = lazy_regex(r"[\u3400-\u9fff]")
_NO_PLACE = lazy_regex(
    r"^(?:一起|酒店|宾馆|旅馆|民宿|医院|外面?|里面?|家里?|公司|单位|学校|楼上|楼下|隔壁|附近|老地方|酒吧|路上|床上?|线上|网上|一线|不同|各|努力|认真|想|找|做|等|看|忙|准备|考虑"
    r"|加班|拼命|好好|安心|专心|继续|讨论|摸鱼|偷懒|上[班课厕学网]|下[班课]|同一|一个|一家|新家|前面|后面|对面|旁边|另外|几|手机|电脑|电视|朋友|爸妈|父母|男友|女友|亲戚|乎|意$|行$|场$|线$|状态|群|宿舍|办公室|工位|岗|座位|手边)|(?:(?<!阿)里|[中上旁边])$|的"
)
_TOWN_END = lazy_regex("[市省县区镇村乡岛国州湾]$")
_DAY = lazy_regex(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day$|[0-9]+(?:st|nd|rd|th)$", re.I)
_TOWNS_WORDS = "柏林 魔都 帝都 罗马 曼谷 悉尼 伦敦 墨尔本 慕尼黑 旧金山 西雅图 硅谷"
_TOWNS = frozenset(_TOWNS_WORDS.split())
_JOINING = frozenset({"of", "de", "del", "la", "le", "upon", "city", "du", "el", "da", "do", "on", "am", "state", "the", "and", "&", "university", "company"})  # fmt: skip
_NO_TOWN_WORDS = (
    "a an the fear peace harmony same hiding denial town apartment flat dorm house room hotel here there home school person"
    " general fact tears sin reality poverty style time night fun free work public love trouble future past bed next another different"
)
_NO_TOWN = frozenset(_NO_TOWN_WORDS.split())
_NO_NAME = lazy_regex(
    r"^(?:外卖|车|人|滴滴|快递|醒|起|去|来|吃|喝|回|过|做|干|了|不|没|他|她|老师|医生|护士|什么|好|个|一|爸|妈|上|下|停|走|救|家长|服务员|代驾)"
)
_NO_FOOD = lazy_regex(
    r"^(?:东西|饭|[早中午晚]饭|[早午晚]餐|夜宵|药|一点|太多|得|下|完|饱|惯|起|好|过|剩|外卖|亏|苦(?!瓜)|醋$|惊|力|透|香$|有点|又|容易|皮肤|鼻子|严重|脸|轻微|季节|不|没|花粉症$|对|瓜$|土$|老本|西北风|回头草|闭门羹|软饭|素食?$|上班|工作|加班|早起|学习|开会|周[一二三四五六日]|星期|傻|人$)|[不没]$|不是|的(?![^的]{0,4}(?:东西|食[物品]|菜|肉|鱼|虾|蟹|海鲜|果|瓜|饭|面|粉|饮料|零食|甜[品点食]|奶|蛋|豆|酱|汤|酒|茶|咖啡|糖|饼|糕|包|米|类|部分|皮|内脏|毛|药)$)|\bbut\b"
    r"|^(?:work|stress|crow|mornings?|mondays?|people|meetings|stupidity|stupid people|drama|homework|exercise|mean people|adulting|much|breakfast|lunch|dinner|out|here|there|well|enough|too|a lot|together|alone|anymore|for|at|in|on|with|until|before|after|as|like|when|because)\b",
    re.I,
)
_NO_LIKE = lazy_regex(
    r"^[吃喝看听玩逛]的|^(?:上$|死|过|得|着|不|到|吗|就|和|跟|对|被|把|在$|说话$|情$|心$|人$|好$|这么|的)|得(?:很|不行|要命|要死)$|死$| - "
    r"|^(?:the|all|both|both of|to help|every|how|when|what|why|where|to be|to see (?:you|it)|being|seeing|having|if|hearing|so|too|more|less|as|at|in|on|about|for|with)\b",
    re.I,
)
_ZH_NUMBER = {char: i for i, char in enumerate("零一二三四五六七八九")}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SPLIT = lazy_regex(r"、|(?<=[\u3400-\u9fff])(?:和|以及|还有|跟)(?=[\u3400-\u9fff])|,? and |, |/")
_LISTS = frozenset({"food", "likes"})
_CONTRAST = lazy_regex(
    r" (?:(?:more|better|rather) than|instead of)\b.*|(?:胜过|多过|甚于|多于).*|第[一二三四五六七八九十0-9]+(?:天|周|个月|年|次)了?$",
    re.I,
)
_TWO_SIDES = lazy_regex(
    r"\b(?:but|though|although|whereas)\b|.(?:但是?|可是|却)?(?:不(?:太|怎么|再|能)?(?:喜欢|爱[吃喝看玩]?|吃|喝)|讨厌)(?=.)|.[也又还更](?:很|最)?(?:喜欢|爱[吃喝看玩听])",
    re.I,
)
"""More than one thing is said."""
_NEXT_VERB = lazy_regex(
    r"^(?:i|hate|love|like|dislike|enjoy|prefer|can't|cannot|don't|do not|never|work|live|have|speak|am|is|was)s?\b",
    re.I,
)
"""What follows "and" is no thing, but says something itself."""


def accepted(shape: Shape, value: str, *, cased: bool) -> bool:
    """Whether the value, as it was written, looks as this shape has to; `cased`: its writer uses capitals."""
    if shape in ("date", "number", "mail"):
        return True
    if shape == "age":
        return 1 <= (_count(value) or 0) <= 120
    if not value or _LOOSE.search(value) or _PRONOUN.search(value):
        return False
    if shape not in ("deed", "job") and has_time_words(value):
        return False
    return _fits(shape, value, _CJK.search(value) is not None, cased)


def _fits(shape: Shape, value: str, chinese: bool, cased: bool) -> bool:
    words = value.split()
    if shape in ("town", "house") and chinese and _is_town(value) is not (shape == "town"):
        return False
    if shape in ("place", "town", "firm", "house"):
        cased = cased or shape != "place"
        return len(value) <= 16 and not _NO_PLACE.search(value) if chinese else _is_place(words, cased)
    if shape in ("name", "people"):
        return len(value) <= 8 and not _NO_NAME.search(value) and "的" not in value if chinese else _is_name(words)
    if shape == "food":
        return not _NO_FOOD.search(value) and (len(value) <= 8 if chinese else len(words) <= 4)
    if shape == "likes":
        return not _NO_LIKE.search(value) and (len(value) <= 16 if chinese else len(words) <= 7)
    if shape == "job":
        return len(value) <= 14 if chinese else len(words) <= 5
    return len(value) <= (24 if chinese else 80)


def _is_town(value: str) -> bool | None:
    """Whether a Chinese value is a town or a country; None for a person, who is neither that nor a firm."""
    word, flag = next(iter(tagged_words(value)))
    if flag == "ns" and len(word) > 1 and not is_firm(word):
        return True
    if value in _TOWNS or (len(value) > 2 and _TOWN_END.search(value)):
        return True
    return None if is_person(word, flag) else False


def _is_place(words: list[str], cased: bool) -> bool:
    if not words or len(words) > 6:
        return False
    if len(words) > 1 and any(_DAY.match(word) for word in words[1:]):
        return False
    if not cased:
        return len(words) <= 3 and _NO_TOWN.isdisjoint(words)
    named = [word for word in words if word.lower() not in _JOINING]
    return bool(named) and all(word[0].isupper() or word[0].isdigit() for word in named)


def _is_name(words: list[str]) -> bool:
    return 0 < len(words) <= 3 and all(word[0].isupper() for word in words) and len("".join(words)) > 1


def parts(shape: Shape, value: str) -> list[str]:
    """The values of a list such as 花生和虾, or the value alone; nothing of what it is set against."""
    value = _CONTRAST.sub("", value)
    if shape == "likes":
        value = re.sub(r"^to ", "", value, flags=re.I)
    found = [part.strip() for part in _SPLIT.split(value)] if shape in _LISTS else [value]
    if _TWO_SIDES.search(value) or any(_NEXT_VERB.match(part) for part in found[1:]):
        return [""]
    short = all(part and len(part) <= 24 and len(part.split()) <= 3 for part in found)
    return found if short else [value]


def normal(attribute: str, value: str) -> str:
    """The form under which two wordings of a value are the same."""
    if attribute == "birthday":
        return _day(value)
    if attribute == "age":
        return str(_count(value))
    if attribute == "phone":
        return re.sub(r"[^0-9+]", "", value)
    return re.sub(r"^(?:the|an?|to|some|any) ", "", normalise_name(value)).strip(" .!~·《》\"'")


def _day(value: str) -> str:
    """`05-03`; the year, which few say, does not count."""
    folded = normalise_name(value)
    found = re.search(r"([0-9]+|[一二三四五六七八九十]+)月([0-9]+|[一二三四五六七八九十]+)", folded)
    if found:
        return f"{_count(found[1]) or 0:02d}-{_count(found[2]) or 0:02d}"
    month = next((i for i, name in enumerate(_MONTHS, 1) if name in folded), 0)
    day = re.search(r"\b([0-9]{1,2})(?:st|nd|rd|th)?\b", folded)
    return f"{month:02d}-{int(day[1]) if day else 0:02d}"


def _count(text: str) -> int | None:
    """The number below a hundred that digits or Chinese numerals write."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.partition("十")
    if not ten:
        return _ZH_NUMBER.get(text)
    return (_ZH_NUMBER.get(tens, 0) if tens else 1) * 10 + _ZH_NUMBER.get(ones, 0)
