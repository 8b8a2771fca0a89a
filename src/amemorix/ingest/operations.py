"""`ingest_text`, `ingest_summary`, `ingest_messages`: store what was said and written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from ..fields import LetteredName, Name, RequiredName, TimeInput, TimeToLive, WholeText, one_expiry
from ..ids import paragraph_key
from ..language.normalise import clean_text, content_hash, normalise_name
from ..ops import Operations, Request, Response
from .messages import HARMLESS, KEYS, SPELLINGS, Misspelt, place_of, read_message

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel
    from ..store.records import Stored
    from .service import Outcome

__all__ = [
    "NO_CHAT", "WAIT_ERROR", "EntityInput", "IngestMessages", "IngestSummary", "IngestText", "IngestTexts", "Message", "RelationInput",
    "Wait", "ops", "wait_error",
]  # fmt: skip

ops: Operations[SDKMemoryKernel] = Operations()
DISABLED = "disabled"
NO_CHAT = "chat_id is required (or group_id, or user_id)"
Names = Annotated[list[RequiredName], Field(max_length=1000)]
Wait = Annotated[
    Literal["", "stored", "indexed", "searchable", "vectors"],
    Field(
        description="Return as soon as it is stored (`stored`, as without it), and words find it from then on; once a search finds it by "
        "meaning too (`searchable`: its vectors are made before all others), at the latest after ten seconds; once every index "
        "lists it (`indexed`); or once its vectors are made (`vectors`), at the latest after `embedding.timeout_seconds`. Without an "
        "embedding model, words are all that a search goes by: then `searchable` waits for nothing."
    ),
]
"""What a call that stores waits for."""
SEARCHABLE_SECONDS = 10.0
WAIT_ERROR = "Why what `wait` asks for is not there, such as the model's error; empty if it is. The text is stored."


Aliases = Annotated[list[LetteredName], Field(max_length=50)]


class EntityInput(Request):
    """A named thing; a bare string is its name."""

    model_config = ConfigDict(json_schema_extra={"type": ["object", "string"]})

    name: LetteredName
    type: Name = ""
    aliases: list[LetteredName] = Field(
        default_factory=list, max_length=100, description="Other names that mean it, in every chat."
    )

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value


class RelationInput(Request):
    """Subject, predicate, object."""

    subject: LetteredName
    predicate: RequiredName
    object: LetteredName
    confidence: float = Field(1.0, ge=0, le=1)

    @model_validator(mode="after")
    def _two_ends(self) -> RelationInput:
        if normalise_name(self.subject) == normalise_name(self.object):
            raise ValueError("subject and object are the same: a relation joins two different things")
        return self


def _at(loc: tuple[str | int, ...], why: str) -> ValidationError:
    """The error of one field within a value."""
    error = PydanticCustomError("refused", "{why}", {"why": why})
    return ValidationError.from_exception_data("request", [{"type": error, "loc": loc, "input": None}])


def _made_up(given: dict[str, Any]) -> str:
    names = ("chat_id", "group_id", "user_id", "source_type", "source", "text", "timestamp", "time_start", "time_end")
    told = given | {"text": given.get("text", "").strip()}
    return f"text:{content_hash(json.dumps([told.get(name) for name in names]))[:32]}"


class _Ingest(Request):
    chat_id: Name = Field("", description="The chat it belongs to; without one everybody may find it.")
    user_id: Name = Field("", description="The private chat's user; stands for the chat when `chat_id` is not given.")
    group_id: Name = Field("", description="The chat's group; stands for the chat when `chat_id` is not given.")
    metadata: dict[str, Any] = Field(
        default_factory=dict,
        description="Kept as it is, given back with every hit. The same text told again has the metadata and tags of that "
        "call: `{}` and `[]` empty them, and so does null; where none are given, it keeps those that it has.",
    )
    respect_filter: bool = Field(True, description="Apply the chat filter of the configuration.")
    derive: bool = Field(
        True,
        description="False: it is stored and found, and nothing is read out of it: no facts, episodes, names or relations.",
    )
    expires_at: TimeInput = Field(
        None,
        description="From then on it is hidden, and soon in the recycle bin; of a day or month named, its last moment. "
        "The same id and text with another time changes the time, `never` lifts it.",
    )
    ttl_seconds: TimeToLive = None

    _one_expiry = model_validator(mode="after")(one_expiry)

    @model_validator(mode="before")
    @classmethod
    def _null_empties(cls, value: Any) -> Any:
        """Take a null for nothing at all where nothing given would leave what is there."""
        given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        empty: dict[str, Any] = {"metadata": {}, "tags": []}
        nulls = {key: none for key, none in empty.items() if key in given and given[key] is None}
        return {**given, **nulls} if nulls else value


class IngestText(_Ingest):
    """Arguments of `ingest_text`."""

    source_type: Annotated[RequiredName, Field(max_length=64)] = Field(
        "note", description="What kind of text it is; a `person_fact` is held true of the persons it is about."
    )
    text: WholeText = Field(description="The text; a long one becomes several paragraphs.")
    source: Name = Field("", description="Name of its source; `source_type:chat_id` when not given.")
    scope: Literal["chat", "global"] = Field("chat", description="`global`: every chat may find it.")
    person_ids: Names = Field(default_factory=list, description="Persons it is about.")
    participants: Names = Field(default_factory=list, description="Persons who took part, by name or id.")
    person_aliases: dict[RequiredName, Aliases] = Field(
        default_factory=dict,
        max_length=1000,
        description="Person id to further names that the person has in this chat.",
    )
    timestamp: TimeInput = Field(
        None,
        validation_alias=AliasChoices("timestamp", *SPELLINGS["time"]),
        description="When it happened (also `time`, `date`, `created_at`, `event_time`); `time_start` and `time_end` for a stretch.",
    )
    time_start: TimeInput = Field(None, validation_alias=AliasChoices("time_start", "event_time_start"))
    time_end: TimeInput = Field(None, validation_alias=AliasChoices("time_end", "event_time_end"))
    tags: Names = Field(default_factory=list)
    knowledge_type: Literal["auto", "factual", "narrative", "quote"] = Field(
        "auto", description="What kind of text it is, which decides how it is cut and read; `auto` tells by its form."
    )
    entities: list[EntityInput] = Field(default_factory=list, max_length=1000)
    relations: list[RelationInput] = Field(default_factory=list, max_length=1000)
    external_id: RequiredName = Field(
        default_factory=_made_up,
        description="The caller's id: the same id and text again changes nothing. Made of the text, its chat, source and time "
        "when not given; the answer says it.",
    )
    same_text: Literal["store", "keep", "merge"] = Field(
        "store",
        description="What becomes of a text that its source holds already, be it under another id: `store` stores it under its "
        "own, `keep` leaves what is there, `merge` adds the metadata to it; the answer names the id that it is under.",
    )
    wait: Wait = ""

    @model_validator(mode="after")
    def _derives_or_not(self) -> IngestText:
        for name in ("entities", "relations"):
            if getattr(self, name) and not self.derive:
                raise _at((name,), "with derive = false a text has none")
        return self

    @model_validator(mode="before")
    @classmethod
    def _has_no_speaker(cls, value: Any) -> Any:
        given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        for key in ("speaker", "speaker_id", "speaker_name", "sender", "person", "person_name"):
            if given.get(key) not in (None, ""):
                raise _at(
                    (key,),
                    "a text has no speaker: name whom it is about in `person_ids` or who took part in `participants`, or "
                    "store what somebody said by ingest_messages",
                )
        return value


class Message(Request):
    """One chat turn, in these words or as platforms spell it.

    `role` and `content` (a text, or parts of one), `senderId`, `author: {id, name}`, events of OneBot, Discord, Telegram,
    Slack and Matrix, messages of OpenAI, LangChain and MaiBot are understood too.
    """

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    text: str = Field(description="What was said.")
    speaker: Name = Field("", description="Display name of who said it.")
    person_id: Name = Field("", description="Id of who said it; the display name when not given.")
    aliases: Aliases = Field(default_factory=list, description="Further names of who said it, in this chat.")
    external_id: Name = Field("", description="The caller's id of the turn; made up when not given.")
    time: TimeInput = Field(None, description="When it was said; now when not given.")
    tags: Names = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _as_spelled(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        try:
            return read_message(cast(dict[str, Any], value))[0]
        except Misspelt as exc:
            raise _at((exc.key,), str(exc)) from exc

    @classmethod
    def known_keys(cls) -> set[str]:
        """Every key that a message is read from, or that is passed over."""
        return super().known_keys() | KEYS | HARMLESS


class IngestSummary(_Ingest):
    """Arguments of `ingest_summary`."""

    external_id: RequiredName = Field(description="The caller's id: the same id and text again changes nothing.")
    chat_id: RequiredName = Field(description="The chat that is summarised.")
    text: WholeText = Field(
        "",
        description="The summary. Empty: the memory writes it in the background, over all messages of the chat that no "
        "summary covers yet; the arguments below, but for `messages`, then come from those.",
    )
    participants: Names = Field(default_factory=list, description="Who took part, by name or id.")
    person_ids: Names = Field(default_factory=list, description="Persons it is about.")
    time_start: TimeInput = Field(None, description="When the stretch begins.")
    time_end: TimeInput = Field(None, description="When it ends.")
    tags: Names = Field(default_factory=list)
    messages: list[Message] = Field(
        default_factory=list,
        description="What was said, stored as by `ingest_messages`; without an `external_id` of its own, a turn is known "
        "by the call's and its place.",
    )
    wait: Wait = ""


class IngestMessages(_Ingest):
    """Arguments of `ingest_messages`."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [name], "properties": {name: {"minLength": 1}}}
                for name in ("chat_id", "group_id", "user_id")
            ]
        }
    )

    user_id: Name = Field(
        "",
        description="Who the bot talks with: the private chat's user, which stands for the chat when neither `chat_id` nor "
        "`group_id` is given; and who speaks in turns that do not say, or say the role `user`.",
    )
    messages: list[Message] = Field(
        min_length=1,
        description="Turns in the order they were said; at most `ingest.max_messages` of them, with `ingest.max_call_chars` "
        "characters together.",
    )
    source: Name = Field("", description="Name of their source; `chat:CHAT_ID` when not given.")
    same_text: Literal["store", "keep"] = Field(
        "store",
        description="What becomes of a turn without an `external_id` whose speaker has said the very same in this source before: "
        "`store` stores it each time, `keep` leaves what is there; `results` then name the id that it is under.",
    )
    wait: Wait = ""

    @model_validator(mode="before")
    @classmethod
    def _of_one_chat(cls, value: Any) -> Any:
        """Turns that say themselves which group they are of must not be of two."""
        given = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        messages = given.get("messages")
        group = given.get("group_id")
        first = str(group) if isinstance(group, str | int) else ""
        for i, one in enumerate(cast(list[Any], messages) if isinstance(messages, list) else []):
            key, place = place_of(cast(dict[str, Any], one)) if isinstance(one, dict) else ("", "")
            if place and first and place != first and (key == "group_id" or not group):
                raise _at(
                    ("messages", i, key), f"says {place[:60]!r}, and the others {first[:60]!r}: a call stores one chat"
                )
            first = first or place
        return value

    @model_validator(mode="after")
    def _has_a_chat(self) -> IngestMessages:
        if not (self.chat_id or self.group_id or self.user_id):
            raise ValueError(NO_CHAT)
        return self


