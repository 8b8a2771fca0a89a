"""What was said and done in a session, item by item: exactly as it was handed over, and as texts that a search finds."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from typing import Any

from ..errors import NotFound
from .scoped_memory import ITEM, ITEM_REST, UNSAID, ScopedMemory

__all__ = ["ItemHistory"]

INLINE = 4_000
"""Characters of an item (as JSON) that may stand beside each paragraph of its text; a longer one has rows of its own."""
PIECE = 30_000
"""Characters of an item in one row; with every one of them escaped it is within `ingest.max_metadata_bytes`."""
PAGE, BATCH = 1_000, 10_000


class ItemHistory:
    """Items of a session, JSON objects in order, in the private chat of its user or in its chat.

    The text of an item becomes a memory of who said it; one without text (a tool call, say) is a row of three dots.
    Deleting needs the role `admin` of a `Client`; what is deleted can be restored, unless `purge` erases it for good.
    """

    def __init__(self, memory: ScopedMemory, session: str, *, purge: bool = False) -> None:
        self._memory = memory
        self._source = f"session:{json.dumps(session, ensure_ascii=False)}"  # quoted: ends in blanks count
        self._purge = purge

    async def add(self, items: Iterable[tuple[str, str, Any]]) -> None:
        """Append items: (role, text, item)."""
        turns: list[dict[str, Any]] = []
        for role, text, item in items:
            raw = json.dumps(item)
            rest = [raw[at : at + PIECE] for at in range(0, len(raw), PIECE)] if len(raw) > INLINE else []
            said = text.encode("utf-8", "replace").decode()  # half a surrogate pair becomes a question mark
            if not any(char.isprintable() and not char.isspace() for char in said):
                role, said = "tool", UNSAID
            turns.append(self._memory.turn(role, said, {ITEM: len(rest) or raw}))
            turns += [self._memory.turn("tool", UNSAID, {ITEM_REST: [n, piece]}) for n, piece in enumerate(rest)]
        if turns:
            await self._memory.add(turns, source=self._source)

    async def load(self, most: int | None = None) -> list[Any]:
        """The last `most` items, or all, in the order in which they were added."""
        return [item for item, _ in reversed(await self._newest(most))]

    async def pop(self) -> Any | None:
        """Delete the last item and return it; None if there is none."""
        while found := await self._newest(1):
            item, ids = found[0]
            try:
                await self._memory.calls.forget(id=ids, purge=self._purge)
            except NotFound:  # somebody else has taken it meanwhile
                continue
            return item
        return None

    async def clear(self) -> None:
        """Delete every item."""
        ids = [row["id"] async for row in self._rows(PAGE)]
        for at in range(0, len(ids), BATCH):
            await self._memory.calls.forget(id=ids[at : at + BATCH], purge=self._purge)

    async def _newest(self, most: int | None) -> list[tuple[Any, list[str]]]:
        """Items with the ids of their rows, the last first."""
        found: list[tuple[Any, list[str]]] = []
        ids: list[str] = []
        rest: list[tuple[int, str]] = []
        if most == 0:
            return found
        async with aclosing(self._rows(PAGE if most is None else min(PAGE, 2 * most + 8))) as rows:
            async for row in rows:
                ids.append(row["id"])
                if ITEM_REST in row["metadata"]:
                    rest.insert(0, tuple(row["metadata"][ITEM_REST]))
                elif row["part"] == 0:  # of the rows of a long text the first
                    whole: str | int = row["metadata"][ITEM]
                    if isinstance(whole, int):  # of so many pieces; where one was forgotten, so is the item
                        own = [piece for n, (place, piece) in enumerate(rest[:whole]) if n == place]
                        whole = "".join(own) if len(own) == whole else ""
                    if whole:
                        found.append((json.loads(whole), ids))
                    ids, rest = [], []
                    if len(found) == most:
                        break
        return found

    async def _rows(self, page_size: int) -> AsyncGenerator[Mapping[str, Any], None]:
        """What is stored of the session, the last first."""
        before: str | None = None
        while before != "":
            page = await self._memory.calls.call(
                "memory_text_admin", action="list", chat_id=self._memory.chat_id, source=self._source, limit=page_size,
                before=before,
            )  # fmt: skip
            for row in page["items"]:
                if row["chat_id"] == self._memory.chat_id:  # and not a session of that name in a chat that is shared
                    yield row
            before = page["next"]
