"""Talk in the terminal with an agent of Pydantic AI that remembers you: `python pydantic_ai_chat.py ann`.

Needs `pip install 'amemorix[pydantic-ai]' openai` and the variable OPENAI_API_KEY. An empty line ends it.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.models import Model

from amemorix import AsyncMemory
from amemorix.integrations.pydantic_ai import memory_toolset


@dataclass
class Person:
    """Who talks, and where it is kept."""

    name: str
    memory: AsyncMemory


def their_memory(context: RunContext[Person]) -> FunctionToolset[Person]:
    return memory_toolset(context.deps.memory, user=context.deps.name)


agent = Agent(deps_type=Person, toolsets=[their_memory])  # one agent for everybody


async def talk(user: str, model: str | Model = "openai:gpt-5") -> None:
    async with AsyncMemory("./memory") as memory:
        while text := (await asyncio.to_thread(input, "> ")).strip():
            result = await agent.run(text, deps=Person(user, memory), model=model)
            print(result.output)


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1]))
