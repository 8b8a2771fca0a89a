"""The working out of what has become of a source's episodes, where it has changed and no further."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from ..config.model import Episode
from ..store.ports import Connection
from ..store.queries import array
from . import deriving_rows
from .deriving_rows import BEGINNING, EpisodeDraft, Material, News, Place, Regrouping
from .drafts import rules_draft, times_of
from .segmentation import BLOCK, segments

__all__ = ["Derived", "derive"]

PAGE = 256
"""Paragraphs read at a time."""
SLICE = 2_000
"""Paragraphs after which a long piece of work is stored, and taken up again from there."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What one piece of work comes to: the news it answers, those that are left, what to store, and what it read."""

    answered: tuple[int, ...] = ()
    left: News | None = None
    work: Regrouping = field(default_factory=Regrouping)
    read: int = 0


@dataclass(slots=True)
class _Walk:
    """Segments from a place up to, and without, `end` (None: the end of the source); `met`: the rest is as before."""

    segments: list[list[Material]] = field(default_factory=list[list[Material]])
    end: Place | None = None
    met: bool = True
    read: int = 0


def derive(db: Connection, source: int, now: float, settings: Episode, *, has_model: bool) -> Derived:
    """The next piece of work in this source: from just before its earliest news until the new cuts meet the old ones.

    Empty if it has no news.
    """
    news = deriving_rows.news(db, source)
    if not news:
        return Derived()
    if db.run("source_type_of", source=source).fetchone()[0] in settings.disabled_source_types:
        gone = tuple(deriving_rows.held(db, source, BEGINNING, None))
        return Derived(tuple(one.id for one in news), work=Regrouping(removed=gone))
    span = news[0]
    for one in news[1:]:
        if one.since <= span.upto:
            span = News(span.id, span.since, max(span.upto, one.upto), span.anew or one.anew)
    begin = BEGINNING
    if span.since > -math.inf:
        begin = deriving_rows.place_before(db, source, span.since, BLOCK, now)
    walk = _walked(db, source, begin, span.upto, now, settings)
    held = deriving_rows.held(db, source, begin, walk.end)
    left = None
    if not walk.met and walk.end is not None:
        left = News(0, walk.end[0], max(span.upto, walk.end[0]), span.anew)

    owner = {id_: row for row, one in held.items() for id_ in one.paragraphs}
    drafts: list[EpisodeDraft] = []
    for i, segment in enumerate(walk.segments):
        parts = {owner[p.id]: held[owner[p.id]] for p in segment if p.id in owner}
        if not span.anew and _is_same(segment, list(parts.values())):
            held = {row: one for row, one in held.items() if row not in parts}
            continue
        model_due = None
        if has_model and len(segment) >= settings.model_min_paragraphs:
            finished = i + 1 < len(walk.segments) or walk.end is not None
            model_due = now if finished else now + settings.model_quiet_minutes * 60
        drafts.append(rules_draft(db, segment, model_due))
    return Derived(tuple(_answered(news, span, walk.end)), left, _assigned(drafts, held), walk.read)


def _walked(db: Connection, source: int, begin: Place, upto: float, now: float, settings: Episode) -> _Walk:
    """Segments up to an old cut beyond the news, or after a slice."""
    walk = _Walk()
    rest: list[Material] = []
    place = begin
    while True:
        page = deriving_rows.material(db, source, place, PAGE, now)
        walk.read += len(page)
        rest += page
        whole = len(page) < PAGE
        found = list(segments(rest, settings, whole=whole))
        after = [rest[end] if end < len(rest) else None for end in accumulate(map(len, found))]
        beyond = array(p.id for p in after if p is not None and p.at > upto)
        old = {row[0] for row in db.run("stretches_among", ids=beyond)}
        for segment, following in zip(found, after, strict=True):
            walk.segments.append(segment)
            if following is None:
                continue
            met = following.id in old and following.at > upto
            if met or _is_long(walk.segments, following):
                walk.end, walk.met = following.place, met
                return walk
        if whole:
            return walk
        rest = rest[sum(map(len, found)) :]
        place = (page[-1].at, page[-1].id + 1)


def _answered(news: Sequence[News], span: News, end: Place | None) -> Iterator[int]:
    """Those that the span was made of, and those that the walk has passed on its way."""
    for one in news:
        if one.since <= span.upto or ((end is None or one.upto < end[0]) and (span.anew or not one.anew)):
            yield one.id


def _is_long(segments: Sequence[list[Material]], following: Material) -> bool:
    """Whether so much has been walked that it may end here, and work taken up from here begins further on than now."""
    walked = sum(map(len, segments))
    if walked < SLICE:
        return False
    earlier = sum(p.at < following.at for segment in segments for p in segment)
    return earlier - BLOCK >= len(segments[0])


def _is_same(segment: Sequence[Material], parts: Sequence[EpisodeDraft]) -> bool:
    """Whether these episodes are this segment, whole or divided by a model."""
    places = {p.id: i for i, p in enumerate(segment)}
    members = [id_ for part in parts for id_ in part.paragraphs]
    if len(members) != len(segment) or not all(id_ in places for id_ in members):
        return False
    return all(
        part.stretch == segment[0].id
        and part.scope == segment[0].scope
        and [places[id_] for id_ in part.paragraphs] == sorted(places[id_] for id_ in part.paragraphs)
        and (part.event_start, part.event_end) == times_of([segment[places[id_]] for id_ in part.paragraphs])
        for part in parts
    )


def _assigned(drafts: Sequence[EpisodeDraft], free: dict[int, EpisodeDraft]) -> Regrouping:
    """Give each draft the row of the episode that it goes on from: of the same beginning, or else of most paragraphs."""
    owner = {id_: row for row, one in free.items() for id_ in one.paragraphs}
    shared = Counter((i, owner[id_]) for i, draft in enumerate(drafts) for id_ in draft.paragraphs if id_ in owner)

    def likeness(pair: tuple[int, int]) -> tuple[bool, int, int, int]:
        i, row = pair
        return drafts[i].paragraphs[0] != free[row].paragraphs[0], -shared[pair], i, row

    left = dict(free)
    chosen: dict[int, int] = {}
    for i, row in sorted(shared, key=likeness):
        if i not in chosen and row in left:
            chosen[i] = row
            del left[row]
    changed = [(row, drafts[i]) for i, row in chosen.items() if free[row] != drafts[i]]
    asked = [row for i, row in chosen.items() if free[row] == drafts[i] and drafts[i].model_due is not None]
    inserts = [draft for i, draft in enumerate(drafts) if i not in chosen]
    return Regrouping(tuple(changed), tuple(inserts), tuple(left), tuple(asked))
