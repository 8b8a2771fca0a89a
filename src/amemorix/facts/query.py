"""Facts as callers see them: of one person, at one time, or as far as a query asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from ..ids import fact_key, paragraph_key
from ..language.normalise import fold
from ..lazy_regex import lazy_regex
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entity_names
from . import rows as fact_rows
from .language.questions import read_question
from .language.slots import slot_of
from .rows import FactRow, Moment
from .timeline import Point, timeline

__all__ = ["FIRST_PERSON", "Asked", "FactItem", "FactReader", "Moment"]

MOST = 500
"""Facts of the persons asked for that are looked through, the newest."""
ABOUT, WORD, DENIED = 2.0, 1.0, 0.001
"""What it counts that a query asks for an attribute, that it holds a word of a value, and that the value is denied."""
FIRST_PERSON = lazy_regex(r"我(?!们)|\b(?:i|my|me|mine)\b", re.I)


class FactItem(BaseModel, defer_build=True):
    """What is known of a person or an entity; times in epoch seconds."""

    id: str
    person_id: str = ""
    person: str = Field(default="", description="The person's name.")
    entity: str = Field(default="", description="The entity's name, of a fact about one.")
    attribute: str = Field(
        description="Such as `residence`, `allergy`, `favourite:颜色`; `statement` for a whole text."
    )
    value: str
    denied: bool = Field(default=False, description="True: it is known not to be so (not allergic, does not like).")
    status: str = Field(description="`active`, `conflicted`, `superseded` or `retracted`; with `as_of` as it was then.")
    conflicts_with: list[str] = Field(default_factory=list, description="Facts among these that contradict it.")
    authority: str = Field(description="`manual`, `direct_user`, `imported`, `summary`, `rule` or `model`.")
    stability: str
    confidence: float
    valid_from: float
    valid_to: float | None = None
    recorded_at: float
    superseded_at: float | None = None
    superseded_by: str = ""
    chat_id: str = Field(default="", description="The chat that may see it; empty for everyone.")
    evidence_ids: list[str] = Field(default_factory=list, description="Paragraphs that state it.")


@dataclass(frozen=True, slots=True)
class Asked:
    """Of whom a query asks, and in which words."""

    text: str
    persons: tuple[int, ...]
    bare: str
    """The text without the names."""


class FactReader:
    """Reads facts within the scopes given."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    def of(
        self, db: Connection, persons: Iterable[int], scopes: Sequence[int] | None, moment: Moment,
        entities: Iterable[int] = (),
    ) -> list[FactRow]:  # fmt: skip
        """What is held true of these persons and entities, the newest first; with the status of that time."""
        return self.current(db, fact_rows.held(db, persons, scopes, moment, entities=entities, limit=MOST), moment)

    def current(self, db: Connection, rows: list[FactRow], moment: Moment) -> list[FactRow]:
        """Those of the facts that count: where they are of several chats, what one says later, on no less authority,
        counts instead of the other."""
        if len({row.scope for row in rows}) < 2:
            return rows
        of = {row.id: row for row in rows}
        said = [
            replace(p, until=None)
            for p in fact_rows.points(db, of)
            if moment.as_of is None or (p.at if p.told is None else p.told) <= moment.as_of
        ]
        # one of which nothing is left, or that a hand gave, counts from its start
        without = of.keys() - {point.fact for point in said}
        said += [
            Point(row.id, 0, row.valid_from, row.norm, row.polarity, row.value, row.authority, row.confidence)
            for row in rows
            if row.id in without or row.asserted_at is not None
        ]
        groups: dict[tuple[int | None, int | None, str], list[Point]] = {}
        for point in said:
            row = of[point.fact]
            groups.setdefault((row.person, row.entity, row.attribute), []).append(point)
        kept: set[int] = set()
        for (_, _, attribute), points in groups.items():
            runs = timeline(points, slot_of(attribute).compatible)
            kept |= {run.points[-1].fact for run in runs if run.status != "superseded"}
        return [row for row in rows if row.id in kept]

    def oneself(self, db: Connection, user_id: str, scopes: Sequence[int] | None) -> frozenset[int]:
        """Who a user is that no person is called by: whoever speaks alone in the user's private chats within sight."""
        chats = [row for row in self._store.names.chats_of(db, "", user_id) if scopes is None or row in scopes]
        speakers = db.run("fact_lone_speakers", scopes=array(chats)).fetchall()
        return frozenset({speakers[0][0]}) if len(speakers) == 1 else frozenset()

    def recall(
        self, db: Connection, asked: Asked, scopes: Sequence[int] | None, moment: Moment, limit: int
    ) -> list[FactItem]:
        """The facts that a query asks for; none if it names nobody that a fact is about."""
        entities = dict[int, str](db.run("fact_entities_named", text=fold(asked.text)).fetchall())
        if not limit or not (asked.persons or entities):
            return []
        bare = asked.bare
        for name in entities.values():
            bare = re.sub(re.escape(name), " ", bare, flags=re.I)
        rows = self.of(db, asked.persons, scopes, moment, entities)
        question = read_question(bare)

        def relevance(row: FactRow) -> float:
            """How much the query asks for this fact: by its attribute, and by the words of its value."""
            if question.of_everything:
                return WORD
            is_denied = row.polarity < 0
            score = ABOUT * question.asks_for(row.attribute, denied=is_denied) + WORD * question.share(row.value)
            return score - DENIED * is_denied if score > 0 else 0.0

        scored = [(relevance(row), row) for row in rows]
        best = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], -pair[1].valid_from))
        return self.items(db, [row for _, row in best[:limit]], moment, scopes)

    def items(
        self, db: Connection, rows: Sequence[FactRow], moment: Moment, scopes: Sequence[int] | None
    ) -> list[FactItem]:
        """Facts with the names that these chats know (None: every one), evidence and conflicts."""
        if not rows:
            return []
        persons = _person_names(db, {row.person for row in rows if row.person is not None}, scopes)
        spoken_of = {row.entity for row in rows if row.entity is not None}
        entities = entity_names.shown(db, spoken_of, scopes)
        chats = dict[int, str](db.run("fact_scope_chats", ids=array({row.scope for row in rows})).fetchall())
        evidence = fact_rows.evidence_of(db, [row.id for row in rows], moment.now, moment.as_of)
        items: list[FactItem] = []
        for row in rows:
            person_id, name = persons.get(row.person or 0, ("", ""))
            # what was known of its end at the time
            known = moment.as_of is None or row.superseded_at is None or row.superseded_at <= moment.as_of
            successor = row.superseded_by if known and row.status == "superseded" else None
            items.append(
                FactItem(
                    id=fact_key(row.id),
                    person_id=person_id,
                    person=name,
                    entity=entities.get(row.entity or 0, ""),
                    attribute=row.attribute,
                    value=row.value,
                    denied=row.polarity < 0,
                    status=row.status,
                    conflicts_with=[fact_key(other.id) for other in rows if row.conflicts_with(other)],
                    authority=row.authority,
                    stability=row.stability,
                    confidence=row.confidence,
                    valid_from=row.valid_from,
                    valid_to=row.valid_to if known else None,
                    recorded_at=row.recorded_at,
                    superseded_at=row.superseded_at if known else None,
                    superseded_by=fact_key(successor) if successor else "",
                    chat_id=chats.get(row.scope, ""),
                    evidence_ids=[
                        paragraph_key(e.paragraph)
                        for e in evidence.get(row.id, ())
                        if e.stance == "support" or row.status == "retracted"
                    ],
                )
            )
        return items


def _person_names(db: Connection, ids: Iterable[int], scopes: Sequence[int] | None) -> dict[int, tuple[str, str]]:
    """Person row -> (id, the name by which these chats met them last, the id where they never did)."""
    known = {row: (key, name) for row, key, name in db.run("fact_person_names", ids=array(ids))}
    if scopes is None:
        return known
    called: dict[int, list[str]] = {}
    for row, name in db.run("fact_person_names_seen", ids=array(known), scopes=array(scopes)):
        called.setdefault(row, []).append(name)
    for row, names in called.items():
        name = names[0]
        if len(set(names)) > 1:
            values = {"person": row, "names": array(names), "scopes": array(scopes)}
            newest = db.run("fact_person_name_newest", **values).fetchone()
            name = newest[0] if newest else name
        called[row] = [name]
    return {row: (key, called.get(row, [""])[0] or key) for row, (key, _) in known.items()}
