"""`KernelStore`: items as documents of a memory, found by words and meaning."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ...errors import MemoryFault
from ...fields import MAX_QUERY_CHARS
from ...language.normalise import clean_text
from ..access import Caller, caller_of
from ..texts import Texts
from .base import (
    MemoryCategory,
    MemoryError,
    MemoryItem,
    MemoryMetadata,
    MemoryStatus,
    checked_item,
    checked_limit,
    digest_of,
    item_of,
)

if TYPE_CHECKING:
    from ..access import AnyMemory

__all__ = ["KernelStore"]

SOURCE_TYPE = "exo"
SHOWN = "shown"
"""Tag of what is not discarded."""
MOST_VECTORS, LONGEST_NAME = 1_000, 500
SPOKEN = ("human", "ai")
NOT_DERIVED = ("system", "tool")


class KernelStore:
    """A `MemoryStore` over a memory: a running host, an `AMemorix` memory or client, the path of a configuration file,
    without one the memory that this process shares.

    A namespace sees nothing of another, nor of anything else that the memory holds. The last stored comes first where there is
    no query; a `query` finds by words at once and by meaning as soon as there are vectors (`wait="vectors"` waits for them),
    200 items at most, and nothing where nothing is likely to answer unless `gate` is off. Facts and profiles are read from
    items, but for those of the system, of tools, of the category `variable` and encrypted ones. With `purge` what is cleared is
    erased at once. A fault of the memory is a MemoryError.
    """

    takes_vectors = True

    def __init__(
        self, memory: AnyMemory | Caller | str | Path | None = None, namespace: str = "default", *, gate: bool = True,
        wait: Literal["", "indexed", "vectors"] = "", purge: bool = False,
    ) -> None:  # fmt: skip
        if not namespace.strip():
            raise MemoryError("namespace: must not be empty.")
        self.namespace = namespace
        self._memory, self._caller = (
            memory,
            None if memory is None or isinstance(memory, str | Path) else caller_of(memory),
        )
        self._gate, self._wait, self._purge = gate, wait, purge
        # A chat `exo:session:…` holds the turns of a session (ShortTermMemory).
        name = _hashed(namespace) if namespace.startswith("session:") else _name(namespace)
        self._texts = Texts(self._call, SOURCE_TYPE, name, refused=MemoryError)

    async def add(self, item: MemoryItem) -> None:
        """Keep an item, in the place of one of the same id."""
        item = checked_item(item).model_copy()
        vector = (item.model_extra or {}).pop("embedding", None)
        named = {"type": item.memory_type, "category": item.category, "status": item.status}
        tags = [*_tags(item.metadata, **named), f"hash:{digest_of(item)}"]
        tags += [SHOWN] if item.status != MemoryStatus.DISCARD else []
        derive = not (
            item.memory_type in NOT_DERIVED or item.category == MemoryCategory.VARIABLE or hasattr(item, "encrypted")
        )
        who = item.metadata.user_id if item.memory_type == "human" else item.metadata.agent_id
        await self._texts.put_with_vector(
            vector, _name(item.id), dict.fromkeys(tags, True),
            external_id=_name(item.id), text=item.content, tags=tags, metadata=item.model_dump(mode="json", exclude={"content"}),
            person_ids=[_name(who)] if who and derive and item.memory_type in SPOKEN else [],
            timestamp=item.created_at if derive else None, derive=derive, wait=self._wait,
        )  # fmt: skip

    async def get(self, item_id: str) -> MemoryItem | None:
        """The item of that id, None if there is none."""
        return next(iter(await self._named([_name(item_id)])), None) if item_id else None

    async def search(
        self, *, query: str = "", metadata: MemoryMetadata | None = None, memory_type: str | None = None,
        category: MemoryCategory | None = None, status: MemoryStatus | None = None, limit: int = 10,
        vector: Sequence[float] | None = None,
    ) -> list[MemoryItem]:  # fmt: skip
        """Items that meet every filter: the best of a query, or nearest to a vector that was brought with them, first."""
        checked_limit(limit)
        tags = _tags(metadata, type=memory_type, category=category, status=status) + ([] if status else [SHOWN])
        if vector is not None:
            asked = {"filters": dict.fromkeys(tags, True), "limit": min(limit, MOST_VECTORS)}
            near = await self._texts.vectors("search", vector=list(vector), **asked)
            return await self._named(one["id"] for one in near["items"])
        if query.strip():
            return await self._named(hit["external_id"] for hit in await self._hits(query, tags, limit))
        return [_item(one) async for one in self._texts.every(tags=tags, descending=True, limit=limit)]

    async def search_scored(
        self, *, query: str, metadata: MemoryMetadata | None = None, limit: int = 10
    ) -> list[tuple[MemoryItem, float | None]]:
        """The nearest items to a text, likely to answer it or not, each with its cosine (0 to 1); None where no model has
        compared it."""
        hits = await self._hits(query, [*_tags(metadata), SHOWN], checked_limit(limit), min_similarity=0, gate=False)
        similarity = {hit["external_id"]: hit["similarity"] for hit in hits}
        return [(item, similarity[_name(item.id)]) for item in await self._named(similarity)]

    async def clear(self, *, metadata: MemoryMetadata | None = None) -> int:
        """Remove the items of this metadata, without it all of the namespace; how many those were."""
        tags = _tags(metadata)
        await self._texts.delete_vectors(**({"filters": dict.fromkeys(tags, True)} if tags else {}))
        return await self._texts.delete(tags=tags, purge=self._purge)

    async def delete(self, item_id: str) -> bool:
        """Remove an item; whether it was there."""
        await self._texts.delete_vectors(ids=[_name(item_id)])
        return await self._texts.delete(external_ids=[_name(item_id)], purge=self._purge) > 0

    async def same(self, item: MemoryItem) -> MemoryItem | None:
        """Another item of the same content, type, status and user."""
        whose = MemoryMetadata(user_id=item.metadata.user_id)
        tags = [*_tags(whose, status=item.status), f"hash:{digest_of(item)}"]
        async for one in self._texts.every(tags=tags, descending=True):
            found = _item(one)
            if found.id != item.id and found.metadata.user_id == whose.user_id:
                return found
        return None

    async def embed(self, text: str) -> list[float]:
        """The vector of a text by the memory's model."""
        return (await self._call("embed_texts", texts=[text]))["vectors"][0]

    async def changes(self, since: int | None, *, wait_seconds: float = 0.0) -> tuple[list[MemoryItem], int, int]:
        """(items stored or changed since a number, how many were removed, the number to go on from).

        Without a number nothing but where the log ends; waits so long for the first change.
        """
        asked = {} if since is None else {"since": since, "wait_seconds": wait_seconds}
        answer = await self._call("memory_runtime_admin", action="changes", chat_id=self._texts.source, **asked)
        # A document that is purged since is told of by its number alone.
        last = {one["document"]: one for one in answer["items"]}.values()
        gone = [one for one in last if one["kind"] in ("deleted", "expired", "purged")]
        named = [one["external_id"] for one in last if one["external_id"] and one not in gone]
        return await self._named(named), len(gone), answer["next"]

    async def _call(self, component: str, **arguments: Any) -> dict[str, Any]:
        try:
            if self._caller is None:
                self._caller = await asyncio.to_thread(caller_of, self._memory)
            return await self._caller.call(component, arguments)
        except MemoryFault as exc:
            raise MemoryError(str(exc)) from exc

    async def _hits(self, query: str, tags: list[str], limit: int, **how: Any) -> list[dict[str, Any]]:
        how = {"tags": tags, "gate": self._gate, **how}
        return (await self._texts.search(query[:MAX_QUERY_CHARS], limit, **how))[0]

    async def _named(self, names: Iterable[str]) -> list[MemoryItem]:
        """The items of these names that are there, in their order."""
        return [_item(one) for one in (await self._texts.get(names)).values()]


def _item(document: Mapping[str, Any]) -> MemoryItem:
    return item_of({**document["metadata"], "content": document["text"]})


def _name(text: str) -> str:
    """A text as a name that the memory keeps as it is: one that it would change or refuse by its hash."""
    kept = text and len(text) <= LONGEST_NAME and text.isprintable() and clean_text(text) == text
    return text if kept else _hashed(text)


def _hashed(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _tags(metadata: Any, **named: str | None) -> list[str]:
    """What an item is, and whom it belongs to, as tags: those of a filter are among those of the items that meet it."""
    whose = MemoryMetadata.model_validate(metadata or {})
    named |= {name.removesuffix("_id"): value for name, value in whose if name != "extra"}
    extra = (json.dumps([key, value], sort_keys=True) for key, value in whose.extra.items())
    return [
        *(f"{name}:{_name(value)}" for name, value in named.items() if value is not None),
        *(f"extra:{hashlib.sha256(one.encode()).hexdigest()}" for one in extra),
    ]
