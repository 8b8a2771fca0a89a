"""What a paragraph says: the sentences that are worth keeping, as claims of whom they are about and how much they count by who said it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

import numpy as np

from ..errors import ModelUnavailable
from ..indexes.projections import Indexes
from ..language.normalise import clean_text
from ..language.person_names import is_word
from ..language.times import asks_something, is_question
from ..lazy_regex import lazy_regex
from ..ports import Embedder
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, shown_json
from ..store.records import ABOUT
from ..store.rows import embeddings as embedding_rows
from .classifier import Floats, Judgement, classifier
from .clauses import clauses
from .language.sentences import dated, retracts, sentences, spans
from .language.slots import SLOTS, STATEMENT, slot_of
from .language.typed_values import TypedValue, kin, typed_values
from .rows import statement_norm
from .sentence_vectors import SentenceVectors
from .succession import Compared, reschedules, tells_of_change
from .timeline import ANY

__all__ = ["LAST", "Claim", "Heard", "Paragraph", "ParagraphReader", "Reading", "whole_statement"]

PERSON_FACT, CORRECTION = "person_fact", "correction"
TRUST = {
    "manual_confirmed": ("manual", 0.97),
    "server_verified": ("imported", 0.9),
    "trusted_import": ("imported", 0.9),
}
OWN_WORDS, HEARSAY, SUMMARISED = ("direct_user", 0.9), ("rule", 0.7), ("summary", 0.6)
"""(authority, confidence) of a speaker's own words, and of what others say."""
NOT_THE_PERSON = ("bot", "assistant", "model", "summary", "llm", "inferred")
"""What an `evidence_source` begins with that is not the person's own words."""
LINES, WITHIN_SECONDS = 3, 1_800.0
"""Lines around one that may belong to it, and how far away they may be."""
LAST = "^"
"""The norm of a denial of whichever value was told last."""
PLAN_SECONDS = 60 * 86_400.0
"""A plan for no named time is one for so long."""
ENDED_LONG_AGO = 62 * 86_400.0
"""Until so long after the time that an end names, what was last said to hold may have been said since."""
TYPED_LEAST, EXPLICIT_LEAST = 0.3, 0.05
"""How durable a sentence has to be at least for a typed value to count, and for one whose clause names whom it is of; of
UNMISTAKABLE ones it need not be."""
UNMISTAKABLE = frozenset({"name", "nickname", "birthday", "phone", "email"})
KIND_OF = {
    "name": "identity", "nickname": "identity", "birthday": "identity", "phone": "identity", "email": "identity",
    "residence": "home", "hometown": "home", "workplace": "work", "occupation": "work", "school": "work", "allergy": "health",
    "avoids": "preference", "diet": "preference", "spouse": "relation", "partner": "relation", "child": "relation", "pet": "possession",
}  # fmt: skip
ANSWERED = frozenset({"work", "home", "health", "identity", "relation", "possession"})
"""The kinds of questions whose short answers are statements."""
SHORT_ANSWER = 40
LINES_OF_SPEAKER, NEAREST_LINES = 400, 8
"""The last lines of a speaker among which those are looked for that are most like a line, and how many are taken."""
TENTATIVE_LEAST = 0.05
"""How durable a line has to be at least for another to be news of it."""
_FIRST = lazy_regex(r"我|俺|本人|\b(?:i|i'm|i've|i'd|i'll|my|me|mine|we|our|us)\b", re.I)
_QUOTED = lazy_regex(r"[「『“\"].*[」』”\"]\W*$")
_THIRD = lazy_regex(r"(?<![吉其])[他她]|\b(?:he|she|they|his|her|their)\b", re.I)
_TO_YOU = lazy_regex(r"[你您](?!们)|\b(?:you|your|u)\b", re.I)
_CHANGE = lazy_regex(
    r"搬|入职|加入|跳槽|换到|去了|到了|起|开始|以来|\b(?:moved|moving|relocated|joined|started|became|got|quit|left|lost|since|married|adopted)\b",
    re.I,
)
"""What tells that it has been so from a time on, and not that it was so at that time."""
_VOCATIVE = r"(?:[,，!！:：]|\s+(?=[\u3400-\u9fff]))"


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement as one text makes it; times in epoch seconds."""

    who: str
    """The name of whom it is about; empty for the speaker, or whom the text is about."""
    attribute: str
    value: str
    norm: str
    polarity: int
    valid_from: float
    valid_to: float | None = None
    told: float | None = None
    """Of one that names its own start: up to when it vouches for it. A change lasts until it is told."""
    only_ends: bool = False
    """It means something only where what it denies is held."""
    kind: str = ""
    importance: float = 0.5
    sentence: str = ""
    """The whole sentence, where the value is a part of it."""
    only_as_news: bool = False
    """It says nothing lasting by itself: it is worth keeping where it is news of what was said before."""


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
    def is_handed_over(self) -> bool:
        """Whether a caller gave it as a fact about somebody."""
        return self.source_type in (PERSON_FACT, CORRECTION) and self.kind == "text"

    @property
    def corrected(self) -> tuple[str, float] | None:
        """The standing of a statement that was stored to correct what was held, as the one who corrected it gave it."""
        if self.source_type != CORRECTION:
            return None
        authority = shown_json(self.metadata).get("authority")
        return TRUST["manual_confirmed"] if authority == "manual" else OWN_WORDS if authority == "direct_user" else None

    @property
    def handed_over(self) -> tuple[str, float]:
        """The standing of a fact that a caller hands over; a person's own words are not doubted."""
        given = shown_json(self.metadata)
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
    """The line before it of the same speaker that it calls a joke, and the attributes that may have been read there."""
    before: tuple[str, ...] = ()
    """What its speaker has said before that is most like it, if it may be news of that."""


