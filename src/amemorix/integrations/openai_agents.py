"""For the OpenAI Agents SDK (`amemorix[openai-agents]`): a session, and tools.

    from agents import Agent, Runner
    from amemorix import Memory
    from amemorix.integrations.openai_agents import AMemorixSession, memory_tools

    async def main() -> None:
        with Memory("./memory") as memory:
            agent = Agent(name="Mai", model="gpt-5", tools=memory_tools(memory, user="ann"))
            session = AMemorixSession("monday", memory, user="ann")
            await Runner.run(agent, "I am allergic to peanuts.", session=session)
            result = await Runner.run(agent, "What should I not eat?", session=session)
            print(result.final_output)

What Ann says in one session is recalled in all of hers, by the tools and by `memory.search(…, user="ann")`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..extras import require

require("openai-agents", __name__)

from agents import FunctionTool, SessionSettings, TResponseInputItem, function_tool
from agents.memory import SessionABC

from .item_history import ItemHistory
from .memory_tools import MemoryTools
from .scoped_memory import AnyMemory, ScopedMemory

__all__ = ["AMemorixSession", "memory_tools"]


class AMemorixSession(SessionABC):
    """A session of a user or a chat, whose messages become memories.

    Items come back exactly as they were added; of tool calls, reasoning and images only that they were is found by a
    search. `pop_item` and `clear_session` delete (over HTTP with the role `admin`); with `purge` for good.
    """

    def __init__(
        self, session_id: str, memory: AnyMemory, *, user: str = "", chat: str = "", purge: bool = False,
        session_settings: SessionSettings | None = None,
    ) -> None:  # fmt: skip
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()
        self._items = ItemHistory(ScopedMemory(memory, user=user, chat=chat), session_id, purge=purge)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The last `limit` items, or as many as the settings say, the oldest first."""
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        return await self._items.load(None if most is None or most < 0 else most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; durable when it returns."""
        await self._items.add(_read(item) for item in items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the last item and return it; None if there is none."""
        return await self._items.pop()

    async def clear_session(self) -> None:
        """Delete every item."""
        await self._items.clear()


def memory_tools(memory: AnyMemory, *, user: str = "", chat: str = "", limit: int = 5) -> list[FunctionTool]:
    """`remember`, `recall`, `who_is` and `forget` for an agent that talks with a user or in a chat."""
    tools = MemoryTools(memory, user=user, chat=chat, limit=limit)
    return [function_tool(one) for one in (tools.remember, tools.recall, tools.who_is, tools.forget)]


def _read(item: Mapping[str, Any]) -> tuple[str, str, Any]:
    """(role, text, item)."""
    content = item.get("content") if item.get("role") else ""
    parts = [content] if isinstance(content, str) else content or ()
    texts = (one if isinstance(one, str) else one.get("text") or one.get("refusal") or "" for one in parts)
    return item.get("role", ""), "\n".join(filter(None, texts)), item
