"""Talk in the terminal with an agent of the OpenAI Agents SDK that remembers you: `python openai_agents_chat.py ann`.

Needs `pip install 'amemorix[openai-agents]'` and the variable OPENAI_API_KEY. An empty line ends it.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import date

from agents import Agent, Model, Runner

from amemorix import AsyncMemory
from amemorix.integrations.openai_agents import AMemorixSession, memory_tools

INSTRUCTIONS = "You are a friend. Look with `recall` before you say that you do not know something of the user."


async def talk(user: str, model: str | Model = "gpt-5") -> None:
    async with AsyncMemory("./memory") as memory:
        agent = Agent(name="Mai", instructions=INSTRUCTIONS, model=model, tools=memory_tools(memory, user=user))
        session = AMemorixSession(f"{date.today()}", memory, user=user)  # every day a new one
        while text := (await asyncio.to_thread(input, "> ")).strip():
            result = await Runner.run(agent, text, session=session)
            print(result.final_output)


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1]))
