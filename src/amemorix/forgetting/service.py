"""Deleting, and bringing back: preview, execute, restore, each of the last two in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from ..audit_context import naming
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, NotFound
from ..graph import relation_restore
from ..ids import operation_key, row_key
from ..indexes.projections import Indexes
from ..indexes.vectors.embedding import EmbeddingService
from ..store import operations as journal
from ..store.access import EVERYONE, Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.operations import (
    DELETED_BEFORE,
    MOVED_KINDS,
    ROW_KINDS,
    Item,
    NewOperation,
    OperationRow,
    RowKind,
    row_ids,
)
from ..store.ports import Connection, Unit
from ..store.queries import array
from ..store.reserve import make_room
from .plan import DeletionPlan, planned
from .purge import begin_receipt, end_imports
from .selection import DeleteMode, Seeds, Selector, seeds_of

__all__ = ["DeleteItem", "Deleted", "DeletionService", "Restored", "Wish"]

T = TypeVar("T")
MOST_SHOWN = 100
SHOWN_KINDS: tuple[RowKind, ...] = ("paragraph", "relation", "entity", "fact")
PREVIEW_CHARS = 120
_TOLD = ("paragraphs", "relations", "entities", "persons", "chats", "chat_id", "sources")
"""Parts of a selector that stand in the audit."""
GONE, NEWER, HANGING, AGAIN, TAKEN, BEFORE = (
    "it has been purged",
    "a newer text is stored under its external id",
    "what it rests on is still deleted, or has become part of something else",
    "a later operation deleted it again",
    "something newer is in its place",
    "it was deleted before",
)
MADE_ANEW = ("summary_cursor", "person_alias")
"""Kinds of which a row that is there by now stands for the one that was taken out: derived anew, or the same."""
STATES = {
    "restored": "was restored already",
    "purging": "is being purged: what it deleted is gone for good",
    "purged": "was purged: what it deleted is gone for good",
}


class DeleteItem(BaseModel):
    """A row that a deletion touches, or leaves alone."""

    item_type: str = ""
    item_key: str = Field(default="", description="`p12` paragraph, `r12` relation, `n12` entity, `f12` fact.")
    label: str = ""
    source: str = ""
    why: str = Field(default="", description="Why it goes (`selected`, `mention`, `evidence`, …), or why it stays.")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be deleted, by whom and why."""

    mode: DeleteMode
    selector: Selector
    chat_id: str = ""
    keep_mentions: bool = False
    """Lines of others that name a person stay."""
    include_paragraphs: bool = False
    emptied_chats: bool = False
    """Chats in which nothing is left go too, if it is purged."""
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
class NotBack:
    """A row that cannot come back, and why."""

    kind: str
    id: int
    reason: str


