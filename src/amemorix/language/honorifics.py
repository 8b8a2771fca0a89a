"""Titles before and after the names of persons."""

from __future__ import annotations

from ..lazy_regex import lazy_regex

__all__ = ["TITLE_BEFORE", "respelled", "untitled"]

_SPELLINGS = (
    ("dr", "doctor"), ("prof", "professor"), ("mr", "mister"), ("mrs",), ("ms",), ("miss",), ("mx",), ("sir",), ("madam",), ("rev",),
)  # fmt: skip
"""Titles, each with the ways to write it."""
TITLE_BEFORE = "(?:" + "|".join(title for group in _SPELLINGS for title in group) + r")\b\.?"
_BEFORE = lazy_regex(rf"(?P<title>{TITLE_BEFORE})\s*(?P<name>[^\W\d_].+)")
_FAMILY = (
    "赵钱孙李周吴郑王冯陈沈韩杨朱秦许何吕张孔曹严华魏陶姜谢邹苏潘葛范彭鲁韦俞袁柳唐罗薛雷贺倪汤殷毕郝常于傅齐康伍余顾孟黄萧尹姚邵汪毛戴宋庞纪舒项祝董梁杜阮蓝季贾"
    "郭林钟徐邱夏蔡田樊胡霍万柯卢莫丁邓崔龚程邢裴陆翁段侯武刘景叶黎欧司诸上小老阿"
)
_AFTER = lazy_regex(
    rf"(?P<name>[{_FAMILY}][\u4e00-\u9fff]{{1,3}}?)(?:老师|医生|大夫|教授|博士|总|先生|女士|主任|经理|律师|师傅)"
)
"""A family name alone with a title is the whole name: 陈医生."""


def untitled(name: str) -> str:
    """A normalised name without its title: chen for dr. chen, 林澈 for 林澈老师; empty if it has none."""
    found = _BEFORE.fullmatch(name) or _AFTER.fullmatch(name)
    return found["name"].strip() if found else ""


def respelled(name: str) -> frozenset[str]:
    """The normalised name with its title written otherwise: dr chen, doctor chen."""
    found = _BEFORE.fullmatch(name)
    if found is None:
        return frozenset()
    title = found["title"].rstrip(".")
    same = next((group for group in _SPELLINGS if title in group), ())
    return frozenset(f"{one}{mark}{found['name']}" for one in same for mark in (" ", ". ", ".")) - {name}
