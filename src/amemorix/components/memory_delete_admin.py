"""`memory_delete_admin`: delete after a look, bring back, or erase for good."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, field_validator

from ..errors import Conflict, InvalidRequest, StorageFailure
from ..kernel import SDKMemoryKernel
from ..ops import Operations, Request, Response
from ..retrieval.request import Count, Name
from ..services.deletion import Deleted, Shown, Wish
from ..services.restoring import Restored
from ..services.selectors import DeleteMode, read_selector
from ..storage.deletions import Item, OperationRow

__all__ = ["OPERATION_PREFIX", "Receipt", "operation_key", "ops", "receipt_of"]

ops: Operations[SDKMemoryKernel] = Operations()
OPERATION_PREFIX = "d"
LARGEST = 2**62
MOST_ITEMS = 1_000
LETTERS = {"paragraph": "p", "relation": "r", "entity": "n", "fact": "f"}
KINDS = {letter: kind for kind, letter in LETTERS.items()}
_KEY = re.compile(r"([prnf])([0-9]{1,18})")
_OPERATION = re.compile(r"d?([0-9]{1,18})")


def operation_key(row: int) -> str:
    """The public id of a deletion."""
    return f"{OPERATION_PREFIX}{row}"


def _operation(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not (found := _OPERATION.fullmatch(value.strip())):
        raise ValueError("is no id of a deletion: expected one such as d12")
    return int(found[1])


OperationId = Annotated[int, BeforeValidator(_operation), Field(json_schema_extra={"type": ["string", "integer"]})]


def _known_mode(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


class Preview(Request):
    """What to delete."""

    mode: Annotated[DeleteMode, BeforeValidator(_known_mode)] = Field(
        description="`person`: everything said by them, bound to them and known of them; `chat`: everything of a chat."
    )
    selector: Any = Field(
        None,
        description="An id, a name or words; a list of ids or names; or an object: `ids`, `hashes`, `external_ids`, `query` "
        "(paragraph), `ids`, `query`, `subject`, `predicate`, `object` (relation), `ids`, `names` (entity), `sources`, "
        "`person_ids`, `chat_ids`; with `mixed`, `paragraph_ids`, `relation_ids`, `entity_names` and so on together.",
    )
    chat_id: Name = Field("", description="Only within this chat; what other chats hold too stays.")
    include_mentions: bool = Field(True, description="With `person`: also lines of others that name the person.")
    include_paragraphs: bool = Field(False, description="With `entity`: also the paragraphs that are linked to it.")

    def wish(self) -> Wish:
        """What is meant. Raises InvalidRequest."""
        raw, chat = self.selector, self.chat_id
        if self.mode == "chat":
            raw, chat = self._chat(), ""
        selector = read_selector(self.mode, raw)
        if chat and (others := [one for one in selector.chats if one != chat]):
            raise InvalidRequest(
                f"selector.chat_ids: {others[0]!r} is another chat than chat_id {chat!r}, to which the deletion is limited.",
                field="selector.chat_ids",
            )
        return Wish(self.mode, selector, chat, self.include_mentions, self.include_paragraphs)

    def _chat(self) -> Any:
        """The chat to clear may be given as the selector or as `chat_id`."""
        given = self.selector not in (None, "", [], {})
        if given and self.chat_id and self.selector not in (self.chat_id, [self.chat_id], {"chat_id": self.chat_id}):
            raise InvalidRequest("chat_id: with mode `chat`, name the chat once.", field="chat_id")
        return self.selector if given else self.chat_id


class Execute(Preview):
    """What to delete, and how."""

    plan_token: Name = Field("", description="Of a preview: if the plan has changed since, nothing is deleted.")
    purge: bool = Field(False, description="Erase it for good in the same call; it cannot be restored then.")
    reason: Name = ""
    requested_by: Name = ""

    def wish(self) -> Wish:
        """What is meant. Raises InvalidRequest."""
        found = super().wish()
        return Wish(
            found.mode, found.selector, found.chat_id, found.include_mentions, found.include_paragraphs,
            self.requested_by, self.reason,
        )  # fmt: skip


class DeleteItem(BaseModel):
    """A row that a deletion touches, or leaves alone."""

    item_type: str = ""
    item_key: str = Field(default="", description="`p12` paragraph, `r12` relation, `n12` entity, `f12` fact.")
    label: str = ""
    source: str = ""
    why: str = Field(default="", description="Why it goes (`selected`, `evidence`, `entity`, …), or why it stays.")


class DeletePlan(Response):
    """Everything that would go, and what stays."""

    mode: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    items: list[DeleteItem] = Field(default_factory=list, description="The first hundred.")
    stays: list[DeleteItem] = Field(default_factory=list, description="What one might expect to go, and why it stays.")
    sources: list[str] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="What the selector names and is not there.")
    plan_token: str = Field(default="", description="Hand it to `execute` to delete exactly this.")


class Receipt(BaseModel):
    """What a purge erased, and what was looked at to be sure of it."""

    erased: dict[str, int] = Field(default_factory=dict, description="Rows gone, by kind.")
    scrubbed: dict[str, int] = Field(default_factory=dict, description="Records that quoted it, emptied, by table.")
    unnamed: dict[str, int] = Field(
        default_factory=dict, description="Records that no longer say who asked, by table, since it was who is gone."
    )
    copies: list[dict[str, Any]] = Field(
        default_factory=list, description="Other files that held it: `rewritten`, `removed`, or left and why."
    )
    indexes: list[str] = Field(default_factory=list, description="Snapshots written anew.")
    needles: int = Field(default=0, description="Fragments looked for: UTF-8, as JSON writes them, and term hashes.")
    held_elsewhere: int = Field(default=0, description="Fragments that rows which stay hold too.")
    too_short: int = Field(default=0, description="Texts of fewer than six bytes, which are not looked for.")
    complete: bool = Field(
        default=True, description="False after a crash: not every fragment was known, so the database was rewritten."
    )
    files: int = Field(default=0, description="Files looked through, byte by byte.")
    bytes: int = 0
    found: dict[str, int] = Field(default_factory=dict, description="Fragments left, by file: empty if all is gone.")
    rewritten: int = Field(default=0, description="How often the database was written anew (VACUUM).")
    log_emptied: bool = Field(default=False, description="The write-ahead log was emptied.")
    seconds: float = 0.0


class Executed(DeletePlan):
    """What was deleted."""

    operation_id: str = ""
    status: str = Field(default="", description="`executed`, or `purged`.")
    deleted_count: int = 0
    deleted_paragraph_count: int = 0
    deleted_relation_count: int = 0
    deleted_entity_count: int = 0
    deleted_source_count: int = 0
    receipt: Receipt | None = None


class Restore(Request):
    """The deletion to undo."""

    operation_id: OperationId
    items: list[Name] | None = Field(
        None, min_length=1, max_length=10_000,
        description="Only these (`p12`, `r12`, `n12`, `f12`), with what went because of them.",
    )  # fmt: skip

    @field_validator("items")
    @classmethod
    def _keys(cls, value: list[str] | None) -> list[str] | None:
        for one in value or ():
            if not _KEY.fullmatch(one):
                raise ValueError(f"{one!r} is no id: expected one such as p12, r12, n12 or f12")
        return value

    def chosen(self) -> list[tuple[str, int]] | None:
        """(kind, row) of the items."""
        if self.items is None:
            return None
        return [(KINDS[one[0]], int(one[1:])) for one in self.items]


class NotRestored(BaseModel):
    """A row that could not come back."""

    item_type: str = ""
    item_key: str = ""
    reason: str = ""


class RestoreResult(Response):
    """What came back."""

    operation_id: str = ""
    status: str = Field(default="", description="`restored`, or `executed` while something of it is still deleted.")
    error: str = Field(default="", description="Why nothing came back, if nothing did.")
    error_code: str = ""
    counts: dict[str, int] = Field(default_factory=dict)
    not_restored: list[NotRestored] = Field(default_factory=list)


class GetOperation(Request):
    """Which deletion to show."""

    operation_id: OperationId
    limit: Count = Field(100, ge=1, le=MOST_ITEMS, description="Most items.")
    offset: Count = Field(0, ge=0, le=LARGEST)


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


class TouchedItem(BaseModel):
    """A row of a deletion."""

    item_type: str = ""
    item_key: str = ""
    why: str = ""
    restored_at: float | None = None


class OperationResult(Response):
    """A deletion with a page of its items."""

    operation: OperationItem = Field(default_factory=OperationItem)
    items: list[TouchedItem] = Field(default_factory=list)


class ListOperations(Request):
    """Which deletions to list."""

    mode: Annotated[DeleteMode | None, BeforeValidator(_known_mode)] = None
    status: Literal["executed", "restored", "purging", "purged"] | None = None
    limit: Count = Field(50, ge=1, le=MOST_ITEMS)
    offset: Count = Field(0, ge=0, le=LARGEST)


class OperationList(Response):
    """Deletions, the newest first."""

    items: list[OperationItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class Purge(Request):
    """What to erase for good: one deletion, or all that are old enough."""

    operation_id: OperationId | None = None
    older_than_days: float | None = Field(None, ge=0, le=100_000, description="Deletions made at least so long ago.")
    grace_hours: float | None = Field(None, ge=0, le=2_400_000, description="The same in hours.")
    limit: Count = Field(100, ge=1, le=MOST_ITEMS, description="Most deletions of one call.")

    def days(self) -> float | None:
        """The age asked for. Raises InvalidRequest unless exactly one of the three is given."""
        given = [name for name in ("operation_id", "older_than_days", "grace_hours") if getattr(self, name) is not None]
        if len(given) != 1:
            raise InvalidRequest(
                "operation_id: give one of operation_id, older_than_days, grace_hours.",
                field="operation_id",
                given=given,
            )
        return self.grace_hours / 24 if self.grace_hours is not None else self.older_than_days


class PurgeResult(Response):
    """What is gone for good."""

    operations: list[OperationItem] = Field(default_factory=list)
    purged_count: int = 0
    error: str = ""
    error_code: str = ""
    left: list[str] = Field(default_factory=list, description="Files in which something was left: see the receipts.")


@ops.operation("memory_delete_admin", "preview")
async def preview(kernel: SDKMemoryKernel, request: Preview) -> DeletePlan:
    """Show everything that a deletion would take along; nothing is written."""
    found = await kernel.care.deletion.preview(request.wish())
    return DeletePlan(**_plan(request.mode, found))


@ops.operation("memory_delete_admin", "execute", effect="destructive")
async def execute(kernel: SDKMemoryKernel, request: Execute) -> Executed:
    """Delete in one transaction; it can be restored until it is purged."""
    found = await kernel.care.deletion.execute(request.wish(), request.plan_token, purge=request.purge)
    purged = await kernel.care.purges.finished(found.operation) if request.purge else None
    counts = found.plan.counts
    return Executed(
        **_plan(request.mode, found),
        operation_id=operation_key(found.operation),
        status=purged.status if purged else "executed",
        deleted_count=sum(len(rows) for rows in found.plan.rows.values()) + len(found.plan.moved),
        deleted_paragraph_count=counts["paragraphs"],
        deleted_relation_count=counts["relations"],
        deleted_entity_count=counts["entities"],
        deleted_source_count=counts["sources"],
        receipt=receipt_of(purged) if purged else None,
    )


@ops.operation("memory_delete_admin", "restore", effect="write")
async def restore(kernel: SDKMemoryKernel, request: Restore) -> RestoreResult:
    """Bring back a deletion, or some of its items, as they were."""
    done = await kernel.care.deletion.restore(request.operation_id, request.chosen())
    return _restored(done)


@ops.operation("memory_delete_admin", "get_operation", "get")
async def get_operation(kernel: SDKMemoryKernel, request: GetOperation) -> OperationResult:
    """Show a deletion with its items."""
    found, items = await kernel.care.deletion.operation(request.operation_id, request.limit, request.offset)
    return OperationResult(operation=_item(found), items=[_touched(item) for item in items])


@ops.operation("memory_delete_admin", "list_operations", "list")
async def list_operations(kernel: SDKMemoryKernel, request: ListOperations) -> OperationList:
    """List deletions, the newest first."""
    total, rows = await kernel.care.deletion.operations(request.mode, request.status, request.limit, request.offset)
    return OperationList(items=[_item(row) for row in rows], count=len(rows), total=total)


@ops.operation("memory_delete_admin", "purge", effect="destructive")
async def purge(kernel: SDKMemoryKernel, request: Purge) -> PurgeResult:
    """Erase what was deleted for good, from every file, and tell what was checked."""
    days = request.days()
    if request.operation_id is not None:
        rows = [await kernel.care.purges.purge(request.operation_id)]
    else:
        rows = await kernel.care.purges.older(days or 0.0, request.limit)
    items = [_item(row) for row in rows]
    left = sorted({file for item in items if item.receipt for file in item.receipt.found})
    return PurgeResult(
        success=not left, operations=items, purged_count=len(items), left=left,
        error=f"Something was left in {', '.join(left)}: see the receipts." if left else "",
        error_code=StorageFailure.code if left else "",
    )  # fmt: skip


def receipt_of(row: OperationRow) -> Receipt | None:
    """The receipt of a purge, None while there is none."""
    if row.status != "purged":
        return None
    return Receipt(**{name: value for name, value in row.receipt.items() if name in Receipt.model_fields})


def _plan(mode: DeleteMode, found: Deleted) -> dict[str, Any]:
    return {
        "mode": mode,
        "counts": found.plan.counts,
        "items": _shown(found.shown),
        "stays": _shown(found.stays),
        "sources": found.plan.sources,
        "missing": list(found.missing),
        "plan_token": found.plan.token,
    }


def _shown(rows: Iterable[Shown]) -> list[DeleteItem]:
    return [
        DeleteItem(item_type=row.kind, item_key=_key(row.kind, row.id), label=row.label, source=row.source, why=row.why)
        for row in rows
    ]


def _key(kind: str, row: int) -> str:
    return f"{LETTERS.get(kind, '')}{row}"


def _restored(done: Restored) -> RestoreResult:
    back = any(done.rows.values()) or done.whole
    reasons = dict.fromkeys(one.reason for one in done.not_back)
    return RestoreResult(
        success=back,
        error="" if back else f"operation_id: nothing came back: {'; '.join(reasons)}.",
        error_code="" if back else Conflict.code,
        operation_id=operation_key(done.operation),
        status="restored" if done.whole else "executed",
        counts={kind: len(ids) for kind, ids in done.rows.items() if ids},
        not_restored=[
            NotRestored(item_type=one.kind, item_key=_key(one.kind, one.id), reason=one.reason) for one in done.not_back
        ],
    )


def _item(row: OperationRow) -> OperationItem:
    return OperationItem(
        operation_id=operation_key(row.id), mode=row.mode, status=row.status, selector=row.selector,
        counts=row.counts, requested_by=row.requested_by, reason=row.reason, created_at=row.created_at,
        restored_at=row.restored_at, purged_at=row.purged_at, items=row.items, restored=row.restored,
        receipt=receipt_of(row),
    )  # fmt: skip


def _touched(item: Item) -> TouchedItem:
    return TouchedItem(
        item_type=item.kind, item_key=_key(item.kind, item.id), why=item.detail.get("why", ""),
        restored_at=item.restored_at,
    )  # fmt: skip
