"""Documents: what was stored under an external id, found by filters, and as it is shown."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from itertools import chain
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, model_validator

from ..errors import InvalidRequest
from ..fields import Name, OneOrMore, RequiredName, Tags, TimeInput
from ..ids import HIGHEST, paragraph_key, row_number
from ..language.times import read_bound
from ..ops import Request
from ..store.access import Sight
from ..store.ports import Connection
from ..store.queries import array, optional_array, shown_json
from ..store.rows.documents import joined

__all__ = [
    "CallersIds", "Document", "DocumentFilters", "Found", "Order", "Place", "TextId", "TextIds", "cursor_of", "has_values",
    "matching", "of_callers_ids", "of_texts", "place_of", "whole",
]  # fmt: skip

MOST_IDS = 1_000
PORTION = 500
WALKS = {
    ("created", False): "documents_created_after", ("created", True): "documents_created_before",
    ("updated", False): "documents_updated_after", ("updated", True): "documents_updated_before",
}  # fmt: skip
"""The statement for an order, ascending or descending."""
SHOWN = (
    "external_id", "source", "source_type", "chat_id", "created_at", "updated_at", "revision", "expires_at", "time", "derive",
)  # fmt: skip
"""Columns of a document as it is shown, beside its words, metadata and tags."""
Order = Literal["created", "updated"]
Place = tuple[float, int]
"""The time by which a document is listed, and its row."""


def _text_id(value: Any) -> Any:
    row = row_number(value, "p") if isinstance(value, str) else value
    if not isinstance(row, int) or isinstance(row, bool) or not 0 < row <= HIGHEST:
        raise ValueError("is no id of a text: expected one such as p12")
    return row


TextId = Annotated[int, BeforeValidator(_text_id), Field(json_schema_extra={"type": ["string", "integer"]})]
TextIds = Annotated[list[TextId], OneOrMore, Field(max_length=MOST_IDS)]
CallersIds = Annotated[list[RequiredName], OneOrMore, Field(max_length=MOST_IDS)]


class DocumentFilters(Request):
    """Which documents are meant."""

    source: Name = Field("", description="Only of the source of this name.")
    external_ids: CallersIds = Field(
        default_factory=list,
        validation_alias=AliasChoices("external_ids", "external_id"),
        description="Only those that the caller knows by these ids, of `source`.",
    )
    source_type: Name = Field("", description="Only of sources of this kind.")
    tags: Tags = Field(default_factory=list, description="Only what has all of these tags.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Only what has these keys at the top of its metadata, with these values."
    )
    since: TimeInput = Field(None, description="Only what was first stored from then on.")
    until: TimeInput = Field(None, description="Only what was first stored up to then; included.")

    @model_validator(mode="after")
    def _ids_of_a_source(self) -> DocumentFilters:
        if self.external_ids and not self.source:
            raise ValueError("source is required: the one that `external_ids` are of")
        return self


class Document(BaseModel):
    """What one call stored under an id; times in epoch seconds."""

    id: str = Field(description="Of its first paragraph.")
    external_id: str = ""
    text: str = Field(default="", description="As it was told, with every blank space; less what was deleted of it.")
    metadata: dict[str, Any] = Field(default_factory=dict)
    tags: list[str] = Field(default_factory=list)
    source: str = ""
    source_type: str = ""
    chat_id: str = ""
    created_at: float = 0.0
    updated_at: float = Field(default=0.0, description="When it was last worded or described anew.")
    revision: int = 1
    expires_at: float | None = None
    time: float | None = Field(default=None, description="When it happened; null where it is undated.")
    derive: bool = Field(default=True, description="False: nothing is read out of it.")
    paragraph_ids: list[str] = Field(default_factory=list)


class Found(NamedTuple):
    """A document that may be seen."""

    id: int
    key: Any
    """What it was asked for by: the caller's id, or the row of a paragraph."""
    created_at: float
    updated_at: float
    scope: int
    expires_at: float | None
    tags: str
    metadata: str

    def place(self, order: Order) -> Place:
        """Where a list in this order goes on behind it."""
        return self.created_at if order == "created" else self.updated_at, self.id


