"""The imports that bring what is being purged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from ..importing import rows as import_rows
from ..store.operations import Item
from ..store.ports import Connection
from . import text_references
from .id_matcher import Ids
from .purge_rows import ErasureRepository
from .receipt import PurgeReceipt
from .text_references import leaves

__all__ = ["end_imports", "going_of", "note_open_imports"]


def end_imports(db: Connection, *, chats: Iterable[int], persons: Iterable[int], now: float) -> list[int]:
    """Cancel every import under way that says it is into one of these chats, or of these persons; names them.

    A chunk is stored only while its task is not cancelled, so nothing comes in after the transaction in which this is done.
    """
    ids = Ids(text_references.record_ids(db, chats=chats, persons=persons))
    into = [task for task, params in import_rows.open_params(db) if ids.among(leaves(params))]
    for task in into:
        import_rows.cancel(db, task, now)
    return into


def note_open_imports(db: Connection, operation: int, items: Iterable[Item]) -> None:
    """Begin the receipt of a purge with the imports that may bring more, in the transaction in which the purge begins."""
    incoming = [f"i{task}" for task in _that_may_bring(db, items)]
    ErasureRepository().note(db, operation, asdict(PurgeReceipt(incoming=incoming)))


def _that_may_bring(db: Connection, items: Iterable[Item]) -> list[int]:
    """Every import that is not at its end, where a chat or a person goes: its records may name any.

    Those into a chat that goes were ended before, so one that is closed to a chat is closed to another. What is only
    tried stores nothing.
    """
    kinds = {item.kind for item in items}
    if not kinds & {"chat", "person"}:
        return []
    storing = [(task, params) for task, params in import_rows.open_params(db) if not params.get("dry_run")]
    return [task for task, params in storing if "person" in kinds or params.get("scope_type") != "chat"]


def going_of(items: Iterable[Item]) -> dict[str, list[int]]:
    """The chats and persons that an operation deleted as a whole."""
    whole = [(item.kind, item.id) for item in items if not item.detail.get("limited")]
    return {
        kinds: [id_ for kind, id_ in whole if kind == one] for kinds, one in (("chats", "chat"), ("persons", "person"))
    }
