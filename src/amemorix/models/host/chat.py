"""The chat function that the host hands over."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import ChatUnavailable
from ...ports import ChatInfo
from ..chat_answers import shape_in_words
from ..structured_chat import ChatMessage, Said

__all__ = ["ChatFunction", "HostTalker"]

ChatFunction = Callable[[list[ChatMessage]], Any]
"""Messages (`role`, `content`) to a text or an object, or an awaitable of that."""


class HostTalker:
    """Talks with the host's own function; whatever it raises is a ChatUnavailable.

    A synchronous function is called in a thread. It is waited for `timeout` seconds.
    """

    def __init__(self, fn: ChatFunction, name: str = "", *, timeout: float = 60.0) -> None:
        self._fn = fn
        self._name = name or "callable"
        self._timeout = timeout

    @property
    def info(self) -> ChatInfo:
        return ChatInfo("host", self._name)

    async def say(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> Said:  # noqa: ARG002
        """The next reply. Raises ChatUnavailable."""
        first, *rest = messages
        given = [{**first, "content": f"{first['content']}\n\n{shape_in_words(schema)}"}, *map(dict, rest)]
        try:
            async with asyncio.timeout(self._timeout):
                answer = await self._called(given)
        except TimeoutError as exc:
            raise ChatUnavailable(f"The host's chat function did not answer within {self._timeout:g} s.") from exc
        if not isinstance(answer, str | Mapping):
            raise ChatUnavailable(
                f"The host's chat function answered a {type(answer).__name__}, not a text or an object."
            )
        return Said(answer)

    async def close(self) -> None:
        """Nothing is held."""

    async def _called(self, messages: list[ChatMessage]) -> Any:
        try:
            call = getattr(self._fn, "__call__", None)  # noqa: B004
            if inspect.iscoroutinefunction(self._fn) or inspect.iscoroutinefunction(call):
                return await self._fn(messages)
            answer = await asyncio.to_thread(self._fn, messages)
            return await answer if inspect.isawaitable(answer) else answer
        except ChatUnavailable:
            raise
        except asyncio.CancelledError as exc:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ChatUnavailable("The host's chat function was cancelled.") from exc
        except BaseException as exc:
            # A foreign function may raise anything; SystemExit would end the host's loop.
            raise ChatUnavailable(f"The host's chat function failed: {type(exc).__name__}: {exc}") from exc
