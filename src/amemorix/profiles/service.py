"""The deriving of person profiles: the change log says who has news, leased tasks say who derives it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Profile
from ..errors import MemoryFault
from ..indexes.name_directory import NameDirectory
from ..store import changes as change_log
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.tasks import Claim, TaskWorker
from . import rows as profile_rows
from .builder import EVERYTHING, ProfileDeriver, ProfileDraft
from .items import render

__all__ = ["CURSOR", "SEEN", "PersonProfileService"]

log = logging.getLogger(__name__)
CURSOR, SEEN = "profiles_upto", "profiles_seen"
"""Places in the change log and among the paragraphs, kept with the store."""
KIND = "profile"
STEP = 2_000
"""Changes taken up at a time."""
BATCH, PACED_BATCH = 20, 5
"""Profiles derived by rules and stored in one transaction: when somebody waits for them, and when nobody does."""
IDLE_SHARE = 3.0
"""Seconds of rest for each second of work, so that deriving never crowds out calls."""
LEASE_SECONDS = 600.0
BACKOFF_SECONDS, MOST_ATTEMPTS = 30.0, 4
DRAIN_AHEAD = 30.0
"""Others who want a profile have pauses of their own."""
LOOK_AHEAD = 3_600.0
"""Whoever asks for what waits to be derived does not wait for a debounce or a pause after a failure."""


@dataclass(frozen=True, slots=True)
class _Derived:
    claim: Claim
    drafts: Sequence[ProfileDraft] = ()
    error: str = ""


class PersonProfileService(ChangeFollower):
    """Keeps profiles in step with what is said by and of persons.

    The place in the change log is stored with the tasks that it makes, and a task is done in the transaction that
    stores its profiles.
    """

    def __init__(
        self, store: MetadataStore, *, settings: Profile, clock: Clock, background: Executor, directory: NameDirectory
    ) -> None:
        super().__init__(
            store, background=background, what="deriving profiles", pause=settings.poll_interval_seconds,
            idle_share=IDLE_SHARE, cursor_key=CURSOR, enabled=settings.enabled,
        )  # fmt: skip
        self._settings = settings
        self._clock = clock
        self._deriver = ProfileDeriver(store, settings, directory)
        self._tasks = TaskWorker(store, KIND, clock=clock, lease=LEASE_SECONDS, most=MOST_ATTEMPTS)

    async def _drain_step(self) -> bool:
        """Whoever waits for everything has each profile derived once, after all the news, due or not."""
        async with self._one:
            ahead = max(self._settings.debounce_seconds, DRAIN_AHEAD)
            return await self._mark() or bool(await self._derive(ahead, BATCH))

    async def _advance(self) -> bool:
        marked = await self._mark()
        return bool(await self._derive(0.0, PACED_BATCH)) or marked

    async def process(self, limit: int) -> tuple[int, int]:
        """Derive up to `limit` tasks now, due or not; (how many were derived, how many failed)."""
        async with self._one:
            while await self._mark():
                pass
            done: list[_Derived] = []
            while len(done) < limit:
                some = await self._derive(LOOK_AHEAD, min(BATCH, limit - len(done)))
                if not some:
                    break
                done += some
        failed = sum(bool(one.error) for one in done)
        return len(done) - failed, failed

    def enqueue(self, db: Connection, person: int) -> None:
        """Derive the whole profile of a person again, at once; the caller owns the transaction."""
        now = self._clock.now()
        task_rows.enqueue(db, KIND, person, since=EVERYTHING, due_at=now, now=now)

    # who has news

    async def _mark(self) -> bool:
        """Ask for the profiles that the next changes concern; False if there are no changes."""
        found = await self._read_aside(self._news)
        if found is None:
            return False
        cursor, upto, seen, wanted = found

        def mark(db: Connection) -> None:
            if self.position(db) != cursor:  # the kernel that is being replaced was quicker
                return
            now = self._clock.now()
            due = now + self._settings.debounce_seconds
            for person, since in wanted:
                task_rows.enqueue(db, KIND, person, since=since, due_at=due, now=now)
            change_log.put(db, CURSOR, str(upto))
            change_log.put(db, SEEN, str(seen))

        await self._store.write(mark)
        return True

    def _news(self, db: Connection) -> tuple[int, int, int, list[tuple[int, float]]] | None:
        """(place in the log, the place after, the last paragraph met, persons with news); None if there are no changes."""
        cursor = self.position(db)
        floor, last = change_log.bounds(db)
        if cursor >= last:
            return None
        if cursor < floor:
            everybody: list[int] = []
            while some := db.run("profile_all_persons", after=everybody[-1] if everybody else 0, limit=STEP).fetchall():
                everybody += [row[0] for row in some]
            return cursor, last, paragraph_rows.highest(db), [(person, EVERYTHING) for person in everybody]
        seen = int(change_log.get(db, SEEN) or 0)
        upto, seen, wanted = profile_rows.news(db, cursor, seen, STEP)
        return cursor, upto if upto > cursor else last, seen, wanted

    # deriving

    async def _derive(self, ahead: float, limit: int) -> list[_Derived]:
        """Claim tasks, work them out beside the event loop, and store what came of them in one transaction."""
        async with self._tasks.batch(limit, ahead=ahead) as claims:
            done = [await self._derived(claim) for claim in claims]
            if done:
                await self._store.write(lambda db: self._keep(db, done))
            return done

    async def _derived(self, claim: Claim) -> _Derived:
        since = EVERYTHING if claim.since is None else claim.since
        now = self._clock.now()
        try:
            drafts = await self._read_aside(lambda db: self._deriver.drafts(db, claim.key, since, now))
            return _Derived(claim, drafts)
        except Exception as exc:
            if isinstance(exc, MemoryFault):
                log.warning("the profile of person row %d was not derived: %s", claim.key, exc)
            else:
                log.exception("the profile of person row %d was not derived", claim.key)
            return _Derived(claim, error=f"{type(exc).__name__}: {exc}")

    def _keep(self, db: Connection, done: Sequence[_Derived]) -> None:
        now = self._clock.now()
        for one in done:
            person = one.claim.key
            if one.error:
                self._tasks.failed(db, one.claim, one.error, BACKOFF_SECONDS * 2**one.claim.attempts)
            elif self._tasks.done(db, one.claim):
                if person_rows.names(db, person) is None:
                    task_rows.forget(db, KIND, [person])
                    continue
                for draft in one.drafts:
                    if draft.content != draft.before:
                        self._store_snapshot(db, person, draft, now)

    def _store_snapshot(self, db: Connection, person: int, draft: ProfileDraft, now: float) -> None:
        """Add a version, and forget all but the newest of its scope."""
        snapshot = db.run(
            "profile_snapshot_insert", person=person, scope=draft.scope, text=render(draft.name, draft.items),
            content=draft.content, now=now,
            confidence=round(max((item.confidence for item in draft.items), default=0.0), 3),
        ).fetchone()[0]  # fmt: skip
        paragraphs = dict.fromkeys(row for item in draft.items for row in item.evidence)
        db.run("profile_evidence_insert", snapshot=snapshot, paragraphs=array(paragraphs))
        db.run("profile_snapshots_prune", person=person, scope=draft.scope, keep=self._settings.max_history)
