"""What chat clients put between the words, in words: pictures, faces and mentions of QQ as `[图片]`, `[表情]` and `@小雨`.

What holds no words at all, such as a sticker, the XML of a picture or the notice of a recall, is told from what does.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..lazy_regex import lazy_regex

__all__ = ["in_words", "spelled", "spelled_segments"]

LONGEST_LABEL = 80
_BRACKETS = lazy_regex(r"[\[\]]+")
_CODE = lazy_regex(r"\[CQ:([A-Za-z_-]+)((?:,[^\[\],]*)*)\]")
_LABELS = {
    "image": "图片", "flash": "闪照", "face": "表情", "mface": "表情", "bface": "表情", "sface": "表情", "marketface": "表情",
    "record": "语音", "voice": "语音", "audio": "语音", "video": "视频", "file": "文件", "onlinefile": "文件",
    "share": "链接", "music": "音乐", "location": "位置", "contact": "名片", "json": "卡片", "xml": "卡片", "lightapp": "卡片",
    "ark": "卡片", "miniapp": "小程序", "forward": "聊天记录", "node": "聊天记录", "redbag": "红包", "gift": "礼物",
    "poke": "戳一戳", "shake": "戳一戳", "rps": "猜拳", "dice": "骰子",
}  # fmt: skip
_SAYS_MORE = {
    "file": ("name", "file"),
    "share": ("title",),
    "music": ("title",),
    "location": ("title", "address"),
    "json": (),
}
_SUMMED_UP = ("image", "mface", "marketface")
_MENTIONS = ("at", "mention", "atall", "mention_all")
_SILENT = ("reply", "quote", "anonymous", "source", "basic")
_ONLY_A_CODE = lazy_regex(r"\[(?:[^\[\]:：\d]{1,8}|贴纸: [^\[\]]*)\]")
_MARKUP = lazy_regex(
    r"(?:[\w@.-]{1,60}[:：]\s*)?(?:<\?xml[^>]*>\s*)?<(?:msg|sysmsg|appmsg|revokemsg|voipmsg|voipinvitemsg)\b", re.S
)
_QUOTES = lazy_regex(r"<type>57</type>")
_RECALLED = lazy_regex(r"(.{1,60}?)\s*(?:撤回了一条(?:成员)?消息|recalled a message)[。.]?(?:\s*重新编辑)?")
_QUOTED = lazy_regex(r"[\"'“「].*[\"'”」]|你|对方|我|You|you")

Data = Mapping[str, Any]


def in_words(text: str, speaker: str) -> str:
    """What a speaker of a saved chat wrote: of a card its title, and nothing of pictures, stickers and notices."""
    text = text.strip()
    if _MARKUP.match(text):
        title, closed, _ = text.partition("<title>")[2].partition("</title>")
        title = _short(title.removeprefix("<![CDATA[").removesuffix("]]>")) if closed else ""
        return title if not title or _QUOTES.search(text) else f"[链接: {_BRACKETS.sub(' ', title).strip()}]"
    if "[CQ:" in text:
        text = spelled(text)
    recalled = _RECALLED.fullmatch(text)
    if recalled and (_QUOTED.fullmatch(recalled[1]) or recalled[1] == speaker):
        return ""
    rest, codes = _ONLY_A_CODE.subn("", text)
    return "" if codes and not any(char.isalnum() for char in rest) else text


def spelled(text: str) -> str:
    """A text with CQ codes, as a person would read it."""
    pieces: list[tuple[str, Data]] = []
    at = 0
    for found in _CODE.finditer(text):
        pieces.append(("text", {"text": _unescaped(text[at : found.start()])}))
        parts = (part.partition("=") for part in found[2].split(",") if part)
        pieces.append((found[1].lower(), {key: _unescaped(value) for key, _, value in parts}))
        at = found.end()
    return _joined([*pieces, ("text", {"text": _unescaped(text[at:])})])


def spelled_segments(segments: Iterable[Any]) -> str:
    """The same of a message in segments, `{"type": "image", "data": {…}}`; a text among them is one of its own."""
    return _joined(_segment(one) for one in segments)


def _segment(one: Any) -> tuple[str, Data]:
    if not isinstance(one, dict):
        return "text", {"text": one}
    data = one.get("data")
    return str(one.get("type", "")).lower(), data if isinstance(data, dict) else one


def _unescaped(text: str) -> str:
    return text.replace("&#91;", "[").replace("&#93;", "]").replace("&#44;", ",").replace("&amp;", "&")


def _joined(pieces: Iterable[tuple[str, Data]]) -> str:
    said, named = "", False
    for kind, data in pieces:
        piece = _MADE[kind](data) if kind in _MADE else _label(kind, data)
        if not piece:
            continue
        apart = (named or kind in _MENTIONS) and said and not (said[-1].isspace() or piece[0].isspace())
        said += f" {piece}" if apart else piece
        named = kind in _MENTIONS
    return said.strip()


def _label(kind: str, data: Data) -> str:
    """`[图片]`, with a title where there is one; of what nobody knows, its kind."""
    if kind in _SILENT:
        return ""
    summary = _short(data.get("summary")).strip("[]") if kind in _SUMMED_UP else ""
    more = next((found for key in _SAYS_MORE.get(kind, ()) if (found := _short(data.get(key)))), "")
    label = summary or _LABELS.get(kind, kind or "消息")
    return f"[{label}: {more}]" if more else f"[{label}]"


def _text(data: Data) -> str:
    text = data.get("text", data.get("content"))
    return text if isinstance(text, str) else ""


def _mention(data: Data) -> str:
    id_ = _short(data.get("qq") or data.get("user_id") or data.get("target"))
    called = _short(data.get("name") or data.get("text") or data.get("display")).removeprefix("@") or id_
    return "@全体成员" if id_ == "all" else f"@{called}" if called else ""


def _card(data: Data) -> str:
    """By what it says of itself where it cannot be shown."""
    told = data.get("data", data.get("content"))
    try:
        prompt = _short(json.loads(told).get("prompt")) if isinstance(told, str) else ""
    except (ValueError, AttributeError, RecursionError):
        prompt = ""
    return f"[卡片: {_BRACKETS.sub(' ', prompt).strip()}]" if prompt else "[卡片]"


def _short(value: Any, most: int = LONGEST_LABEL) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return html.unescape(value).strip()[:most] if isinstance(value, str) else ""


_MADE: dict[str, Callable[[Data], str]] = {
    "text": _text, "plain": _text, "at": _mention, "mention": _mention, "atall": lambda _: "@全体成员",
    "mention_all": lambda _: "@全体成员", "json": _card, "markdown": lambda data: _short(data.get("content"), 4_000),
}  # fmt: skip
