"""The deriving of facts: the change log says which paragraphs moved, rules read them, the ledger settles what they say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from functools import partial

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Facts
from ..indexes.projections import Indexes
from ..language.normalise import content_hash, fold
from ..ports import Embedder
from ..store import changes as change_log
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import undo_records
from . import rows as fact_rows
from .dedup import Candidate, MemUpdateChecker, UpdateAction
from .language.slots import STATEMENT
from .ledger import UNDO_KIND, Change, FactLedger, snapshot
from .reading import LAST, Heard, Paragraph, ParagraphReader, Reading
from .rows import FactGroup, Moment, Transition
from .timeline import ANY, Point

__all__ = ["CURSOR", "SCAN", "FactService"]

CURSOR, SCAN = "facts_upto", "facts_scan"
STEP = 100
"""Changes taken up at a time: the writer is held for some tens of milliseconds at most."""
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
MOST_READ, MOST_STATEMENTS = 1_000, 64
"""Facts of a person that are read to find statements, and statements that a new one is compared with: the newest."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What the changes from `cursor` up to `upto` come to; with `scan` every paragraph is read, up to that one."""

    cursor: int
    upto: int
    scan: tuple[str | None, str | None]
    readings: tuple[Reading, ...]
    named: frozenset[int] = frozenset()
    """Paragraphs in which a name became known: what they were read as saying of others no longer holds."""


