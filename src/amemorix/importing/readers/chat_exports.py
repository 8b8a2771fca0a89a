"""How programs for chatting write chats out as text: the message manager of QQ, WeChat, WhatsApp, DiscordChatExporter.

Times come by twelve hours and in the order of any country; each program begins a message in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ...errors import InvalidRequest
from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex

__all__ = [
    "HALF", "Export", "by_24_hours", "export_of", "is_notice", "is_page_decoration", "is_whatsapp", "person_of",
    "whatsapp_of", "written",
]  # fmt: skip

HALF = "凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上"
"""What stands before an hour in Chinese."""
HALF_AFTER = r"[AaPp]\.?\s?[Mm]\b\.?"
"""What stands behind one in English."""
_LATER = ("下午", "傍晚", "晚上")
_CLOCK = lazy_regex(
    rf"(?<!\s)\s*({HALF})\s*(\d{{1,2}})(?=[:：.])|(?<=[\s日T])(\d{{1,2}})([:：][\d:：]+)\s?({HALF_AFTER})"
)


def half_of(hour: int, half: str) -> int:
    """The hour of the day; one that is written by 24 hours stays as it is."""
    word = half[:1].lower()
    if not half or hour > 12:
        return hour
    if word == "p" or half in _LATER:
        return (0 if half == "晚上" else 12) if hour == 12 else hour + 12
    if half == "中午":
        return hour + 12 if hour < 10 else hour
    return hour % 12


def by_24_hours(time: str) -> str:
    """A time with the hour by 24 hours; any other stays as it is."""

    def spelled(found: re.Match[str]) -> str:
        if found.group(1):
            return f" {half_of(int(found.group(2)), found.group(1)):02}"
        return f"{half_of(int(found.group(3)), found.group(5)):02}{found.group(4)}"

    return _CLOCK.sub(spelled, time, count=1)


# each program

Head = Callable[[str], tuple[str, str, str] | None]
"""(time, name, text) of a line that begins a message, else None; without a name nobody says it."""
SAMPLE = 1 << 16
SYSTEM = ("系统消息", ("10000", "1000000"))
"""Who tells in QQ what nobody says."""
_RULE = lazy_regex(r"={30,}")
_BESIDE_A_RULE = lazy_regex(r"={30,}|消息(?:分组|对象)[:：].*|Exported [\d.,\s]+ message.*")
_QQ_TITLE = lazy_regex(r"\s*消息记录[（(]")
_QQ_TIME = rf"\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}} (?:(?:{HALF})\s?)?\d{{1,2}}:\d{{2}}:\d{{2}}(?:\s?[AaPp][Mm])?"
_QQ_HEAD = lazy_regex(rf"({_QQ_TIME})\s+(\S[^\n]{{0,99}})")
_WECHAT_HEAD = lazy_regex(rf"(\S[^\n:：]{{0,59}}?)\s+({_QQ_TIME})")
_TIME = rf"\d{{4}}[-/.年]\d{{1,2}}[-/.月]\d{{1,2}}日?\s+(?:(?:{HALF})\s?)?\d{{1,2}}[:：]\d{{2}}(?:[:：]\d{{2}})?(?:\s?[AaPp][Mm])?"
_TIME_FIRST = lazy_regex(rf"({_TIME})\s+([^\s:：][^\n:：]{{0,59}})")
_NAME_FIRST = lazy_regex(rf"([^\s:：][^\n:：]{{0,59}}?)\s+({_TIME})")
_DISCORD_TITLE = lazy_regex(r"\s*={30,}\s*\n(?:Guild|Server): .*\n(?:Channel): ")
_DISCORD_HEAD = lazy_regex(r"\[([^\]]{8,40})\]\s(\S[^\n]{0,99}?)(?: \(pinned\))?")
_DISCORD_TIME = lazy_regex(
    r"(\d{1,4})([-/. ])(\d{1,2}|[A-Za-z]{3})[-/. ](\d{1,4}),?\s(\d{1,2})[:.](\d{2})(?:[:.]\d{2})?(?:\s?([AaPp])\.?[Mm]\.?)?"
)
_DISCORD_BLOCK = lazy_regex(
    r"\n\n\{(?:Attachments|Embeds?|Stickers?|Reactions|Inline Emoji|Invites?|Polls?|Forwarded Message)\}[ \t]*(?:\n.*)?\Z",
    re.S,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ID_AT_END = lazy_regex(r"(?:[(（]([0-9]{5,12})[)）]|<([^<>\s@]+@[^<>\s]+)>)\Z")
_TITLE = lazy_regex(r"【[^】]{1,20}】\s*(?=\S)")


@dataclass(frozen=True, slots=True)
class Export:
    """A program's way to write: `head` gives the (time, name, text) of a line that begins a message, else None."""

    program: str
    head: Head
    unsure: bool = False
    """Nothing tells whether the day or the month is first."""


