"""Chats as bots of QQ log them: the events of OneBot (go-cqhttp, NapCat, LLOneBot), and exports of NapCat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...language.message_segments import spelled, spelled_segments
from ...language.normalise import clean_text
from ..records import Bad, Record
from .foreign_values import digest, id_of, name, text_of
from .json_documents import JsonReader, Member

__all__ = ["OneBotExport", "is_event", "turn_of"]

POSTS = ("message", "message_sent", "meta_event", "notice", "request")
SAID = ("", "message", "message_sent")
"""Posts that somebody says; the others tell what happened."""
_TEXTS = ("message", "raw_message", "alt_message")

Row = Mapping[str, Any]


class OneBotExport(JsonReader):
    """A JSON document of messages; what happened without being said, and what has no text, is passed over.

    A message goes to its group or private chat; one that names none to the task's chat.
    """

    expected = 'messages of OneBot: {"messages": [{"message_id", "time", "sender", "raw_message"}]}, or a list of them'
    lists = ("", "messages", "data", "data.messages")

    def record(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not (is_event(item) or isinstance(item.get("sender"), dict) or name(item.get("post_type"))):
            return Bad(member.place, "is no message of OneBot: there is no `sender` with a text")
        return turn_of(item, member.place)


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
    given_id = name(value.get("message_id")) or name(value.get("id")) or digest(text, id_)
    arguments = {
        "external_id": id_of(
            "onebot", given_id, name(str(time or ""))
        ),  # ids begin anew with a bot that is set up again
        "text": text,
        "speaker": names[0] if names else id_,
        "person_id": id_,
        "aliases": [one for one in names[1:] if one != id_],
        "time": time,
    }
    group, kind_of_chat = name(value.get("group_id")), name(value.get("message_type")) or name(value.get("detail_type"))
    if group and group != "0":
        arguments["group_id"] = group
    elif kind_of_chat == "private":
        partner = name(value.get("target_id")) if id_ == name(value.get("self_id")) else id_
        arguments |= {"user_id": partner} if partner else {}
    return Record("turn", arguments, place, foreign=True)


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
