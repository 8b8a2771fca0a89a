"""`ingest_text`, `ingest_summary`, `ingest_messages`: store what was said and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from ..ids import paragraph_key
from ..language.normalise import clean_text
from ..ops import Operations, Response
from .requests import IngestMessages, IngestSummary, IngestText
from .service import Outcome

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["IngestResult", "MessagesResult", "ops"]

ops: Operations[SDKMemoryKernel] = Operations()
DISABLED = "disabled"


class IngestResult(Response):
    """What became of the text."""

    stored_ids: list[str] = Field(default_factory=list, description="Paragraphs written by this call.")
    relation_ids: list[str] = Field(default_factory=list, description="Relations written or confirmed by this call.")
    superseded_ids: list[str] = Field(default_factory=list, description="Paragraphs of the revision it replaces.")
    skipped_ids: list[str] = Field(default_factory=list, description="External ids that were not written.")
    reason: str = Field(
        default="",
        description="Why no text was written: `exists`, `expiry_changed`, `chat_filtered`, `disabled`; why no summary "
        "will be: `kept_messages` (there is no chat model: the messages are the memory), `nothing_new`.",
    )
    external_id: str = ""
    queued: bool = Field(default=False, description="A summary will be written in the background.")


class MessageResult(BaseModel):
    """What became of one turn."""

    external_id: str
    status: str = Field(description="`stored`, `revised`, `existing` or `empty_text`.")
    ids: list[str] = Field(default_factory=list)


class MessagesResult(Response):
    """What became of the turns, in their order."""

    stored_ids: list[str] = Field(default_factory=list, description="Paragraphs written by this call.")
    superseded_ids: list[str] = Field(default_factory=list)
    skipped_ids: list[str] = Field(default_factory=list, description="External ids that were not written.")
    reason: str = ""
    results: list[MessageResult] = Field(default_factory=list)


@ops.operation("ingest_text", effect="write")
async def ingest_text(kernel: SDKMemoryKernel, request: IngestText) -> IngestResult:
    """Store a text with its persons, entities and relations; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return _skipped(request.external_id, DISABLED)
    return _one(await kernel.ingest.text(request))


@ops.operation("ingest_summary", effect="write")
async def ingest_summary(kernel: SDKMemoryKernel, request: IngestSummary) -> IngestResult:
    """Store the summary of a stretch of chat, or have one written in the background; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return _skipped(request.external_id, DISABLED)
    if clean_text(request.text):
        return _one(await kernel.ingest.summary(request))
    kept = not kernel.summaries.writes
    outcome = await kernel.ingest.request_summary(request, kept=kept)
    if outcome.filtered:
        return _skipped(request.external_id)
    reason = ("kept_messages" if kept else "") if outcome.waits else "nothing_new"
    return _result(request.external_id, outcome).model_copy(update={"reason": reason, "queued": not reason})


@ops.operation("ingest_messages", effect="write")
async def ingest_messages(kernel: SDKMemoryKernel, request: IngestMessages) -> MessagesResult:
    """Store chat turns in one transaction; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return MessagesResult(reason=DISABLED)
    outcome = await kernel.ingest.messages(request)
    if outcome.filtered:
        return MessagesResult(skipped_ids=list(outcome.external_ids), reason="chat_filtered")
    results = [
        MessageResult(
            external_id=external_id,
            status=one.status if one else "empty_text",
            ids=[paragraph_key(p) for p in one.paragraphs] if one else [],
        )
        for external_id, one in zip(outcome.external_ids, outcome.stored, strict=True)
    ]
    return MessagesResult(
        stored_ids=[id_ for result in results if result.status in ("stored", "revised") for id_ in result.ids],
        superseded_ids=[paragraph_key(p) for stored in outcome.stored if stored for p in stored.superseded],
        skipped_ids=[result.external_id for result in results if result.status in ("existing", "empty_text")],
        results=results,
    )


def _one(outcome: Outcome) -> IngestResult:
    """The first text gives its name to the call."""
    external_id = outcome.external_ids[0]
    if outcome.filtered:
        return _skipped(external_id)
    found = _result(external_id, outcome)
    if found.stored_ids:
        return found
    changed = any(one is not None and one.expiry_changed for one in outcome.stored)
    return found.model_copy(update={"reason": "expiry_changed" if changed else "exists"})


def _skipped(external_id: str, reason: str = "chat_filtered") -> IngestResult:
    return IngestResult(external_id=external_id, skipped_ids=[external_id], reason=reason)


def _result(external_id: str, outcome: Outcome) -> IngestResult:
    written = [one for one in outcome.stored if one is not None and one.status != "existing"]
    new = {one.external_id for one in written}
    return IngestResult(
        external_id=external_id,
        stored_ids=[paragraph_key(p) for one in written for p in one.paragraphs],
        relation_ids=[f"r{r}" for one in written for r in one.relations],
        superseded_ids=[paragraph_key(p) for one in written for p in one.superseded],
        skipped_ids=[key for key in outcome.external_ids if key not in new],
        warnings=[warning for one in written for warning in one.warnings],
    )
