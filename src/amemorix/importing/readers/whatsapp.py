"""Chats as WhatsApp writes them out as text, on Android and on iPhones, in the dates of any country."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ...lazy_regex import lazy_regex
from .chat_times import HALF, HALF_AFTER, half_of

__all__ = ["Head", "is_whatsapp", "said_in", "whatsapp_head"]

Head = Callable[[str], tuple[str, str, str] | None]
"""(time, name, text) of a line that begins a message, else None; without a name nobody says it."""
Stamp = tuple[str, ...]
_STAMP = (
    r"(\d{1,4})([./-])(\d{1,2})[./-](\d{1,4})(,?)\s"
    rf"({HALF})?\s?(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?(?:\s?({HALF_AFTER}))?"
)
_ANDROID = lazy_regex(rf"{_STAMP}\s[-–]\s(\S.*)", re.S)
_IPHONE = lazy_regex(rf"\[{_STAMP}\]\s(\S.*)", re.S)
_SAID = lazy_regex(r"([^:\n\"“”]{1,100}): ?(.*)", re.S)
_MARK = "\u200e"
"""Before what the program itself writes."""
_NOTICE = lazy_regex(
    r"Messages (?:you send to this group )?and calls are (?:now )?(?:secured with )?end-to-end encrypt|消息和通话都?(?:进行|已)?端[对到]端加密"
)
_SENT = lazy_regex(
    r"<(?:Media omitted|Medien ausgeschlossen|Multimedia omitido|Médias omis|省略多媒体文件|媒体文件已略去|忽略多媒体文件)>"
    r"|\u200e?<attached: [^<>\n]+>|\u200e[^\n]{0,60} omitted|(?<!\S)\S+\.\w{2,5} \(file attached\)"
    r"|\u200e?(?:This message was deleted|You deleted this message)\.?|\u200e?<This message was edited>"
)
_SAMPLED = 20_000
"""Lines by which the order of day and month is told."""


def is_whatsapp(lines: Sequence[str]) -> bool:
    """Whether lines are a chat of WhatsApp: the first begins a message, and somebody says one."""
    begun = [found for line in lines if (found := _begun(line)) is not None]
    first = next((line for line in lines if line.strip()), "")
    return _begun(first) is not None and any(_SAID.match(text) for _, text in begun)


def whatsapp_head(lines: Sequence[str]) -> tuple[Head, bool]:
    """(how lines begin messages, whether nothing in these lines tells if the day or the month is first)."""
    stamps = [found[0] for line in lines[:_SAMPLED] if (found := _begun(line)) is not None]
    day_first, sure = _order(stamps)

    def head(line: str) -> tuple[str, str, str] | None:
        found = _begun(line)
        time = _time(found[0], day_first) if found else ""
        if found is None or not time:
            return None
        said = _SAID.fullmatch(found[1])
        text = said.group(2) if said else ""
        if said is None or _NOTICE.match(text.lstrip(_MARK)):
            return time, "", ""
        return time, said.group(1).strip(" ~\u200e\u202a\u202c\xa0"), text

    return head, not sure


def said_in(text: str) -> str:
    """What somebody wrote in a message, without the lines that stand for what else was sent."""
    lines = (_SENT.sub("", line) for line in text.split("\n"))
    return "\n".join(line for line in lines if not line.startswith(_MARK)).strip()


def _begun(line: str) -> tuple[Stamp, str] | None:
    line = line.strip().lstrip(_MARK)
    found = _ANDROID.fullmatch(line)
    if found is None:
        found = _IPHONE.fullmatch(line)
        if found is None or not (found.group(5) or found.group(6) or found.group(10)):
            return None  # in brackets any log has its times
    elif found.group(9) and not (found.group(5) or found.group(6) or found.group(10)):
        return None
    *stamp, text = (one or "" for one in found.groups())
    return tuple(stamp), text


def _order(stamps: Sequence[Stamp]) -> tuple[bool, bool]:
    """(whether the day is first, whether the dates tell): by a day past 12, else by which way they go on in time."""
    dates = [(one[0], one[2], one[3]) for one in stamps if len(one[0]) < 4]
    if not dates or any(one[1] == "." for one in stamps):
        return True, True
    firsts, seconds = (sum(int(one[at]) > 12 for one in dates) for at in (0, 1))
    if firsts != seconds:
        return firsts > seconds, True
    by_day, by_month = (_turned_back([(int(y), int(m), int(d)) for y, m, d in order]) for order in (
        [(y, m, d) for d, m, y in dates], [(y, m, d) for m, d, y in dates]))  # fmt: skip
    if by_day != by_month:
        return by_day < by_month, True
    bare = any(not one.startswith("0") and len(one) == 1 for date in dates for one in date[:2])
    american = bare and any(one[9] for one in stamps)
    return not american, all(first == second for first, second, _ in dates)


def _turned_back(days: Sequence[tuple[int, int, int]]) -> int:
    return sum(after < before for before, after in pairwise(days))


def _time(stamp: Stamp, day_first: bool) -> str:
    """Empty if there is no such day."""
    first, _, second, third, _, half, hour, minute, seconds, after = stamp
    if len(first) == 4:
        year, month, day = first, second, third
    else:
        year, month, day = (third, second, first) if day_first else (third, first, second)
        if int(month) > 12:
            month, day = day, month
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31) or len(year) not in (2, 4):
        return ""
    year = f"20{year}" if len(year) == 2 else year
    clock = f"{half_of(int(hour), half or after):02}:{minute}" + (f":{seconds}" if seconds else "")
    return f"{year}/{int(month):02}/{int(day):02} {clock}"
