"""The storing of texts, summaries and chat turns: one call, one transaction."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial
from typing import Any

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..language.chunking import KnowledgeType, chunks, detect
from ..language.normalise import clean_text, content_hash, is_mostly_cjk, normalise_name, pack_terms, read_flags, tokens
from ..language.times import date_words, read_event, read_expiry
from ..store.access import Access, Caller, TimeZones, chat_key, restricts
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import DEEPEST_SHOWN
from ..store.records import Alias, ChatKey, Entity, NewParagraph, NewText, Person, Relation, SessionRule, Stored
from .documents import Document, whole
from .operations import EntityInput, IngestMessages, IngestSummary, IngestText, Message
from .relations import Origin, RelationWriteService

__all__ = ["IngestService", "Outcome", "new_paragraph", "new_paragraphs", "summary_source"]

Arrival = IngestText | IngestSummary | IngestMessages
INLINE_CHARS = 8_000
"""Less text than this is analysed where the call runs; more goes to a thread, so that the event loop never waits."""


NOT_DERIVED = "-"
"""What the hash of a text has at its end that nothing is read out of."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a call: one `Stored` per text, in order; None for a text that was empty."""

    filtered: bool
    stored: tuple[Stored | None, ...]
    external_ids: tuple[str, ...]
    waits: bool = False
    """Of a wish for a summary: whether messages were there that none covers yet."""


def new_paragraphs(
    text: str, at: float | None, zone: tzinfo, chunk_chars: int, knowledge: KnowledgeType = ""
) -> tuple[NewParagraph, ...]:
    """The paragraphs of a cleaned text of some kind, of about `chunk_chars` characters each."""
    parts = chunks(text, knowledge, chunk_chars) if len(text) > chunk_chars else [text]
    return tuple(new_paragraph(part, at, zone) for part in parts)


def new_paragraph(part: str, at: float | None, zone: tzinfo) -> NewParagraph:
    """The text as one paragraph, however long; `at` (epoch seconds) adds the date in `zone` to the words that find it."""
    words = tokens(part)
    if at is not None:
        words += tokens(date_words(at, zone, is_mostly_cjk(part)))
    return NewParagraph(part, bytes.fromhex(content_hash(part)), pack_terms(words), read_flags(part))