class IngestTexts(Request):
    """Arguments of `ingest_texts`."""

    items: list[IngestText] = Field(
        min_length=1,
        description="Texts as `ingest_text` takes them; at most `ingest.max_messages` of them, with `ingest.max_call_chars` "
        "characters together.",
    )
    wait: Wait = ""


class IngestResult(Response):
    """What became of the text."""

    stored_ids: list[str] = Field(default_factory=list, description="Paragraphs written by this call.")
    relation_ids: list[str] = Field(default_factory=list, description="Relations written or confirmed by this call.")
    superseded_ids: list[str] = Field(default_factory=list, description="Paragraphs of the revision it replaces.")
    skipped_ids: list[str] = Field(default_factory=list, description="External ids that were not written.")
    reason: str = Field(
        default="",
        description="Why no text was written: `exists`, `expiry_changed`, `metadata_changed`, `chat_filtered`, `disabled`; why no summary "
        "will be: `kept_messages` (there is no chat model: the messages are the memory), `nothing_new`.",
    )
    external_id: str = ""
    queued: bool = Field(default=False, description="A summary will be written in the background.")
    wait_error: str = Field(default="", description=WAIT_ERROR)


class TextsResult(Response):
    """What became of the texts, in their order."""

    results: list[IngestResult] = Field(default_factory=list)
    wait_error: str = Field(default="", description=WAIT_ERROR)


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
    wait_error: str = Field(default="", description=WAIT_ERROR)


