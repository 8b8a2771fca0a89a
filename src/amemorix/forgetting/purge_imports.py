"""The imports that bring what is being purged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..importing import rows as import_rows
from ..store.operations import Item
from ..store.ports import Connection
from .id_matcher import Ids
from .purge_records import leaves, record_ids

__all__ = ["end_imports", "open_imports"]


def end_imports(db: Connection, *, chats: Iterable[int], persons: Iterable[int], now: float) -> None:
    """Cancel every import under way that says it is into one of these chats, or of these persons.

    A chunk is stored only while its task is not cancelled, so nothing comes in after the transaction in which this is done.
    """
    ids = Ids(record_ids(db, chats=chats, persons=persons))
    for task, params in import_rows.open_params(db):
        if ids.among(leaves(params)):
            import_rows.cancel(db, task, now)


def open_imports(db: Connection, items: Sequence[Item]) -> list[str]:
    """Every import that is not at its end, where a chat or a person goes: its records may name any.

    Those into a chat that goes were ended before, so one that is closed to a chat is closed to another. What is only
    tried stores nothing.
    """
    kinds = {item.kind for item in items}
    if not kinds & {"chat", "person"}:
        return []
    storing = [(task, params) for task, params in import_rows.open_params(db) if not params.get("dry_run")]
    return [f"i{task}" for task, params in storing if "person" in kinds or params.get("scope_type") != "chat"]
