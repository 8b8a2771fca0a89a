"""`memory_text_admin`: what is stored, text by text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import AliasChoices, BaseModel, Field, model_validator

from ..fields import ManyChatsRequest, Name, Offset, TimeInput
from ..ids import HIGHEST, paragraph_key
from ..language.times import read_bound
from ..ops import Operations, Request, Response, ScopedResponse
from ..store.access import Access, Caller
from ..store.ports import Connection
from ..store.queries import array, optional_array, shown_json
from ..store.rows import paragraphs as paragraph_rows
from .documents import CallersIds, TextId, TextIds

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()


class ListTexts(ManyChatsRequest):
    """Which texts to list."""

    person_id: Name = Field(
        "", description="Only what is bound to this person (id, name or alias): said by them, or of them."
    )
    source: Name = Field("", description="Only what came from the source of this name.")
    time_start: TimeInput = Field(None, description="Only what happened, or was stored if it is undated, from then on.")
    time_end: TimeInput = Field(None, description="Only what happened up to then; included.")
    before: TextId | None = Field(None, description="Only what stands before this text: `next` of the page before.")
    order: Literal["stored", "said"] = Field(
        "stored", description="`said`: as it was said, the last first, whenever it was stored or corrected."
    )
    limit: int = Field(50, ge=1, le=1_000)


class GetTexts(ManyChatsRequest):
    """Which texts to show."""

    ids: TextIds = Field(
        default_factory=list,
        validation_alias=AliasChoices("ids", "id"),
        description="Such as `p12`, as hits give them.",
    )
    external_ids: CallersIds = Field(
        default_factory=list,
        validation_alias=AliasChoices("external_ids", "external_id"),
        description="The caller's ids of texts of `source`, in the place of `ids` or beside them.",
    )
    source: Name = Field("", description="Name of the source that `external_ids` are of.")

    @model_validator(mode="after")
    def _names_texts(self) -> GetTexts:
        if not (self.ids or self.external_ids):
            raise ValueError("ids is required (or external_ids, with their source)")
        if self.external_ids and not self.source:
            raise ValueError("source is required: the one that `external_ids` are of")
        return self


class TextHistory(Request):
    """Of which text to tell the wordings: by its id, or by the caller's id and the source."""

    id: TextId | None = Field(None, description="Of the text, or of any wording that it had.")
    external_id: Name = ""
    source: Name = Field("", description="Name of the source that `external_id` is of.")

    @model_validator(mode="after")
    def _names_a_text(self) -> TextHistory:
        if (self.id is None) == (not (self.external_id and self.source)):
            raise ValueError("id is required (or external_id and source)")
        return self


class ListChats(ManyChatsRequest):
    """Which chats to list."""

    text: str = Field(
        "", max_length=512, validation_alias=AliasChoices("text", "keyword"), description="Part of the chat's id."
    )
    limit: int = Field(50, ge=1, le=1_000)
    offset: Offset = 0


class ChatItem(BaseModel):
    """A chat; times in epoch seconds."""

    chat_id: str
    group_id: str = ""
    user_id: str = ""
    texts: int = Field(description="How many it holds.")
    first: float = Field(description="When the first was said, or stored if undated.")
    last: float


class Chats(ScopedResponse):
    """Chats that hold something, the one talked in last first."""

    items: list[ChatItem] = Field(default_factory=list)
    count: int = 0


class StoredText(BaseModel):
    """A text as it is stored; times in epoch seconds."""

    id: str
    text: str
    chat_id: str = Field(default="", description="Empty for what every chat may see.")
    source: str = ""
    source_type: str = ""
    kind: str = Field(default="", description="`message`, `summary` or `text`.")
    speaker: str = Field(default="", description="Name of who said it.")
    person_ids: list[str] = Field(default_factory=list, description="Persons it is bound to, who said it first.")
    time: float | None = Field(default=None, description="When it was said or happened; null where it is undated.")
    recorded_at: float = 0.0
    expires_at: float | None = None
    derive: bool = Field(default=True, description="False: nothing is read out of it.")
    external_id: str = Field(default="", description="The caller's id of the text that it is of.")
    part: int = Field(default=0, description="Place in that text, which was cut where it was long; from 0.")
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)


class Texts(ScopedResponse):
    """Texts, the last stored or said first."""

    items: list[StoredText] = Field(default_factory=list)
    count: int = 0
    next: str = Field(default="", description="Give it as `before` for the next page; empty on the last one.")


class FoundTexts(ScopedResponse):
    """The texts asked for, in that order."""

    items: list[StoredText] = Field(default_factory=list)
    missing: list[str] = Field(default_factory=list, description="Ids of nothing that may be seen.")


class Wording(BaseModel):
    """A wording of a text, in epoch seconds from when until when it stood."""

    ids: list[str] = Field(default_factory=list, description="Of its paragraphs.")
    text: str = Field(default="", description="Its paragraphs, each on a line.")
    recorded_at: float = 0.0
    superseded_at: float | None = None
    deleted_at: float | None = Field(
        default=None, description="When it was deleted; it can be restored until it is purged."
    )
    metadata: dict[str, Any] = Field(default_factory=dict)


class Wordings(Response):
    """What a text has said, the first wording first; where several chats have a text of that id, one after the other."""

    items: list[Wording] = Field(default_factory=list)
    count: int = 0