async def wait_error(kernel: SDKMemoryKernel, waits: Set[Wait], stored: Iterable[Stored | None]) -> str:
    """Why what a call waits for is not there, once all of it is there or cannot be."""
    rows = [row for one in stored if one for row in one.paragraphs]
    if not rows:
        return ""
    error = ""
    if "vectors" in waits:
        error = await kernel.vectors.wait_error(rows)
    elif "searchable" in waits:  # a search takes up what has changed before it looks
        error = await kernel.vectors.search_error(rows, SEARCHABLE_SECONDS)
    if waits & {"indexed", "vectors"}:
        await kernel.maintenance.follow()
    return error


@ops.operation("ingest_text", effect="write")
async def ingest_text(kernel: SDKMemoryKernel, request: IngestText) -> IngestResult:
    """Store a text with its persons, entities and relations; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return _skipped(request.external_id, DISABLED)
    outcome = await kernel.ingest.store(request)
    answer = _one(outcome.external_ids[0], outcome)
    answer.wait_error = await wait_error(kernel, {request.wait}, outcome.stored)
    return answer


@ops.operation("ingest_texts", effect="write", role="write")
async def ingest_texts(kernel: SDKMemoryKernel, request: IngestTexts) -> TextsResult:
    """Store many texts in one transaction; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return TextsResult(results=[_skipped(item.external_id, DISABLED) for item in request.items])
    outcomes = await kernel.ingest.store_texts(request.items)
    waits: set[Wait] = {request.wait, *(item.wait for item in request.items)}
    return TextsResult(
        results=[_one(one.external_ids[0], one) for one in outcomes],
        wait_error=await wait_error(kernel, waits, [stored for one in outcomes for stored in one.stored]),
    )


