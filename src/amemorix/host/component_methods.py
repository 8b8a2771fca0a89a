"""The components as methods of the kernel: `await kernel.search_memory(query="…")`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..ops import Request

__all__ = ["Answer", "Asked", "ComponentMethods"]

Asked = Request | Mapping[str, Any]
"""Arguments of a component together, such as a `KernelSearchRequest`."""
Answer = dict[str, Any]


class ComponentMethods(ABC):
    """One method for each component, with the arguments and the answer of `invoke`; errors are raised.

    Arguments go by name, or together as one request; a component with actions takes `action` among them.
    """

    @abstractmethod
    async def call(self, component: str, arguments: Asked | None = None, /, **named: Any) -> Answer:
        """The answer of a component, ready for JSON. Raises MemoryFault."""

    async def embed_texts(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Make vectors of texts by the memory's model."""
        return await self.call("embed_texts", request, **arguments)

    async def enqueue_feedback_task(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Learn from what a chat says after an answer."""
        return await self.call("enqueue_feedback_task", request, **arguments)

    async def get_context(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Tell what belongs into a prompt for the last messages of a chat, as one text."""
        return await self.call("get_context", request, **arguments)

    async def get_person_profile(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Tell what is known of a person."""
        return await self.call("get_person_profile", request, **arguments)

    async def ingest_messages(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Store turns of a chat."""
        return await self.call("ingest_messages", request, **arguments)

    async def ingest_summary(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Store the summary of a stretch of chat, or have one written."""
        return await self.call("ingest_summary", request, **arguments)

    async def ingest_text(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Store a text."""
        return await self.call("ingest_text", request, **arguments)

    async def ingest_texts(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Store many texts in one transaction."""
        return await self.call("ingest_texts", request, **arguments)

    async def maintain_memory(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Reinforce, protect, freeze or restore what is remembered, or show the recycle bin."""
        return await self.call("maintain_memory", request, **arguments)

    async def memory_correction_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Correct what is stored, as a sentence says."""
        return await self.call("memory_correction_admin", request, **arguments)

    async def memory_delete_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Look at a deletion, carry it out, undo it or erase what it deleted."""
        return await self.call("memory_delete_admin", request, **arguments)

    async def memory_document_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Get, list, describe and delete what was stored under the caller's ids."""
        return await self.call("memory_document_admin", request, **arguments)

    async def memory_episode_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """List and show episodes, have them made anew."""
        return await self.call("memory_episode_admin", request, **arguments)

    async def memory_fact_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Ask for what is held true of people, and change it."""
        return await self.call("memory_fact_admin", request, **arguments)

    async def memory_feedback_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Show and roll back what was learned from feedback."""
        return await self.call("memory_feedback_admin", request, **arguments)

    async def memory_graph_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Show and change entities and relations."""
        return await self.call("memory_graph_admin", request, **arguments)

    async def memory_import_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Import files, and show how far that is."""
        return await self.call("memory_import_admin", request, **arguments)

    async def memory_key_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Change the keys of an encrypted memory."""
        return await self.call("memory_key_admin", request, **arguments)

    async def memory_profile_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Show profiles of persons, and override them."""
        return await self.call("memory_profile_admin", request, **arguments)

    async def memory_runtime_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Save, check, reload, back up and restore the memory."""
        return await self.call("memory_runtime_admin", request, **arguments)

    async def memory_source_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """List sources, delete them."""
        return await self.call("memory_source_admin", request, **arguments)

    async def memory_stats(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Tell what is stored, and how current the indexes are."""
        return await self.call("memory_stats", request, **arguments)

    async def memory_text_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Show what is stored, text by text."""
        return await self.call("memory_text_admin", request, **arguments)

    async def memory_tuning_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Tune the ranking of searches."""
        return await self.call("memory_tuning_admin", request, **arguments)

    async def memory_v5_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Tell what is left of each memory, and strengthen, weaken or forget it."""
        return await self.call("memory_v5_admin", request, **arguments)

    async def memory_vector_admin(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Keep and search vectors of the caller's."""
        return await self.call("memory_vector_admin", request, **arguments)

    async def search_memory(self, request: Asked | None = None, /, **arguments: Any) -> Answer:
        """Search what is remembered."""
        return await self.call("search_memory", request, **arguments)
