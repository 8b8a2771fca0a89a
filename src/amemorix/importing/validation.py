"""From the records of a reader to what is written: checked and analysed, off the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, cast

from pydantic import Field, ValidationError

from ..clock import Clock
from ..errors import InvalidRequest, MemoryFault
from ..fields import LetteredName, Name, RequiredName
from ..ingest.operations import EntityInput, IngestMessages, IngestSummary, IngestText, RelationInput
from ..ingest.service import IngestService
from ..language.message_segments import in_words
from ..language.normalise import clean_text, normalise_name
from ..ops import CHAT_KEYS, Request
from ..profiles import rows as profile_rows
from ..store.access import chat_key
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import ChatKey, NewText, Person
from ..store.rows import persons as person_rows
from .readers.foreign_values import CutName, Metadata
from .records import BEYOND, MOST_OF_A_TEXT, Bad, Record

__all__ = ["Chunk", "Item", "Preparer", "Unwritable", "Writer"]

LONGEST_REASON = 300
SOURCE_TYPE = "import"
OF_THE_CALL = (*CHAT_KEYS, "source", "expires_at", "ttl_seconds", "respect_filter")
"""Arguments of a turn that belong to the call and not to the message."""
LISTS = ("person_ids", "participants", "tags", "entities", "relations")
"""Arguments of a text of which there may be more than one text can have."""


Many = Annotated[list[RequiredName], Field(max_length=MOST_OF_A_TEXT)]


class ImportedText(IngestText):
    """A text of which a file may tell more than a call."""

    person_ids: Many = Field(default_factory=list)
    participants: Many = Field(default_factory=list)
    tags: Many = Field(default_factory=list)
    entities: list[EntityInput] = Field(default_factory=list, max_length=MOST_OF_A_TEXT)
    relations: list[RelationInput] = Field(default_factory=list, max_length=MOST_OF_A_TEXT)


class Override(Request):
    """A text shown in the place of a person's profile."""

    person_id: RequiredName
    text: str = Field(min_length=1, max_length=20_000)
    chat_id: Name = ""


