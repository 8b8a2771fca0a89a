"""The deriving of person profiles: the change log says who has news, leased tasks say who derives it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from ..background.change_follower import for_ever
from ..clock import Clock
from ..config.model import Profile
from ..errors import ChatUnavailable, MemoryFault
from ..indexes.name_directory import NameDirectory
from ..ports import ChatModel
from ..store import changes as change_log
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.tasks import Claim, DeriveTask
from . import rows as profile_rows
from .builder import EVERYTHING, ProfileDeriver, ProfileDraft
from .model import improved

__all__ = ["CURSOR", "SEEN", "PersonProfileService", "Queue"]

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
class Queue:
    """How the deriving stands."""

    counts: dict[str, int]
    lag: int
    tasks: Sequence[DeriveTask]


@dataclass(frozen=True, slots=True)
class _Derived:
    """What came of a claim: drafts, or why there are none."""

    claim: Claim
    drafts: Sequence[ProfileDraft] = ()
    error: str = ""


class PersonProfileService:
    """Keeps profiles in step with what is said by and of persons; a crash loses nothing and repeats nothing.

    The place in the change log is stored with the tasks that it makes, and a task is done in the transaction that
    stores its profiles. Every batch is a worker of its own: what one could not end nor let go of, the next takes over.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Profile,
        clock: Clock,
        background: Executor,
        directory: NameDirectory,
        chat: ChatModel | None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._background = background
        self._chat = chat if settings.use_chat_model else None
        self._deriver = ProfileDeriver(store, settings, directory)
        self._worker = ""
        self._one = asyncio.Lock()

    async def run(self) -> None:
        """Derive for ever; ends when cancelled."""

        async def step() -> bool:
            return self._settings.enabled and await self.step()

        await for_ever(
            step,
            what="deriving profiles",
            pause=self._settings.poll_interval_seconds,
            idle_share=IDLE_SHARE,
            gives_way=lambda: self._store.importing,
        )

    async def drain(self) -> None:
        """Derive until nothing is left to do, without waiting for what is not due yet."""
        while self._settings.enabled and await self.step(ahead=max(self._settings.debounce_seconds, DRAIN_AHEAD)):
            pass

    async def step(self, ahead: float = 0.0) -> bool:
        """Take up the next changes, then the next tasks that are due within `ahead` seconds; False if there are none."""
        async with self._one:
            marked = await self._mark()
            if marked and ahead:
                return True  # whoever waits for everything has each profile derived once, after all the news
            done = await self._derive(ahead, self._batch(BATCH if ahead else PACED_BATCH))
            return marked or bool(done)

    async def process(self, limit: int) -> tuple[int, int]:
        """Derive up to `limit` tasks now, due or not; (how many were derived, how many failed)."""
        async with self._one:
            while await self._mark():
                pass
            done: list[_Derived] = []
            while len(done) < limit:
                some = await self._derive(LOOK_AHEAD, self._batch(min(BATCH, limit - len(done))))
                if not some:
                    break
                done += some
        failed = sum(bool(one.error) for one in done)
        return len(done) - failed, failed

    def want(self, db: Connection, person: int) -> None:
        """Derive the whole profile of a person again, at once; the caller owns the transaction."""
        now = self._clock.now()
        task_rows.want(db, KIND, person, since=EVERYTHING, due_at=now, now=now)

    async def at_rest(self) -> None:
        """Wait until what was read before this call has been stored."""
        async with self._one:
            pass

    def lag(self, db: Connection) -> int:
        """Changes not taken up yet."""
        return change_log.bounds(db)[1] - self.position(db)

    def position(self, db: Connection) -> int:
        """How far the change log has been read."""
        return int(change_log.get(db, CURSOR) or 0)

    def cursor(self, db: Connection) -> int:
        """The same for whoever prunes the log: unlimited while profiles are switched off."""
        return self.position(db) if self._settings.enabled else 1 << 62

    def queue(self, db: Connection, status: str | None, limit: int, offset: int) -> Queue:
        """The tasks with how many there are of each kind."""
        tasks = task_rows.listed(db, KIND, status=status, limit=limit, offset=offset)
        return Queue(task_rows.counts(db, KIND), self.lag(db), tasks)

    # who has news

    async def _mark(self) -> bool:
        """Ask for the profiles that the next changes concern; False if there are no changes."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._background, self._store.read_here, self._news)
        if found is None:
            return False
        await self._store.write(lambda db: self._ask(db, *found))
        return True

    def _news(self, db: Connection) -> tuple[int, int, int, list[tuple[int, float]]] | None:
        """(place in the log, the place after, the last paragraph met, persons with news); None if there are no changes."""
        cursor = self.position(db)
        floor, last = change_log.bounds(db)
        if cursor >= last:
            return None
        if cursor < floor:
            everybody = [(person, EVERYTHING) for person in self._everybody(db)]
            return cursor, last, paragraph_rows.highest(db), everybody
        seen = int(change_log.get(db, SEEN) or 0)
        upto, seen, wanted = profile_rows.news(db, cursor, seen, STEP)
        return cursor, upto if upto > cursor else last, seen, wanted

    def _everybody(self, db: Connection) -> list[int]:
        found: list[int] = []
        while some := profile_rows.all_persons(db, found[-1] if found else 0, STEP):
            found += some
        return found

    def _ask(self, db: Connection, cursor: int, upto: int, seen: int, wanted: Sequence[tuple[int, float]]) -> None:
        """Store a step, unless the kernel that is being replaced was quicker."""
        if self.position(db) != cursor:
            return
        now = self._clock.now()
        due = now + self._settings.debounce_seconds
        for person, since in wanted:
            task_rows.want(db, KIND, person, since=since, due_at=due, now=now)
        change_log.put(db, CURSOR, str(upto))
        change_log.put(db, SEEN, str(seen))

    # deriving

    async def _derive(self, ahead: float, limit: int) -> list[_Derived]:
        """Claim tasks, work them out beside the event loop, and store what came of them in one transaction."""
        self._worker = uuid.uuid4().hex
        try:
            claims = await self._claim(self._clock.now() + ahead, limit)
            done = [await self._derived(claim) for claim in claims]
            if done:
                await self._store.write(lambda db: self._keep(db, done))
        except asyncio.CancelledError:
            await self._release()
            raise
        return done

    async def _release(self) -> None:
        """Let go of what this batch holds."""
        worker, now = self._worker, self._clock.now()
        with contextlib.suppress(MemoryFault):
            await self._store.write(lambda db: task_rows.release(db, KIND, worker=worker, now=now))

    def _batch(self, most: int) -> int:
        """A model is asked for one person at a time, so that what it said is stored at once."""
        return 1 if self._chat else most

    async def _claim(self, now: float, limit: int) -> list[Claim]:
        worker = self._worker

        def due(db: Connection) -> bool:
            return profile_rows.is_due(db, worker=worker, now=now, most=MOST_ATTEMPTS)

        def take(db: Connection) -> list[Claim]:
            return task_rows.claim(
                db, KIND, worker=worker, now=now, lease=LEASE_SECONDS, most=MOST_ATTEMPTS, limit=limit
            )

        return await self._store.write(take) if await self._store.read(due) else []

    async def _derived(self, claim: Claim) -> _Derived:
        since = EVERYTHING if claim.since is None else claim.since
        now = self._clock.now()
        try:
            loop = asyncio.get_running_loop()
            drafts = await loop.run_in_executor(
                self._background,
                self._store.read_here,
                lambda db: self._deriver.drafts(db, claim.key, since, now),
            )
            return _Derived(claim, [await self._improved(draft) for draft in drafts])
        except asyncio.CancelledError:
            raise
        except MemoryFault as exc:
            log.warning("the profile of person row %d was not derived: %s", claim.key, exc)
            return _Derived(claim, error=f"{type(exc).__name__}: {exc}")
        except Exception as exc:
            log.exception("the profile of person row %d was not derived", claim.key)
            return _Derived(claim, error=f"{type(exc).__name__}: {exc}")

    async def _improved(self, draft: ProfileDraft) -> ProfileDraft:
        """By the model, unless it is away or there is only small talk since: then the rules' draft stands."""
        if self._chat is None or draft.snapshot() is None or not draft.is_worth_asking:
            return draft
        try:
            return await improved(self._chat, draft, self._settings.items_per_section)
        except ChatUnavailable as exc:
            log.info("a profile is derived by rules: %s", exc)
            return draft

    def _keep(self, db: Connection, done: Sequence[_Derived]) -> None:
        now = self._clock.now()
        for one in done:
            if one.error:
                due = now + BACKOFF_SECONDS * 2**one.claim.attempts
                task_rows.failed(db, KIND, one.claim, worker=self._worker, error=one.error, due_at=due, now=now)
            elif task_rows.done(db, KIND, one.claim, worker=self._worker, now=now):
                self._store_drafts(db, one, now)

    def _store_drafts(self, db: Connection, one: _Derived, now: float) -> None:
        if person_rows.names(db, one.claim.key) is None:
            task_rows.forget(db, KIND, [one.claim.key])
            return
        for draft in one.drafts:
            snapshot = draft.snapshot()
            if snapshot is not None:
                profile_rows.store(db, one.claim.key, snapshot, self._settings.max_history, now)
