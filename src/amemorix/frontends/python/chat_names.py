"""Ids of chats that are made of several names, so that no two that only look alike are one."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from urllib.parse import quote, unquote

__all__ = ["chat_of", "names_of"]

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:@")


def chat_of(root: str, names: Iterable[str | None]) -> str:
    """`root/name/name/`; None is `*`, any name.

    What separates, stands for any characters, or could be written in two ways is percent-encoded.
    """
    return "".join("*/" if name is None else f"{''.join(map(_written, name))}/" for name in (root, *names))


def names_of(chat_id: str) -> tuple[str, ...]:
    """The names of which `chat_of` made the id, without the root."""
    return tuple(unquote(part, errors="surrogatepass") for part in chat_id.split("/")[1:-1])


def _written(char: str) -> str:
    if char in PLAIN or (char.isalpha() and not char.isascii() and unicodedata.normalize("NFKD", char) == char):
        return char
    return quote(char, safe="", errors="surrogatepass")
