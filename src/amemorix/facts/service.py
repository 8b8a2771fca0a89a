"""The deriving of facts: the change log says which paragraphs moved, rules read them, the ledger settles what they say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from ..background.change_follower import for_ever
from ..clock import Clock
from ..config.model import Facts, Profile
from ..indexes.projections import Indexes
from ..language.normalise import content_hash, fold
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import undo_records
from ..store.time_zones import TimeZones
from . import evidence as fact_evidence
from . import material as fact_material
from . import rows as fact_rows
from .authority import CORRECTION, HEARSAY, PERSON_FACT, SUMMARISED, corrected, own, standing_of
from .context_lines import FactLines
from .dedup import Candidate, MemUpdateChecker, UpdateAction, UpdateDecision
from .language.rules import LAST, Claim, Reader, read_facts, statement
from .language.slots import STATEMENT, slot_of
from .ledger import UNDO_KIND, Change, FactLedger, Said, snapshot
from .material import FactMaterial, PersonThere
from .rows import FactGroup, FactRow, Transition
from .timeline import ANY

__all__ = ["CURSOR", "SCAN", "FactService", "group_of"]

log = logging.getLogger(__name__)
CURSOR, SCAN = "facts_upto", "facts_scan"
STEP = 100
"""Changes taken up at a time: the writer is held for some tens of milliseconds at most."""
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
ABOUT = 3
MOST_READ, MOST_STATEMENTS = 1_000, 64
"""Facts of a person that are read to find statements, and statements that a new one is compared with: the newest."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """A claim about a person, with the authority it has."""

    person: int
    claim: Claim
    authority: str
    confidence: float
    decision: UpdateDecision | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a paragraph says; one that is gone says nothing."""

    paragraph: FactMaterial
    heard: tuple[_Heard, ...]
    takes_back: tuple[int, frozenset[str]] | None = None
    """A line before it that was a joke, and the kinds of news in it."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What the changes from `cursor` up to `upto` come to; with `scan` every paragraph is read, up to that one."""

    cursor: int
    upto: int
    scan: tuple[str | None, str | None]
    readings: tuple[_Reading, ...]
    named: frozenset[int] = frozenset()
    """Paragraphs in which a name became known: what they were read as saying of others no longer holds."""