class FactService(ChangeFollower):
    """Keeps facts in step with the paragraphs that state them."""

    def __init__(
        self, store: MetadataStore, *, settings: Facts, clock: Clock, zones: TimeZones,
        indexes: Indexes, embedder: Callable[[], Embedder | None], checker: MemUpdateChecker, background: Executor,
    ) -> None:  # fmt: skip
        super().__init__(
            store, background=background, what="reading facts", pause=settings.poll_interval_seconds,
            idle_share=IDLE_SHARE, cursor_key=CURSOR, enabled=settings.enabled,
        )  # fmt: skip
        self._clock = clock
        self._reader = ParagraphReader(store, indexes=indexes, zones=zones, embedder=embedder)
        self._checker = checker
        self._ledger = FactLedger()

    async def _advance(self) -> bool:
        return await self._follow(wait=True)

    async def _drain_step(self) -> bool:
        async with self._one:
            return await self._follow(wait=False)

    async def _follow(self, *, wait: bool) -> bool:
        """Read the next changes; with `wait` not before their vectors are there."""
        work = await self._read_aside(partial(self._read, wait=wait))
        if work is None:
            return False
        work = await self._checked(work)
        await self._store.write(lambda db: self._keep(db, work))
        return True

    # reading

    def _read(self, db: Connection, *, wait: bool) -> _Step | None:
        cursor = self.position(db)
        floor, last = change_log.bounds(db)
        scan = change_log.get(db, SCAN)
        if cursor < floor or scan:
            # the log no longer reaches back: every paragraph is read, and the log from where it was when that began
            reached, begun = (int(part) for part in (scan or f"0:{last}").split(":"))
            ids = [row[0] for row in db.run("fact_paragraphs_after", after=reached, limit=STEP)]
            if not ids:
                return _Step(cursor, begun, (scan, ""), ())
            readings = self._reader.read(db, ids, wait=wait)
            return None if readings is None else _Step(cursor, cursor, (scan, f"{ids[-1]}:{begun}"), readings)
        if cursor >= last:
            return None
        rows = db.run("fact_changes", cursor=cursor, limit=STEP).fetchall()
        named = frozenset(row[1] for row in rows if row[2])
        readings = self._reader.read(db, sorted({row[1] for row in rows}), wait=wait)
        return None if readings is None else _Step(cursor, rows[-1][0] if rows else last, (scan, scan), readings, named)

    # comparing statements

    async def _checked(self, step: _Step) -> _Step:
        """The step with a decision for each statement, as if they had come one after the other."""
        met: dict[tuple[int, int], list[Candidate]] = {}
        readings: list[Reading] = []
        for reading in step.readings:
            scope = reading.paragraph.scope
            heard: list[Heard] = []
            for one in reading.heard:
                if one.claim.attribute != STATEMENT:
                    heard.append(one)
                    continue
                key = (one.person, scope)
                if key not in met:
                    met[key] = await self._store.read(partial(self._statements, person=one.person, scope=scope))
                compared, met[key] = await self._compared(one, met[key])
                heard.append(compared)
            readings.append(replace(reading, heard=tuple(heard)))
        return replace(step, readings=tuple(readings))

    def _statements(self, db: Connection, person: int, scope: int) -> list[Candidate]:
        rows = fact_rows.held(db, [person], [scope], Moment(self._clock.now()), limit=MOST_READ)
        return [Candidate(row.norm, row.value) for row in rows if row.attribute == STATEMENT][:MOST_STATEMENTS]

    async def _compared(self, heard: Heard, known: list[Candidate]) -> tuple[Heard, list[Candidate]]:
        """The statement with what is decided on it, and the statements that are known then."""
        claim = heard.claim
        if any(one.key == claim.norm for one in known):
            return heard, known
        decision = await self._checker.check(claim.value, known)
        if decision.action is UpdateAction.SKIP and decision.target:
            claim = replace(claim, norm=decision.target.key)
        else:
            if decision.merged:
                claim = replace(claim, value=decision.merged, norm=content_hash(fold(decision.merged)))
            gone = decision.target.key if decision.target else ""
            known = [Candidate(claim.norm, claim.value), *(one for one in known if one.key != gone)]
        return replace(heard, claim=claim, decision=decision), known

    # keeping

    def _keep(self, db: Connection, step: _Step) -> None:
        """Store a step, unless the kernel that is being replaced was quicker: then it is worked out again."""
        if self.position(db) != step.cursor or change_log.get(db, SCAN) != step.scan[0]:
            return
        now = self._clock.now()
        known = db.run("fact_groups_of", ids=array(reading.paragraph.id for reading in step.readings)).fetchall()
        for reading in step.readings:
            for heard in reading.heard:
                for meant in self._ending(db, reading.paragraph, heard):
                    self._take(db, reading.paragraph, meant, now)
            # news that this line calls a joke was never so
            line, kinds = reading.takes_back or (0, frozenset[str]())
            for attribute in sorted(kinds):
                while (fact := fact_rows.read_as(db, line, reading.paragraph.speaker, attribute)) is not None:
                    self._drop(db, fact, line, Change(now, now, "it was a joke"))
        # what was read of persons before it was known that the name means another, or several
        meant = {
            reading.paragraph.id: {heard.person for heard in reading.heard}
            for reading in step.readings
            if reading.paragraph.id in step.named and reading.paragraph.live
        }
        for paragraph, fact, person in db.run("fact_hearsay_of", ids=array(meant)).fetchall():
            if person not in meant[paragraph] and fact_rows.one(db, fact) is not None:
                self._drop(db, fact, paragraph, Change(now, now, "the name means somebody else"))
        for *group, since in known:  # those of facts that rest on these paragraphs, or gave way to them
            self._ledger.settle(db, FactGroup(*group), Change(now, now, "evidence came or went"), since=since)
        change_log.put(db, CURSOR, str(step.upto))
        if step.scan[1] != step.scan[0]:
            change_log.put(db, SCAN, step.scan[1] or "")

    def _drop(self, db: Connection, fact: int, paragraph: int, change: Change) -> None:
        row = fact_rows.one(db, fact)
        db.run("fact_evidence_drop", fact=fact, paragraph=paragraph)
        if row is not None:
            self._ledger.settle(db, row.group, change)

    def _ending(self, db: Connection, paragraph: Paragraph, heard: Heard) -> list[Heard]:
        """What is to be taken in: of what only ends something, the denials of what is held."""
        claim = heard.claim
        if not (claim.only_ends or claim.norm == ANY):
            return [heard]
        rows = fact_rows.in_group(db, FactGroup(heard.person, None, paragraph.scope, claim.attribute, None))
        held = [row for row in rows if row.polarity > 0 and row.is_held]
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

    def _take(self, db: Connection, paragraph: Paragraph, heard: Heard, now: float) -> None:
        """Take in a claim, unless this paragraph was read so before."""
        claim, decision = heard.claim, heard.decision
        group = FactGroup.of(heard.person, None, paragraph.scope, claim.attribute, claim.norm)
        key = asdict(group) | {"paragraph": paragraph.id, "norm": claim.norm, "polarity": claim.polarity}
        if db.run("fact_said_before", **key).fetchone() is not None:
            return
        said = Point(
            0, paragraph.id, claim.valid_from, claim.norm, claim.polarity, claim.value, heard.authority,
            heard.confidence, claim.valid_to, claim.told, claim.sentence,
        )  # fmt: skip
        change = Change(now, paragraph.recorded_at, decision.reason if decision else "stated")
        merged = decision is not None and bool(decision.merged)
        self._ledger.settle(db, group, change, [said], merged=merged)
        if decision is None or decision.target is None:
            return
        held = [row for row in fact_rows.in_group(db, group) if row.is_held]
        if not held:
            return
        new, refute = held[0], [[held[0].id, paragraph.id]]
        if decision.action is UpdateAction.SKIP:
            # a repetition is kept with the fact it repeats
            undo = undo_records.keep(db, UNDO_KIND, snapshot((), (), refute=refute), "", change.reason, now)
            note = Transition(new.status, new.status, None, undo, "", change.reason, change.at)
            fact_rows.transition(db, new.id, note)
            return
        # a completed statement gives way by the decision, and not by the rules
        rows = [row for row in fact_rows.in_group(db, replace(group, norm=decision.target.key)) if row.is_held]
        if not rows:
            return
        undo = undo_records.keep(db, UNDO_KIND, snapshot(rows, [*rows, new], refute=refute), "", change.reason, now)
        for row in rows:
            if merged:
                for point in fact_rows.points(db, [row.id]):
                    fact_rows.put_evidence(db, replace(point, fact=new.id, value=new.value))
            state = replace(
                row, status="superseded", pinned=1, valid_to=max(row.valid_from, new.valid_from),
                superseded_at=change.at, superseded_by=new.id,
            )  # fmt: skip
            fact_rows.decide(db, state)
            note = Transition(row.status, state.status, new.id, undo, "", change.reason, change.at)
            fact_rows.transition(db, row.id, note)