@dataclass(slots=True)
class Restored:
    """What came back, kind by kind, and what could not."""

    operation: int
    whole: bool = False
    rows: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    not_back: list[NotBack] = field(default_factory=list[NotBack])
    unembedded: int | None = None
    """The first paragraph that is back and has no vector yet."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """A plan, shown; with the operation that it became if it was executed."""

    plan: DeletionPlan
    missing: tuple[str, ...]
    shown: list[DeleteItem]
    stays: list[DeleteItem]
    matched_sources: tuple[str, ...]
    operation: int = 0


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

    async def preview(self, wish: Wish) -> Deleted:
        """What `execute` would delete now. Raises NotFound if nothing is meant."""
        seeds = await self._seeds(wish)

        def read(db: Connection) -> Deleted:
            plan = planned(db, seeds, entity_paragraphs=wish.include_paragraphs)
            plan.show_as_the_chat_knows()
            if plan.empty:
                raise _nothing_meant(wish, seeds, plan)
            return _shown(db, seeds, plan)

        return await self._read(read)

    async def execute(self, wish: Wish, plan_token: str = "", *, purge: bool = False, rotate: bool = False) -> Deleted:
        """Delete in one transaction; with `purge`, the operation begins as one whose purge is under way.

        What is purged at once leaves no word of why in the record. Raises NotFound if nothing is meant, Conflict if a plan
        token is given and the plan is another by now.
        """
        seeds = await self._seeds(wish)
        now, name = self._clock.now(), naming()
        name({} if purge else {"selector": wish.meant()}, mode=wish.mode)

        def unit(db: Connection) -> Deleted:
            if purge and seeds.chat is None:
                end_imports(db, chats=seeds.chats, persons=seeds.persons, now=now)
            plan = planned(
                db, seeds, entity_paragraphs=wish.include_paragraphs, emptied_chats=purge and wish.emptied_chats
            )
            plan.leave_elsewhere()
            if plan.empty and not (purge and plan.dead):
                raise _nothing_meant(wish, seeds, plan)
            if plan_token and plan_token != plan.token:
                raise Conflict(
                    "plan_token: the memory has changed since the preview; look at it again.",
                    field="plan_token", plan_token=plan.token,
                )  # fmt: skip
            deleted = _shown(db, seeds, plan)
            if purge:
                self._store.ensure_not_restoring()
            for kind in ROW_KINDS:
                journal.mark(db, kind, plan.ids(kind), now)
            for moved in plan.moved:
                journal.take_out(db, moved)
            new = NewOperation(
                wish.mode, "purging" if purge else "executed", plan.items, plan.counts, {} if purge else wish.asked(),
                [(stay.kind, stay.id, stay.reason) for stay in plan.stays[:MOST_SHOWN]],
                wish.requested_by, "" if purge else wish.reason,
            )  # fmt: skip
            operation = journal.record(db, new, now)
            if purge:
                begin_receipt(db, operation, plan.items, rotate=rotate)
            relation_restore.taken(db, plan.ids("relation"), operation_key(operation))
            name(operation_id=operation_key(operation))
            return replace(deleted, operation=operation)

        if purge:
            await asyncio.to_thread(make_room, self._store.folder, erasing=True)
        return await self._store.write(unit)

    async def restore(self, operation: int, chosen: Sequence[tuple[str, int]] | None) -> Restored:
        """Bring back an operation, or these (kind, row) of it. Raises NotFound, or Conflict for a wrong state."""
        now = self._clock.now()
        naming()(operation_id=operation_key(operation))

        def unit(db: Connection) -> Restored:
            found = journal.operation(db, operation)
            if found.status != "executed":
                told = STATES.get(found.status, f"is {found.status}")
                raise Conflict(f"operation_id: d{operation} {told}.", field="operation_id", status=found.status)
            held = {(item.kind, item.id) for item in journal.open_items(db, operation)}
            if strange := [f"{kind} {id_}" for kind, id_ in chosen or () if (kind, id_) not in held]:
                raise NotFound(f"items: d{operation} holds no {', no '.join(strange[:10])}.", field="items")
            return _restore(db, found, chosen, now)

        restored = await self._store.write(unit)
        if restored.unembedded is not None:
            self._embedding.look_again(restored.unembedded)
        return restored

    async def operation(self, operation: int, limit: int, offset: int) -> tuple[OperationRow, list[Item]]:
        """An operation with a page of its items. Raises NotFound."""

        def read(db: Connection) -> tuple[OperationRow, list[Item]]:
            return journal.operation(db, operation), journal.items(db, operation, limit, offset)

        return await self._store.read(read)

    async def operations(
        self, mode: str | None, status: str | None, limit: int, offset: int
    ) -> tuple[int, list[OperationRow]]:
        """(how many there are, a page of them, the newest first)."""
        return await self._store.read(
            lambda db: journal.operations(db, mode=mode, status=status, limit=limit, offset=offset)
        )

    async def _read(self, unit: Unit[T]) -> T:
        """Read on the background thread: looking for words may read every text."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._background, self._store.read_here, unit)

    async def _seeds(self, wish: Wish) -> Seeds:
        def visible(db: Connection, chat: int) -> tuple[int, ...] | None:
            """The chats that a chat sees; one that there is not sees what everybody sees."""
            key = self._store.names.chat_of(db, chat)
            if key is None:
                return (EVERYONE,)
            return Access(self._store.names, self._config).scopes(db, Caller(key.chat_id, respect_filter=False))

        def read(db: Connection) -> Seeds:
            self._indexes.names.catch_up(db)
            return seeds_of(
                db, self._store, wish.selector, wish.chat_id, directory=self._indexes.names.index,
                visible=visible, keep_mentions=wish.keep_mentions,
            )  # fmt: skip

        return await self._read(read)


