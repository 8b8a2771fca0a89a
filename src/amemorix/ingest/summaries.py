"""The summaries of chats: every message that was asked for is covered once, the oldest first."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ..audit_context import Act, acting_as
from ..clock import Clock
from ..config.model import Config
from ..errors import ChatUnavailable
from ..ids import paragraph_key
from ..language.normalise import content_hash, normalise_name
from ..ports import ChatModel
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import SPEAKER, ChatKey, Entity, NewText, Person, Relation
from ..store.rows import paragraphs as paragraph_rows
from .service import IngestService, new_paragraphs, summary_source
from .summary_prompt import SCHEMA, TASK, Line, Written, question, read_answer

__all__ = ["SummaryService"]

log = logging.getLogger(__name__)
CONTEXT = 2
"""Summaries of what was said before that the model is shown."""
LONGEST_PAUSE = 86_400.0
"""Seconds that an endpoint's wish is heard."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A chat whose messages after paragraph `upto`, up to `wanted`, are to be summarised."""

    row: int
    chat: ChatKey
    upto: int
    wanted: int
    attempts: int


@dataclass(frozen=True, slots=True)
class SaidInChat:
    """A paragraph of a message; `message` is the same for all paragraphs of one."""

    id: int
    message: int
    content: str
    at: float | None


@dataclass(frozen=True, slots=True)
class _Window:
    """A stretch of a chat that one summary covers; no lines if all that waited is gone."""

    waiting: Waiting
    upto: int
    messages: Sequence[SaidInChat]
    lines: Sequence[Line]
    persons: tuple[Person, ...]
    before: Sequence[str]


