"""The working out of what has become of a source's episodes, where it has changed and no further."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..config.model import Episode
from ..store.ports import Connection
from . import deriving_rows
from .deriving_rows import BEGINNING, EpisodeDraft, HeldEpisode, Material, News, Place, Regrouping
from .drafts import rules_draft, times_of
from .segmentation import BLOCK, EpisodeSegmentationService

__all__ = ["Derived", "EpisodeGrouping"]

PAGE = 256
"""Paragraphs read at a time."""
SLICE = 2_000
"""Paragraphs after which a long piece of work is stored, and taken up again from there."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What one piece of work comes to: the news it answers, those that are left, what to store, and what it read."""

    source: int
    answered: tuple[int, ...] = ()
    left: News | None = None
    work: Regrouping = field(default_factory=Regrouping)
    read: int = 0


@dataclass(frozen=True, slots=True)
class _Walk:
    """Segments from a place up to, and without, `end` (None: the end of the source); `met` says the rest is as before."""

    segments: list[list[Material]]
    end: Place | None
    met: bool
    read: int


class EpisodeGrouping:
    """Regroups a source from just before its earliest news until the new cuts meet the old ones again."""

    def __init__(
        self,
        settings: Episode,
        *,
        has_model: bool,
    ) -> None:
        self._settings = settings
        self._has_model = has_model
        self._segmentation = EpisodeSegmentationService(settings)

    def derive(self, db: Connection, source: int, now: float) -> Derived:
        """The next piece of work in this source; empty if it has no news."""
        news = deriving_rows.news(db, source)
        if not news:
            return Derived(source)
        if deriving_rows.source_type(db, source) in self._settings.disabled_source_types:
            gone = tuple(one.id for one in deriving_rows.held(db, source, BEGINNING, None))
            return Derived(source, tuple(one.id for one in news), work=Regrouping(removed=gone))
        span = _first(news)
        begin = BEGINNING
        if span.since > -math.inf:
            begin = deriving_rows.place_before(db, source, span.since, BLOCK, now)
        walk = self._walk(db, source, begin, span.upto, now)
        held = deriving_rows.held(db, source, begin, walk.end)
        left = None
        if not walk.met and walk.end is not None:
            left = News(0, walk.end[0], max(span.upto, walk.end[0]), span.anew)
        work = self._compared(db, walk, held, now, anew=span.anew)
        return Derived(source, tuple(_answered(news, span, walk.end)), left, work, walk.read)

    def _walk(self, db: Connection, source: int, begin: Place, upto: float, now: float) -> _Walk:
        segments: list[list[Material]] = []
        rest: list[Material] = []
        place, read = begin, 0
        while True:
            page = deriving_rows.material(db, source, place, PAGE, now)
            read += len(page)
            rest += page
            whole = len(page) < PAGE
            found = list(self._segmentation.segments(rest, whole=whole))
            stop = self._stop(db, segments, found, rest, upto)
            if stop is not None:
                return _Walk(segments, *stop, read)
            if whole:
                return _Walk(segments, None, met=True, read=read)
            rest = rest[sum(map(len, found)) :]
            place = (page[-1].at, page[-1].id + 1)

    def _stop(
        self,
        db: Connection,
        segments: list[list[Material]],
        found: Sequence[list[Material]],
        rest: Sequence[Material],
        upto: float,
    ) -> tuple[Place, bool] | None:
        """Append what was found up to where the walk may end: at an old cut beyond the news, or after a slice."""
        after = list(_following(found, rest))
        old = deriving_rows.stretches(db, [p.id for p in after if p is not None and p.at > upto])
        for segment, following in zip(found, after, strict=True):
            segments.append(segment)
            if following is None:
                continue
            if following.id in old and following.at > upto:
                return following.place, True
            if _is_long(segments, following):
                return following.place, False
        return None

    def _compared(
        self, db: Connection, walk: _Walk, held: Sequence[HeldEpisode], now: float, *, anew: bool
    ) -> Regrouping:
        """What has to be written, where the new segments differ from what is held."""
        owner = {id_: one for one in held for id_ in one.paragraphs}
        free = {one.id: one for one in held}
        drafts: list[EpisodeDraft] = []
        for i, segment in enumerate(walk.segments):
            parts = {owner[p.id].id: owner[p.id] for p in segment if p.id in owner}
            if not anew and _is_same(segment, list(parts.values())):
                free = {id_: one for id_, one in free.items() if id_ not in parts}
                continue
            finished = i + 1 < len(walk.segments) or walk.end is not None
            drafts.append(rules_draft(db, segment, self._model_due(segment, now, finished)))
        return _assigned(drafts, free)

    def _model_due(self, segment: Sequence[Material], now: float, finished: bool) -> float | None:
        if not self._has_model or len(segment) < self._settings.model_min_paragraphs:
            return None
        return now if finished else now + self._settings.model_quiet_minutes * 60


