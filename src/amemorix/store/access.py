"""Who may see what: from the ids of a call to the scopes it may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..config.model import Config
from .filters import allows, matches, restricts, split_entry
from .ports import Connection
from .queries import optional_array
from .records import ChatKey
from .rows.names import NameRepository

__all__ = ["EVERYONE", "Access", "Caller", "Sight", "chat_key"]


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

    @classmethod
    def of(cls, request: Any) -> Caller:
        """The caller of a request with these fields."""
        filtered = getattr(request, "respect_filter", True)
        return cls(request.chat_id, request.group_id, request.user_id, filtered, request.include_private)

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

        A chat sees itself, chats that share a group with it, and global memories; nobody named sees everything, less
        what the chat filter hides. A user beside a chat is who asks: they do not make the chat their private one.
        """
        if not self.serves(db, caller):
            return ()
        names, config, (chat, group, user) = (
            self._names,
            self._config,
            (caller.chat_id, caller.group_id, caller.user_id),
        )
        own = {EVERYONE, *_own(db, names, chat, group, user)}
        if user and (chat or group):
            private = config.profile.share_private if caller.include_private is None else caller.include_private
            own.update(names.chats_of(db, "", user) if private else ())
        scopes = None
        if caller.named and not config.global_memory_sharing_enabled:
            known = names.chat_key(db, chat) if chat else None
            whose = group or (known.group_id if known else "")
            asking = ChatKey(chat, whose, "" if whose or (known and known.user_id != user) else user)
            scopes = own | _shared(db, names, config, own, asking)
        if caller.respect_filter and restricts(config.filter):
            shown = own | {row for row, key in names.chats(db) if allows(config.filter, _of_chat(key))}
            scopes = shown if scopes is None else scopes & shown
        return None if scopes is None else tuple(sorted(scopes))


def _of_chat(known: ChatKey) -> ChatKey:
    """A chat as the filter sees it when nobody asks: a group's chat belongs to none of its users."""
    return ChatKey(known.chat_id, known.group_id) if known.group_id else known


def _own(db: Connection, names: NameRepository, chat_id: str, group_id: str, user_id: str) -> Iterable[int]:
    if not chat_id:
        return names.chats_of(db, group_id, user_id)
    row = names.chat_row(db, chat_id)
    return () if row is None else (row,)


def _shared(db: Connection, names: NameRepository, config: Config, own: set[int], asking: ChatKey) -> set[int]:
    found: set[int] = set()
    for group in config.shared_memory_groups:
        members = {row for target in group.targets for row in _rows(db, names, target)}
        if members & own or any(matches(target, asking) for target in group.targets):
            found |= members
    return found


def _rows(db: Connection, names: NameRepository, target: str) -> set[int]:
    kind, value = split_entry(target)
    found: set[int] = set()
    if kind in ("", "stream"):
        row = names.chat_row(db, value)
        found |= set() if row is None else {row}
    if kind in ("", "group"):
        found |= set(names.chats_of(db, value, ""))
    if kind in ("", "user", "private"):
        found |= set(names.chats_of(db, "", value))
    return found
