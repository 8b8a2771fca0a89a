"""The tools that an agent has of a memory; their descriptions are written for the model."""

from __future__ import annotations

from ..errors import InvalidRequest, NotFound
from .scoped_memory import AnyMemory, ScopedMemory

__all__ = ["MemoryTools"]


class MemoryTools:
    """Four functions for models: texts in, texts out; what cannot be done is said, so that the model can try again."""

    def __init__(self, memory: AnyMemory, *, user: str = "", chat: str = "", limit: int = 5) -> None:
        self._memory = ScopedMemory(memory, user=user, chat=chat)
        self._limit = limit

    async def remember(self, text: str) -> str:
        """Keep something for later conversations.

        Args:
            text: What to keep, one thing, in the user's own words and the first person, such as "I am allergic to peanuts".
        """
        if not text.strip():
            return "There is nothing to keep: say what."
        if self._memory.user:
            await self._memory.add([self._memory.turn("user", text)])
        else:
            await self._memory.calls.add(text, chat=self._memory.chat)
        return "Kept."

    async def recall(self, query: str) -> str:
        """Find what was said in earlier conversations; each line begins with its id.

        Args:
            query: A question or words, such as "what is the user allergic to".
        """
        if not query.strip():
            return "Say what to look for."
        hits = await self._memory.search(query, limit=self._limit)
        return "\n".join([*(f"[{hit.id}] {hit}" for hit in hits), *map(str, hits.facts)]) or "Nothing is known of that."

    async def who_is(self, person: str) -> str:
        """Tell what is known of a person.

        Args:
            person: Their name or id.
        """
        if not person.strip():
            return "Say who."
        known = await self._memory.calls.call("get_person_profile", person_id=person, **self._memory.where)
        return known["summary"] or f"Nothing is known of {person}."

    async def forget(self, id: str) -> str:
        """Delete something that was kept, because the user wants it gone.

        Args:
            id: The id of a line that `recall` has found, such as "p12".
        """
        try:
            await self._memory.calls.call(
                "memory_delete_admin", action="execute", mode="paragraph", selector=[id], chat_id=self._memory.chat_id
            )
        except (InvalidRequest, NotFound):
            return f"There is no {id!r} here: take the id of a line that `recall` has found."
        return "Deleted."
