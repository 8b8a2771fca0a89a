"""The tuning tasks: queued, worked on in the background, and their outcome applied."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from ..audit_context import naming
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, NotFound
from ..extras import require
from ..ports import ChatModel
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import material as tuning_material
from . import rows as tuning_rows
from .evaluation import Cancelled, Evaluator
from .labelled import Labelled, read_labelled
from .metrics import Objective, percentile, worth
from .model_questions import asked_by_model
from .profiles import Applied, RetrievalProfileService
from .query_set import Draft, divided, drafted, statements
from .recommendation import Verdict, best_round, judged, merit
from .rows import NewQuery, QueryRow, RoundRow, Stage, TaskRow
from .sampler import proposed
from .search_space import CURRENT, SHIPPED, changed, decode, profile_of, shipped_profile

__all__ = ["LAST_STEPS", "ROUNDS", "Found", "TuningService", "Wish"]

T = TypeVar("T")
log = logging.getLogger(__name__)
ROUNDS = {"quick": 8, "standard": 20, "deep": 32}
OPEN = ("queued", "running")
MOST_ATTEMPTS = 3
LEAST = {"train": 8, "validation": 6, "held_out": 6}
"""Questions without which a part tells nothing."""
PARTS = {"train": "learn from", "validation": "choose by", "held_out": "test with"}
FROM_MODEL = 0.5
"""How much of the set the chat model may write."""
LAST_STEPS = 2
"""What the comparison at the end takes, in rounds."""


class _TooFew(Exception):
    """There is too little to learn from."""


class _NoLongerMine(Exception):
    """The task was cancelled, or another worker has it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a task is to do."""

    objective: Objective
    rounds: int
    sample_size: int
    top_k: int
    seed: int
    use_chat_model: bool
    own_questions: bool
    """Make questions of what the memory holds, beside those that are given."""
    try_shipped: bool = True
    """Also begin from the shipped settings, and not only from those at work."""
    labelled: tuple[Labelled, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A task with its rounds and the number of its questions (part, kind, count)."""

    task: TaskRow
    rounds: list[RoundRow] = field(default_factory=list)
    questions: list[tuple[str, str, int]] = field(default_factory=list)


