"""The documents that a facade keeps under its own ids, in a source and chat of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidRequest, MemoryFault, NotFound, NotReady, TooLarge
from ..language.normalise import clean_text, unstorable

if TYPE_CHECKING:
    from .access import Caller

__all__ = ["Call", "Texts", "ask", "checked_name", "listed"]

Call = Callable[..., Awaitable[dict[str, Any]]]
"""Called with a component and its arguments by name; raises what the facade raises."""
PAGE = 1000
MOST_HITS = 200


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


async def listed(call: Call, *, limit: int | None = None, **which: Any) -> AsyncIterator[dict[str, Any]]:
    """Up to `limit` documents, page by page, that filters of `memory_document_admin list` name."""
    cursor, left = "", limit
    while left is None or left > 0:
        size = PAGE if left is None else min(PAGE, left)
        page = await call("memory_document_admin", action="list", limit=size, cursor=cursor, **which)
        for item in page["items"]:
            yield item
        if not (cursor := page["next"]):
            return
        left = None if left is None else left - size


class Texts:
    """The documents of one kind and name; nothing else is read, changed or deleted.

    Errors are those of `call`, and `refused` where the settings keep out what is stored.
    """

    def __init__(
        self, call: Call, kind: str, name: str, *, derive: bool = True, refused: Callable[[NotReady], Exception] = RuntimeError
    ) -> None:  # fmt: skip
        self._call, self._refused = call, refused
        self.source = f"{kind}:{name}"
        self._own = {"source": self.source, "chat_id": self.source, "only_own": True}
        self._place = {
            "source": self.source, "source_type": kind, "chat_id": self.source, "respect_filter": False, "derive": derive,
        }  # fmt: skip

    async def put(self, *, wait: str = "", **item: Any) -> dict[str, Any]:
        """Store one document: `external_id`, `text` and what else `ingest_text` takes. Gives its answer."""
        _refuse_unkept(item)
        answer = await self._call("ingest_text", **self._place | item, wait=wait)
        self._refuse_unstored([answer])
        return answer

    async def put_with_vector(
        self, vector: Sequence[float] | None, vector_id: str, attributes: Mapping[str, Any], **item: Any
    ) -> dict[str, Any]:
        """As `put`, with the caller's own vector of the document; without one it loses the one that another wording had."""
        if vector is not None:  # one that does not fit is refused before the text is stored
            about = {"space": self.source, "dimension": len(vector), "replace_empty": True}
            await self._call("memory_vector_admin", action="create_space", **about)
        answer = await self.put(**item)
        if answer["external_id"] != item["external_id"]:  # the same text is there already
            return answer
        if vector is not None:
            ref = {"source": self.source, "chat_id": self.source, "external_id": item["external_id"]}
            row = {"id": vector_id, "vector": vector, "attributes": attributes, "ref": ref}
            await self.vectors("add", create=True, items=[row])
        elif answer["reason"] or answer["superseded_ids"]:
            await self.delete_vectors(ids=[vector_id])
        return answer

    async def vectors(self, action: str, **arguments: Any) -> dict[str, Any]:
        """What `memory_vector_admin` answers of the vectors that callers brought; no items while there are none."""
        try:
            return await self._call("memory_vector_admin", action=action, space=self.source, **arguments)
        except Exception as exc:
            if isinstance(exc, NotFound) or isinstance(exc.__cause__, NotFound):
                return {"items": []}
            raise

    async def delete_vectors(self, **which: Any) -> None:
        """Delete those that `ids` or `filters` name, without either all; after the last any dimension will do.

        Before their documents: with those they are hidden.
        """
        await (self.vectors("delete", drop_empty=True, **which) if which else self.vectors("drop_space"))

    async def put_all(self, items: Sequence[Mapping[str, Any]], *, wait: str = "") -> str:
        """Store several in one transaction. Gives the reason why what `wait` asks for is not there, empty if it is."""
        for item in items:
            _refuse_unkept(item)
        answer = await self._call("ingest_texts", items=[{**self._place, **item} for item in items], wait=wait)
        self._refuse_unstored(answer["results"])
        return answer["wait_error"]

    async def get(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Those of the documents that are there, by id, in this order."""
        wanted, found = list(dict.fromkeys(ids)), list[dict[str, Any]]()
        for first in range(0, len(wanted), PAGE):
            asked = {**self._own, "respect_filter": False, "external_ids": wanted[first : first + PAGE]}
            found += (await self._call("memory_document_admin", action="get", **asked))["items"]
        return {item["external_id"]: item for item in found}

    def every(self, *, limit: int | None = None, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """The documents in the order in which they were first stored, unless `descending` turns it."""
        return listed(self._call, limit=limit, **self._own, respect_filter=False, **filters)

    async def search(self, query: str, limit: int, **how: Any) -> tuple[list[dict[str, Any]], list[str]]:
        """The best hit of each of up to `limit` documents, the best first; and what the search had to do without.

        Its `similarity` is that of the document's part that is most like the query, null if it cannot be known.
        """
        asked = min(MOST_HITS, 4 * limit)
        while True:
            answer = await self._call(
                "search_memory", query=query, limit=asked, respect_filter=False, **self._own, **how
            )
            best: dict[str, dict[str, Any]] = {}
            for hit in answer["hits"]:
                first = best.setdefault(hit["external_id"], hit)
                known = [one for one in (first["similarity"], hit["similarity"]) if one is not None]
                first["similarity"] = max(known, default=None)
            # Long texts of many paragraphs may leave no room for others.
            if len(best) >= limit or len(answer["hits"]) < asked or asked == MOST_HITS:
                return list(best.values())[:limit], answer["degraded"]
            asked = MOST_HITS

    async def delete(self, **which: Any) -> int:
        """How many of those that `external_ids` or other filters name were there; their vectors are deleted before."""
        return (await self._call("memory_document_admin", action="delete", **self._own, **which))["deleted_count"]

    def _refuse_unstored(self, answers: Iterable[Mapping[str, Any]]) -> None:
        if reasons := {one["reason"] for one in answers} & {"disabled", "chat_filtered"}:
            why = ", ".join(sorted(reasons))
            raise self._refused(NotReady(f"The memory took nothing ({why}).", reason=why))


def _refuse_unkept(item: Mapping[str, Any]) -> None:
    if unstorable(item["text"]):
        raise ValueError("text: holds a NUL character or half of a surrogate pair")
