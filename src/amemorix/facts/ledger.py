"""The book of facts: statements go in, and every fact they touch is brought to where the timeline puts it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..config.model import Profile
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import undo_records
from ..store.tasks import NO_PARAGRAPH
from . import evidence as fact_evidence
from . import rows as fact_rows
from .evidence import PointRow
from .language.slots import slot_of
from .rows import FactGroup, FactRow, Transition
from .timeline import Point, Run, timeline
from .timeline_window import FactWindow, Part

__all__ = ["UNDO_KIND", "Change", "FactLedger", "Said", "snapshot"]

UNDO_KIND = "fact"
OVER = ("superseded", "retracted")
EVERYTHING = 0.0
"""The paragraph from which on a profile is derived as a whole."""
Stood = Mapping[int, tuple[float | None, int | None]]
"""Fact -> (superseded_at, superseded_by) as they were before."""


@dataclass(frozen=True, slots=True)
class Said:
    """A statement that a paragraph makes; times in epoch seconds."""

    paragraph: int
    norm: str
    polarity: int
    value: str
    at: float
    until: float | None
    authority: str
    confidence: float
    merged: bool = False
    told: float | None = None
    """Of a statement that names its own start: up to when it vouches for it."""


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

    def __init__(self, store: MetadataStore, *, profile: Profile) -> None:
        self._store = store
        self._profile = profile
        self._window = FactWindow(store)

    def record(self, db: Connection, group: FactGroup, said: Said, change: Change) -> bool:
        """Take in what a paragraph says, once; False if it had been taken in before."""
        if fact_evidence.said_before(db, group, said.paragraph, said.norm, said.polarity):
            return False
        self.settle(db, group, change, [said])
        return True

    def settle(
        self,
        db: Connection,
        group: FactGroup,
        change: Change,
        new: Sequence[Said] = (),
        *,
        since: float | None = None,
    ) -> dict[int, str]:
        """Bring the group to where its live statements put it; returns the facts whose status changed, as they were.

        What is `new`, or whatever came or went `since` a time, touches no more than the part of the group that the
        window finds; with neither, the whole group is looked at.
        """
        said = [_point(one) for one in new]
        part = self._window.part(db, group, said, since)
        free, moved = self._free(db, part.rows, change)
        points = [*_points(part, free), *said]
        runs = timeline(points, slot_of(group.attribute).compatible)
        places = self._places(db, group, runs, free, new, change)
        changed = self._apply(db, runs, places, free, part, new, change)
        changed |= self._leave(db, runs, places, free, points, change) | moved
        if changed or new:
            self.tell(db, group, change.now, whole=any(was in OVER for was in changed.values()))
        earlier = self._given_up_for(db, runs, places, part)
        if earlier is not None:
            changed = self.settle(db, group, change, since=earlier) | changed
        return changed

    def _given_up_for(self, db: Connection, runs: Sequence[Run], places: Sequence[int], part: Part) -> float | None:
        """Since when facts outside of the part gave way to statements that have moved to another row, None if none."""
        kept = zip(runs, places, strict=True)
        moved = {point.fact for run, row in kept for point in run.points if point.fact not in (0, row)}
        return fact_rows.given_up_for(db, moved, part.since) if moved else None

    # what counts

    def _free(
        self, db: Connection, rows: Sequence[FactRow], change: Change
    ) -> tuple[dict[int, FactRow], dict[int, str]]:
        """The facts whose status the rules decide, and those of the others that had to be put back."""
        standing = fact_rows.standing(db, [row.superseded_by for row in rows if row.superseded_by])
        free: dict[int, FactRow] = {}
        moved: dict[int, str] = {}
        for row in rows:
            if not row.pinned or (row.superseded_by and row.superseded_by not in standing):
                free[row.id] = row
            elif row.superseded_by and row.status != "superseded":
                self._give_way(db, row, row.superseded_by, change)
                moved[row.id] = row.status
        return free, moved

    def _give_way(self, db: Connection, row: FactRow, successor: int, change: Change) -> None:
        after = fact_rows.one(db, successor)
        end = max(row.valid_from, after.valid_from if after else row.valid_from)
        at = self._since(db, row, successor, change)
        state = replace(row, status="superseded", valid_to=end, superseded_at=at, superseded_by=successor)
        self._write(db, row, state, change)

    def _since(self, db: Connection, row: FactRow, successor: int | None, change: Change) -> float:
        """Since when the fact is superseded: since before, if what was deleted meanwhile is back."""
        before = fact_rows.gave_way(db, row.id, successor) if successor else None
        return change.at if before is None else before

    # rows

    def _places(
        self,
        db: Connection,
        group: FactGroup,
        runs: Sequence[Run],
        free: Mapping[int, FactRow],
        new: Sequence[Said],
        change: Change,
    ) -> list[int]:
        """The row of each run: one that holds its statements, one left over of the same words, or a new one."""
        places = _kept(runs)
        holding = {point.fact for run in runs for point in run.points}
        left: dict[tuple[str, int], list[int]] = {}
        for id_, fact in free.items():
            if id_ not in holding:
                left.setdefault((fact.norm, fact.polarity), []).append(id_)
        for place, run in enumerate(runs):
            if not places[place]:
                mine = left.get(run.key)
                merged = any(said.merged for said in new)
                places[place] = mine.pop(0) if mine else self._insert(db, group, run, merged, change)
            self._hold(db, run, places[place])
        return places

    def _insert(self, db: Connection, group: FactGroup, run: Run, merged: bool, change: Change) -> int:
        slot = slot_of(group.attribute)
        values = {
            "person": group.person, "entity": group.entity, "scope": group.scope, "attribute": group.attribute,
            "value": run.points[0].value, "norm": run.key[0], "polarity": run.key[1], "cardinality": slot.cardinality,
            "stability": "uncertain" if run.authority in ("summary", "model") else slot.stability,
            "authority": run.authority, "confidence": run.confidence, "asserted_at": None, "merged": int(merged),
            "valid_from": run.first, "valid_to": run.valid_to, "now": change.at,
        }  # fmt: skip
        return fact_rows.insert(db, values)

    def _hold(self, db: Connection, run: Run, row: int) -> None:
        for p in run.points:
            if p.paragraph and not p.fact:
                fact_evidence.put(
                    db, PointRow(row, p.paragraph, p.at, p.value, p.authority, p.confidence, p.until, p.told)
                )
            elif p.paragraph and p.fact != row:
                fact_evidence.move(db, p.fact, p.paragraph, row)

    def _apply(
        self,
        db: Connection,
        runs: Sequence[Run],
        places: Sequence[int],
        free: Mapping[int, FactRow],
        part: Part,
        new: Sequence[Said],
        change: Change,
    ) -> dict[int, str]:
        """Write where each run stands; what gives way to news can be undone."""
        states = {
            row: part.bounded(self._state(db, free.get(row) or self._fresh(db, row), run, places, change))
            for run, row in zip(runs, places, strict=True)
        }
        if change.undo is None and new:
            change = self._undoable(db, states, free, runs, places, new, change)
        changed: dict[int, str] = {}
        for row, state in states.items():
            before = free.get(row)
            if before is None or before != state:
                self._write(db, before or replace(state, status=""), state, change)
            if before is None or before.status != state.status:
                changed[row] = before.status if before else ""
        return changed

    def _fresh(self, db: Connection, row: int) -> FactRow:
        found = fact_rows.one(db, row)
        if found is None:
            raise RuntimeError(f"the fact {row} was just written and is gone")
        return found

    def _state(self, db: Connection, row: FactRow, run: Run, places: Sequence[int], change: Change) -> FactRow:
        successor = places[run.successor] if run.successor is not None else None
        at = None
        if run.status == "superseded":
            at, before = change.stood.get(row.id, (None, None))
            if at is None or before != successor:
                at = row.superseded_at if row.status == "superseded" else self._since(db, row, successor, change)
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

    def _undoable(
        self,
        db: Connection,
        states: Mapping[int, FactRow],
        free: Mapping[int, FactRow],
        runs: Sequence[Run],
        places: Sequence[int],
        new: Sequence[Said],
        change: Change,
    ) -> Change:
        """The same change with an undo record, if a fact is new or stands otherwise than before."""
        if all(row in free and free[row].status == state.status for row, state in states.items()):
            return change
        news = {said.paragraph for said in new}
        refute = [
            [row, point.paragraph]
            for run, row in zip(runs, places, strict=True)
            for point in run.points
            if point.paragraph in news and not point.fact
        ]
        detail = snapshot((), (), refute=refute)
        undo = undo_records.keep(db, UNDO_KIND, detail, change.requested_by, change.reason, change.now)
        return replace(change, undo=undo)

    def _leave(
        self,
        db: Connection,
        runs: Sequence[Run],
        places: Sequence[int],
        free: Mapping[int, FactRow],
        points: Sequence[Point],
        change: Change,
    ) -> dict[int, str]:
        """Facts that no run needs: taken up by another of the same words, or without a statement that counts."""
        changed: dict[int, str] = {}
        taken = {point.fact: row for run, row in zip(runs, places, strict=True) for point in run.points}
        mine = set(places)
        left = [row for id_, row in free.items() if id_ not in mine]
        refuted = fact_evidence.refuted(db, [row.id for row in left])
        held = {point.fact for point in points}
        for row in left:
            state = row
            if row.id in held:
                state = replace(row, status="superseded", valid_to=row.valid_from, superseded_by=taken[row.id],
                                superseded_at=row.superseded_at or change.at, outdone_at=row.valid_from)  # fmt: skip
            elif row.id in refuted:
                state = replace(row, status="retracted", superseded_at=None, superseded_by=None)
            if state != row:
                self._write(db, row, state, change)
                changed[row.id] = row.status
        return changed

    def _write(self, db: Connection, before: FactRow, state: FactRow, change: Change) -> None:
        fact_rows.update(
            db,
            {
                "id": state.id, "value": state.value, "authority": state.authority, "status": state.status,
                "confidence": state.confidence, "valid_from": state.valid_from, "valid_to": state.valid_to,
                "superseded_at": state.superseded_at, "superseded_by": state.superseded_by,
                "outdone_at": state.outdone_at,
            },
        )  # fmt: skip
        if before.status != state.status:
            fact_rows.transition(
                db,
                state.id,
                Transition(before.status, state.status, state.superseded_by, change.undo, change.requested_by,
                           change.reason, change.at),
            )  # fmt: skip

    def tell(self, db: Connection, group: FactGroup, now: float, *, whole: bool = False) -> None:
        """The profile of the person is wanted anew; `whole`: sentences count again that a fact had made untrue."""
        if group.person is not None:
            due, since = now + self._profile.debounce_seconds, EVERYTHING if whole else NO_PARAGRAPH
            task_rows.want(db, "profile", group.person, since=since, due_at=due, now=now)


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


def _points(part: Part, free: Mapping[int, FactRow]) -> list[Point]:
    """What is said of these facts, by paragraphs and by hand."""
    by_hand = [
        Point(row.id, 0, row.asserted_at, row.norm, row.polarity, row.value, "manual", 1.0)
        for row in free.values()
        if row.asserted_at is not None
    ]
    return [*(point for point in part.points if point.fact in free), *by_hand]


def _point(said: Said) -> Point:
    return Point(
        0, said.paragraph, said.at, said.norm, said.polarity, said.value, said.authority, said.confidence, said.until,
        said.told,
    )  # fmt: skip


def snapshot(
    targets: Iterable[FactRow],
    group: Iterable[FactRow],
    *,
    created: Sequence[int] = (),
    refute: Sequence[Sequence[int]] = (),
) -> str:
    """What an undo needs, as ids and times: the facts that a hand changes, and how the others of their group stood."""
    names = ("status", "pinned", "asserted_at", "valid_to", "superseded_at", "superseded_by")
    rows: dict[str, Any] = {str(row.id): {name: getattr(row, name) for name in names} for row in targets}
    stood = {str(row.id): [row.superseded_at, row.superseded_by] for row in group if row.superseded_at is not None}
    return json.dumps({"rows": rows, "stood": stood, "created": list(created), "refute": [list(r) for r in refute]})
