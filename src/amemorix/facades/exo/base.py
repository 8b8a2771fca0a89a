"""The items of Exo's memories, what a store of them does, and how an item is read, checked and compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol, Self, cast, runtime_checkable
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field

from ...language.normalise import unstorable

__all__ = [
    "AIMemory", "HumanMemory", "MemoryCategory", "MemoryError", "MemoryItem", "MemoryMetadata", "MemoryStatus",
    "MemoryStore", "StoreAround", "SystemMemory", "ToolMemory", "checked_item", "checked_limit", "digest_of", "inner_stores", "item_of",
    "json_in", "named_fields", "now", "prompt_of", "quoted",
]  # fmt: skip


class MemoryError(Exception):
    """A memory could not do what was asked."""


class MemoryCategory(StrEnum):
    """What kind of knowledge an item is."""

    USER_PROFILE = "user_profile"
    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    VARIABLE = "variable"
    SUMMARY = "summary"
    CONVERSATION = "conversation"


class MemoryStatus(StrEnum):
    """How far an item has come: a draft is accepted, either is discarded, and nothing comes back."""

    DRAFT = "draft"
    ACCEPTED = "accepted"
    DISCARD = "discard"


_NEXT = {
    MemoryStatus.DRAFT: (MemoryStatus.ACCEPTED, MemoryStatus.DISCARD),
    MemoryStatus.ACCEPTED: (MemoryStatus.DISCARD,),
    MemoryStatus.DISCARD: (),
}


class MemoryMetadata(BaseModel):
    """Whom an item belongs to. As a filter: what is given has to be equal, of `extra` each key."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    user_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    agent_id: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


def now() -> str:
    """The present moment, as items have it."""
    return datetime.now(UTC).isoformat()


class MemoryItem(BaseModel):
    """A memory. What kinds of its own have beside these fields is kept with it."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=512)
    content: str
    memory_type: str
    category: MemoryCategory | None = None
    status: MemoryStatus = MemoryStatus.ACCEPTED
    metadata: MemoryMetadata = Field(default_factory=MemoryMetadata)
    created_at: str = Field(default_factory=now)
    updated_at: str = Field(default_factory=now)

    def transition(self, status: MemoryStatus) -> Self:
        """Give the item another status; a MemoryError if it cannot have it from where it is."""
        wanted = MemoryStatus(status)
        if wanted not in _NEXT[self.status]:
            raise MemoryError(f"status: an item that is {self.status} cannot become {wanted}.")
        self.status, self.updated_at = wanted, now()
        return self


class SystemMemory(MemoryItem):
    """What the system says."""

    memory_type: str = "system"


class HumanMemory(MemoryItem):
    """What the user says."""

    memory_type: str = "human"


class AIMemory(MemoryItem):
    """What the model says, with the tools that it calls."""

    memory_type: str = "ai"
    tool_calls: list[dict[str, Any]] = Field(default_factory=list)


class ToolMemory(MemoryItem):
    """What a tool answers."""

    memory_type: str = "tool"
    tool_call_id: str = ""
    tool_name: str = ""
    is_error: bool = False


_KINDS: dict[str, type[MemoryItem]] = {
    "system": SystemMemory, "human": HumanMemory, "ai": AIMemory, "tool": ToolMemory,
}  # fmt: skip


@runtime_checkable
class MemoryStore(Protocol):
    """Where items are kept."""

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, in the place of one of the same id."""

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""

    async def search(
        self, *, query: str = "", metadata: MemoryMetadata | None = None, memory_type: str | None = None,
        category: MemoryCategory | None = None, status: MemoryStatus | None = None, limit: int = 10,
    ) -> list[MemoryItem]:  # fmt: skip
        """Items that meet every filter given: the best of a query first, without one the last stored first.

        What is discarded is found by its status alone.
        """
        ...

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata, without it all; how many those were."""
        ...


def item_of(given: Any) -> MemoryItem:
    """An item as it is; one of another package, or a mapping, by its fields."""
    if isinstance(given, MemoryItem):
        return given
    given = given.model_dump() if hasattr(given, "model_dump") else given
    fields = dict(cast(Mapping[str, Any], given) if isinstance(given, Mapping) else vars(given))
    return _KINDS.get(fields.get("memory_type", ""), MemoryItem).model_validate(fields)


def checked_item(given: Any) -> MemoryItem:
    """An item that can be stored. Raises MemoryError."""
    item = item_of(given)
    if not item.content.strip():
        raise MemoryError("content: an item needs a text.")
    if unstorable(item.content):
        raise MemoryError("content: a text holds no NUL, and no half of a surrogate pair.")
    try:
        json.dumps([item.metadata.extra, *named_fields(item).values()], allow_nan=False)
    except (TypeError, ValueError) as exc:
        raise MemoryError(f"metadata.extra: has to be JSON: {exc}") from exc
    return item


def named_fields(item: MemoryItem) -> dict[str, Any]:
    """What an item has beside the fields of every item."""
    return {name: value for name, value in item if name not in MemoryItem.model_fields}


def digest_of(item: MemoryItem) -> str:
    """What items of the same content and type have in common; of an encrypted one what its key made of them."""
    plain = f"{item.memory_type}\0{item.content}".encode()
    return getattr(item, "digest", None) or hashlib.sha256(plain).hexdigest()


def checked_limit(limit: int) -> int:
    """Raises MemoryError for less than 1."""
    if limit < 1:
        raise MemoryError("limit: has to be at least 1.")
    return limit


class StoreAround:
    """Base of a store around another, which gives what that one can do beyond a `MemoryStore`."""

    def __init__(self, store: MemoryStore) -> None:
        self._store: Any = store

    def __getattr__(self, name: str) -> Any:
        if name == "_store":  # it is being copied
            raise AttributeError(name)
        return getattr(self._store, name)


def inner_stores(store: Any) -> list[Any]:
    """A store and those that it wraps, the outermost first."""
    inner = vars(store).get("_store") if hasattr(store, "__dict__") else None
    return [store, *(inner_stores(inner) if inner is not None else ())]


def quoted(items: list[MemoryItem]) -> str:
    """Items as lines for a prompt: data, and nothing that could be taken for a part of the prompt."""
    told = ({"id": item.id, "type": item.memory_type, "content": item.content} for item in items)
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in told)


def prompt_of(what: str, template: str, items: list[MemoryItem]) -> str:
    """What a caller wants written of talk as a prompt: as it is where it says where the `{talk}` goes, else in a template."""
    return (what if "{talk}" in what else template.replace("{what}", what)).replace("{talk}", quoted(items))


def json_in(answer: str) -> Any:
    """The JSON of a model's answer, which may stand in a fence or among words. Raises ValueError."""
    starts = [at for at in (answer.find("{"), answer.find("[")) if at >= 0]
    if not starts:
        raise ValueError("there is no JSON in it")
    return json.JSONDecoder().raw_decode(answer[min(starts) :])[0]
