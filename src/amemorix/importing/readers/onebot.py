"""Chats as bots of QQ log them: the events of OneBot (go-cqhttp, NapCat, LLOneBot), and exports of NapCat."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...language.message_segments import spelled, spelled_segments
from ...language.normalise import clean_text
from ..records import Bad, Record
from .foreign_values import digest, id_of, name, text_of
from .json_members import Member, members, records

__all__ = ["OneBotExport", "is_event", "turn_of"]

EXPECTED = 'messages of OneBot: {"messages": [{"message_id", "time", "sender", "raw_message"}]}, or a list of them'
LISTS = ("", "messages", "data", "data.messages")
POSTS = ("message", "message_sent", "meta_event", "notice", "request")
SAID = ("", "message", "message_sent")
"""Posts that somebody says; the others tell what happened."""
_TEXTS = ("message", "raw_message", "alt_message")

Row = Mapping[str, Any]


class OneBotExport:
    """A JSON document of messages; what happened without being said, and what has no text, is passed over.

    A message goes to its group or private chat; one that names none to the task's chat.
    """

    def __init__(self) -> None:
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals."""
        return records(members(path, LISTS, EXPECTED, self._told), start, _of_member)

    def _told(self, share: float) -> None:
        self.share = share


def is_event(value: Row) -> bool:
    """Whether an object is what OneBot tells, in version 11 or 12, as an event or a stored message."""
    if isinstance(value.get("sender"), dict) and any(key in value for key in _TEXTS):
        return True
    if "detail_type" in value and isinstance(value.get("self"), dict):
        return True
    return value.get("post_type") in POSTS and ("self_id" in value or "message_id" in value)


def turn_of(value: Row, place: str) -> Record | None:
    """The turn that an event is; None if nobody says anything in it."""
    kind = name(value.get("post_type")) or (name(value.get("type")) if "detail_type" in value else "")
    text = _text(value)
    if kind not in SAID or not text:
        return None
    given = value.get("sender")
    sender: Row = given if isinstance(given, dict) else {}
    ids = [name(one) for one in (sender.get("user_id"), sender.get("uin"), value.get("user_id"), sender.get("uid"))]
    id_ = next((one for one in ids if one and one != "0"), "")
    called = [name(sender.get(key)) for key in ("card", "groupCard", "nickname", "name", "nick")]
    names = list(dict.fromkeys(one for one in called if any(char.isalnum() for char in one)))
    time = value.get("time") or value.get("timestamp")
    arguments = {
        "external_id": _external_id(value, text, id_, time),
        "text": text,
        "speaker": names[0] if names else id_,
        "person_id": id_,
        "aliases": [one for one in names[1:] if one != id_],
        "time": time,
        **_chat(value, id_),
    }
    return Record("turn", arguments, place, foreign=True)


def _of_member(member: Member) -> Record | Bad | None:
    if not (
        is_event(member.value) or isinstance(member.value.get("sender"), dict) or name(member.value.get("post_type"))
    ):
        return Bad(member.place, "is no message of OneBot: there is no `sender` with a text")
    return turn_of(member.value, member.place)


def _text(value: Row) -> str:
    """Out of the segments if there are any, since nothing in them can be mistaken for a code."""
    content = value.get("content")
    if isinstance(content, dict):  # an export of NapCat: the codes are words already
        return "" if value.get("recalled") or value.get("system") else text_of(content.get("text"))
    for given in (value.get(key) for key in _TEXTS):
        made = spelled_segments(given) if isinstance(given, list) else spelled(given) if isinstance(given, str) else ""
        if made:
            return clean_text(made)
    return ""


def _external_id(value: Row, text: str, person: str, time: Any) -> str:
    """With the time: ids of messages begin anew when a bot is set up again."""
    id_ = name(value.get("message_id")) or name(value.get("id"))
    return id_of("onebot", id_ or digest(text, person), name(str(time or "")))


def _chat(value: Row, person: str) -> dict[str, str]:
    group = name(value.get("group_id"))
    if group and group != "0":
        return {"group_id": group}
    if (name(value.get("message_type")) or name(value.get("detail_type"))) != "private":
        return {}
    partner = name(value.get("target_id")) if person == name(value.get("self_id")) else person
    return {"user_id": partner} if partner else {}
