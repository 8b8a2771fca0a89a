"""The example of an agent that remembers, with a scripted model."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from pydantic import Field

from amemorix import Memory
from amemorix.integrations.langgraph import AMemorixStore

EXAMPLE = Path(__file__).parents[2] / "examples" / "langgraph_agent.py"


class Scripted(FakeMessagesListChatModel):
    """Answers in turn, and keeps what it was asked."""

    asked: list[list[BaseMessage]] = Field(default_factory=list)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.asked.append(messages)
        return super()._generate(messages, *args, **kwargs)


def test_an_agent_remembers_between_conversations(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLE))
    model = Scripted(responses=[AIMessage("Good to know."), AIMessage("No peanuts."), AIMessage("I do not know.")])
    with Memory(tmp_path, settings={"embedding.provider": "none"}) as memory:
        agent = example["agent_of"](model, AMemorixStore(memory, likely_only=True))

        def talk(user_id: str, said: str) -> tuple[str, str]:
            told = agent.invoke({"messages": [("user", said)]}, context=example["Person"](user_id))
            return str(model.asked[-1][0].content), told["messages"][-1].text

        assert talk("ann", "I am allergic to peanuts.") == (
            "You are a helpful friend. What the person has told you before:\n- nothing yet",
            "Good to know.",
        )
        prompt, answer = talk("ann", "What am I allergic to?")
        assert "- I am allergic to peanuts." in prompt and answer == "No peanuts."
        prompt, _ = talk("bob", "What am I allergic to?")
        assert "peanuts" not in prompt
