"""Chats of Telegram as Telegram Desktop writes them out in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...language.normalise import clean_text
from ..records import Bad, Record
from .foreign_values import digest, id_of, name
from .json_members import Member, members, records

__all__ = ["TelegramExport"]

EXPECTED = 'an export of Telegram Desktop: {"id", "name", "messages": [{"id", "date", "from", "from_id", "text"}]}'
CHATS = ("", "chats.list.item.", "left_chats.list.item.")
"""What stands before the names of a chat's fields: of one that is alone, or one of all."""
_MEDIA = {
    "sticker": "贴纸", "voice_message": "语音", "audio_file": "音乐", "video_message": "视频", "video_file": "视频",
    "animation": "动图",
}  # fmt: skip
_THINGS = (
    ("photo", "图片"), ("location_information", "位置"), ("contact_information", "名片"), ("poll", "投票"), ("file", "文件"),
)  # fmt: skip


class TelegramExport:
    """`result.json`, of one chat or of all; what nobody says is passed over.

    The chat of an export of one is the task's, where it names one; else a chat is `telegram:` with its id.
    """

    def __init__(self, *, chat_id: str = "") -> None:
        self._chat_id = chat_id
        self._ids: dict[str, str] = {}
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals over all chats."""
        self._ids = {}
        lists = [f"{before}messages" for before in CHATS]
        return records(members(path, lists, EXPECTED, self._told, self._heard), start, self._turn)

    def _told(self, share: float) -> None:
        self.share = share

    def _heard(self, prefix: str, event: str, value: Any) -> None:
        """The id of a chat stands before its messages; one that stands elsewhere is of no use to them."""
        before = prefix.removesuffix("id")
        if event == "end_map":
            self._ids.pop(f"{prefix}.", None)
        elif prefix.endswith("id") and before in CHATS and event in ("number", "string"):
            self._ids[before] = name(int(value) if event == "number" else value)

    def _turn(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not item.keys() & {"text", "from", "from_id", "date"}:
            return Bad(member.place, "is no message of Telegram: there is no `text`, no `from` and no `date`")
        text = clean_text(_spelled(item))
        if not text or item.get("type", "message") != "message":
            return None
        before = member.key.removesuffix("messages")
        known = self._ids.get(before, "")
        if before and not known:
            return Bad(
                member.place, "is of a chat that has no `id` before its `messages`: which one it is cannot be told"
            )
        chat = id_of("telegram", known)
        time = item.get("date_unixtime") or item.get("date")
        called, person = name(item.get("from")), name(item.get("from_id"))
        number = name(item.get("id")) if known else ""  # each chat counts its own
        arguments = {
            "external_id": id_of(chat, number or digest(text, person, str(time), name(item.get("id")))),
            "text": text,
            "speaker": called or person,
            "person_id": person or called,
            "time": time,
            **({} if not before and (self._chat_id or not known) else {"chat_id": chat}),
        }
        return Record("turn", arguments, member.place)


def _spelled(item: dict[str, Any]) -> str:
    """What is written, behind what else is sent: `[图片] Look!`."""
    kind = name(item.get("media_type"))
    label = _MEDIA.get(kind) or next((label for key, label in _THINGS if item.get(key)), kind)
    more = name(item.get("sticker_emoji")) or (name(item.get("file_name")) if label == "文件" else "")
    sent = f"[{label}: {more}]" if more else f"[{label}]" if label else ""
    return " ".join(part for part in (sent, _written(item.get("text")).strip()) if part)


def _written(text: Any) -> str:
    """A text, or pieces of one: texts and objects with a text."""
    if isinstance(text, list):
        return "".join(_written(one) for one in text)
    return _written(text.get("text", "")) if isinstance(text, dict) else text if isinstance(text, str) else ""