class ParagraphReader:
    """Reads paragraphs by the names that are known, the lines around them, and what the classifier makes of each sentence."""

    def __init__(
        self, store: MetadataStore, *, indexes: Indexes, zones: TimeZones, embedder: Callable[[], Embedder | None],
        sentence_vectors: SentenceVectors,
    ) -> None:  # fmt: skip
        self._right_of_way = store.right_of_way
        self._indexes = indexes
        self._zones = zones
        self._embedder = embedder
        self._sentence_vectors = sentence_vectors

    def read(
        self, db: Connection, ids: Sequence[int], *, wait: bool = False, upto: int = 0
    ) -> tuple[Reading, ...] | None:
        """What the paragraphs say, by row; None with `wait` if some of them are about to get their vectors.

        Of what their speakers said before only what is stored up to the row `upto` counts, or up to their own.
        """
        self._indexes.names.catch_up(db)
        persons: dict[int, list[tuple[int, int]]] = {}  # paragraph -> (person, role), who said it first
        for paragraph, person, role in db.run("fact_persons_of", ids=array(ids)):
            persons.setdefault(paragraph, []).append((person, role))
        material = [Paragraph(*row) for row in db.run("fact_material", ids=array(ids))]
        said = [
            [part for line in sentences(one.content, said=one.kind == "message") for part in clauses(line)]
            if one.live
            else []
            for one in material
        ]
        vectors = self._vectors(db, material, said, wait=wait)
        if vectors is None:
            return None
        judged = iter(classifier().read([one for lines in said for one in lines], vectors))
        found: list[Reading] = []
        for paragraph, lines in zip(material, said, strict=True):
            self._right_of_way.give_way()
            pairs = [(line, next(judged)) for line in lines]
            heard = tuple(self._heard(db, paragraph, pairs, persons.get(paragraph.id, [])))
            before: tuple[str, ...] = ()
            if any(one.claim.only_as_news for one in heard):
                before = tuple(self._tentative(db, paragraph, max(upto, paragraph.id)))
            found.append(Reading(paragraph, heard, _taken_back(db, paragraph), before))
        return tuple(found)

    def read_again(self, db: Connection, readings: Sequence[Reading]) -> tuple[Reading, ...]:
        """What was said later than these paragraphs but stored before them, where it may be news of what they say."""
        found: list[Reading] = []
        for one in readings:
            said = one.paragraph
            late = {"id": said.id, "scope": said.scope, "speaker": said.speaker, "at": said.at}
            if said.live and said.speaker and db.run("fact_is_late", **late).fetchone():
                lines = self._lines_like(db, said, said.id, later=True)
                found += self.read(db, [id_ for id_, *_ in lines], upto=said.id) or ()
        return tuple(found)

    # vectors

    def _vectors(
        self, db: Connection, material: Sequence[Paragraph], said: Sequence[Sequence[str]], *, wait: bool
    ) -> list[Floats | None] | None:
        """A vector of each sentence where the classifier's model makes them: a paragraph's own, if it is one sentence."""
        embedder = self._embedder()
        none: list[Floats | None] = [None for lines in said for _ in lines]
        with contextlib.suppress(ModelUnavailable):
            if embedder is None or embedder.info.provider != "local" or embedder.info.model != classifier().model:
                return none
            alone = [one.id for one, lines in zip(material, said, strict=True) if len(lines) == 1]
            stored = self._stored(db, embedder, alone)
            if wait and len(stored) < len(alone):
                return None
            kept: list[Floats | None] = []
            texts: list[str] = []
            for one, lines in zip(material, said, strict=True):
                if len(lines) == 1:
                    vector = stored.get(one.id)
                    kept.append(vector)
                    if vector is None:
                        texts.append(self._indexes.names.index.find(one.content, (one.scope,)).bare or one.content)
                else:
                    kept += [None] * len(lines)
                    texts += lines
            made = iter(self._sentence_vectors.of(embedder, texts))
            return [next(made) if vector is None else vector for vector in kept]
        return none

    def _stored(self, db: Connection, embedder: Embedder, ids: Sequence[int]) -> dict[int, Floats | None]:
        """The vectors that the index has; None for a paragraph that the model failed on."""
        generation = embedding_rows.of_model(db, embedder.info.fingerprint)
        if generation is None:
            return {}
        rows = db.run("fact_vectors", generation=generation.id, ids=array(ids))
        return {id_: np.frombuffer(blob, "<f2").astype(np.float32) if blob else None for id_, blob in rows}

    def _lines_like(
        self, db: Connection, paragraph: Paragraph, upto: int, *, later: bool
    ) -> list[tuple[int, str, Floats | None]]:
        """What the speaker of a paragraph said earlier in its chat, or later, the most like it first: by the vectors that
        are stored, else the last."""
        embedder = self._embedder()
        generation = None
        with contextlib.suppress(ModelUnavailable):
            if embedder is not None and embedder.info.model == classifier().model:
                generation = embedding_rows.of_model(db, embedder.info.fingerprint)
        values = {"id": paragraph.id, "speaker": paragraph.speaker, "scope": paragraph.scope, "at": paragraph.at}
        values |= {
            "upto": upto,
            "later": int(later),
            "limit": LINES_OF_SPEAKER,
            "generation": generation and generation.id,
        }
        lines: list[tuple[int, str, Floats | None]] = [
            (id_, content, np.frombuffer(blob, "<f2").astype(np.float32) if blob else None)
            for id_, content, blob in db.run("fact_lines_of", **values)
        ]
        mine = next((vector for id_, _, vector in lines if id_ == paragraph.id), None)
        others = [line for line in lines if line[0] != paragraph.id]
        if mine is not None:
            others.sort(key=lambda line: (-1.0 if line[2] is None else -float(line[2] @ mine), -line[0]))
        return others[:NEAREST_LINES]

    def _tentative(self, db: Connection, paragraph: Paragraph, upto: int) -> list[str]:
        """The lines most like a paragraph that its speaker said before, as far as they say something of him."""
        lines = self._lines_like(db, paragraph, upto, later=False)
        judged = classifier().read([content for _, content, _ in lines], [vector for *_, vector in lines])
        return [
            content
            for (_, content, _), one in zip(lines, judged, strict=True)
            if one.is_believed and one.kind != "none" and one.durable >= TENTATIVE_LEAST and not is_question(content)
        ]

    # claims

    def _heard(
        self, db: Connection, paragraph: Paragraph, lines: Sequence[tuple[str, Judgement]],
        persons: Sequence[tuple[int, int]],
    ) -> Iterator[Heard]:  # fmt: skip
        if not paragraph.live:
            return
        zone = self._zones.of(paragraph.chat_id)
        named = {
            name: next(iter(rows))
            for name, rows in self._names_in(paragraph.content, paragraph.scope)
            if len(rows) == 1
        }
        if paragraph.is_handed_over and persons:
            standing = paragraph.corrected or paragraph.handed_over
            for person in [person for person, role in persons if role == ABOUT] or [person for person, _ in persons]:
                for claim in _handed_over(paragraph, lines, tuple(named), zone):
                    yield Heard(named[claim.who] if claim.who else person, claim, *standing)
            return
        speaker = paragraph.speaker if paragraph.kind == "message" else 0
        of_others = SUMMARISED if paragraph.kind == "summary" else paragraph.corrected or HEARSAY
        claims: list[Claim] = []
        before: tuple[str, Judgement] | None = None
        for line, judged in lines:
            if not (before and _is_of_third(*before) and not _FIRST.search(line)):
                claims += self._claims(db, paragraph, line, judged, named, zone)
            before = line, judged
        if claims and speaker and self._is_joke(db, paragraph):
            return
        seen: set[tuple[str, str, str]] = set()
        for claim in claims:
            person = named[claim.who] if claim.who else speaker
            if person and (claim.who, claim.attribute, claim.norm) not in seen:
                seen.add((claim.who, claim.attribute, claim.norm))
                yield Heard(person, claim, *(OWN_WORDS if person == speaker else of_others))

    def _claims(
        self, db: Connection, paragraph: Paragraph, line: str, judged: Judgement, named: dict[str, int], zone: tzinfo
    ) -> Iterator[Claim]:
        """What a sentence says of its speaker, or of somebody whom it names as its subject."""
        if is_question(line) or _QUOTED.match(line) or _is_of_third(line):
            return
        names = tuple(named)
        subject = next((name for name in names if _is_subject(name, line)), "")
        who = "" if not subject or named[subject] == paragraph.speaker else subject
        if not who and _names_another(line):
            return
        mine = judged.about != "other" or kin(line) or _FIRST.search(line) or (not judged.is_kept and reschedules(line))
        owned = who or (paragraph.speaker and mine)
        if not owned or (not who and self._goes_on(db, paragraph, line)):
            return
        if not who and not judged.is_kept:
            answer = self._answer(db, paragraph, line, judged)
            if answer is not None:
                yield answer
                return
        yield from _of_sentence(paragraph, line, judged, who, (who,) if who else (), zone)

    def _answer(self, db: Connection, paragraph: Paragraph, line: str, judged: Judgement) -> Claim | None:
        """A short answer to what another has asked its speaker, with the question."""
        if not judged.is_believed or len(line) > SHORT_ANSWER or len(line) < 2 or judged.durable < 0.05:
            return None
        before = _just_before(db, paragraph)[:1]
        if not before or before[0][1] in (0, paragraph.speaker):
            return None
        asked = (sentences(before[0][0]) or [""])[-1]
        if not (asks_something(asked) and _TO_YOU.search(asked)):
            return None
        of = classifier().read([asked])[0]
        if of.kind not in ANSWERED:
            return None
        whole = " ".join(f"“{asked}” {line}".split())
        return _statement(whole, paragraph.at, of.kind, round(replace(of, durable=0.6).importance, 3))

    # the lines around

    def _goes_on(self, db: Connection, paragraph: Paragraph, line: str) -> bool:
        """Whether a line that names nobody goes on about somebody else, of whom the line before it was."""
        if _FIRST.search(line):
            return False
        before = [said for content, _, _ in _just_before(db, paragraph)[:1] for said in sentences(content)[-1:]]
        return any(map(_is_of_third, before, classifier().read(before)))

    def _is_joke(self, db: Connection, paragraph: Paragraph) -> bool:
        """Whether the speaker's next line calls this one a joke."""
        after = db.run("fact_just_after", id=paragraph.id, limit=LINES, seconds=WITHIN_SECONDS)  # the oldest first
        return next((retracts(content) for content, speaker, _ in after if speaker == paragraph.speaker), False)

    def _names_in(self, content: str, scope: int) -> list[tuple[str, frozenset[int]]]:
        """Names in a text, the longest first, each with the persons that it can mean in a chat."""
        directory, chats = self._indexes.names.index, (0, scope)
        spoken = (name.removesuffix("'s").removesuffix("’s") for name in directory.find(content, chats).names)
        return [(name, directory.matching(name, chats)) for name in sorted(spoken, key=len, reverse=True)]