def _nothing_meant(wish: Wish, seeds: Seeds, plan: DeletionPlan) -> NotFound:
    before = " What it means was deleted before: `purge` erases it." if plan.dead else ""
    unknown = f" Unknown: {', '.join(seeds.missing[:10])}." if seeds.missing else ""
    where = f" in chat {wish.chat_id!r}" if wish.chat_id else ""
    near = f" Did you mean {', '.join(map(repr, seeds.meant))}?" if seeds.meant else ""
    query = wish.selector.query
    own = ' An external id is given as {"external_ids": ["' + query[:100] + '"]}.' if query else ""
    fault = NotFound(
        f"selector: nothing that could be deleted matches it{where}.{unknown}{near}{before}{own}",
        field="selector", missing=list(seeds.missing[:MOST_SHOWN]),
    )  # fmt: skip
    fault.answer = {"requested_source_count": len(wish.selector.sources)}
    return fault


def _shown(db: Connection, seeds: Seeds, plan: DeletionPlan) -> Deleted:
    """The plan with the first of its rows, paragraphs first, as a person may recognise them."""
    shown, left = list[DeleteItem](), MOST_SHOWN
    for kind in SHOWN_KINDS:
        why, ids = plan.rows.get(kind, {}), plan.ids(kind)[:left]
        shown += [
            _item(kind, id_, label, more[0] if more else "", why[id_])
            for id_, label, *more in journal.labels(db, kind, ids)
        ]
        left -= len(ids)
    for moved in plan.moved[:left]:
        label = str(moved.row.get("text") or moved.row.get("alias") or "")
        shown.append(_item(moved.kind, moved.id, label, why=moved.why))
    stays = list[DeleteItem]()
    for one in plan.stays[:MOST_SHOWN]:
        found = [] if one.label else journal.labels(db, one.kind, [one.id])
        stays.append(_item(one.kind, one.id, found[0][1] if found else "", why=one.reason))
        if one.label:
            stays[-1].label = one.label
    matched = tuple(name for name in seeds.source_names if name in plan.sources)
    return Deleted(plan, seeds.missing, shown, stays, matched)


def _item(kind: str, id_: int, label: str, source: str = "", why: str = "") -> DeleteItem:
    line = " ".join(label.split())
    short = line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"
    return DeleteItem(item_type=kind, item_key=row_key(kind, id_), label=short, source=source, why=why)


# bringing back


def _restore(db: Connection, operation: OperationRow, chosen: Sequence[tuple[str, int]] | None, now: float) -> Restored:
    """Bring back an operation, or of it these (kind, row) with what depends on them."""
    all_held = journal.open_items(db, operation.id)
    held = [item for item in all_held if item.detail.get("why") != DELETED_BEFORE]
    done = Restored(operation.id)
    done.not_back = [
        NotBack(item.kind, item.id, BEFORE)
        for item in all_held
        if item not in held and (item.kind, item.id) in (chosen or ())
    ]
    items = held if chosen is None else _with_dependents(db, held, set(chosen))
    for kind in ROW_KINDS:
        _bring(db, done, kind, [item.id for item in items if item.kind == kind], now)
    # relations that were deleted otherwise, and only waited for a paragraph or an end that is back
    waited = relation_restore.resting_on(db, done.rows.get("paragraph", []), now)
    waited += relation_restore.at(db, [item.id for item in items if item.kind == "entity"], now)
    done.rows["relation"] = [*done.rows.get("relation", []), *waited]
    for item in (item for item in items if item.kind in MOVED_KINDS):
        back = journal.put_back(db, item.kind, item.detail.get("row", {}))
        if back:
            done.rows.setdefault(item.kind, []).append(item.id)
        if back or item.kind in MADE_ANEW:
            journal.note_restored(db, done.operation, item.kind, [item.id], now)
        else:
            done.not_back.append(NotBack(item.kind, item.id, TAKEN))
    _want(db, done)
    done.whole = _is_whole(db, done, operation.restored > 0 or any(done.rows.values()))
    journal.set_restored(db, operation.id, done.whole, now)
    _complete_others(db, done, now)
    done.unembedded = journal.lower_watermarks(db, done.rows.get("paragraph", []))
    return done


