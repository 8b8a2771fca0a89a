"""The texts that a facade keeps under its own ids in a space of their own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRequest, MemoryFault, TooLarge
from ..language.normalise import clean_text

if TYPE_CHECKING:
    from .access import Caller

__all__ = ["Texts", "ask", "checked_name"]

_PAGE = 1000
_MOST_HITS = 200
_UNKEPT = re.compile("[\0\ud800-\udfff]")


async def ask(memory: Caller, component: str, **arguments: Any) -> dict[str, Any]:
    """The answer of an operation. Raises ValueError for what cannot be taken, and RuntimeError for what went wrong."""
    try:
        return await memory.call(component, arguments)
    except (InvalidRequest, TooLarge) as fault:
        raise ValueError(str(fault)) from fault
    except MemoryFault as fault:
        raise RuntimeError(str(fault)) from fault


def checked_name(field: str, name: str) -> None:
    """Raises ValueError for a name that the memory would change, so that two of them might be one."""
    if not name or name != clean_text(name):
        raise ValueError(f"{field}: must not be empty, have white space around it, or hold a carriage return or NUL")


class Texts:
    """The texts of one kind and namespace; nothing else is read, changed or deleted. Errors are those of `ask`."""

    def __init__(self, memory: Caller, kind: str, namespace: str, *, derive: bool = True) -> None:
        checked_name("namespace", namespace)
        self._memory = memory
        self.source = f"{kind}:{namespace}"
        self._place = {
            "source": self.source, "source_type": kind, "chat_id": self.source, "respect_filter": False, "derive": derive,
        }  # fmt: skip

    async def put(self, items: Sequence[Mapping[str, Any]], *, wait: str = "") -> str:
        """Store texts in one transaction, each with `external_id`, `text` and what else `ingest_text` takes.

        Gives the reason why what `wait` asks for is not there, empty if it is.
        """
        if any(_UNKEPT.search(item["text"]) for item in items):
            raise ValueError("text: holds a NUL character or half of a surrogate pair")
        answer = await ask(self._memory, "ingest_texts", items=[{**self._place, **item} for item in items], wait=wait)
        if refused := {one["reason"] for one in answer["results"]} & {"disabled", "chat_filtered"}:
            raise RuntimeError(f"The memory took nothing ({', '.join(refused)}).")
        return answer["wait_error"]

    async def get(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the documents that are there, by id."""
        wanted, found = list(dict.fromkeys(ids)), list[dict[str, Any]]()
        for first in range(0, len(wanted), _PAGE):
            page = wanted[first : first + _PAGE]
            found += (await self._own("get", external_ids=page))["items"]
        return {item["external_id"]: item for item in found}

    async def every(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """All documents in the order in which they were first stored."""
        cursor = ""
        while True:
            page = await self._own("list", limit=_PAGE, cursor=cursor, **filters)
            for item in page["items"]:
                yield item
            if not (cursor := page["next"]):
                return

    async def search(self, query: str, limit: int, **how: Any) -> tuple[list[dict[str, Any]], list[str]]:
        """The best hit of each of up to `limit` documents, the best first; and what the search had to do without.

        Its `similarity` is that of the document's part that is most like the query, null if it cannot be known.
        """
        asked = min(_MOST_HITS, 4 * limit)
        while True:
            answer = await ask(
                self._memory, "search_memory", query=query, chat_id=self.source, source=self.source, only_own=True,
                respect_filter=False, limit=asked, min_similarity=0, **how,
            )  # fmt: skip
            best: dict[str, dict[str, Any]] = {}
            for hit in answer["hits"]:
                first = best.setdefault(hit["external_id"], hit)
                if first["similarity"] is not None:
                    first["similarity"] = max(first["similarity"], hit["similarity"] or 0)
            # Long texts of many paragraphs may leave no room for others.
            if len(best) >= limit or len(answer["hits"]) < asked or asked == _MOST_HITS:
                return list(best.values())[:limit], answer["degraded"]
            asked = _MOST_HITS

    async def delete(self, **which: Any) -> int:
        """How many of those that `external_ids` or other filters name were there."""
        return (await self._own("delete", **which))["deleted_count"]

    async def _own(self, action: str, **arguments: Any) -> dict[str, Any]:
        where = {"source": self.source, "chat_id": self.source, "only_own": True}
        return await ask(self._memory, "memory_document_admin", action=action, **where, **arguments)