class FurtherName(Request):
    """A further name of a person, in a chat or everywhere."""

    person_id: RequiredName
    alias: LetteredName
    chat_id: Name = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A record ready to be written: texts, or something about a person."""

    place: str
    what: tuple[NewText, ...] | Override | FurtherName
    asking: ChatKey | None = None
    """The chat that the filter of the configuration is asked about."""
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
    """What of it is left out or missing."""

    @property
    def chars(self) -> int:
        """How long its texts are."""
        texts = self.what if isinstance(self.what, tuple) else ()
        return sum(len(part.content) for text in texts for part in text.paragraphs)


@dataclass(slots=True)
class Chunk:
    """Records between two positions of a file."""

    start: int
    stop: int
    items: list[Item] = field(default_factory=list[Item])
    problems: list[Bad] = field(default_factory=list[Bad])
    records: int = 0
    chars: int = 0
    share: float = 0.0
    last: bool = False
    """Nothing follows."""

    @property
    def notes(self) -> Counter[str]:
        """What is left out or missing of what can be stored."""
        return sum((Counter(item.notes) for item in self.items if item.notes), Counter[str]())

    def without(self, problem: Bad) -> None:
        """Leave out what turned out not to be writable."""
        self.problems.append(problem)
        self.items = [item for item in self.items if item.place != problem.place]


class Unwritable(MemoryFault):
    """A record that the rows refuse."""

    code = "unwritable"

    def __init__(self, problem: Bad) -> None:
        super().__init__(problem.reason)
        self.problem = problem


class Preparer:
    """Checks and analyses records as the calls of the API would; everything here is blocking."""

    def __init__(self, ingest: IngestService, *, name: str, params: Mapping[str, Any], clock: Clock) -> None:
        self._ingest = ingest
        self._clock = clock
        self._source = f"{SOURCE_TYPE}:{name}"
        self._chat_id = params.get("chat_id", "")
        self._everyone = params.get("scope_type") == "global"
        self._closed = params.get("scope_type") == "chat"
        self._knowledge = params.get("strategy_override", "auto")
        self._respect_filter = params.get("respect_filter", True)

    def add(self, chunk: Chunk, record: Record | Bad) -> None:
        """Put a record into the chunk, or the reason why it cannot be stored."""
        chunk.records += 1
        if isinstance(record, Bad):
            chunk.problems.append(Bad(record.place, record.reason[:LONGEST_REASON]))
            return
        try:
            item = self._item(record)
        except ValidationError as exc:
            chunk.problems.append(Bad(record.place, _first(exc)[:LONGEST_REASON]))
        except MemoryFault as exc:
            chunk.problems.append(Bad(record.place, str(exc)[:LONGEST_REASON]))
        except RecursionError:
            chunk.problems.append(Bad(record.place, "nested too deep"))
        else:
            chunk.items.append(item)
            chunk.chars += item.chars

    def _item(self, record: Record) -> Item:
        given = {key: value for key, value in record.arguments.items() if value is not None}
        if record.kind == "turn":
            if not record.foreign:
                given = self._by_whom(given)
            if isinstance(text := given.get("text"), str):
                given["text"] = in_words(text, str(given.get("speaker", "")))
                if text.strip() and not given["text"]:
                    return Item(record.place, (), notes={"no_words": 1})
        notes = {**record.left, **self._noted(record, given)}
        if record.foreign:  # a reader that finds nothing says nothing: what was stored before stays as it is
            given = {key: value for key, value in given.items() if value not in ({}, [])}
        if self._closed and record.foreign and not given.get("chat_id"):
            # chats of another system that a file for one chat may be without; what was said in private is never put into it
            theirs = ("group_id",) if record.kind == "turn" else CHAT_KEYS
            given = {key: value for key, value in given.items() if key not in theirs}
        match record.kind:
            case "override":
                if self._closed:
                    raise InvalidRequest("scope_type: the text of a profile is shown in every chat, not in one only.")
                return Item(record.place, Override.model_validate(given))
            case "alias":
                kept = _within(self._chat_id, given) if self._closed else given
                return Item(record.place, FurtherName.model_validate(kept))
            case "turn":
                message = {key: value for key, value in given.items() if key not in OF_THE_CALL}
                call = self._in_chat({key: given[key] for key in OF_THE_CALL if key in given})
                request = IngestMessages.model_validate({**call, "messages": [message]})
            case "summary":
                request = IngestSummary.model_validate(self._in_chat(given))
            case "text":
                for key in LISTS:
                    if isinstance(value := given.get(key), list):
                        given[key] = value[:MOST_OF_A_TEXT]
                known = {"source_type": SOURCE_TYPE, "source": self._source, **self._in_chat(given)}
                if self._everyone:
                    known["scope"] = "global"
                if self._knowledge != "auto":
                    known["knowledge_type"] = self._knowledge
                request = ImportedText.model_validate(known)
        asking = chat_key(request.chat_id, request.group_id, request.user_id) if request.respect_filter else None
        return Item(record.place, tuple(self._ingest.prepared(request, self._clock.now())), asking, notes)

    def _noted(self, record: Record, given: Mapping[str, Any]) -> dict[str, int]:
        """What a person should know of the record."""
        found = {
            f"{BEYOND}{key}": more
            for key in LISTS
            if isinstance(value := given.get(key), list) and (more := len(value) - MOST_OF_A_TEXT) > 0
        }
        about = given.get("metadata")
        found["metadata"] = int(isinstance(about, Metadata) and about.left_out > 0)
        found["long_name"] = len(set(_cut(list(given.values()))))
        own = None if given.get("chat_id") else _chat_of(given)
        found["put_here" if self._closed else "own_chat"] = int(
            own is not None and self._chat_id not in ("", own.chat_id)
        )
        if record.kind == "turn":
            found["no_speaker"] = int(not (given.get("speaker") or given.get("person_id")))
        return {key: count for key, count in found.items() if count}

    def _by_whom(self, given: dict[str, Any]) -> dict[str, Any]:
        """Beside a chat a `user_id` says who spoke, unless that is said already; without one it is a private chat's."""
        user, person, own = given.get("user_id"), given.get("person_id"), given.get("chat_id") or given.get("group_id")
        if not user or not (own or self._chat_id) or (own and person):
            return given
        return {**{key: value for key, value in given.items() if key != "user_id"}, "person_id": person or user}

    def _in_chat(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments, in the task's chat if they name none of their own."""
        if self._closed:
            return {"respect_filter": self._respect_filter, **_within(self._chat_id, given)}
        own = any(given.get(key) for key in CHAT_KEYS)
        chat = {} if own or not self._chat_id else {"chat_id": self._chat_id}
        return {"respect_filter": self._respect_filter, **given, **chat}


class Writer:
    """Writes the items of a chunk within the transaction of its row."""

    def __init__(self, store: MetadataStore, ingest: IngestService) -> None:
        self._names = store.names
        self._right_of_way = store.right_of_way
        self._ingest = ingest

    def write(self, db: Connection, items: Sequence[Item], now: float) -> tuple[Counter[str], set[int]]:
        """(what became of the records, sources told). Raises Unwritable for the first that the rows refuse."""
        counts, sources = Counter[str](), set[int]()
        for item in items:
            self._right_of_way.give_way()
            try:
                counts.update(self._one(db, item, sources, now))
            except MemoryFault as exc:
                raise Unwritable(Bad(item.place, str(exc)[:LONGEST_REASON])) from exc
        return counts, sources

    def _one(self, db: Connection, item: Item, sources: set[int], now: float) -> list[str]:
        what = item.what
        if isinstance(what, Override):
            # one that is there already was set by hand, or by the same file: it stays
            person = self._person(db, what.person_id, what.chat_id, now)
            if profile_rows.override(db, person) is not None:
                return ["existing"]
            text = clean_text(what.text)
            profile_rows.put_override(db, person, text, updated_by=SOURCE_TYPE, source=SOURCE_TYPE, now=now)
            return ["stored"]
        if isinstance(what, FurtherName):
            person = self._person(db, what.person_id, what.chat_id, now)
            chat = self._names.chat(db, ChatKey(what.chat_id), now) if what.chat_id else 0
            alias = (what.alias, normalise_name(what.alias))
            return ["stored" if person_rows.add_alias(db, person, chat, alias, "caller", now) else "existing"]
        if not what:
            return ["empty_text"]
        if item.asking is not None and not self._ingest.serves(db, item.asking):
            return ["filtered"]
        return [self._text(db, text, sources, now) for text in what]

    def _text(self, db: Connection, text: NewText, sources: set[int], now: float) -> str:
        stored = self._ingest.write(db, text, now)
        chat = self._names.chat(db, text.chat, now) if text.chat else 0
        sources.add(self._names.source(db, text.source, chat, text.source_type, now))
        return stored.status

    def _person(self, db: Connection, person_id: str, chat_id: str, now: float) -> int:
        known = person_rows.by_id(db, person_id)
        if known is not None:
            return known
        chat = self._names.chat(db, ChatKey(chat_id), now) if chat_id else 0
        return self._names.person(db, Person(person_id, person_id), chat, now)


def _within(chat_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, seen in this chat only. Raises InvalidRequest if they are another chat's."""
    own = _chat_of(given)
    if not chat_id or (own is not None and own.chat_id != chat_id):
        named = own.chat_id if own else ""
        raise InvalidRequest(f"chat_id: it names {named!r}, and scope_type `chat` lets in only {chat_id!r}.")
    kept = {key: value for key, value in given.items() if key not in (*CHAT_KEYS, "scope")}
    return {**kept, "chat_id": chat_id}


def _chat_of(given: Mapping[str, Any]) -> ChatKey | None:
    chat, group, user = (str(given.get(key) or "").strip() for key in CHAT_KEYS)
    return chat_key(chat, group, user)


def _cut(values: Iterable[Any]) -> Iterator[str]:
    """The names that were too long."""
    for value in values:
        if isinstance(value, CutName):
            yield value
        elif isinstance(value, list):
            yield from _cut(cast(list[Any], value))
        elif isinstance(value, dict) and not isinstance(value, Metadata):
            yield from _cut(cast(dict[str, Any], value).values())


def _first(exc: ValidationError) -> str:
    error = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    loc = [str(part) for part in error["loc"]]
    place = ".".join(loc[2:] if loc[:2] == ["messages", "0"] else loc)
    text = error["msg"].removeprefix("Value error, ")
    return f"{place}: {text}" if place else text
