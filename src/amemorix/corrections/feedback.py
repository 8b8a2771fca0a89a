"""Delayed feedback: what a chat says after an answer corrects what the answer rested on."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from ..audit_context import Act, acting_as
from ..background.change_follower import run_forever
from ..clock import Clock
from ..config.model import Feedback
from ..errors import ChatUnavailable, Conflict, MemoryFault, NotFound
from ..ids import plan_key
from ..language.normalise import tokens
from ..lazy_regex import lazy_regex
from ..ports import ChatModel
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import paragraphs as paragraph_rows
from ..store.tasks import Claim, TaskWorker
from .matcher import Wish
from .service import CorrectionService, Preview
from .wording import holds

__all__ = ["FeedbackService", "FeedbackTask"]

log = logging.getLogger(__name__)
LEASE_SECONDS = 300.0
BATCH = 20
FIRST_PAUSE = 120.0
ACTING = ("correct", "reject")
CHAT_SYSTEM = (
    "A memory gave an answer made of the numbered lines; then the chat went on. Decide whether a later message says "
    "that one of the lines is wrong. `correct`: it says what is right instead; `reject`: it only says what is wrong; "
    "`confirm`: it agrees; `supplement`: it adds something; `none`: it speaks of other things. For `correct` and "
    "`reject` give the number of the line, the wrong words copied from that line, and the right words copied from the "
    "message. Be sure before you say `correct` or `reject`; confidence is between 0 and 1."
)
CHAT_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "decision": {"enum": ["confirm", "reject", "correct", "supplement", "none"]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        "line": {"type": "integer", "minimum": 0},
        "wrong": {"type": "string"},
        "right": {"type": "string"},
    },
    "required": ["decision", "confidence", "line", "wrong", "right"],
    "additionalProperties": False,
}


_WRONG = lazy_regex(
    r"不对|不是这样|不是的|记错|搞错|弄错|说错|错了|\b(?:that's|that is|this is|it's|you're|you are) (?:wrong|not right|not true|incorrect|mistaken)\b",
    re.I,
)
_RIGHT = lazy_regex(
    r"^(?:对的?|对啊|没错|是的|确实|正是)(?:[，,。！!\s]|$)|^(?:yes|yep|right|exactly|correct|that's right)\b", re.I
)
SAID_OUT, HINTED, NODDED = 0.9, 0.7, 0.8
"""Confidence where what is wrong is said and stored, where only the matter of an answer is, and for a yes."""
SHARED_TERMS = 2
NEAR = 3
"""A yes or no counts only this soon after the answer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision about one of the hits, and the words it follows from."""

    decision: Literal["confirm", "reject", "correct", "supplement", "none"] = "none"
    confidence: float = 0.0
    hit: int = 0
    said: str = ""
    exchange: tuple[str, str] | None = None
    """What is wrong and what is right (empty: nothing), where the chat model has told them apart."""


@dataclass(frozen=True, slots=True)
class FeedbackTask:
    """An answer that was given; `hits`, `decision` and `result` are JSON, times epoch seconds."""

    id: int
    key: str
    chat_id: str
    query: str
    asked_at: float
    hits: str
    status: str
    due_at: float
    attempts: int
    decision: str
    rollback_status: str
    result: str
    error: str
    updated_at: float


class FeedbackService:
    """Keeps answers as tasks, and looks at each when its window has passed.

    A decision is kept before it is carried out, and it is carried out as a correction plan: a crash in between repeats
    neither, and undoing it is undoing the plan. Only the paragraph that the words are about is touched.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        settings: Feedback,
        corrections: CorrectionService,
        clock: Clock,
        chat: ChatModel | None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._corrections = corrections
        self._clock = clock
        self._chat = chat
        self._tasks = TaskWorker(store, "feedback", clock=clock, lease=LEASE_SECONDS, most=settings.most_attempts)
        self._one_at_a_time = asyncio.Lock()

    async def enqueue(
        self, *, key: str, chat_id: str, query: str, asked_at: float, hits: Sequence[int]
    ) -> tuple[int, bool]:
        """(task, whether it is new: the same key again is the same task). Raises NotFound for a chat that the memory does
        not know."""

        def unit(db: Connection) -> tuple[int, bool]:
            chat = self._store.names.chat_row(db, chat_id)
            if chat is None:
                raise NotFound(f"session_id: the memory knows no chat {chat_id!r}.", field="session_id")
            now = self._clock.now()
            asked = {"key": key, "chat": chat, "query": query, "asked_at": asked_at, "hits": json.dumps([*hits])}
            if (row := db.run("feedback_insert", **asked).fetchone()) is None:
                return db.run("feedback_by_key", key=key).fetchone()[0], False
            due_at = max(now, asked_at + self._settings.window_hours * 3600)
            task_rows.enqueue(db, "feedback", row[0], due_at=due_at, now=now)
            return row[0], True

        return await self._store.write(unit)

    async def run(self) -> None:
        """Look at what is due, for ever; ends when cancelled."""

        async def step() -> bool:
            return self._settings.enabled and bool(await self.process(BATCH))

        pause = self._settings.poll_interval_seconds
        await asyncio.sleep(pause)
        await run_forever(step, what="feedback", pause=pause, idle_share=0.0)

    async def process(self, limit: int) -> dict[str, int]:
        """Look at up to `limit` tasks that are due; returns how many came to which end."""
        ends: Counter[str] = Counter()
        async with self._one_at_a_time:
            while (left := limit - ends.total()) > 0:
                async with self._tasks.batch(left) as claims:
                    for claim in claims:
                        ends[await self._process_one(claim)] += 1
                if not claims:
                    break
        return dict(ends)

    async def _process_one(self, claim: Claim) -> str:
        """Look at a task; returns its status then."""
        task = await self.get(claim.key)
        try:
            plan = await self._plan(task, claim)
            if plan is not None and (await self._corrections.get(plan)).status == "awaiting_confirmation":
                with acting_as(
                    Act("background", "feedback", "", "memory", self._clock.now(), {"plan_id": plan_key(plan)})
                ):
                    await self._corrections.execute(plan, confirmed=True)
        except MemoryFault as exc:
            log.warning("feedback task %s failed: %s", task.id, exc)
            error = str(exc)
            again = await self._store.write(lambda db: self._tasks.retry(db, claim, error, FIRST_PAUSE))
            return "pending" if again else "failed"
        status, result = ("skipped", {}) if plan is None else ("applied", {"plan": plan})

        def unit(db: Connection) -> None:
            if self._tasks.done(db, claim, status, attempts=claim.attempts):
                db.run("feedback_result", id=task.id, result=json.dumps(result))

        await self._store.write(unit)
        return status

    async def _plan(self, task: FeedbackTask, claim: Claim) -> int | None:
        """The correction plan that follows from the task, None if nothing is to be done; kept with the task."""
        kept = json.loads(task.decision)
        if "plan" in kept:
            return kept["plan"]
        verdict, plan = await self._decide(task)
        decision = json.dumps({**asdict(verdict), "plan": plan}, ensure_ascii=False)

        def unit(db: Connection) -> int | None:
            if self._tasks.hold(db, claim) is None:
                return None
            db.run("feedback_decided", id=task.id, decision=decision)
            return plan

        return await self._store.write(unit)

    async def _decide(self, task: FeedbackTask) -> tuple[Verdict, int | None]:
        """(the decision, the plan that it comes to if it is sure enough)."""

        async def preview(verdict: Verdict, speaker: str, among: Sequence[int]) -> Preview | None:
            """The plan for what a message says of these hits, or of what was held when they were given."""
            if verdict.decision not in ACTING or verdict.confidence < self._settings.min_confidence:
                return None
            wish = Wish(
                text=verdict.said, chat_id=task.chat_id, speaker=speaker, requested_by="feedback",
                reason=f"feedback task {task.id}", among=tuple(among), held_at=task.asked_at, exchange=verdict.exchange,
            )  # fmt: skip
            return await self._corrections.preview_if_any(wish)

        hits, messages = await self._store.read(lambda db: self._material(db, task))
        if not messages or not hits:
            return Verdict(), None
        verdict = None if self._chat is None else await _asked(self._chat, hits, messages)
        if verdict is not None:
            found = await preview(verdict, "", [verdict.hit])
            return verdict, found.plan if found else None
        for speaker, text in messages:
            verdict = Verdict("correct", SAID_OUT, said=text)
            found = await preview(verdict, speaker, [id_ for id_, _ in hits])
            if found is not None:
                decision = "correct" if found.found.sentence.said else "reject"
                return replace(verdict, decision=decision, hit=found.found.chosen[0].target.id), found.plan
        return _read_hint(hits, [text for _, text in messages]), None

    def _material(self, db: Connection, task: FeedbackTask) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
        """(the hits that are still there, with their texts; speaker and text of what the chat said since)."""
        chat, now = self._store.names.chat_row(db, task.chat_id), self._clock.now()
        if chat is None:
            return [], []
        hits = json.loads(task.hits)
        asked = np.array(sorted(hits), np.int64)
        texts = paragraph_rows.contents(db, paragraph_rows.gate(db, asked, None, now).ids.tolist())
        messages = db.run(
            "feedback_messages", chat=chat, since=task.asked_at, now=now, but=array(sorted(hits)),
            limit=self._settings.most_messages,
        ).fetchall()  # fmt: skip
        return [(id_, texts[id_]) for id_ in hits if id_ in texts], messages

    # administration

    async def get(self, id_: int) -> FeedbackTask:
        """A task. Raises NotFound."""
        if found := await self.list(id_=id_):
            return found[0]
        raise NotFound(f"task_id: there is no feedback task {id_}.", field="task_id")

    async def list(
        self, statuses: Sequence[str] = (), rollbacks: Sequence[str] = (), words: str = "", *, id_: int | None = None,
        limit: int = 1, offset: int = 0,
    ) -> list[FeedbackTask]:  # fmt: skip
        """Tasks, the newest first."""
        wanted = {"statuses": optional_array(statuses or None), "rollbacks": optional_array(rollbacks or None)}
        wanted |= {"id": id_, "words": words or None, "limit": limit, "offset": offset}
        rows = await self._store.read(lambda db: db.run("feedback_list", **wanted).fetchall())
        return [FeedbackTask(*row) for row in rows]

    async def counts(self) -> tuple[dict[str, int], int]:
        """(status -> how many tasks, how many are due)."""
        now = self._clock.now()
        return await self._store.read(
            lambda db: (dict(task_rows.counts(db, "feedback")), task_rows.open_count(db, "feedback", now))
        )

    async def rollback(self, id_: int) -> FeedbackTask:
        """Undo what a task corrected. Raises NotFound, Conflict if it corrected nothing or cannot be undone."""
        task = await self.get(id_)
        plan = json.loads(task.result).get("plan")
        if task.status != "applied" or plan is None or task.rollback_status == "rolled_back":
            state = "rolled back already" if task.rollback_status == "rolled_back" else task.status
            raise Conflict(f"Feedback task {id_} is {state}, there is nothing to undo.", field="task_id")
        refused: Conflict | None = None
        try:
            if (await self._corrections.get(plan)).status == "executed":
                await self._corrections.rollback(plan)
        except Conflict as exc:
            refused = exc

        def unit(db: Connection) -> None:
            db.run("feedback_rolled_back", id=id_, status="failed" if refused else "rolled_back")
            task_rows.note_error(db, "feedback", id_, str(refused or ""), self._clock.now())

        await self._store.write(unit)
        if refused:
            raise refused
        return await self.get(id_)


