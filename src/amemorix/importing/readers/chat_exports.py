"""How programs for chatting write chats out as text: the message manager of QQ, WeChat, WhatsApp, DiscordChatExporter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ...errors import InvalidRequest
from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex
from .chat_times import HALF, half_of
from .whatsapp import Head, is_whatsapp, said_in, whatsapp_head

__all__ = ["Export", "export_of", "is_page_decoration", "is_notice", "person_of", "whatsapp_of", "written"]

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
