"""Who changed what is stored, and when: one row for each call that did."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
            before, marks = db.total_changes, db.run("audit_marks").fetchone()
            result = unit(db)
            rows = db.total_changes - before
            if rows:
                now = db.run("audit_marks").fetchone()
                new = {kind: list(range(a + 1, b + 1)) for kind, a, b in zip(_KINDS, marks, now, strict=True) if b > a}
                self._note(db, act, rows, new)
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
        for i, row in enumerate(found):
            plan = _PLAN.search(row.target) if (row.component, row.action) in _EXECUTED else None
            found[i] = replace(row, records={"correction": [int(plan[1])]}) if plan else row
        kinds = (*_KINDS, "correction")
        asked = {kind: array({id_ for row in found for id_ in row.records.get(kind, ())}) for kind in kinds}
        undoable = set(db.run("audit_undoable", **asked).fetchall())
        return [
            replace(row, records={
                kind: kept for kind, ids in row.records.items() if (kept := [id_ for id_ in ids if (kind, id_) in undoable])
            })
            for row in found
        ]  # fmt: skip

    def prune(self, db: Connection, before: float, most: int) -> int:
        """Forget at most `most` rows of before a time; returns how many."""
        return db.run("audit_prune", before=before, most=most).rowcount

    def _note(self, db: Connection, act: Act, rows: int, new: dict[str, list[int]]) -> None:
        key = (act.component, act.action, act.requested_by, act.door)
        known = self._open.get(key)
        # The row of this very call, or of calls with which it can share one.
        alike = known and not (new or known.records or act.target or known.act.target)
        if known and (known.act is act or (alike and 0 <= act.at - known.began < TOGETHER_SECONDS)):
            held = known.records
            records = {k: [*held.get(k, ()), *new.get(k, ())] for k in _KINDS if k in held or k in new}
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
