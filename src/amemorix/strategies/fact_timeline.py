"""What is true when several statements of one thing meet: a function of the statements alone, whatever their order of arrival."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["ANY", "AUTHORITY", "Authority", "Point", "Run", "Standing", "contradict", "timeline"]

Authority = Literal["manual", "direct_user", "imported", "summary", "rule", "model"]
Standing = Literal["active", "conflicted", "superseded"]
Compatible = Callable[[str, str], bool]
AUTHORITY: dict[str, int] = {"manual": 5, "direct_user": 4, "imported": 3, "summary": 2, "rule": 1, "model": 0}
"""How much a statement counts against another."""
ANY = "*"
"""The norm of a denial of whatever value was held true."""
REPEATED = 0.3
"""How much of its confidence a further statement of the same adds."""
MOST = 0.99


@dataclass(frozen=True, slots=True)
class Point:
    """One statement: a paragraph's, or with paragraph 0 one by hand; times in epoch seconds."""

    fact: int
    """The row that it belongs to, 0 for a new one."""
    paragraph: int
    at: float
    norm: str
    polarity: int
    value: str
    authority: str
    confidence: float
    until: float | None = None

    @property
    def rank(self) -> int:
        """How much it counts."""
        return AUTHORITY[self.authority]


@dataclass(slots=True)
class Run:
    """Statements of the same, with nothing between them that puts an end to it."""

    points: list[Point]
    status: Standing = "active"
    successor: int | None = None
    """The place of the run that it gave way to."""
    valid_to: float | None = None
    rank: int = field(default=0)

    @property
    def key(self) -> tuple[str, int]:
        """(normalised value, polarity)."""
        return self.points[0].norm, self.points[0].polarity

    @property
    def first(self) -> float:
        """Since when it holds."""
        return self.points[0].at

    @property
    def last(self) -> float:
        """When it was last said to hold."""
        return self.points[-1].at

    @property
    def authority(self) -> str:
        """The highest of its statements."""
        return max(self.points, key=lambda point: point.rank).authority

    @property
    def confidence(self) -> float:
        """Of the surest statement, raised by each further one, never to certainty."""
        known = sorted((point.confidence for point in self.points), reverse=True)
        if known[0] >= 1:
            return 1.0
        doubt = (1 - known[0]) * math.prod(1 - REPEATED * confidence for confidence in known[1:])
        return round(min(MOST, 1 - doubt), 4)


def timeline(points: Iterable[Point], compatible: Compatible) -> list[Run]:
    """The runs of these statements and how each stands; `compatible` says which values can be true at a time.

    A later statement of no less authority supersedes what it contradicts; what contradicts otherwise is conflicted on
    both sides.
    """
    ordered = sorted(points, key=lambda p: (p.at, -p.rank, p.norm, -p.polarity, p.paragraph, p.fact))
    runs: list[Run] = []
    for key in dict.fromkeys((point.norm, point.polarity) for point in ordered):
        mine = [point for point in ordered if (point.norm, point.polarity) == key]
        against = [point for point in ordered if contradict((point.norm, point.polarity), key, compatible)]
        runs += _runs(mine, against)
    for run in runs:
        _give_way(run, runs, compatible)
    for run in runs:
        if run.status != "superseded" and _is_contradicted(run, runs, compatible):
            run.status = "conflicted"
    return runs


def contradict(one: tuple[str, int], other: tuple[str, int], compatible: Compatible) -> bool:
    """Whether two (normalised value, polarity) of one attribute cannot both be true."""
    if one[1] != other[1]:
        return one[0] == other[0] or ANY in (one[0], other[0])
    return one[1] == 1 and not compatible(one[0], other[0])


def _runs(mine: Sequence[Point], against: Sequence[Point]) -> list[Run]:
    """The statements of one value, cut where one against them is as strong as all before it."""
    runs: list[Run] = []
    for point in mine:
        run = runs[-1] if runs else None
        if run is None or any(run.last < other.at < point.at and other.rank >= run.rank for other in against):
            run = Run([point], rank=point.rank)
            runs.append(run)
        else:
            run.points.append(point)
            run.rank = max(run.rank, point.rank)
    for run in runs:
        ends = [point.until for point in run.points]
        run.valid_to = None if None in ends else max(end for end in ends if end is not None)
    return runs


def _give_way(run: Run, runs: Sequence[Run], compatible: Compatible) -> None:
    """The earliest statement that puts an end to the run, and the run it belongs to."""
    best: tuple[tuple[float, int, str, int], int] | None = None
    for place, other in enumerate(runs):
        if not contradict(run.key, other.key, compatible):
            continue
        for point in other.points:
            later = point.at > run.last and point.rank >= run.rank
            if later or (point.at == run.last and point.rank > run.rank):
                order = (point.at, -point.rank, *_key(point))
                if best is None or order < best[0]:
                    best = (order, place)
                break
    if best is not None:
        end = best[0][0]
        run.status, run.successor = "superseded", best[1]
        run.valid_to = end if run.valid_to is None else min(end, run.valid_to)


def _key(point: Point) -> tuple[str, int]:
    """What tells statements of one moment apart."""
    return point.norm, -point.polarity


def _is_contradicted(run: Run, runs: Sequence[Run], compatible: Compatible) -> bool:
    return any(
        other.status != "superseded" and contradict(run.key, other.key, compatible) and _overlap(run, other)
        for other in runs
    )


def _overlap(one: Run, other: Run) -> bool:
    """Whether both are held true at some time: what has ended by itself contradicts nothing later."""
    return (one.valid_to is None or one.valid_to > other.first) and (
        other.valid_to is None or other.valid_to > one.first
    )