def _handed_over(
    paragraph: Paragraph, lines: Sequence[tuple[str, Judgement]], names: tuple[str, ...], zone: tzinfo
) -> Iterator[Claim]:
    """The typed values of a text about one person, else the whole text."""
    found = False
    for line, judged in lines:
        if judged.is_believed and not is_question(line):
            subject = next((name for name in names if _is_subject(name, line)), "")
            for value in typed_values(line, names=names, about=True):
                found = True
                yield _typed(paragraph, line, judged, value, subject, zone)
    if not found:
        best = max((judged for _, judged in lines), key=lambda one: one.durable, default=None)
        kind = best.kind if best and best.kind != "none" else ""
        yield whole_statement(paragraph.content, paragraph.at, kind=kind)


def _of_sentence(
    paragraph: Paragraph, line: str, judged: Judgement, who: str, names: tuple[str, ...], zone: tzinfo
) -> Iterator[Claim]:
    """The typed values of a sentence that is believed, else the sentence if it is to be kept."""
    if not (judged.is_believed or judged.mode == "joke"):
        return
    typed = [
        value
        for value in typed_values(line, names=names)
        if (
            value.explicit
            or (judged.is_believed and judged.about == "self")
            or (value.attribute == "pet" and value.polarity < 0)
        )
        and (value.attribute in UNMISTAKABLE or judged.durable >= (EXPLICIT_LEAST if value.explicit else TYPED_LEAST))
    ]
    claims = [_typed(paragraph, line, judged, value, who, zone) for value in typed]
    if len({claim.attribute for claim in claims if claim.polarity < 0}) > 1:  # "I left Berlin": the town, or a firm
        claims = [replace(claim, only_ends=claim.polarity < 0) for claim in claims]
    yield from claims
    ending = bool(claims) and judged.is_believed and all(claim.polarity < 0 for claim in claims)
    kept = ending or (judged.is_kept and not claims)
    news = (
        not who and judged.is_believed and (judged.kind != "none" or judged.mode == "change" or tells_of_change(line))
    )
    if kept or (news and not claims):
        named = spans(line, paragraph.at, zone)
        text = dated(line, named, zone) if judged.kind not in ("identity", "habit") else line
        change = judged.mode == "change" or ending
        kind = "" if judged.kind == "none" else judged.kind
        made = _statement(text, paragraph.at, kind, judged.importance, who=who)
        later = max((span.end for _, span in named if span.start > paragraph.at), default=None)
        earlier = min((span.start for _, span in named if span.end < paragraph.at), default=None)
        if kind == "plan":
            made = replace(made, valid_to=later or paragraph.at + PLAN_SECONDS)
        elif earlier is not None and (change or kind == "event"):
            made = replace(made, valid_from=earlier, told=paragraph.at)
        yield replace(made, only_as_news=not kept)


