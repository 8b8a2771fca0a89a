"""The imports that bring what is being purged."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from ..storage.delete_operations import Item
from ..storage.metadata_store import MetadataStore
from ..storage.quoting import leaves
from .purge_ids import Ids

__all__ = ["end_imports", "going_of"]


def end_imports(
    db: sqlite3.Connection, store: MetadataStore, *, chats: Iterable[int], persons: Iterable[int], now: float
) -> list[int]:
    """Cancel every import under way that says it is into one of these chats, or of these persons; names them.

    A chunk is stored only while its task is not cancelled, so nothing comes in after the transaction in which this is done.
    """
    ids = Ids(store.quoting.ids(db, chats=chats, persons=persons))
    into = [task for task, params in store.imports.open_params(db) if ids.among(leaves(params))]
    for task in into:
        store.imports.cancel(db, task, now)
    return into


def going_of(items: Iterable[Item]) -> dict[str, list[int]]:
    """The chats and persons that an operation deleted as a whole."""
    whole = [(item.kind, item.id) for item in items if not item.detail.get("limited")]
    return {
        kinds: [id_ for kind, id_ in whole if kind == one] for kinds, one in (("chats", "chat"), ("persons", "person"))
    }
