"""The chat messages in a database of MaiBot."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...errors import InvalidRequest
from ...language.normalise import normalise_name
from ...store.read_only_database import ReadOnlyDatabase
from ..records import Bad, Reader, Record
from .foreign_values import metadata, moment, name, text_of

__all__ = ["MaiBotDatabase"]

EXPECTED = "a database of MaiBot: MaiBot.db with the table `messages`, or `mai_messages` in newer ones"
LAST = 2**62
NO_SPEECH = ("is_command", "is_notify")
"""Messages that nobody says: orders to the bot, and notices of the platform."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """Where a version of MaiBot keeps its messages and its chats."""

    name: str
    after: str
    last: str
    repeated: str
    chat: str
    time: str
    group: str
    chats: tuple[str, str, str]
    """Table, statement, column of the id."""


TABLES = (
    _Table("messages", "messages_after", "last_message", "messages_repeated", "chat_id", "time", "chat_info_group_id",
           ("chat_streams", "streams_of_chats", "stream_id")),
    _Table("mai_messages", "mai_messages_after", "last_mai_message", "mai_messages_repeated", "session_id", "timestamp", "group_id",
           ("chat_sessions", "sessions_of_chats", "session_id")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Around:
    """What else is known about a page of messages."""

    persons: Mapping[tuple[str, str], Row]
    chats: Mapping[str, Row]
    repeated: Mapping[tuple[str, str], int]


class MaiBotDatabase(Reader):
    """Messages in the order in which they were stored, each a turn of its chat, known by the platform's message id.

    A speaker is the person that `person_info` names, else the platform's user. Messages without text, commands and
    notices are passed over. `time_from` and `time_to` are epoch seconds or dates, and belong to the span, as `start_id`
    and `end_id` (of the column `id`) do; an empty list of streams, groups or users restricts nothing. `zone` is that of
    the bot's machine, for the versions that keep times without one.
    """

    what = "The chats in a database of MaiBot. MaiBot 数据库中的聊天记录。"
    fields = (
        "MaiBot.db with the table `messages`, or `mai_messages`; filters: time_from, time_to, stream_ids, group_ids, "
        "user_ids, start_id, end_id"
    )
    example = "data/MaiBot.db"
    live = True

    takes = ("time_from", "time_to", "stream_ids", "group_ids", "user_ids", "start_id", "end_id")

    def __init__(
        self,
        *,
        time_from: float | str | None = None,
        time_to: float | str | None = None,
        stream_ids: Collection[str] = (),
        group_ids: Collection[str] = (),
        user_ids: Collection[str] = (),
        start_id: int | None = None,
        end_id: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._from = _bound("time_from", time_from, self._zone)
        self._to = _bound("time_to", time_to, self._zone)
        self._only = tuple(frozenset(map(name, ids)) for ids in (stream_ids, group_ids, user_ids))
        self._first, self._last = start_id, end_id

    def read(self, path: Path, start: int = 0) -> Iterator[tuple[int, Record | Bad]]:
        """A position is the `id` of the message."""
        if not path.is_file():
            raise InvalidRequest(f"{path.name} is not {EXPECTED}.", field="path")
        with ReadOnlyDatabase(path) as db:
            table = next((one for one in TABLES if db.has(one.name, one.chat, one.time, "processed_plain_text")), None)
            if table is None:
                raise InvalidRequest(f"{path.name} is not {EXPECTED}.", field="path")
            if db.has(table.name, "message_id"):
                db.prepare(table.repeated)
            after = max(start, (self._first or 0) - 1)
            last = db.last(table.last)
            for page in db.pages(table.after, after, last=LAST if self._last is None else self._last):
                around = _around(db, table, page)
                for row in page:
                    self.share = min(row["row_"] / last, 1.0)
                    if (made := self._turn(row, table, around)) is not None:
                        yield row["row_"], made

    def _turn(self, row: Row, table: _Table, around: _Around) -> Record | Bad | None:
        text = text_of(row.get("processed_plain_text")) or text_of(row.get("display_message"))
        if not text or any(row.get(flag) for flag in NO_SPEECH):
            return None
        place = f"{table.name} id {row['row_']}"
        chat, user = name(row.get(table.chat)), name(row.get("user_id"))
        known = around.chats.get(chat, {})
        group = name(row.get(table.group)) or name(known.get("group_id"))
        at = moment(row.get(table.time), zone=self._zone)
        if any(only and one not in only for only, one in zip(self._only, (chat, group, user), strict=True)):
            return None
        early = self._from is not None and (at is None or at < self._from[0])
        if early or (self._to is not None and (at is None or at > self._to[1])):
            return None
        if not chat or at is None:
            return Bad(place, f"has no `{table.chat}`" if not chat else f"`{table.time}` is no time")
        partner = name(row.get("chat_info_user_id")) or name(known.get("user_id"))
        id_ = name(row.get("message_id"))
        if id_ and around.repeated.get((chat, id_), row["row_"]) != row["row_"]:
            id_ = f"{id_[:480]}#{row['row_']}"  # a second message that has the same id
        arguments = {
            "chat_id": chat,
            "group_id": group,
            "user_id": "" if group else partner,
            "text": text,
            "time": at,
            "external_id": id_ or f"maibot:{row['row_']}",
            **_speaker(row, user, around),
            "metadata": metadata({"reply_to": row.get("reply_to"), "platform": _platform(row)}),
        }
        return Record("turn", arguments, place, foreign=True)


def _speaker(row: Row, user: str, around: _Around) -> dict[str, Any]:
    person = around.persons.get((_platform(row), user), {})
    names = [name(one) for one in (row.get("user_cardname"), row.get("user_nickname"), person.get("person_name"))]
    called = list(dict.fromkeys(one for one in names if normalise_name(one)))
    key = name(person.get("person_id")) or user
    speaker = called[0] if called else key
    return {"speaker": speaker, "person_id": key, "aliases": [one for one in called[1:] if one != key]}


def _platform(row: Row) -> str:
    return name(row.get("user_platform")) or name(row.get("platform")) or name(row.get("chat_info_platform"))


def _around(db: ReadOnlyDatabase, table: _Table, page: Sequence[Row]) -> _Around:
    users = json.dumps(sorted({name(row.get("user_id")) for row in page}))
    chats = json.dumps(sorted({name(row.get(table.chat)) for row in page}))
    ids = json.dumps(sorted({name(row.get("message_id")) for row in page}))
    persons = db.rows("persons_of_users", users=users) if db.has("person_info", "user_id") else []
    of_chats, statement, key = table.chats
    found = db.rows(statement, chats=chats) if db.has(of_chats, key) else []
    again = db.rows("repeated_messages", ids=ids) if db.has(table.name, "message_id") else []
    return _Around(
        {(name(one.get("platform")), name(one.get("user_id"))): one for one in persons},
        {name(one.get(key)): one for one in found},
        {(name(one["chat"]), name(one["message_id"])): one["first"] for one in again},
    )


def _bound(field: str, value: float | str | None, zone: tzinfo | None) -> tuple[float, float] | None:
    """The first and the last instant that are named."""
    if value is None or value == "":
        return None
    start, end = moment(value, "start", zone), moment(value, "end", zone)
    if start is None or end is None:
        raise InvalidRequest(f"{field}: {str(value)[:60]!r} is no date and no epoch number.", field=field)
    return start, end