def _typed(paragraph: Paragraph, line: str, judged: Judgement, value: TypedValue, who: str, zone: tzinfo) -> Claim:
    named = spans(line, paragraph.at, zone) if value.attribute not in UNMISTAKABLE else []
    ends = value.polarity < 0
    single = slot_of(value.attribute).cardinality == "single"
    norm = LAST if ends and value.norm == ANY and not single else value.norm
    kind = KIND_OF.get(value.attribute, judged.kind)
    at, told = paragraph.at, None
    past = next((span for _, span in named if span.end < at), None)
    if past is not None and (not ends or at - past.end > ENDED_LONG_AGO):
        at = past.end if ends else past.start
        told = paragraph.at if judged.mode == "change" or _CHANGE.search(line) else at
    return Claim(
        who, value.attribute, value.value, norm, value.polarity, at, None, told, kind=kind,
        only_ends=ends and (norm == LAST or not value.explicit), importance=round(max(judged.importance, 0.6), 3), sentence=dated(line, named, zone),
    )  # fmt: skip


def _statement(text: str, at: float, kind: str, importance: float, *, who: str = "") -> Claim:
    value = " ".join(text.split())
    norm = statement_norm(value)
    return Claim(who, STATEMENT, value, norm, 1, at, kind=kind, importance=importance)