async def _asked(
    chat: ChatModel, hits: Sequence[tuple[int, str]], messages: Sequence[tuple[str, str]]
) -> Verdict | None:
    """The chat model's decision; None where it gives none, or one that the lines do not bear out."""
    lines = "\n".join(f"{i}. {text}" for i, (_, text) in enumerate(hits, 1))
    said_since = "\n".join(f"{speaker}: {text}" if speaker else text for speaker, text in messages)
    shown = f"Lines:\n{lines}\n\nThe chat went on:\n{said_since}"
    try:
        answer = await chat.answer("feedback", CHAT_SYSTEM, shown, schema=CHAT_SCHEMA)
    except ChatUnavailable:
        return None
    decision, confidence, line = answer["decision"], float(answer["confidence"]), int(answer["line"])
    if decision not in ACTING:
        return Verdict(decision, confidence)
    wrong, right = str(answer["wrong"]).strip(), str(answer["right"]).strip()
    if not 1 <= line <= len(hits) or not holds(hits[line - 1][1], wrong):
        return None
    said = next((message for _, message in messages if right and holds(message, right)), "")
    if right and not said:
        return None
    return Verdict(decision, confidence, hits[line - 1][0], said or messages[0][1], (wrong, right))


def _read_hint(hits: Sequence[tuple[int, str]], messages: Sequence[str]) -> Verdict:
    """The clearest yes or no that the first messages say to the hits (paragraph, text)."""
    found: list[Verdict] = []
    for message in messages[:NEAR]:
        if _WRONG.search(message):
            said = set(tokens(message))
            hit = next((id_ for id_, text in hits if len(said & set(tokens(text))) >= SHARED_TERMS), None)
            found += [Verdict("reject", HINTED, hit, message)] if hit is not None else []
        elif hits and _RIGHT.search(message):
            found.append(Verdict("confirm", NODDED, hits[0][0], message))
    return max(found, key=lambda verdict: verdict.confidence, default=Verdict())
