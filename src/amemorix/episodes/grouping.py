"""What has become of a source's episodes, worked out where it has changed and no further, and described by rules."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..config.model import Episode
from ..language.extractive_summary import LINE_CHARS, cut, keywords, telling, title
from ..language.normalise import term_hashes, tokens, unpack_terms
from ..language.times import format_day
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.paragraphs import PersonOf, speaker_of
from . import rows as episode_rows
from .rows import BEGINNING, EpisodeDraft, Material, News, Place, Regrouping

__all__ = ["TITLE_CHARS", "Derived", "Persons", "derive", "segments", "times_of", "words_of"]

BLOCK = 6
"""Paragraphs compared on each side of a possible change of topic."""
COMPARED_AT_ONCE = 128
"""Places compared in one go: a table of so many paragraphs by their words stays small."""
TITLE_CHARS = 120
MOST_LINES, SUMMARY_CHARS = 10, 800
"""Lines of a summary, and their characters where they are chosen by their words."""
Persons = Mapping[int, Sequence[PersonOf]]
"""Paragraph -> persons bound to it."""
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


def derive(db: Connection, source: int, now: float, settings: Episode, zone: tzinfo, *, has_model: bool) -> Derived:
    """The next piece of work in this source: from just before its earliest news until the new cuts meet the old ones.

    Empty if it has no news.
    """
    news = episode_rows.news(db, source)
    if not news:
        return Derived()
    if db.run("source_type_of", source=source).fetchone()[0] in settings.disabled_source_types:
        gone = tuple(episode_rows.held(db, source, BEGINNING, None))
        return Derived(tuple(one.id for one in news), work=Regrouping(removed=gone))
    span = news[0]
    for one in news[1:]:
        if one.since <= span.upto:
            span = News(span.id, span.since, max(span.upto, one.upto), span.anew or one.anew)
    begin = BEGINNING
    if span.since > -math.inf:
        begin = episode_rows.place_before(db, source, span.since, BLOCK, now)
    walk = _walked(db, source, begin, span.upto, now, settings)
    held = episode_rows.held(db, source, begin, walk.end)
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
        drafts.append(_rules_draft(db, segment, model_due, zone))
    # those that the span was made of, and those that the walk has passed on its way
    end = math.inf if walk.end is None else walk.end[0]
    answered = [n.id for n in news if n.since <= span.upto or (n.upto < end and (span.anew or not n.anew))]
    return Derived(tuple(answered), left, _assigned(drafts, held), walk.read)


@dataclass(slots=True)
class _Walk:
    """Segments from a place up to, and without, `end` (None: the end of the source); `met`: the rest is as before."""

    segments: list[list[Material]] = field(default_factory=list[list[Material]])
    end: Place | None = None
    met: bool = True
    read: int = 0


def _walked(db: Connection, source: int, begin: Place, upto: float, now: float, settings: Episode) -> _Walk:
    """Segments up to an old cut beyond the news, or after a slice."""
    walk = _Walk()
    rest: list[Material] = []
    place = begin
    while True:
        page = episode_rows.material(db, source, place, PAGE, now)
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
            # so much has been walked that it may end here, and work taken up from here begins further on than now
            long = sum(map(len, walk.segments)) >= SLICE and (
                sum(p.at < following.at for some in walk.segments for p in some) - BLOCK >= len(walk.segments[0])
            )
            if met or long:
                walk.end, walk.met = following.place, met
                return walk
        if whole:
            return walk
        rest = rest[sum(map(len, found)) :]
        place = (page[-1].at, page[-1].id + 1)


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


def _rules_draft(db: Connection, segment: Sequence[Material], model_due: float | None, zone: tzinfo) -> EpisodeDraft:
    """A stretch described by its own words: the lines that tell what is kept of somebody, then those that tell the most."""
    texts = [" ".join(paragraph.content.split()) for paragraph in segment]
    ids = [paragraph.id for paragraph in segment]
    words, persons = keywords(texts), paragraph_rows.persons(db, ids)
    names = {person.name for found in persons.values() for person in found}
    weight = dict[int, float](db.run("episode_statement_lines", ids=array(ids)).fetchall())
    kept = heapq.nlargest(MOST_LINES, (i for i, id_ in enumerate(ids) if id_ in weight), key=lambda i: weight[ids[i]])
    others = [i for i in range(len(ids)) if i not in kept]
    room = SUMMARY_CHARS - sum(min(LINE_CHARS, len(texts[i])) for i in kept)
    more = telling([texts[i] for i in others], words, MOST_LINES - len(kept), room, names)
    shown = sorted([*kept, *(others[i] for i in more)])
    heading = title([texts[i] for i in shown] or texts, words, names)
    start, end = times_of(segment)
    return EpisodeDraft(
        scope=segment[0].scope,
        stretch=segment[0].id,
        title=heading,
        summary="\n".join(
            _told(speaker_of(persons.get(ids[i], ())), segment[i].event_start, texts[i], zone) for i in shown
        ),
        event_start=start,
        event_end=end,
        participants=tuple(dict.fromkeys(p.person_id for found in persons.values() for p in found)),
        keywords=tuple(words),
        paragraphs=tuple(ids),
        terms=words_of((heading, *words)),
        model_due=model_due,
    )


def _told(speaker: str, at: float | None, text: str, zone: tzinfo) -> str:
    """A line of a summary: who said it, on which day, and what."""
    day = "" if at is None else format_day(at, zone)
    who = f"{speaker} ({day}): " if speaker and day else f"{speaker or day}: " if speaker or day else ""
    return who + cut(text)


def times_of(segment: Sequence[Material]) -> tuple[float | None, float | None]:
    """When the dated ones among the paragraphs begin and end; None if none is."""
    starts = [p.event_start for p in segment if p.event_start is not None]
    ends = [p.event_end for p in segment if p.event_end is not None]
    return min(starts, default=None), max(ends, default=None)


def words_of(texts: Iterable[str]) -> tuple[int, ...]:
    """Ascending distinct hashes of the words of these texts."""
    return tuple(sorted({int(term) for term in term_hashes(tokens(" ".join(texts)))}))


def segments(material: Sequence[Material], settings: Episode, *, whole: bool = True) -> Iterator[list[Material]]:
    """Cut ordered paragraphs where the scope changes, at long pauses, at changes of topic, and when a stretch gets too long.

    A change of topic is a place where the words of the last paragraphs and of the next have little in common
    (lexical cohesion, after TextTiling: Hearst 1997). From the start of any stretch on, the cuts are a function of what
    follows; whether there is one at a place hangs on the `BLOCK` paragraphs on each side of it. If more paragraphs
    follow (not `whole`), only the stretches that are certain come out.
    """
    run: list[Material] = []
    for paragraph in material:
        if run:
            pause = paragraph.at - (run[-1].event_end or run[-1].at)
            if paragraph.scope != run[-1].scope or pause > settings.gap_hours * 3600:
                yield from _by_topic(run, settings, ended=True)
                run = []
        run.append(paragraph)
    if run:
        yield from _by_topic(run, settings, ended=whole)


def _by_topic(run: Sequence[Material], settings: Episode, *, ended: bool) -> Iterator[list[Material]]:
    shifts: set[int] = set()
    if settings.topic_shift > 0:
        for first in range(0, len(run) - 2 * BLOCK + 1, COMPARED_AT_ONCE):
            likeness = _likeness(run[first : first + COMPARED_AT_ONCE + 2 * BLOCK - 1])
            shifts.update((np.flatnonzero(likeness < settings.topic_shift) + first + BLOCK).tolist())
    start = 0
    for at in range(1, len(run) if ended else len(run) - BLOCK + 1):
        if at - start >= settings.max_paragraphs or (at - start >= BLOCK and at in shifts):
            yield list(run[start:at])
            start = at
    if ended:
        yield list(run[start:])


def _likeness(run: Sequence[Material]) -> NDArray[np.float32]:
    """For each place with `BLOCK` paragraphs on both sides, the cosine of the two blocks' term counts.

    Without the terms of every paragraph of both: the date's words are such.
    """
    total = np.cumsum(_table(run), axis=0)
    zero = np.zeros((1, total.shape[1]), np.float32)
    total = np.concatenate([zero, total])
    held = np.concatenate([zero, np.cumsum(np.diff(total, axis=0) > 0, axis=0, dtype=np.float32)])
    left, right = total[BLOCK:-BLOCK] - total[: -2 * BLOCK], total[2 * BLOCK :] - total[BLOCK:-BLOCK]
    somewhere_missing = held[2 * BLOCK :] - held[: -2 * BLOCK] < 2 * BLOCK
    left, right = left * somewhere_missing, right * somewhere_missing
    norm = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    return np.divide(np.einsum("ij,ij->i", left, right), norm, out=np.ones_like(norm), where=norm > 0)


def _table(run: Sequence[Material]) -> NDArray[np.float32]:
    """How often each paragraph holds each term, shape (paragraphs, terms)."""
    terms = [unpack_terms(paragraph.terms) for paragraph in run]
    rows = np.repeat(np.arange(len(run)), [len(hashes) for hashes, _ in terms])
    known, columns = np.unique(np.concatenate([hashes for hashes, _ in terms]), return_inverse=True)
    table = np.zeros((len(run), len(known)), np.float32)
    np.add.at(table, (rows, columns), np.concatenate([counts for _, counts in terms]))
    return table
