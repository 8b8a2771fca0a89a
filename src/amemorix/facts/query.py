"""Facts as callers see them: of one person, at one time, or as far as a query asks for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from ..ids import fact_key, paragraph_key, row_number
from ..language.normalise import fold
from ..language.times import format_day
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import embeddings as embedding_rows
from ..store.rows import entity_names
from . import rows as fact_rows
from .language.slots import STATEMENT, slot_of
from .oneself import is_of_another
from .recall import ranked, read_question
from .rows import MAYBE_OUTDATED, Evidence, FactRow, Moment
from .succession import judge, said
from .timeline import Point, timeline

__all__ = ["Asked", "FactItem", "FactReader", "Moment", "person_names"]

MOST = 500
"""Facts of the persons asked for that are looked through, the newest."""
NARROWED = 100
"""Facts of which those are chosen that rest on what a search is narrowed to."""
REPEATED = 0.2
"""How much of what is missing to the highest importance each further line that states a fact adds."""
LONG = 200
"""Characters up to which a line is compared as a whole."""


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
    sentence: str = Field(
        default="",
        description="The words in which it was said last, standing alone: `Kevin (2026-03-02): moved to Porto`; of what a "
        "host handed in its text.",
    )
    kind: str = Field(
        default="",
        description="`identity`, `home`, `work`, `relation`, `possession`, `health`, `preference`, `skill`, `habit`, `plan`, "
        "`event` or `opinion`; empty where it is not known.",
    )
    denied: bool = Field(default=False, description="True: it is known not to be so (not allergic, does not like).")
    status: str = Field(
        description="`active`, `maybe_outdated` (something said later may have put an end to it), `conflicted`, `superseded` "
        "or `retracted`; with `as_of` as it was then."
    )
    doubted_by: str = Field(default="", description="Of one that may be outdated: the later fact that says so.")
    conflicts_with: list[str] = Field(default_factory=list, description="Facts among these that contradict it.")
    authority: str = Field(description="`manual`, `direct_user`, `imported`, `summary`, `rule` or `model`.")
    stability: str
    confidence: float
    importance: float = Field(
        default=0.5, description="How much it counts in a profile, 0 to 1; more if it was said again."
    )
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
    hits: tuple[int, ...] = ()
    """Paragraphs that were found for it, the best first."""
    vector: NDArray[np.float32] | None = None
    generation: int = 0
    """The vector of the text without the names, and the generation of vectors that it can be compared with."""
    of_oneself: bool = False
    """Whether the persons ask for themselves."""


class FactReader:
    """Reads facts within the scopes given; days are told in the zones of their chats."""

    def __init__(self, store: MetadataStore, zones: TimeZones) -> None:
        self._store = store
        self._zones = zones

    def of(
        self, db: Connection, persons: Iterable[int], scopes: Sequence[int] | None, moment: Moment,
        entities: Iterable[int] = (), paragraphs: Iterable[int] = (),
    ) -> list[FactRow]:  # fmt: skip
        """What is held true of these persons and entities, the newest first; with the status of that time.

        Of very many what rests on these paragraphs, values of attributes and the newest statements.
        """
        rows = fact_rows.held(db, persons, scopes, moment, entities=entities, paragraphs=paragraphs, limit=MOST)
        return self.current(db, rows, moment)

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
        self, db: Connection, asked: Asked, scopes: Sequence[int] | None, moment: Moment, limit: int,
        within: NDArray[np.int64] | None = None,
    ) -> list[FactItem]:  # fmt: skip
        """The facts that a query asks for; none if it names nobody that a fact is about. With `within` only those that one
        of these paragraphs states, and as those state them."""
        entities = dict[int, str](db.run("fact_entities_named", text=fold(asked.text)).fetchall())
        if not limit or not (asked.persons or entities):
            return []
        bare = asked.bare
        for name in entities.values():
            bare = re.sub(re.escape(name), " ", bare, flags=re.I)
        rows = self.of(db, asked.persons, scopes, moment, entities, asked.hits)
        places = {paragraph: place for place, paragraph in enumerate(asked.hits)}
        resting_on: dict[int, int] = {}
        if places:
            values = {"ids": array(row.id for row in rows), "paragraphs": array(places)}
            for fact, paragraph in db.run("facts_resting_on", **values):
                resting_on[fact] = min(resting_on.get(fact, MOST), places[paragraph])
        before = fact_rows.given_way(db, [row.id for row in rows], MOST) if moment.as_of is None else ()
        near = self._near(db, asked, [row.id for row in (*rows, *before)])
        others = {
            row.id for row in rows if asked.of_oneself and row.attribute == STATEMENT and is_of_another(row.value)
        }
        most = limit if within is None else NARROWED
        wanted = ranked(read_question(bare), rows, before, resting_on, most, near, others)
        items = self.items(db, wanted, moment, scopes, within)[:limit]
        return items if moment.as_of is not None else _doubted(db, items, asked.hits)

    def stating(self, db: Connection, asked: Asked, scopes: Sequence[int] | None, moment: Moment) -> frozenset[int]:
        """The paragraphs that state what the persons are asked for, as a value of an attribute."""
        question = read_question(asked.bare)
        rows = [row.id for row in self.of(db, asked.persons, scopes, moment) if question.names(row)]
        evidence = fact_rows.evidence_of(db, rows, moment.now, moment.as_of).values()
        return frozenset(one.paragraph for found in evidence for one in found if one.stance == "support")

    def _near(self, db: Connection, asked: Asked, facts: Sequence[int]) -> dict[int, float]:
        """Fact -> the cosine of what is asked and the nearest line that it rests on."""
        found: dict[int, float] = {}
        if asked.vector is not None and facts:
            values = {"generation": asked.generation, "ids": array(facts)}
            rows = db.run("facts_with_vectors", **values).fetchall()
            if rows:
                vectors = np.frombuffer(b"".join(blob for _, blob in rows), "<f2").astype(np.float32)
                cosines = vectors.reshape(len(rows), -1) @ asked.vector
                for (fact, _), cosine in zip(rows, cosines.tolist(), strict=True):
                    found[fact] = max(found.get(fact, -1.0), cosine)
        return found

    def items(
        self, db: Connection, rows: Sequence[FactRow], moment: Moment, scopes: Sequence[int] | None,
        within: NDArray[np.int64] | None = None,
    ) -> list[FactItem]:  # fmt: skip
        """Facts with the names that these chats know (None: every one), evidence (of `within` alone) and conflicts."""
        evidence = fact_rows.evidence_of(db, [row.id for row in rows], moment.now, moment.as_of) if rows else {}
        if within is not None:
            stating = [e.paragraph for found in evidence.values() for e in found]
            ours = frozenset(np.intersect1d(within, stating).tolist())
            evidence = {id_: [e for e in found if e.paragraph in ours] for id_, found in evidence.items()}
            rows = [row for row in rows if any(e.stance == "support" for e in evidence.get(row.id, ()))]
        if not rows:
            return []
        persons = person_names(db, {row.person for row in rows if row.person is not None}, scopes)
        spoken_of = {row.entity for row in rows if row.entity is not None}
        entities = entity_names.shown(db, spoken_of, scopes)
        chats = dict[int, str](db.run("fact_scope_chats", ids=array({row.scope for row in rows})).fetchall())
        ids = [row.id for row in rows]
        doubts = {row.id: row.doubted_by for row in rows}
        if moment.as_of is not None:
            then = fact_rows.verdicts(db, ids, moment.as_of)
            doubts = {id_: (then[id_].doubter if id_ in then else None) for id_ in ids}
        rows = [replace(row, doubted_by=doubts[row.id]) for row in rows]
        speakers = {one.speaker for found in evidence.values() for one in found if one.speaker}
        called = person_names(db, speakers, scopes)
        items: list[FactItem] = []
        for row in rows:
            person_id, name = persons.get(row.person or 0, ("", ""))
            # what was known of its end at the time
            known = moment.as_of is None or row.superseded_at is None or row.superseded_at <= moment.as_of
            successor = row.superseded_by if known and row.status == "superseded" else None
            told = [e for e in evidence.get(row.id, ()) if e.stance == "support" or row.status == "retracted"]
            doubter = row.doubted_by if row.shown_status == MAYBE_OUTDATED else None
            items.append(
                FactItem(
                    id=fact_key(row.id),
                    person_id=person_id,
                    person=name,
                    entity=entities.get(row.entity or 0, ""),
                    attribute=row.attribute,
                    value=row.value,
                    sentence=self._sentence(row, told, called, chats),
                    kind=row.kind,
                    denied=row.polarity < 0,
                    status=row.shown_status,
                    doubted_by=fact_key(doubter) if doubter else "",
                    conflicts_with=[fact_key(other.id) for other in rows if row.conflicts_with(other)],
                    authority=row.authority,
                    stability=row.stability,
                    confidence=row.confidence,
                    importance=round(1 - (1 - row.importance) * (1 - REPEATED) ** max(0, len(told) - 1), 3),
                    valid_from=row.valid_from,
                    valid_to=row.valid_to if known else None,
                    recorded_at=row.recorded_at,
                    superseded_at=row.superseded_at if known else None,
                    superseded_by=fact_key(successor) if successor else "",
                    chat_id=chats.get(row.scope, ""),
                    evidence_ids=[paragraph_key(e.paragraph) for e in told],
                )
            )
        return items

    def _sentence(
        self, row: FactRow, told: Sequence[Evidence], called: Mapping[int, tuple[str, str]], chats: Mapping[int, str]
    ) -> str:
        """The newest sentence that states a fact, with who said it and when; of a handed over text the text."""
        if not told or row.merged:
            return row.value
        newest = max(told, key=lambda one: (one.said, one.paragraph))
        name = called.get(newest.speaker, ("", ""))[1]
        if newest.form != "message" or not name:
            return newest.sentence
        day = format_day(newest.said, self._zones.of(chats.get(newest.scope, "")))
        return f"{name} ({day}): {newest.sentence}"


def _doubted(db: Connection, items: list[FactItem], hits: Sequence[int]) -> list[FactItem]:
    """The facts; one is no longer sure where a later line of the person that was found for the same question may have put an
    end to it: another fact, which then stands before it, or a hit that was not worth keeping by itself ("switched to an
    iPhone")."""
    sure = [item for item in items if item.status == "active" and item.person_id and item.evidence_ids]
    if not sure:
        return items
    rests = {item.id: [row_number(key, "p") or 0 for key in item.evidence_ids] for item in items}
    found = array({*hits, *chain(*rests.values())})
    lines = {row[0]: row[1:] for row in db.run("fact_lines_said", ids=found)}
    serving, vectors = embedding_rows.serving(db), dict[int, NDArray[np.float32]]()
    if serving is not None and serving.model == judge().model:
        blobs = db.run("fact_vectors", generation=serving.id, ids=found)
        vectors = {row: np.frombuffer(blob, "<f2").astype(np.float32) for row, blob in blobs if blob}
    for item in sure:
        last = max((row for row in rests[item.id] if row in lines), key=lambda row: lines[row][2], default=0)
        later = [
            row
            for row, (who, text, at) in lines.items()
            if last and who == item.person_id and at > lines[last][2] and len(text) <= LONG
            if is_of_another(text) == is_of_another(lines[last][1])
        ]
        if not later:
            continue
        text = lines[last][1] if len(lines[last][1]) <= LONG else item.value
        known = vectors if text is not item.value and all(row in vectors for row in (last, *later)) else {}
        old, news = said(text, known.get(last)), [said(lines[row][1], known.get(row)) for row in later]
        weights = judge().weights_for(old)
        chances = weights.outdated([(old, one, (item.kind, "")) for one in news])
        if float(chances.max()) < weights.found:
            continue
        item.status = MAYBE_OUTDATED
        newer = next((one for one in items if one is not item and later[int(chances.argmax())] in rests[one.id]), None)
        if newer is not None:
            item.doubted_by = newer.id
            items.remove(newer)
            items.insert(items.index(item), newer)
    return items


def person_names(db: Connection, ids: Iterable[int], scopes: Sequence[int] | None) -> dict[int, tuple[str, str]]:
    """Person row -> (id, the name by which these chats met them last, the id where they never did)."""
    known = {row: (key, name) for row, key, name in db.run("persons_known", ids=array(ids))}
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
