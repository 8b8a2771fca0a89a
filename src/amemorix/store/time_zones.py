"""The time zones in which times are read and shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Self
from zoneinfo import ZoneInfo

from ..config.model import General
from .access import chat_key

__all__ = ["TimeZones"]


@dataclass(frozen=True, slots=True)
class TimeZones:
    """The general zone, and those of chats that have their own."""

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
