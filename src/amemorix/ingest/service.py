"""The storing of texts, summaries and chat turns: one call, one transaction."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, TypeVar

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..language.detection import detect
from ..language.normalise import clean_text, content_hash, normalise_name
from ..language.strategy import KnowledgeType
from ..language.time_arguments import read_event, read_expiry
from ..store.access import Access, Caller, chat_key, restricts
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import Alias, ChatKey, Entity, NewText, Person, Relation, SessionRule, Stored
from ..store.time_zones import TimeZones
from . import summary_rows
from .analyser import Analyser
from .relations import RelationWriteService
from .requests import EntityInput, IngestMessages, IngestSummary, IngestText, Message, RelationInput
from .summaries import summary_source

__all__ = ["Asked", "IngestService", "Outcome"]

T = TypeVar("T")
INLINE_CHARS = 8_000
"""Less text than this is analysed where the call runs; more goes to a thread, so that the event loop never waits."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: one `Stored` per text, in order; None for a text that was empty."""

    filtered: bool
    stored: tuple[Stored | None, ...]
    external_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a wish for a summary: what was stored, and whether messages were there that none covers yet."""

    outcome: Outcome
    waits: bool = False


class IngestService:
    """Checks, analyses and writes; returns when the transaction is durable."""

    def __init__(self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones) -> None:
        self._store = store
        self._knowledge = RelationWriteService(store)
        self._config = config
        self._clock = clock
        self._zones = zones
        self._analyser = Analyser(config.ingest.chunk_chars)

    async def text(self, request: IngestText) -> Outcome:
        """Store a text under its external id. Raises InvalidRequest naming the field."""
        chat = chat_key(request.chat_id, request.group_id, request.user_id)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), (request.external_id,))
        now = self._clock.now()
        new = await self._analysed(len(request.text), lambda: self._one_text(request, chat, now))
        return await self._write([new], now)

    async def summary(self, request: IngestSummary) -> Outcome:
        """Store a chat's summary under its external id, and the messages after it if there are any.

        Raises InvalidRequest naming the field.
        """
        chat = chat_key(request.chat_id, request.group_id, request.user_id)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), (request.external_id,))
        now, ids = self._clock.now(), _turn_ids(request)
        new = await self._analysed(len(request.text), lambda: self._one_summary(request, chat, now))
        turns = await self._messages_of(request, chat, ids, now)

        def unit(db: Connection) -> tuple[Stored | None, ...]:
            said = self._stored(db, turns, now)  # first: whoever speaks in them is known by name to the summary
            return (*self._stored(db, [new], now), *said)

        return Outcome(False, await self._store.write(unit), (request.external_id, *ids))

    async def messages(self, request: IngestMessages) -> Outcome:
        """Store chat turns in one transaction; a turn without text is passed over."""
        chat = chat_key(request.chat_id, request.group_id, request.user_id)
        ids = tuple(m.external_id or f"turn:{uuid.uuid4().hex}" for m in request.messages)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), ids)
        now = self._clock.now()
        return await self._write(await self._new_turns(request, chat, ids, now), now, ids)

    async def wish_for_summary(self, request: IngestSummary, *, kept: bool) -> Asked:
        """Store the messages, and in the same transaction the wish that all the chat holds be summarised.

        If `kept`, no summary will be written: the messages stand for themselves. Raises InvalidRequest naming the field.
        """
        chat, ids = ChatKey(request.chat_id, request.group_id, request.user_id), _turn_ids(request)
        if await self._refused(chat, request.respect_filter):
            return Asked(Outcome(True, (), ids))
        now = self._clock.now()
        new = await self._messages_of(request, chat, ids, now)

        def unit(db: Connection) -> tuple[tuple[Stored | None, ...], bool]:
            return self._stored(db, new, now), self._wish(db, chat, now, kept)

        stored, waits = await self._store.write(unit)
        return Asked(Outcome(False, stored, ids), waits)

    def _wish(self, db: Connection, chat: ChatKey, now: float, kept: bool) -> bool:
        row = self._store.names.chat_row(db, chat.chat_id)
        waits = None if row is None else summary_rows.want(db, row, now)
        if row is None or waits is None:
            raise InvalidRequest(
                f"messages: the memory holds none of {chat.chat_id!r} to summarise; hand them over.", field="messages"
            )
        if kept and waits:
            summary_rows.keep(db, row, now)
        return waits

    # preparing

    def prepared(self, request: IngestText | IngestSummary | IngestMessages, now: float) -> list[NewText]:
        """What the call would store, ready to be written; a message without text is left out, every other needs an id.

        It runs on any thread. Raises InvalidRequest naming the field.
        """
        chat = chat_key(request.chat_id, request.group_id, request.user_id)
        if isinstance(request, IngestText):
            return [self._one_text(request, chat, now)]
        if isinstance(request, IngestSummary):
            ids = _turn_ids(request)
            said = self._turns(self._as_turns(request), chat, ids, now) if ids else []
            return [*(turn for turn in said if turn), self._one_summary(request, chat, now)]
        ids = tuple(message.external_id for message in request.messages)
        return [turn for turn in self._turns(request, chat, ids, now) if turn]

    def _zone(self, chat: ChatKey | None) -> tzinfo:
        return self._zones.of(chat.chat_id if chat else "")

    def _one_text(self, request: IngestText, chat: ChatKey | None, now: float) -> NewText:
        start, end = read_event(
            ("timestamp" if request.time_start is None else "time_start", "time_end"),
            (request.timestamp if request.time_start is None else request.time_start, request.time_end),
            now, self._zone(chat),
        )  # fmt: skip
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, self._zone(chat))
        source = request.source or (f"{request.source_type}:{chat.chat_id}" if chat else request.source_type)
        return self._new_text(request, "text", source, request.source_type, chat, start, end, expires_at)

    def _one_summary(self, request: IngestSummary, chat: ChatKey | None, now: float) -> NewText:
        start, end = read_event(
            ("time_start", "time_end"), (request.time_start, request.time_end), now, self._zone(chat)
        )
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, self._zone(chat))
        source = summary_source(request.chat_id)
        return self._new_text(request, "summary", source, "chat_summary", chat, start, end, expires_at)

    def _as_turns(self, request: IngestSummary) -> IngestMessages:
        chat_ids = {"chat_id": request.chat_id, "group_id": request.group_id, "user_id": request.user_id}
        expiry = {"expires_at": request.expires_at, "ttl_seconds": request.ttl_seconds}
        return IngestMessages.model_validate({**chat_ids, **expiry, "messages": request.messages})

    async def _messages_of(
        self, request: IngestSummary, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> Sequence[NewText | None]:
        if not request.messages:
            return ()
        return await self._new_turns(self._as_turns(request), chat, ids, now)

    async def _new_turns(
        self, request: IngestMessages, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> Sequence[NewText | None]:
        if len(request.messages) > self._config.ingest.max_messages:
            raise InvalidRequest(
                f"messages: {len(request.messages)} in one call, at most {self._config.ingest.max_messages} "
                "(`ingest.max_messages`).",
                field="messages", limit=self._config.ingest.max_messages,
            )  # fmt: skip
        size, most = sum(len(message.text) for message in request.messages), self._config.ingest.max_call_chars
        if size > most:
            raise InvalidRequest(
                f"messages: {size} characters in one call, at most {most} (`ingest.max_call_chars`): make several calls of them.",
                field="messages", limit=most,
            )  # fmt: skip
        return await self._analysed(size, lambda: self._turns(request, chat, ids, now))

    async def _analysed(self, chars: int, prepare: Callable[[], T]) -> T:
        return prepare() if chars <= INLINE_CHARS else await asyncio.to_thread(prepare)

    async def _refused(self, chat: ChatKey | None, respect_filter: bool) -> bool:
        if not respect_filter or chat is None or not restricts(self._config.filter):
            return False
        caller, access = Caller(chat.chat_id, chat.group_id, chat.user_id), Access(self._store.names, self._config)
        return not await self._store.read(lambda db: access.serves(db, caller))

    def _new_text(
        self,
        request: IngestText | IngestSummary,
        kind: Any,
        source: str,
        source_type: str,
        chat: ChatKey | None,
        start: float | None,
        end: float | None,
        expires_at: float | None,
    ) -> NewText:
        text = self._text("text", request.text)
        knowing = request if isinstance(request, IngestText) else None
        knowledge = _knowledge(knowing, text)
        return NewText(
            source=source,
            source_type=source_type,
            kind=kind,
            external_id=request.external_id,
            content_hash=bytes.fromhex(content_hash(text)),
            paragraphs=self._analyser.paragraphs(text, start, self._zone(chat), knowledge),
            knowledge=knowledge,
            chat=chat,
            shared=chat is None or bool(knowing and knowing.scope == "global"),
            event_start=start,
            event_end=end,
            expires_at=expires_at,
            persons=_persons(request.person_ids, request.participants),
            aliases=_aliases(knowing.person_aliases) if knowing else (),
            tags=json.dumps(request.tags, ensure_ascii=False),
            metadata=self._metadata("metadata", request.metadata),
            entities=_entities(knowing.entities) if knowing else (),
            relations=_relations(knowing.relations) if knowing else (),
        )

    def _turns(
        self, request: IngestMessages, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> list[NewText | None]:
        rule = SessionRule(
            self._config.retrieval.session_gap_minutes * 60, self._config.retrieval.session_max_paragraphs
        )
        source = request.source or f"chat:{chat.chat_id if chat else ''}"
        self._metadata("metadata", request.metadata)
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, self._zone(chat))
        return [
            self._turn(request, message, i, chat, source, external_id, rule, now, expires_at)
            for i, (message, external_id) in enumerate(zip(request.messages, ids, strict=True))
        ]

    def _turn(
        self,
        request: IngestMessages,
        message: Message,
        place: int,
        chat: ChatKey | None,
        source: str,
        external_id: str,
        rule: SessionRule,
        now: float,
        expires_at: float | None,
    ) -> NewText | None:
        field = f"messages.{place}"
        if not clean_text(message.text):
            return None
        text = self._text(f"{field}.text", message.text)
        at, _ = read_event((f"{field}.time", f"{field}.time"), (message.time, None), now, self._zone(chat))
        at = now if at is None else at
        speaker = _speaker(message, request.user_id)
        return NewText(
            source=source,
            source_type="chat",
            kind="message",
            external_id=external_id,
            content_hash=bytes.fromhex(
                content_hash(json.dumps([message.speaker, message.person_id, content_hash(text)]))
            ),
            paragraphs=self._analyser.paragraphs(text, at, self._zone(chat)),
            chat=chat,
            event_start=at,
            event_end=at,
            expires_at=expires_at,
            speaker=speaker,
            aliases=tuple((speaker, alias) for alias in message.aliases) if speaker else (),
            tags=json.dumps(message.tags, ensure_ascii=False),
            metadata=self._metadata(f"{field}.metadata", {**request.metadata, **message.metadata}),
            session=rule,
        )

    def _text(self, field: str, raw: str) -> str:
        text = clean_text(raw)
        if not text:
            raise InvalidRequest(f"{field}: there is no text to store.", field=field)
        limit = self._config.ingest.max_text_chars
        if len(text) > limit:
            raise InvalidRequest(
                f"{field}: {len(text)} characters, at most {limit} (`ingest.max_text_chars`).", field=field, limit=limit
            )
        return text

    def _metadata(self, field: str, value: dict[str, Any]) -> str:
        try:
            encoded = clean_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as exc:
            raise InvalidRequest(f"{field}: cannot be written as JSON ({exc}).", field=field) from exc
        limit = self._config.ingest.max_metadata_bytes
        if len(encoded.encode()) > limit:
            raise InvalidRequest(f"{field}: more than {limit} bytes (`ingest.max_metadata_bytes`).", field=field)
        return encoded

    # writing

    async def _write(self, texts: Sequence[NewText | None], now: float, ids: tuple[str, ...] = ()) -> Outcome:
        stored = await self._store.write(lambda db: self._stored(db, texts, now))
        return Outcome(False, stored, ids or tuple(text.external_id for text in texts if text))

    def _stored(self, db: Connection, texts: Sequence[NewText | None], now: float) -> tuple[Stored | None, ...]:
        return tuple(None if text is None else self._knowledge.store(db, text, now) for text in texts)


def _turn_ids(request: IngestSummary) -> tuple[str, ...]:
    """The external ids of the turns: made from the call's where they have none, so that a repeat is known."""
    return tuple(m.external_id or f"{request.external_id}#{i}" for i, m in enumerate(request.messages))


