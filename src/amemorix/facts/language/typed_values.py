"""Typed values that a sentence gives by how its clauses begin, read by the rows of `data/slots.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ...language.normalise import normalise_name, simplified
from ..timeline import ANY

__all__ = ["TypedValue", "kin", "normal", "typed_values"]

_HEAD = re.compile(
    r"(?:其实|对了|哦+|噢|嗯+|啊|哎呀?|唉|哈+|那个?|顺便|因为|所以|不过(?!敏)|但是?|而且|另外|还有|毕竟|记住|记得|别忘了|反正|总之|然后|说实话|老实说|话说|忘了说|话说回来|说起来|自我介绍一下|大家好|你们?好|跟你说|现在|目前|最近|如今"
    r"|\b(?:well|oh|ok(?:ay)?|so|and|but|also|actually|btw|by the way|hey|hi|hello|yes|yeah|yep|no|nope|now|because|since|remember|fyi|haha|lol|honestly|personally|plus|anyway|currently|guess what|just so you know|note that|tbh|well)\b"
    r"|[\s,，!！:：~.、])*",
    re.I,
)
_CLAUSE = re.compile(
    r"[,，。;；!！?？~…()（）\n]+|\.(?=\s|$)|\s+-+\s+|(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])|\s(?=(?:and|but|so|because) (?:i|we|my|our|i'm|i've|we're)\b)",
    re.I,
)
_LIST = re.compile(
    r"(\s*(?:[,，、/&]|和|及|以及|还有|跟|或者?|\band\b|\bor\b|\bnor\b|\bplus\b|\bas well as\b)\s*(?:(?:and|or)\b(?: also\b)?|还有|以及|和|或者?)?\s*)",
    re.I,
)
_CONTRACTED = re.compile(r"\b(?:i(?=(?:m|ve)\b)|(?:do|ca|wo)n(?=t\b))")
"""Before where an apostrophe was left out: im, dont."""
_THIRD = {
    "is": "am", "has": "have", "lives": "live", "works": "work", "goes": "go", "attends": "attend", "studies": "study",
    "speaks": "speak", "eats": "eat", "drinks": "drink", "resides": "reside", "comes": "come", "avoids": "avoid", "was": "was",
    "doesn't": "don't", "does": "do", "makes": "make", "stays": "stay", "owns": "own", "grew": "grew", "moved": "moved", "just": "just",
}  # fmt: skip
"""Verbs of the third person as the first has them."""
_SHE = re.compile(r"(?P<of>\b(?:his|her|their|the user's|user's)\b|(?:他|她|该?用户|对方)的)|\b(?:he|she|they|(?:the )?user)\b|[他她](?!们)|该?用户|对方|此人", re.I)  # fmt: skip
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMERALS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"正": 1, "腊": 12}
LONGEST = 60
_DENIED = re.compile(r"(?:not|no|never)\b|不(?!锈钢)|没", re.I)
"""What a value that is denied begins with: "eggs, not nuts"."""
_CJK = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class TypedValue:
    """What a clause gives: a value of an attribute, or with polarity -1 that it is so no more."""

    attribute: str
    value: str
    norm: str
    polarity: int
    explicit: bool
    """Whether the clause names whom it is of."""


@dataclass(frozen=True, slots=True)
class _Row:
    attribute: str
    shape: str
    listed: bool
    key: str
    regex: re.Pattern[str]


class _Table:
    """The rows and shapes of the data file."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.shapes = {
            name: re.compile(rule, re.NOFLAG if name in ("place_en", "person_en") else re.I)
            for name, rule in data.pop("shapes").items()
        }
        self.kin = re.compile("|".join(data.pop("kin").values()), re.I)
        words = data.pop("words")
        self.rows = [
            _Row(attribute, slot["shape"], slot.get("list", False), key, re.compile(_pattern(row, words), re.I))
            for attribute, slot in data.items()
            for key in ("over", "ends", "zh", "en")
            for row in slot.get(key, ())
        ]  # fmt: skip


def _pattern(row: str, words: dict[str, str]) -> str:
    for name, rule in words.items():
        row = row.replace("{" + name + "}", rule, 1).replace("{" + name + "}", rule.replace("?P<kind>", "?:"))
    return row.replace("{v}", r"(?P<v>[^,，。;；!！?？]{1,40}?)")


@cache
def _table() -> _Table:
    return _Table(tomllib.loads(files("amemorix.facts").joinpath("data", "slots.toml").read_text("utf-8")))


def kin(sentence: str) -> bool:
    """Whether the sentence is about somebody or something that belongs to its speaker: my wife, 我弟."""
    return _table().kin.search(simplified(sentence)) is not None


