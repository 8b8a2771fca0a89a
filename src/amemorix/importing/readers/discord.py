"""Chats of Discord as DiscordChatExporter writes them in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..records import Bad, Record
from .foreign_values import digest, id_of, name, text_of
from .json_members import Member, members, records

__all__ = ["DiscordExport"]

EXPECTED = 'an export of DiscordChatExporter: {"guild": …, "channel": …, "messages": [{"id", "timestamp", "content", "author"}]}'
SAID = ("", "Default", "Reply")
"""Types of messages that somebody says; the others are notices of Discord."""


class DiscordExport:
    """`{"messages": [{id, type, timestamp, content, author: {id, name, nickname}}]}`; notices, and messages without a
    text, are passed over.

    The chat is the task's, where it names one, else `discord:` with the id of the channel.
    """

    def __init__(self, *, chat_id: str = "") -> None:
        self._chat_id = chat_id
        self._channel = ""
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals."""
        self._channel = ""
        return records(members(path, ("messages",), EXPECTED, self._told, self._heard), start, self._turn)

    def _told(self, share: float) -> None:
        self.share = share

    def _heard(self, prefix: str, event: str, value: Any) -> None:
        if prefix == "channel.id" and event in ("number", "string"):
            self._channel = name(int(value) if event == "number" else value)

    def _turn(self, member: Member) -> Record | Bad | None:
        made = _turn(member)
        if isinstance(made, Record) and self._channel and not self._chat_id:
            made.arguments["chat_id"] = id_of("discord", self._channel)
        return made


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
