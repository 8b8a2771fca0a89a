"""The chat model with its budget: every question is counted, and none is asked when the day's tokens are spent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

from ..clock import Clock
from ..config.model import Chat
from ..errors import ChatUnavailable
from ..models.chat_answers import Misfit, read_object
from ..models.structured_chat import Said, StructuredChat, Tally
from ..ports import ChatInfo, ChatModel
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import chat_usage
from ..store.rows.chat_usage import ChatUsage

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
        used = await self._store.read(lambda db: chat_usage.tokens(db, day))
        if used >= self._budget:
            raise ChatUnavailable(
                f"{used} tokens were used today (UTC); chat.daily_token_budget is {self._budget}.",
                budget_spent=True, retry_after=self._until_tomorrow(),
            )  # fmt: skip

    async def count(self, task: str, tally: Tally, problem: str) -> None:
        """Note a question with what it cost, and what went wrong if anything did."""
        self.last_error = problem
        used = ChatUsage(1, 1 if problem else 0, tally.prompt, tally.completion)
        day = self._day()
        await self._store.write(lambda db: chat_usage.add(db, day, task, used))

    def state(self, db: Connection) -> dict[str, Any]:
        """What was used, in total by task and today."""
        return {
            "daily_token_budget": self._budget,
            "tokens_today": chat_usage.tokens(db, self._day()),
            "tasks": {task: asdict(used) for task, used in chat_usage.by_task(db).items()},
            "error": self.last_error,
        }

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), UTC)

    def _day(self) -> str:
        return self._now().date().isoformat()

    def _until_tomorrow(self) -> float:
        now = self._now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        return (midnight - now).total_seconds()


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
        answer = await self._asked_foreign(task, system, user, schema)
        tally.add([{"content": system}, {"content": user}], Said(answer))
        try:
            return read_object(answer, schema)
        except Misfit as misfit:
            raise ChatUnavailable(f"The chat model's answer for {task} does not fit: {misfit}.", misfit=True) from None

    async def _asked_foreign(
        self, task: str, system: str, user: str, schema: Mapping[str, Any]
    ) -> dict[str, Any] | str:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._model.answer(task, system, user, schema=schema)
        except ChatUnavailable:
            raise
        except TimeoutError as exc:
            raise ChatUnavailable(f"The chat model did not answer within {self._seconds:g} s.") from exc
        except Exception as exc:
            raise ChatUnavailable(f"The chat model failed: {type(exc).__name__}: {exc}") from exc
