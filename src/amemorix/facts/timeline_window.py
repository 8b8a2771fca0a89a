"""The part of a group of facts that a statement can touch: what nothing had put an end to when it counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..store.ports import Connection
from . import rows as fact_rows
from .rows import FactGroup, FactRow
from .timeline import ANY, MOST, Point

__all__ = ["NEAREST", "NEWEST", "Part", "part_of"]

NEAREST = 32
"""Where a statement comes late, so many of the facts that were given up after it are looked at: the first of them.

Those further away stay as they are. Until there are more, the part gives what the whole group would.
"""
NEWEST = 24
"""Statements of one fact that are looked at when news is the last word on it; one more stands for all the older ones.

That many bring the confidence of any to where it stays.
"""
NO_LIMIT = -1


@dataclass(frozen=True, slots=True)
class Part:
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


def part_of(db: Connection, group: FactGroup, new: Sequence[Point], since: float | None) -> Part:
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
        is_last = all(_ends_by(row, at) for row in rows)
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


def _bounded(db: Connection, rows: Sequence[FactRow], points: Sequence[Point], since: float, limit: int) -> Part:
    """The part without what begins after it, and with the statements that put an end to what is in it."""
    last = _last(rows, since, limit)
    if last is None:
        return Part(rows, points, since)
    near = [row for row in rows if row.valid_from <= last or row.pinned or row.asserted_at is not None]
    known = {row.id for row in near}
    ends = {(row.superseded_by, row.outdone_at) for row in near if row.superseded_by not in known}
    found = (fact_rows.one(db, row) for row in sorted({row for row, _ in ends if row is not None}))
    edge = {row.id: row for row in found if row is not None and not row.pinned}
    bounds = fact_rows.points(db, edge)
    mine = [point for point in points if point.fact in known]
    mine += [point for point in bounds if (point.fact, _counts_at_most(point)) in ends]
    return Part([*near, *edge.values()], mine, since, edge)


def _whole(db: Connection, group: FactGroup) -> Part:
    rows = fact_rows.in_group(db, group)
    return Part(rows, fact_rows.points(db, [row.id for row in rows]))


def _rows(db: Connection, group: FactGroup, since: float, norms: Iterable[str], limit: int) -> list[FactRow]:
    """Of denials only those that something here has to do with."""
    mine = None if group.norm is None else [group.norm]
    held = fact_rows.open_facts(db, group, 1, since, norms=mine, limit=limit)
    denied = {ANY, *norms, *(row.norm for row in held)} if limit > 0 and mine is None else mine
    return [*held, *fact_rows.open_facts(db, group, -1, since, norms=denied, limit=limit)]


def _last_words(db: Connection, rows: Sequence[FactRow]) -> list[Point]:
    """The newest statements of each fact, and one for those before them."""
    found = fact_rows.newest_points(db, [row.id for row in rows], NEWEST)
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


def _ends_by(row: FactRow, at: float) -> bool:
    """Whether nothing that is known of the fact counts after this time."""
    return max(row.outdone_at or at, row.asserted_at or at) <= at
