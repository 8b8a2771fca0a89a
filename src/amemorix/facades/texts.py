"""The texts that a facade keeps under its own ids in a space of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRequest, MemoryFault, TooLarge

if TYPE_CHECKING:
    from .access import Caller

__all__ = ["Texts", "ask"]

_PAGE = 1000
_MOST_HITS = 200


async def ask(memory: Caller, component: str, **arguments: Any) -> dict[str, Any]:
    """The answer of an operation. Raises ValueError for what cannot be taken, and RuntimeError for what went wrong."""
    try:
        return await memory.call(component, arguments)
    except (InvalidRequest, TooLarge) as fault:
        raise ValueError(str(fault)) from fault
    except MemoryFault as fault:
        raise RuntimeError(str(fault)) from fault


class Texts:
    """The texts of one kind and namespace; nothing else is read, changed or deleted. Errors are those of `ask`."""

    def __init__(self, memory: Caller, kind: str, namespace: str, *, derive: bool = True) -> None:
        if not namespace.strip():
            raise ValueError("namespace: must not be empty")
        self._memory = memory
        self.source = f"{kind}:{namespace}"
        self._place = {
            "source": self.source, "source_type": kind, "chat_id": self.source, "respect_filter": False, "derive": derive,
        }  # fmt: skip

    async def put(self, items: Sequence[Mapping[str, Any]], *, wait: str = "") -> None:
        """Store texts in one transaction, each with `external_id`, `text` and what else `ingest_text` takes."""
        answer = await ask(self._memory, "ingest_texts", items=[{**self._place, **item} for item in items], wait=wait)
        reasons = {answer.get("reason"), *(one.get("reason") for one in answer["results"])}
        if refused := reasons & {"disabled", "chat_filtered"}:
            raise RuntimeError(f"The memory took nothing: its settings say {', '.join(map(str, refused))}.")

    async def get(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the documents that are there, by id."""
        wanted, found = list(dict.fromkeys(ids)), list[dict[str, Any]]()
        for first in range(0, len(wanted), _PAGE):
            page = wanted[first : first + _PAGE]
            found += (await self._documents("get", external_ids=page))["items"]
        return {item["external_id"]: item for item in found}

    async def every(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """All documents in the order in which they were first stored."""
        cursor = ""
        while True:
            page = await self._documents("list", limit=_PAGE, cursor=cursor, **filters)
            for item in page["items"]:
                yield item
            if not (cursor := page["next"]):
                return

    async def search(self, query: str, limit: int, **how: Any) -> list[dict[str, Any]]:
        """The best hit of each of up to `limit` documents, the best first."""
        asked = min(_MOST_HITS, 4 * limit)
        while True:
            answer = await ask(
                self._memory, "search_memory", query=query, chat_id=self.source, source=self.source, only_own=True,
                limit=asked, **how,
            )  # fmt: skip
            best: dict[str, dict[str, Any]] = {}
            for hit in answer["hits"]:
                best.setdefault(hit["external_id"], hit)
            # Long texts of many paragraphs may leave no room for others.
            if len(best) >= limit or len(answer["hits"]) < asked or asked == _MOST_HITS:
                return list(best.values())[:limit]
            asked = _MOST_HITS

    async def describe(self, id_: str, **changed: Any) -> bool:
        """Change metadata, tags or expiry alone; whether it is there."""
        return not (await self._documents("set", external_id=id_, **changed))["missing"]

    async def delete(self, ids: Sequence[str], *, purge: bool = False) -> int:
        """How many of them were there."""
        return (await self._documents("delete", external_ids=list(ids), purge=purge))["deleted_count"] if ids else 0

    async def _documents(self, action: str, **arguments: Any) -> dict[str, Any]:
        return await ask(self._memory, "memory_document_admin", action=action, source=self.source, **arguments)
