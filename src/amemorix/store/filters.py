"""Which chats the memory serves, by the configuration's list."""

from __future__ import annotations

from ..config.model import Filter
from .records import ChatKey

__all__ = ["allows", "matches", "restricts", "split_entry"]

KINDS = ("group", "user", "private", "stream")


def allows(settings: Filter, chat: ChatKey) -> bool:
    """True if the list lets this chat use the memory.

    A chat with neither id, group nor user is the host itself: a blacklist cannot name it, a whitelist does not.
    """
    if not settings.enabled:
        return True
    listed = any(matches(entry, chat) for entry in settings.chats)
    return listed if settings.mode == "whitelist" else not listed


def restricts(settings: Filter) -> bool:
    """False if the list cannot refuse any chat."""
    return settings.enabled and (bool(settings.chats) or settings.mode == "whitelist")


def matches(entry: str, chat: ChatKey) -> bool:
    """True if `group:ID`, `user:ID`, `private:ID`, `stream:ID` or a bare id means this chat."""
    kind, value = split_entry(entry)
    if not value:
        return False
    if kind == "group":
        return chat.group_id == value
    if kind == "user":
        return chat.user_id == value
    if kind == "private":
        return chat.user_id == value and not chat.group_id
    if kind == "stream":
        return chat.chat_id == value
    return value in (chat.chat_id, chat.group_id, chat.user_id)


def split_entry(entry: str) -> tuple[str, str]:
    """(kind, id); the kind is empty for a bare id."""
    kind, colon, value = entry.strip().partition(":")
    if colon and kind.lower() in KINDS and value.strip():
        return kind.lower(), value.strip()
    return "", entry.strip()
