"""For LangChain (`amemorix[langchain]`): a retriever, and a history of chat messages.

    from amemorix import Memory
    from amemorix.integrations.langchain import AMemorixChatMessageHistory, AMemorixRetriever

    with Memory("./memory") as memory:
        history = AMemorixChatMessageHistory("monday", memory, user="ann")
        history.add_user_message("I am allergic to peanuts.")
        retriever = AMemorixRetriever(memory=memory, user="ann", limit=3)
        for document in retriever.invoke("what is ann allergic to?"):
            print(document.page_content, document.metadata["confidence"])

`invoke` wants a `Memory` or a `Client`, `ainvoke` takes each of the four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..extras import require

require("langchain", __name__)

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from .item_history import ItemHistory
from .scoped_memory import AnyMemory, ScopedMemory, hit_metadata

__all__ = ["AMemorixChatMessageHistory", "AMemorixRetriever"]

_ROLES = {"human": "user", "ai": "assistant", "system": "system"}
"""Types of messages whose text somebody said, and who."""


class AMemorixRetriever(BaseRetriever):
    """Finds what was said, for a user or a chat; the likeliest first."""

    memory: AnyMemory
    user: str = ""
    chat: str = ""
    limit: int = 5
    min_confidence: float = 0.0
    _scoped: ScopedMemory = PrivateAttr()

    def model_post_init(self, _: Any, /) -> None:
        self._scoped = ScopedMemory(self.memory, user=self.user, chat=self.chat)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002
        return self._scoped.wait(self._documents(query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun  # noqa: ARG002
    ) -> list[Document]:  # fmt: skip
        return await self._documents(query)

    async def _documents(self, query: str) -> list[Document]:
        hits = await self._scoped.search(query, limit=self.limit, min_confidence=self.min_confidence)
        return [Document(id=hit.id, page_content=hit.text, metadata=hit_metadata(hit)) for hit in hits]


class AMemorixChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session, exactly as they were added; their texts become memories of the user or the chat.

    `clear` deletes (over HTTP with the role `admin`); with `purge` for good.
    """

    def __init__(
        self, session_id: str, memory: AnyMemory, *, user: str = "", chat: str = "", purge: bool = False
    ) -> None:
        super().__init__()
        self._scoped = ScopedMemory(memory, user=user, chat=chat)
        self._items = ItemHistory(self._scoped, session_id, purge=purge)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride]  # as theirs in files
        """Every message, the oldest first."""
        return self._scoped.wait(self.aget_messages())

    async def aget_messages(self) -> list[BaseMessage]:
        """Every message, the oldest first."""
        return messages_from_dict(await self._items.load())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages; durable when it returns."""
        self._scoped.wait(self.aadd_messages(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages; durable when it returns."""
        await self._items.add(
            (_ROLES.get(one.type, ""), one.text if one.type in _ROLES else "", message_to_dict(one)) for one in messages
        )

    def clear(self) -> None:
        """Delete every message."""
        self._scoped.wait(self.aclear())

    async def aclear(self) -> None:
        """Delete every message."""
        await self._items.clear()
