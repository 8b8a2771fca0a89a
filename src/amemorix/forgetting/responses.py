"""Deletions, and what purges tell of them, as callers see them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ..ids import operation_key, row_key
from ..store.operations import Item, OperationRow

__all__ = [
    "DeleteItem",
    "OperationItem",
    "PurgeProgress",
    "PurgeReceipt",
    "Receipt",
    "StayItem",
    "TouchedItem",
    "operation_item",
    "receipt_of",
    "touched_item",
]


class DeleteItem(BaseModel):
    """A row that a deletion touches, or leaves alone."""

    item_type: str = ""
    item_key: str = Field(default="", description="`p12` paragraph, `r12` relation, `n12` entity, `f12` fact.")
    label: str = ""
    source: str = ""
    why: str = Field(default="", description="Why it goes (`selected`, `mention`, `evidence`, …), or why it stays.")


class StayItem(BaseModel):
    """A row that one might have expected to go with a deletion."""

    item_type: str = ""
    item_key: str = ""
    why: str = ""


class _Receipt(BaseModel):
    erased: dict[str, int] = Field(default_factory=dict, description="Rows gone, by kind.")
    scrubbed: dict[str, int] = Field(default_factory=dict, description="Records that quoted it, emptied, by table.")
    unnamed: dict[str, int] = Field(
        default_factory=dict, description="Records that no longer say who asked, by table, since it was who is gone."
    )
    copies: list[dict[str, Any]] = Field(
        default_factory=list, description="Other files that held it: `rewritten`, `removed`, or left and why."
    )
    indexes: list[str] = Field(default_factory=list, description="Snapshots written anew.")
    needles: int = Field(
        default=0, description="Pieces of texts, names and ids looked for, in UTF-8 and as JSON writes them."
    )
    held_elsewhere: int = Field(default=0, description="Those of them that rows which stay hold too.")
    too_short: int = Field(default=0, description="Texts of fewer than six bytes, which are not looked for.")
    incoming: list[str] = Field(
        default_factory=list,
        description="Imports that were open when a chat or a person was purged, or at work meanwhile, and that may bring, or "
        "have brought, more of it.",
    )
    complete: bool = Field(
        default=True,
        description="False with `incoming`, if something was found in the end, or a file could not be looked through: after a "
        "crash for what had been erased before, which `warnings` tell.",
    )
    warnings: list[str] = Field(
        default_factory=list,
        description="Files of somebody else below the data directory that are to be seen to, and why.",
    )
    files: int = Field(default=0, description="Files looked through, byte by byte.")
    bytes: int = 0
    found: dict[str, int] = Field(
        default_factory=dict, description="How many were found, by file: empty if all is gone."
    )
    unread: dict[str, str] = Field(
        default_factory=dict, description="Files that could not be looked through, and how they are packed."
    )
    rewritten: int = Field(default=0, description="How often the database was written anew (VACUUM).")
    log_emptied: bool = Field(default=False, description="The write-ahead log was emptied.")
    seconds: float = 0.0


class Receipt(_Receipt):
    """What a purge erased, and what was looked at to be sure of it."""

    stays: list[StayItem] = Field(
        default_factory=list[StayItem], description="What one might have expected to go, and why it stayed; no texts."
    )


class PurgeReceipt(_Receipt):
    """The same as it is stored, from the moment when the purge begins; `stays`: kind, id and why."""

    step: str = ""
    stays: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class PurgeProgress(BaseModel):
    """How far a purge under way has come."""

    phase: str = Field(default="", description="`records`, `rows`, `indexes`, `copies`, `files`, in this order.")
    done: int = Field(default=0, description="Steps of the phase that are done.")
    total: int = 0


class OperationItem(BaseModel):
    """A deletion as it was recorded; times in epoch seconds."""

    operation_id: str = ""
    mode: str = ""
    status: str = Field(default="", description="`executed`, `restored`, `purging`, `purged`.")
    selector: Any = Field(default=None, description="Empty once it is purged.")
    counts: dict[str, int] = Field(default_factory=dict)
    requested_by: str = ""
    reason: str = ""
    created_at: float = 0.0
    restored_at: float | None = None
    purged_at: float | None = None
    items: int = 0
    restored: int = Field(default=0, description="Items that are back.")
    receipt: Receipt | None = None
    progress: PurgeProgress | None = Field(default=None, description="While the status is `purging`.")


class TouchedItem(BaseModel):
    """A row of a deletion."""

    item_type: str = ""
    item_key: str = ""
    why: str = ""
    restored_at: float | None = None


def receipt_of(row: OperationRow) -> Receipt | None:
    """The receipt of a purge, None while there is none."""
    if row.status != "purged":
        return None
    given = {name: value for name, value in row.receipt.items() if name in Receipt.model_fields}
    stays = [
        StayItem(item_type=one["kind"], item_key=row_key(one["kind"], one["id"]), why=one["why"])
        for one in given.pop("stays", [])
    ]
    return Receipt(**given, stays=stays)


def operation_item(row: OperationRow, progress: tuple[str, int, int] | None = None) -> OperationItem:
    """A deletion as it was recorded, with how far its purge is if it is under way."""
    phase = PurgeProgress(phase=progress[0], done=progress[1], total=progress[2]) if progress else None
    return OperationItem(
        operation_id=operation_key(row.id), mode=row.mode, status=row.status, selector=row.selector,
        counts=row.counts, requested_by=row.requested_by, reason=row.reason, created_at=row.created_at,
        restored_at=row.restored_at, purged_at=row.purged_at, items=row.items, restored=row.restored,
        receipt=receipt_of(row), progress=phase if row.status == "purging" else None,
    )  # fmt: skip


def touched_item(item: Item) -> TouchedItem:
    """A row of a deletion, with why it was in it."""
    return TouchedItem(
        item_type=item.kind, item_key=row_key(item.kind, item.id), why=item.detail.get("why", ""),
        restored_at=item.restored_at,
    )  # fmt: skip