def export_of(path: Path) -> Export | None:
    """The program that wrote a file, by how it begins; None for any other text."""
    try:
        encoding = encoding_of(path)
    except InvalidRequest:
        return None
    with path.open("rb") as file:
        sample = file.read(SAMPLE).decode(encoding, "ignore").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = sample.split("\n")
    if _DISCORD_TITLE.match(sample):
        heads = (_DISCORD_HEAD.fullmatch(line.rstrip()) for line in lines)
        times = [time for head in heads if head and (time := _DISCORD_TIME.fullmatch(head.group(1)))]
        # the month is first by default; one such date that cannot be read so tells of all
        day_first = any(time.group(2) == "." or 12 < int(time.group(1)) < 32 for time in times)
        return Export("discord", lambda text: _discord_head(text, day_first))
    if is_whatsapp(lines):
        return whatsapp_of(path)
    lines = [line.rstrip() for line in lines]
    heads = (_qq_head(line) for line in lines)
    if _QQ_TITLE.match(sample) or sum(bool(head and _ID_AT_END.search(head[1])) for head in heads) > 1:
        return Export("qq", _qq_head)
    # WeChat: the first line that says anything has a name and a time to the second, and another one later
    first = next((line for line in lines if line), "")
    if _wechat_head(first) and sum(bool(_wechat_head(line)) for line in lines) > 1:
        return Export("wechat", _wechat_head)
    return _by_its_heads(lines, first)


def whatsapp_of(path: Path) -> Export:
    """WhatsApp, with the dates as this file has them."""
    with path.open("rb") as file:  # which of two numbers is the day may show late
        lines = file.read(SAMPLE << 5).decode(encoding_of(path), "ignore").removeprefix("\ufeff").splitlines()
    return Export("whatsapp", *whatsapp_head(lines))


def written(export: Export, text: str) -> str:
    """What somebody wrote in a message, without what the program added."""
    if export.program == "whatsapp":
        return said_in(text)
    return _DISCORD_BLOCK.sub("", f"\n\n{text}").strip() if export.program == "discord" else text


def is_page_decoration(text: str, after_rule: bool) -> tuple[bool, bool]:
    """(whether an exported line belongs to a heading or an end, whether the next one may)."""
    found = bool(_RULE.fullmatch(text)) or (after_rule and bool(_BESIDE_A_RULE.fullmatch(text)))
    return found, found or (after_rule and not text)


def person_of(name: str) -> tuple[str, str]:
    """(name, id) of a name as QQ writes it: `【管理员】大黄(10002)`, `Alice<alice@foxmail.com>`; any other stays as it is."""
    found = _ID_AT_END.search(name.strip())
    if found is None:
        return name, ""
    id_ = found.group(1) or found.group(2)
    return _TITLE.sub("", found.string[: found.start()], count=1).strip() or id_, id_


def is_notice(name: str, id_: str) -> bool:
    """Whether QQ itself speaks."""
    return name == SYSTEM[0] and id_ in SYSTEM[1]


def _qq_head(text: str) -> tuple[str, str, str] | None:
    found = _QQ_HEAD.fullmatch(text)
    return (found.group(1), found.group(2), "") if found else None


def _wechat_head(text: str) -> tuple[str, str, str] | None:
    found = _WECHAT_HEAD.fullmatch(text)
    return (found.group(2), found.group(1), "") if found else None


def _by_its_heads(lines: list[str], first: str) -> Export | None:
    """A chat in which each message is a line with its time and a name, in either order, and the text below it.

    All heads are written as the first, what follows one is hardly ever another, and some names come again.
    """
    time_first = bool(_TIME_FIRST.fullmatch(first))
    pattern, when, who = (_TIME_FIRST, 1, 2) if time_first else (_NAME_FIRST, 2, 1)
    colons = len(re.findall("[:：]", first))

    def head(line: str) -> tuple[str, str, str] | None:
        found = pattern.fullmatch(line)
        return (found[when], found[who], "") if found and len(re.findall("[:：]", line)) == colons else None

    begun = [(found[1], below) for line, below in pairwise([*lines, ""]) if (found := head(line))]
    with_text = sum(bool(below) and head(below) is None for _, below in begun)
    names = len({name for name, _ in begun})
    if not head(first) or with_text * 5 < len(begun) * 4 or not 1 < names <= len(begun) // 2:
        return None
    return Export("qq" if time_first else "wechat", head)


def _discord_head(text: str, day_first: bool) -> tuple[str, str, str] | None:
    head = _DISCORD_HEAD.fullmatch(text)
    found = _DISCORD_TIME.fullmatch(head.group(1)) if head else None
    if head is None or found is None:
        return None
    first, _, second, third, hour, minute, half = found.groups()
    if len(first) == 4:
        year, month, day = first, second, third
    elif second.isalpha() or day_first:
        year, month, day = third, second, first
    else:
        year, month, day = third, first, second
    if month.isalpha():
        month = str(_MONTHS.index(month.lower()) + 1) if month.lower() in _MONTHS else "0"
    clock = half_of(int(hour), half or "")
    year = f"20{year}" if len(year) == 2 else year
    return f"{year}-{int(month):02}-{int(day):02} {clock:02}:{minute}", head.group(2), ""


