"""A LangGraph agent that remembers people between conversations, without a checkpointer.

pip install 'amemorix[langgraph]' langchain langchain-openai
python examples/langgraph_agent.py openai:gpt-5-mini ann
"""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

from amemorix import Memory
from amemorix.integrations.langgraph import AMemorixStore


@dataclass
class Person:
    """With whom the agent talks."""

    user_id: str


def agent_of(model: BaseChatModel, store: BaseStore) -> CompiledStateGraph[Any, Person, Any, Any]:
    """An agent that looks up what the person has said before, answers, and keeps what was said."""

    def answer(state: MessagesState, runtime: Runtime[Person]) -> dict[str, Any]:
        assert runtime.store is not None
        said = state["messages"][-1].text
        known = runtime.store.search(("said", runtime.context.user_id), query=said, limit=5)
        told = "\n".join(f"- {item.value['text']}" for item in known) or "- nothing yet"
        prompt = SystemMessage(f"You are a helpful friend. What the person has told you before:\n{told}")
        return {"messages": [model.invoke([prompt, *state["messages"]])]}

    def remember(state: MessagesState, runtime: Runtime[Person]) -> None:
        assert runtime.store is not None
        said = [message.text for message in state["messages"] if message.type == "human"][-1]
        runtime.store.put(("said", runtime.context.user_id), uuid.uuid4().hex, {"text": said}, index=["text"])

    graph = StateGraph(MessagesState, context_schema=Person)
    graph.add_node("answer", answer)
    graph.add_node("remember", remember)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "remember")
    graph.add_edge("remember", END)
    return graph.compile(store=store)


def main(model_name: str, user_id: str) -> None:
    """Talk at the terminal; every line is a conversation of its own, and only the memory joins them."""
    from langchain.chat_models import init_chat_model  # pyright: ignore[reportMissingImports]

    with Memory() as memory:
        agent = agent_of(init_chat_model(model_name), AMemorixStore(memory, likely_only=True))
        while said := input("> "):
            talk = agent.invoke({"messages": [("user", said)]}, context=Person(user_id))
            print(talk["messages"][-1].text)


if __name__ == "__main__":
    main(*sys.argv[1:3])
