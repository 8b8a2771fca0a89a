"""What stands around a statement and takes nothing from it: a doctor who told it, and the joke that it takes back."""

from __future__ import annotations

import re

from ...language.normalise import simplified
from ...lazy_regex import lazy_regex

__all__ = ["denies_allergy", "jokes", "retracts", "unframed"]

_WHEN_ZH = r"(?:今天|昨天|前天|刚刚?|上周|上个月|最近|去年|之前|后来)?"
_DOCTOR_ZH = r"(?:皮肤科|过敏科|变态反应科|消化科|内科|儿科|家庭|主治)?(?:医生|大夫)"
_HEALTH_ZH = r"(?=我[^,，。;；!！?？\n]{0,20}(?:过敏|(?:不能|不可以|不准|别)(?:再)?[吃喝碰沾]))"
_HEALTH_EN = r"(?=i(?:'m| am| have|'ve| can't| cannot| should not| must not)\b[^.;!?\n]{0,30}?(?:allerg|can't|cannot))"
_DOCTOR_EN = r"(?:the|my|our) (?:new |family |skin )?(?:doctor|doc|gp|allergist|dermatologist|physician)"
_WHEN_EN = r"(?: (?:just|today|yesterday|recently|last (?:week|month|year|night)|this (?:morning|week)|earlier))?"
_SPLIT_HEARSAY = lazy_regex(r"但是?|可是|不过|结果|误诊|后来|\b(?:but|however|wrong|though)\b", re.I)
"""What may take back what the doctor said."""
_BY_DOCTOR = lazy_regex(
    rf"(?:^|(?<=[。！!\n])\s*)(?:{_WHEN_ZH}{_DOCTOR_ZH}{_WHEN_ZH}(?:也|又)?(?:跟我|对我)?(?:说|讲|告诉我|诊断|确诊|查出)(?:了|过)?[,，:：]?\s*{_HEALTH_ZH}"
    rf"|{_DOCTOR_EN}{_WHEN_EN} (?:(?:told|informed) me|said|says|confirmed){_WHEN_EN}(?: that)?,? {_HEALTH_EN})",
    re.I | re.M,
)
_SAYS_DOCTOR = lazy_regex(
    rf"(?P<said>(?:过敏|[吃喝碰][^,，。\s]{{1,8}}))[,，]\s*(?:这?是)?{_DOCTOR_ZH}{_WHEN_ZH}(?:告诉我|说|讲|诊断|查出来?)的?(?P<end>[。！!~\s]*(?:$|\n))"
    rf"|(?P<en>allerg[^.;!?\n]{{1,40}}?),? (?:(?:as|so) )?{_DOCTOR_EN} (?:told me|said|says|confirmed)(?: so| it)?{_WHEN_EN}(?P<end_en>[.!\s]*(?:$|\n))",
    re.I,
)
_JOKE_ZH = r"(?:刚才|刚刚)?(?:是)?(?:我)?(?:开(?:个)?玩笑|骗你们?|逗你们?玩?)(?:的|呢|啦)?(?:啦|哈+|而已)?"
_JOKE_EN = r"(?:(?:i'm |i was )?(?:just |only )?(?:kidding|joking)|jk|just a joke)(?: about that| guys)?"
_TAKES_BACK = lazy_regex(
    rf"^\s*(?:(?:ha(?:ha)+|lol|哈+)[\s,，!！。.]*)?(?:{_JOKE_ZH}|{_JOKE_EN})[\s,，。.!！:：…~]+(?=(?:其实)?我[^,，。?？]{{0,4}}(?:不|没)|i(?:'m not| am not| don't| do not)\b)",
    re.I,
)
"""What was said before was the joke, where this goes on with a denial."""
_JOKES = lazy_regex(rf"[\W_]*(?:{_JOKE_ZH}|{_JOKE_EN})[\W_]*(?:(?:lol|ha(?:ha)+|哈+)[\W_]*)?", re.I)
_RETRACTS = lazy_regex(
    r"\s*(?:(?:ha(?:ha)+|lol|哈+)[\s,，!！。.]*)?"
    r"(?:(?:刚才|刚刚|上面)?都?是?我?(?:(?:开个?玩笑|骗你们?|骗人|逗你们?玩?|瞎说|乱说)(?:的[啦呢]?|啦)|假的啦?)"
    r"|(?:i'm |i was )?(?:just |only )?(?:kidding|joking)(?: about that| guys)?|jk|just a joke)(?=[\s,，。.!！…~]|哈|lol|$)",
    re.I,
)


_NO_ALLERGY = lazy_regex(
    r"\s*(?:其实)?我(?:其实|根本|真的|并)?(?:不|没有?)(?:会|是)?过敏[的啦了呀啊~！!。.\s]*|\s*(?:i'm|i am) not (?:really |actually )?allergic(?: at all)?[.!\s]*",
    re.I,
)


def denies_allergy(text: str) -> bool:
    """Whether the text takes back an allergy as a joke, without saying which."""
    found = _TAKES_BACK.match(text)
    return found is not None and _NO_ALLERGY.fullmatch(text[found.end() :]) is not None


def unframed(text: str) -> str:
    """The text without such frames; `the doctor told me I'm allergic to nuts` is told of oneself."""
    text = _TAKES_BACK.sub("", text)
    if _SPLIT_HEARSAY.search(text):
        return text
    bare = _BY_DOCTOR.sub("", text)
    return _SAYS_DOCTOR.sub(lambda m: f"{m['said'] or m['en']}{m['end'] or m['end_en'] or ''}", bare)


def jokes(sentence: str) -> bool:
    """Whether the sentence says no more than that the one before it was a joke."""
    return _JOKES.fullmatch(sentence) is not None


def retracts(line: str) -> bool:
    """Whether the line calls what was said before it a joke or a lie."""
    return _RETRACTS.match(simplified(line)) is not None and not line.rstrip().endswith(("?", "？"))