class SummaryService:
    """Takes up the chats that wait, window by window, several chats at a time (`chat.max_concurrent`).

    The cursor of a chat moves in the transaction that stores the summary, so a crash repeats at most a question to the
    model. Without a model the messages themselves are the memory, and the cursor moves alone.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        ingest: IngestService,
        chat: ChatModel | None,
        clock: Clock,
        zones: TimeZones,
    ) -> None:
        self._store = store
        self._ingest = ingest
        self._settings = config.summary
        self._chat = chat if config.summary.enabled else None
        self._clock = clock
        self._zones = zones
        self._chunk_chars = config.ingest.chunk_chars
        self._room = asyncio.Semaphore(config.chat.max_concurrent)
        self._choosing = asyncio.Lock()
        self._busy: set[int] = set()
        self._ended = asyncio.Event()

    @property
    def writes(self) -> bool:
        """Whether a model writes summaries; if not, the messages are kept as they are."""
        return self._chat is not None

    async def run(self) -> None:
        """Summarise for ever; ends when cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                window = None
                try:
                    window = await self._next()
                except Exception:
                    log.exception("summarising failed; retrying")
                if window is None:
                    await asyncio.sleep(self._settings.poll_interval_seconds)
                else:
                    self._started(group.create_task(self._summarise_or_log(window)), window)

    async def drain(self) -> None:
        """Summarise until no chat is due, nor under way."""
        while True:
            begun: list[asyncio.Task[None]] = []
            try:
                while (window := await self._next()) is not None:
                    begun.append(self._started(asyncio.create_task(self._summarise(window)), window))
                await asyncio.gather(*begun)
            finally:
                for task in begun:
                    task.cancel()
            if not begun:
                if not self._busy:
                    return
                self._ended.clear()
                await self._ended.wait()

    async def _next(self) -> _Window | None:
        """A window of a chat that is due and not under way, once there is room for it; it is under way until its task ends."""
        await self._room.acquire()
        window = None
        try:
            async with self._choosing:
                window = await self._store.read(self._window)
                if window is not None:
                    self._busy.add(window.waiting.row)
        finally:
            if window is None:
                self._room.release()
        return window

    def _started(self, task: asyncio.Task[None], window: _Window) -> asyncio.Task[None]:
        """The task, after which the chat's next window may be taken up: also one that was cancelled before it began."""

        def ended(_: asyncio.Task[None]) -> None:
            self._busy.discard(window.waiting.row)
            self._room.release()
            self._ended.set()

        task.add_done_callback(ended)
        return task

    async def _summarise_or_log(self, window: _Window) -> None:
        """One that cannot be stored is taken up again in a while, and the others go on."""
        try:
            await self._summarise(window)
        except Exception:
            log.exception("summarising failed; retrying")
            await asyncio.sleep(self._settings.poll_interval_seconds)

    async def _summarise(self, window: _Window) -> None:
        if self._chat is None or not window.lines:
            await self._advance(window, None)
            return
        system, user = question(window.lines, window.before, self._zones.of(window.waiting.chat.chat_id))
        try:
            written = read_answer(await self._chat.answer(TASK, system, user, schema=SCHEMA))
        except ChatUnavailable as exc:
            await self._postpone(window, exc)
            return
        await self._advance(window, self._text(window, written) if written.text else None)

    # reading

    def _window(self, db: Connection) -> _Window | None:
        now = self._clock.now()
        due = db.run("summary_next", now=now, busy=array(self._busy)).fetchone()
        if due is None:
            return None
        waiting = Waiting(due[0], ChatKey(*due[1:4]), *due[4:])
        if self._chat is None:
            return _Window(waiting, waiting.wanted, (), (), (), ())
        messages: list[SaidInChat] = []
        chars, met = 0, set[int]()
        values = {"chat": waiting.row, "upto": waiting.upto, "wanted": waiting.wanted, "now": now}
        for row in db.run("summary_messages", **values, limit=self._settings.window_messages * 2):
            one = SaidInChat(*row)
            chars += len(one.content)
            met.add(one.message)
            if messages and (chars > self._settings.window_chars or len(met) > self._settings.window_messages):
                break  # as many from the start as one summary covers, at least one paragraph
            messages.append(one)
        if not messages:
            return _Window(waiting, waiting.wanted, (), (), (), ())
        said_by = paragraph_rows.persons(db, [one.id for one in messages])
        speakers = {id_: next((p for p in found if p.role == SPEAKER), None) for id_, found in said_by.items()}
        lines = [
            Line(speaker.name if (speaker := speakers.get(one.id)) else "", one.content, one.at)
            for one in sorted(messages, key=lambda one: (one.at or 0.0, one.id))
        ]
        persons = {p.person_id: Person(p.person_id, p.name) for p in speakers.values() if p}
        recent = db.run("summary_recent", chat=waiting.row, limit=CONTEXT).fetchall()
        before = [content for (content,) in reversed(recent)]
        return _Window(waiting, messages[-1].id, messages, lines, tuple(persons.values()), before)

    # writing

    def _text(self, window: _Window, written: Written) -> NewText:
        times = [one.at for one in window.messages if one.at is not None]
        start, end = (min(times), max(times)) if times else (None, None)
        first, last = paragraph_key(window.messages[0].id), paragraph_key(window.messages[-1].id)
        messages = len({one.message for one in window.messages})
        return NewText(
            source=summary_source(window.waiting.chat.chat_id),
            source_type="chat_summary",
            kind="summary",
            external_id=f"messages:{first}-{last}",
            content_hash=bytes.fromhex(content_hash(written.text)),
            paragraphs=new_paragraphs(
                written.text, start, self._zones.of(window.waiting.chat.chat_id), self._chunk_chars
            ),
            chat=window.waiting.chat,
            event_start=start,
            event_end=end,
            persons=window.persons,
            metadata=json.dumps({"written_by": "chat_model", "first": first, "last": last, "messages": messages}),
            entities=tuple(Entity(e.name, normalise_name(e.name), e.type) for e in written.entities),
            relations=tuple(
                Relation(_entity(r.subject), r.predicate, _entity(r.object), r.confidence) for r in written.relations
            ),
        )

    async def _advance(self, window: _Window, text: NewText | None) -> None:
        """Move the cursor and store the summary; neither if the window has changed since it was read."""
        now, waiting, ids = self._clock.now(), window.waiting, [one.id for one in window.messages]

        def unit(db: Connection) -> None:
            if text is not None and len(paragraph_rows.current(db, ids)) < len(ids):
                return
            moved = db.run("summary_advance", chat=waiting.row, was=waiting.upto, upto=window.upto, now=now).fetchone()
            if moved is not None and text is not None:
                self._ingest.write(db, text, now, "model")

        with acting_as(Act("background", "summary", "", "memory", now)):
            await self._store.write(unit)

    async def _postpone(self, window: _Window, exc: ChatUnavailable) -> None:
        """Try again later; after the last try the messages of this window are left as they are."""
        waiting, settings = window.waiting, self._settings
        spent = bool(exc.details.get("budget_spent"))
        attempts = waiting.attempts + (0 if spent else 1)
        if attempts >= settings.max_attempts:
            log.warning("no summary after %d tries (%s); the messages are kept as they are", attempts, exc)
            await self._advance(window, None)
            return
        pause = min(settings.retry_seconds * 2 ** max(attempts - 1, 0), settings.retry_max_seconds)
        pause = max(pause, min(exc.details.get("retry_after") or 0.0, LONGEST_PAUSE))
        now = self._clock.now()
        values = {"chat": waiting.row, "was": waiting.upto, "attempts": attempts, "due_at": now + pause, "now": now}
        await self._store.write(lambda db: db.run("summary_postpone", **values))


def _entity(name: str) -> Entity:
    return Entity(name, normalise_name(name))
