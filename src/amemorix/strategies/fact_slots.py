"""What can be known of somebody: the attributes of facts, each with how many values it takes and how long it lasts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

__all__ = ["FAVOURITE", "SLOTS", "STATEMENT", "Cardinality", "Slot", "Stability", "slot_of"]

Cardinality = Literal["single", "set"]
Stability = Literal["stable", "temporal", "uncertain"]
STATEMENT, FAVOURITE = "statement", "favourite"


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute; `single` has one value at a time, `about` finds it in a question."""

    attribute: str
    cardinality: Cardinality
    stability: Stability
    about: re.Pattern[str]
    nested: bool = False
    """A value that begins like another says the same more exactly: 上海 and 上海浦东."""

    def compatible(self, one: str, other: str) -> bool:
        """Whether both normalised values can be true at the same time."""
        if self.cardinality == "set" or one == other:
            return True
        return self.nested and (one.startswith(other) or other.startswith(one))


def _slot(attribute: str, cardinality: Cardinality, stability: Stability, about: str, *, nested: bool = False) -> Slot:
    return Slot(attribute, cardinality, stability, re.compile(about, re.I), nested)


_ALL = (
    _slot("residence", "single", "stable", r"\b(?:liv(?:e|es|ing)|mov(?:e|es|ed|ing)|address|home|city|country|where)\b|住|搬|家|哪里|哪儿|哪个城市|地址", nested=True),
    _slot("hometown", "single", "stable", r"\b(?:from|hometown|born|grew up|origin)\b|老家|家乡|哪里人|出生|哪儿人", nested=True),
    _slot("workplace", "single", "stable", r"\b(?:work(?:s|ing)?|compan(?:y|ies)|employer|employed)\b|上班|工作|公司|单位|任职|就职", nested=True),
    _slot("occupation", "single", "stable", r"\b(?:jobs?|work(?:s|ing)? as|occupation|profession|do for (?:a|work)|living)\b|职业|做什么|干什么|工作|什么工作"),
    _slot("school", "set", "stable", r"\b(?:schools?|universit(?:y|ies)|college|stud(?:y|ies|ied)|graduat)\w*|学校|大学|上学|读书|毕业|就读"),
    _slot("birthday", "single", "stable", r"\b(?:birthday|born|birth)\b|生日|出生|生辰"),
    _slot("age", "single", "temporal", r"\b(?:age|old)\b|年龄|几岁|多大|岁"),
    _slot("name", "single", "stable", r"\bnames?\b|名字|叫什么|大名|真名|全名"),
    _slot("nickname", "set", "stable", r"\b(?:nickname|call(?:ed)?)\b|外号|昵称|小名|怎么称呼|叫什么|称呼"),
    _slot("spouse", "single", "stable", r"\b(?:wife|husband|spouse|married|partner)\b|老婆|妻子|太太|媳妇|老公|丈夫|爱人|配偶|结婚"),
    _slot("child", "set", "stable", r"\b(?:sons?|daughters?|child(?:ren)?|kids?)\b|儿子|女儿|孩子"),
    _slot("pet", "set", "stable", r"\b(?:pets?|cats?|dogs?|kittens?|pupp(?:y|ies)|rabbits?|hamsters?|parrots?)\b|宠物|猫|狗|养了|兔子|仓鼠|鹦鹉"),
    _slot("allergy", "set", "stable", r"\ballerg|过敏|忌口|不能吃"),
    _slot("avoids", "set", "stable", r"\b(?:eats?|avoids?|drinks?|diet|food)\b|吃|忌口|喝|口味"),
    _slot("diet", "single", "stable", r"\b(?:diet|vegan|vegetarian|eats?|food)\b|吃素|素食|饮食|忌口|吃"),
    _slot("like", "set", "stable", r"\b(?:likes?|loves?|enjoys?|hates?|dislikes?|prefers?|hobb(?:y|ies)|interests?|into)\b|喜欢|爱好|讨厌|爱吃|爱喝|兴趣|爱"),
    _slot(FAVOURITE, "single", "stable", r"\bfavou?rite\b|最喜欢|最爱"),
    _slot("language", "set", "stable", r"\b(?:languages?|speaks?)\b|语言|会说|会讲|母语|外语"),
    _slot("phone", "single", "stable", r"\b(?:phone|mobile|cell|number)\b|手机|电话|号码"),
    _slot("email", "single", "stable", r"\be-?mails?\b|邮箱|邮件"),
    _slot("plan", "set", "temporal", r"\b(?:plans?|planning|going to|upcoming)\b|打算|计划|准备|安排"),
    _slot(STATEMENT, "set", "stable", r"(?!)"),
)  # fmt: skip
SLOTS = {slot.attribute: slot for slot in _ALL}
"""Attribute -> slot; `favourite:<thing>` is a slot of its own for each thing."""


def slot_of(attribute: str) -> Slot:
    """The slot of an attribute; one that is not in the table takes any number of values."""
    known = SLOTS.get(attribute.partition(":")[0])
    return known or Slot(attribute, "set", "stable", re.compile(re.escape(attribute), re.I))