def _knowledge(request: IngestText | None, text: str) -> KnowledgeType:
    """What kind of text it is, as the caller says or as its form tells; a summary is of none."""
    if request is None:
        return ""
    return detect(text) if request.knowledge_type == "auto" else request.knowledge_type


def _speaker(message: Message, user_id: str) -> Person | None:
    if user_id and not message.person_id and message.speaker in ("", "user"):
        return Person(user_id, user_id)
    key = message.person_id or message.speaker
    return Person(key, message.speaker or key) if key else None


def _aliases(given: Mapping[str, Sequence[str]]) -> tuple[tuple[Person, str], ...]:
    return tuple((Person(key, key), alias) for key, names in given.items() for alias in names)


def _persons(person_ids: Iterable[str], participants: Iterable[str]) -> tuple[Person, ...]:
    """Persons by id and by name; a name that is also an id is one person."""
    about = [key for key in person_ids if key]
    found = {key: Person(key, key, about=True) for key in about}
    found |= {name: Person(name, name, by_name=True) for name in participants if name and name not in found}
    return tuple(found.values())


def _entities(inputs: Iterable[EntityInput]) -> tuple[Entity, ...]:
    return tuple(
        Entity(
            e.name,
            normalise_name(e.name),
            e.type,
            tuple(Alias(a, normalise_name(a), f"entities.{i}.aliases.{j}") for j, a in enumerate(e.aliases)),
        )
        for i, e in enumerate(inputs)
    )


def _relations(inputs: Iterable[RelationInput]) -> tuple[Relation, ...]:
    return tuple(
        Relation(
            Entity(r.subject, normalise_name(r.subject)),
            r.predicate,
            Entity(r.object, normalise_name(r.object)),
            r.confidence,
        )
        for r in inputs
    )
