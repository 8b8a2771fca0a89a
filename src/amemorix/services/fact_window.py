"""The part of a group of facts that a statement can touch: what nothing had put an end to when it counts."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..storage.facts import FactGroup, FactRow, PointRow
from ..storage.metadata_store import MetadataStore
from ..strategies.fact_timeline import ANY, MOST, Point

__all__ = ["NEAREST", "NEWEST", "FactWindow", "Part"]

NEAREST = 256
"""Where a statement comes late, so many of the facts that were given up after it are looked at: the first of them.

Those further away stay as they are. Until there are more, the part gives what the whole group would.
"""
NEWEST = 64
"""Statements of one fact that are looked at when news is the last word on it; one more stands for all the older ones.

That many bring the confidence of any to where it stays.
"""
NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Part:
    """Facts of a group with what live paragraphs say of them."""

    rows: Sequence[FactRow]
    points: Sequence[Point]
    edge: dict[int, FactRow]
    """Facts that gave way to one outside of the part."""

    def bounded(self, state: FactRow) -> FactRow:
        """The state that the part gives a fact; one at the edge can only end earlier than it did."""
        before = self.edge.get(state.id)
        if before is None or before.outdone_at is None:
            return state
        earlier = state.status == "superseded" and state.outdone_at is not None and state.outdone_at < before.outdone_at
        return state if earlier else before


class FactWindow:
    """Reads parts of groups, so that what is said in its order costs the same however much was said before.

    A fact that was given up before a statement counts is not changed by it: the statement that put an end to the one
    stands between both.
    """

    def __init__(self, store: MetadataStore) -> None:
        self._facts = store.facts

    def part(self, db: sqlite3.Connection, group: FactGroup, new: Sequence[Point], since: float | None) -> Part:
        """What these statements can touch, or what came or went since a time; the whole group with neither."""
        if group.person is None or (since is None and not new):
            return self._whole(db, group)
        norms = {point.norm for point in new}
        limit = NEAREST if new else NO_LIMIT
        at = min([*(point.earliest for point in new), *([] if since is None else [math.nextafter(since, -math.inf)])])
        while True:
            rows = self._rows(db, group, at, norms, limit)
            points = self._last_words(db, rows)
            is_last = all(_counts_at_most(point) <= at for point in points) and all((r.outdone_at or at) <= at for r in rows)
            if is_last and sum(row.outdone_at is None for row in rows) >= NEAREST:
                return self._whole(db, group)
            if not is_last:
                points = _points(rows, self._facts.points(db, [row.id for row in rows]))
            changes = [point.earliest for point in points if point.told is not None and point.told > point.at]
            if min(changes, default=at) >= at:
                return Part(rows, points, _edge(rows, limit))
            at = min(changes)

    def _whole(self, db: sqlite3.Connection, group: FactGroup) -> Part:
        rows = self._facts.in_group(db, group)
        return Part(rows, _points(rows, self._facts.points(db, [row.id for row in rows])), {})

    def _rows(
        self, db: sqlite3.Connection, group: FactGroup, since: float, norms: Iterable[str], limit: int
    ) -> list[FactRow]:
        """Of denials only those that something here has to do with."""
        mine = None if group.norm is None else [group.norm]
        held = self._facts.open(db, group, 1, since, norms=mine, limit=limit)
        denied = {ANY, *norms, *(row.norm for row in held)} if limit > 0 and mine is None else mine
        return [*held, *self._facts.open(db, group, -1, since, norms=denied, limit=limit)]

    def _last_words(self, db: sqlite3.Connection, rows: Sequence[FactRow]) -> list[Point]:
        """The newest statements of each fact, and one for those before them."""
        found = _points(rows, self._facts.newest_points(db, [row.id for row in rows], NEWEST))
        of: dict[int, list[Point]] = {}
        for point in found:
            of.setdefault(point.fact, []).append(point)
        many = {row.id: row for row in rows if len(of.get(row.id, ())) == NEWEST}
        return [*found, *(_stand_in(row, of[id_]) for id_, row in many.items())]


def _stand_in(row: FactRow, newest: Sequence[Point]) -> Point:
    ends = [point.until for point in newest if point.until is not None]
    return Point(
        row.id, -1, row.valid_from, row.norm, row.polarity, row.value, row.authority, min(row.confidence, MOST),
        max(ends) if len(ends) == len(newest) else None,
    )  # fmt: skip


def _points(rows: Iterable[FactRow], said: Iterable[PointRow]) -> list[Point]:
    of = {row.id: row for row in rows}
    return [
        Point(p.fact, p.paragraph, p.at, of[p.fact].norm, of[p.fact].polarity, p.value, p.authority, p.confidence,
              p.until, p.told)
        for p in said
    ]  # fmt: skip


def _counts_at_most(point: Point) -> float:
    return point.at if point.told is None else point.told


def _edge(rows: Sequence[FactRow], limit: int) -> dict[int, FactRow]:
    if limit < 0:
        return {}
    known = {row.id for row in rows}
    return {
        row.id: row
        for row in rows
        if row.status == "superseded" and not row.pinned and row.superseded_by is not None
        and row.superseded_by not in known
    }  # fmt: skip
