"""The reading of paragraphs: the gate, windows of time, whole rows, and what the memory held at another time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...sorted_arrays import distinct
from ..ports import Connection, Rows
from ..queries import array, optional_array
from ..records import SPEAKER
from .retention import Retention

__all__ = ["ParagraphRow", "PersonOf", "Revision", "Visible", "speaker_of", "ids_in"]

Scopes = Sequence[int] | None


@dataclass(frozen=True, slots=True)
class Visible:
    """What ranking needs of rows that may be seen, in columns by ascending id."""

    ids: NDArray[np.int64]
    speaker: NDArray[np.int64]
    """0 where nobody is known to have said it."""
    flags: NDArray[np.int64]
    event_start: NDArray[np.float64]
    """Epoch seconds, NaN for what is undated."""
    strength: NDArray[np.float64]
    """How much of it was left at `anchor_at`, 0..1."""
    anchor_at: NDArray[np.float64]
    """Epoch seconds; infinity for what does not fade."""

    @classmethod
    def of(cls, rows: Sequence[tuple[int, int, int, float | None, float, float]]) -> Visible:
        """From rows in any order."""
        ids, speaker, flags, start, strength, anchor = zip(*rows, strict=True) if rows else ((), (), (), (), (), ())
        return cls(
            np.array(ids, np.int64),
            np.array(speaker, np.int64),
            np.array(flags, np.int64),
            np.array([np.nan if at is None else at for at in start], np.float64),
            np.array(strength, np.float64),
            np.array(anchor, np.float64),
        )._sorted()

    def join(self, other: Visible) -> Visible:
        """Both, which have no row in common."""
        if not len(other.ids):
            return self
        return Visible(
            np.concatenate([self.ids, other.ids]),
            np.concatenate([self.speaker, other.speaker]),
            np.concatenate([self.flags, other.flags]),
            np.concatenate([self.event_start, other.event_start]),
            np.concatenate([self.strength, other.strength]),
            np.concatenate([self.anchor_at, other.anchor_at]),
        )._sorted()

    def touched(self, by_id: Mapping[int, Retention]) -> Visible:
        """With what is left of those that use or a hand has touched; what is pinned does not fade."""
        if not by_id:
            return self
        strength, anchor = self.strength.copy(), self.anchor_at.copy()
        for id_, kept in by_id.items():
            at = np.searchsorted(self.ids, id_)
            strength[at], anchor[at] = kept.strength, np.inf if kept.pinned else kept.anchor_at
        return replace(self, strength=strength, anchor_at=anchor)

    def _sorted(self) -> Visible:
        order = np.argsort(self.ids, kind="stable")
        return Visible(
            self.ids[order], self.speaker[order], self.flags[order], self.event_start[order], self.strength[order],
            self.anchor_at[order],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParagraphRow:
    """A whole paragraph; times in epoch seconds."""

    id: int
    external_id: str
    revision: int
    position: int
    chat_id: str
    source: str
    source_type: str
    kind: str
    speaker: int
    event_start: float | None
    event_end: float | None
    recorded_at: float
    content_hash: bytes
    content: str
    tags: str
    metadata: str
    scope: int
    knowledge: str
    """`factual`, `narrative` or `quote`; empty for what is short or said in a chat."""


@dataclass(frozen=True, slots=True)
class PersonOf:
    """A person a paragraph is bound to, by the name used there, in the role SPEAKER, PARTICIPANT or ABOUT."""

    person_id: str
    name: str
    role: int


@dataclass(frozen=True, slots=True)
class Revision:
    """A wording that was current at another time; `terms` is its term blob."""

    id: int
    event_start: float | None
    terms: bytes


def gate(db: Connection, ids: NDArray[np.int64], scopes: Scopes, now: float) -> Visible:
    """Those of the ids that are alive, current, unexpired and in scope."""
    values = {"ids": array(ids.tolist()), "scopes": optional_array(scopes), "now": now}
    return Visible.of(db.run("gate", **values).fetchall() if len(ids) else [])


def newest_texts(db: Connection, scopes: Scopes, now: float, limit: int) -> list[str]:
    """What was stored last and may be seen."""
    if scopes is None:
        return [
            row[0] for row in db.run("newest_texts_everywhere", after=highest(db) - 2 * limit, now=now, limit=limit)
        ]
    return [row[0] for row in db.run("newest_texts", scopes=array(scopes), now=now, limit=limit)]


def contents(db: Connection, ids: Iterable[int]) -> dict[int, str]:
    return dict(db.run("paragraph_contents", ids=array(ids)).fetchall())


def current(db: Connection, ids: Iterable[int]) -> set[int]:
    """Those of the paragraphs that are alive and current."""
    return {row[0] for row in db.run("paragraphs_current", ids=array(ids))}


def full(db: Connection, ids: Iterable[int], *, replaced: bool = False) -> dict[int, ParagraphRow]:
    """Those of the paragraphs that are alive and current, or were."""
    rows = db.run("paragraphs_full", ids=array(ids), replaced=replaced)
    return {row[0]: ParagraphRow(*row) for row in rows}


def shown(db: Connection, ids: Iterable[int], scopes: Scopes, now: float) -> dict[int, ParagraphRow]:
    """Those of the paragraphs that are alive, current, unexpired and in scope."""
    rows = db.run("paragraphs_shown", ids=array(ids), scopes=optional_array(scopes), now=now)
    return {row[0]: ParagraphRow(*row) for row in rows}


def persons(db: Connection, ids: Iterable[int]) -> dict[int, list[PersonOf]]:
    """Paragraph -> persons, who said it first."""
    found: dict[int, list[PersonOf]] = {}
    for paragraph, *person in db.run("paragraph_persons_of", ids=array(ids)):
        found.setdefault(paragraph, []).append(PersonOf(*person))
    return found


def speaker_of(persons: Iterable[PersonOf]) -> str:
    """The name of who said it, empty if nobody is known to have."""
    return next((one.name for one in persons if one.role == SPEAKER), "")


def entity_norms(db: Connection, ids: Iterable[int]) -> dict[int, list[tuple[int, str]]]:
    """Paragraph -> (entity it is linked to, one of the normalised names that this goes by)."""
    found: dict[int, list[tuple[int, str]]] = {}
    for paragraph, entity, norm in db.run("paragraph_entity_norms", ids=array(ids)):
        found.setdefault(paragraph, []).append((entity, norm))
    return found


def relations(db: Connection, ids: Collection[int]) -> dict[int, dict[int, tuple[int, str, int]]]:
    """Paragraph -> (subject, predicate, object) of each relation that it supports."""
    found: dict[int, dict[int, tuple[int, str, int]]] = {}
    for paragraph, relation, *said in db.run("paragraph_relations_of", ids=array(ids)) if ids else ():
        found.setdefault(paragraph, {})[relation] = (said[0], said[1], said[2])
    return found


def of_persons(db: Connection, persons: Iterable[int]) -> NDArray[np.int64]:
    """Sorted ids of the paragraphs bound to any of these persons."""
    return _ids(db.run("paragraphs_by_person", persons=array(persons)))


def of_sources(db: Connection, sources: Iterable[int]) -> NDArray[np.int64]:
    """Sorted ids of the paragraphs of these sources, dead ones included."""
    return _ids(db.run("paragraphs_by_sources", sources=array(sources)))


def tagged(db: Connection, tags: Collection[str]) -> NDArray[np.int64]:
    """Sorted ids of the paragraphs of documents that have all of these tags, dead ones included."""
    return _ids(db.run("paragraphs_tagged", tags=array(set(tags)), count=len(set(tags))))


def recent_of(db: Connection, person: int, scopes: Scopes, now: float, limit: int) -> NDArray[np.int64]:
    """Sorted ids of the newest paragraphs bound to a person."""
    values = {"person": person, "scopes": optional_array(scopes), "now": now, "limit": limit}
    return np.unique(np.array([row[0] for row in db.run("recent_by_person", **values)], np.int64))


def in_window(db: Connection, start: float, end: float, scopes: Scopes) -> NDArray[np.int64]:
    """Sorted ids of the dated paragraphs whose time meets [start, end]."""
    values: dict[str, Any] = {"start": start, "end": end, "scopes": optional_array(scopes)}
    name = "paragraphs_in_window" if scopes is None else "paragraphs_in_window_scoped"
    points = _ids(db.run(name, **values))
    intervals = _ids(db.run("intervals_over_start", **values))
    return distinct(np.concatenate([points, intervals])) if len(intervals) else points


def in_scopes(db: Connection, scopes: Sequence[int]) -> NDArray[np.int64]:
    """Sorted ids of every paragraph of these scopes, dead ones included."""
    return _ids(db.run("paragraphs_in_scopes", scopes=array(scopes)))


def newest_in_window(db: Connection, start: float, end: float, scopes: Scopes, now: float, limit: int) -> list[int]:
    """Ids of the dated paragraphs whose time meets [start, end], the newest first."""
    name = "newest_in_window_everywhere" if scopes is None else "newest_in_window"
    return [row[0] for row in db.run(name, start=start, end=end, scopes=optional_array(scopes), now=now, limit=limit)]


def newest_begun(db: Connection, start: float, end: float, scopes: Scopes, limit: int) -> list[int]:
    """Ids of the paragraphs whose time begins in [start, end], the newest first."""
    name = "newest_begun_everywhere" if scopes is None else "newest_begun"
    return [row[0] for row in db.run(name, start=start, end=end, scopes=optional_array(scopes), limit=limit)]


def evidence(
    db: Connection,
    entities: Iterable[int],
    scopes: Scopes,
    now: float,
    limit: int,
    among: Sequence[int] | None = None,
) -> list[tuple[int, int, bool]]:
    """(entity, paragraph, whether the text holds the entity's name) of links that may be seen, to any or `among` these."""
    values = {"entities": array(entities), "scopes": optional_array(scopes), "now": now, "limit": limit}
    return db.run("evidence_of_entities", **values, among=optional_array(among)).fetchall()


def links(db: Connection, entities: Iterable[int], most: int) -> dict[int, NDArray[np.int64]]:
    """Entity -> the paragraphs linked to it, seen or not; without entities that are linked to more than `most`."""
    rows = db.run("links_of_entities", entities=array(entities), most=most)
    return {entity: ids_in(joined) for entity, joined in rows}


def rarely_linked(db: Connection, entities: Collection[int], most: int) -> list[int]:
    """Those of the entities that are linked to no more paragraphs than `most`, seen or not."""
    return (
        []
        if not entities
        else [row[0] for row in db.run("entities_rarely_linked", entities=array(entities), most=most)]
    )


def entities_of(db: Connection, ids: Iterable[int]) -> list[tuple[int, int]]:
    """(paragraph, entity) of the links of these paragraphs."""
    return db.run("entities_of_paragraphs", ids=array(ids)).fetchall()


def relations_of(
    db: Connection, entities: Collection[int], scopes: Scopes, now: float, limit: int
) -> list[tuple[int, int, int, float]]:
    """(relation, subject, object, weight) of the newest relations of these entities that a paragraph supports which may be seen."""
    values = {"entities": array(entities), "scopes": optional_array(scopes), "now": now, "limit": limit}
    return db.run("relations_of", **values).fetchall() if entities else []


def highest(db: Connection) -> int:
    """The last row given out."""
    return db.run("highest_paragraph").fetchone()[0]


def live_count(db: Connection) -> int:
    """Paragraphs that are alive and current."""
    return db.run("live_paragraph_count").fetchone()[0]


def current_at(db: Connection, as_of: float, scopes: Scopes) -> NDArray[np.int64]:
    """Sorted ids of the current paragraphs that were recorded by then and had happened by then."""
    name = "paragraphs_as_of" if scopes is None else "paragraphs_as_of_scoped"
    found = db.run(name, as_of=as_of, scopes=optional_array(scopes)).fetchone()[0]
    return np.sort(np.array([int(id_) for id_ in found.split(",")] if found else [], np.int64))


def replaced(db: Connection, as_of: float, scopes: Scopes, now: float, limit: int) -> list[Revision]:
    """Wordings that were current then and have been replaced since, the newest first."""
    values = {"as_of": as_of, "scopes": optional_array(scopes), "now": now, "limit": limit}
    return [Revision(*row) for row in db.run("revisions_as_of", **values)]


def ids_in(joined: str | None) -> NDArray[np.int64]:
    """The ids of a `group_concat`: one text is read many times faster than as many rows."""
    return np.fromstring(joined or "", np.int64, sep=",")


def _ids(cursor: Rows) -> NDArray[np.int64]:
    """The same of the one row there is, sorted and distinct."""
    return distinct(ids_in(cursor.fetchone()[0]))