def typed_values(sentence: str, *, names: Sequence[str] = (), about: bool = False) -> list[TypedValue]:
    """What the sentence says of its speaker; with `names` or `about` of whom it names so, or of the one person it is about."""
    found: dict[tuple[str, str], TypedValue] = {}
    text = _CONTRACTED.sub(r"\g<0>'", simplified(sentence).replace("’", "'"))
    starts = [0, *(match.end() for match in _CLAUSE.finditer(text))]
    carried = (
        True  # a clause that names nobody goes on about its speaker, unless one before it began with something else
    )
    for start in starts:
        head = _HEAD.match(text, start)
        clause = text[head.end() if head else start :]
        clause, explicit = _as_first_person(clause, names, about)
        if not explicit and not carried:
            continue
        carried = carried and explicit and (about or not _table().kin.match(clause))
        taken: set[str] = set()
        for row in _table().rows:
            match = None if row.attribute in taken else row.regex.match(clause)
            for one in _values(row, match, clause) if match else ():
                found.setdefault((one[0], one[2]), TypedValue(*one, explicit))
                taken.add(row.attribute)
    return list(found.values())


def _as_first_person(clause: str, names: Sequence[str], about: bool) -> tuple[str, bool]:
    """The clause as the one it is about would say it, and whether it names them."""
    mine = re.match(r"我|本人|俺|\b(?:i|i'm|i've|i'd|my|we|our|me)\b", clause, re.I)
    if mine:
        return re.sub(r"^(?:俺|本人(?=[\u3400-\u9fff]))", "我", clause), True
    name = next((name for name in names if clause.startswith(name)), None)
    if name is None:
        other = _SHE.match(clause) if about else None
        if other is None:
            return clause, any(word in clause for word in ("我", " me", " my ", "me "))
        rest, owned = clause[other.end() :], bool(other["of"])
    else:
        rest = clause[len(name) :]
        owned = (
            rest.startswith("的")
            or re.match(r"'s (?!(?:a|an|the|not|from|in|at|allergic|\w+ing|\w+ed)\b)", rest) is not None
        )
        rest = rest.removeprefix("的") if owned else rest
        rest = re.sub(r"^'s", "", rest) if owned else re.sub(r"^'s\b", " is", rest)
    if _CJK.match(rest) or (rest[:1] == "" and not clause.isascii()):
        return "我" + rest, True
    if owned:
        return "my" + rest, True
    verb, _, after = re.sub(r"^'s\b", " is", rest).strip().partition(" ")
    return f"I {_THIRD.get(verb.lower(), verb)} {after}".strip(), True


def _values(row: _Row, match: re.Match[str], clause: str) -> Iterator[tuple[str, str, str, int]]:
    """(attribute, value, norm, polarity) of what a row has read."""
    groups = match.groupdict()
    kind = (groups.get("kind") or "").strip()
    if row.key == "over":
        yield row.attribute, kind or ANY, ANY, -1
        return
    if row.key == "ends":
        ended = _part(row.shape, (groups.get("v") or _cut(clause[match.end() :])).strip())
        if _fits(row.shape, ended):
            yield row.attribute, ended, normal(row.attribute, ended), -1
        return
    if row.shape in ("date", "number", "mail", "diet"):
        rest = clause if "v" in groups else clause[match.end() :]
        told = (
            _table().shapes[row.shape].match((groups.get("v") or rest).strip(" :：号是")) if groups.get("v") else None
        )
        told = told or _table().shapes[row.shape].match(rest.strip(" :："))
        if told is not None:
            yield row.attribute, told[0].strip(), normal(row.attribute, told[0]), 1
        return
    rest = (groups.get("v") or clause[match.end() :]).lstrip(" :：,，")
    for value in _listed(rest) if row.listed else [_cut(rest)]:
        value = _part(row.shape, value.strip(" .~'\"《》"))
        if not _fits(row.shape, value):
            return
        shown = f"{value} ({kind})" if row.attribute == "pet" and kind and kind.lower() not in value.lower() else value
        yield row.attribute, shown, normal(row.attribute, value), 1


def _cut(rest: str) -> str:
    """What follows a prefix, up to where a value ends."""
    stop = _table().shapes["stop"].search(rest)
    return rest[: stop.start()].strip() if stop else rest.strip()


