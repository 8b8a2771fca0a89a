"""Who asks: from the ids of a call to the scopes that it may read, and the time zone in which it speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Self
from zoneinfo import ZoneInfo

from ..config.model import Config, Filter, General
from .ports import Connection
from .queries import optional_array
from .records import ChatKey
from .rows.documents import NameRepository

__all__ = ["EVERYONE", "Access", "Caller", "Sight", "TimeZones", "allows", "chat_key", "matches", "restricts"]


@dataclass(frozen=True, slots=True)
class Sight:
    """Who looks, and when: only what paragraphs of these scopes support is seen; None sees everything."""

    scopes: Sequence[int] | None
    now: float

    @property
    def values(self) -> dict[str, Any]:
        """As parameters of a statement."""
        return {"scopes": optional_array(self.scopes), "now": self.now}


EVERYONE = 0
"""The scope of global memories."""
KINDS = ("group", "user", "private", "stream")


def chat_key(chat_id: str, group_id: str, user_id: str) -> ChatKey | None:
    """The chat a call speaks for; without a chat id it is the group's, or the user's private chat. None: nobody's."""
    if not (chat_id or group_id or user_id):
        return None
    derived = f"group:{group_id}" if group_id else f"private:{user_id}"
    return ChatKey(chat_id or derived, group_id, user_id)


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a call reads: a chat, a group or a user; nobody means the host itself."""

    chat_id: str = ""
    group_id: str = ""
    user_id: str = ""
    respect_filter: bool = True
    include_private: bool | None = None
    """Beside a chat: also what the user said in private; `profile.share_private` when None."""
    chat_pattern: str | None = None
    """For nobody: a pattern of the ids of the chats that are read."""
    only_own: bool = False
    """For somebody: nothing global, and nothing of other chats that is shared with them."""

    @classmethod
    def of(cls, request: Any) -> Caller:
        """The caller of a request with these fields."""
        filtered = getattr(request, "respect_filter", True)
        asking = (request.chat_id, request.group_id, request.user_id, filtered, request.include_private)
        return cls(*asking, getattr(request, "chat_pattern", None), getattr(request, "only_own", False))

    @property
    def named(self) -> bool:
        """Whether it is for somebody."""
        return bool(self.chat_id or self.group_id or self.user_id)


class Access:
    """The one place that says which scopes a caller may read."""

    def __init__(self, names: NameRepository, config: Config) -> None:
        self._names = names
        self._config = config

    def serves(self, db: Connection, caller: Caller) -> bool:
        """Whether the chat filter lets the caller use the memory; what the call leaves out is taken from what is known."""
        if not caller.named or not caller.respect_filter or not restricts(self._config.filter):
            return True
        known = self._names.chat_key(db, caller.chat_id) if caller.chat_id else None
        group, user = caller.group_id, caller.user_id
        if known is not None:
            group = group or known.group_id
            user = user or ("" if group else known.user_id)
        return allows(self._config.filter, ChatKey(caller.chat_id, group, user))

    def scopes(self, db: Connection, caller: Caller) -> tuple[int, ...] | None:
        """Scope rows that the caller may read: none for one whom the filter does not serve; None means every one.

        A chat sees itself, chats that share a group with it, and global memories; nobody named sees everything, or the
        chats of the pattern alone, less what the chat filter hides. A user beside a chat is who asks: they do not make
        the chat their private one.
        """
        if not self.serves(db, caller):
            return ()
        names, config = self._names, self._config
        chat, group, user = caller.chat_id, caller.group_id, caller.user_id
        if chat:
            row = names.chat_row(db, chat)
            own = {EVERYONE} if row is None else {EVERYONE, row}
        else:
            own = {EVERYONE, *names.chats_of(db, group, user)}
        if user and (chat or group):
            said = caller.include_private
            private = config.profile.share_private and not caller.only_own if said is None else said
            own.update(names.chats_of(db, "", user) if private else ())
        if caller.only_own:
            return tuple(sorted(own - {EVERYONE}))
        scopes: set[int] | None = set(names.chats_like(db, caller.chat_pattern)) if caller.chat_pattern else None
        if caller.named and not config.global_memory_sharing_enabled:
            known = names.chat_key(db, chat) if chat else None
            whose = group or (known.group_id if known else "")
            asking = ChatKey(chat, whose, "" if whose or (known and known.user_id != user) else user)
            scopes = set(own)
            for shared in config.shared_memory_groups:
                members = {row for target in shared.targets for row in _rows(db, names, target)}
                if members & own or any(matches(target, asking) for target in shared.targets):
                    scopes |= members
        if caller.respect_filter and restricts(config.filter):
            # When nobody asks, a group's chat belongs to none of its users.
            seen = ((row, ChatKey(key.chat_id, key.group_id) if key.group_id else key) for row, key in names.chats(db))
            shown = own | {row for row, key in seen if allows(config.filter, key)}
            scopes = shown if scopes is None else scopes & shown
        return None if scopes is None else tuple(sorted(scopes))


def _rows(db: Connection, names: NameRepository, target: str) -> set[int]:
    kind, value = _split_entry(target)
    found: set[int] = set()
    if kind in ("", "stream"):
        row = names.chat_row(db, value)
        found |= set() if row is None else {row}
    if kind in ("", "group"):
        found |= set(names.chats_of(db, value, ""))
    if kind in ("", "user", "private"):
        found |= set(names.chats_of(db, "", value))
    return found


@dataclass(frozen=True, slots=True)
class TimeZones:
    """The time zones in which times are read and shown: the general one, and those of chats that have their own."""

    general: tzinfo
    chats: Mapping[str, tzinfo]

    @classmethod
    def configured(cls, settings: General, machine: tzinfo) -> Self:
        """What the settings say; the machine's zone where they say nothing."""
        own = {one.chat: ZoneInfo(one.timezone) for one in settings.chat_timezones}
        return cls(ZoneInfo(settings.timezone) if settings.timezone else machine, own)

    def of(self, chat_id: str, group_id: str = "", user_id: str = "") -> tzinfo:
        """The zone of the chat that a call speaks for."""
        chat = chat_key(chat_id, group_id, user_id) if self.chats else None
        return self.general if chat is None else self.chats.get(chat.chat_id, self.general)


# the chat filter of the configuration


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
    kind, value = _split_entry(entry)
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


def _split_entry(entry: str) -> tuple[str, str]:
    """(kind, id); the kind is empty for a bare id."""
    kind, colon, value = entry.strip().partition(":")
    if colon and kind.lower() in KINDS and value.strip():
        return kind.lower(), value.strip()
    return "", entry.strip()
