"""The deriving of facts: the change log says which paragraphs moved, rules read them, the ledger settles what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from functools import partial

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Facts
from ..indexes.projections import Indexes
from ..language.normalise import content_hash, fold
from ..language.times import format_day
from ..ports import Embedder
from ..store import changes as change_log
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import undo_records
from . import rows as fact_rows
from .language.slots import STATEMENT
from .ledger import UNDO_KIND, Change, FactLedger, snapshot
from .reading import LAST, Heard, Paragraph, ParagraphReader, Reading
from .rows import FactGroup, Transition
from .sentence_vectors import SentenceVectors
from .succession import Key, MemUpdateChecker, Statement
from .timeline import ANY, Point

__all__ = ["CURSOR", "SCAN", "FactService"]

CURSOR, SCAN = "facts_upto", "facts_scan"
STEP = 100
"""Changes taken up at a time: the writer is held for some tens of milliseconds at most."""
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
MOST_STATEMENTS = 256
"""Statements of a person that a new one is compared with: the newest."""


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
        indexes: Indexes, embedder: Callable[[], Embedder | None], checker: MemUpdateChecker, sentence_vectors: SentenceVectors,
        background: Executor,
    ) -> None:  # fmt: skip
        super().__init__(
            store, background=background, what="reading facts", pause=settings.poll_interval_seconds,
            idle_share=IDLE_SHARE, cursor_key=CURSOR, enabled=settings.enabled,
        )  # fmt: skip
        self._clock = clock
        self._reader = ParagraphReader(
            store, indexes=indexes, zones=zones, embedder=embedder, sentence_vectors=sentence_vectors
        )
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
            readings = self._read_all(db, ids, wait)
            return None if readings is None else _Step(cursor, cursor, (scan, f"{ids[-1]}:{begun}"), readings)
        if cursor >= last:
            return None
        rows = db.run("fact_changes", cursor=cursor, limit=STEP).fetchall()
        named = frozenset(row[1] for row in rows if row[2])
        readings = self._read_all(db, sorted({row[1] for row in rows}), wait)
        return None if readings is None else _Step(cursor, rows[-1][0] if rows else last, (scan, scan), readings, named)

    def _read_all(self, db: Connection, ids: Sequence[int], wait: bool) -> tuple[Reading, ...] | None:
        readings = self._reader.read(db, ids, wait=wait)
        return None if readings is None else (*readings, *self._reader.read_again(db, readings))

    # comparing statements

    async def _checked(self, step: _Step) -> _Step:
        """The step with each statement compared with those of its person and scope, as if they had come one by one."""
        met: dict[tuple[int, int], list[Statement]] = {}
        readings: list[Reading] = []
        for reading in step.readings:
            scope = reading.paragraph.scope
            heard: list[Heard] = []
            for one in _with_closings(reading.heard):
                key = (one.person, scope)
                if key not in met:
                    met[key] = await self._store.read(partial(self._statements, person=one.person, scope=scope))
                compared, known = await self._compared(one, met[key], reading)
                if compared is not None:
                    met[key] = known
                    heard.append(compared)
            readings.append(replace(reading, heard=tuple(heard)))
        return replace(step, readings=tuple(readings))

    def _statements(self, db: Connection, person: int, scope: int) -> list[Statement]:
        rows = db.run("fact_statements", person=person, scope=scope, limit=MOST_STATEMENTS).fetchall()
        known = [Statement(tuple(row[:3]), row[3], row[4], format_day(row[5], UTC), tuple(row[6:])) for row in rows]
        return list({one.key: one for one in reversed(known)}.values())[::-1]

    async def _compared(
        self, heard: Heard, known: list[Statement], reading: Reading
    ) -> tuple[Heard | None, list[Statement]]:
        """The claim with what it has to do with the statements known, and the statements that are known then; None for
        one that would have to be news of something, and is not."""
        claim = heard.claim
        if claim.norm in (ANY, LAST):
            return heard, known
        key = (claim.attribute, claim.norm, claim.polarity)
        at = reading.paragraph.at
        new = Statement(key, claim.sentence or claim.value, claim.kind, format_day(at, UTC), (at, reading.paragraph.id))
        if claim.only_as_news:
            if all(one.key != new.key for one in known):
                earlier = [one for one in known if one.first_said < new.first_said]
                news = await self._checker.news(new, earlier, reading.before)
                return (None, known) if news is None else (replace(heard, compared=news), [new, *known])
            return heard, known
        found = tuple(await self._checker.check(new, [one for one in known if one.key != new.key]))
        repeated = next((one for one in found if one.repeats), None)
        merged = next((one.merged for one in found if one.merged), "")
        if repeated is not None and all(one.key != new.key for one in known):
            claim = replace(claim, norm=repeated.known.key[1])
        elif merged:
            claim = replace(claim, value=merged, norm=content_hash(fold(merged)))
            new = replace(new, key=(claim.attribute, claim.norm, claim.polarity), text=merged)
        if repeated is None:
            known = [new, *(one for one in known if one.key != new.key)]
        return replace(heard, claim=claim, compared=found), known

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
        """Take in a claim, unless this paragraph was read so before, and what it has to do with others."""
        claim, compared = heard.claim, heard.compared
        group = FactGroup.of(heard.person, None, paragraph.scope, claim.attribute, claim.norm)
        key = asdict(group) | {"paragraph": paragraph.id, "norm": claim.norm, "polarity": claim.polarity}
        repeated = next((one for one in compared if one.repeats), None)
        reason = repeated.reason if repeated else next((one.reason for one in compared), "stated")
        change = Change(now, paragraph.recorded_at, reason)
        if db.run("fact_said_before", **key).fetchone() is None:
            said = Point(
                0, paragraph.id, claim.valid_from, claim.norm, claim.polarity, claim.value, heard.authority,
                heard.confidence, claim.valid_to, claim.told, claim.sentence,
            )  # fmt: skip
            merged = any(one.merged for one in compared)
            self._ledger.settle(db, group, change, [said], merged=merged, kind=claim.kind, importance=claim.importance)
            if repeated is not None:
                self._note_repetition(db, group, claim.polarity, paragraph, change)
        self._link(db, (claim.attribute, claim.norm, claim.polarity), heard, paragraph.scope, change)

    def _note_repetition(
        self, db: Connection, group: FactGroup, polarity: int, paragraph: Paragraph, change: Change
    ) -> None:
        """A repetition is kept with the fact that it repeats, which can be undone."""
        held = [row for row in fact_rows.in_group(db, group) if row.is_held and row.polarity == polarity]
        for row in held[:1]:
            detail = snapshot((), (), refute=[[row.id, paragraph.id]])
            undo = undo_records.keep(db, UNDO_KIND, detail, "", change.reason, change.now)
            fact_rows.transition(
                db, row.id, Transition(row.status, row.status, None, undo, "", change.reason, change.at)
            )

    def _link(self, db: Connection, key: Key, heard: Heard, scope: int, change: Change) -> None:
        """Keep what the comparison came to, and let it count."""
        mine = fact_rows.of_key(db, heard.person, scope, key)
        touched = set[int]()
        for one in heard.compared:
            if one.known.key == key:
                continue
            others = fact_rows.of_key(db, heard.person, scope, one.known.key)
            if one.if_later:
                fact_rows.link(db, others, mine, one.if_later, one.reason)
            if one.if_earlier:
                fact_rows.link(db, mine, others, one.if_earlier, one.reason)
            if one.merged:
                # the whole goes when either of its texts goes
                for point in fact_rows.points(db, others):
                    fact_rows.put_evidence(db, replace(point, fact=mine[-1], value=heard.claim.value))
            touched |= {*mine, *others}
        self._ledger.weigh(db, sorted(touched), change)


def _with_closings(heard: Sequence[Heard]) -> Iterator[Heard]:
    """What was heard; of a closing the sentence too, for what it ends may be held in words alone."""
    for one in heard:
        yield one
        claim = one.claim
        if claim.sentence and (claim.only_ends or claim.norm == ANY):
            norm = fact_rows.statement_norm(claim.sentence)
            said = replace(
                claim, attribute=STATEMENT, value=claim.sentence, norm=norm, polarity=1, only_ends=False, sentence="",
                valid_to=None,
            )  # fmt: skip
            if all((other.claim.attribute, other.claim.norm) != (STATEMENT, norm) for other in heard):
                yield replace(one, claim=said)
