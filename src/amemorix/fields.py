"""Types of the fields of requests, and what many of them ask: a chat, or who asks."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from .ids import HIGHEST
from .language.normalise import clean_text, normalise_name, unstorable
from .ops import ScopedRequest

__all__ = [
    "AskingRequest", "ChatRequest", "LetteredName", "MAX_QUERY_CHARS", "ManyChatsRequest", "Name", "NextCursor", "Offset",
    "OneOrMore", "PathInput", "RequiredName", "Tags", "TimeInput", "TimeToLive", "WholeText", "one_expiry",
]  # fmt: skip

MAX_QUERY_CHARS = 10_000
LONGEST_PATH, LONGEST_FILE_NAME = 2_000, 200
"""Bytes; file systems end at 4096 and 255, and a folder before or a suffix behind is added."""
LARGEST_NUMBER = 1e300
"""What is beyond cannot be a float, and is no time in any unit; neither is what is not a number."""


def _time_or_words(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo else value.isoformat()  # without a zone it is of the memory's
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < LARGEST_NUMBER:
        raise ValueError("must be a time: epoch seconds or a text")
    return float(value)


def _whole_characters(value: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise ValueError("holds half a surrogate pair, which is no character")
    return value


def _refuse_no_characters(value: str) -> None:
    if unstorable(value):
        raise ValueError("holds characters that no name has (NUL or half a surrogate pair)")


def _path(value: str) -> str:
    """A path that a file system can take; whether it may be used is for others to say."""
    _refuse_no_characters(value)
    if len(value.encode()) > LONGEST_PATH or any(len(part.encode()) > LONGEST_FILE_NAME for part in value.split("/")):
        raise ValueError(f"is over {LONGEST_PATH} bytes, or a name in it is over {LONGEST_FILE_NAME}")
    return value


def _name(value: Any) -> Any:
    """Names are cleaned as they are when they are stored; chat platforms have numeric ids."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return value
    _refuse_no_characters(value)
    if value and not value.strip():
        raise ValueError("is blank: leave it out, or give a name")
    return clean_text(value)


def _has_letters(value: str) -> str:
    if not normalise_name(value):
        raise ValueError("has no letters or digits to be known by")
    return value


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str | int) and not isinstance(value, bool) else value


Offset = Annotated[int, Field(ge=0, le=HIGHEST)]
PathInput = Annotated[str, AfterValidator(_path)]
WholeText = Annotated[str, StringConstraints(strip_whitespace=False), AfterValidator(_whole_characters)]
"""A text with the blank space around it."""
TimeInput = Annotated[float | str | None, BeforeValidator(_time_or_words)]
Name = Annotated[str, BeforeValidator(_name), Field(max_length=512)]
RequiredName = Annotated[Name, Field(min_length=1)]
Tags = Annotated[list[RequiredName], BeforeValidator(_one_or_more), Field(max_length=1_000)]
LetteredName = Annotated[RequiredName, AfterValidator(_has_letters)]
"""A name by which something can be known."""
TimeToLive = Annotated[float | None, Field(gt=0, description="The same, counted from now.")]
NextCursor = Annotated[str, Field(description="Give it as `cursor` for the next page; empty on the last one.")]
OneOrMore = BeforeValidator(_one_or_more)
"""Of a list: its one item may be given alone."""


def one_expiry(request: Any) -> Any:
    """Refuse both `expires_at` and `ttl_seconds`: a check of a whole request."""
    if request.ttl_seconds is not None and request.expires_at is not None:
        raise ValueError("expires_at and ttl_seconds mean the same: give one of them")
    return request


class ChatRequest(ScopedRequest):
    """What one chat may see."""

    chat_id: Name = Field("", description="Only what this chat may see; without it every chat.")


class AskingRequest(ScopedRequest):
    """Who asks."""

    chat_id: Name = Field(
        "",
        description="The chat that asks: it sees itself, chats shared with it, and global memories. Without chat, group or user the call is the host's own and sees every chat.",
    )
    group_id: Name = Field("", description="The group that asks; stands for its chats when `chat_id` is not given.")
    user_id: Name = Field("", description="The user who asks; names their private chat when no chat or group is given.")
    include_private: bool | None = Field(
        None,
        description="Beside a chat and a `user_id`: also what this user said in private. As `profile.share_private` when not given.",
    )


class ManyChatsRequest(AskingRequest):
    """Who asks, or which of all chats are read."""

    chat_pattern: RequiredName | None = Field(
        None,
        description="Without chat, group and user: of all chats only those whose ids are like this, `*` standing for any "
        "characters (`qq:*`), and nothing that every chat may see.",
    )
    only_own: bool = Field(
        False,
        description="Beside a chat, group or user: only its own, and nothing global or shared with it.",
    )

    @model_validator(mode="after")
    def _pattern_or_chat(self) -> ManyChatsRequest:
        if self.chat_pattern and self.names_chat:
            raise ValueError("chat_pattern: give it, or the chat, group and user that asks")
        if self.only_own and not self.names_chat:
            raise ValueError("chat_id is required beside only_own (or group_id, or user_id)")
        return self