@ops.operation("memory_text_admin", "list")
async def list_texts(kernel: SDKMemoryKernel, request: ListTexts) -> Texts:
    """Page through what is stored, the last stored first, or what was said last."""
    now, zone = kernel.surroundings.clock.now(), kernel.zones.of(request.chat_id, request.group_id, request.user_id)
    since = read_bound("time_start", request.time_start, now, zone)
    until = read_bound("time_end", request.time_end, now, zone)

    def read(db: Connection) -> Texts:
        scopes = Access(kernel.store.names, kernel.config).scopes(db, Caller.of(request))
        persons = None
        if request.person_id:
            kernel.indexes.names.catch_up(db)
            persons = kernel.indexes.names.index.matching(request.person_id, scopes)
        values: dict[str, Any] = {
            "before": HIGHEST if request.before is None else request.before, "now": now, "source": request.source or None,
            "since": since, "until": until, "limit": request.limit + 1,
        }  # fmt: skip
        if request.order == "stored":
            statement = "texts_everywhere" if scopes is None else "texts_in_scopes"
            values |= {"persons": optional_array(persons)} | ({} if scopes is None else {"scopes": array(scopes)})
        elif persons is None:
            statement, values["scopes"] = "texts_as_said", optional_array(scopes)
        else:
            statement = "texts_of_persons_as_said"
            values |= {"persons": array(persons), "scopes": optional_array(scopes)}
        found = db.run(statement, **values)
        ids = [row[0] for row in found]
        page = ids[: request.limit]
        more = paragraph_key(page[-1]) if len(ids) > len(page) else ""
        return Texts(items=_items(db, page), count=len(page), next=more)

    return await kernel.store.read(read)


@ops.operation("memory_text_admin", "get", "show")
async def get_texts(kernel: SDKMemoryKernel, request: GetTexts) -> FoundTexts:
    """Show texts by their ids."""
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> FoundTexts:
        scopes = Access(kernel.store.names, kernel.config).scopes(db, Caller.of(request))
        named = {"source": request.source, "external_ids": array(request.external_ids)}
        of_theirs = [tuple(row) for row in db.run("texts_of_callers_ids", **named)] if request.external_ids else []
        ids = list(dict.fromkeys([*request.ids, *(id_ for id_, _ in of_theirs)]))
        seen = {row[0] for row in db.run("texts_seen", ids=array(ids), scopes=optional_array(scopes), now=now)}
        found = {external_id for id_, external_id in of_theirs if id_ in seen}
        missing = [paragraph_key(id_) for id_ in request.ids if id_ not in seen]
        missing += [one for one in dict.fromkeys(request.external_ids) if one not in found]
        return FoundTexts(items=_items(db, [id_ for id_ in ids if id_ in seen]), missing=missing)

    return await kernel.store.read(read)


@ops.operation("memory_text_admin", "history", role="admin")
async def text_history(kernel: SDKMemoryKernel, request: TextHistory) -> Wordings:
    """Show the wordings that a text has had, deleted ones too until they are purged."""

    def read(db: Connection) -> Wordings:
        found: dict[tuple[int, int], Wording] = {}
        for ref, revision, id_, content, recorded_at, superseded_at, deleted_at, metadata in db.run(
            "texts_wordings", id=request.id, source=request.source, external_id=request.external_id
        ):
            one = found.setdefault(
                (ref, revision),
                Wording(
                    recorded_at=recorded_at, superseded_at=superseded_at, deleted_at=deleted_at,
                    metadata=shown_json(metadata),
                ),
            )  # fmt: skip
            one.ids.append(paragraph_key(id_))
            one.text += f"\n{content}" if one.text else content
        return Wordings(items=list(found.values()), count=len(found))

    return await kernel.store.read(read)


@ops.operation("memory_text_admin", "chats")
async def list_chats(kernel: SDKMemoryKernel, request: ListChats) -> Chats:
    """List the chats that hold something, the one talked in last first."""
    now = kernel.surroundings.clock.now()

    def read(db: Connection) -> Chats:
        scopes = Access(kernel.store.names, kernel.config).scopes(db, Caller.of(request))
        rows = db.run(
            "texts_chats", scopes=optional_array(scopes), text=request.text.lower() or None, now=now,
            limit=request.limit, offset=request.offset,
        )  # fmt: skip
        items = [ChatItem(**dict(zip(ChatItem.model_fields, row, strict=True))) for row in rows]
        return Chats(items=items, count=len(items))

    return await kernel.store.read(read)


def _items(db: Connection, ids: Sequence[int]) -> list[StoredText]:
    rows, persons = paragraph_rows.full(db, ids), paragraph_rows.persons(db, ids)
    kept = {row[0]: row[1:] for row in db.run("texts_kept_until", ids=array(ids))}
    return [
        StoredText(
            id=paragraph_key(id_), text=row.content, chat_id=row.chat_id, source=row.source, source_type=row.source_type,
            kind=row.kind, speaker=paragraph_rows.speaker_of(persons.get(id_, ())),
            person_ids=list(dict.fromkeys(one.person_id for one in persons.get(id_, ()))), time=row.event_start,
            recorded_at=row.recorded_at, expires_at=kept[id_][0], derive=kept[id_][1], external_id=row.external_id, part=row.position,
            tags=json.loads(row.tags), metadata=shown_json(row.metadata),
        )
        for id_ in ids
        if (row := rows.get(id_)) is not None
    ]  # fmt: skip
