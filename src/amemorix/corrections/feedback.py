"""Delayed feedback: what a chat says after an answer corrects what the answer rested on."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..audit_context import Act, acting_as
from ..clock import Clock
from ..config.model import Feedback
from ..errors import ChatUnavailable, Conflict, MemoryFault, NotFound
from ..ports import ChatModel
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from . import feedback_rows
from .feedback_rows import FeedbackTask
from .language.claim import Correction
from .language.feedback import SAID_OUT, Verdict, read_hint
from .language.rules import read_correction
from .language.text import holds
from .parser import Wish
from .service import CorrectionService, Preview

__all__ = ["FeedbackService"]

log = logging.getLogger(__name__)
LEASE_SECONDS = 300.0
BATCH = 20
FIRST_PAUSE = 60.0
ACTING = ("correct", "reject")
CHAT_SYSTEM = (
    "A memory gave an answer made of the numbered lines; then the chat went on. Decide whether a later message says "
    "that one of the lines is wrong. `correct`: it says what is right instead; `reject`: it only says what is wrong; "
    "`confirm`: it agrees; `supplement`: it adds something; `none`: it speaks of other things. For `correct` and "
    "`reject` give the number of the line, the wrong words copied from that line, and the right words copied from the "
    "message. Be sure before you say `correct` or `reject`; confidence is between 0 and 1."
)
CHAT_SCHEMA: dict[str, Any] = {
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
        self._worker = uuid.uuid4().hex
        self._one = asyncio.Lock()

    async def enqueue(
        self, *, key: str, chat_id: str, query: str, asked_at: float, hits: Sequence[int]
    ) -> tuple[int, bool]:
        """(task, whether it is new). Raises NotFound if the memory knows no such chat."""
        kept = json.dumps([*hits])

        def unit(db: Connection) -> tuple[int, bool]:
            chat = self._store.names.chat_row(db, chat_id)
            if chat is None:
                raise NotFound(f"session_id: the memory knows no chat {chat_id!r}.", field="session_id")
            now = self._clock.now()
            due_at = max(now, asked_at + self._settings.window_hours * 3600)
            return feedback_rows.add(
                db, key=key, chat=chat, query=query, asked_at=asked_at, hits=kept, due_at=due_at, now=now
            )

        return await self._store.write(unit)

    async def run(self) -> None:
        """Look at what is due, for ever; ends when cancelled."""
        while True:
            await asyncio.sleep(self._settings.poll_interval_seconds)
            try:
                if self._settings.enabled:
                    await self.process(BATCH)
            except asyncio.CancelledError:
                raise
            except MemoryFault as exc:
                log.warning("looking at feedback stumbled; it goes on in a while: %s", exc)
            except Exception:
                log.exception("looking at feedback stumbled; it goes on in a while")

    async def process(self, limit: int) -> dict[str, int]:
        """Look at up to `limit` tasks that are due; returns how many came to which end."""
        ends: dict[str, int] = {}
        async with self._one:
            now = self._clock.now()
            claimed = await self._store.write(
                lambda db: feedback_rows.claim(db, worker=self._worker, now=now, lease=LEASE_SECONDS, limit=limit)
            )
            for id_ in claimed:
                end = await self._one_task(id_)
                ends[end] = ends.get(end, 0) + 1
        return ends

    async def _one_task(self, id_: int) -> str:
        task = await self.get(id_)
        try:
            plan = await self._plan(task)
            if plan is not None:
                await self._carry_out(plan)
        except MemoryFault as exc:
            log.warning("feedback task %s: %s", id_, exc)
            return await self._stumbled(task, str(exc))
        status = "skipped" if plan is None else "applied"
        result = json.dumps({} if plan is None else {"plan": plan})
        await self._store.write(
            lambda db: feedback_rows.done(
                db, id_, worker=self._worker, status=status, result=result, now=self._clock.now()
            )
        )
        return status

    async def _stumbled(self, task: FeedbackTask, error: str) -> str:
        now = self._clock.now()
        last = task.attempts >= self._settings.most_attempts
        due_at = None if last else now + FIRST_PAUSE * 2**task.attempts
        await self._store.write(
            lambda db: feedback_rows.stumbled(db, task.id, worker=self._worker, error=error, due_at=due_at, now=now)
        )
        return "failed" if last else "pending"

    async def _plan(self, task: FeedbackTask) -> int | None:
        """The correction plan that follows from the task, None if nothing is to be done; kept with the task."""
        kept = json.loads(task.decision)
        if "plan" in kept:
            return kept["plan"]
        verdict, plan = await self._decided(task)
        decision = json.dumps({**asdict(verdict), "plan": plan}, ensure_ascii=False)
        mine = await self._store.write(
            lambda db: feedback_rows.decided(db, task.id, worker=self._worker, decision=decision, now=self._clock.now())
        )
        return plan if mine else None

    async def _carry_out(self, plan: int) -> None:
        if (await self._corrections.get(plan)).status == "awaiting_confirmation":
            with acting_as(Act("background", "feedback", "", "memory", self._clock.now(), {"plan_id": f"c{plan}"})):
                await self._corrections.execute(plan, confirmed=True)

    async def _decided(self, task: FeedbackTask) -> tuple[Verdict, int | None]:
        """(the decision, the plan that it comes to if it is sure enough)."""
        hits, messages = await self._store.read(lambda db: self._material(db, task))
        if not messages or not hits:
            return Verdict(), None
        verdict = await self._asked(hits, messages)
        if verdict is not None:
            preview = await self._preview(task, verdict, "", [verdict.hit]) if self._is_sure(verdict) else None
            return verdict, preview.plan if preview else None
        for speaker, text in messages:
            verdict = Verdict("correct", SAID_OUT, said=text, reading=read_correction(text))
            preview = await self._preview(task, verdict, speaker, [id_ for id_, _ in hits])
            if preview is not None:
                return _about(verdict, preview), preview.plan
        return read_hint(hits, [text for _, text in messages]), None

    def _is_sure(self, verdict: Verdict) -> bool:
        return verdict.decision in ACTING and verdict.confidence >= self._settings.min_confidence

    async def _preview(self, task: FeedbackTask, verdict: Verdict, speaker: str, hits: Sequence[int]) -> Preview | None:
        """The plan for what a message says of these hits, or of what was held when they were given; None for nothing."""
        if verdict.reading is None or not self._is_sure(verdict):
            return None
        wish = Wish(
            text=verdict.said, chat_id=task.chat_id, speaker=speaker, requested_by="feedback",
            reason=f"feedback task {task.id}", among=tuple(hits), held_at=task.asked_at, reading=verdict.reading,
        )  # fmt: skip
        return await self._corrections.preview_if_any(wish)

    def _material(self, db: Connection, task: FeedbackTask) -> tuple[list[tuple[int, str]], list[tuple[str, str]]]:
        """(the hits that are still there, with their texts; what the chat said since)."""
        chat, now = self._store.names.chat_row(db, task.chat_id), self._clock.now()
        if chat is None:
            return [], []
        asked = np.array(sorted(json.loads(task.hits)), np.int64)
        alive = paragraph_rows.gate(db, asked, None, now).ids.tolist()
        texts = paragraph_rows.contents(db, alive)
        messages = feedback_rows.messages(
            db, chat, since=task.asked_at, now=now, but=asked.tolist(), limit=self._settings.most_messages
        )
        return [(id_, texts[id_]) for id_ in json.loads(task.hits) if id_ in texts], messages

    async def _asked(self, hits: Sequence[tuple[int, str]], messages: Sequence[tuple[str, str]]) -> Verdict | None:
        """The chat model's decision; None where it gives none, or one that the lines do not bear out."""
        if self._chat is None:
            return None
        lines = "\n".join(f"{i}. {text}" for i, (_, text) in enumerate(hits, 1))
        said_since = "\n".join(f"{speaker}: {text}" if speaker else text for speaker, text in messages)
        try:
            answer = await self._chat.answer(
                "feedback",
                CHAT_SYSTEM,
                f"Lines:\n{lines}\n\nThe chat went on:\n{said_since}",
                schema=CHAT_SCHEMA,
            )
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
        reading = Correction("replace" if right else "remove", wrong, right)
        return Verdict(decision, confidence, hits[line - 1][0], said or messages[0][1], reading)

    # administration

    async def get(self, id_: int) -> FeedbackTask:
        """A task. Raises NotFound."""
        task = await self._store.read(lambda db: feedback_rows.get(db, id_))
        if task is None:
            raise NotFound(f"task_id: there is no feedback task {id_}.", field="task_id")
        return task

    async def list(
        self, statuses: Sequence[str], rollbacks: Sequence[str], words: str, *, limit: int, offset: int
    ) -> list[FeedbackTask]:
        """Tasks, the newest first."""
        return await self._store.read(
            lambda db: feedback_rows.listed(
                db,
                statuses=statuses or None,
                rollbacks=rollbacks or None,
                words=words or None,
                limit=limit,
                offset=offset,
            )
        )

    async def counts(self) -> tuple[dict[str, int], int]:
        """(status -> how many tasks, how many are due)."""
        return await self._store.read(lambda db: (feedback_rows.counts(db), feedback_rows.due(db, self._clock.now())))

    async def rollback(self, id_: int) -> FeedbackTask:
        """Undo what a task corrected. Raises NotFound, Conflict if it corrected nothing or cannot be undone."""
        task = await self.get(id_)
        plan = json.loads(task.result).get("plan")
        if task.status != "applied" or plan is None or task.rollback_status == "rolled_back":
            state = "rolled back already" if task.rollback_status == "rolled_back" else task.status
            raise Conflict(f"Feedback task {id_} is {state}, there is nothing to undo.", field="task_id")
        try:
            if (await self._corrections.get(plan)).status == "executed":
                await self._corrections.rollback(plan)
        except Conflict as exc:
            await self._kept(id_, "failed", str(exc))
            raise
        await self._kept(id_, "rolled_back", "")
        return await self.get(id_)

    async def _kept(self, id_: int, status: Any, error: str) -> None:
        now = self._clock.now()
        await self._store.write(lambda db: feedback_rows.rolled_back(db, id_, status=status, error=error, now=now))


def _about(verdict: Verdict, preview: Preview) -> Verdict:
    """The verdict with the paragraph that it is about."""
    hit, right = preview.replacements[0].paragraph, preview.reading.right
    return replace(verdict, decision="correct" if right else "reject", hit=hit)
