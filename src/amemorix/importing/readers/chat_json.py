"""Chats in JSON documents: of Discord, Telegram, WeChat and bots of QQ, and conversations with language models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...ingest.messages import Misspelt, read_message
from ...language.message_segments import spelled, spelled_segments
from ...language.normalise import clean_text
from ...lazy_regex import lazy_regex
from ..records import Bad, Occurrences, Record
from .foreign_values import digest, id_of, metadata, name, text_of
from .json_documents import JsonReader, Member

__all__ = [
    "SPOKEN",
    "Conversation",
    "DiscordExport",
    "OneBotExport",
    "PyWxDump",
    "TelegramExport",
    "is_event",
    "turn_of",
]


class ChatReader(JsonReader):
    """The messages of a program for chatting, for which the task may name the chat; reads one file once."""

    program = ""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._ids: dict[str, str] = {}
        """Ids of chats, which stand before their messages, by what stands before the names of their fields."""

    def chat(self, id_: str) -> dict[str, str]:
        """The chat of a message where the task names none."""
        return {"chat_id": id_of(self.program, id_)} if id_ and not self._chat_id else {}


class DiscordExport(ChatReader):
    """`{"messages": [{id, type, timestamp, content, author: {id, name, nickname}}]}` as DiscordChatExporter writes it;
    notices, and messages without a text, are passed over.

    The chat is the task's, where it names one, else `discord:` with the id of the channel.
    """

    what = (
        "A chat of Discord as DiscordChatExporter writes it in JSON; its CSV and its text are read as `csv` and `chat_log`. "
        "DiscordChatExporter 的导出。"
    )
    fields = "messages: id, type, timestamp, content, author (id, name, nickname)"
    example = (
        '{"guild": {"id": "1", "name": "Devs"}, "channel": {"id": "2", "name": "general"}, "messages": [{"id": "3", '
        '"type": "Default", "timestamp": "2026-02-03T10:00:00+00:00", "content": "I adopted a dog.", '
        '"author": {"id": "91", "name": "mia"}}]}'
    )

    program = "discord"
    expected = 'an export of DiscordChatExporter: {"guild": …, "channel": …, "messages": [{"id", "timestamp", "content", "author"}]}'
    lists = ("messages",)
    SAID = ("", "Default", "Reply")
    """Types of messages that somebody says; the others are notices of Discord."""

    def hear(self, prefix: str, event: str, value: Any) -> None:
        if prefix == "channel.id" and event in ("number", "string"):
            self._ids[""] = name(int(value) if event == "number" else value)

    def record(self, member: Member) -> Record | Bad | None:
        item, author = member.value, member.value.get("author")
        if not isinstance(author, dict):
            return Bad(member.place, "is no message of Discord: there is no `author`")
        text = text_of(item.get("content"))
        if not text or name(item.get("type")) not in self.SAID:
            return None
        called, id_, time = name(author.get("name")), name(author.get("id")), item.get("timestamp")
        arguments = {
            "external_id": id_of("discord", name(item.get("id")) or digest(text, id_, str(time))),
            "text": text,
            "speaker": name(author.get("nickname")) or called,
            "person_id": id_ or called,
            "time": time,
            **self.chat(self._ids.get("", "")),
        }
        return Record("turn", arguments, member.place)


class TelegramExport(ChatReader):
    """`result.json` of Telegram Desktop, of one chat or of all; what nobody says is passed over.

    The chat of an export of one is the task's, where it names one; else a chat is `telegram:` with its id.
    """

    what = "The `result.json` of Telegram Desktop, of one chat or of all. Telegram 桌面版的导出。"
    fields = "messages: id, type, date, from, from_id, text"
    example = (
        '{"name": "Hiking", "type": "private_group", "id": 42, "messages": [{"id": 1, "type": "message", '
        '"date": "2026-02-03T10:00:00", "from": "Mia", "from_id": "user91", "text": "I adopted a dog."}]}'
    )

    expected = 'an export of Telegram Desktop: {"id", "name", "messages": [{"id", "date", "from", "from_id", "text"}]}'
    CHATS = ("", "chats.list.item.", "left_chats.list.item.")
    """What stands before the names of a chat's fields: of one that is alone, or one of all."""
    lists = tuple(f"{before}messages" for before in CHATS)

    def hear(self, prefix: str, event: str, value: Any) -> None:
        """The id of a chat stands before its messages; one that stands elsewhere is of no use to them."""
        before = prefix.removesuffix("id")
        if event == "end_map":
            self._ids.pop(f"{prefix}.", None)
        elif prefix.endswith("id") and before in self.CHATS and event in ("number", "string"):
            self._ids[before] = name(int(value) if event == "number" else value)

    def record(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not item.keys() & {"text", "from", "from_id", "date"}:
            return Bad(member.place, "is no message of Telegram: there is no `text`, no `from` and no `date`")
        text = clean_text(_telegram_text(item))
        if not text or item.get("type", "message") != "message":
            return None
        before = member.key.removesuffix("messages")
        known = self._ids.get(before, "")
        if before and not known:
            why = "is of a chat that has no `id` before its `messages`: which one it is cannot be told"
            return Bad(member.place, why)
        chat, time = id_of("telegram", known), item.get("date_unixtime") or item.get("date")
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


_MEDIA = {
    "sticker": "贴纸", "voice_message": "语音", "audio_file": "音乐", "video_message": "视频", "video_file": "视频",
    "animation": "动图",
}  # fmt: skip
_THINGS = (
    ("photo", "图片"), ("location_information", "位置"), ("contact_information", "名片"), ("poll", "投票"), ("file", "文件"),
)  # fmt: skip


def _telegram_text(item: dict[str, Any]) -> str:
    """What is written, behind what else is sent: `[图片] Look!`."""

    def written(text: Any) -> str:
        if isinstance(text, list):
            return "".join(written(one) for one in text)
        return written(text.get("text", "")) if isinstance(text, dict) else text if isinstance(text, str) else ""

    kind = name(item.get("media_type"))
    label = _MEDIA.get(kind) or next((label for key, label in _THINGS if item.get(key)), kind)
    more = name(item.get("sticker_emoji")) or (name(item.get("file_name")) if label == "文件" else "")
    sent = f"[{label}: {more}]" if more else f"[{label}]" if label else ""
    return " ".join(part for part in (sent, written(item.get("text")).strip()) if part)


class PyWxDump(ChatReader):
    """`[{id, MsgSvrID, type_name, is_sender, talker, room_name, msg, CreateTime}]` of WeChat.

    The chat is the task's, where it names one, else `wechat:` with the room; who speaks is known by the id that WeChat gives.
    """

    what = "Messages of WeChat as PyWxDump writes them in JSON (`0_499.json`). PyWxDump 导出的微信聊天记录。"
    fields = "a list: MsgSvrID, type_name, talker, room_name, msg, CreateTime"
    example = (
        '[{"MsgSvrID": "7", "type_name": "文本", "is_sender": 0, "talker": "wxid_a", "room_name": "5@chatroom", '
        '"msg": "我对花生过敏", "CreateTime": "2024-05-01 12:33:21"}]'
    )

    program = "wechat"
    expected = 'messages of PyWxDump: [{"MsgSvrID", "type_name", "talker", "room_name", "msg", "CreateTime"}]'
    lists = ("", "data", "messages")
    HEARD = "翻译结果："
    """Before what was understood of a voice message."""
    NOT_WRITTEN = lazy_regex("图片|语音|视频|表情|系统|通知|拍一拍|通话|红包|转账|名片")
    """Types of messages of which `msg` tells nothing that anybody wrote."""

    def record(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not item.keys() >= {"msg", "CreateTime"}:
            return Bad(member.place, "is no message of PyWxDump: there is no `msg` with a `CreateTime`")
        kind, text = name(item.get("type_name")), text_of(item.get("msg"))
        if self.HEARD in text:
            text = text.partition(self.HEARD)[2].strip()
        elif self.NOT_WRITTEN.search(kind):
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
            **self.chat(room),
        }
        return Record("turn", arguments, member.place)


class Conversation(JsonReader):
    """Messages with `role` or `speaker` and `content` or `text`; of one without a text, as a call of a tool is, nothing is kept.

    Reads one file once.
    """

    what = "A conversation with a language model, or any messages in JSON that say who speaks. 带 role 的对话 JSON。"
    fields = "messages, data or a list: role, speaker, sender or name; content or text (a text, or parts with a text); time, id"
    example = '{"messages": [{"role": "user", "content": "I like jazz"}, {"role": "assistant", "content": "Noted."}]}'

    expected = 'a conversation: {"messages": [{"role", "content"}]}, or a list of such messages'
    lists = ("", "messages", "data", "data.messages")
    IDS = ("external_id", "id", "message_id")

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._said = Occurrences()

    def record(self, member: Member) -> Record | Bad | None:
        try:
            turn, rest = read_message(member.value)
        except Misspelt as exc:
            return Bad(member.place, f"{exc.key}: {exc}")
        if "text" not in turn or turn.keys().isdisjoint(("speaker", "person_id")):
            return Bad(member.place, "is no message: there is no `role` or `speaker` with a `content` or `text`")
        text = text_of(turn["text"])
        if not text:
            return None
        speaker, time, about = name(turn.get("speaker")), turn.get("time"), turn.get("metadata", {})
        ids = (name(member.value.get(one)) for one in self.IDS)  # they may begin anew elsewhere
        key = digest(text, speaker, str(time or ""), *ids)
        arguments = {
            "external_id": f"said:{key}:{self._said.count(key)}",
            "text": text,
            "speaker": speaker,
            "person_id": name(turn.get("person_id")),
            "aliases": [name(one) for one in turn.get("aliases", ())],
            "time": self._reference_time if time is None else time,
            "metadata": metadata({**rest, **about} if isinstance(about, dict) else rest),
        }
        given = {key: value for key, value in arguments.items() if value not in ("", None, {}, [])}
        return Record("turn", given, member.place)


# QQ, as its bots log it: the events of OneBot (go-cqhttp, NapCat, LLOneBot), and exports of NapCat

POSTS = ("message", "message_sent", "meta_event", "notice", "request")
SPOKEN = ("", "message", "message_sent")
"""Posts that somebody says; the others tell what happened."""
_ONEBOT_TEXTS = ("message", "raw_message", "alt_message")

Row = Mapping[str, Any]


class OneBotExport(JsonReader):
    """A JSON document of messages; what happened without being said, and what has no text, is passed over.

    A message goes to its group or private chat; one that names none to the task's chat.
    """

    what = (
        "Messages of QQ as OneBot, go-cqhttp or NapCat keep them in a JSON document; logs with one a line are `jsonl`. "
        "OneBot、NapCat 的 QQ 消息。"
    )
    fields = (
        "messages, data.messages or a list: message_id, time, message_type, group_id, sender (user_id, nickname, card), "
        "raw_message or message"
    )
    example = (
        '{"messages": [{"message_id": 7, "time": 1772366400, "message_type": "group", "group_id": 42, "sender": '
        '{"user_id": 10001, "nickname": "林澈"}, "raw_message": "明天去爬山[CQ:face,id=14]"}]}'
    )

    expected = 'messages of OneBot: {"messages": [{"message_id", "time", "sender", "raw_message"}]}, or a list of them'
    lists = ("", "messages", "data", "data.messages")

    def record(self, member: Member) -> Record | Bad | None:
        item = member.value
        if not (is_event(item) or isinstance(item.get("sender"), dict) or name(item.get("post_type"))):
            return Bad(member.place, "is no message of OneBot: there is no `sender` with a text")
        return turn_of(item, member.place)


def is_event(value: Row) -> bool:
    """Whether an object is what OneBot tells, in version 11 or 12, as an event or a stored message."""
    if isinstance(value.get("sender"), dict) and any(key in value for key in _ONEBOT_TEXTS):
        return True
    if "detail_type" in value and isinstance(value.get("self"), dict):
        return True
    return value.get("post_type") in POSTS and ("self_id" in value or "message_id" in value)


def turn_of(value: Row, place: str) -> Record | None:
    """The turn that an event is; None if nobody says anything in it."""
    kind = name(value.get("post_type")) or (name(value.get("type")) if "detail_type" in value else "")
    text = _onebot_text(value)
    if kind not in SPOKEN or not text:
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
        # ids begin anew with a bot that is set up again
        "external_id": id_of("onebot", given_id, name(str(time or ""))),
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


def _onebot_text(value: Row) -> str:
    """Out of the segments if there are any, since nothing in them can be mistaken for a code."""
    content = value.get("content")
    if isinstance(content, dict):  # an export of NapCat: the codes are words already
        return "" if value.get("recalled") or value.get("system") else text_of(content.get("text"))
    for given in (value.get(key) for key in _ONEBOT_TEXTS):
        made = spelled_segments(given) if isinstance(given, list) else spelled(given) if isinstance(given, str) else ""
        if made:
            return clean_text(made)
    return ""
