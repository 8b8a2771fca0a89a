"""The chat model with its budget: every question is counted, and none is asked when the day's tokens are spent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..clock import Clock
from ..config.model import Chat
from ..errors import ChatUnavailable
from ..models.chat_answers import Misfit, read_object
from ..models.structured_chat import Said, StructuredChat, Tally
from ..ports import ChatInfo, ChatModel
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection

__all__ = ["ChatMeter", "MeteredChat"]


class ChatMeter:
    """Counts what was asked, by day (UTC) and task, in rows that outlive a restart."""

    def __init__(self, store: MetadataStore, *, daily_token_budget: int, clock: Clock) -> None:
        self._store = store
        self._budget = daily_token_budget
        self._clock = clock
        self.last_error = ""

    async def admit(self) -> None:
        """Raises ChatUnavailable when the day's tokens are spent."""
        if not self._budget:
            return
        day = self._day()
        used = await self._store.read(lambda db: _tokens(db, day))
        if used >= self._budget:
            raise ChatUnavailable(
                f"{used} tokens were used today (UTC); chat.daily_token_budget is {self._budget}.",
                budget_spent=True, retry_after=86_400 - self._clock.now() % 86_400,
            )  # fmt: skip

    async def count(self, task: str, tally: Tally, problem: str) -> None:
        """Note a question with what it cost, and what went wrong if anything did."""
        self.last_error = problem
        values = {
            "day": self._day(), "task": task, "calls": 1, "failures": int(bool(problem)), "prompt_tokens": tally.prompt,
            "completion_tokens": tally.completion,
        }  # fmt: skip
        await self._store.write(lambda db: db.run("chat_usage_add", **values))

    def state(self, db: Connection) -> dict[str, Any]:
        """What was used, in total by task and today."""
        names = ("calls", "failures", "prompt_tokens", "completion_tokens")
        return {
            "daily_token_budget": self._budget,
            "tokens_today": _tokens(db, self._day()),
            "tasks": {task: dict(zip(names, counts, strict=True)) for task, *counts in db.run("chat_usage_by_task")},
            "error": self.last_error,
        }

    def _day(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).date().isoformat()


def _tokens(db: Connection, day: str) -> int:
    return db.run("chat_usage_tokens", day=day).fetchone()[0]


class MeteredChat:
    """A `ChatModel` over another one.

    Whatever a foreign model raises is a ChatUnavailable, and an answer of its that does not fit the schema too.
    """

    def __init__(self, model: ChatModel, *, settings: Chat, meter: ChatMeter) -> None:
        self._model = model
        self._seconds = settings.timeout_seconds
        self._slots = asyncio.Semaphore(settings.max_concurrent)
        self._meter = meter

    @property
    def info(self) -> ChatInfo:
        """The model's identity."""
        return self._model.info

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object that is valid against the schema. Raises ChatUnavailable."""
        async with self._slots:
            await self._meter.admit()
            tally, problem = Tally(), "It was given up."
            try:
                found = await self._asked(task, system, user, schema, tally)
                problem = ""
                return found
            except ChatUnavailable as exc:
                problem = str(exc)
                raise
            finally:
                await self._meter.count(task, tally, problem)

    async def close(self) -> None:
        """Nothing is held: whoever made the model closes it."""

    async def _asked(
        self, task: str, system: str, user: str, schema: Mapping[str, Any], tally: Tally
    ) -> dict[str, Any]:
        if isinstance(self._model, StructuredChat):
            return await self._model.counted(task, system, user, schema=schema, tally=tally)
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._model.answer(task, system, user, schema=schema)
        except ChatUnavailable:
            raise
        except TimeoutError as exc:
            raise ChatUnavailable(f"The chat model did not answer within {self._seconds:g} s.") from exc
        except Exception as exc:  # whatever a model of the host's own raises
            raise ChatUnavailable(f"The chat model failed: {type(exc).__name__}: {exc}") from exc
        tally.add([{"content": system}, {"content": user}], Said(answer))
        try:
            return read_object(answer, schema)
        except Misfit as misfit:
            raise ChatUnavailable(f"The chat model's answer for {task} does not fit: {misfit}.", misfit=True) from None
