"""The book of facts: statements go in, and every fact they touch is brought to where the timeline puts it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import undo_records
from . import rows as fact_rows
from .language.slots import slot_of
from .rows import FactGroup, FactRow, Transition, Verdict
from .timeline import ANY, MOST, Point, Run, timeline

__all__ = ["UNDO_KIND", "Change", "FactLedger", "Stood", "snapshot"]

UNDO_KIND = "fact"
NEAREST = 32
"""Where a statement comes late, so many of the facts that were given up after it are looked at: the first of them.

Those further away stay as they are. Until there are more, the part gives what the whole group would.
"""
NEWEST = 24
"""Statements of one fact that are looked at when news is the last word on it; one more stands for all the older ones.

That many bring the confidence of any to where it stays.
"""
NO_LIMIT = -1
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

    def settle(
        self, db: Connection, group: FactGroup, change: Change, new: Sequence[Point] = (), *, merged: bool = False,
        since: float | None = None, kind: str = "", importance: float = 0.5,
    ) -> dict[int, str]:  # fmt: skip
        """Bring the group to where its live statements put it; returns the facts whose status changed, as they were.

        What is `new`, or whatever came or went `since` a time, touches no more than a part of the group (see
        `_part_of`); with neither, the whole group is looked at. Facts of `merged` statements keep their wording; `kind` and
        `importance` are those of what is new. What later statements make of a fact (`rows.verdicts`) goes before what the
        timeline says; facts of other groups of which these make something are settled too.
        """
        changed, touched = self._settle(db, group, change, new, since, merged=merged, kind=kind, importance=importance)
        return self.weigh(db, fact_rows.linked_to(db, touched), change) | changed

    def _settle(
        self, db: Connection, group: FactGroup, change: Change, new: Sequence[Point], since: float | None, *,
        merged: bool = False, kind: str = "", importance: float = 0.5,
    ) -> tuple[dict[int, str], set[int]]:  # fmt: skip
        """Settle one group alone; returns what changed, as it was, and what was looked at."""
        part = _part_of(db, group, new, since)
        settling = _Settling(db, group, change, part, new)
        settling.settle(merged=merged, kind=kind, importance=importance)
        changed = settling.changed
        touched = {row.id for row in part.rows} | {row for _, row in settling.placed}
        # facts outside of the part may have given way to statements that have moved to another row
        moved = {p.fact for run, row in settling.placed for p in run.points if p.fact not in (0, row)}
        earlier = None
        if moved:
            earlier = db.run("facts_given_up_for", ids=array(moved), before=part.since).fetchone()[0]
        if earlier is None:
            return changed, touched
        more, others = self._settle(db, group, change, (), earlier)
        return more | changed, touched | others

    def weigh(self, db: Connection, facts: Iterable[int], change: Change) -> dict[int, str]:
        """Settle the groups of those facts that do not stand as later statements put them, each once."""
        changed: dict[int, str] = {}
        waiting, seen = set(facts), set[int]()
        while waiting := waiting - seen:
            seen |= waiting
            found, based = fact_rows.verdicts(db, waiting), fact_rows.standing(db, waiting)
            rows = [row for row in fact_rows.some(db, waiting) if row.id in based]
            waiting = set[int]()
            for row in rows:
                if not _stands(db, row, found.get(row.id, Verdict())):
                    more, touched = self._settle(db, row.group, replace(change, undo=None), (), row.valid_from)
                    changed = more | changed
                    waiting |= set(fact_rows.linked_to(db, touched))
        return changed


class _Settling:
    def __init__(self, db: Connection, group: FactGroup, change: Change, part: _Part, new: Sequence[Point]) -> None:
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

    def settle(self, *, merged: bool, kind: str, importance: float) -> None:
        put_back = self._set_free()
        by_hand = [
            Point(row.id, 0, row.asserted_at, row.norm, row.polarity, row.value, "manual", 1.0)
            for row in self._free.values()
            if row.asserted_at is not None
        ]
        points = [*(point for point in self._part.points if point.fact in self._free), *by_hand, *self._new]
        runs = timeline(points, slot_of(self._group.attribute).compatible)
        self._place(runs, merged=merged, kind=kind, importance=importance)
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

    def _place(self, runs: Sequence[Run], *, merged: bool, kind: str, importance: float) -> None:
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
                    valid_from=run.first, valid_to=run.valid_to, now=self._change.at, kind=kind, importance=importance,
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
        by_link = self._outdate(states)
        change = self._change
        known = all(id_ in self._free and self._free[id_].status == state.status for id_, state in states.items())
        if change.undo is None and self._new and not known:
            news = {said.paragraph for said in self._new}
            refute = [
                [id_, point.paragraph]
                for run, id_ in self.placed
                for point in run.points
                if point.paragraph in news and not point.fact
            ]
            detail = snapshot((), (), refute=refute)
            undo = undo_records.keep(self._db, UNDO_KIND, detail, change.requested_by, change.reason, change.now)
            change = replace(change, undo=undo)
        for id_, state in states.items():
            before = self._free.get(id_)
            if before is None or before != state:
                given_up = id_ in by_link and (before is None or before.status != state.status)
                told = self._given_up(before, state, by_link[id_]) if given_up else change
                self._write(before or replace(state, status=""), state, told)
            if before is None or before.status != state.status:
                self.changed[id_] = before.status if before else ""

    def _outdate(self, states: dict[int, FactRow]) -> dict[int, str]:
        """Let facts give way to what later statements say of them; returns why, by fact."""
        edge, reasons = self._part.edge, dict[int, str]()
        for id_, verdict in fact_rows.verdicts(self._db, states.keys() - edge.keys()).items():
            row = states[id_]
            after = fact_rows.one(self._db, verdict.successor) if verdict.successor else None
            if not row.is_held or row.pinned:
                continue
            if after is None:
                states[id_] = replace(row, doubted_by=verdict.doubter if row.status == "active" else None)
                continue
            known, successor = self._free.get(id_), verdict.successor
            standing = known is not None and (known.status, known.superseded_by) == ("superseded", successor)
            end = max(row.valid_from, after.valid_from)
            states[id_] = replace(
                row, status="superseded", superseded_by=successor, doubted_by=None,
                superseded_at=known.superseded_at if standing and known else self._since(row, successor),
                valid_to=end if row.valid_to is None else min(end, row.valid_to),
            )  # fmt: skip
            reasons[id_] = verdict.reason
        return reasons

    def _given_up(self, before: FactRow | None, state: FactRow, reason: str) -> Change:
        """The change by which a fact gives way to a statement of another group; to undo it refutes that one."""
        successor = state.superseded_by or 0
        refute = [[successor, point.paragraph] for point in fact_rows.points(self._db, [successor])]
        rows = [before] if before is not None and before.status else []
        detail = snapshot(rows, rows, refute=refute)
        undo = self._change.undo or undo_records.keep(self._db, UNDO_KIND, detail, "", reason, self._change.now)
        return replace(self._change, undo=undo, reason=reason)

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
            doubted_by=None,
        )

    def _leave(self, points: Iterable[Point]) -> None:
        """Facts that no run needs: taken up by another of the same words, or without a statement that counts."""
        taken = {point.fact: row for run, row in self.placed for point in run.points}
        mine = {row for _, row in self.placed}
        left = [row for id_, row in self._free.items() if id_ not in mine]
        refuted = {row[0] for row in self._db.run("facts_refuted", ids=array(row.id for row in left))}
        held = {point.fact for point in points}
        for row in left:
            state = replace(row, doubted_by=None)
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


def _stands(db: Connection, row: FactRow, verdict: Verdict) -> bool:
    """Whether a fact that something supports is where later statements put it."""
    if row.pinned or row.status == "retracted":
        return True
    if row.is_held:
        return verdict.successor is None and (row.status != "active" or row.doubted_by == verdict.doubter)
    if row.superseded_by == verdict.successor:
        return True
    # given up by the timeline, or for a statement that says so no longer
    return all(later != row.superseded_by for _, later, *_ in db.run("fact_links_of", ids=array([row.id])))


def snapshot(
    targets: Iterable[FactRow], group: Iterable[FactRow], *, created: Sequence[int] = (),
    refute: Sequence[Sequence[int]] = (),
) -> dict[str, Any]:  # fmt: skip
    """What an undo needs, as ids and times: the facts that a hand changes, and how the others of their group stood."""
    names = ("status", "pinned", "asserted_at", "valid_to", "superseded_at", "superseded_by")
    rows: dict[str, Any] = {str(row.id): {name: getattr(row, name) for name in names} for row in targets}
    stood = {str(row.id): [row.superseded_at, row.superseded_by] for row in group if row.superseded_at is not None}
    return {"rows": rows, "stood": stood, "created": created, "refute": refute}


@dataclass(frozen=True, slots=True)
class _Part:
    """Facts of a group with what live paragraphs say of them."""

    rows: Sequence[FactRow]
    points: Sequence[Point]
    since: float = -math.inf
    """What was given up before is not looked at."""
    edge: Mapping[int, FactRow] = field(default_factory=dict[int, FactRow])
    """Facts that only bound the others: they stay as they are."""

    def bounded(self, state: FactRow) -> FactRow:
        """The state that the part gives a fact."""
        return self.edge.get(state.id, state)


def _part_of(db: Connection, group: FactGroup, new: Sequence[Point], since: float | None) -> _Part:
    """What these statements can touch, or what came or went since a time; the whole group with neither.

    So what is said in its order costs the same however much was said before: a fact that was given up before a
    statement counts is not changed by it, because the statement that put an end to the one stands between both.
    """
    if group.person is None or (since is None and not new):
        return _whole(db, group)
    norms = {point.norm for point in new}
    limit = NEAREST if new else NO_LIMIT
    at = min((point.earliest for point in new), default=math.inf)
    at = at if since is None else min(at, math.nextafter(since, -math.inf))
    while True:
        rows = _rows(db, group, at, norms, limit)
        # whether nothing that is known of them counts after this time
        is_last = all(max(row.outdone_at or at, row.asserted_at or at) <= at for row in rows)
        points = _last_words(db, rows) if is_last else []
        is_last = is_last and all(_counts_at_most(point) <= at for point in points)
        if is_last and sum(row.outdone_at is None for row in rows) >= NEAREST:
            return _whole(db, group)
        if not is_last:
            points = fact_rows.points(db, [row.id for row in rows])
        changes = [point.earliest for point in points if point.told is not None and point.told > point.at]
        if min(changes, default=at) >= at:
            return _bounded(db, rows, points, at, limit)
        at = min(changes)


def _bounded(db: Connection, rows: Sequence[FactRow], points: Sequence[Point], since: float, limit: int) -> _Part:
    """The part without what begins after it, and with the statements that put an end to what is in it."""
    last = _last(rows, since, limit)
    if last is None:
        return _Part(rows, points, since)
    near = [row for row in rows if row.valid_from <= last or row.pinned or row.asserted_at is not None]
    known = {row.id for row in near}
    ends = {(row.superseded_by, row.outdone_at) for row in near if row.superseded_by not in known}
    found = (fact_rows.one(db, row) for row in sorted({row for row, _ in ends if row is not None}))
    edge = {row.id: row for row in found if row is not None and not row.pinned}
    bounds = fact_rows.points(db, edge)
    mine = [point for point in points if point.fact in known]
    mine += [point for point in bounds if (point.fact, _counts_at_most(point)) in ends]
    return _Part([*near, *edge.values()], mine, since, edge)


def _whole(db: Connection, group: FactGroup) -> _Part:
    rows = fact_rows.in_group(db, group)
    return _Part(rows, fact_rows.points(db, [row.id for row in rows]))


def _rows(db: Connection, group: FactGroup, since: float, norms: Iterable[str], limit: int) -> list[FactRow]:
    """Of denials only those that something here has to do with."""
    mine = None if group.norm is None else [group.norm]
    held = fact_rows.open_facts(db, group, 1, since, norms=mine, limit=limit)
    denied = {ANY, *norms, *(row.norm for row in held)} if limit > 0 and mine is None else mine
    return [*held, *fact_rows.open_facts(db, group, -1, since, norms=denied, limit=limit)]


def _last_words(db: Connection, rows: Sequence[FactRow]) -> list[Point]:
    """The newest statements of each fact, and one for those before them."""
    found = [Point(*row) for row in db.run("fact_points_newest", ids=array(row.id for row in rows), most=NEWEST)]
    of: dict[int, list[Point]] = {}
    for point in found:
        of.setdefault(point.fact, []).append(point)
    for row in rows:
        newest = of.get(row.id, [])
        if len(newest) == NEWEST:
            ends = [point.until for point in newest if point.until is not None]
            found.append(
                Point(
                    row.id, -1, row.valid_from, row.norm, row.polarity, row.value, row.authority,
                    min(row.confidence, MOST), max(ends) if len(ends) == NEWEST else None,
                )
            )  # fmt: skip
    return found


def _counts_at_most(point: Point) -> float:
    return point.at if point.told is None else point.told


def _last(rows: Sequence[FactRow], since: float, limit: int) -> float | None:
    """Up to where the facts that were given up are known; None if all of them are."""
    reached: list[float] = []
    for polarity in (1, -1):
        ends = [row.outdone_at for row in rows if row.polarity == polarity and (row.outdone_at or -math.inf) >= since]
        if 0 < limit <= len(ends):
            reached.append(max(end for end in ends if end is not None))
    return min(reached, default=None)