# WhatsApp, on Android and on iPhones, in the dates of any country

Stamp = tuple[str, ...]
_WHATSAPP_STAMP = (
    r"(\d{1,4})([./-])(\d{1,2})[./-](\d{1,4})(,?)\s"
    rf"({HALF})?\s?(\d{{1,2}})[:.](\d{{2}})(?:[:.](\d{{2}}))?(?:\s?({HALF_AFTER}))?"
)
_WHATSAPP_ANDROID = lazy_regex(rf"{_WHATSAPP_STAMP}\s[-–]\s(\S.*)", re.S)
_WHATSAPP_IPHONE = lazy_regex(rf"\[{_WHATSAPP_STAMP}\]\s(\S.*)", re.S)
_WHATSAPP_SAID = lazy_regex(r"([^:\n\"“”]{1,100}): ?(.*)", re.S)
_WHATSAPP_MARK = "\u200e"
"""Before what the program itself writes."""
_WHATSAPP_NOTICE = lazy_regex(
    r"Messages (?:you send to this group )?and calls are (?:now )?(?:secured with )?end-to-end encrypt|消息和通话都?(?:进行|已)?端[对到]端加密"
)
_WHATSAPP_SENT = lazy_regex(
    r"<(?:Media omitted|Medien ausgeschlossen|Multimedia omitido|Médias omis|省略多媒体文件|媒体文件已略去|忽略多媒体文件)>"
    r"|\u200e?<attached: [^<>\n]+>|\u200e[^\n]{0,60} omitted|(?<!\S)\S+\.\w{2,5} \(file attached\)"
    r"|\u200e?(?:This message was deleted|You deleted this message)\.?|\u200e?<This message was edited>"
)
_WHATSAPP_LINES = 20_000
"""Lines by which the order of day and month is told."""


def is_whatsapp(lines: Sequence[str]) -> bool:
    """Whether lines are a chat of WhatsApp: the first begins a message, and somebody says one."""
    begun = [found for line in lines if (found := _whatsapp_begun(line)) is not None]
    first = next((line for line in lines if line.strip()), "")
    return _whatsapp_begun(first) is not None and any(_WHATSAPP_SAID.match(text) for _, text in begun)


def whatsapp_head(lines: Sequence[str]) -> tuple[Head, bool]:
    """(how lines begin messages, whether nothing in these lines tells if the day or the month is first)."""
    stamps = [found[0] for line in lines[:_WHATSAPP_LINES] if (found := _whatsapp_begun(line)) is not None]
    day_first, sure = _day_first(stamps)

    def head(line: str) -> tuple[str, str, str] | None:
        found = _whatsapp_begun(line)
        time = _whatsapp_time(found[0], day_first) if found else ""
        if found is None or not time:
            return None
        said = _WHATSAPP_SAID.fullmatch(found[1])
        text = said.group(2) if said else ""
        if said is None or _WHATSAPP_NOTICE.match(text.lstrip(_WHATSAPP_MARK)):
            return time, "", ""
        return time, said.group(1).strip(" ~\u200e\u202a\u202c\xa0"), text

    return head, not sure


def said_in(text: str) -> str:
    """What somebody wrote in a message, without the lines that stand for what else was sent."""
    lines = (_WHATSAPP_SENT.sub("", line) for line in text.split("\n"))
    return "\n".join(line for line in lines if not line.startswith(_WHATSAPP_MARK)).strip()


def _whatsapp_begun(line: str) -> tuple[Stamp, str] | None:
    line = line.strip().lstrip(_WHATSAPP_MARK)
    found = _WHATSAPP_ANDROID.fullmatch(line)
    if found is None:
        found = _WHATSAPP_IPHONE.fullmatch(line)
        if found is None or not (found.group(5) or found.group(6) or found.group(10)):
            return None  # in brackets any log has its times
    elif found.group(9) and not (found.group(5) or found.group(6) or found.group(10)):
        return None
    *stamp, text = (one or "" for one in found.groups())
    return tuple(stamp), text


def _day_first(stamps: Sequence[Stamp]) -> tuple[bool, bool]:
    """(whether the day is first, whether the dates tell): by a day past 12, else by which way they go on in time."""
    dates = [(one[0], one[2], one[3]) for one in stamps if len(one[0]) < 4]
    if not dates or any(one[1] == "." for one in stamps):
        return True, True
    firsts, seconds = (sum(int(one[at]) > 12 for one in dates) for at in (0, 1))
    if firsts != seconds:
        return firsts > seconds, True
    by_day = [(int(year), int(month), int(day)) for day, month, year in dates]
    by_month = [(int(year), int(month), int(day)) for month, day, year in dates]
    days_back, months_back = (sum(b < a for a, b in pairwise(one)) for one in (by_day, by_month))
    if days_back != months_back:
        return days_back < months_back, True
    bare = any(not one.startswith("0") and len(one) == 1 for date in dates for one in date[:2])
    american = bare and any(one[9] for one in stamps)
    return not american, all(first == second for first, second, _ in dates)


def _whatsapp_time(stamp: Stamp, day_first: bool) -> str:
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
