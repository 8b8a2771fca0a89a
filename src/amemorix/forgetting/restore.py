"""The bringing back of what an operation deleted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ..graph import relation_restore
from ..store import operations as operation_rows
from ..store.operations import DELETED_BEFORE, MOVED_KINDS, ROW_KINDS, Item, OperationRow, RowKind
from ..store.ports import Connection
from . import closure as closure_rows

__all__ = ["NotBack", "Restored", "restore"]

GONE, NEWER, HANGING, AGAIN, TAKEN, BEFORE = (
    "it has been purged",
    "a newer text is stored under its external id",
    "what it rests on is still deleted, or has become part of something else",
    "a later operation deleted it again",
    "something newer is in its place",
    "it was deleted before",
)
MADE_ANEW = ("profile_snapshot", "summary_cursor", "person_alias")
"""Kinds of which a row that is there by now stands for the one that was taken out: derived anew, or the same."""


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


def restore(db: Connection, operation: OperationRow, chosen: Sequence[tuple[str, int]] | None, now: float) -> Restored:
    """Bring back an operation, or of it these (kind, row) with what depends on them."""
    all_held = operation_rows.open_items(db, operation.id)
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
    _waiting(db, done, [item.id for item in items if item.kind == "entity"], now)
    _put_back(db, done, [item for item in items if item.kind in MOVED_KINDS], now)
    _want(db, done)
    done.whole = _is_whole(db, done, operation.restored > 0 or any(done.rows.values()))
    operation_rows.set_restored(db, operation.id, done.whole, now)
    _complete_others(db, done, now)
    done.unembedded = operation_rows.lower_watermarks(db, done.rows.get("paragraph", []))
    return done


def _want(db: Connection, done: Restored) -> None:
    """Remember what comes back when the operation that it waits for is restored."""
    for kind in ROW_KINDS:
        waiting = [one.id for one in done.not_back if one.kind == kind and one.reason in (HANGING, AGAIN)]
        if waiting:
            operation_rows.note_wanted(db, done.operation, kind, waiting)
    told = list[NotBack]()
    for one in done.not_back:
        beneath = operation_rows.beneath(db, done.operation, one.kind, one.id) if one.reason == HANGING else []
        first = ", ".join(f"d{operation}" for operation in beneath)
        told.append(replace(one, reason=f"it rests on what {first} deleted: it comes back with that") if first else one)
    done.not_back = told


def _is_whole(db: Connection, done: Restored, begun: bool) -> bool:
    """Whether nothing of the operation may still come back; `begun`: something of it has."""
    final = (TAKEN, GONE) if begun else (TAKEN,)
    settled = {(one.kind, one.id) for one in done.not_back if one.reason in final}
    left = [item for item in operation_rows.open_items(db, done.operation) if (item.kind, item.id) not in settled]
    return not any(_waits(item) for item in left)


def _complete_others(db: Connection, done: Restored, now: float) -> None:
    """Bring back what was asked back before, and waited for what is back now."""
    for operation in operation_rows.wanted(db):
        if operation == done.operation:
            continue
        asked = [item for item in operation_rows.open_items(db, operation) if item.detail.get("wanted")]
        other = Restored(operation)
        for kind in ROW_KINDS:
            _bring(db, other, kind, [item.id for item in asked if item.kind == kind], now)
        found, back = operation_rows.operation(db, operation), any(other.rows.values())
        other.whole = _is_whole(db, other, found is not None and found.restored > 0)
        if back or other.whole:
            operation_rows.set_restored(db, operation, other.whole, now)
        for kind, rows in other.rows.items():
            done.rows[kind] = [*done.rows.get(kind, []), *rows]


def _with_dependents(db: Connection, held: Sequence[Item], chosen: set[tuple[str, int]]) -> list[Item]:
    """The items chosen, with the references and relations that went because of their paragraphs."""
    paragraphs = [id_ for kind, id_ in chosen if kind == "paragraph"]
    refs = {one.ref for one in operation_rows.restorable(db, "paragraph", paragraphs).values()}
    relations = set(closure_rows.ids(db, "relations_resting_on", paragraphs))
    along = {"ref": refs, "relation": relations}
    return [
        item
        for item in held
        if (item.kind, item.id) in chosen
        or (item.id in along.get(item.kind, ()) and item.detail.get("why") in ("evidence", "reference"))
    ]


def _bring(db: Connection, done: Restored, kind: RowKind, ids: Sequence[int], now: float) -> None:
    if not ids:
        return
    state = operation_rows.restorable(db, kind, ids)
    again = operation_rows.deleted_again(db, done.operation, kind, ids)
    blocked = NEWER if kind == "paragraph" else HANGING
    back: list[int] = []
    alive: list[int] = []
    for id_ in ids:
        one = state.get(id_)
        if one is None or one.blocked or id_ in again:
            reason = GONE if one is None else AGAIN if id_ in again else blocked
            done.not_back.append(NotBack(kind, id_, reason))
        else:
            (alive if one.alive else back).append(id_)
    if kind == "ref":
        back = _refs_with_text(db, done, back)
    operation_rows.unmark(db, kind, back)
    operation_rows.note_restored(db, done.operation, kind, [*back, *alive], now)
    done.rows[kind] = back


def _refs_with_text(db: Connection, done: Restored, refs: Iterable[int]) -> list[int]:
    """References whose paragraphs are back: one without any must not look as if its text were stored."""
    back = set(closure_rows.ids(db, "refs_holding", refs))
    done.not_back += [NotBack("ref", id_, HANGING) for id_ in refs if id_ not in back]
    return sorted(back)


def _waiting(db: Connection, done: Restored, entities: Sequence[int], now: float) -> None:
    """Relations that were deleted otherwise, and only waited for a paragraph or an end that is back."""
    back = relation_restore.resting_on(db, done.rows.get("paragraph", []), now)
    back += relation_restore.at(db, entities, now)
    done.rows["relation"] = [*done.rows.get("relation", []), *back]


def _put_back(db: Connection, done: Restored, items: Iterable[Item], now: float) -> None:
    for item in items:
        back = operation_rows.put_back(db, item.kind, item.detail.get("row", {}))
        if back:
            done.rows.setdefault(item.kind, []).append(item.id)
        if back or item.kind in MADE_ANEW:
            operation_rows.note_restored(db, done.operation, item.kind, [item.id], now)
        else:
            done.not_back.append(NotBack(item.kind, item.id, TAKEN))


def _waits(item: Item) -> bool:
    """Whether a later restore may still bring it back."""
    return item.kind not in ("person", "chat") and item.detail.get("why") != DELETED_BEFORE