def whole_statement(text: str, at: float, *, kind: str = "") -> Claim:
    """The whole text as a statement; its norm tells nothing of its words."""
    return _statement(clean_text(text), at, kind, 0.5)


def _is_of_third(line: str, judged: Judgement | None = None) -> bool:
    """Whether the sentence is about somebody else, whoever that is."""
    if judged is not None and judged.about == "other":
        return True
    return _THIRD.search(line) is not None and not _FIRST.search(line)


def _names_another(line: str) -> bool:
    """Whether a sentence gives a typed value of somebody who is not known, whose name it begins with: 小美住在上海."""
    if _FIRST.search(line) or typed_values(line):
        return False
    name = re.match(r"[A-Z][\w-]+", line)
    heads = [name[0]] if name else [line[:n] for n in (2, 3) if not line[:n].isascii() and not is_word(line[:n])]
    return any(typed_values(line, names=(head,)) for head in heads)


def _is_subject(name: str, line: str) -> bool:
    """Whether the sentence begins with the name, and not to call them."""
    return re.match(rf"(?:[\W_]|\b(?:and|but|so|well|oh|yes|yeah|no|btw)\b|其实|听说)*{re.escape(name)}(?!{_VOCATIVE})", line, re.I) is not None and not re.match(
        rf"[\W_]*{re.escape(name)}\s*{_VOCATIVE}", line, re.I
    )  # fmt: skip


def _taken_back(db: Connection, paragraph: Paragraph) -> tuple[int, frozenset[str]] | None:
    if not (paragraph.live and paragraph.speaker and paragraph.kind == "message" and retracts(paragraph.content)):
        return None
    mine = (row for _, speaker, row in _just_before(db, paragraph) if speaker == paragraph.speaker)
    row = next(mine, None)
    return None if row is None else (row, frozenset(SLOTS))


def _just_before(db: Connection, paragraph: Paragraph) -> list[tuple[str, int, int]]:
    """(content, speaker, row) of the messages before one in its chat, the newest first."""
    return db.run("fact_just_before", id=paragraph.id, limit=LINES, seconds=WITHIN_SECONDS).fetchall()
