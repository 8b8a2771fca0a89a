"""What a paragraph says: the claims that rules read in it, of whom they are, and how much they count by who said it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC

from ..indexes.projections import Indexes
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from . import rows as fact_rows
from .language.context import is_imagined, is_of_device, leads_to_speaker, shows_person, tells_where
from .language.framing import retracts
from .language.implicit_subject import mentions_somebody
from .language.rules import Claim, Reader, read_facts, statement
from .language.slots import STATEMENT
from .succession import Compared

__all__ = ["Heard", "Paragraph", "ParagraphReader", "Reading"]

PERSON_FACT, CORRECTION = "person_fact", "correction"
TRUST = {
    "manual_confirmed": ("manual", 0.97),
    "server_verified": ("imported", 0.9),
    "trusted_import": ("imported", 0.9),
}
OWN_WORDS, UNNAMED, HEARSAY, SUMMARISED = ("direct_user", 0.9), ("direct_user", 0.75), ("rule", 0.7), ("summary", 0.6)
"""(authority, confidence) of a speaker's own words, less sure where they do not say of whom, and of what others say."""
NOT_THE_PERSON = ("bot", "assistant", "model", "summary", "llm", "inferred")
"""What an `evidence_source` begins with that is not the person's own words."""
ABOUT = 3
"""How a person is bound to a text that is about them."""
LINES, WITHIN_SECONDS = 3, 1_800.0
"""Lines before one that names nobody in which somebody may have been brought in, and how old they may be."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph as facts are read from it; one that does not live says nothing."""

    id: int
    scope: int
    kind: str
    speaker: int
    source_type: str
    event_start: float | None
    recorded_at: float
    content: str
    metadata: str
    live: int
    chat_id: str

    @property
    def at(self) -> float:
        """When it was said."""
        return self.recorded_at if self.event_start is None else self.event_start

    @property
    def corrected(self) -> tuple[str, float] | None:
        """The standing of a statement that was stored to correct what was held, as the one who corrected it gave it."""
        if self.source_type != CORRECTION:
            return None
        authority = json.loads(self.metadata).get("authority")
        return TRUST["manual_confirmed"] if authority == "manual" else OWN_WORDS if authority == "direct_user" else None

    @property
    def handed_over(self) -> tuple[str, float]:
        """The standing of a fact that a caller hands over; a person's own words are not doubted."""
        given = json.loads(self.metadata)
        trust, source = str(given.get("trust", "")), str(given.get("evidence_source", "")).strip().lower()
        if trust in TRUST:
            return TRUST[trust]
        return OWN_WORDS if source and not source.startswith(NOT_THE_PERSON) else SUMMARISED