class IngestService:
    """Checks, analyses and writes; returns when the transaction is durable."""

    def __init__(self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones) -> None:
        self._store = store
        self._relations = RelationWriteService(store)
        self._config = config
        self._clock = clock
        self._zones = zones

    async def store(self, request: Arrival, *, summarised: bool = False) -> Outcome:
        """Store what a call brings, in one transaction; a turn without text is passed over.

        A summary without text is a wish: that one be written of all that the chat holds; if nobody is `summarised`, its
        messages stand for themselves. Raises InvalidRequest naming the field.
        """
        chat, now = _chat_of(request), self._clock.now()
        wished = isinstance(request, IngestSummary) and not clean_text(request.text)
        ids = _ids_of(request)[: -1 if wished else None]
        if restricts(self._config.filter) and not await self._store.read(lambda db: self._lets_in(db, request)):
            return Outcome(True, (), ids)
        messages = [] if isinstance(request, IngestText) else request.messages
        size = sum(len(message.text) for message in messages)
        self._refuse_too_much("messages", len(messages), size)
        size += 0 if isinstance(request, IngestMessages) else len(request.text)
        prepare = partial(self._texts, request, chat, ids, now)
        texts = prepare() if size <= INLINE_CHARS else await asyncio.to_thread(prepare)

        def unit(db: Connection) -> Outcome:
            if isinstance(request, IngestText):
                return self._text_written(db, request, texts[0], now)
            keeps = isinstance(request, IngestMessages) and request.same_text == "keep"
            stored: list[Stored | None] = []
            for i, text in enumerate(texts):
                known = self._same(db, text, now) if keeps and text and not messages[i].external_id else None
                text = replace(text, external_id=known.external_id) if text and known else text
                stored.append(text and self.write(db, text, now))
            names = [one.external_id if one else id_ for one, id_ in zip(stored, ids, strict=True)]
            row = self._store.names.chat_row(db, chat.chat_id) if wished and chat else None
            last = None if row is None else db.run("summary_last_message", chat=row).fetchone()
            if wished and (row is None or last is None):
                raise InvalidRequest(
                    f"messages: the memory holds none of {request.chat_id!r} to summarise; hand them over.",
                    field="messages",
                )
            waits = False
            if row is not None and last is not None:
                waits = bool(db.run("summary_want", chat=row, wanted=last[0], now=now).fetchone()[0])
                if waits and not summarised:
                    db.run("summary_keep", chat=row, now=now)  # the messages stand for themselves
            return Outcome(False, tuple(stored), tuple(names), waits)

        return await self._store.write(unit)

    async def store_texts(self, items: Sequence[IngestText]) -> list[Outcome]:
        """Store several texts in one transaction; those that the chat filter refuses are passed over.

        Raises InvalidRequest naming the item and the field, and stores nothing then.
        """
        now = self._clock.now()
        size = sum(len(item.text) for item in items)
        self._refuse_too_much("items", len(items), size)
        served = [True] * len(items)
        if restricts(self._config.filter):
            served = await self._store.read(lambda db: [self._lets_in(db, item) for item in items])

        def prepare() -> list[NewText | None]:
            texts: list[NewText | None] = []
            for i, item in enumerate(items):
                with _of_item(i):
                    texts.append(self._document(item, _chat_of(item), now) if served[i] else None)
            return texts

        texts = prepare() if size <= INLINE_CHARS else await asyncio.to_thread(prepare)

        def unit(db: Connection) -> list[Outcome]:
            done: list[Outcome] = []
            for i, (item, text) in enumerate(zip(items, texts, strict=True)):
                with _of_item(i):
                    done.append(self._text_written(db, item, text, now))
            return done

        return await self._store.write(unit)

    def _refuse_too_much(self, field: str, count: int, size: int) -> None:
        most = self._config.ingest
        if count > most.max_messages:
            raise InvalidRequest(
                f"{field}: {count} in one call, at most {most.max_messages} (`ingest.max_messages`).",
                field=field, limit=most.max_messages,
            )  # fmt: skip
        if size > most.max_call_chars:
            raise InvalidRequest(
                f"{field}: {size} characters in one call, at most {most.max_call_chars} (`ingest.max_call_chars`): make "
                "several calls of them.",
                field=field, limit=most.max_call_chars,
            )  # fmt: skip

    # preparing

    def prepared(self, request: Arrival, now: float) -> list[NewText]:
        """What the call would store, ready to be written; a message without text is left out, every other needs an id.

        It runs on any thread. Raises InvalidRequest naming the field.
        """
        return [text for text in self._texts(request, _chat_of(request), _ids_of(request), now) if text]

    def _texts(self, request: Arrival, chat: ChatKey | None, ids: Sequence[str], now: float) -> list[NewText | None]:
        """One for each of the ids."""
        if isinstance(request, IngestText):
            return [self._document(request, chat, now)]
        if isinstance(request, IngestMessages):
            return self._turns(request, chat, ids, now)
        shared = ("chat_id", "group_id", "user_id", "expires_at", "ttl_seconds", "messages")
        said = {name: getattr(request, name) for name in shared}
        # turns come first: whoever speaks in them is known by name to the summary
        turns = self._turns(IngestMessages.model_validate(said), chat, ids, now) if request.messages else []
        return [*turns, *([self._document(request, chat, now)] if len(ids) > len(request.messages) else [])]

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
        metadata = self.metadata("metadata", request.metadata) if "metadata" in request.model_fields_set else None
        text = self._text("text", request.text)
        knowledge = "" if given is None else detect(text) if given.knowledge_type == "auto" else given.knowledge_type
        persons = {key: Person(key, key, about=True) for key in request.person_ids}
        persons |= {name: Person(name, name, by_name=True) for name in request.participants if name not in persons}
        called = given.person_aliases.items() if given else ()
        aliases = [(Person(key, key), alias) for key, names in called for alias in names]

        def named(name: str) -> Entity:
            return Entity(name, normalise_name(name))

        def aliases_of(i: int, entity: EntityInput) -> tuple[Alias, ...]:
            return tuple(Alias(a, normalise_name(a), f"entities.{i}.aliases.{j}") for j, a in enumerate(entity.aliases))

        return NewText(
            source=source or (f"{source_type}:{chat.chat_id}" if chat else source_type),
            source_type=source_type,
            kind="text" if given else "summary",
            external_id=request.external_id,
            content_hash=_hash_of(request, content_hash(text)),
            paragraphs=new_paragraphs(text, start, zone, self._config.ingest.chunk_chars, knowledge),
            told=request.text.replace("\x00", ""),
            derive=request.derive,
            knowledge=knowledge,
            chat=chat,
            shared=chat is None or bool(given and given.scope == "global"),
            event_start=start,
            event_end=end,
            expires_at=expires_at,
            persons=tuple(persons.values()),
            aliases=tuple(aliases),
            tags=json.dumps(request.tags, ensure_ascii=False) if "tags" in request.model_fields_set else None,
            metadata=metadata,
            entities=tuple(
                Entity(entity.name, normalise_name(entity.name), entity.type, aliases_of(i, entity))
                for i, entity in enumerate(given.entities if given else ())
            ),
            relations=tuple(
                Relation(named(r.subject), r.predicate, named(r.object), r.confidence)
                for r in (given.relations if given else ())
            ),
        )

    def _turns(
        self, request: IngestMessages, chat: ChatKey | None, ids: Sequence[str], now: float
    ) -> list[NewText | None]:
        retrieval, zone = self._config.retrieval, self._zones.of(chat.chat_id if chat else "")
        rule = SessionRule(retrieval.session_gap_minutes * 60, retrieval.session_max_paragraphs)
        source = request.source or f"chat:{chat.chat_id if chat else ''}"
        self.metadata("metadata", request.metadata)
        expires_at = read_expiry(request.expires_at, request.ttl_seconds, now, zone)

        def turn(message: Message, field: str, external_id: str) -> NewText | None:
            if not clean_text(message.text):
                return None
            said_of = request.model_fields_set | message.model_fields_set
            metadata = self.metadata(f"{field}.metadata", {**request.metadata, **message.metadata})
            text = self._text(f"{field}.text", message.text)
            at, _ = read_event((f"{field}.time", f"{field}.time"), (message.time, None), now, zone)
            at = now if at is None else at
            speaker = _speaker(message, request.user_id)
            said = content_hash(json.dumps([message.speaker, message.person_id, content_hash(text)]))
            return NewText(
                source=source,
                source_type="chat",
                kind="message",
                external_id=external_id,
                content_hash=_hash_of(request, said),
                paragraphs=new_paragraphs(text, at, zone, self._config.ingest.chunk_chars),
                told=message.text.replace("\x00", ""),
                derive=request.derive,
                chat=chat,
                event_start=at,
                event_end=at,
                expires_at=expires_at,
                speaker=speaker,
                aliases=tuple((speaker, alias) for alias in message.aliases) if speaker else (),
                tags=json.dumps(message.tags, ensure_ascii=False) if "tags" in said_of else None,
                metadata=metadata if "metadata" in said_of else None,
                session=rule,
            )

        return [turn(m, f"messages.{i}", id_) for i, (m, id_) in enumerate(zip(request.messages, ids, strict=False))]

    def _text(self, field: str, raw: str) -> str:
        text, limit = clean_text(raw), self._config.ingest.max_text_chars
        if not text:
            raise InvalidRequest(f"{field}: there is no text to store.", field=field)
        if len(raw) > limit:
            raise InvalidRequest(
                f"{field}: {len(raw)} characters, at most {limit} (`ingest.max_text_chars`).", field=field, limit=limit
            )
        return text

    def metadata(self, field: str, value: dict[str, Any]) -> str:
        """As it is stored. Raises InvalidRequest for what is no JSON or too large."""
        if not value:
            return "{}"
        try:
            encoded = clean_text(json.dumps(value, ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError, RecursionError) as exc:
            raise InvalidRequest(f"{field}: cannot be written as JSON ({exc}).", field=field) from exc
        limit = self._config.ingest.max_metadata_bytes
        if len(encoded.encode()) > limit:
            raise InvalidRequest(f"{field}: more than {limit} bytes (`ingest.max_metadata_bytes`).", field=field)
        level: list[Any] = [value]
        for _ in range(DEEPEST_SHOWN):
            level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
            level = [one for one in level if isinstance(one, dict | list | tuple)]
            if not level:
                return encoded
        raise InvalidRequest(f"{field}: nested more than {DEEPEST_SHOWN} deep.", field=field)

    # writing

    def _lets_in(self, db: Connection, request: Arrival) -> bool:
        chat = _chat_of(request)
        return chat is None or not request.respect_filter or self.serves(db, chat)

    def serves(self, db: Connection, chat: ChatKey) -> bool:
        """Whether the chat filter of the configuration lets the chat in."""
        caller = Caller(chat.chat_id, chat.group_id, chat.user_id)
        return Access(self._store.names, self._config).serves(db, caller)

    def _text_written(self, db: Connection, request: IngestText, text: NewText | None, now: float) -> Outcome:
        if text is None:
            return Outcome(True, (), (request.external_id,))
        known = None if request.same_text == "store" else self._same(db, text, now)
        if known is not None and request.same_text == "keep":
            text = replace(text, external_id=known.external_id, metadata=None, tags=None, expires_at=None)
        elif known is not None:
            merged = self.metadata("metadata", {**known.metadata, **request.metadata})
            text = replace(
                text, external_id=known.external_id, metadata=merged, tags=text.tags if request.tags else None
            )
        return Outcome(False, (self.write(db, text, now),), (text.external_id,))

    def _same(self, db: Connection, text: NewText, now: float) -> Document | None:
        """What the source of a text holds of the very same words, the oldest."""
        chat = self._store.names.chat(db, text.chat, now) if text.chat else 0
        source = self._store.names.source(db, text.source, chat, text.source_type, now)
        held = db.run("documents_of_hash", source=source, content_hash=text.content_hash, now=now).fetchall()
        return next((one for one in whole(db, [id_ for (id_,) in held]) if one.text == text.told), None)

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


def summary_source(chat_id: str) -> str:
    """The source that a chat's summaries are stored under."""
    return f"chat_summary:{chat_id}"


def _hash_of(request: Arrival, text: str) -> bytes:
    """What the same call has again: told anew to derive otherwise, a text is another wording."""
    return bytes.fromhex(text if request.derive else content_hash(text + NOT_DERIVED))


@contextmanager
def _of_item(i: int) -> Generator[None]:
    """Name the item in what is refused."""
    try:
        yield
    except InvalidRequest as exc:
        place = f"items.{i}."
        raise InvalidRequest(
            f"{place}{exc}", **exc.details | {"field": f"{place}{exc.details.get('field', '')}"}
        ) from exc


def _chat_of(request: Arrival) -> ChatKey | None:
    return chat_key(request.chat_id, request.group_id, request.user_id)


def _ids_of(request: Arrival) -> tuple[str, ...]:
    """External ids of the turns and of the text, which comes last; made up where a turn has none."""
    if isinstance(request, IngestText):
        return (request.external_id,)
    if isinstance(request, IngestMessages):
        return tuple(m.external_id or f"turn:{uuid.uuid4().hex}" for m in request.messages)
    # of the call's own, so that a repeat is known
    turns = (m.external_id or f"{request.external_id}#{i}" for i, m in enumerate(request.messages))
    return (*turns, request.external_id)


def _speaker(message: Message, user_id: str) -> Person | None:
    if user_id and not message.person_id and message.speaker in ("", "user"):
        return Person(user_id, user_id)
    key = message.person_id or message.speaker
    return Person(key, message.speaker or key) if key else None