@ops.operation("ingest_summary", effect="write")
async def ingest_summary(kernel: SDKMemoryKernel, request: IngestSummary) -> IngestResult:
    """Store the summary of a stretch of chat, or have one written in the background; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return _skipped(request.external_id, DISABLED)
    writes = kernel.summaries.writes
    outcome = await kernel.ingest.store(request, summarised=writes)
    if clean_text(request.text) or outcome.filtered:
        answer = _one(request.external_id, outcome)
    else:
        reason = ("" if writes else "kept_messages") if outcome.waits else "nothing_new"
        answer = _result(request.external_id, outcome).model_copy(update={"reason": reason, "queued": not reason})
    answer.wait_error = await wait_error(kernel, {request.wait}, outcome.stored)
    return answer


@ops.operation("ingest_messages", effect="write")
async def ingest_messages(kernel: SDKMemoryKernel, request: IngestMessages) -> MessagesResult:
    """Store chat turns in one transaction; durable when it returns."""
    if not kernel.config.plugin.enabled:
        return MessagesResult(reason=DISABLED)
    outcome = await kernel.ingest.store(request)
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
        wait_error=await wait_error(kernel, {request.wait}, outcome.stored),
    )


def _one(external_id: str, outcome: Outcome) -> IngestResult:
    if outcome.filtered:
        return _skipped(external_id)
    found = _result(external_id, outcome)
    if found.stored_ids:
        return found
    told_again = [one for one in outcome.stored if one is not None]
    reason = "metadata_changed" if any(one.metadata_changed for one in told_again) else "exists"
    reason = "expiry_changed" if any(one.expiry_changed for one in told_again) else reason
    return found.model_copy(update={"reason": reason})


def _skipped(external_id: str, reason: str = "chat_filtered") -> IngestResult:
    return IngestResult(external_id=external_id, skipped_ids=[external_id], reason=reason)


def _result(external_id: str, outcome: Outcome) -> IngestResult:
    written = [one for one in outcome.stored if one is not None and one.status != "existing"]
    written.sort(key=lambda one: one.external_id != external_id)  # the call's own text comes before its messages
    new = {one.external_id for one in written}
    return IngestResult(
        external_id=external_id,
        stored_ids=[paragraph_key(p) for one in written for p in one.paragraphs],
        relation_ids=[f"r{r}" for one in written for r in one.relations],
        superseded_ids=[paragraph_key(p) for one in written for p in one.superseded],
        skipped_ids=sorted((key for key in outcome.external_ids if key not in new), key=lambda key: key != external_id),
        warnings=[warning for one in written for warning in one.warnings],
    )