@dataclass(frozen=True, slots=True)
class Heard:
    """A claim about a person, and what became of it when statements were compared."""

    person: int
    claim: Claim
    authority: str
    confidence: float
    compared: tuple[Compared, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What a paragraph says."""

    paragraph: Paragraph
    heard: tuple[Heard, ...]
    takes_back: tuple[int, frozenset[str]] | None = None
    """The line before it of the same speaker that it calls a joke, and the kinds of news there that name nobody."""


class ParagraphReader:
    """Reads paragraphs by the names that are known and the lines around them."""

    def __init__(self, store: MetadataStore, *, indexes: Indexes, zones: TimeZones) -> None:
        self._right_of_way = store.right_of_way
        self._indexes = indexes
        self._zones = zones

    def read(self, db: Connection, ids: Sequence[int]) -> tuple[Reading, ...]:
        """What the paragraphs say, by row."""
        self._indexes.names.catch_up(db)
        persons: dict[int, list[tuple[int, int]]] = {}  # paragraph -> (person, role), who said it first
        for paragraph, person, role in db.run("fact_persons_of", ids=array(ids)):
            persons.setdefault(paragraph, []).append((person, role))
        found: list[Reading] = []
        for paragraph in [Paragraph(*row) for row in db.run("fact_material", ids=array(ids))]:
            self._right_of_way.give_way()
            heard = tuple(self._heard(db, paragraph, persons.get(paragraph.id, [])))
            found.append(Reading(paragraph, heard, self._taken_back(db, paragraph)))
        return tuple(found)

    def _heard(self, db: Connection, paragraph: Paragraph, persons: Sequence[tuple[int, int]]) -> Iterator[Heard]:
        if not paragraph.live:
            return
        meant = self._names_in(paragraph.content, paragraph.scope)
        named = {name: next(iter(rows)) for name, rows in meant if len(rows) == 1}
        zone, names = self._zones.of(paragraph.chat_id), tuple(named)
        if paragraph.source_type in (PERSON_FACT, CORRECTION) and persons and paragraph.kind == "text":
            standing = paragraph.corrected or paragraph.handed_over
            about = Reader(paragraph.at, zone, first=True, about=True, names=names)
            for person in [person for person, role in persons if role == ABOUT] or [person for person, _ in persons]:
                claims = read_facts(paragraph.content, about)
                whole = not claims and paragraph.source_type == PERSON_FACT
                if whole and fact_rows.read_as(db, paragraph.id, person, STATEMENT) is None:
                    claims = [statement(paragraph.content, paragraph.at)]  # no rule reads it
                yield from (Heard(named[one.who] if one.who else person, one, *standing) for one in claims)
            return
        speaker = paragraph.speaker if paragraph.kind == "message" else 0
        how = Reader(paragraph.at, zone, bool(speaker), names=names, own=bool(speaker))
        of_others = SUMMARISED if paragraph.kind == "summary" else paragraph.corrected or HEARSAY
        for claim in self._believed(db, paragraph, read_facts(paragraph.content, how)):
            own = UNNAMED if claim.unnamed else OWN_WORDS
            yield Heard(named[claim.who] if claim.who else speaker, claim, *(of_others if claim.who else own))

    # the lines around

    def _believed(self, db: Connection, paragraph: Paragraph, claims: list[Claim]) -> list[Claim]:
        """The claims without those that may be of something else, or were a joke, by the lines around."""
        if not any(_is_loose(claim) for claim in claims):
            return claims
        after = db.run("fact_just_after", id=paragraph.id, limit=LINES, seconds=WITHIN_SECONDS)  # the oldest first
        mine = [content for content, speaker, _ in after if speaker == paragraph.speaker]
        if mine and retracts(mine[0]):
            return [claim for claim in claims if not _is_loose(claim)]
        # (line, whether somebody else said it) right before, the newest first; the speaker's own name is 你 or 我
        lines: list[tuple[str, bool]] = []
        own = frozenset({paragraph.speaker})
        for content, speaker, _ in _just_before(db, paragraph):
            for name, meant in self._names_in(content, paragraph.scope):
                if meant == own and len(name) > 1:
                    content = content.replace(name, "我" if speaker == paragraph.speaker else "你")
            lines.append((content, speaker != paragraph.speaker))
        of_pet = not any(is_imagined(line) or is_of_device(line) for line, _ in lines[:1])
        unnamed = any(claim.unnamed for claim in claims) and self._is_of_speaker(paragraph, lines)
        return [
            claim
            for claim in claims
            if (unnamed or not claim.unnamed) and (of_pet or not (claim.only_ends and claim.attribute == "pet"))
        ]

    def _is_of_speaker(self, paragraph: Paragraph, lines: Sequence[tuple[str, bool]]) -> bool:
        """Whether news that name nobody are the speaker's own: something has to show it."""
        start = lines[:1] if lines and not lines[0][1] and tells_where(lines[0][0]) else lines
        for line, by_other in start:
            others = [name for name, _ in self._names_in(line, paragraph.scope)]
            if is_imagined(line) or mentions_somebody(line, others, by_other=by_other):
                return False
        before, by_other = lines[0] if lines else ("", False)
        return shows_person(paragraph.content, before) or (bool(lines) and leads_to_speaker(before, by_other=by_other))

    def _taken_back(self, db: Connection, paragraph: Paragraph) -> tuple[int, frozenset[str]] | None:
        if not (paragraph.live and paragraph.speaker and paragraph.kind == "message" and retracts(paragraph.content)):
            return None
        for content, speaker, row in _just_before(db, paragraph):
            if speaker == paragraph.speaker:
                names = tuple(name for name, rows in self._names_in(content, paragraph.scope) if len(rows) == 1)
                claims = read_facts(content, Reader(paragraph.recorded_at, UTC, True, names=names, own=True))
                return row, frozenset(claim.attribute for claim in claims if _is_loose(claim))
        return None

    def _names_in(self, content: str, scope: int) -> list[tuple[str, frozenset[int]]]:
        """Names in a text, the longest first, each with the persons that it can mean in a chat."""
        directory, chats = self._indexes.names.index, (0, scope)
        spoken = (name.removesuffix("'s").removesuffix("’s") for name in directory.find(content, chats).names)
        return [(name, directory.matching(name, chats)) for name in sorted(spoken, key=len, reverse=True)]


def _just_before(db: Connection, paragraph: Paragraph) -> list[tuple[str, int, int]]:
    """(content, speaker, row) of the messages before one in its chat, the newest first."""
    return db.run("fact_just_before", id=paragraph.id, limit=LINES, seconds=WITHIN_SECONDS).fetchall()


def _is_loose(claim: Claim) -> bool:
    return claim.unnamed or claim.only_ends
