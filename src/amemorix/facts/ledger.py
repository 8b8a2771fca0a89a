"""The book of facts: statements go in, and every fact they touch is brought to where the timeline puts it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..config.model import Profile
from ..store import operations
from ..store import tasks as task_rows
from ..store.ports import Connection
from ..store.queries import array
from ..store.tasks import NO_PARAGRAPH
from . import rows as fact_rows
from .language.slots import slot_of
from .rows import FactGroup, FactRow, Transition
from .timeline import Point, Run, timeline
from .timeline_window import Part, part_of

__all__ = ["UNDO_KIND", "Change", "FactLedger", "Stood", "snapshot"]

UNDO_KIND = "fact"
OVER = ("superseded", "retracted")
EVERYTHING = 0.0
"""The paragraph from which on a profile is derived as a whole."""
Stood = Mapping[int, tuple[float | None, int | None]]
"""Fact -> (superseded_at, superseded_by) as they were before."""


@dataclass(frozen=True, slots=True)
class Change:
    """Why a change is made, by whom, at what time of the memory, and how it can be undone."""

    now: float
    at: float
    reason: str
    requested_by: str = ""
    undo: int | None = None
    stood: Stood = field(default_factory=dict[int, tuple[float | None, int | None]])


class FactLedger:
    """Settles groups of facts; runs inside the caller's transaction."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def record(self, db: Connection, group: FactGroup, said: Point, change: Change, *, merged: bool = False) -> bool:
        """Take in what a paragraph says, once; False if it had been taken in before."""
        if fact_rows.said_before(db, group, said.paragraph, said.norm, said.polarity):
            return False
        self.settle(db, group, change, [said], merged=merged)
        return True

    def settle(
        self, db: Connection, group: FactGroup, change: Change, new: Sequence[Point] = (), *, merged: bool = False,
        since: float | None = None,
    ) -> dict[int, str]:  # fmt: skip
        """Bring the group to where its live statements put it; returns the facts whose status changed, as they were.

        What is `new`, or whatever came or went `since` a time, touches no more than the part of the group that the
        window finds; with neither, the whole group is looked at. Facts of `merged` statements keep their wording.
        """
        part = part_of(db, group, new, since)
        settling = _Settling(db, group, change, part, new)
        settling.settle(merged=merged)
        changed = settling.changed
        if changed or new:
            self.refresh_profile(db, group, change.now, whole=any(was in OVER for was in changed.values()))
        # facts outside of the part may have given way to statements that have moved to another row
        moved = {p.fact for run, row in settling.placed for p in run.points if p.fact not in (0, row)}
        earlier = None
        if moved:
            earlier = db.run("facts_given_up_for", ids=array(moved), before=part.since).fetchone()[0]
        return changed if earlier is None else self.settle(db, group, change, since=earlier) | changed

    def refresh_profile(self, db: Connection, group: FactGroup, now: float, *, whole: bool = False) -> None:
        """The profile of the person is wanted anew; `whole`: sentences count again that a fact had made untrue."""
        if group.person is not None:
            due, since = now + self._profile.debounce_seconds, EVERYTHING if whole else NO_PARAGRAPH
            task_rows.enqueue(db, "profile", group.person, since=since, due_at=due, now=now)


