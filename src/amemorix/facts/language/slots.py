"""What can be known of somebody: the attributes of facts, each with how many values it takes and how long it lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["FAVOURITE", "SLOTS", "STATEMENT", "Cardinality", "Slot", "Stability", "attribute_meant", "slot_of"]

Cardinality = Literal["single", "set"]
Stability = Literal["stable", "temporal", "uncertain"]
STATEMENT, FAVOURITE = "statement", "favourite"


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute; `single` has one value at a time."""

    attribute: str
    cardinality: Cardinality
    stability: Stability
    nested: bool = False
    """A value that begins like another says the same more exactly: 上海 and 上海浦东."""

    def compatible(self, one: str, other: str) -> bool:
        """Whether both normalised values can be true at the same time."""
        if self.cardinality == "set" or one == other:
            return True
        return self.nested and (one.startswith(other) or other.startswith(one))


_ALL = (
    Slot("residence", "single", "stable", nested=True),
    Slot("hometown", "single", "stable", nested=True),
    Slot("workplace", "single", "stable", nested=True),
    Slot("occupation", "single", "stable"),
    Slot("school", "set", "stable"),
    Slot("birthday", "single", "stable"),
    Slot("age", "single", "temporal"),
    Slot("name", "single", "stable"),
    Slot("nickname", "set", "stable"),
    Slot("spouse", "single", "stable"),
    Slot("partner", "single", "stable"),
    Slot("child", "set", "stable"),
    Slot("pet", "set", "stable"),
    Slot("allergy", "set", "stable"),
    Slot("avoids", "set", "stable"),
    Slot("diet", "single", "stable"),
    Slot("like", "set", "stable"),
    Slot(FAVOURITE, "single", "stable"),
    Slot("language", "set", "stable"),
    Slot("phone", "single", "stable"),
    Slot("email", "single", "stable"),
    Slot("plan", "set", "temporal"),
    Slot(STATEMENT, "set", "stable"),
)  # fmt: skip
SLOTS = {slot.attribute: slot for slot in _ALL}
"""Attribute -> slot; `favourite:<thing>` is a slot of its own for each thing."""


_OTHERWISE = {
    "住处": "residence", "家乡": "hometown", "工作单位": "workplace", "职业": "occupation", "学校": "school", "生日": "birthday", "年龄": "age",
    "名字": "name", "昵称": "nickname", "配偶": "spouse", "孩子": "child", "宠物": "pet", "过敏": "allergy", "忌口": "avoids", "饮食": "diet",
    "语言": "language", "电话": "phone", "邮箱": "email", "打算": "plan",
    "住址": "residence", "地址": "residence", "居住地": "residence", "city": "residence", "home": "residence", "address": "residence",
    "lives in": "residence", "故乡": "hometown", "老家": "hometown", "公司": "workplace", "单位": "workplace", "employer": "workplace",
    "company": "workplace", "工作": "occupation", "job": "occupation", "profession": "occupation", "姓名": "name", "外号": "nickname",
    "过敏原": "allergy", "allergies": "allergy", "allergic to": "allergy", "喜欢": "like", "爱好": "like", "likes": "like", "hobby": "like",
    "languages": "language", "手机": "phone", "手机号": "phone", "phone number": "phone", "e-mail": "email", 
    "pets": "pet", "children": "child", "岁数": "age", "伴侣": "spouse", "partner": "spouse", "plans": "plan", "计划": "plan",
}  # fmt: skip
"""Other words for attributes, among them those that profiles show."""


def attribute_meant(said: str) -> str:
    """The attribute that goes by this word: residence for 住处 and city; the word itself if it is none's."""
    plain = " ".join(said.lower().replace("_", " ").split())
    return _OTHERWISE.get(plain) or (plain if plain in SLOTS else said)


def slot_of(attribute: str) -> Slot:
    """The slot of an attribute; one that is not in the table takes any number of values."""
    known = SLOTS.get(attribute.partition(":")[0])
    return known or Slot(attribute, "set", "stable")
