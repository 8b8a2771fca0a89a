"""Items of another program's store, kept as texts of a source, in chats whose ids are made of its names; what its filters compare."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from .blocking import Client, Memory

__all__ = ["MOST_HITS", "ORDERS", "PAGE", "ForeignItems", "Row", "chat_of", "compared", "names_of"]

PAGE, MOST_HITS = 1000, 200
Row = Mapping[str, Any]
"""A stored text, or a hit."""
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@")

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


class ForeignItems:
    """Reads the texts of one source in chats whose ids begin alike; an item may be of several, which have its id."""

    def __init__(self, memory: Memory | Client, source: str, prefix: str) -> None:
        self._memory = memory
        self._source = source
        self._prefix = prefix

    def get(self, ids: Iterable[str]) -> dict[str, list[Row]]:
        """Id -> the texts of the item, for those that are there."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, list[Row]] = {}
        for start in range(0, len(wanted), PAGE):
            part = wanted[start : start + PAGE]
            answer = self._memory.call(
                "memory_text_admin", action="get", external_ids=part, source=self._source, scope="all"
            )
            for row in answer["items"]:
                if row["chat_id"].startswith(self._prefix):
                    found.setdefault(row["external_id"], []).append(row)
        return found

    def listed(self, chats: str) -> Iterator[Row]:
        """The texts in the chats of a pattern, the last stored first."""
        before: str | None = None
        while before != "":
            page = self._memory.call(
                "memory_text_admin", action="list", source=self._source, scope="all", chat_pattern=chats, limit=PAGE,
                before=before,
            )  # fmt: skip
            yield from page["items"]
            before = page["next"]

    def found(self, query: str, chats: str, *, limit: int) -> list[Row]:
        """Hits in the chats of a pattern, the likeliest first; no more than `MOST_HITS` are looked at."""
        answer = self._memory.call(
            "search_memory",
            query=query,
            scope="all",
            chat_pattern=chats,
            source=self._source,
            limit=min(MOST_HITS, limit),
        )
        return list(answer["hits"])


def chat_of(root: str, names: Iterable[str | None]) -> str:
    """`root/name/name/`; None is `*`, any name.

    What separates, stands for any characters, or could be written in two ways is percent-encoded.
    """
    return "".join("*/" if name is None else f"{''.join(map(_written, name))}/" for name in (root, *names))


def names_of(chat_id: str) -> tuple[str, ...]:
    """The names of which `chat_of` made the id, without the root."""
    return tuple(unquote(part, errors="surrogatepass") for part in chat_id.split("/")[1:-1])


def compared(value: Any, name: str, than: Any) -> bool:
    """`value gt than` (or `gte`, `lt`, `lte`), as numbers if both are or read as such, else as texts; False if they are neither."""
    try:
        return ORDERS[name](float(value), float(than))
    except (TypeError, ValueError):
        return isinstance(value, str) and isinstance(than, str) and ORDERS[name](value, than)


def _written(char: str) -> str:
    if char in PLAIN or (char.isalpha() and not char.isascii() and unicodedata.normalize("NFKD", char) == char):
        return char
    return quote(char, safe="", errors="surrogatepass")
