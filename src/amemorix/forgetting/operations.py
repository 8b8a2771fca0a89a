"""`memory_delete_admin`: delete after a look, bring back, or erase for good."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, field_validator

from ..errors import Conflict, InvalidRequest, MemoryFault, StorageFailure
from ..fields import Name, Offset
from ..ids import KINDS, OperationId, operation_key, row_key
from ..lazy_regex import lazy_regex
from ..ops import Operations, Request, Response
from ..store.operations import OperationRow
from .purge import KeyRotation, Receipt
from .selection import DeleteMode, read_selector
from .service import Deleted, DeleteItem, Wish

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops", "verdict"]

ops: Operations[SDKMemoryKernel] = Operations()
MOST_ITEMS = 1_000
WAIT = "False: a purge is left to the background; ask `get_operation` how far it is, and for the receipt when `status` is `purged`."
ROTATE = "The data key of an encrypted memory is rotated afterwards: what was copied before cannot be read with what is left."
_KEY = lazy_regex(r"([prnf])([0-9]{1,18})")


Mentions = Literal["delete", "keep"]


def _known_mode(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _named_lines(value: Any) -> Any:
    """Whether they are included, as was asked before."""
    if isinstance(value, bool):
        return "delete" if value else "keep"
    return _known_mode(value)


class Preview(Request):
    """What to delete."""

    mode: Annotated[DeleteMode, BeforeValidator(_known_mode)] = Field(
        description="`person`: everything said by them, bound to them, naming them and known of them; `chat`: everything of a chat."
    )
    selector: Any = Field(
        None,
        description="An id, a name or words; a list of ids or names; or an object: `ids`, `hashes`, `external_ids`, `query` "
        "(paragraph), `ids`, `query`, `subject`, `predicate`, `object` (relation), `ids`, `names` (entity), `sources`, "
        "`person_ids`, `chat_ids`; with `mixed`, `paragraph_ids`, `relation_ids`, `entity_names` and so on together.",
    )
    chat_id: Name = Field(
        "",
        description="Only within this chat; what other chats hold too stays, and a preview does not tell what that is.",
    )
    mentions: Annotated[Mentions, BeforeValidator(_named_lines)] = Field(
        "delete", validation_alias=AliasChoices("mentions", "include_mentions"),
        description="With `person`: lines of others that name the person and can mean nobody else go too (`delete`), in every "
        "chat, or stay (`keep`). Lines that may mean somebody else, or say a common word, always stay and are listed.",
    )  # fmt: skip
    include_paragraphs: bool = Field(False, description="With `entity`: also the paragraphs that are linked to it.")

    def wish(self) -> Wish:
        """What is meant. Raises InvalidRequest."""
        raw, chat = self.selector, self.chat_id
        if self.mode == "chat":  # the chat to clear may be given as the selector or as `chat_id`
            given = raw not in (None, "", [], {})
            if given and chat and raw not in (chat, [chat], {"chat_id": chat}):
                raise InvalidRequest("chat_id: with mode `chat`, name the chat once.", field="chat_id")
            raw, chat = raw if given else chat, ""
        selector = read_selector(self.mode, raw)
        if chat and (others := [one for one in selector.chats if one != chat]):
            raise InvalidRequest(
                f"selector.chat_ids: {others[0]!r} is another chat than chat_id {chat!r}, to which the deletion is limited.",
                field="selector.chat_ids",
            )
        return Wish(self.mode, selector, chat, self.mentions == "keep", self.include_paragraphs)


class Execute(Preview):
    """What to delete, and how."""

    plan_token: Name = Field("", description="Of a preview: if the plan has changed since, nothing is deleted.")
    purge: bool = Field(False, description="Erase it for good in the same call; it cannot be restored then.")
    rotate: bool = Field(False, description=ROTATE)
    wait: bool = Field(True, description=WAIT)
    reason: Name = ""
    requested_by: Name = ""

    def wish(self) -> Wish:
        """What is meant. Raises InvalidRequest."""
        return replace(super().wish(), requested_by=self.requested_by, reason=self.reason)


class DeletePlan(Response):
    """Everything that would go, and what stays."""

    mode: str = ""
    counts: dict[str, int] = Field(
        default_factory=dict,
        description="Rows that go, by kind; `…_changed`: rows that go on with less. `mentions` are the paragraphs that only "
        "name the person, `mentions_kept` lines that may do so and stay.",
    )
    items: list[DeleteItem] = Field(default_factory=list, description="The first hundred.")
    stays: list[DeleteItem] = Field(
        default_factory=list, description="What one might expect to go, and why it stays: the first hundred."
    )
    sources: list[str] = Field(default_factory=list)
    requested_source_count: int = Field(default=0, description="Names of sources in the selector, each once.")
    matched_source_count: int = Field(default=0, description="Those of them that hold something.")
    missing: list[str] = Field(default_factory=list, description="What the selector names and is not there.")
    plan_token: str = Field(default="", description="Hand it to `execute` to delete exactly this.")


class Executed(DeletePlan):
    """What was deleted."""

    operation_id: str = ""
    status: str = Field(default="", description="`executed`, `purging` or `purged`.")
    deleted_count: int = Field(
        default=0,
        description="Rows of every kind; of the mode `source` its paragraphs, as `memory_source_admin` counts.",
    )
    deleted_paragraph_count: int = 0
    deleted_relation_count: int = 0
    deleted_entity_count: int = 0
    deleted_source_count: int = 0
    receipt: Receipt | None = None
    error: str = ""
    error_code: str = ""


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
    limit: int = Field(100, ge=1, le=MOST_ITEMS, description="Most items.")
    offset: Offset = 0


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


class OperationResult(Response):
    """A deletion with a page of its items."""

    operation: OperationItem = Field(default_factory=OperationItem)
    items: list[TouchedItem] = Field(default_factory=list)


class ListOperations(Request):
    """Which deletions to list."""

    mode: Annotated[DeleteMode | None, BeforeValidator(_known_mode)] = None
    status: Literal["executed", "restored", "purging", "purged"] | None = None
    limit: int = Field(50, ge=1, le=MOST_ITEMS)
    offset: Offset = 0


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
    limit: int = Field(100, ge=1, le=MOST_ITEMS, description="Most deletions of one call.")
    rotate: bool = Field(False, description=ROTATE)
    wait: bool = Field(True, description=WAIT)

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


@ops.operation("memory_delete_admin", "preview", role="admin")
async def preview(kernel: SDKMemoryKernel, request: Preview) -> DeletePlan:
    """Show everything that a deletion would take along; nothing is written."""
    wish = request.wish()
    return DeletePlan(**_plan(wish, await kernel.deletion.preview(wish)))


@ops.operation("memory_delete_admin", "execute", effect="destructive")
async def execute(kernel: SDKMemoryKernel, request: Execute) -> Executed:
    """Delete in one transaction; it can be restored until it is purged."""
    if request.rotate and not request.purge:
        raise InvalidRequest("rotate: the key is rotated after a purge; give `purge` too.", field="rotate")
    wish = request.wish()
    with _rotating(kernel, request):
        found = await kernel.deletion.execute(wish, request.plan_token, purge=request.purge, rotate=request.rotate)
        purged, counts = None, found.plan.counts
        if request.purge:
            ended = kernel.purges.finished if request.wait else kernel.purges.begun
            purged = _item(await ended(found.operation))
        warnings = await _rotated(kernel, [purged] if purged else [])
    receipt = purged.receipt if purged else None
    rows = sum(len(some) for some in found.plan.rows.values()) + len(found.plan.moved)
    return Executed(
        warnings=warnings,
        **verdict(sorted(receipt.found) if receipt else []),
        **_plan(wish, found),
        operation_id=operation_key(found.operation),
        status=purged.status if purged else "executed",
        deleted_count=counts["paragraphs"] if request.mode == "source" else rows,
        deleted_paragraph_count=counts["paragraphs"],
        deleted_relation_count=counts["relations"],
        deleted_entity_count=counts["entities"],
        deleted_source_count=counts["sources"],
        receipt=receipt,
    )


@ops.operation("memory_delete_admin", "restore", effect="write")
async def restore(kernel: SDKMemoryKernel, request: Restore) -> RestoreResult:
    """Bring back a deletion, or some of its items, as they were."""
    chosen = None if request.items is None else [(KINDS[one[0]], int(one[1:])) for one in request.items]
    done = await kernel.deletion.restore(request.operation_id, chosen)
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
            NotRestored(item_type=one.kind, item_key=row_key(one.kind, one.id), reason=one.reason)
            for one in done.not_back
        ],
    )


@ops.operation("memory_delete_admin", "get_operation", "get")
async def get_operation(kernel: SDKMemoryKernel, request: GetOperation) -> OperationResult:
    """Show a deletion with its items."""
    found, items = await kernel.deletion.operation(request.operation_id, request.limit, request.offset)
    touched = [
        TouchedItem(
            item_type=item.kind, item_key=row_key(item.kind, item.id), why=item.detail.get("why", ""),
            restored_at=item.restored_at,
        )
        for item in items
    ]  # fmt: skip
    return OperationResult(operation=_item(found, kernel.store.purge_progress.get(found.id)), items=touched)


@ops.operation("memory_delete_admin", "list_operations", "list")
async def list_operations(kernel: SDKMemoryKernel, request: ListOperations) -> OperationList:
    """List deletions, the newest first."""
    total, rows = await kernel.deletion.operations(request.mode, request.status, request.limit, request.offset)
    progress = kernel.store.purge_progress
    items = [_item(row, progress.get(row.id)) for row in rows]
    return OperationList(items=items, count=len(rows), total=total)


@ops.operation("memory_delete_admin", "purge", effect="destructive")
async def purge(kernel: SDKMemoryKernel, request: Purge) -> PurgeResult:
    """Erase what was deleted for good, from every file, and tell what was checked."""
    days, purges = request.days(), kernel.purges
    with _rotating(kernel, request):
        if request.operation_id is not None:
            begun = await purges.begin(request.operation_id, rotate=request.rotate)
            rows = [await (purges.finished(begun) if request.wait else purges.begun(begun))]
        else:
            rows = await purges.older(days or 0.0, request.limit, wait=request.wait, rotate=request.rotate)
        items = [_item(row) for row in rows]
        warnings = await _rotated(kernel, items)
    left = sorted({file for item in items if item.receipt for file in item.receipt.found})
    done = sum(item.status == "purged" for item in items)
    return PurgeResult(**verdict(left), warnings=warnings, operations=items, purged_count=done, left=left)


@contextmanager
def _rotating(kernel: SDKMemoryKernel, request: Execute | Purge) -> Generator[None]:
    """Let the background leave the rotation to a call that waits for the purge. Raises Conflict for a memory without a key."""
    if request.rotate and kernel.store.keys is None:
        raise Conflict("rotate: the memory is not encrypted, so there is no key to rotate.", field="rotate")
    awaited = request.rotate and request.wait
    kernel.store.rotations_awaited += awaited
    try:
        yield
    finally:
        kernel.store.rotations_awaited -= awaited


async def _rotated(kernel: SDKMemoryKernel, purged: Sequence[OperationItem]) -> list[str]:
    """Rotate the key that purges have ended with, as their receipts say then; what to tell if that failed.

    The kernel must not be used afterwards.
    """
    receipts = [one.receipt for one in purged if one.receipt and one.receipt.rotation]
    if not receipts:
        return []
    try:
        done = await kernel.keys.rotate(kernel.status, kernel)
    except MemoryFault as exc:
        return [f"The key is not rotated yet, and it is tried again: {exc}"]
    for receipt in receipts:
        receipt.rotation = KeyRotation(retired=done.retired.id, key=done.key.id, needed_by=done.needed_by)
    return []


def verdict(left: list[str]) -> dict[str, Any]:
    """Whether a purge left nothing; else what to tell of the files in which it did."""
    if not left:
        return {}
    error = f"Something was left in {', '.join(left)}: see the receipts."
    return {"success": False, "error": error, "error_code": StorageFailure.code}


def _plan(wish: Wish, found: Deleted) -> dict[str, Any]:
    return {
        "mode": wish.mode,
        "counts": found.plan.counts,
        "items": found.shown,
        "stays": found.stays,
        "sources": found.plan.sources,
        "requested_source_count": len(wish.selector.sources),
        "matched_source_count": len(found.matched_sources),
        "missing": list(found.missing),
        "plan_token": found.plan.token,
    }


def _item(row: OperationRow, progress: tuple[str, int, int] | None = None) -> OperationItem:
    """A deletion as it was recorded, with how far its purge is if it is under way."""
    shown = asdict(row) | {"operation_id": operation_key(row.id), "receipt": None}
    if row.status == "purged":
        shown["receipt"] = row.receipt
    if row.status == "purging" and progress:
        shown["progress"] = dict(zip(("phase", "done", "total"), progress, strict=True))
    return OperationItem.model_validate(shown)
