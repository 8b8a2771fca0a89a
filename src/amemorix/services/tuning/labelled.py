"""Questions that somebody gives with what answers them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidRequest
from ...storage.metadata_store import MetadataStore
from ...text import content_hash
from .query_set import Draft

__all__ = ["Labelled", "read_labelled"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the ids (`p12`), external ids or texts of what should be found."""

    query: str
    chat_id: str
    expected: tuple[str, ...]


def read_labelled(
    store: MetadataStore, db: sqlite3.Connection, given: Sequence[Labelled], *, now: float
) -> list[Draft]:
    """The questions with the paragraphs that are meant.

    Raises InvalidRequest, naming the place, for a chat that the memory does not know and for what it does not hold, or
    does not show in that chat.
    """
    return [_draft(store, db, one, f"queries.{place}", now) for place, one in enumerate(given)]


def _draft(store: MetadataStore, db: sqlite3.Connection, one: Labelled, field: str, now: float) -> Draft:
    if one.chat_id and store.names.chat_row(db, one.chat_id) is None:
        raise InvalidRequest(f"{field}.chat_id: the memory knows no chat {one.chat_id!r}.", field=f"{field}.chat_id")
    found: set[int] = set()
    for place, label in enumerate(one.expected):
        meant = _meant(store, db, label, one.chat_id, now)
        if not meant:
            where = f"{field}.expected.{place}"
            raise InvalidRequest(
                f"{where}: {label[:80]!r} is no paragraph, external id or text that this chat may see.", field=where
            )
        found |= meant
    lines = store.tuning_material.lines(db, found, now)
    sessions = frozenset(line.session for line in lines.values())
    return Draft("labelled", one.chat_id, one.query, tuple(sorted(lines)), sessions)


def _meant(store: MetadataStore, db: sqlite3.Connection, label: str, chat_id: str, now: float) -> set[int]:
    material = store.tuning_material
    found = set(material.by_reference(db, [label], chat_id, now))
    bare = label.removeprefix("p")
    if not found and bare.isascii() and bare.isdigit() and len(bare) < 19:
        found = material.by_id(db, [int(bare)], chat_id, now)
    return found or set(material.by_hash(db, [content_hash(label)], chat_id, now))
