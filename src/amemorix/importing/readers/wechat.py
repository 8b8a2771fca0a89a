"""Chats of WeChat as PyWxDump writes them in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...lazy_regex import lazy_regex
from ..records import Bad, Record
from .foreign_values import digest, id_of, name, text_of
from .json_members import Member, members, records

__all__ = ["PyWxDump"]

EXPECTED = 'messages of PyWxDump: [{"MsgSvrID", "type_name", "talker", "room_name", "msg", "CreateTime"}]'
_HEARD = "翻译结果："
"""Before what was understood of a voice message."""
_NOT_WRITTEN = lazy_regex("图片|语音|视频|表情|系统|通知|拍一拍|通话|红包|转账|名片")
"""Types of messages of which `msg` tells nothing that anybody wrote."""


class PyWxDump:
    """`[{id, MsgSvrID, type_name, is_sender, talker, room_name, msg, CreateTime}]`.

    The chat is the task's, where it names one, else `wechat:` with the room; who speaks is known by the id that WeChat gives.
    """

    def __init__(self, *, chat_id: str = "") -> None:
        self._chat_id = chat_id
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals."""
        return records(members(path, ("", "data", "messages"), EXPECTED, self._told), start, self._turn)

    def _told(self, share: float) -> None:
        self.share = share

    def _turn(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not item.keys() >= {"msg", "CreateTime"}:
            return Bad(member.place, "is no message of PyWxDump: there is no `msg` with a `CreateTime`")
        kind, text = name(item.get("type_name")), text_of(item.get("msg"))
        if _HEARD in text:
            text = text.partition(_HEARD)[2].strip()
        elif _NOT_WRITTEN.search(kind):
            text = f"[{kind[:8]}]"
        if not text:
            return None
        talker, room, time = name(item.get("talker")), name(item.get("room_name")), item.get("CreateTime")
        id_ = name(item.get("MsgSvrID")).strip("0") and name(item.get("MsgSvrID"))
        arguments = {
            "external_id": id_of("wechat", room, id_ or digest(text, talker, str(time))),
            "text": text,
            "speaker": talker,
            "time": time,
            **({"chat_id": id_of("wechat", room)} if room and not self._chat_id else {}),
        }
        return Record("turn", arguments, member.place)
