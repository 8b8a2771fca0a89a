"""What is true when several statements of one thing meet: a function of the statements alone, whatever their order of arrival."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

__all__ = ["ANY", "AUTHORITY", "MOST", "Point", "Run", "Standing", "contradict", "timeline"]

Standing = Literal["active", "conflicted", "superseded"]
Compatible = Callable[[str, str], bool]
T = TypeVar("T")
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
    """Since when it is true by it."""
    norm: str
    polarity: int
    value: str
    authority: str
    confidence: float
    until: float | None = None
    told: float | None = None
    """Of one that names its own start: up to when it vouches for it; of a change when it was said, of the past its start."""
    sentence: str = ""
    """The whole sentence where the value is a part of it."""

    @property
    def rank(self) -> int:
        """How much it counts."""
        return AUTHORITY[self.authority]

    @property
    def key(self) -> tuple[str, int]:
        """(normalised value, polarity)."""
        return self.norm, self.polarity

    @property
    def earliest(self) -> float:
        """From when on it may change how others stand; a change that it bounds counts just before its start."""
        return self.at if self.told is None else math.nextafter(self.at, -math.inf)


@dataclass(slots=True)
class Run:
    """Statements of the same, with nothing between them that puts an end to it."""

    points: list[Point]
    last: float
    """When it was last vouched for."""
    status: Standing = "active"
    successor: int | None = None
    """The place of the run that it gave way to."""
    valid_to: float | None = None
    outdone_at: float | None = None
    """When what puts an end to it counts: all before that is settled, whatever comes after it."""
    rank: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """(normalised value, polarity)."""
        return self.points[0].key

    @property
    def first(self) -> float:
        """Since when it holds."""
        return min(point.at for point in self.points)

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
    both sides. A change that names its start counts from when it was said, and holds from its start on: it supersedes
    what was said in between without a start of its own, but not another change to which its start had led.
    """
    talk = _Talk(list(points), compatible)
    runs: list[Run] = []
    place: dict[int, int] = {}
    for places in list(talk.rivals.of_key.values()):
        for run, those in _runs(talk, places):
            place |= dict.fromkeys(those, len(runs))
            runs.append(run)
    for run in runs:
        found = talk.first_against(run.key, run.rank, run.last)
        if found is not None:
            run.status, run.successor, run.outdone_at = "superseded", place[found], talk.times[found]
            after = runs[place[found]].points
            told = (p.at for p in after if p.told is not None and p.told >= talk.times[found])
            end = max(run.first, min([talk.points[found].at, *told]))
            run.valid_to = end if run.valid_to is None else min(end, run.valid_to)
    standing = _Rivals[Run]()
    for run in runs:
        if run.status != "superseded":
            standing.add(run.key, run)
    for run in runs:
        if run.status != "superseded" and any(
            contradict(run.key, other.key, compatible) and _overlap(run, other)
            for some in standing.against(run.key)
            for other in some
        ):
            run.status = "conflicted"
    return runs


def contradict(one: tuple[str, int], other: tuple[str, int], compatible: Compatible) -> bool:
    """Whether two (normalised value, polarity) of one attribute cannot both be true."""
    if one[1] != other[1]:
        return one[0] == other[0] or ANY in (one[0], other[0])
    return one[1] == 1 and not compatible(one[0], other[0])


class _Rivals(Generic[T]):
    """Things said of one attribute, by their (normalised value, polarity)."""

    def __init__(self) -> None:
        self.of_key: dict[tuple[str, int], list[T]] = {}
        self._of_polarity: dict[int, list[T]] = {}

    def add(self, key: tuple[str, int], thing: T) -> None:
        self.of_key.setdefault(key, []).append(thing)
        self._of_polarity.setdefault(key[1], []).append(thing)

    def against(self, key: tuple[str, int]) -> Iterator[Sequence[T]]:
        """Whatever may be against it, those of few statements first."""
        norm, polarity = key
        if norm == ANY:
            yield self._of_polarity.get(-polarity, ())
        else:
            yield self.of_key.get((norm, -polarity), ())
            yield self.of_key.get((ANY, -polarity), ())
        if polarity == 1:
            yield self._of_polarity[1]


class _Talk:
    """The statements in the order in which they count."""

    def __init__(self, points: Sequence[Point], compatible: Compatible) -> None:
        self._compatible = compatible
        own = sorted((point for point in points if point.told is not None), key=lambda point: point.at)
        starts = [point.at for point in own]

        def counts_at(point: Point) -> float:
            """When it was said, or just before the next start that is known to end it."""
            if point.told is None or point.told <= point.at:
                return point.at
            later = own[bisect_right(starts, point.at) : bisect_right(starts, point.told)]
            ends = (o.at for o in later if o.rank >= point.rank and contradict(point.key, o.key, compatible))
            end = next(ends, None)
            return point.told if end is None else max(point.at, math.nextafter(end, -math.inf))

        placed = [(counts_at(point), point) for point in points]
        placed.sort(
            key=lambda one: (one[0], -one[1].rank, one[1].norm, -one[1].polarity, one[1].paragraph, one[1].fact)
        )
        self.times = [at for at, _ in placed]
        self.points = [point for _, point in placed]
        self.rivals = _Rivals[int]()
        for place, point in enumerate(self.points):
            self.rivals.add(point.key, place)

    def first_against(self, key: tuple[str, int], rank: int, after: float, before: float = math.inf) -> int | None:
        """The place of the first statement between two times, neither included, that is against it and as strong.

        At the time `after` itself only what is stronger counts.
        """
        best: int | None = None
        end = bisect_left(self.times, before)
        for places in self.rivals.against(key):
            for index in range(bisect_left(places, bisect_left(self.times, after)), len(places)):
                place = places[index]
                if place >= end:
                    break
                point = self.points[place]
                if point.rank >= rank + (self.times[place] == after) and contradict(key, point.key, self._compatible):
                    end = best = place
                    break
        return best


def _runs(talk: _Talk, places: Sequence[int]) -> Iterator[tuple[Run, list[int]]]:
    """The statements of one value with their places, cut where one against them is as strong as all before it."""
    run: Run | None = None
    mine: list[int] = []
    for place in places:
        point, at = talk.points[place], talk.times[place]
        if run is not None and talk.first_against(run.key, run.rank, run.last, at) is None:
            run.points.append(point)
            run.last, run.rank = at, max(run.rank, point.rank)
            mine.append(place)
            continue
        if run is not None:
            yield _closed(run), mine
        run, mine = Run([point], at, rank=point.rank), [place]
    if run is not None:
        yield _closed(run), mine


def _closed(run: Run) -> Run:
    ends = [point.until for point in run.points]
    run.valid_to = None if None in ends else max(end for end in ends if end is not None)
    return run


def _overlap(one: Run, other: Run) -> bool:
    """Whether both are held true at some time: what has ended by itself contradicts nothing later."""
    return (one.valid_to is None or one.valid_to > other.first) and (
        other.valid_to is None or other.valid_to > one.first
    )