def _listed(rest: str) -> list[str]:
    """The values of a list such as 花生、虾和蟹, as long as nothing else is said.

    With a comma a list goes on that ends with another word ("nuts, milk and eggs") or has more of them ("nuts, milk, eggs");
    else another clause begins: "nuts, sorry", "nuts and milk, sorry".
    """
    shapes = _table().shapes
    rest = re.sub(r"^(?:both|either) ", "", re.split(r"[。.;；!！?？()（）\n]", rest)[0], flags=re.I)
    first, *more = _LIST.split(rest)
    found, is_comma = [_cut(first)], [join.strip() in (",", "，") for join in more[::2]]
    if found[0] != first.strip():
        return found
    found[0] = shapes["list_end"].sub("", found[0])
    if is_comma == [True]:
        return found
    closed = is_comma.index(False) if False in is_comma else len(is_comma)
    end = is_comma.index(True, closed) if True in is_comma[closed:] else len(is_comma)
    for place, part in enumerate(more[1::2][:end]):
        value = _cut(part)
        if shapes["list_said"].search(value):  # of this and what is listed with it: "beef, chicken and fish are fine"
            return found[: max((i for i in range(place + 1) if is_comma[i]), default=place) + 1]
        value = shapes["list_end"].sub("", value)
        is_food = _fits("food", value) and len(value.split()) <= 3 and len(value) <= 20
        if shapes["list_not"].search(value) or not is_food:
            break
        found.append(value)
        if value != part.strip():
            break
    return found


def _part(shape: str, value: str) -> str:
    """The part of a value that the shape is about: the names before `works nights`, the job before `in Leeds`."""
    if _CJK.search(value):
        return re.sub(r"(?:的|人)$", "", value) if shape == "place" and len(value) > 2 else value
    rule = {"place": "place_en", "person": "person_en", "job": "job_en"}.get(shape)
    found = _table().shapes[rule].match(value) if rule else None
    if found is None:
        return value
    return (
        found[0] if shape != "job" or re.match(r"$| (?:in|at|for|by|from|with|here|of)\b", value[found.end() :]) else ""
    )


def _fits(shape: str, value: str) -> bool:
    """Whether a value looks as its shape has to."""
    rules, chinese = _table().shapes, _CJK.search(value) is not None
    if not value or len(value) > LONGEST or rules["not"].search(value) or _DENIED.match(value):
        return False
    if shape in ("name", "person"):
        whole = rules["name_zh" if chinese else "name_en"].fullmatch(value) is not None
        cased = shape == "name" or chinese or value[0].isupper()
        return whole and cased and not rules[f"{shape}_not"].search(value)
    if shape == "place":
        if chinese:
            return len(value) <= 14 and not rules["place_not"].search(value)
        if value[0].isupper():
            return True
        return len(value.split()) <= 3 and not rules["place_lower_not"].search(value) and value.isascii()
    if shape == "firm":
        return not rules["firm_not"].search(value) and (len(value) <= 16 if chinese else len(value.split()) <= 7)
    if shape == "job":
        return rules["job_zh" if chinese else "job_en"].fullmatch(value) is not None and not rules["job_not"].search(
            value
        )
    if shape == "school":
        return rules["school_zh" if chinese else "school_en"].fullmatch(value) is not None
    if shape == "food":
        return not rules["food_not"].search(value) and (len(value) <= 8 if chinese else len(value.split()) <= 4)
    return not rules["pet_not"].search(value) and (len(value) <= 8 if chinese else len(value.split()) <= 4)


def normal(attribute: str, value: str) -> str:
    """The form under which two wordings of a value are the same."""
    if attribute == "birthday":
        return _day(value)
    if attribute == "phone":
        return re.sub(r"[^0-9+]", "", value)
    return re.sub(r"^(?:the|an?|to|some|any) ", "", normalise_name(value)).strip(" .!~·《》\"'")


def _day(value: str) -> str:
    """`05-03`; the year, which few say, does not count."""
    folded = normalise_name(value)
    found = re.search(r"([0-9]+|[正腊一二三四五六七八九十]+)月初?([0-9]+|[一二三四五六七八九十廿]+)", folded)
    found = found or re.fullmatch(r"([0-9]{1,2})[./]([0-9]{1,2})", folded)
    if found:
        return f"{_count(found[1]):02d}-{_count(found[2]):02d}"
    month = next((i for i, name in enumerate(_MONTHS, 1) if name in folded), 0)
    day = re.search(r"\b([0-9]{1,2})(?:st|nd|rd|th)?\b", folded)
    return f"{month:02d}-{int(day[1]) if day else 0:02d}"


def _count(text: str) -> int:
    """The number below a hundred that digits or Chinese numerals write."""
    if text.isdigit():
        return int(text)
    text = text.replace("廿", "二十")
    tens, ten, ones = text.partition("十")
    if not ten:
        return _NUMERALS.get(text, 0)
    return (_NUMERALS.get(tens, 0) if tens else 1) * 10 + (_NUMERALS.get(ones, 0) if ones else 0)
