"""The tuning tasks: queued, worked on in the background, and their outcome applied."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from ..audit_context import naming
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, NotFound
from ..ports import ChatModel
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection, Unit
from ..store.tasks import Claim, TaskWorker
from . import rows as tuning_rows
from .comparison import Outcome, Verdict, judge, percentile, worth
from .evaluation import Cancelled, Evaluator
from .labelled import LabelledQuery, read_labelled
from .profiles import ProfileApplied, RetrievalProfileService
from .query_set import divided, drafted, lines_of, statements, written_by_model
from .rows import Question, QuestionCount, RoundItem, Stage, TaskRow, packed
from .search_space import CURRENT, SHIPPED, best_round, changed, decode, merit, profile_of, proposed, shipped_profile

__all__ = ["LAST_STEPS", "ROUNDS", "Found", "TuningService"]

T = TypeVar("T")
log = logging.getLogger(__name__)
ROUNDS = {"quick": 8, "standard": 20, "deep": 32}
MOST_ATTEMPTS = 3
PARTS = {"train": (8, "learn from"), "validation": (6, "choose by"), "held_out": (6, "test with")}
"""Part -> the questions without which it tells nothing, and what it is for."""
FROM_MODEL = 0.5
"""How much of the set the chat model may write."""
LAST_STEPS = 2
"""What the comparison at the end takes, in rounds."""


class _GivenUp(Exception):
    """There is too little to learn from, or no way on."""


class _LostTask(Exception):
    """The task was cancelled, or another worker has it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A task with its rounds and the number of its questions."""

    task: TaskRow
    rounds: list[RoundItem] = field(default_factory=list)
    questions: list[QuestionCount] = field(default_factory=list)


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
        self._tasks = TaskWorker(store, "tuning", clock=clock, lease=self._settings.lease_seconds, most=MOST_ATTEMPTS)
        self._one_at_a_time = asyncio.Lock()
        self._cancelled: set[int] = set()

    # administration

    async def create(
        self, options: dict[str, Any], *, rounds: int, labelled: Sequence[LabelledQuery] = (), reason: str = ""
    ) -> TaskRow:
        """Queue a task; `options` are `objective`, `sample_size`, `top_k`, `seed`, `use_chat_model`, `own_questions` (make
        questions of what the memory holds) and `try_shipped` (also begin from the shipped settings).

        Raises Conflict if tuning is off or the queue is full, InvalidRequest for a question whose answer the memory does
        not hold.
        """
        if not self._settings.enabled:
            raise Conflict("Tuning is switched off (`tuning.enabled`).", setting="tuning.enabled")
        now, name = self._clock.now(), naming()
        queries = await self._store.read(
            lambda db: read_labelled(self._store, db, labelled, config=self._config, now=now)
        )

        def unit(db: Connection) -> TaskRow:
            most = self._settings.max_queue_size
            if task_rows.open_count(db, "tuning") >= most:
                raise Conflict(f"{most} tuning tasks wait already.", setting="tuning.max_queue_size")
            baseline = profile_of(self._config)
            values = packed(options=options, baseline=baseline, rounds=rounds, reason=reason)
            id_ = db.run("tuning_insert", **values).fetchone()[0]
            task_rows.enqueue(db, "tuning", id_, due_at=now, now=now)
            tuning_rows.keep_queries(db, id_, queries)
            db.run("tuning_prune", keep=self._settings.keep_tasks)
            name(task_id=f"t{id_}")
            return tuning_rows.tasks(db, id_=id_)[0]

        return await self._store.write(unit)

    async def get(self, id_: int, *, rounds: bool = False) -> Found:
        """A task. Raises NotFound."""

        def unit(db: Connection) -> Found | None:
            tasks = tuning_rows.tasks(db, id_=id_)
            if not tasks:
                return None
            counts = [QuestionCount(*row) for row in db.run("tuning_query_counts", task=id_)]
            return Found(tasks[0], tuning_rows.rounds(db, id_) if rounds else [], counts)

        found = await self._store.read(unit)
        if found is None:
            raise NotFound(f"task_id: there is no tuning task {id_}.", field="task_id")
        return found

    async def list(self, statuses: Sequence[str], *, limit: int, offset: int) -> tuple[list[TaskRow], int]:
        """(tasks, the newest first; how many there are)."""

        def unit(db: Connection) -> tuple[list[TaskRow], int]:
            counts = task_rows.counts(db, "tuning")
            total = sum(counts[status] for status in set(statuses)) if statuses else counts.total()
            return tuning_rows.tasks(db, statuses=statuses or None, limit=limit, offset=offset), total

        return await self._store.read(unit)

    async def rounds(self, id_: int, *, limit: int, offset: int) -> tuple[list[RoundItem], int]:
        """(rounds of a task in their order, how many it has done). Raises NotFound."""
        task = (await self.get(id_)).task
        some = await self._store.read(lambda db: tuning_rows.rounds(db, id_, limit=limit, offset=offset))
        return some, task.rounds_done

    async def cancel(self, id_: int) -> TaskRow:
        """End a task that waits or is under way. Raises NotFound, Conflict if it has ended."""
        task = (await self.get(id_)).task
        now = self._clock.now()
        naming()(task_id=f"t{id_}")
        if await self._store.write(lambda db: task_rows.cancel(db, "tuning", id_, now=now, at_once=True)) is None:
            raise Conflict(f"Tuning task {id_} is {task.status}: there is nothing to cancel.", field="task_id")
        self._cancelled.add(id_)
        return (await self.get(id_)).task

    async def apply_best(self, id_: int, *, validate: bool = True, reason: str = "") -> ProfileApplied:
        """Apply what a task found. Raises NotFound, Conflict if it has not ended or found nothing better, and
        (`validate`) if it does not recommend it or the settings have changed since."""
        naming()(task_id=f"t{id_}")
        task = (await self.get(id_)).task
        if task.status != "completed":
            raise Conflict(f"Tuning task {id_} is {task.status}, not completed.", field="task_id")
        if not task.result.get("changes"):
            raise Conflict(f"Tuning task {id_} found nothing better than what was at work.", field="task_id")
        if validate and not task.result["recommended"]:
            why = " ".join(task.result["reasons"])
            raise Conflict(f"Tuning task {id_} does not recommend its best settings. {why}", field="task_id")
        if validate and (other := changed(task.baseline, self._profiles.current())):
            names = ", ".join(other)
            raise Conflict(f"Changed since the task was begun: {names}.", field="task_id", settings=sorted(other))
        return await self._profiles.apply(task.result["changes"], reason=reason or f"tuning task {id_}", task=id_)

    # work

    async def run(self) -> None:
        """Work for ever; ends when cancelled."""

        async def step() -> bool:
            return self._settings.enabled and await self.step()

        await run_forever(step, what="tuning", pause=self._settings.poll_interval_seconds, idle_share=0.0)

    async def step(self) -> bool:
        """Work on a task to its end; False if none waits."""
        async with self._one_at_a_time, self._tasks.batch() as claims:
            for claim in claims:
                await self._work(claim)
            return bool(claims)

    async def _work(self, claim: Claim) -> None:
        """Questions, rounds, comparison: each is stored when it is done."""
        id_, tasks = claim.key, self._tasks
        try:
            task = (await self.get(id_)).task
            if task.stage == "queries":
                await self._make_questions(task, claim)
            while len(done := (await self.get(id_, rounds=True)).rounds) < task.rounds_wanted:
                await self._round(task, done, claim)
            await self._compare(task, done, claim)
        except (Cancelled, _LostTask):
            log.info("tuning task %d was ended", id_)
        except _GivenUp as exc:
            error = str(exc)
            await self._store.write(lambda db: tasks.done(db, claim, "failed", error=error))
        except Exception as exc:
            log.exception("tuning task %d failed", id_)
            error, pause = f"{type(exc).__name__}: {exc}"[:500], self._settings.poll_interval_seconds
            await self._store.write(lambda db: tasks.retry(db, claim, error, pause))
        finally:
            self._cancelled.discard(id_)

    async def _make_questions(self, task: TaskRow, claim: Claim) -> None:
        seed, now = task.options["seed"], self._clock.now()
        drafts = await self._store.read(lambda db: _given(db, task.id, now))
        if task.options["own_questions"]:
            wanted = task.options["sample_size"] - len(drafts)
            asked: list[Question] = []
            if self._chat is not None and task.options["use_chat_model"]:
                lines = await self._read_apart(lambda db: statements(db, int(wanted * FROM_MODEL), seed=seed, now=now))
                asked = await written_by_model(self._chat, lines)
            own = await self._read_apart(lambda db: drafted(db, wanted - len(asked), seed=seed, now=now))
            hidden = {id_ for draft in own if draft.kind == "reply" for id_ in draft.hidden}
            drafts += [*(draft for draft in asked if hidden.isdisjoint(draft.targets)), *own]
        parts = divided(drafts, seed=seed)
        _must_be_enough(parts)

        def unit(db: Connection) -> None:
            self._hold(db, claim, "rounds")
            tuning_rows.keep_queries(db, task.id, parts)

        await self._store.write(unit)
        log.info("tuning task %d asks %d questions", task.id, len(parts))

    async def _read_apart(self, unit: Unit[T]) -> T:
        """On the background thread: the readers are left to callers."""
        return await asyncio.get_running_loop().run_in_executor(self._background, self._store.read_here, unit)

    async def _round(self, task: TaskRow, done: Sequence[RoundItem], claim: Claim) -> None:
        """Try the next settings on the training questions."""
        started, objective = time.perf_counter(), task.options["objective"]
        differs = task.options["try_shipped"] and task.baseline != shipped_profile()
        params = proposed(done, seed=task.options["seed"], anchors=[CURRENT, SHIPPED] if differs else [CURRENT])
        profile = decode(params, task.baseline)
        outcomes = (await self._ask(task, [profile], "train"))[0]
        if not outcomes:
            raise _GivenUp("All training questions have gone with what they were made of.")
        figures = {
            name: round(sum(getattr(one, name) for one in outcomes) / len(outcomes), 6)
            for name in ("reciprocal_rank", "gain", "recall")
        }
        figures |= {
            "questions": len(outcomes),
            "p95_ms": round(percentile([one.milliseconds for one in outcomes], 95), 3),
        }
        score = round(sum(worth(one, objective) for one in outcomes) / len(outcomes), 6)
        spent = round(time.perf_counter() - started, 3)
        kept = RoundItem(len(done), score, merit(score, params), params, figures, profile, spent, self._clock.now())

        def unit(db: Connection) -> None:
            self._hold(db, claim, "rounds")
            db.run("tuning_round_insert", task=task.id, **packed(**asdict(kept)))

        await self._store.write(unit)

    async def _compare(self, task: TaskRow, done: Sequence[RoundItem], claim: Claim) -> None:
        """Test the best round on questions that it was not chosen by, and end the task."""
        best = best_round(done)
        verdict = Verdict(reasons=("Nothing better was found than what is at work.",))
        if changed(best.profile, task.baseline):
            await self._store.write(lambda db: self._hold(db, claim, "comparison"))
            both = [task.baseline, best.profile]
            validation, held_out = [await self._ask(task, both, part) for part in ("validation", "held_out")]
            verdict = judge(
                best, task.baseline, validation, held_out, objective=task.options["objective"],
                seed=task.options["seed"],
            )  # fmt: skip

        def unit(db: Connection) -> None:
            if self._tasks.done(db, claim):
                db.run("tuning_result", **packed(id=task.id, result=asdict(verdict)))

        await self._store.write(unit)

    async def _ask(self, task: TaskRow, profiles: Sequence[dict[str, Any]], part: str) -> list[list[Outcome]]:
        now = self._clock.now()
        queries = await self._store.read(lambda db: tuning_rows.queries_of(db, task.id, now))
        return await self._evaluator.ask(
            profiles, [query for query in queries if query.split == part], k=task.options["top_k"],
            wanted=lambda: task.id not in self._cancelled,
        )  # fmt: skip

    def _hold(self, db: Connection, claim: Claim, stage: Stage) -> None:
        """Begin the lease again. Raises _LostTask, which undoes the unit of work."""
        if self._tasks.hold(db, claim, progress=True) is None:
            raise _LostTask
        db.run("tuning_stage", id=claim.key, stage=stage)


def _given(db: Connection, task: int, now: float) -> list[Question]:
    """The questions that were given, with the sessions of their answers as they are now."""
    given = tuning_rows.queries_of(db, task, now)
    lines = lines_of(db, {id_ for query in given for id_ in query.targets}, now)
    return [replace(q, sessions=frozenset(lines[id_].session for id_ in q.targets)) for q in given]


def _must_be_enough(parts: Sequence[Question]) -> None:
    counts = Counter(one.split for one in parts)
    if all(counts[split] >= least for split, (least, _) in PARTS.items()):
        return
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Counter(one.kind for one in parts).items()))
    found = ", ".join(f"{counts[split]} to {what}" for split, (_, what) in PARTS.items())
    needed = ", ".join(f"{least} to {what}" for least, what in PARTS.values())
    raise _GivenUp(
        f"There is too little to learn from: {len(parts)} questions were found ({kinds or 'none of any kind'}; {found}), "
        f"where {needed} are needed, each from other sessions. More stored chats in which questions are answered make "
        "more of them, and so do facts and relations; or give your own with their answers (`queries`; `amemorix tune --queries FILE`)."
    )
