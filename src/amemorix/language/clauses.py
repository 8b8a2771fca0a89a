"""Whose statement a clause is, and in what mood it is made: the one reading that facts, profiles and relations share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..lazy_regex import lazy_regex
from .normalise import simplified
from .relations.chinese_phrases import is_person, tagged_words
from .times import is_question

__all__ = [
    "KIN_EN",
    "KIN_ZH",
    "NOBODY",
    "Clause",
    "Mood",
    "Owner",
    "Whose",
    "after",
    "clauses",
    "mood_of",
    "whose",
    "without_laugh",
]

Owner = Literal["unsaid", "speaker", "us", "named", "they", "other"]
"""`they`: somebody who is only pointed at; `other`: somebody else, kin and pets among them."""
Mood = Literal["plain", "question", "supposed", "dream", "wish", "past", "joke", "reported"]

KIN_ZH = (
    "爸爸?|妈妈?(?!呀|的|耶)|老爸|老妈|爸妈|父母|父亲|母亲|爹|娘(?!家)|老婆|老公|妻子|丈夫|太太|媳妇儿?|爱人|对象|女朋友|男朋友|女友|男友|前任|前女友|前男友|未婚[夫妻]|"
    "[大二三小亲堂表]?(?:哥哥?|姐姐?|弟弟?|妹妹?)(?!们)|儿子|女儿|闺女|孩子|宝宝|娃|孙子|孙女|外孙女?|侄[子女]|外甥女?|爷爷|奶奶|姥姥|姥爷|外婆|外公|岳[父母]|公公|婆婆|"
    "丈母娘|[大小二三]?(?:姨|舅|叔叔?|姑(?!且|息|苏|娘)|伯|婶|嫂子?)(?:[妈父母子夫])?|姐夫|妹夫|弟媳|女婿|儿媳|家人|家里人|亲戚|同事|老板|上司|领导|室友|舍友|同桌|朋友(?!圈)|闺蜜|死党|兄弟|"
    "同学(?!会)|班长|学[长姐弟妹]|老师|导师|师[傅父兄姐弟妹]|教练|徒弟|学生|邻居|房东|网友|队友|搭档|客户|粉丝|"
    "猫(?!粮|砂|咖)咪?|狗(?!粮|头|血)狗?|狗子|犬|兔子?|仓鼠|鹦鹉|乌龟|宠物|柯基|柴犬|金毛|泰迪|布偶|英短|哈士奇|边牧|龙猫|主子|毛孩子"
)
KIN_EN = (
    "mom|mum|mommy|mother|dad|daddy|father|parents?|wife|husband|spouse|partner|fianc[eé]e?|girlfriend|boyfriend|gf|bf|ex|brothers?|sisters?|siblings?|"
    "sons?|daughters?|kids?|child(?:ren)?|baby|twins?|grand(?:ma|pa|mother|father|son|daughter|parents?|kids?)|aunt(?:ie)?|uncle|cousins?|nephews?|nieces?|"
    "(?:best )?friends?|buddy|boss|manager|colleagues?|coworkers?|co-workers?|roommates?|room-mates?|flatmates?|housemates?|classmates?|neighbou?rs?|landlord|"
    "teachers?|professor|mentor|coach|students?|client|dogs?|cats?|pupp(?:y|ies)|kittens?|pets?|horse|rabbit|bunny|hamster|parrot|turtle|family"
)
"""Words for those who belong to somebody: relatives, friends, colleagues and pets."""
_IN_LAW = "(?:-in-law)?"
_LEAD = lazy_regex(
    r"(?:其实|对了|哦+|噢|嗯+|啊|哎呀?|唉|哈+|那个|顺便|因为|所以|不过|但是?|可是|而且|并且|另外|还有|毕竟|反正|总之|然后|后来|现在|目前|最近|如今|今天|昨天|前天|今年|去年|上周|上个月"
    r"|那|话说|说起来|对于|至于|关于|而|且|也|还|就"
    r"|\b(?:well|oh|ok(?:ay)?|so|and|but|also|actually|btw|by the way|hey|hi|hello|yes|yeah|no|now|because|since|though|while|fyi|haha|lol|honestly"
    r"|personally|plus|anyway|currently|then|today|yesterday)\b|[\s,，!！:：~…])*",
    re.I,
)
_OF_ME = r"(?:我|俺|咱)们?(?:的|家里?的?|那个?|这个?|有一?[个只条位]|一[个只条位]|[几两]个)?"
_MY_KIN = lazy_regex(
    rf"{_OF_ME}(?:[亲大小老前]|最好的|一个|高中|初中|大学|小学|公司的?)?(?:{KIN_ZH})(?!我)"
    rf"|\b(?:my|our)\s+(?:(?!own\b|favou?rite\b)[a-z-]+\s+){{0,2}}?(?:{KIN_EN}){_IN_LAW}\b",
    re.I,
)
_BARE_KIN = lazy_regex(rf"(?:{KIN_ZH})(?!们|我|[，,]?我)")
_KIN_AFTER = lazy_regex(
    rf"\s*(?:他|她)?(?:的|家里?的?)?(?:{KIN_ZH})|['’]s?\s+(?:[a-z-]+\s+){{0,2}}?(?:{KIN_EN}){_IN_LAW}\b", re.I
)
_THEIR_KIN = lazy_regex(rf"(?:的|家里?的?)?(?:{KIN_ZH})|['’]?s?\s+(?:[a-z-]+\s+){{0,2}}?(?:{KIN_EN}){_IN_LAW}\b", re.I)
_FIRST = lazy_regex(
    r"我(?![们俩国校司方等])|俺(?!们)|本人|在下|\bI(?:['’](?:m|ve|d|ll))?\b|\bi(?:['’]?(?:m|ve))?\b|\b[Mm]y(?:self)?\b"
)
_US = lazy_regex(r"(?:我们|我俩|咱们?|俺们|we\b|our\b)", re.I)
_ONE = lazy_regex(
    r"[他她](?!们)|该?用户|对方|此人|(?:the )?user(?:'s)?\b|(?:he|she|his|her|they|their|this person)\b", re.I
)
_THEY = lazy_regex(
    r"[你您他她它]们?|大家|有人|人家|别人|对方|群里|群友|谁|这(?:是|位|个人|家伙|只|条)|那(?:是|位|个人|家伙|只|条)|某[个人位]"
    r"|(?:you|your|he|his|she|her|they|their|it|its|someone|somebody|everyone|everybody|nobody|people|this|that|these|those|there|who)\b",
    re.I,
)
_CALLS_ME = lazy_regex(r"叫我|\bcalls? me\b", re.I)
_OBJECT = lazy_regex(
    r"(?:除了|多亏|幸亏|幸好|和|跟|与|同|给|对|帮|陪|带|让|叫|把|被|像|比|向|教|送|找|问|替|(?<!因)(?<!以)为|请|等|见|到|(?<![但可于还])是|骂|夸|劝|逼|"
    r"\b(?:with|to|for|of|by|from|at|than|like|and|about|me|told|tell|asked|ask|call|called|see|saw|met|meet|is|are|was)\s)\s*$",
    re.I,
)
"""Whoever stands after these is not the one who is told of."""
_NEW_NAME = lazy_regex(
    r"[A-Z][a-z]+(?:\s[A-Z][a-z]+)?(?:['’]s\b|\s(?:is|has|was|lives?|works?|loves?|likes?|hates?|moved|said|got|turned|also|just|can|does)\b)"
)
_MY_VERB = lazy_regex(
    r"(?:(?:also|really|now|still|just)\s)*(?:am|love|like|live|work|hate|enjoy|prefer|speak|have|play|don't|do not|can't)\b"
)
_NEW_NICK = lazy_regex(
    r"[小阿][\u4e00-\u9fff](?=(?:今年)?[0-9一二三四五六七八九十]+岁|喜欢|讨厌|住在|搬到|对.{1,8}过敏)"
)
_BRINGS_IN = lazy_regex(
    rf"(?:有|养|生|收养|领养|捡|娶|买|带)[了过着到]?(?:[一两三几]?[个只条位匹名])?[^，,]{{0,6}}?(?:{KIN_ZH})(?:(?:名字?)?叫[^，,]{{1,8}})?[了啦呀]?$"
    rf"|\b(?:have|has|had|got|adopted|bought)\s+(?:[a-z-]+\s+){{1,3}}?(?:{KIN_EN})(?:\s+(?:named|called)\s+\w+)?\W*$",
    re.I,
)
"""What follows without a subject may be of the one brought in."""

_JOINT = lazy_regex(
    r"([,，]\s*|[:：](?![0-9/])\s*|\s+(?:and|but|because|so|since)\s+|\s[-–—]+\s|——|(?<=[\u3400-\u9fff])\s+|[;；]\s*"
    r"|(?<=[\u3400-\u9fff])(?=(?:但是?|可是|不过|却)(?:我)?(?:也|就|很|最|更)?(?:不|讨厌|喜欢|爱|怕|对)))",
    re.I,
)
_TASTE = lazy_regex(
    r"(?:喜欢|讨厌|爱[吃喝看玩听]|[吃喝怕])[^\s，,。不]{1,10}?(?=(?:但是?|却|也|就|又|还|可是?|而)?(?:不(?:太|怎么|再|能|是很)?(?:喜欢|爱|吃|喝|怕)|讨厌)|[也又还更](?:很|最)?(?:喜欢|爱[吃喝看玩听]))"
)
"""Ends where a second liking begins."""

_JOKE = lazy_regex(r"开玩笑|骗你|才怪|狗头|doge|\bjk\b|\b(?:just )?(?:kidding|joking)\b|(?<!\S)/[sj](?!\S)", re.I)
_MOODS: tuple[tuple[Mood, re.Pattern[str]], ...] = (
    ("supposed", lazy_regex(r"如果|[要若]不是|要是|假如|假设|倘若|万一|除非|若是|的话|假装|\b(?:if|unless|suppose|imagine|pretend)\b", re.I)),
    ("dream", lazy_regex(r"梦[到见里]|做(?:了[一]?个)?梦|\bdream(?:t|ed)\b|\bin (?:my|a) dream\b", re.I)),
    ("wish", lazy_regex(r"就好了|但愿|恨不得|巴不得|希望|\b(?:i wish|if only)\b", re.I)),
    ("question", lazy_regex(r"是不是|有没有|对不对|会不会|能不能|要不要|(?<![说不没])什么(?!都|的$|也)|谁(?!都|也)|[哪啥](?!都|怕|儿都|里都)|怎么(?!都|样都)|(?<!不)多少(?!有)|几岁|为何|为什么", re.I)),
    ("past", lazy_regex(r"以前|曾经|曾[在是住]|从前|过去(?!了)|原来[在是住]|当年|小时候|(?:^|[我他她俺])之前|\b(?:used to|formerly|previously|back then)\b|\bonce\b(?! (?:an?|every|per|in|again|more|i|you|the)\b)", re.I)),
    ("reported", lazy_regex(r"(?:说|讲|问)(?:道|过|了)?\s*我(?!们)|我是说|我的意思是|\b(?:said|says|told \w+|asked)(?: that)? i\b", re.I)),
)  # fmt: skip
_SPREADS: frozenset[Mood] = frozenset(("supposed", "dream", "wish"))
_OWN_WORDS = lazy_regex(r"(?:我|跟你|和你|告诉你)说(?:过|了)?我|\bi (?:said|told \w+)(?: that)? i\b", re.I)
_INDEFINITE = lazy_regex(r"(?:无论|不管|随便|没|不)[^，,]{0,3}(?:什么|谁|哪|怎么|多少|啥)")

_LAUGH = r"(?:\b(?:lo+l+|lma+o+|rofl|ha(?:ha)+h?|hehe(?:he)?|jk|xd)\b|[😂🤣😆😜😹😝🤪]|哈{2,}+|嘿{2,}+|嘻{2,}+|h{3,}+|233++|笑死|狗头|doge)"
_LAUGHS = lazy_regex(rf"(?:[\s,，、.。!！~～…()（）\[\]]*{_LAUGH})+[\s,，、.。!！~～…)）\]]*$", re.I)
LAST = 48
"""Characters of a sentence in which a laugh is its end."""


@dataclass(frozen=True, slots=True)
class Whose:
    """Whom a clause tells of."""

    owner: Owner
    name: str = ""
    """The one who is named, or to whom somebody else belongs; empty for the speaker."""
    kin: bool = False
    """Somebody or something that belongs to the speaker or to the one named, called so in this very clause."""
    carried: bool = False
    """Taken from a clause before."""
    brought: bool = False
    """Brought in by the speaker, who may go on about himself: `I have a cat and love tea`."""


NOBODY = Whose("unsaid")


@dataclass(frozen=True, slots=True)
class Clause:
    """A stretch of a sentence."""

    text: str
    start: int
    stop: int
    whose: Whose
    mood: Mood


def clauses(sentence: str, names: Sequence[str] = (), before: Whose = NOBODY) -> list[Clause]:
    """The clauses of a sentence; one without a subject goes on about whom the one before told of."""
    found: list[Clause] = []
    spread: Mood = "question" if is_question(sentence) else "joke" if _JOKE.search(sentence) else "plain"
    for start, stop in _joins(sentence):
        text = sentence[start:stop]
        of = whose(text, names, before)
        mood = spread if spread != "plain" else mood_of(text)
        spread = mood if mood in _SPREADS else spread
        found.append(Clause(text, start, stop, of, mood))
        before = after(text, of)
    return found


def _joins(sentence: str) -> Iterator[tuple[int, int]]:
    """Where each clause stands."""
    cuts = [(found.start(), found.end()) for found in _JOINT.finditer(sentence)]
    cuts += [(found.end(), found.end()) for found in _TASTE.finditer(sentence)]
    at = 0
    for start, stop in sorted(cuts):
        if start > at:
            yield at, start
        at = max(at, stop)
    if at < len(sentence):
        yield at, len(sentence)


def after(clause: str, of: Whose) -> Whose:
    """Whom a following clause without a subject tells of."""
    if of.owner in ("speaker", "named", "us") and _BRINGS_IN.search(clause.strip()):
        return Whose("other", of.name, carried=True, brought=of.owner == "speaker")
    return Whose(of.owner, of.name, carried=True)


def mood_of(clause: str) -> Mood:
    """How a clause is meant, by its words."""
    plain = _INDEFINITE.sub("", _OWN_WORDS.sub("我", simplified(clause)))
    for mood, rule in _MOODS:
        if rule.search(plain):
            return mood
    return "plain"


def whose(clause: str, names: Sequence[str] = (), before: Whose = NOBODY) -> Whose:
    """Whom a clause tells of; `before` goes on where it names nobody."""
    said = simplified(clause).replace("’", "'")
    lead = _LEAD.match(said)
    head = lead.end() if lead else 0
    return _named_or_me(said, head, names) or _somebody(said[head:], before) or before


def _named_or_me(said: str, head: int, names: Sequence[str]) -> Whose | None:
    """The first of the persons named, the speaker, and those who belong to them, whom the clause is about."""
    they = _THEY.match(said, head)
    if they and not _CALLS_ME.search(said):
        one = _ONE.match(said, head)
        kin = one is not None and _THEIR_KIN.match(said, one.end()) is not None
        return Whose("they") if one and not kin else Whose("other", kin=kin)
    if _MY_KIN.match(said, head) or _BARE_KIN.match(said, head):
        return Whose("other", kin=True)
    if _US.match(said, head):
        return Whose("us")
    found = [(at, name) for name in names if (at := _place(said, name)) >= 0 and not _is_object(said, at, head)]
    at, name = min(found, key=lambda pair: (pair[0], -len(pair[1])), default=(len(said), ""))
    me = next((one.start() for one in _FIRST.finditer(said) if not _is_object(said, one.start(), head)), len(said))
    if at < me:
        kin = _KIN_AFTER.match(said, at + len(name)) is not None
        return Whose("other" if kin else "named", name, kin=kin)
    if me < len(said):
        kin = _MY_KIN.match(said, me) is not None
        return Whose("other", kin=True) if kin else Whose("speaker")
    return Whose("speaker") if _CALLS_ME.search(said) else None


def _place(said: str, name: str) -> int:
    """Where a name stands as one, -1 if nowhere."""
    if not name.isascii():
        return said.find(simplified(name))
    found = re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", said, re.I)
    return found.start() if found else -1


def _is_object(said: str, at: int, head: int) -> bool:
    return at > head and _OBJECT.search(said[max(0, at - 12) : at]) is not None


def _somebody(rest: str, before: Whose) -> Whose | None:
    """Somebody whom nobody here knows."""
    if before.brought and _MY_VERB.match(rest):
        return Whose("speaker", carried=True)
    if _NEW_NAME.match(rest) or _NEW_NICK.match(rest):
        return Whose("other")
    if before.owner in ("speaker", "named", "us") and rest[:1] > "\u2e80":
        word, flag = next(iter(tagged_words(rest)), ("", ""))
        if len(word) > 1 and is_person(word, flag):
            return Whose("other")
    return None


def without_laugh(sentence: str) -> str:
    """The sentence without the laugh at its end."""
    head, end = sentence[:-LAST], sentence[-LAST:]
    return head + _LAUGHS.sub("", end)
