"""What a hand does to facts; every change can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..clock import Clock
from ..config.model import Profile
from ..errors import Conflict, InvalidRequest, NotFound
from ..language.normalise import content_hash, fold
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import undo_records
from . import evidence as fact_evidence
from . import rows as fact_rows
from .language.slots import STATEMENT, slot_of
from .language.values import normal
from .ledger import UNDO_KIND, Change, FactLedger, snapshot
from .rows import FactGroup, FactRow, Transition
from .service import group_of
from .timeline import contradict

__all__ = ["By", "Edited", "FactEditor", "NewFact"]


@dataclass(frozen=True, slots=True)
class By:
    """Who asks for a change, and why."""

    requested_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Edited:
    """The facts that changed, the first being the one asked for, and the undo record."""

    facts: tuple[int, ...]
    undo: int


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact given by hand; its subject is a person or an entity."""

    person: int | None
    entity: int | None
    scope: int
    attribute: str
    value: str
    polarity: int
    valid_from: float | None


class FactEditor:
    """Adds, retracts, supersedes and resolves facts, each in one transaction with its undo record."""

    def __init__(self, store: MetadataStore, *, clock: Clock, profile: Profile) -> None:
        self._store = store
        self._clock = clock
        self._ledger = FactLedger(store, profile=profile)

    async def add(self, new: NewFact, by: By) -> Edited:
        """Keep a fact that a hand vouches for; one that is known already is vouched for."""
        return await self._store.write(lambda db: self._add(db, new, by))

    async def retract(self, fact: int, by: By) -> Edited:
        """It was never true. Raises NotFound, Conflict."""
        return await self._store.write(lambda db: self._retract(db, fact, by))

    async def resolve(self, winner: int, by: By) -> Edited:
        """Of facts that contradict each other this one is true. Raises NotFound, Conflict."""
        return await self._store.write(lambda db: self._resolve(db, winner, by))

    async def supersede(self, fact: int, successor: int | None, value: str, valid_from: float | None, by: By) -> Edited:
        """Another fact, or a new value, takes its place. Raises NotFound, Conflict, InvalidRequest."""
        return await self._store.write(lambda db: self._supersede(db, fact, successor, value, valid_from, by))

    async def undo(self, row: int, by: By) -> Edited:
        """Put back what the record says. Raises NotFound, Conflict."""
        return await self._store.write(lambda db: self._undo(db, row, by))

    # the changes

    def _add(self, db: Connection, new: NewFact, by: By) -> Edited:
        norm = _norm(new.attribute, new.value)
        group = group_of(new.person, new.entity, new.scope, new.attribute, norm)
        now = self._clock.now()
        at = now if new.valid_from is None else new.valid_from
        rows = fact_rows.in_group(db, group)
        known = next((r for r in rows if (r.norm, r.polarity) == (norm, new.polarity) and _stands(r)), None)
        known = known if known is not None and known.id in fact_rows.standing(db, [known.id]) else None
        if known is None:
            created = self._insert(db, new, norm, at, now)
            undo = self._keep(db, by, "add", (), rows, now, created=[created])
            self._note(db, created, "", "active", None, undo, by, now)
            fact = created
        else:
            undo = self._keep(db, by, "add", [known], rows, now)
            self._decide(db, known, by, undo, now, asserted_at=at)
            fact = known.id
        return self._settled(db, fact, [group], by, undo, now)

    def _insert(self, db: Connection, new: NewFact, norm: str, at: float, now: float) -> int:
        slot = slot_of(new.attribute)
        values = {
            "person": new.person, "entity": new.entity, "scope": new.scope, "attribute": new.attribute,
            "value": new.value, "norm": norm, "polarity": new.polarity, "cardinality": slot.cardinality,
            "stability": slot.stability, "authority": "manual", "confidence": 1.0, "asserted_at": at, "merged": 0,
            "valid_from": at, "valid_to": None, "now": now,
        }  # fmt: skip
        return fact_rows.insert(db, values)

    def _retract(self, db: Connection, fact: int, by: By) -> Edited:
        row = self._one(db, fact)
        if row.status == "retracted":
            raise Conflict(f"fact_id: the fact f{fact} is retracted already.", field="fact_id")
        now, group = self._clock.now(), _group(row)
        undo = self._keep(db, by, "retract", [row], fact_rows.in_group(db, group), now)
        self._decide(db, row, by, undo, now, status="retracted", pinned=1, superseded_at=None, superseded_by=None)
        return self._settled(db, fact, [group], by, undo, now)

    def _resolve(self, db: Connection, winner: int, by: By) -> Edited:
        row = self._one(db, winner, "winner")
        if row.status != "conflicted":
            raise Conflict(f"winner: the fact f{winner} is {row.status}, and contradicts nothing.", field="winner")
        now, group = self._clock.now(), _group(row)
        rows = fact_rows.in_group(db, group)
        losers = [one for one in rows if one.id != winner and one.status == "conflicted" and _contradict(row, one)]
        undo = self._keep(db, by, "resolve", losers, rows, now)
        for loser in losers:
            self._give_way(db, loser, row, by, undo, now)
        return self._settled(db, winner, [group], by, undo, now)

    def _supersede(
        self, db: Connection, fact: int, successor: int | None, value: str, valid_from: float | None, by: By
    ) -> Edited:
        row = self._one(db, fact)
        if not _stands(row):
            raise Conflict(f"fact_id: the fact f{fact} is {row.status} already.", field="fact_id")
        now = self._clock.now()
        created: list[int] = []
        if successor is None:
            at = now if valid_from is None else valid_from
            new = NewFact(row.person, row.entity, row.scope, row.attribute, value, row.polarity, at)
            norm = _norm(row.attribute, value)
            if norm == row.norm:
                raise InvalidRequest("value: it is what the fact says already.", field="value")
            created = [successor := self._insert(db, new, norm, at, now)]
        after = self._successor(db, row, successor)
        groups = list(dict.fromkeys([_group(row), _group(after)]))
        rows = [one for group in groups for one in fact_rows.in_group(db, group) if one.id not in created]
        undo = self._keep(db, by, "supersede", [row], rows, now, created=created)
        for one in created:
            self._note(db, one, "", "active", None, undo, by, now)
        self._give_way(db, row, after, by, undo, now)
        return self._settled(db, fact, groups, by, undo, now)

    def _successor(self, db: Connection, row: FactRow, successor: int) -> FactRow:
        after = self._one(db, successor, "superseded_by")
        if after.id == row.id or not _stands(after):
            raise Conflict(
                f"superseded_by: the fact f{after.id} cannot take the place of f{row.id}.", field="superseded_by"
            )
        if (after.person, after.entity, after.scope) != (row.person, row.entity, row.scope):
            raise Conflict("superseded_by: the two facts are about different subjects or chats.", field="superseded_by")
        return after

    def _undo(self, db: Connection, record: int, by: By) -> Edited:
        found = undo_records.one(db, record)
        if found is None or found[0] != UNDO_KIND:
            raise NotFound(f"undo_id: there is no undo record u{record} of facts.", field="undo_id")
        if found[2] is not None:
            raise Conflict(f"undo_id: u{record} has been undone already.", field="undo_id")
        now, detail = self._clock.now(), json.loads(found[1])
        touched = [*map(int, detail["rows"]), *detail["created"], *(fact for fact, _ in detail["refute"])]
        rows = [row for fact in touched if (row := fact_rows.one(db, fact)) is not None]
        for fact, paragraph in detail["refute"]:
            fact_evidence.set_stance(db, fact, paragraph, "refute")
        for row in rows:
            self._put_back(db, row, detail, by, record, now)
        undo_records.done(db, record, now)
        groups = list(dict.fromkeys(_group(row) for row in rows))
        stood = {int(fact): (was[0], was[1]) for fact, was in detail["stood"].items()}
        for group in groups:
            self._ledger.settle(db, group, _change(by, now, "undone", record, stood))
            self._ledger.tell(db, group, now, whole=True)
        return Edited(tuple(dict.fromkeys(row.id for row in rows)), record)

    def _put_back(
        self, db: Connection, row: FactRow, detail: Mapping[str, Any], by: By, record: int, now: float
    ) -> None:
        if str(row.id) in detail["rows"]:
            self._decide(db, row, replace(by, reason="undone"), record, now, **detail["rows"][str(row.id)])
        elif row.id in detail["created"]:
            kept = bool(fact_evidence.of(db, [row.id], now))
            self._decide(db, row, by, record, now, asserted_at=None, deleted_at=None if kept else now)

    # what they have in common

    def _one(self, db: Connection, fact: int, field: str = "fact_id") -> FactRow:
        row = fact_rows.one(db, fact)
        if row is None:
            raise NotFound(f"{field}: there is no fact f{fact}.", field=field)
        return row

    def _keep(
        self,
        db: Connection,
        by: By,
        action: str,
        targets: Iterable[FactRow],
        group: Iterable[FactRow],
        now: float,
        created: Iterable[int] = (),
    ) -> int:
        detail = snapshot(targets, group, created=list(created))
        return undo_records.keep(db, UNDO_KIND, detail, by.requested_by, by.reason or action, now)

    def _give_way(self, db: Connection, row: FactRow, after: FactRow, by: By, undo: int, now: float) -> None:
        end = max(row.valid_from, after.valid_from)
        self._decide(
            db, row, by, undo, now, status="superseded", pinned=1, valid_to=end, superseded_at=now,
            superseded_by=after.id,
        )  # fmt: skip

    def _decide(self, db: Connection, row: FactRow, by: By, undo: int, now: float, **changes: Any) -> None:
        names = ("status", "pinned", "asserted_at", "valid_to", "superseded_at", "superseded_by")
        values = {name: getattr(row, name) for name in names} | {"deleted_at": None} | changes
        fact_rows.decide(db, {"id": row.id, **values})
        if values["status"] != row.status:
            self._note(db, row.id, row.status, str(values["status"]), values["superseded_by"], undo, by, now)

    def _note(
        self, db: Connection, fact: int, was: str, became: str, cause: int | None, undo: int, by: By, now: float
    ) -> None:
        fact_rows.transition(db, fact, Transition(was, became, cause, undo, by.requested_by, by.reason, now))

    def _settled(self, db: Connection, fact: int, groups: Iterable[FactGroup], by: By, undo: int, now: float) -> Edited:
        changed: dict[int, str] = {}
        for group in groups:
            changed |= self._ledger.settle(db, group, _change(by, now, "by hand", undo, {}))
            self._ledger.tell(db, group, now, whole=True)
        return Edited(tuple(dict.fromkeys([fact, *changed])), undo)


def _change(by: By, now: float, reason: str, undo: int, stood: Mapping[int, tuple[float | None, int | None]]) -> Change:
    return Change(now, now, by.reason or reason, by.requested_by, undo, stood)


def _stands(row: FactRow) -> bool:
    return row.status in ("active", "conflicted")


def _group(row: FactRow) -> FactGroup:
    return group_of(row.person, row.entity, row.scope, row.attribute, row.norm)


def _contradict(one: FactRow, other: FactRow) -> bool:
    keys = (one.norm, one.polarity), (other.norm, other.polarity)
    return contradict(*keys, slot_of(one.attribute).compatible)


def _norm(attribute: str, value: str) -> str:
    """The norm of a value given by hand. Raises InvalidRequest if nothing is left of it."""
    norm = content_hash(fold(value).strip(" .。!！")) if attribute == STATEMENT else normal(attribute, value)
    if not any(char.isalnum() for char in value):
        raise InvalidRequest("value: it has no letters or digits.", field="value")
    return norm
