"""For Pydantic AI (`amemorix[pydantic-ai]`): a tool set with `remember`, `recall`, `who_is` and `forget`.

    from amemorix import Memory
    from amemorix.integrations.pydantic_ai import memory_toolset
    from pydantic_ai import Agent

    with Memory("./memory") as memory:
        agent = Agent("openai:gpt-5", toolsets=[memory_toolset(memory, user="ann")])
        agent.run_sync("I am allergic to peanuts, keep that in mind.")
        print(agent.run_sync("What should I not eat?").output)

One agent for many users takes a function of the run's context: `toolsets=[lambda ctx: memory_toolset(memory, user=ctx.deps)]`.
"""

from __future__ import annotations

from typing import Any

from ..extras import require

require("pydantic-ai", __name__)

from pydantic_ai import FunctionToolset

from .memory_tools import MemoryTools
from .scoped_memory import AnyMemory

__all__ = ["memory_toolset"]

INSTRUCTIONS = (
    "You have a long-term memory. Keep what will matter in later conversations with `remember`; look with `recall` "
    "before you say that you do not know."
)


def memory_toolset(memory: AnyMemory, *, user: str = "", chat: str = "", limit: int = 5) -> FunctionToolset[Any]:
    """Tools of an agent that talks with a user or in a chat: it reads, keeps and deletes for them alone."""
    tools = MemoryTools(memory, user=user, chat=chat, limit=limit)
    return FunctionToolset(
        [tools.remember, tools.recall, tools.who_is, tools.forget],
        instructions=INSTRUCTIONS,
        id="amemorix",
    )
