"""The storing of texts, summaries and chat turns: one call, one transaction."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..language.normalise import clean_text, content_hash, normalise_name
from ..language.strategies import detect
from ..language.time_arguments import read_event, read_expiry
from ..store.access import Access, Caller, chat_key, restricts
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import Alias, ChatKey, Entity, NewText, Person, Relation, SessionRule, Stored
from ..store.time_zones import TimeZones
from .analyser import Analyser
from .relations import Origin, RelationWriteService
from .requests import EntityInput, IngestMessages, IngestSummary, IngestText, Message, RelationInput

__all__ = ["IngestService", "Outcome", "summary_source"]

T = TypeVar("T")
INLINE_CHARS = 8_000
"""Less text than this is analysed where the call runs; more goes to a thread, so that the event loop never waits."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: one `Stored` per text, in order; None for a text that was empty."""

    filtered: bool
    stored: tuple[Stored | None, ...]
    external_ids: tuple[str, ...]
    waits: bool = False
    """Of a wish for a summary: whether messages were there that none covers yet."""


class IngestService:
    """Checks, analyses and writes; returns when the transaction is durable."""

    def __init__(self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones) -> None:
        self._store = store
        self._relations = RelationWriteService(store)
        self._config = config
        self._clock = clock
        self._zones = zones
        self._analyser = Analyser(config.ingest.chunk_chars)

    async def text(self, request: IngestText) -> Outcome:
        """Store a text under its external id. Raises InvalidRequest naming the field."""
        chat, now, ids = _chat_of(request), self._clock.now(), (request.external_id,)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), ids)
        new = await self._analysed(len(request.text), lambda: self._document(request, chat, now))
        return Outcome(False, await self._store.write(lambda db: (self.write(db, new, now),)), ids)

    async def summary(self, request: IngestSummary) -> Outcome:
        """Store a chat's summary under its external id, and the messages after it if there are any.

        Raises InvalidRequest naming the field.
        """
        chat, now, ids = _chat_of(request), self._clock.now(), _turn_ids(request)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), (request.external_id,))
        new = await self._analysed(len(request.text), lambda: self._document(request, chat, now))
        turns = await self._new_turns(request, chat, ids, now)

        def unit(db: Connection) -> tuple[Stored | None, ...]:
            said = self._write_turns(db, turns, now)  # first: whoever speaks in them is known by name to the summary
            return self.write(db, new, now), *said

        return Outcome(False, await self._store.write(unit), (request.external_id, *ids))

    async def messages(self, request: IngestMessages) -> Outcome:
        """Store chat turns in one transaction; a turn without text is passed over."""
        chat, now = _chat_of(request), self._clock.now()
        ids = tuple(m.external_id or f"turn:{uuid.uuid4().hex}" for m in request.messages)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), ids)
        new = await self._new_turns(request, chat, ids, now)
        return Outcome(False, await self._store.write(lambda db: self._write_turns(db, new, now)), ids)

    async def request_summary(self, request: IngestSummary, *, kept: bool) -> Outcome:
        """Store the messages, and in the same transaction the wish that all the chat holds be summarised.

        If `kept`, no summary will be written: the messages stand for themselves. Raises InvalidRequest naming the field.
        """
        chat, now = ChatKey(request.chat_id, request.group_id, request.user_id), self._clock.now()
        ids = _turn_ids(request)
        if await self._refused(chat, request.respect_filter):
            return Outcome(True, (), ids)
        new = await self._new_turns(request, chat, ids, now)

        def unit(db: Connection) -> Outcome:
            stored = self._write_turns(db, new, now)
            row = self._store.names.chat_row(db, chat.chat_id)
            last = None if row is None else db.run("summary_last_message", chat=row).fetchone()
            if row is None or last is None:
                raise InvalidRequest(
                    f"messages: the memory holds none of {chat.chat_id!r} to summarise; hand them over.",
                    field="messages",
                )
            waits = bool(db.run("summary_want", chat=row, wanted=last[0], now=now).fetchone()[0])
            if kept and waits:
                db.run("summary_keep", chat=row, now=now)  # the messages stand for themselves
            return Outcome(False, stored, ids, waits)

        return await self._store.write(unit)

    # preparing

    def prepared(self, request: IngestText | IngestSummary | IngestMessages, now: float) -> list[NewText]:
        """What the call would store, ready to be written; a message without text is left out, every other needs an id.

        It runs on any thread. Raises InvalidRequest naming the field.
        """
        chat = _chat_of(request)
        if isinstance(request, IngestText):
            return [self._document(request, chat, now)]
        if isinstance(request, IngestMessages):
            said = self._turns(request, chat, [message.external_id for message in request.messages], now)
            return [turn for turn in said if turn]
        said = self._turns(_as_turns(request), chat, _turn_ids(request), now) if request.messages else []
        return [*(turn for turn in said if turn), self._document(request, chat, now)]

    async def _new_turns(
        self, request: IngestMessages | IngestSummary, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> Sequence[NewText | None]:
        if not request.messages:
            return ()
        most, most_chars = self._config.ingest.max_messages, self._config.ingest.max_call_chars
        if len(request.messages) > most:
            raise InvalidRequest(
                f"messages: {len(request.messages)} in one call, at most {most} (`ingest.max_messages`).",
                field="messages", limit=most,
            )  # fmt: skip
        size = sum(len(message.text) for message in request.messages)
        if size > most_chars:
            raise InvalidRequest(
                f"messages: {size} characters in one call, at most {most_chars} (`ingest.max_call_chars`): make several calls of them.",
                field="messages", limit=most_chars,
            )  # fmt: skip
        turns = request if isinstance(request, IngestMessages) else _as_turns(request)
        return await self._analysed(size, lambda: self._turns(turns, chat, ids, now))

    async def _analysed(self, chars: int, prepare: Callable[[], T]) -> T:
        return prepare() if chars <= INLINE_CHARS else await asyncio.to_thread(prepare)

    async def _refused(self, chat: ChatKey | None, respect_filter: bool) -> bool:
        if not respect_filter or chat is None or not restricts(self._config.filter):
            return False
        return not await self._store.read(lambda db: self.serves(db, chat))

    def _document(self, request: IngestText | IngestSummary, chat: ChatKey | None, now: float) -> NewText:
        zone = self._zones.of(chat.chat_id if chat else "")
        given = request if isinstance(request, IngestText) else None
        source_type = given.source_type if given else "chat_summary"
        source = given.source if given else summary_source(request.chat_id)
        one_time = given is not None and given.time_start is None
        start, end = read_event(
            ("timestamp" if one_time else "time_start", "time_end"),
            (given.timestamp if given and one_time else request.time_start, request.time_end), now, zone,
        )  # fmt: skip
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, zone)
        text = self._text("text", request.text)
        knowledge = "" if given is None else detect(text) if given.knowledge_type == "auto" else given.knowledge_type
        about = [key for key in request.person_ids if key]
        persons = {key: Person(key, key, about=True) for key in about}
        persons |= {name: Person(name, name, by_name=True) for name in request.participants if name not in persons}
        return NewText(
            source=source or (f"{source_type}:{chat.chat_id}" if chat else source_type),
            source_type=source_type,
            kind="text" if given else "summary",
            external_id=request.external_id,
            content_hash=bytes.fromhex(content_hash(text)),
            paragraphs=self._analyser.paragraphs(text, start, zone, knowledge),
            knowledge=knowledge,
            chat=chat,
            shared=chat is None or bool(given and given.scope == "global"),
            event_start=start,
            event_end=end,
            expires_at=expires_at,
            persons=tuple(persons.values()),
            aliases=_aliases(given.person_aliases) if given else (),
            tags=json.dumps(request.tags, ensure_ascii=False),
            metadata=self._metadata("metadata", request.metadata),
            entities=_entities(given.entities) if given else (),
            relations=_relations(given.relations) if given else (),
        )

    def _turns(
        self, request: IngestMessages, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> list[NewText | None]:
        retrieval, zone = self._config.retrieval, self._zones.of(chat.chat_id if chat else "")
        rule = SessionRule(retrieval.session_gap_minutes * 60, retrieval.session_max_paragraphs)
        source = request.source or f"chat:{chat.chat_id if chat else ''}"
        self._metadata("metadata", request.metadata)
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, zone)

        def turn(message: Message, field: str, external_id: str) -> NewText | None:
            if not clean_text(message.text):
                return None
            text = self._text(f"{field}.text", message.text)
            at, _ = read_event((f"{field}.time", f"{field}.time"), (message.time, None), now, zone)
            at = now if at is None else at
            speaker = _speaker(message, request.user_id)
            said = json.dumps([message.speaker, message.person_id, content_hash(text)])
            return NewText(
                source=source,
                source_type="chat",
                kind="message",
                external_id=external_id,
                content_hash=bytes.fromhex(content_hash(said)),
                paragraphs=self._analyser.paragraphs(text, at, zone),
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

        return [turn(m, f"messages.{i}", id_) for i, (m, id_) in enumerate(zip(request.messages, ids, strict=True))]

    def _text(self, field: str, raw: str) -> str:
        text, limit = clean_text(raw), self._config.ingest.max_text_chars
        if not text:
            raise InvalidRequest(f"{field}: there is no text to store.", field=field)
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

    def serves(self, db: Connection, chat: ChatKey) -> bool:
        """Whether the chat filter of the configuration lets the chat in."""
        caller = Caller(chat.chat_id, chat.group_id, chat.user_id)
        return Access(self._store.names, self._config).serves(db, caller)

    def write(self, db: Connection, text: NewText, now: float, origin: Origin = "caller") -> Stored:
        """Write a text with its entities and relations, and its paragraphs as their evidence; all or nothing.

        Raises InvalidRequest for an alias that is the name of another entity.
        """
        stored = self._store.texts.store(db, text, now)
        if stored.status == "existing" or not (text.entities or text.relations):
            return stored
        written = self._relations.entities(db, text.entities, origin, now)
        for relation in text.relations:
            self._relations.relation(db, written, relation, origin, now)
        self._relations.support(db, written, stored.paragraphs)
        return replace(stored, relations=tuple(written.relations), warnings=tuple(written.warnings))

    def _write_turns(self, db: Connection, turns: Sequence[NewText | None], now: float) -> tuple[Stored | None, ...]:
        return tuple(None if turn is None else self.write(db, turn, now) for turn in turns)


def summary_source(chat_id: str) -> str:
    """The source that a chat's summaries are stored under."""
    return f"chat_summary:{chat_id}"


def _chat_of(request: IngestText | IngestSummary | IngestMessages) -> ChatKey | None:
    return chat_key(request.chat_id, request.group_id, request.user_id)


def _as_turns(request: IngestSummary) -> IngestMessages:
    names = ("chat_id", "group_id", "user_id", "expires_at", "ttl_seconds", "messages")
    return IngestMessages.model_validate({name: getattr(request, name) for name in names})


def _turn_ids(request: IngestSummary) -> tuple[str, ...]:
    """The external ids of the turns: made from the call's where they have none, so that a repeat is known."""
    return tuple(m.external_id or f"{request.external_id}#{i}" for i, m in enumerate(request.messages))


def _speaker(message: Message, user_id: str) -> Person | None:
    if user_id and not message.person_id and message.speaker in ("", "user"):
        return Person(user_id, user_id)
    key = message.person_id or message.speaker
    return Person(key, message.speaker or key) if key else None


def _aliases(given: Mapping[str, Sequence[str]]) -> tuple[tuple[Person, str], ...]:
    return tuple((Person(key, key), alias) for key, names in given.items() for alias in names)


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
            Entity(r.subject, normalise_name(r.subject)), r.predicate, Entity(r.object, normalise_name(r.object)),
            r.confidence,
        )
        for r in inputs
    )  # fmt: skip
