"""What a hand does to facts; every change can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import Conflict, InvalidRequest, NotFound
from ..store.ports import Connection
from ..store.rows import undo_records
from . import rows as fact_rows
from .language.slots import STATEMENT
from .language.typed_values import normal
from .ledger import UNDO_KIND, Change, FactLedger, Stood, snapshot
from .rows import FactGroup, FactRow, Transition

__all__ = ["Edited", "FactEditor", "Subject"]

Subject = tuple[int | None, int | None, int]
"""(person, entity, scope): whom a fact is about, a person or an entity, and where it counts."""
Edited = tuple[list[int], int]
"""(facts, undo record)."""


class FactEditor:
    """Adds, retracts, supersedes and resolves facts in the caller's transaction, each with its undo record.

    Every change returns the facts that changed, the one asked for first, and the undo record. Raises NotFound, Conflict
    or InvalidRequest, naming the argument.
    """

    def __init__(self, db: Connection, ledger: FactLedger, *, requested_by: str, reason: str, now: float) -> None:
        self._db = db
        self._ledger = ledger
        self._requested_by = requested_by
        self._reason = reason
        self._now = now

    def add(self, of: Subject, attribute: str, value: str, polarity: int, valid_from: float | None) -> Edited:
        """Keep a fact that a hand vouches for; one that is known already is vouched for."""
        norm = _norm(attribute, value)
        group = FactGroup.of(*of, attribute, norm)
        at = self._now if valid_from is None else valid_from
        rows = fact_rows.in_group(self._db, group)
        known = next((r for r in rows if (r.norm, r.polarity) == (norm, polarity) and r.is_held), None)
        if known is not None and known.id in fact_rows.standing(self._db, [known.id]):
            undo = self._keep("add", [known], rows)
            self._decide(known, undo, asserted_at=at)
            return self._settled(known.id, [group], undo)
        created = self._insert(group, value, norm, polarity, at)
        undo = self._keep("add", (), rows, created=[created])
        self._note(created, "", "active", None, undo)
        return self._settled(created, [group], undo)

    def retract(self, fact: int) -> Edited:
        """It was never true."""
        row = self._one(fact)
        if row.status == "retracted":
            raise Conflict(f"fact_id: the fact f{fact} is retracted already.", field="fact_id")
        undo = self._keep("retract", [row], fact_rows.in_group(self._db, row.group))
        self._decide(row, undo, status="retracted", pinned=1, superseded_at=None, superseded_by=None)
        return self._settled(fact, [row.group], undo)

    def resolve(self, winner: int) -> Edited:
        """Of facts that contradict each other this one is true."""
        row = self._one(winner, "winner")
        if row.status != "conflicted":
            raise Conflict(f"winner: the fact f{winner} is {row.status}, and contradicts nothing.", field="winner")
        rows = fact_rows.in_group(self._db, row.group)
        losers = [one for one in rows if one.id != winner and one.status == "conflicted" and row.contradicts(one)]
        undo = self._keep("resolve", losers, rows)
        for loser in losers:
            self._give_way(loser, row, undo)
        return self._settled(winner, [row.group], undo)

    def supersede(self, fact: int, successor: int | None, value: str, valid_from: float | None) -> Edited:
        """Another fact, or a new value, takes its place."""
        row = self._one(fact)
        if not row.is_held:
            raise Conflict(f"fact_id: the fact f{fact} is {row.status} already.", field="fact_id")
        created: list[int] = []
        if successor is None:
            norm = _norm(row.attribute, value)
            if norm == row.norm:
                raise InvalidRequest("value: it is what the fact says already.", field="value")
            group = FactGroup.of(row.person, row.entity, row.scope, row.attribute, norm)
            at = self._now if valid_from is None else valid_from
            created = [successor := self._insert(group, value, norm, row.polarity, at)]
        after = self._one(successor, "superseded_by")
        if after.id == row.id or not after.is_held:
            raise Conflict(
                f"superseded_by: the fact f{after.id} cannot take the place of f{row.id}.", field="superseded_by"
            )
        if (after.person, after.entity, after.scope) != (row.person, row.entity, row.scope):
            raise Conflict("superseded_by: the two facts are about different subjects or chats.", field="superseded_by")
        groups = list(dict.fromkeys([row.group, after.group]))
        rows = [one for group in groups for one in fact_rows.in_group(self._db, group) if one.id not in created]
        undo = self._keep("supersede", [row], rows, created=created)
        for one in created:
            self._note(one, "", "active", None, undo)
        self._give_way(row, after, undo)
        return self._settled(fact, groups, undo)

    def undo(self, record: int) -> Edited:
        """Put back what the record says."""
        said = f"u{record}"
        missing = f"there is no undo record {said} of facts."
        detail = undo_records.use(
            self._db, record, [UNDO_KIND], self._now, field="undo_id", said=said, missing=missing
        ).detail
        touched = [*map(int, detail["rows"]), *detail["created"], *(fact for fact, _ in detail["refute"])]
        rows = [row for fact in touched if (row := fact_rows.one(self._db, fact)) is not None]
        for fact, paragraph in detail["refute"]:
            self._db.run("fact_evidence_refute", fact=fact, paragraph=paragraph, stance="refute")
        for row in rows:
            if str(row.id) in detail["rows"]:
                self._decide(row, record, reason="undone", **detail["rows"][str(row.id)])
            elif row.id in detail["created"]:
                kept = bool(fact_rows.evidence_of(self._db, [row.id], self._now))
                self._decide(row, record, deleted_at=None if kept else self._now, asserted_at=None)
        groups = dict.fromkeys(row.group for row in rows)
        stood = {int(fact): (was[0], was[1]) for fact, was in detail["stood"].items()}
        self._settle(groups, "undone", record, stood)
        return list(dict.fromkeys(row.id for row in rows)), record

    # what they have in common

    def _one(self, fact: int, field: str = "fact_id") -> FactRow:
        row = fact_rows.one(self._db, fact)
        if row is None:
            raise NotFound(f"{field}: there is no fact f{fact}.", field=field)
        return row

    def _insert(self, group: FactGroup, value: str, norm: str, polarity: int, at: float) -> int:
        return fact_rows.insert(
            self._db, group, value=value, norm=norm, polarity=polarity, authority="manual", confidence=1.0,
            asserted_at=at, valid_from=at, now=self._now,
        )  # fmt: skip

    def _keep(
        self, action: str, targets: Iterable[FactRow], group: Iterable[FactRow], created: Sequence[int] = ()
    ) -> int:
        detail = snapshot(targets, group, created=created)
        return undo_records.keep(self._db, UNDO_KIND, detail, self._requested_by, self._reason or action, self._now)

    def _give_way(self, row: FactRow, after: FactRow, undo: int) -> None:
        end = max(row.valid_from, after.valid_from)
        self._decide(
            row, undo, status="superseded", pinned=1, valid_to=end, superseded_at=self._now, superseded_by=after.id
        )

    def _decide(
        self, row: FactRow, undo: int, *, deleted_at: float | None = None, reason: str = "", **changes: Any
    ) -> None:
        state = replace(row, **changes)
        fact_rows.decide(self._db, state, deleted_at=deleted_at)
        if state.status != row.status:
            self._note(row.id, row.status, state.status, state.superseded_by, undo, reason)

    def _note(self, fact: int, was: str, became: str, cause: int | None, undo: int, reason: str = "") -> None:
        note = Transition(was, became, cause, undo, self._requested_by, reason or self._reason, self._now)
        fact_rows.transition(self._db, fact, note)

    def _settled(self, fact: int, groups: Iterable[FactGroup], undo: int) -> Edited:
        return list(dict.fromkeys([fact, *self._settle(groups, "by hand", undo, {})])), undo

    def _settle(self, groups: Iterable[FactGroup], reason: str, undo: int, stood: Stood) -> dict[int, str]:
        changed: dict[int, str] = {}
        change = Change(self._now, self._now, self._reason or reason, self._requested_by, undo, stood)
        for group in groups:
            changed |= self._ledger.settle(self._db, group, change)
        return changed


def _norm(attribute: str, value: str) -> str:
    """The norm of a value given by hand. Raises InvalidRequest if nothing is left of it."""
    norm = fact_rows.statement_norm(value) if attribute == STATEMENT else normal(attribute, value)
    if not any(char.isalnum() for char in value):
        raise InvalidRequest("value: it has no letters or digits.", field="value")
    return norm