def _with_dependents(db: Connection, held: Sequence[Item], chosen: set[tuple[str, int]]) -> list[Item]:
    """The items chosen, with the references and relations that went because of their paragraphs."""
    paragraphs = [id_ for kind, id_ in chosen if kind == "paragraph"]
    refs = {one.ref for one in journal.restorable(db, "paragraph", paragraphs).values()}
    along = {"ref": refs, "relation": set(row_ids(db, "relations_resting_on", paragraphs))}
    return [
        item
        for item in held
        if (item.kind, item.id) in chosen
        or (item.id in along.get(item.kind, ()) and item.detail.get("why") in ("evidence", "reference"))
    ]


def _bring(db: Connection, done: Restored, kind: RowKind, ids: Sequence[int], now: float) -> None:
    if not ids:
        return
    state = journal.restorable(db, kind, ids)
    again = set(row_ids(db, "deleted_again", ids, operation=done.operation, kind=kind))
    back: list[int] = []
    alive: list[int] = []
    for id_ in ids:
        one = state.get(id_)
        if one is None or one.blocked or id_ in again:
            blocked = NEWER if kind == "paragraph" else HANGING
            done.not_back.append(NotBack(kind, id_, GONE if one is None else AGAIN if id_ in again else blocked))
        else:
            (alive if one.alive else back).append(id_)
    if kind == "ref":  # one without any paragraph that is back must not look as if its text were stored
        held = row_ids(db, "refs_holding", back)
        done.not_back += [NotBack("ref", id_, HANGING) for id_ in back if id_ not in held]
        back = held
    journal.unmark(db, kind, back)
    journal.note_restored(db, done.operation, kind, [*back, *alive], now)
    done.rows[kind] = back


def _want(db: Connection, done: Restored) -> None:
    """Remember what comes back when the operation that it waits for is restored, and tell which that is."""
    for kind in ROW_KINDS:
        waiting = [one.id for one in done.not_back if one.kind == kind and one.reason in (HANGING, AGAIN)]
        if waiting:
            db.run("operation_items_wanted", operation=done.operation, kind=kind, ids=array(waiting))
    for place, one in enumerate(done.not_back):
        values = {"operation": done.operation, "kind": one.kind, "id": one.id}
        beneath = db.run("operations_beneath", **values).fetchall() if one.reason == HANGING else []
        if first := ", ".join(operation_key(operation) for (operation,) in beneath):
            done.not_back[place] = replace(one, reason=f"it rests on what {first} deleted: it comes back with that")


def _is_whole(db: Connection, done: Restored, begun: bool) -> bool:
    """Whether nothing of the operation may still come back; `begun`: something of it has."""
    final = (TAKEN, GONE) if begun else (TAKEN,)
    settled = {(one.kind, one.id) for one in done.not_back if one.reason in final}
    return all(
        (item.kind, item.id) in settled or item.kind in ("person", "chat") or item.detail.get("why") == DELETED_BEFORE
        for item in journal.open_items(db, done.operation)
    )


def _complete_others(db: Connection, done: Restored, now: float) -> None:
    """Bring back what was asked back before, and waited for what is back now."""
    for (operation,) in db.run("operations_wanted").fetchall():
        if operation == done.operation:
            continue
        asked = [item for item in journal.open_items(db, operation) if item.detail.get("wanted")]
        other = Restored(operation)
        for kind in ROW_KINDS:
            _bring(db, other, kind, [item.id for item in asked if item.kind == kind], now)
        found, back = journal.operation(db, operation), any(other.rows.values())
        other.whole = _is_whole(db, other, found.restored > 0)
        if back or other.whole:
            journal.set_restored(db, operation, other.whole, now)
        for kind, rows in other.rows.items():
            done.rows[kind] = [*done.rows.get(kind, []), *rows]
