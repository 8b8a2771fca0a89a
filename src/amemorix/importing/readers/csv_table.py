"""Tables: a row is a text, or a chat turn if it has a speaker."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import IO, Any

from ...errors import InvalidRequest
from ...language.encoding import Encoding, encoding_of
from ..records import LONGEST_LINE, Bad, Occurrences, Reader, Record, read_lines

__all__ = ["COLUMNS", "CsvTable"]

csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))  # one cell may be a whole document

COLUMNS: dict[str, tuple[str, ...]] = {
    "text": (
        "text", "content", "message", "msg", "body", "strcontent", "内容", "文本", "消息", "正文", "消息内容", "聊天内容",
        "发言内容", "发言", "消息正文",
    ),
    "speaker": (
        "speaker", "sender", "name", "nickname", "role", "from", "sender_name", "username", "发言人", "说话人", "发送者",
        "发送人", "昵称", "姓名", "发言者", "发送者昵称", "发送人昵称", "用户昵称", "群昵称", "群名片", "用户名",
    ),
    "person_id": (
        "person_id", "sender_id", "发送者id", "发送人id", "发送者微信id", "发送者wxid", "wxid", "微信号", "微信id", "qq号", "qq",
    ),
    "time": (
        "time", "timestamp", "date", "datetime", "created_at", "createtime", "create_time", "strtime", "sent_at", "时间", "日期",
        "发送时间", "消息时间", "聊天时间", "日期时间", "时间戳",
    ),
    "external_id": ("external_id", "id", "message_id", "msg_id", "msgsvrid", "编号", "消息id"),
    "chat_id": ("chat_id", "chat", "conversation", "会话", "会话id", "聊天", "群"),
    "group_id": ("group_id", "群号", "群id"),
    "user_id": ("user_id", "用户id"),
    "source": ("source", "来源"),
    "tags": ("tags", "标签"),
    "knowledge_type": ("knowledge_type", "类型"),
}  # fmt: skip
"""What a column is taken for, by its heading; others are kept as metadata."""
OF_AUTHORS = {"speaker": ("author", *COLUMNS["speaker"]), "person_id": ("authorid", *COLUMNS["person_id"])}
"""The same where authors have ids, as in a table of DiscordChatExporter: elsewhere an author writes books."""
SAID = frozenset({"message", "msg", "strcontent", "消息", "消息内容", "消息正文", "聊天内容", "发言", "发言内容"})
"""What is under such a heading somebody has said."""
CALLED = frozenset({"nickname", "昵称", "姓名", "发送者昵称", "发送人昵称", "群昵称", "群名片", "用户昵称"})
SENT_BY = frozenset({"sender", "from", "发送者", "发送人"})
"""Beside a column of names these hold ids, as WeChat is written out."""


class CsvTable(Reader):
    """A table with a heading; positions are byte offsets.

    `columns` says which heading means what, where the usual names do not: {"text": "comment"}.
    """

    what = "A table with a heading, separated by comma, tab, semicolon or bar. 带表头的表格。"
    fields = (
        "text (内容), speaker (发言人), time (时间), external_id (编号), chat_id (会话), …; `columns` maps other headings; "
        "the rest is kept as metadata"
    )
    example = "speaker,text,time\nHannah,I am allergic to peanuts.,2025-03-02 09:00"

    takes = ("columns",)

    def __init__(self, *, columns: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._columns = dict(columns or {})
        if unknown := sorted(self._columns.keys() - COLUMNS.keys()):
            raise InvalidRequest(
                f"columns: there is no {unknown[0]!r}. Known: {', '.join(COLUMNS)}.", field="columns",
                allowed=list(COLUMNS),
            )  # fmt: skip

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        """Raises InvalidRequest without a heading."""
        encoding, said = encoding_of(path), Occurrences()
        with path.open("rb") as file:
            head = file.readline(1 << 16).decode(encoding, "replace")
            lines = _Lines(file, encoding)
            # the separator is what stands most often in the heading
            rows = csv.reader(lines, delimiter=max((",", "\t", ";", "|"), key=head.count), strict=True)
            heading = self._heading(rows)
            for number in count(2):
                try:
                    row = next(rows, None)
                except (csv.Error, UnicodeDecodeError) as exc:
                    yield lines.after, Bad(f"row {number}", f"cannot be read: {exc}")
                    continue
                if row is None:
                    return
                if any(cell.strip() for cell in row):
                    yield lines.after, _record(heading, row, f"row {number}", said)

    def _heading(self, rows: Iterator[list[str]]) -> list[tuple[str, str]]:
        """(meaning, name) of each column; the meaning is empty for one that is only kept."""
        try:
            names = _distinct(name.strip() for name in next(rows, []))
        except (csv.Error, UnicodeDecodeError) as exc:
            raise InvalidRequest(f"file: it is no table: {exc}.", field="file") from exc
        if missing := sorted(set(self._columns.values()) - set(names)):
            raise InvalidRequest(f"columns: the table has no column {missing[0]!r}.", field="columns")
        given = {name: meaning for meaning, name in self._columns.items()}
        columns = _columns({name.lower() for name in names})
        found: list[tuple[str, str]] = []
        for name in names:
            usual = next((meaning for meaning, usual in columns.items() if name.lower() in usual), "")
            meaning = given.get(name) or ("" if usual in self._columns else usual)
            found.append(("" if any(meaning == one for one, _ in found) else meaning, name))
        if not any(meaning == "text" for meaning, _ in found):
            raise InvalidRequest(
                f"columns: no column holds the text. Its heading is one of {', '.join(COLUMNS['text'])}; "
                "or say so with `columns`: {\"text\": HEADING} (`--columns text=HEADING`).", field="columns",
            )  # fmt: skip
        return found


def _record(heading: list[tuple[str, str]], row: list[str], place: str, said: Occurrences) -> Record | Bad:
    if len(row) > len(heading):
        return Bad(place, f"{len(row)} cells under {len(heading)} headings")
    cells = dict(zip(heading, (cell.strip() for cell in row), strict=False))
    arguments: dict[str, Any] = {meaning: cell for (meaning, _), cell in cells.items() if meaning and cell}
    if kept := {name: cell for (meaning, name), cell in cells.items() if not meaning and name and cell}:
        arguments["metadata"] = kept
    if "text" not in arguments:
        return Bad(place, "there is no text")
    if "tags" in arguments:
        arguments["tags"] = [tag.strip() for tag in re.split("[,，;；]", arguments["tags"]) if tag.strip()]
    arguments = {"external_id": said.external_id("row", json.dumps(arguments, sort_keys=True)), **arguments}
    if "speaker" in arguments or "person_id" in arguments:
        arguments.pop("knowledge_type", None)
        return Record("turn", arguments, place)
    if "time" in arguments:
        arguments["timestamp"] = arguments.pop("time")
    # a row that looks like a chat's and has nobody who speaks
    names = {meaning: name.lower() for meaning, name in heading if meaning}
    more = any(not meaning for meaning, _ in heading) or names["text"] in SAID
    chat = {"chat_id", "group_id", "user_id"} & names.keys()
    return Record("text", arguments, place, {"no_speaker_column": 1} if chat or ("time" in names and more) else {})


def _distinct(names: Iterable[str]) -> list[str]:
    """The headings, none of them empty or there twice."""
    found: list[str] = []
    for number, name in enumerate(names, start=1):
        found.append(f"{name} {number}".strip() if not name or name in found else name)
    return found


def _columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """What the headings of a table mean, where they stand together."""
    if "authorid" in names:
        return COLUMNS | OF_AUTHORS
    if not CALLED.isdisjoint(names) and set(COLUMNS["person_id"]).isdisjoint(names):
        speakers = tuple(one for one in COLUMNS["speaker"] if one not in SENT_BY)
        return COLUMNS | {"speaker": speakers, "person_id": tuple(SENT_BY)}
    return COLUMNS


class _Lines:
    """The lines as texts, and how far the table is read."""

    def __init__(self, file: IO[bytes], encoding: Encoding) -> None:
        self._lines = read_lines(file)
        self._encoding = encoding
        self.after = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.after = line.after
        if line.raw is None:
            raise csv.Error(f"a line is longer than {LONGEST_LINE} bytes")
        if b"\0" in line.raw:
            raise csv.Error("it holds NUL bytes")
        return line.raw.decode(self._encoding)