def _first(news: Sequence[News]) -> News:
    """The first news, with all that overlap it."""
    first = news[0]
    for one in news[1:]:
        if one.since <= first.upto:
            first = News(first.id, first.since, max(first.upto, one.upto), first.anew or one.anew)
    return first


def _answered(news: Sequence[News], span: News, end: Place | None) -> Iterator[int]:
    """Those that the span was made of, and those that the walk has passed on its way."""
    for one in news:
        if one.since <= span.upto or ((end is None or one.upto < end[0]) and (span.anew or not one.anew)):
            yield one.id


def _following(found: Sequence[list[Material]], rest: Sequence[Material]) -> Iterator[Material | None]:
    """What comes after each segment."""
    at = 0
    for segment in found:
        at += len(segment)
        yield rest[at] if at < len(rest) else None


def _is_long(segments: Sequence[list[Material]], following: Material) -> bool:
    """Whether so much has been walked that it may end here, and work taken up from here begins further on than now."""
    walked = sum(map(len, segments))
    if walked < SLICE:
        return False
    earlier = sum(p.at < following.at for segment in segments for p in segment)
    return earlier - BLOCK >= len(segments[0])


def _is_same(segment: Sequence[Material], parts: Sequence[HeldEpisode]) -> bool:
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


def _assigned(drafts: Sequence[EpisodeDraft], free: dict[int, HeldEpisode]) -> Regrouping:
    """Give each draft the row of the episode that it goes on from: of the same beginning, or else of most paragraphs."""
    rows = dict(free)
    chosen: dict[int, HeldEpisode] = {}
    for i, one in _by_likeness(drafts, free):
        if i not in chosen and one.id in rows:
            chosen[i] = rows.pop(one.id)
    changed = [(one.id, drafts[i]) for i, one in chosen.items() if not _says_the_same(one, drafts[i])]
    asked = [one.id for i, one in chosen.items() if drafts[i].model_due is not None and _says_the_same(one, drafts[i])]
    inserts = [draft for i, draft in enumerate(drafts) if i not in chosen]
    return Regrouping(tuple(changed), tuple(inserts), tuple(rows), tuple(asked))


def _by_likeness(drafts: Sequence[EpisodeDraft], free: dict[int, HeldEpisode]) -> Iterator[tuple[int, HeldEpisode]]:
    """(place of a draft, an episode that shares a paragraph with it), the most alike first."""
    owner = {id_: one for one in free.values() for id_ in one.paragraphs}
    pairs: dict[tuple[int, int], int] = {}
    for i, draft in enumerate(drafts):
        for id_ in draft.paragraphs:
            if id_ in owner:
                key = (i, owner[id_].id)
                pairs[key] = pairs.get(key, 0) + 1

    def likeness(pair: tuple[int, int]) -> tuple[bool, int, int, int]:
        i, row = pair
        return drafts[i].paragraphs[0] != free[row].paragraphs[0], -pairs[pair], i, row

    yield from ((i, free[row]) for i, row in sorted(pairs, key=likeness))


def _says_the_same(one: HeldEpisode, draft: EpisodeDraft) -> bool:
    return (
        one.paragraphs == draft.paragraphs
        and (one.scope, one.stretch, one.segmented_by) == (draft.scope, draft.stretch, draft.segmented_by)
        and (one.event_start, one.event_end) == (draft.event_start, draft.event_end)
        and (one.title, one.summary) == (draft.title, draft.summary)
        and (one.participants, one.keywords) == (draft.participants, draft.keywords)
    )
