"""Who may see what: from the ids of a call to the scopes it may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..config.model import Config, Filter
from .filters import allows, matches, restricts, split_entry
from .ports import Connection
from .queries import optional_array
from .records import ChatKey
from .rows.names import NameRepository

__all__ = ["EVERYONE", "Sight", "chat_key", "served", "visible_scopes"]


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


def served(db: Connection, names: NameRepository, settings: Filter, asking: ChatKey) -> bool:
    """Whether the chat filter lets this chat use the memory; what the call leaves out is taken from what is known."""
    known = names.chat_key(db, asking.chat_id) if asking.chat_id else None
    if known is not None:
        group = asking.group_id or known.group_id
        asking = ChatKey(asking.chat_id, group, asking.user_id or ("" if group else known.user_id))
    return allows(settings, asking)


def visible_scopes(
    db: Connection,
    names: NameRepository,
    config: Config,
    chat_id: str,
    group_id: str,
    user_id: str,
    *,
    respect_filter: bool,
    include_private: bool | None = None,
) -> tuple[int, ...] | None:
    """Scope rows that the call may read; None means every one.

    A call that names a chat sees that chat, chats that share a group with it, and global memories. One that names
    nobody sees everything, less what the chat filter hides. That the filter serves the chat itself has been checked.
    A user beside a chat is who asks: what they said in private is seen with `include_private`, which is
    `profile.share_private` when not given. They do not make the chat their private one.
    """
    known = names.chat_key(db, chat_id) if chat_id else None
    group = group_id or (known.group_id if known else "")
    asking = ChatKey(chat_id, group, "" if group or (known and known.user_id != user_id) else user_id)
    own = {EVERYONE, *_own(db, names, chat_id, group_id, user_id)}
    if user_id and (chat_id or group_id):
        open_ = config.profile.share_private if include_private is None else include_private
        own.update(names.chats_of(db, "", user_id) if open_ else ())
    scopes = None
    if (chat_id or group_id or user_id) and not config.global_memory_sharing_enabled:
        scopes = own | _shared(db, names, config, own, asking)
    if respect_filter and restricts(config.filter):
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
    """Chats of every shared group that the asking chat belongs to."""
    found: set[int] = set()
    for group in config.shared_memory_groups:
        members = {row for target in group.targets for row in _rows(db, names, target)}
        if members & own or any(matches(target, asking) for target in group.targets):
            found |= members
    return found


def _rows(db: Connection, names: NameRepository, target: str) -> set[int]:
    """Rows of the chats that an entry means."""
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
