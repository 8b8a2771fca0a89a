"""The tools that an agent has of a memory; their descriptions are written for the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from ..errors import Forbidden, InvalidRequest, NotFound
from .scoped_memory import AnyMemory, ScopedMemory

__all__ = ["MemoryTools"]

Arguments = ParamSpec("Arguments")
Tool = Callable[Concatenate["MemoryTools", Arguments], Awaitable[str]]


def _explained(tool: Tool[Arguments]) -> Tool[Arguments]:
    """Tell the model what is wrong with its call, so that it can make another."""

    @wraps(tool)
    async def explained(self: MemoryTools, *args: Arguments.args, **kwargs: Arguments.kwargs) -> str:
        try:
            return await tool(self, *args, **kwargs)
        except (Forbidden, InvalidRequest, NotFound) as exc:
            return f"That is not possible. {exc}"

    return explained


class MemoryTools:
    """Four functions for models, for one user or one chat: texts in, texts out."""

    def __init__(self, memory: AnyMemory, *, user: str = "", chat: str = "", limit: int = 5) -> None:
        self._memory = ScopedMemory(memory, user=user, chat=chat)
        self._limit = limit

    @_explained
    async def remember(self, text: str) -> str:
        """Keep something for later conversations.

        Args:
            text: What to keep, one thing, in the user's own words and the first person, such as "I am allergic to peanuts".
        """
        if not text.strip():
            raise InvalidRequest("text: say what to keep.", field="text")
        if self._memory.user:
            await self._memory.add([self._memory.turn("user", text)])
        else:
            await self._memory.calls.add(text, chat=self._memory.chat)
        return "Kept."

    @_explained
    async def recall(self, query: str) -> str:
        """Find what was said in earlier conversations; each line begins with its id.

        Args:
            query: A question or words, such as "what is the user allergic to".
        """
        hits = await self._memory.search(query, limit=self._limit)
        return "\n".join([*(f"[{hit.id}] {hit}" for hit in hits), *map(str, hits.facts)]) or "Nothing is known of that."

    @_explained
    async def who_is(self, person: str) -> str:
        """Tell what is known of a person.

        Args:
            person: Their name or id.
        """
        known = await self._memory.calls.call("get_person_profile", {"person_id": person, **self._memory.where})
        return known["summary"] or f"Nothing is known of {person}."

    @_explained
    async def forget(self, id: str) -> str:
        """Delete something that was kept, because the user wants it gone.

        Args:
            id: The id of a line that `recall` has found, such as "p12".
        """
        await self._memory.calls.call(
            "memory_delete_admin", action="execute", mode="paragraph", selector=[id], chat_id=self._memory.chat_id
        )
        return "Deleted."