class FactService:
    """Keeps facts in step with the paragraphs that state them; a crash loses no step and repeats none.

    The place in the change log is stored in the transaction that stores the facts.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Facts,
        profile: Profile,
        clock: Clock,
        zones: TimeZones,
        indexes: Indexes,
        checker: MemUpdateChecker,
        background: Executor,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._zones = zones
        self._indexes = indexes
        self._checker = checker
        self._background = background
        self._ledger = FactLedger(store, profile=profile)
        self._around = FactLines(indexes)
        self._one = asyncio.Lock()

    async def run(self) -> None:
        """Derive for ever; ends when cancelled."""

        async def step() -> bool:
            return self._settings.enabled and await self.step()

        await for_ever(
            step,
            what="reading facts",
            pause=self._settings.poll_interval_seconds,
            idle_share=IDLE_SHARE,
            gives_way=lambda: self._store.importing,
        )

    async def drain(self) -> int:
        """Derive until nothing is left to do; returns how many steps that took."""
        steps = 0
        while self._settings.enabled and await self.step():
            steps += 1
        return steps

    async def step(self) -> bool:
        """Take up the next changes; False if there are none."""
        async with self._one:
            loop = asyncio.get_running_loop()
            work = await loop.run_in_executor(self._background, self._store.read_here, self._read)
            if work is None:
                return False
            work = await self._checked(work)
            await self._store.write(lambda db: self._keep(db, work))
            return True

    async def at_rest(self) -> None:
        """Wait until what was read before this call has been stored."""
        async with self._one:
            pass

    def lag(self, db: Connection) -> int:
        """Changes not taken up yet."""
        return change_log.bounds(db)[1] - self._cursor(db)

    def cursor(self, db: Connection) -> int:
        """How far the change log has been read; unlimited while facts are switched off."""
        return self._cursor(db) if self._settings.enabled else 1 << 62

    def _cursor(self, db: Connection) -> int:
        return int(change_log.get(db, CURSOR) or 0)

    # reading

    def _read(self, db: Connection) -> _Step | None:
        cursor = self._cursor(db)
        floor, last = change_log.bounds(db)
        scan = change_log.get(db, SCAN)
        if cursor < floor or scan:
            return self._scanned(db, cursor, last, scan)
        if cursor >= last:
            return None
        upto, ids, named = fact_material.changed(db, cursor, STEP)
        return _Step(cursor, upto if upto > cursor else last, (scan, scan), self._readings(db, ids), named)

    def _scanned(self, db: Connection, cursor: int, last: int, scan: str | None) -> _Step:
        """The log no longer reaches back: every paragraph is read, and the log from where it was when that began."""
        reached, begun = (int(part) for part in (scan or f"0:{last}").split(":"))
        ids = fact_material.paragraphs_after(db, reached, STEP)
        if not ids:
            return _Step(cursor, begun, (scan, ""), ())
        return _Step(cursor, cursor, (scan, f"{ids[-1]}:{begun}"), self._readings(db, ids))

    def _readings(self, db: Connection, ids: Sequence[int]) -> tuple[_Reading, ...]:
        self._indexes.names.catch_up(db)
        persons = fact_material.persons(db, ids)
        found: list[_Reading] = []
        for paragraph in fact_material.material(db, ids):
            self._store.right_of_way.give_way()
            heard = tuple(self._heard(db, paragraph, persons.get(paragraph.id, [])))
            found.append(_Reading(paragraph, heard, self._around.taken_back(db, paragraph)))
        return tuple(found)

    def _heard(self, db: Connection, paragraph: FactMaterial, persons: Sequence[PersonThere]) -> list[_Heard]:
        if not paragraph.live:
            return []
        named = self._around.named(paragraph)
        at = paragraph.recorded_at if paragraph.event_start is None else paragraph.event_start
        if paragraph.source_type in (PERSON_FACT, CORRECTION) and persons and paragraph.kind == "text":
            meant = [person for person in persons if person.role == ABOUT] or persons
            return [h for person in meant for h in self._told(db, paragraph, person.person, named, at)]
        speaker = paragraph.speaker if paragraph.kind == "message" else 0
        how = Reader(at, self._zones.of(paragraph.chat_id), bool(speaker), names=tuple(named), own=bool(speaker))
        other = SUMMARISED if paragraph.kind == "summary" else corrected(paragraph) or HEARSAY
        found = self._around.believed(db, paragraph, read_facts(paragraph.content, how))
        return [
            _Heard(named[claim.who] if claim.who else speaker, claim, *(other if claim.who else own(claim)))
            for claim in found
        ]

    def _told(
        self, db: Connection, paragraph: FactMaterial, person: int, named: dict[str, int], at: float
    ) -> list[_Heard]:
        """What a text says that is about one person; a text that no rule reads is a statement as a whole."""
        standing = corrected(paragraph) or standing_of(paragraph.metadata)
        how = Reader(at, self._zones.of(paragraph.chat_id), first=True, about=True, names=tuple(named))
        found = read_facts(paragraph.content, how)
        whole = paragraph.source_type == PERSON_FACT
        if whole and not found and fact_evidence.read_as(db, paragraph.id, person, STATEMENT) is None:
            found = [statement(paragraph.content, at)]
        return [_Heard(named[claim.who] if claim.who else person, claim, *standing) for claim in found]

    # comparing statements

    async def _checked(self, step: _Step) -> _Step:
        """The step with a decision for each statement, as if they had come one after the other."""
        met: dict[tuple[int, int], list[Candidate]] = {}
        readings: list[_Reading] = []
        for reading in step.readings:
            heard = [await self._compared(reading.paragraph.scope, one, met) for one in reading.heard]
            readings.append(replace(reading, heard=tuple(heard)))
        return replace(step, readings=tuple(readings))

    async def _compared(self, scope: int, heard: _Heard, met: dict[tuple[int, int], list[Candidate]]) -> _Heard:
        claim = heard.claim
        if claim.attribute != STATEMENT:
            return heard
        key = (heard.person, scope)
        if key not in met:
            met[key] = await self._store.read(lambda db: self._statements(db, *key))
        if any(one.key == claim.norm for one in met[key]):
            return heard
        decision = await self._checker.check(claim.value, met[key])
        if decision.action is UpdateAction.SKIP and decision.target:
            claim = replace(claim, norm=decision.target.key)
        else:
            if decision.merged:
                claim = replace(claim, value=decision.merged, norm=content_hash(fold(decision.merged)))
            gone = decision.target.key if decision.target else ""
            met[key] = [Candidate(claim.norm, claim.value), *(one for one in met[key] if one.key != gone)]
        return replace(heard, claim=claim, decision=decision)

    def _statements(self, db: Connection, person: int, scope: int) -> list[Candidate]:
        rows = fact_rows.current(db, [person], [scope], now=self._clock.now(), limit=MOST_READ)
        return [Candidate(row.norm, row.value) for row in rows if row.attribute == STATEMENT][:MOST_STATEMENTS]

    # keeping

    def _keep(self, db: Connection, step: _Step) -> None:
        """Store a step, unless the kernel that is being replaced was quicker: then it is worked out again."""
        if self._cursor(db) != step.cursor or change_log.get(db, SCAN) != step.scan[0]:
            return
        now = self._clock.now()
        known = fact_rows.groups_of(db, [reading.paragraph.id for reading in step.readings])
        for reading in step.readings:
            at = reading.paragraph.recorded_at
            for heard in reading.heard:
                for meant in self._ending(db, reading.paragraph, heard):
                    self._take(db, reading.paragraph, meant, Change(now, at, "stated"))
            self._take_back(db, reading, now)
        self._misread(db, step, now)
        for group, since in known:
            self._ledger.settle(db, group, Change(now, now, "evidence came or went"), since=since)
        change_log.put(db, CURSOR, str(step.upto))
        if step.scan[1] != step.scan[0]:
            change_log.put(db, SCAN, step.scan[1] or "")

    def _take_back(self, db: Connection, reading: _Reading, now: float) -> None:
        """News that the next line of the same speaker calls a joke were never so."""
        line, kinds = reading.takes_back or (0, frozenset[str]())
        for attribute in sorted(kinds):
            while (fact := fact_evidence.read_as(db, line, reading.paragraph.speaker, attribute)) is not None:
                row = fact_rows.one(db, fact)
                fact_evidence.drop(db, fact, line)
                if row is not None:
                    group = group_of(row.person, row.entity, row.scope, row.attribute, row.norm)
                    self._ledger.settle(db, group, Change(now, now, "it was a joke"))
                    self._ledger.tell(db, group, now, whole=True)

    def _misread(self, db: Connection, step: _Step, now: float) -> None:
        """Take back what was read of persons before it was known that the name means another, or several."""
        meant = {
            reading.paragraph.id: {heard.person for heard in reading.heard}
            for reading in step.readings
            if reading.paragraph.id in step.named and reading.paragraph.live
        }
        for paragraph, fact, person in fact_evidence.hearsay(db, meant):
            row = fact_rows.one(db, fact)
            if person in meant[paragraph] or row is None:
                continue
            group = group_of(row.person, row.entity, row.scope, row.attribute, row.norm)
            fact_evidence.drop(db, fact, paragraph)
            self._ledger.settle(db, group, Change(now, now, "the name means somebody else"))
            self._ledger.tell(db, group, now, whole=True)

    def _ending(self, db: Connection, paragraph: FactMaterial, heard: _Heard) -> list[_Heard]:
        """What is to be taken in: of what only ends something, the denials of what is held."""
        claim = heard.claim
        if not (claim.only_ends or claim.norm == ANY):
            return [heard]
        rows = fact_rows.in_group(db, FactGroup(heard.person, None, paragraph.scope, claim.attribute, None))
        held = [row for row in rows if row.polarity > 0 and row.status in ("active", "conflicted")]
        if claim.norm == ANY and held:
            latest = max(held, key=lambda row: (row.valid_from, row.id))
            return [replace(heard, claim=replace(claim, value=latest.value))]
        if not claim.only_ends:
            return [heard]
        if claim.norm == LAST:
            newest = max((row.valid_from for row in held), default=0.0)
            last = [row for row in held if row.valid_from == newest]
            return [replace(heard, claim=replace(claim, value=row.value, norm=row.norm)) for row in last]
        return [heard] if any(claim.norm in (row.norm, ANY) for row in held) else []

    def _take(self, db: Connection, paragraph: FactMaterial, heard: _Heard, change: Change) -> None:
        claim, decision = heard.claim, heard.decision
        group = group_of(heard.person, None, paragraph.scope, claim.attribute, claim.norm)
        merged = bool(decision and decision.merged)
        said = Said(
            paragraph.id, claim.norm, claim.polarity, claim.value, claim.valid_from, claim.valid_to, heard.authority,
            heard.confidence, merged, claim.told,
        )  # fmt: skip
        reason = decision.reason if decision else change.reason
        if not self._ledger.record(db, group, said, replace(change, reason=reason)) or decision is None:
            return
        if decision.target is not None:
            self._note(db, paragraph, group, decision, replace(change, reason=decision.reason))

    def _note(
        self,
        db: Connection,
        paragraph: FactMaterial,
        group: FactGroup,
        decision: UpdateDecision,
        change: Change,
    ) -> None:
        """Keep what was decided: of a repetition with the fact it repeats, of a completion in the fact's giving way."""
        held = [row for row in fact_rows.in_group(db, group) if row.status in ("active", "conflicted")]
        if not held:
            return
        if decision.action is UpdateAction.SKIP:
            row = held[0]
            detail = snapshot((), (), refute=[[row.id, paragraph.id]])
            undo = undo_records.keep(db, UNDO_KIND, detail, "", change.reason, change.now)
            note = Transition(row.status, row.status, None, undo, "", change.reason, change.at)
            fact_rows.transition(db, row.id, note)
        elif decision.target is not None:
            self._complete(
                db, paragraph, held[0], replace(group, norm=decision.target.key), bool(decision.merged), change
            )

    def _complete(
        self,
        db: Connection,
        paragraph: FactMaterial,
        new: FactRow,
        group: FactGroup,
        merged: bool,
        change: Change,
    ) -> None:
        """The statement of this group gives way to a fuller one, by the decision and not by the rules."""
        rows = [row for row in fact_rows.in_group(db, group) if row.status in ("active", "conflicted")]
        if not rows:
            return
        detail = snapshot(rows, [*rows, new], refute=[[new.id, paragraph.id]])
        undo = undo_records.keep(db, UNDO_KIND, detail, "", change.reason, change.now)
        for row in rows:
            if merged:
                for point in fact_evidence.points(db, [row.id]):
                    fact_evidence.put(db, replace(point, fact=new.id, value=new.value))
            fact_rows.decide(db, _giving_way(row, new, change.at))
            fact_rows.transition(
                db, row.id, Transition(row.status, "superseded", new.id, undo, "", change.reason, change.at)
            )


def _giving_way(row: FactRow, new: FactRow, at: float) -> dict[str, object]:
    return {
        "id": row.id, "status": "superseded", "pinned": 1, "asserted_at": row.asserted_at, "deleted_at": None,
        "valid_to": max(row.valid_from, new.valid_from), "superseded_at": at, "superseded_by": new.id,
    }  # fmt: skip


def group_of(person: int | None, entity: int | None, scope: int, attribute: str, norm: str) -> FactGroup:
    """The facts that a fact of this attribute and value may contradict."""
    single = slot_of(attribute).cardinality == "single"
    return FactGroup(person, entity, scope, attribute, None if single else norm)