def matching(
    db: Connection, filters: DocumentFilters, sight: Sight, zone: tzinfo, order: Order = "created", *,
    descending: bool = False, behind: Place | None = None, gone: bool = False,
) -> Iterator[Found]:  # fmt: skip
    """What may be seen and meets the filters, in order, from behind a place on; with `gone` also what has expired, and then,
    in no order, what is in the recycle bin."""
    since = read_bound("since", filters.since, sight.now, zone)
    until = read_bound("until", filters.until, sight.now, zone)
    wanted = frozenset(filters.tags)

    def meets(one: Found) -> bool:
        if not _sees(sight, one, gone=gone) or (since is not None and one.created_at < since):
            return False
        if (until is not None and one.created_at > until) or not wanted.issubset(json.loads(one.tags)):
            return False
        return has_values(one.metadata, filters.metadata)

    start = behind or ((math.inf, HIGHEST) if descending else (-math.inf, 0))
    kind = {"source": filters.source or None, "source_type": filters.source_type or None}
    chosen: Sequence[Found] | None = None
    tag: str | None = None
    if filters.external_ids:
        chosen = of_callers_ids(db, filters.source, filters.external_ids, sight, filters.source_type, gone=gone)
    elif filters.tags:
        tag, count = db.run("documents_rarest_tag", tags=array(filters.tags), limit=PORTION + 1).fetchone()
        if count <= PORTION:  # no more than a walk reads at once
            chosen = [Found(*row) for row in db.run("documents_tagged", tag=tag, **kind)]
    if chosen is not None:
        ranked = sorted(dict.fromkeys(chosen), key=lambda one: one.place(order), reverse=descending)
        found = (one for one in ranked if (one.place(order) < start if descending else one.place(order) > start))
    else:
        sources = db.run("documents_sources", **kind, scopes=optional_array(sight.scopes)).fetchall()
        every = (_of_source(db, source, order, start, tag, descending=descending) for (source,) in sources)
        found = heapq.merge(*every, key=lambda one: one.place(order), reverse=descending)
    if gone:
        of = optional_array(filters.external_ids or None)
        found = chain(found, (Found(*row) for row in db.run("documents_deleted", **kind, external_ids=of)))
    return filter(meets, found)


def of_callers_ids(
    db: Connection, source: str, external_ids: Iterable[str], sight: Sight, source_type: str = "", *, gone: bool = False
) -> list[Found]:
    """The documents that a caller knows by these ids, in their order: one for each chat that has the source."""
    kind = {"source": source, "source_type": source_type or None}
    rows = db.run("documents_of_ids", **kind, external_ids=array(external_ids))
    return [one for row in rows if _sees(sight, one := Found(*row), gone=gone)]


def of_texts(db: Connection, ids: Iterable[int], sight: Sight) -> list[Found]:
    """The document of each of these paragraphs, in their order; a paragraph of an older wording is of it too."""
    return [one for row in db.run("documents_of_texts", ids=array(ids)) if _sees(sight, one := Found(*row))]


def whole(db: Connection, ids: Sequence[int]) -> list[Document]:
    """Documents as they are shown, in the order of their rows."""
    places = {id_: place for place, id_ in enumerate(ids)}
    words: dict[int, list[tuple[int, str, str | None]]] = {}
    for ref, id_, content, original in db.run("documents_words", ids=array(ids)):
        words.setdefault(ref, []).append((id_, content, original))
    items: list[Document] = []
    for id_, metadata, tags, *row in sorted(db.run("documents_whole", ids=array(ids)), key=lambda row: places[row[0]]):
        parts = words[id_]
        items.append(
            Document(
                id=paragraph_key(parts[0][0]), text=parts[0][2] or joined(content for _, content, _ in parts),
                metadata=shown_json(metadata), tags=json.loads(tags),
                paragraph_ids=[paragraph_key(paragraph) for paragraph, _, _ in parts], **dict(zip(SHOWN, row, strict=True)),
            )
        )  # fmt: skip
    return items


def place_of(cursor: str) -> Place:
    """Where a list goes on. Raises InvalidRequest."""
    try:
        at, _, id_ = cursor.partition("_")
        place = float(at), int(id_)
    except ValueError as exc:
        raise InvalidRequest("cursor: it is none that `next` gave.", field="cursor") from exc
    if not 0 <= place[1] <= HIGHEST:
        raise InvalidRequest("cursor: it is none that `next` gave.", field="cursor")
    return place


def cursor_of(place: Place) -> str:
    """What `place_of` reads."""
    return f"{place[0]!r}_{place[1]}"


def _of_source(
    db: Connection, source: int, order: Order, start: Place, tag: str | None, *, descending: bool
) -> Iterator[Found]:
    name = WALKS[order, descending]
    while rows := db.run(name, source=source, tag=tag, at=start[0], id=start[1], limit=PORTION).fetchall():
        some = [Found(*row) for row in rows]
        yield from some
        if len(some) < PORTION:
            return
        start = some[-1].place(order)


def _sees(sight: Sight, one: Found, *, gone: bool = False) -> bool:
    alive = gone or one.expires_at is None or one.expires_at > sight.now
    return alive and (sight.scopes is None or one.scope in sight.scopes)


def has_values(stored: str, wanted: Mapping[str, Any]) -> bool:
    """Whether a JSON object has these values at these keys; numbers are equal whatever they are written like."""
    held = shown_json(stored) if wanted else {}
    return all(
        key in held and held[key] == value and isinstance(held[key], bool) == isinstance(value, bool)
        for key, value in wanted.items()
    )
