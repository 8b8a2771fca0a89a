"""Deleting, and bringing back: plan, execute, restore, each of the last two in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..audit_context import naming
from ..clock import Clock
from ..config.model import Config
from ..copies.worker import ensure_not_restoring
from ..errors import Conflict, NotFound
from ..graph import relation_restore
from ..ids import row_key
from ..indexes.projections import Indexes
from ..indexes.vectors.embedding import EmbeddingService
from ..store import operations as operation_rows
from ..store.access import EVERYONE, Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.operations import ROW_KINDS, Item, NewOperation, OperationRow, RowKind
from ..store.ports import Connection, Unit
from ..store.reserve import make_room
from . import closure as closure_rows
from .plan import DeletionPlan, planned
from .purge_imports import end_imports, open_imports
from .purge_worker import write_receipt
from .responses import DeleteItem, PurgeReceipt
from .restore import Restored, restore
from .selectors import DeleteMode, Selector
from .targets import Seeds, Selection

__all__ = ["Deleted", "DeletionService", "Wish"]

T = TypeVar("T")
MOST_SHOWN = 100
SHOWN_KINDS: tuple[RowKind, ...] = ("paragraph", "relation", "entity", "fact")
PREVIEW_CHARS = 120
_TOLD = ("paragraphs", "relations", "entities", "persons", "chats", "chat_id", "sources")
"""Parts of a selector that stand in the audit."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be deleted, by whom and why."""

    mode: DeleteMode
    selector: Selector
    chat_id: str = ""
    keep_mentions: bool = False
    """Lines of others that name a person stay."""
    include_paragraphs: bool = False
    requested_by: str = ""
    reason: str = ""

    def asked(self) -> dict[str, Any]:
        """The selector, with the chat to which it is limited."""
        return {**self.selector.to_dict(), **({"chat_id": self.chat_id} if self.chat_id else {})}

    def meant(self) -> dict[str, Any]:
        """The same for the audit: what is not a number, a person, a chat or a source is only counted."""
        asked = self.asked()
        other = sum(len(value) if isinstance(value, tuple) else 1 for name, value in asked.items() if name not in _TOLD)
        return {name: asked[name] for name in asked if name in _TOLD} | ({"others": other} if other else {})


@dataclass(frozen=True, slots=True)
class Deleted:
    """A plan, shown; with the operation that it became if it was executed."""

    plan: DeletionPlan
    missing: tuple[str, ...]
    shown: list[DeleteItem] = field(default_factory=list[DeleteItem])
    stays: list[DeleteItem] = field(default_factory=list[DeleteItem])
    token: str = ""
    operation: int = 0
    matched_sources: tuple[str, ...] = field(default=())


