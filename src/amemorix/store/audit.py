"""Who changed what is stored, and when: one row for each call that did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..audit_context import Act
from ..lazy_regex import lazy_regex
from .ports import Connection, Unit
from .queries import array

__all__ = ["AuditRepository", "AuditRow"]

T = TypeVar("T")
TOGETHER_SECONDS = 60.0
"""Calls of the same kind by the same caller, from which nothing can be undone, share a row for so long."""
_KINDS = ("undo", "delete", "maintenance")
"""Records that `audit_marks` asks for, in its order."""
_EXECUTED = (("memory_correction_admin", "execute"), ("background", "feedback"))
_PLAN = lazy_regex(r"\bplan_id=c(\d+)")
"""A plan is older than the call that carries it out."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What was done; times in epoch seconds, `rows` with those that the database changed along with them.

    `records` are those from which it can be undone now.
    """

    id: int
    at: float
    until: float
    component: str
    action: str
    target: str
    requested_by: str
    door: str
    calls: int
    rows: int
    records: dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class _Open:
    """The row to which more may be added: since when, by which act last, and what it holds."""

    row: int
    began: float
    act: Act
    records: dict[str, list[int]]


class AuditRepository:
    """Notes acts in the transaction of what they change; the caller owns the transaction."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], _Open] = {}

    def noting(self, unit: Unit[T], act: Act) -> Unit[T]:
        """The same unit of work, which also notes the act if it changes a row."""

        def noted(db: Connection) -> T:
            before, marks = db.total_changes, self._marks(db)
            result = unit(db)
            rows = db.total_changes - before
            if rows:
                self._note(db, act, rows, _new_records(marks, self._marks(db)))
            return result

        return noted

    def forget(self) -> None:
        """A transaction was undone: rows that were noted may be gone."""
        self._open.clear()

    def put(self, db: Connection, act: Act) -> None:
        """Note an act that changes something else than rows."""
        self._insert(db, act, 0, {})

    def page(self, db: Connection, **wanted: Any) -> list[AuditRow]:
        """The newest first: at most `limit` rows below `before`, by component, action, requested_by, since and upto."""
        names = ("before", "component", "action", "requested_by", "since", "upto", "limit")
        rows: Iterable[tuple[Any, ...]] = db.run("audit_page", **({name: wanted.get(name) for name in names}))
        found = [AuditRow(*row, records=json.loads(records)) for *row, records in rows]
        return self._with_what_can_be_undone(db, [_with_its_plan(row) for row in found])

    def _with_what_can_be_undone(self, db: Connection, rows: Sequence[AuditRow]) -> list[AuditRow]:
        asked = {
            kind: array({id_ for row in rows for id_ in row.records.get(kind, ())}) for kind in (*_KINDS, "correction")
        }
        there = set(db.run("audit_undoable", **asked).fetchall())
        return [
            replace(row, records={
                kind: kept for kind, ids in row.records.items() if (kept := [id_ for id_ in ids if (kind, id_) in there])
            })
            for row in rows
        ]  # fmt: skip

    def prune(self, db: Connection, before: float, most: int) -> int:
        """Forget at most `most` rows of before a time; returns how many."""
        return db.run("audit_prune", before=before, most=most).rowcount

    def _marks(self, db: Connection) -> tuple[int, ...]:
        return db.run("audit_marks").fetchone()

    def _note(self, db: Connection, act: Act, rows: int, new: dict[str, list[int]]) -> None:
        key = (act.component, act.action, act.requested_by, act.door)
        known = self._open.get(key)
        if known and self._goes_on(known, act, new):
            records = _joined(known.records, new)
            values = {
                "id": known.row, "at": act.at, "rows": rows, "calls": int(known.act is not act),
                "target": act.target, "records": json.dumps(records),
            }  # fmt: skip
            if db.run("audit_add", **values).fetchone():
                self._open[key] = _Open(known.row, known.began, act, records)
                return
        self._open[key] = _Open(self._insert(db, act, rows, new), act.at, act, new)

    def _insert(self, db: Connection, act: Act, rows: int, records: dict[str, list[int]]) -> int:
        values = {
            "at": act.at, "component": act.component, "action": act.action, "target": act.target,
            "requested_by": act.requested_by, "door": act.door, "records": json.dumps(records), "rows": rows,
        }  # fmt: skip
        return db.run("audit_insert", **values).fetchone()[0]

    @staticmethod
    def _goes_on(known: _Open, act: Act, new: dict[str, list[int]]) -> bool:
        """Whether the row is this very call's, or that of calls with which it can share one."""
        alike = not (new or known.records or act.target or known.act.target)
        return known.act is act or (alike and 0 <= act.at - known.began < TOGETHER_SECONDS)


def _with_its_plan(row: AuditRow) -> AuditRow:
    plan = _PLAN.search(row.target) if (row.component, row.action) in _EXECUTED else None
    return replace(row, records={"correction": [int(plan[1])]}) if plan else row


def _joined(held: dict[str, list[int]], new: dict[str, list[int]]) -> dict[str, list[int]]:
    return {kind: [*held.get(kind, ()), *new.get(kind, ())] for kind in _KINDS if kind in held or kind in new}


def _new_records(before: tuple[int, ...], after: tuple[int, ...]) -> dict[str, list[int]]:
    return {
        kind: list(range(old + 1, new + 1)) for kind, old, new in zip(_KINDS, before, after, strict=True) if new > old
    }
