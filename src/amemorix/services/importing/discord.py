"""Chats of Discord as DiscordChatExporter writes them in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .foreign_values import digest, id_of, name, text_of
from .json_members import Member, members, records
from .records import Bad, Record

__all__ = ["DiscordExport"]

EXPECTED = 'an export of DiscordChatExporter: {"guild": …, "channel": …, "messages": [{"id", "timestamp", "content", "author"}]}'
SAID = ("", "Default", "Reply")
"""Types of messages that somebody says; the others are notices of Discord."""


class DiscordExport:
    """`{"messages": [{id, type, timestamp, content, author: {id, name, nickname}}]}`; notices, and messages without a
    text, are passed over."""

    def __init__(self) -> None:
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals."""
        return records(members(path, ("messages",), EXPECTED, self._told), start, _turn)

    def _told(self, share: float) -> None:
        self.share = share


def _turn(member: Member) -> Record | Bad | None:
    item = member.value
    if not isinstance(item.get("author"), dict):
        return Bad(member.place, "is no message of Discord: there is no `author`")
    text = text_of(item.get("content"))
    if not text or name(item.get("type")) not in SAID:
        return None
    given = item.get("author")
    author: dict[str, Any] = given if isinstance(given, dict) else {}
    called, id_, time = name(author.get("name")), name(author.get("id")), item.get("timestamp")
    arguments = {
        "external_id": id_of("discord", name(item.get("id")) or digest(text, id_, str(time))),
        "text": text,
        "speaker": name(author.get("nickname")) or called,
        "person_id": id_ or called,
        "time": time,
    }
    return Record("turn", arguments, member.place)
