"""Which facts of a person a question asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...language.normalise import fold, tokens
from ...language.stopwords import VAGUE
from ...lazy_regex import lazy_regex
from .slots import FAVOURITE, SLOTS

__all__ = ["Question", "read_question"]

_NOT_EAT = (
    r"\b(?:can't|cannot|can not|shouldn't|mustn't|doesn't|don't|not|never)\b.{0,20}\b(?:eat|drink|order|cook|serve)"
    r"|\bavoid|不能[吃喝]|不可以[吃喝]|不该[吃喝]|不[吃喝]|别[吃喝点]|忌口"
)
_EATS = r"(?<!like to )(?<!likes to )(?<!love to )(?<!loves to )\b(?:eats?|eating|drinks?|drinking|diet|food)\b|(?<!喜欢)(?<!爱)(?<!想)[吃喝]|口味|饮食|点菜|忌口"
_LIKES = (
    r"(?<!look )(?<!looks )(?<!feel )(?<!feels )(?<!would )\blikes?\b|\b(?:loves?|enjoys?|prefers?|prefer(?:s|ences?)|hobb(?:y|ies)|interests?|interested|passionate|fan of)\b"
    r"|\b(?:is|are|am|'s)\b.{0,20}\binto\b|\bfavou?rite things?\b|(?<!最)喜欢|最喜欢(?:什么|做|吃|啥)|最爱(?:什么|做|吃|啥)|爱好|兴趣|偏好|热爱|爱[吃喝看玩听做]"
)
_DISLIKES = (
    r"\b(?:hates?|hated|dislikes?|detests?|can't stand|cannot stand)\b|(?:\bnot|n't)\s+(?:\w+\s+)?(?:like|love|enjoy)\b|不(?:太|怎么|是很|再)?(?:喜欢|爱)"
    r"|讨厌|反感|厌恶|受不了|[害最很]怕"
)
_ASKS = {
    "residence": r"\b(?:live[sd]?|reside[sd]?|residence|address|based)\b|(?<!for a )\bliving\b|\bmov(?:e|es|ed|ing) to\b|\bhome (?:city|town)\b|住|搬[到去家]|搬|家在|地址|定居|哪个城市|什么城市",
    "hometown": r"\b(?:where|city|country|town)\b.*\b(?:from|born|grow up|grew up)\b|\bfrom\s+where\b|\bhometown\b|\bgrew up\b|老家|家乡|故乡|籍贯|哪里?儿?人|哪里?儿?出生|出生[地在]|来自",
    "workplace": r"(?<!for )(?<!of )\bwork(?:s|ed|ing)?\b(?! as\b)|\b(?:compan(?:y|ies)|employers?|employed|workplace)\b|上班|(?<!什么)(?<!啥)工作|公司|单位|任职|就职|供职|打工|实习",
    "occupation": r"\b(?:jobs?|occupation|profession|career)\b|\bwork(?:s|ing)? as\b|\bfor (?:a )?(?:living|work)\b|\b(?:kind|line|sort) of work\b"
                  r"|\bwhat (?:do|does)\s+(?:(?:i|he|she|they)\s+)?do\s*(?:now)?\s*[?？.]*$|职业|(?:什么|啥)工作|(?<!上班)工作(?:是|呢)|是?[做干](?:什么|啥)的|[做干]哪一?行|从事|职位",
    "school": r"\b(?:schools?|universit(?:y|ies)|college|stud(?:y|ies|ied|ying)|graduat\w*)\b|学校|大学|上学|读书|念书|毕业|就读",
    "birthday": r"\bbirth(?:day|date)\b|\bdate of birth\b|\bwhen\b.*\bborn\b|生日|生辰|(?:哪[天年]|什么时候|何时|几[月号])出生",
    "age": r"\bage\b|\bhow old\b|年龄|年纪|几岁|多大(?!的)|多少岁|岁数",
    "name": r"\b(?:full|real|his|her|my|their|person's)\s+name\b|\bnames?\s*[?？]*$|名字|叫什么|大名|真名|全名|姓名",
    "nickname": r"\b(?:nicknames?|call(?:ed)?)\b|外号|昵称|小名|称呼|叫什么|绰号",
    "spouse": r"\b(?:wife|husband|spouse|married|partner)\b|老婆|妻子|太太|媳妇|老公|丈夫|爱人|配偶|结婚",
    "partner": r"\b(?:girlfriend|boyfriend|fianc[eé]e?|partner|dating|engaged|in a relationship)\b|女朋?友|男朋?友|对象|未婚[夫妻]|恋爱|在一起|订婚",
    "child": r"\b(?:sons?|daughters?|child(?:ren)?|kids?)\b|儿子|女儿|孩子|闺女",
    "pet": r"\b(?:pets?|cats?|dogs?|kittens?|pupp(?:y|ies)|rabbits?|hamsters?|parrots?)\b|宠物|猫|狗|养了|养的|兔子|仓鼠|鹦鹉",
    "allergy": rf"\ballerg|过敏|{_NOT_EAT}",
    "avoids": rf"{_NOT_EAT}|{_EATS}",
    "diet": rf"\b(?:vegan|vegetarian)\b|吃素|素食|{_NOT_EAT}|{_EATS}",
    "like": _LIKES,
    FAVOURITE: r"\bfavou?rite\b|\blikes?\b.*\bbest\b|\bloves?\b.*\bmost\b|最喜欢|最爱",
    "language": r"\b(?:languages?|speaks?)\b|语言|会说|会讲|母语|外语",
    "phone": r"\b(?:phone|mobile|cell|cellphone|telephone)\b|\bcontact number\b|手机|电话|联系方式|号码",
    "email": r"\be-?mails?\b|邮箱|邮件地址",
    "plan": r"\b(?:plans?|planning|going to|upcoming)\b|打算|计划|准备|安排",
}  # fmt: skip
"""Attribute -> the words that ask for it."""
_ABOUT = {attribute: lazy_regex(words, re.I) for attribute, words in _ASKS.items()}
_AGAINST = {"like": lazy_regex(f"{_DISLIKES}|{_NOT_EAT}", re.I)}
"""Attribute -> the words that ask for what is denied of it: these ask for nothing else of it."""
_NAMES = frozenset({"name", "nickname"})
_WHERE = lazy_regex(r"^\W*(?:where(?:'s)?(?:\s+(?:is|are|am|do|does|i|he|she|they|now))*|(?:现在|目前|人)?在哪[里儿个]?(?:[呢啊呀])?)\W*$", re.I)  # fmt: skip
"""Where somebody is, and no more."""
_WHO = lazy_regex(
    r"\bwho(?:'s|\s+is|\s+am)\b\W*$|\btell me (?:more |something |everything )?about\b\W*$|\bwhat do (?:you|we) know\b|\bwhat is known\b"
    r"|^\W*是谁|谁是\W*$|什么人\W*$|^\W*介绍|[的]?(?:资料|情况|信息|档案)\W*$|(?:知道|了解)\W*(?:什么|哪些|多少)?\W*$",
    re.I,
)
"""Anything about somebody."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a query without the names of persons asks for."""

    text: str
    """Folded."""
    attributes: frozenset[str]
    words: frozenset[str]
    """Its words of two characters or more, without those that ask for an attribute."""
    of_everything: bool

    def asks_for(self, attribute: str, *, denied: bool = False) -> bool:
        """Whether it asks for facts of this attribute; some questions ask only for what is denied, or is not."""
        kind, _, thing = attribute.partition(":")
        if kind not in SLOTS:
            return fold(attribute) in self.text
        if kind == FAVOURITE and thing and not set(tokens(thing)) <= set(tokens(self.text)):
            return False
        against = _AGAINST.get(kind)
        if against is None:
            return kind in self.attributes
        return bool(against.search(self.text)) if denied else kind in self.attributes

    def share(self, value: str) -> float:
        """How much of the query's words the value holds."""
        return len(self.words & set(tokens(value))) / max(1, len(self.words))


def read_question(bare: str) -> Question:
    """What is asked for, in a query without the names it holds."""
    text = " ".join(fold(bare).split())
    asked = frozenset(attribute for attribute in _ABOUT if _asks(attribute, text))
    asked = asked - _NAMES if asked - _NAMES else asked
    if "hometown" in asked and not re.search("住|\\bliv", text):
        asked -= {"residence"}
    if not asked and _WHERE.match(text):
        asked = frozenset({"residence"})
    return Question(text, asked, _words(text, asked), not any(map(str.isalnum, text)) or bool(_WHO.search(text)))


def _asks(attribute: str, text: str) -> bool:
    against = _AGAINST.get(attribute)
    return bool(_ABOUT[attribute].search(against.sub(" ", text) if against else text))


def _words(text: str, asked: frozenset[str]) -> frozenset[str]:
    for attribute in asked:
        text = _ABOUT[attribute].sub(" ", text)
    for against in _AGAINST.values():
        text = against.sub(" ", text)
    return frozenset(term for term in tokens(text) if len(term) > 1 and term not in VAGUE)