class DeletionService:
    """Deletes softly: rows are marked, or kept with the operation, so that a restore gives the same memory back."""

    def __init__(
        self,
        store: MetadataStore,
        *,
        indexes: Indexes,
        embedding: EmbeddingService,
        config: Config,
        clock: Clock,
        background: Executor,
    ) -> None:
        self._store = store
        self._config = config
        self._indexes = indexes
        self._embedding = embedding
        self._clock = clock
        self._background = background
        self._selection = Selection(store, self._seen_from)

    async def preview(self, wish: Wish) -> Deleted:
        """What `execute` would delete now. Raises NotFound if nothing is meant."""
        seeds = await self._seeds(wish)

        def read(db: Connection) -> Deleted:
            return self._told(db, seeds, self._planned(db, wish, seeds, DeletionPlan.show_as_the_chat_knows))

        return await self._read(read)

    async def execute(self, wish: Wish, plan_token: str = "", *, purge: bool = False) -> Deleted:
        """Delete in one transaction; with `purge`, the operation begins as one whose purge is under way.

        Raises NotFound if nothing is meant, Conflict if a plan token is given and the plan is another by now.
        """
        seeds = await self._seeds(wish)
        now, name = self._clock.now(), naming()
        name({} if purge else {"selector": wish.meant()}, mode=wish.mode)

        def unit(db: Connection) -> Deleted:
            if purge and seeds.chat is None:
                persons = [one.row for one in seeds.persons]
                end_imports(db, chats=seeds.chats, persons=persons, now=now)
            plan = self._planned(db, wish, seeds, DeletionPlan.leave_elsewhere, purge=purge)
            if plan_token and plan_token != plan.token:
                raise Conflict(
                    "plan_token: the memory has changed since the preview; look at it again.",
                    field="plan_token", plan_token=plan.token,
                )  # fmt: skip
            told = self._told(db, seeds, plan)
            operation = self._carry_out(db, wish, plan, purge, now)
            name(operation_id=f"d{operation}")
            return replace(told, operation=operation)

        if purge:
            await asyncio.to_thread(make_room, self._store.folder, erasing=True)
        return await self._store.write(unit)

    async def restore(self, operation: int, chosen: Sequence[tuple[str, int]] | None) -> Restored:
        """Bring back an operation, or these (kind, row) of it. Raises NotFound, or Conflict for a wrong state."""
        now = self._clock.now()
        naming()(operation_id=f"d{operation}")

        def unit(db: Connection) -> Restored:
            found = self._known(db, operation)
            if found.status != "executed":
                raise Conflict(f"operation_id: {_state(found)}.", field="operation_id", status=found.status)
            held = {(item.kind, item.id) for item in operation_rows.open_items(db, operation)}
            if strange := [f"{kind} {id_}" for kind, id_ in chosen or () if (kind, id_) not in held]:
                raise NotFound(f"items: d{operation} holds no {', no '.join(strange[:10])}.", field="items")
            return restore(db, found, chosen, now)

        restored = await self._store.write(unit)
        if restored.unembedded is not None:
            self._embedding.look_again(restored.unembedded)
        return restored

    async def operation(self, operation: int, limit: int, offset: int) -> tuple[OperationRow, list[Item]]:
        """An operation with a page of its items. Raises NotFound."""

        def read(db: Connection) -> tuple[OperationRow, list[Item]]:
            return self._known(db, operation), operation_rows.items(db, operation, limit, offset)

        return await self._store.read(read)

    async def operations(
        self, mode: str | None, status: str | None, limit: int, offset: int
    ) -> tuple[int, list[OperationRow]]:
        """(how many there are, a page of them, the newest first)."""
        return await self._store.read(
            lambda db: operation_rows.operations(db, mode=mode, status=status, limit=limit, offset=offset)
        )

    # steps

    async def _read(self, unit: Unit[T]) -> T:
        """Read on the background thread: looking for words may read every text."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._background, self._store.read_here, unit)

    async def _seeds(self, wish: Wish) -> Seeds:
        def read(db: Connection) -> Seeds:
            self._indexes.names.catch_up(db)
            directory = self._indexes.names.index
            return self._selection.seeds(
                db, wish.selector, wish.chat_id, directory, keep_mentions=wish.keep_mentions
            )  # fmt: skip

        return await self._read(read)

    def _seen_from(self, db: Connection, chat: int) -> tuple[int, ...] | None:
        """The chats that a chat sees; one that there is not sees what everybody sees."""
        key = self._store.names.chat_of(db, chat)
        if key is None:
            return (EVERYONE,)
        return Access(self._store.names, self._config).scopes(db, Caller(key.chat_id, respect_filter=False))

    def _planned(
        self, db: Connection, wish: Wish, seeds: Seeds, finish: Callable[[DeletionPlan], None], *, purge: bool = False
    ) -> DeletionPlan:
        plan = planned(db, seeds, entity_paragraphs=wish.include_paragraphs)
        finish(plan)
        if not plan.empty or (purge and plan.dead):
            return plan
        before = " What it means was deleted before: `purge` erases it." if plan.dead else ""
        unknown = f" Unknown: {', '.join(seeds.missing[:10])}." if seeds.missing else ""
        where = f" in chat {wish.chat_id!r}" if wish.chat_id else ""
        near = f" Did you mean {', '.join(map(repr, seeds.meant))}?" if seeds.meant else ""
        own = (
            ' An external id is given as {"external_ids": ["' + wish.selector.query[:100] + '"]}.'
            if wish.selector.query
            else ""
        )
        raise NotFound(
            f"selector: nothing that could be deleted matches it{where}.{unknown}{near}{before}{own}",
            field="selector", missing=list(seeds.missing[:MOST_SHOWN]),
        )  # fmt: skip

    def _carry_out(self, db: Connection, wish: Wish, plan: DeletionPlan, purge: bool, now: float) -> int:
        """Delete and record; what is purged at once leaves no word of why in the record."""
        if purge:
            ensure_not_restoring(self._store)
        for kind in ROW_KINDS:
            operation_rows.mark(db, kind, plan.ids(kind), now)
        for moved in plan.moved:
            operation_rows.take_out(db, moved)
        new = NewOperation(
            wish.mode, "purging" if purge else "executed", plan.items, plan.counts, {} if purge else wish.asked(),
            [(stay.kind, stay.id, stay.reason) for stay in plan.stays[:MOST_SHOWN]],
            wish.requested_by, "" if purge else wish.reason,
        )  # fmt: skip
        operation = operation_rows.record(db, new, now)
        if purge:
            write_receipt(db, operation, PurgeReceipt(incoming=open_imports(db, plan.items)))
        relation_restore.taken(db, plan.ids("relation"), f"d{operation}")
        return operation

    def _known(self, db: Connection, operation: int) -> OperationRow:
        found = operation_rows.operation(db, operation)
        if found is None:
            raise NotFound(f"operation_id: there is no deletion d{operation}.", field="operation_id")
        return found

    def _told(self, db: Connection, seeds: Seeds, plan: DeletionPlan) -> Deleted:
        """The plan with the first of its rows, paragraphs first, as a person may recognise them."""
        shown, left = list[DeleteItem](), MOST_SHOWN
        for kind in SHOWN_KINDS:
            why, ids = plan.rows.get(kind, {}), plan.ids(kind)[:left]
            shown += [
                _item(kind, id_, label, more[0] if more else "", why[id_])
                for id_, label, *more in closure_rows.labels(db, kind, ids)
            ]
            left -= len(ids)
        for moved in plan.moved[:left]:
            label = str(moved.row.get("text") or moved.row.get("alias") or "")
            shown.append(_item(moved.kind, moved.id, label, why=moved.why))
        stays = list[DeleteItem]()
        for one in plan.stays[:MOST_SHOWN]:
            found = [] if one.label else closure_rows.labels(db, one.kind, [one.id])
            stays.append(_item(one.kind, one.id, found[0][1] if found else "", why=one.reason))
            if one.label:
                stays[-1].label = one.label
        matched = tuple(name for name in seeds.source_names if name in plan.sources)
        return Deleted(plan, seeds.missing, shown, stays, plan.token, matched_sources=matched)


def _item(kind: str, id_: int, label: str, source: str = "", why: str = "") -> DeleteItem:
    line = " ".join(label.split())
    short = line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"
    return DeleteItem(item_type=kind, item_key=row_key(kind, id_), label=short, source=source, why=why)


def _state(operation: OperationRow) -> str:
    told = {
        "restored": "was restored already",
        "purging": "is being purged: what it deleted is gone for good",
        "purged": "was purged: what it deleted is gone for good",
    }
    return f"d{operation.id} {told.get(operation.status, 'is ' + operation.status)}"
