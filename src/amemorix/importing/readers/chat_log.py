"""Chat logs as people save them: lines with who speaks, or a line with time and name before what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InvalidRequest
from ...language.encoding import encoding_of
from ...lazy_regex import lazy_regex
from ..records import Bad, Occurrences, Reader, Record, read_lines
from .chat_exports import (
    HALF,
    Export,
    by_24_hours,
    export_of,
    is_notice,
    is_page_decoration,
    is_whatsapp,
    person_of,
    whatsapp_of,
    written,
)  # fmt: skip

__all__ = ["ChatLog", "looks_like_chat"]

_CLOCK = rf"(?:(?:{HALF})\s*)?\d{{1,2}}[:：]\d{{2}}(?:[:：]\d{{2}})?(?:\s?[AP]M\b)?"
_TIME = rf"\d{{4}}[-/.年]\d{{1,2}}[-/.月]\d{{1,2}}日?(?:[ T]+{_CLOCK})?"
_NO_NAME = lazy_regex(
    r"[^:：]*\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}(?!\d)|[^:：]*(?:^|[\s,，(（]|午|晚上|早上|凌晨)\d{1,2}[:：][0-5]\d(?!\d)"
    r"|\s*\d{1,2}月(?:\d{1,2}[日号])?\s*[:：]"
)
"""Of a line with a colon: its first is one of a time, or comes after a date."""
_SAID = lazy_regex(
    rf"^\s*(?:[\[(（【]?({_TIME})[\])）】]?[ ,，-]*)?([^\s:：\[\]][^:：\n]{{0,39}}?)\s*[:：]\s*(?!//)(\S.*)$", re.S
)
_HEAD = lazy_regex(rf"^\s*(?:({_TIME})\s+([^\s:：][^\n:：]{{0,59}}?)|([^\s:：][^\n:：]{{0,59}}?)\s+({_TIME}))\s*$")
LONGEST_TURN = 20_000
SAMPLE = 1 << 16
LEAST = 4
"""Lines that begin a turn, where a text looks like a chat; with times to the minute, or nothing but turns, two are enough."""


@dataclass(slots=True)
class _Turn:
    number: int
    after: int
    speaker: str
    time: str
    lines: list[str]
    notice: bool = False


class ChatLog(Reader):
    """Turns of `name: text`, with a time before it or not, or of a line `time name` and the lines below it.

    What begins with no name goes on with the turn before. The headings and notices of the exports of QQ, WeChat, WhatsApp
    and Discord are passed over, and of a name with an id in it, `大黄(10002)`, the two are told apart. Positions are byte
    offsets.
    """

    what = "A saved chat: `name: text` lines, with or without a time. 聊天记录。"
    fields = (
        "a time, a name, a colon and the text; or a line with time and name and the text below it; as QQ, WeChat, WhatsApp and "
        "DiscordChatExporter write them"
    )
    example = "2025-03-01 09:30 周宁: 我把伞放在值班柜里。\nHannah: Thanks!"

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        encoding, said = encoding_of(path), Occurrences()
        export = export_of(path) or _whatsapp_within(path)
        turn: _Turn | None = None
        met = after_rule = False
        timed = False  # where turns have times, what has none goes on with the turn before
        with path.open("rb") as file:
            for line in read_lines(file):
                if line.raw is None or len(line.raw) > LONGEST_TURN * 4:
                    raise InvalidRequest(f"file: line {line.number} is too long for a chat log.", field="file")
                if b"\0" in line.raw:
                    yield from self._record(turn, said, export)
                    yield line.after, Bad(f"line {line.number}", "it holds NUL bytes: it is no text")
                    turn = None
                    continue
                text = line.raw.decode(encoding, "replace").rstrip()
                if export is not None:
                    decoration, after_rule = is_page_decoration(text, after_rule)
                    if decoration:
                        continue
                begun = _begun(text, line.number, line.after, export)
                met = met or begun is not None
                timed = timed or (begun is not None and bool(begun.time))
                if begun is not None and (begun.time or not timed):
                    yield from self._record(turn, said, export)
                    turn = begun
                elif turn is not None:
                    turn.lines.append(text)
                    turn.after = line.after
                elif text.strip() and (export is None or export.program == "whatsapp"):
                    turn = _Turn(line.number, line.after, "", "", [text])
            yield from self._record(turn, said, export)
        if export is not None and not met:
            raise InvalidRequest(
                f"file: it begins as {export.program} writes a chat out, and none of its lines begins a message.",
                field="file",
            )

    def _record(
        self, turn: _Turn | None, said: Occurrences, export: Export | None
    ) -> Iterator[tuple[int, Record | Bad]]:
        text = "" if turn is None else "\n".join(turn.lines).strip()
        if export is not None:
            text = written(export, text)
        if turn is None or turn.notice or not text:
            return
        name, person_id = person_of(turn.speaker)
        if is_notice(name, person_id):
            return
        arguments: dict[str, Any] = {"speaker": turn.speaker, "text": text, "time": turn.time}
        arguments["external_id"] = said.external_id("said", json.dumps(arguments, sort_keys=True))
        arguments["time"] = turn.time or self._reference_time
        if person_id:
            arguments |= {"speaker": name, "person_id": person_id}
        left = {"day_or_month": 1} if export is not None and export.unsure else {}
        yield turn.after, Record("turn", arguments, f"line {turn.number}", left)


def looks_like_chat(path: Path) -> bool:
    """Whether a text is written like a chat: lines with time and name, or hardly any line without one of a few names.

    One that is all turns needs a single time.
    """
    encoding = encoding_of(path)
    with path.open("rb") as file:
        lines = [line for line in file.read(SAMPLE).decode(encoding, "ignore").split("\n") if line.strip()]
    begun = [turn for number, line in enumerate(lines) if (turn := _begun(line, number, 0, None))]
    whatsapp = sum(is_whatsapp([line]) for line in lines)
    timed = sum(bool(turn.time) for turn in begun) + whatsapp
    to_the_minute = sum(":" in turn.time for turn in begun) + whatsapp
    if timed * 3 >= len(lines) and (timed >= LEAST or to_the_minute > 1):
        return True
    if timed and len(lines) == len(begun) > 1:
        return True
    names = {turn.speaker for turn in begun}
    return len(begun) >= LEAST and len(begun) * 5 >= len(lines) * 4 and 1 < len(names) <= len(begun) // 2


def _whatsapp_within(path: Path) -> Export | None:
    """What stands before the first message, such as a title, makes no other chat of one of WhatsApp."""
    with path.open("rb") as file:
        lines = file.read(SAMPLE).decode(encoding_of(path), "ignore").splitlines()
    others = [turn for line in lines if (turn := _begun(line, 0, 0, None))]
    if any(turn.time for turn in others) or sum(is_whatsapp([line]) for line in lines) <= len(others):
        return None
    return whatsapp_of(path)


def _begun(text: str, number: int, after: int, export: Export | None) -> _Turn | None:
    if export is not None:
        found = export.head(text)
        if found is None:
            return None
        return _Turn(number, after, found[1], _plain(found[0]), [found[2]] if found[2] else [], notice=not found[1])
    if head := _HEAD.match(text):
        time, speaker = head.group(1) or head.group(4), head.group(2) or head.group(3)
        return _Turn(number, after, speaker, _plain(time), [])
    if (said := _SAID.match(text)) and not _NO_NAME.match(text, said.start(2)):
        return _Turn(number, after, said.group(2), _plain(said.group(1) or ""), [said.group(3)])
    return None


def _plain(time: str) -> str:
    """A time as it is read everywhere."""
    return re.sub(r"[-.年月]", "/", by_24_hours(time)).replace("日", "").replace("：", ":").replace("T", " ").strip()
