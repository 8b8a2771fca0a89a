"""What bots report by OneBot v11, stored as it happens, and what people ask of the memory in their chats, answered."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ...errors import InvalidRequest, MemoryFault, TooLarge
from ...importing.readers.chat_json import SPOKEN, turn_of
from ...language.message_segments import in_words
from ...lazy_regex import lazy_regex
from ...store.access import chat_key
from ..chat_commands import Asked, ChatCommands
from ..python.calls import AsyncCalls

__all__ = ["Call", "OneBotListener"]

log = logging.getLogger(__name__)
Event = Mapping[str, Any]
Call = Callable[[str, dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""An action of the bot with its parameters -> the `data` that it answers."""
MOST_WAITING = 10_000
"""Events that wait to be stored; beyond them the bots are not read from."""
LARGEST_BATCH = 200
MOST_KEPT = 50_000
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 1.0, 60.0
LAST_TRY_SECONDS = 10.0
"""How long the end may wait for a memory that takes nothing."""
_LEADING_CODES = lazy_regex(r"\s*\[CQ:(?:reply|at),(?P<data>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class _Message:
    """A message as it is stored, and of which chat."""

    turn: dict[str, Any]
    chat: str
    where: Mapping[str, str]
    """The chat by its group or user, as the chat filter knows it."""
    message_id: str
    is_own: bool
    """Whether the bot itself has said it."""


@dataclass(slots=True)
class _Recent:
    """The newest keys with their values; the oldest go when there are too many."""

    most: int
    held: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def keep(self, key: tuple[str, str], value: str = "") -> None:
        self.held.pop(key, None)
        self.held[key] = value
        if len(self.held) > self.most:
            del self.held[next(iter(self.held))]


class OneBotListener:
    """Takes events in their order: messages are stored in batches, a recalled one is forgotten, commands are answered.

    While the memory takes nothing, such as a daemon that is started again, events wait; a message that is told twice is
    stored once. The bot's own messages are stored where they are reported, but for the answers given here.
    """

    def __init__(self, memory: AsyncCalls, *, commands: bool = True, batch_seconds: float = 0.5) -> None:
        self._memory = memory
        self._commands = ChatCommands(memory) if commands else None
        self._pause = batch_seconds
        self._events: asyncio.Queue[tuple[Event, Call]] = asyncio.Queue(MOST_WAITING)
        self._batch: list[_Message] = []
        self._stored = _Recent(MOST_KEPT)
        """(chat, message id) -> the id that the message is stored under."""
        self._answers = _Recent(1_000)
        """(chat, text) and (chat, message id) of answers given here."""
        self._answering: set[asyncio.Task[None]] = set()
        self._ending = False

    async def heard(self, event: Event, call: Call) -> None:
        """Take an event; waits while too many are waiting. `call` asks the bot that has reported it."""
        await self._events.put((event, call))

    async def run(self) -> None:
        """Store and answer, until cancelled."""
        while True:
            event, call = await self._next()
            try:
                await self._take(event, call)
            except Exception:  # an event that cannot be read must not end the others
                log.exception("an event of OneBot could not be taken")
            finally:
                self._events.task_done()

    async def finish(self) -> None:
        """Wait until everything that was heard is stored and answered."""
        self._ending = True
        await self._events.join()
        await self._flush()
        await asyncio.gather(*self._answering, return_exceptions=True)

    async def _next(self) -> tuple[Event, Call]:
        """The next event; what waits in the batch is stored when none comes for a while."""
        if self._batch and self._events.empty():
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(self._events.get(), self._pause)
            await self._flush()
        return await self._events.get()

    async def _take(self, event: Event, call: Call) -> None:
        if event.get("post_type") == "notice":
            if event.get("notice_type") in ("group_recall", "friend_recall"):
                await self._flush()
                await self._forget(event)
            return
        message = _read(event) if event.get("post_type") in SPOKEN else None
        if message is None or self._is_answer(message):
            return
        if self._commands and not message.is_own:
            turn = message.turn
            asked = Asked(
                _command_text(event, turn["text"]), turn["person_id"], message.chat, message.where.get("group_id", ""),
                name=turn["speaker"], id=turn["external_id"], time=turn["time"],
            )  # fmt: skip
            if asked.text[:1] in ("/", "／"):
                await self._flush()  # a command sees what was said before it
                if (answer := await self._commands.answer(asked)) is not None:
                    self._stored.keep((message.chat, message.message_id), turn["external_id"])
                    self._send(event, message, answer, call)
                    return
        self._batch.append(message)
        if len(self._batch) >= LARGEST_BATCH:
            await self._flush()

    # storing

    async def _flush(self) -> None:
        batch, self._batch = self._batch, []
        chats: dict[str, list[_Message]] = {}
        for message in batch:
            chats.setdefault(message.chat, []).append(message)
        for messages in chats.values():
            await self._store(messages)

    async def _store(self, messages: Sequence[_Message]) -> None:
        first = messages[0]
        given = {"chat_id": first.chat, **first.where, "source": _source(first.chat)}
        turns = [one.turn for one in messages]
        try:
            await self._until_it_answers("ingest_messages", {**given, "messages": turns})
        except (InvalidRequest, TooLarge) as exc:
            if len(messages) > 1:
                for one in messages:
                    await self._store([one])
                return
            log.warning("the message %s was not stored: %s", first.turn["external_id"], exc)
            return
        for one in messages:
            self._stored.keep((one.chat, one.message_id), one.turn["external_id"])

    async def _until_it_answers(self, component: str, given: dict[str, Any]) -> None:
        """Call the memory, again and again while it cannot. Raises InvalidRequest, TooLarge."""
        pause, waited = RETRY_SECONDS, 0.0
        while True:
            try:
                await self._memory.call(component, given)
            except (InvalidRequest, TooLarge):
                raise
            except MemoryFault as exc:
                if self._ending and waited >= LAST_TRY_SECONDS:
                    log.error("%s was given up at the end: %s", component, exc)
                    return
                log.warning("the memory takes nothing (%s); the next try is in %.0f s", exc, pause)
                await asyncio.sleep(pause)
                waited, pause = waited + pause, min(2 * pause, LONGEST_RETRY_SECONDS)
            else:
                return

    async def _forget(self, notice: Event) -> None:
        group, user = _id(notice.get("group_id")), _id(notice.get("user_id"))
        key, recalled = chat_key("", group, user), _id(notice.get("message_id"))
        if key is None or not recalled:
            return
        which: dict[str, Any] = {"metadata": {"message_id": recalled}}
        if stored := self._stored.held.get((key.chat_id, recalled)):
            which = {"external_ids": [stored]}
        given = {"action": "delete", "source": _source(key.chat_id), "chat_id": key.chat_id, **which}
        try:
            await self._until_it_answers("memory_document_admin", given)
        except InvalidRequest as exc:
            log.warning("the recalled message %s was not forgotten: %s", recalled, exc)

    # answering

    def _is_answer(self, message: _Message) -> bool:
        keys = ((message.chat, message.message_id), (message.chat, message.turn["text"]))
        return message.is_own and any(key in self._answers.held for key in keys)

    def _send(self, event: Event, message: _Message, answer: str, call: Call) -> None:
        text = {"type": "text", "data": {"text": answer}}
        to: dict[str, Any] = {"message_type": "private", "user_id": event.get("user_id")}
        content = [text]
        if message.where.get("group_id"):
            to = {"message_type": "group", "group_id": event.get("group_id")}
            content = [{"type": "reply", "data": {"id": message.message_id}}, text]
        sent = _read({**event, "message": [text], "user_id": event.get("self_id"), "sender": {}})
        self._answers.keep((message.chat, sent.turn["text"] if sent else answer))

        async def send() -> None:
            try:
                answered = await call("send_msg", {**to, "message": content})
            except (OSError, ValueError, TimeoutError) as exc:
                log.warning("an answer could not be sent to %s: %s", message.chat, exc)
            else:
                self._answers.keep((message.chat, _id(answered.get("message_id"))))

        task = asyncio.create_task(send())
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def _read(event: Event) -> _Message | None:
    """The message of an event; None for what has no words, or no chat."""
    record = turn_of(event, "")
    if record is None:
        return None
    turn = dict(record.arguments)
    group, user = turn.pop("group_id", ""), turn.pop("user_id", "")
    key = chat_key("", group, "" if group else user)
    turn["text"] = in_words(turn["text"], turn["speaker"])
    if key is None or not turn["text"] or not turn["person_id"]:
        return None
    message_id = _id(event.get("message_id"))
    turn["metadata"] = {"message_id": message_id} if message_id else {}
    where = {"group_id": group} if group else {"user_id": user}
    return _Message(turn, key.chat_id, where, message_id, turn["person_id"] == _id(event.get("self_id")))


def _command_text(event: Event, text: str) -> str:
    """The text of a message without the bot's name and the quoted message before it."""
    said, me = event.get("message"), _id(event.get("self_id"))
    if isinstance(said, str):
        while (found := _LEADING_CODES.match(said)) and ("CQ:reply" in found[0] or f"qq={me}" in found[0]):
            said = said[found.end() :]
    elif isinstance(said, list):
        rest = cast(list[Any], said)
        while rest and isinstance(rest[0], dict) and _is_address(cast(dict[str, Any], rest[0]), me):
            rest = rest[1:]
        said = rest
    record = turn_of({**event, "message": said, "raw_message": ""}, "")
    return record.arguments["text"].strip() if record else text


def _is_address(segment: dict[str, Any], me: str) -> bool:
    """Whether a segment quotes a message, names the bot, or is the blank space before or after."""
    data = segment.get("data")
    told = cast(dict[str, Any], data) if isinstance(data, dict) else {}
    if segment.get("type") == "text":
        return not str(told.get("text", "")).strip()
    return segment.get("type") == "reply" or (segment.get("type") == "at" and _id(told.get("qq")) == me)


def _source(chat: str) -> str:
    return f"chat:{chat}"


def _id(value: Any) -> str:
    """An id as text; platforms have numbers. `0` is nobody's."""
    return "" if value in (None, 0, "0") or isinstance(value, bool) else str(value).strip()