class TuningService:
    """Works on one task after the other; what has been done is stored round by round.

    A task that was cut short goes on at its next round: what to try follows from the rounds that are stored.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        evaluator: Evaluator,
        profiles: RetrievalProfileService,
        clock: Clock,
        background: Executor,
        chat: ChatModel | None,
    ) -> None:
        self._store = store
        self._config = config
        self._settings = config.tuning
        self._evaluator = evaluator
        self._profiles = profiles
        self._clock = clock
        self._background = background
        self._chat = chat
        self._worker = uuid.uuid4().hex
        self._one = asyncio.Lock()
        self._cancelled: set[int] = set()

    # administration

    async def create(self, wish: Wish) -> TaskRow:
        """Queue a task. Raises Conflict if tuning is off or the queue is full, InvalidRequest for a question whose
        answer the memory does not hold, NotReady without the packages of `amemorix[tune]`."""
        if not self._settings.enabled:
            raise Conflict("Tuning is switched off (`tuning.enabled`).", setting="tuning.enabled")
        require("tune", "Tuning")
        options = {name: value for name, value in asdict(wish).items() if name not in ("labelled", "reason", "rounds")}
        now, name = self._clock.now(), naming()
        labelled = await self._store.read(
            lambda db: read_labelled(self._store, db, wish.labelled, config=self._config, now=now)
        )

        def unit(db: Connection) -> TaskRow | None:
            most = self._settings.max_queue_size
            if tuning_rows.count(db, OPEN) >= most:
                raise Conflict(f"{most} tuning tasks wait already.", setting="tuning.max_queue_size")
            baseline = profile_of(self._config)
            id_ = tuning_rows.add(
                db, options=options, baseline=baseline, rounds=wish.rounds, reason=wish.reason, now=now
            )
            tuning_rows.keep_queries(db, id_, _undivided(labelled))
            tuning_rows.prune(db, self._settings.keep_tasks)
            name(task_id=f"t{id_}")
            return tuning_rows.get(db, id_)

        created = await self._store.write(unit)
        assert created is not None
        return created

    async def get(self, id_: int, *, rounds: bool = False) -> Found:
        """A task. Raises NotFound."""

        def unit(db: Connection) -> Found | None:
            task = tuning_rows.get(db, id_)
            if task is None:
                return None
            done = tuning_rows.rounds(db, id_) if rounds else []
            return Found(task, done, tuning_rows.query_counts(db, id_))

        found = await self._store.read(unit)
        if found is None:
            raise NotFound(f"task_id: there is no tuning task {id_}.", field="task_id")
        return found

    async def list(self, statuses: Sequence[str], *, limit: int, offset: int) -> tuple[list[TaskRow], int]:
        """(tasks, the newest first; how many there are)."""

        def unit(db: Connection) -> tuple[list[TaskRow], int]:
            some = statuses or None
            return tuning_rows.listed(db, some, limit=limit, offset=offset), tuning_rows.count(db, some)

        return await self._store.read(unit)

    async def rounds(self, id_: int, *, limit: int, offset: int) -> list[RoundRow]:
        """Rounds of a task in their order. Raises NotFound."""
        await self.get(id_)
        return await self._store.read(lambda db: tuning_rows.rounds(db, id_, limit=limit, offset=offset))

    async def cancel(self, id_: int) -> TaskRow:
        """End a task that waits or is under way. Raises NotFound, Conflict if it has ended."""
        task = (await self.get(id_)).task
        now = self._clock.now()
        naming()(task_id=f"t{id_}")
        if not await self._store.write(lambda db: tuning_rows.cancel(db, id_, now)):
            raise Conflict(f"Tuning task {id_} is {task.status}: there is nothing to cancel.", field="task_id")
        self._cancelled.add(id_)
        return (await self.get(id_)).task

    async def apply_best(self, id_: int, *, validate: bool = True, reason: str = "") -> Applied:
        """Apply what a task found. Raises NotFound, Conflict if it has not ended or found nothing better, and
        (`validate`) if it does not recommend it or the settings have changed since."""
        naming()(task_id=f"t{id_}")
        task = (await self.get(id_)).task
        if task.status != "completed":
            raise Conflict(f"Tuning task {id_} is {task.status}, not completed.", field="task_id")
        if not task.result.get("changes"):
            raise Conflict(f"Tuning task {id_} found nothing better than what was at work.", field="task_id")
        if validate:
            self._must_hold(task)
        return await self._profiles.apply(task.result["changes"], reason=reason or f"tuning task {id_}", task=id_)

    def _must_hold(self, task: TaskRow) -> None:
        if not task.result["recommended"]:
            why = " ".join(task.result["reasons"])
            raise Conflict(f"Tuning task {task.id} does not recommend its best settings. {why}", field="task_id")
        if other := changed(task.baseline, self._profiles.current()):
            names = ", ".join(other)
            raise Conflict(f"Changed since the task was begun: {names}.", field="task_id", settings=sorted(other))

    # work

    async def run(self) -> None:
        """Work for ever; ends when cancelled."""

        async def step() -> bool:
            return self._settings.enabled and await self.step()

        await run_forever(step, what="tuning", pause=self._settings.poll_interval_seconds, idle_share=0.0)

    async def step(self) -> bool:
        """Work on a task to its end; False if none waits."""
        async with self._turn():
            now, lease = self._clock.now(), self._settings.lease_seconds
            if not await self._store.read(lambda db: tuning_rows.any_due(db, worker=self._worker, now=now)):
                return False
            id_ = await self._store.write(lambda db: tuning_rows.claim(db, worker=self._worker, now=now, lease=lease))
            if id_ is not None:
                await self._work(id_)
            return id_ is not None

    @contextlib.asynccontextmanager
    async def _turn(self) -> AsyncGenerator[None]:
        """Only one works at a time; a name is used up when its work is cut short, so that the next may take it over."""
        async with self._one:
            try:
                yield
            except asyncio.CancelledError:
                self._worker = uuid.uuid4().hex
                raise

    async def _work(self, id_: int) -> None:
        try:
            await self._through(id_)
        except (Cancelled, _NoLongerMine):
            log.info("tuning task %d was ended", id_)
        except _TooFew as exc:
            await self._failed(id_, str(exc))
        except Exception as exc:
            log.exception("tuning task %d stumbled", id_)
            await self._stumbled(id_, f"{type(exc).__name__}: {exc}"[:500])
        finally:
            self._cancelled.discard(id_)

    async def _stumbled(self, id_: int, error: str) -> None:
        if (await self.get(id_)).task.attempts >= MOST_ATTEMPTS:
            await self._failed(id_, error)
            return
        now = self._clock.now()
        await self._store.write(lambda db: tuning_rows.release(db, id_, worker=self._worker, now=now, error=error))
        await asyncio.sleep(self._settings.poll_interval_seconds)

    async def _failed(self, id_: int, error: str) -> None:
        now = self._clock.now()
        await self._store.write(
            lambda db: tuning_rows.finish(db, id_, "failed", worker=self._worker, now=now, error=error)
        )

    async def _through(self, id_: int) -> None:
        """Questions, rounds, comparison: each is stored when it is done."""
        task = (await self.get(id_)).task
        if task.attempts > MOST_ATTEMPTS:
            raise _TooFew("It was cut short again and again at the same place.")
        if task.stage == "queries":
            await self._make_questions(task)
        while len(done := (await self.get(id_, rounds=True)).rounds) < task.rounds_wanted:
            await self._round(task, done)
        await self._compare(task, done)

    # questions

    async def _make_questions(self, task: TaskRow) -> None:
        options = task.options
        given = await self._questions(task.id)
        drafts = [*await self._again(given)]
        if options["own_questions"]:
            drafts += await self._own(options, options["sample_size"] - len(drafts))
        parts = divided(drafts, seed=options["seed"])
        _must_be_enough(parts)

        def unit(db: Connection) -> None:
            self._hold(db, task.id, "rounds")
            tuning_rows.keep_queries(db, task.id, parts)

        await self._store.write(unit)
        log.info("tuning task %d asks %d questions", task.id, len(parts))

    async def _again(self, given: Sequence[QueryRow]) -> list[Draft]:
        """The questions that were given, with the sessions of their answers as they are now."""
        ids, now = {id_ for query in given for id_ in query.targets}, self._clock.now()
        lines = await self._store.read(lambda db: tuning_material.lines(db, ids, now))
        return [
            Draft("labelled", q.chat_id, q.text, q.targets, frozenset(lines[id_].session for id_ in q.targets))
            for q in given
            if all(id_ in lines for id_ in q.targets)
        ]

    async def _own(self, options: dict[str, Any], wanted: int) -> list[Draft]:
        """Questions out of what is stored; a part of them by the chat model, if there is one."""
        seed, now = options["seed"], self._clock.now()
        asked: list[Draft] = []
        if self._chat is not None and options["use_chat_model"]:
            most = int(wanted * FROM_MODEL)
            lines = await self._read(lambda db: statements(db, most, seed=seed, now=now))
            asked = await asked_by_model(self._chat, lines)
        left = wanted - len(asked)
        own = await self._read(lambda db: drafted(db, left, seed=seed, now=now))
        hidden = {id_ for draft in own if draft.kind == "reply" for id_ in draft.hidden}
        return [*(draft for draft in asked if hidden.isdisjoint(draft.targets)), *own]

    async def _read(self, unit: Callable[[Connection], T]) -> T:
        """On the background thread: the readers are left to callers."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._background, self._store.read_here, unit)

    async def _questions(self, id_: int, split: str = "") -> list[QueryRow]:
        now = self._clock.now()
        found = await self._store.read(lambda db: tuning_rows.queries_of(db, id_, now))
        return [query for query in found if not split or query.split == split]

    # rounds

    async def _round(self, task: TaskRow, done: Sequence[RoundRow]) -> None:
        started = time.perf_counter()
        differs = task.options["try_shipped"] and task.baseline != shipped_profile()
        anchors = [CURRENT, SHIPPED] if differs else [CURRENT]
        params = await asyncio.get_running_loop().run_in_executor(
            self._background, lambda: proposed(done, seed=task.options["seed"], anchors=anchors)
        )
        profile = decode(params, task.baseline)
        questions = await self._questions(task.id, "train")
        if not questions:
            raise _TooFew("All training questions have gone with what they were made of.")
        outcomes = (await self._ask(task, [profile], questions))[0]
        score = sum(worth(one, task.options["objective"]) for one in outcomes) / len(outcomes)
        figures = {
            "reciprocal_rank": _mean([one.reciprocal_rank for one in outcomes]),
            "gain": _mean([one.gain for one in outcomes]),
            "recall": _mean([one.recall for one in outcomes]),
            "questions": len(outcomes),
            "p95_ms": round(percentile([one.milliseconds for one in outcomes], 95), 3),
        }
        spent = round(time.perf_counter() - started, 3)
        kept = RoundRow(len(done), params, profile, score, merit(score, params), figures, spent)

        def unit(db: Connection) -> None:
            self._hold(db, task.id, "rounds")
            tuning_rows.keep_round(db, task.id, kept, self._clock.now())

        await self._store.write(unit)

    async def _compare(self, task: TaskRow, done: Sequence[RoundRow]) -> None:
        best = best_round(done)
        verdict = Verdict(reasons=("Nothing better was found than what is at work.",))
        if changed(best.profile, task.baseline):
            await self._store.write(lambda db: self._hold(db, task.id, "comparison"))
            both = [task.baseline, best.profile]
            validation = await self._ask(task, both, await self._questions(task.id, "validation"))
            held_out = await self._ask(task, both, await self._questions(task.id, "held_out"))
            verdict = judged(
                best, task.baseline, validation, held_out, objective=task.options["objective"],
                seed=task.options["seed"],
            )  # fmt: skip
        result, now = verdict.to_record(), self._clock.now()
        await self._store.write(
            lambda db: tuning_rows.finish(db, task.id, "completed", worker=self._worker, now=now, result=result)
        )

    async def _ask(
        self, task: TaskRow, profiles: Sequence[dict[str, Any]], questions: Sequence[QueryRow]
    ) -> list[list[Any]]:
        return await self._evaluator.ask(
            profiles, questions, k=task.options["top_k"], wanted=lambda: task.id not in self._cancelled
        )

    def _hold(self, db: Connection, id_: int, stage: Stage) -> None:
        """Raises _NoLongerMine, which undoes the unit of work."""
        now, lease = self._clock.now(), self._settings.lease_seconds
        if not tuning_rows.hold(db, id_, stage, worker=self._worker, now=now, lease=lease):
            raise _NoLongerMine


def _undivided(labelled: Sequence[Draft]) -> list[NewQuery]:
    return [NewQuery("train", one.kind, one.chat_id, one.text, one.targets) for one in labelled]


def _must_be_enough(parts: Sequence[NewQuery]) -> None:
    counts = Counter(one.split for one in parts)
    if all(counts[split] >= least for split, least in LEAST.items()):
        return
    kinds = ", ".join(f"{count} of kind {kind}" for kind, count in sorted(Counter(one.kind for one in parts).items()))
    found = ", ".join(f"{counts[split]} to {what}" for split, what in PARTS.items())
    needed = ", ".join(f"{LEAST[split]} to {what}" for split, what in PARTS.items())
    raise _TooFew(
        f"There is too little to learn from: {len(parts)} questions were found ({kinds or 'none of any kind'}; {found}), "
        f"where {needed} are needed, each from other sessions. More stored chats in which questions are answered make "
        "more of them, and so do facts and episodes; or give your own with their answers (`queries`; `amemorix tune --queries FILE`)."
    )


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 6)