class _Settling:
    def __init__(self, db: Connection, group: FactGroup, change: Change, part: Part, new: Sequence[Point]) -> None:
        self._db = db
        self._group = group
        self._change = change
        self._part = part
        self._new = new
        self._free: dict[int, FactRow] = {}
        """The facts whose status the rules decide."""
        self.placed: list[tuple[Run, int]] = []
        """Each run with its row."""
        self.changed: dict[int, str] = {}
        """The facts whose status changed, as they were."""

    def settle(self, *, merged: bool) -> None:
        put_back = self._set_free()
        by_hand = [
            Point(row.id, 0, row.asserted_at, row.norm, row.polarity, row.value, "manual", 1.0)
            for row in self._free.values()
            if row.asserted_at is not None
        ]
        points = [*(point for point in self._part.points if point.fact in self._free), *by_hand, *self._new]
        runs = timeline(points, slot_of(self._group.attribute).compatible)
        self._place(runs, merged=merged)
        self._apply()
        self._leave(points)
        self.changed |= put_back

    def _set_free(self) -> dict[int, str]:
        """Find what the rules decide; of the others, those that had to be put back."""
        rows = self._part.rows
        standing = fact_rows.standing(self._db, [row.superseded_by for row in rows if row.superseded_by])
        put_back: dict[int, str] = {}
        for row in rows:
            if not row.pinned or (row.superseded_by and row.superseded_by not in standing):
                self._free[row.id] = row
            elif row.superseded_by and row.status != "superseded":
                after = fact_rows.one(self._db, row.superseded_by)
                end = max(row.valid_from, after.valid_from if after else row.valid_from)
                at = self._since(row, row.superseded_by)
                self._write(row, replace(row, status="superseded", valid_to=end, superseded_at=at))
                put_back[row.id] = row.status
        return put_back

    def _since(self, row: FactRow, successor: int | None) -> float:
        """Since when the fact is superseded: since before, if what was deleted meanwhile is back."""
        found = self._db.run("fact_gave_way", fact=row.id, successor=successor).fetchone() if successor else None
        return self._change.at if found is None or found[0] is None else found[0]

    def _place(self, runs: Sequence[Run], *, merged: bool) -> None:
        """Give each run a row: one that holds its statements, one left over of the same words, or a new one."""
        places = _kept(runs)
        holding = {point.fact for run in runs for point in run.points}
        left: dict[tuple[str, int], list[int]] = {}
        for id_, fact in self._free.items():
            if id_ not in holding:
                left.setdefault((fact.norm, fact.polarity), []).append(id_)
        for place, run in enumerate(runs):
            mine = left.get(run.key)
            row = places[place] or (mine.pop(0) if mine else 0)
            if not row:
                row = fact_rows.insert(
                    self._db, self._group, value=run.points[0].value, norm=run.key[0], polarity=run.key[1],
                    authority=run.authority, confidence=run.confidence, merged=merged and bool(self._new),
                    valid_from=run.first, valid_to=run.valid_to, now=self._change.at,
                )  # fmt: skip
            self.placed.append((run, row))
            for p in run.points:
                if p.paragraph and not p.fact:
                    fact_rows.put_evidence(self._db, replace(p, fact=row))
                elif p.paragraph and p.fact != row:
                    self._db.run("fact_evidence_move", fact=p.fact, paragraph=p.paragraph, to=row)

    def _apply(self) -> None:
        """Write where each run stands; what gives way to news can be undone."""
        states: dict[int, FactRow] = {}
        for run, id_ in self.placed:
            row = self._free.get(id_) or fact_rows.one(self._db, id_)
            if row is None:
                raise RuntimeError(f"the fact {id_} was just written and is gone")
            states[id_] = self._part.bounded(self._state(row, run))
        change = self._change
        if change.undo is None and self._new:
            change = self._undoable(states)
        for id_, state in states.items():
            before = self._free.get(id_)
            if before is None or before != state:
                self._write(before or replace(state, status=""), state, change)
            if before is None or before.status != state.status:
                self.changed[id_] = before.status if before else ""

    def _state(self, row: FactRow, run: Run) -> FactRow:
        successor = self.placed[run.successor][1] if run.successor is not None else None
        at = None
        if run.status == "superseded":
            at, before = self._change.stood.get(row.id, (None, None))
            if at is None or before != successor:
                at = row.superseded_at if row.status == "superseded" else self._since(row, successor)
        return replace(
            row,
            value=row.value if row.merged else run.points[0].value,
            authority=run.authority,
            status=run.status,
            confidence=run.confidence,
            valid_from=run.first,
            valid_to=run.valid_to,
            superseded_at=at,
            superseded_by=row.superseded_by if row.pinned else successor,
            outdone_at=run.outdone_at,
        )

    def _undoable(self, states: Mapping[int, FactRow]) -> Change:
        """The same change with an undo record, if a fact is new or stands otherwise than before."""
        if all(row in self._free and self._free[row].status == state.status for row, state in states.items()):
            return self._change
        news = {said.paragraph for said in self._new}
        refute = [
            [row, point.paragraph]
            for run, row in self.placed
            for point in run.points
            if point.paragraph in news and not point.fact
        ]
        change, detail = self._change, snapshot((), (), refute=refute)
        undo = operations.record_change(self._db, UNDO_KIND, detail, change.requested_by, change.reason, change.now)
        return replace(change, undo=undo)

    def _leave(self, points: Iterable[Point]) -> None:
        """Facts that no run needs: taken up by another of the same words, or without a statement that counts."""
        taken = {point.fact: row for run, row in self.placed for point in run.points}
        mine = {row for _, row in self.placed}
        left = [row for id_, row in self._free.items() if id_ not in mine]
        refuted = {row[0] for row in self._db.run("facts_refuted", ids=array(row.id for row in left))}
        held = {point.fact for point in points}
        for row in left:
            state = row
            if row.id in held:
                state = replace(
                    row, status="superseded", valid_to=row.valid_from, superseded_by=taken[row.id],
                    superseded_at=row.superseded_at or self._change.at, outdone_at=row.valid_from,
                )  # fmt: skip
            elif row.id in refuted:
                state = replace(row, status="retracted", superseded_at=None, superseded_by=None)
            if state != row:
                self._write(row, state)
                self.changed[row.id] = row.status

    def _write(self, before: FactRow, state: FactRow, change: Change | None = None) -> None:
        fact_rows.update(self._db, state)
        if before.status != state.status:
            change = change or self._change
            told = Transition(
                before.status, state.status, state.superseded_by, change.undo, change.requested_by, change.reason,
                change.at,
            )  # fmt: skip
            fact_rows.transition(self._db, state.id, told)


def _kept(runs: Sequence[Run]) -> list[int]:
    """The row that each run keeps, 0 for none; what a hand has said stays in its own."""
    used: set[int] = set()
    rows = [0] * len(runs)
    for by_hand in (True, False):
        for place, run in enumerate(runs):
            mine = {p.fact for p in run.points if p.fact and not (by_hand and p.paragraph)} - used
            if mine and not rows[place]:
                rows[place] = min(mine)
                used.add(rows[place])
    return rows


def snapshot(
    targets: Iterable[FactRow], group: Iterable[FactRow], *, created: Sequence[int] = (),
    refute: Sequence[Sequence[int]] = (),
) -> str:  # fmt: skip
    """What an undo needs, as ids and times: the facts that a hand changes, and how the others of their group stood."""
    names = ("status", "pinned", "asserted_at", "valid_to", "superseded_at", "superseded_by")
    rows: dict[str, Any] = {str(row.id): {name: getattr(row, name) for name in names} for row in targets}
    stood = {str(row.id): [row.superseded_at, row.superseded_by] for row in group if row.superseded_at is not None}
    return json.dumps({"rows": rows, "stood": stood, "created": list(created), "refute": [list(r) for r in refute]})
