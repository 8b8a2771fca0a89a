"""The calls of `Memory` and `Client`, awaited: arguments in, records out, over whatever answers components."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from zoneinfo import ZoneInfo

from ...errors import InvalidRequest, MemoryFault, NotFound, fault_of
from ...ids import LETTERS, row_number
from ...locale import Language, language_of, speaking, spoken, told
from .results import Added, Context, Fact, Facts, Forgotten, Hits, Memo, Profile, Texts

if TYPE_CHECKING:
    from .typed_calls import AsyncTypedCalls
else:
    AsyncTypedCalls = object

__all__ = [
    "Answering",
    "AsyncCalls",
    "CallsOf",
    "Messages",
    "Moment",
    "Wait",
    "facts_of",
    "added_of",
    "default_wait",
    "local_time",
    "memo_of",
    "scope_of",
    "selected",
    "told_in",
    "turns_of",
]

Messages = Sequence[Mapping[str, Any]]
"""Turns as chat models have them (`{"role": "user", "content": …}`), or as `ingest_messages` takes them."""
Wait = Literal["stored", "searchable"]
MOST_AWAITED = 16
"""Texts of one call, at some 10 ms each with the local model."""
Moment = datetime | date | float | str | None
"""Epoch seconds, a date, ISO 8601, or words such as `yesterday` and `上周三`."""


class Answering(Protocol):
    """A memory in this process, or one behind HTTP."""

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]: ...

    async def settle(self, timeout: float | None = None) -> None: ...


class AsyncCalls(ABC, AsyncTypedCalls):
    """A memory: what is said goes in, and comes back when it matters.

    `user` is whom the bot talks with, `chat` the group or channel; without `chat` a user has a private chat of their own.
    Reading names one of them, or says `everything=True`. Every method raises a `MemoryFault` that names the argument.
    """

    @abstractmethod
    async def _ready(self) -> Answering:
        """The memory, opened."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what it holds; what was acknowledged is stored."""

    @property
    def language(self) -> Language:
        """In which its errors are: the one that is spoken, or that of the process's locale."""
        return spoken() or language_of(os.environ)

    if not TYPE_CHECKING:

        async def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
            """Call any operation of the reference, such as `call("memory_episode_admin", action="list", chat_id="g1")`.

            Raises the error that it answers. A component whose name is not written out takes its arguments as one mapping.
            """
            with told_in(self.language):
                answer = await (await self._ready()).invoke(component, {**(arguments or {}), **named})
                if fault := fault_of(answer):
                    raise fault
                return answer

    # writing

    async def add(
        self, text: str = "", *, messages: Messages = (), user: str = "", chat: str = "", time: Moment = None,
        id: str = "", metadata: Mapping[str, Any] | None = None, expires_at: Moment = None,
        ttl_seconds: float | None = None, everything: bool = False, wait: Wait | None = None,
    ) -> Added:  # fmt: skip
        """Store what a user said (`text` with `user`), turns of a chat (`messages`), or a note (`text` with `chat` alone).

        `id` is your own: the same id and text again changes nothing, another text replaces it. From `expires_at`
        on, or after `ttl_seconds`, it is hidden, and soon deleted. `everything=True` stores a note that every chat may
        see. What `user` alone says again, without `id` and `time`, is stored once; turns of a chat are stored each time.
        Durable when it returns, and found by meaning too (`wait="searchable"`: some 10 ms a text, at most ten seconds; else
        `wait_error` of the answer says why not); more than 16 texts are only `stored`, unless `wait` says otherwise.
        """
        turns = turns_of(messages)
        if text and not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidRequest("text: give a str; turns go into messages=.", field="text")
        if bool(text) == bool(turns):
            raise InvalidRequest("text: give a text or messages.", field="text")
        if everything and (user or chat or turns):
            raise InvalidRequest("everything: a note for every chat has no user, chat or messages.", field="everything")
        given = {"external_id": id or None} | ({} if metadata is None else {"metadata": dict(metadata)})
        common = {"expires_at": expires_at, "ttl_seconds": ttl_seconds, "wait": wait or default_wait(len(turns) or 1)}
        repeatable = bool(text and user) and not (chat or id or time is not None)
        if turns or user:
            if turns and (id or metadata or time is not None):
                raise InvalidRequest("messages: id, time and metadata belong into each message.", field="messages")
            turns = turns or [{"text": text, "time": time, **given}]
            where = {"chat_id": chat} if chat else scope_of(user, "", everything=False)
            if chat and user:  # a user_id beside it would make the chat their private one
                turns = [{**one, "person_id": user, "speaker": user} if _of_user(one) else one for one in turns]
            same = {"same_text": "keep"} if repeatable else {}
            answer = await self.call("ingest_messages", {"messages": turns, **where, **common, **same})
        else:
            where = {"scope": "global"} if everything else scope_of(user, chat, everything=False)
            answer = await self.call("ingest_text", {"text": text, "timestamp": time, **given, **where, **common})
        added = added_of(answer)
        if repeatable and any(one["status"] == "existing" for one in answer["results"]):
            return replace(added, ids=tuple(answer["results"][0]["ids"]), skipped=(), repeated=True)
        return added

    async def update(self, id: str, text: str = "", *, metadata: Mapping[str, Any] | None = None) -> Added:
        """Give a stored text (`p12`) other words, other metadata, or both. Raises NotFound.

        The old words are kept as an earlier revision.
        """
        ids = _text_ids(id)
        if not text:
            answer = await self.call("memory_document_admin", action="set", ids=ids, metadata=metadata)
            if answer["missing"]:
                raise NotFound(f"id: there is no text {id}.", field="id")
            return Added()
        row = (await self.call("memory_text_admin", action="get", ids=ids, scope="all"))["items"]
        if not row:
            raise NotFound(f"id: there is no text {id}.", field="id")
        old = row[0]
        described = old["metadata"] if metadata is None else dict(metadata)
        kept = {
            "external_id": old["external_id"],
            "metadata": described,
            "tags": old["tags"],
            "text": text,
            "derive": old["derive"],
        }
        stays = {"expires_at": old["expires_at"], "derive": old["derive"], "wait": default_wait(1)}
        if old["kind"] == "message":
            turn = {
                **kept,
                "speaker": old["speaker"],
                "person_id": next(iter(old["person_ids"]), ""),
                "time": old["time"],
            }
            where = {"chat_id": old["chat_id"], "source": old["source"], "messages": [turn]}
            answer = await self.call("ingest_messages", {**where, **stays})
        else:
            where = {"chat_id": old["chat_id"]} if old["chat_id"] else {"scope": "global"}
            note = {key: old[key] for key in ("source", "source_type", "person_ids")}
            answer = await self.call("ingest_text", {**kept, **note, **where, **stays, "timestamp": old["time"]})
        return added_of(answer)

    async def forget(
        self, *, user: str = "", chat: str = "", id: str | Sequence[str] = (), purge: bool = False
    ) -> Forgotten:
        """Delete a person with their private chat and all that is known of them, a chat, or texts by id.

        `user` with `chat`: what that chat holds of them alone. `restore` brings it back, unless `purge=True` erases it for good: from the rows, journals, indexes and backups.
        """
        answer = await self.call(
            "memory_delete_admin", action="execute", purge=purge, **selected(user=user, chat=chat, id=id)
        )
        texts, receipt = answer["deleted_paragraph_count"], answer.get("receipt") or {}
        if purge:
            texts += answer["counts"]["deleted_before"]
        return Forgotten(answer["operation_id"], texts, purge, tuple(receipt.get("found", ())))

    async def restore(self, operation: str) -> int:
        """Bring back what `forget` has deleted; returns how many texts came back."""
        answer = await self.call("memory_delete_admin", action="restore", operation_id=operation)
        return int(answer["counts"].get("paragraph", 0))

    # reading

    async def search(
        self, query: str = "", *, messages: Messages = (), user: str = "", chat: str = "", limit: int = 5,
        about: str = "", since: Moment = None, until: Moment = None, min_confidence: float = 0.0, everything: bool = False,
    ) -> Hits:  # fmt: skip
        """Find what answers a question, or what matters to the last turns of a chat; `about` somebody alone."""
        answer = await self.call("search_memory", {
            "query": query, "messages": turns_of(messages), "limit": limit, "person_id": about,
            "mode": "search" if since is None and until is None else "hybrid", "time_start": since, "time_end": until,
            "min_confidence": min_confidence, **scope_of(user, chat, everything=everything),
        })  # fmt: skip
        found = [
            memo_of({**hit, "text": hit["content"], "time": hit["time"]["start"]}, answer["timezone"])
            for hit in answer["hits"]
        ]
        return Hits(
            found, facts_of(answer["facts"], answer["timezone"]), weak=answer["weak"], corrected=answer["corrected"]
        )

    async def context(
        self, messages: Messages, *, user: str = "", chat: str = "", budget: int = 800, everything: bool = False
    ) -> Context:
        """What the memory knows that matters to the last turns, as text for a prompt of at most `budget` tokens."""
        where = scope_of(user, chat, everything=everything)
        answer = await self.call("get_context", {"messages": turns_of(messages), "budget": budget, **where})
        ids = tuple(line["id"] for line in answer["lines"] if line["id"])
        return Context(answer["text"], answer["tokens"], ids, answer["truncated"])

    async def profile(self, user: str, *, chat: str = "") -> Profile:
        """What is known of a person: by a chat as far as it may see it, else of all that is stored."""
        where = {"chat_id": chat} if chat else {"scope": "all"}
        answer = await self.call("get_person_profile", {"person_id": user, **where})
        told = tuple(item["statement"] for item in answer["items"])
        return Profile(
            answer["person_id"], answer["person_name"], answer["summary"], told, answer["known"], answer["stale"]
        )

    async def facts(self, user: str, *, chat: str = "", limit: int = 50) -> Facts:
        """What is held true of a person now, what is in doubt with its `status`."""
        where = {"chat_id": chat} if chat else {"scope": "all"}
        which = {"person_id": user, "limit": limit, "status": ["active", "maybe_outdated", "conflicted"], **where}
        answer = await self.call("memory_fact_admin", {"action": "list", **which})
        return facts_of(answer["items"], answer["timezone"])

    async def get(self, id: str) -> Memo | None:
        """A stored text by its id (`p12`); None if there is none."""
        answer = await self.call("memory_text_admin", action="get", ids=_text_ids(id), scope="all")
        return memo_of(answer["items"][0], answer["timezone"]) if answer["items"] else None

    async def texts(
        self, *, user: str = "", chat: str = "", limit: int = 50, before: str = "", everything: bool = False
    ) -> Texts:
        """What is stored, the last first, page by page."""
        where = scope_of(user, chat, everything=everything)
        answer = await self.call("memory_text_admin", action="list", limit=limit, before=before or None, **where)
        return Texts([memo_of(item, answer["timezone"]) for item in answer["items"]], answer["next"])

    async def export(self, path: str | Path = "") -> Path:
        """Write everything into one file of JSON lines, below `exports/` in the data folder; returns its path."""
        return Path((await self.call("memory_runtime_admin", action="export", path=str(path)))["path"])

    async def settle(self, timeout: float | None = None) -> None:
        """Wait until what was written has been read, has its vectors and is in the indexes, here or at the daemon.

        Raises TimedOut after `timeout` seconds; its `details` tell what still waits.
        """
        with told_in(self.language):
            await (await self._ready()).settle(timeout)


@contextlib.contextmanager
def told_in(language: Language) -> Generator[None]:
    """Speak a language within the block; an error that leaves it is in that language."""
    try:
        with speaking(language):
            yield
    except MemoryFault as exc:
        exc.args = (told(str(exc), language), *exc.args[1:])
        raise


class CallsOf(AsyncCalls):
    """The calls over a memory that somebody else opens and closes."""

    def __init__(self, memory: Answering) -> None:
        self._memory = memory

    async def _ready(self) -> Answering:
        return self._memory

    async def close(self) -> None:
        """Nothing is held."""


def selected(*, user: str = "", chat: str = "", id: str | Sequence[str] = ()) -> dict[str, Any]:
    """What `memory_delete_admin` is to take: texts by id, a person, or a chat. Raises InvalidRequest."""
    ids = _text_ids(*([id] if isinstance(id, str) and id else id))
    if bool(ids) == bool(user or chat):
        raise InvalidRequest("user: say whom or what to forget: user, chat, or id.", field="user")
    if ids:
        return {"mode": "paragraph", "selector": ids}
    if user and chat:
        return {"mode": "person", "selector": user, "chat_id": chat}
    if user:
        return {"mode": "mixed", "selector": {"person_ids": [user], "chat_ids": [f"private:{user}"]}}
    return {"mode": "chat", "selector": chat}


def _text_ids(*given: str) -> list[str]:
    """Ids of texts. Raises InvalidRequest for one that the memory never gave, such as an id of the caller's own."""
    if wrong := [one for one in given if row_number(str(one), LETTERS["paragraph"]) is None]:
        raise InvalidRequest(
            f"id: {wrong[0]!r} is no id of the memory: it gives ids such as p12, in `ids` of what `add` returns and in `id` of a hit.",
            field="id",
        )
    return [*given]


def turns_of(messages: Messages) -> list[dict[str, Any]]:
    """Turns, each a mapping of its own. Raises InvalidRequest for what is none, such as a bare text."""
    turns: list[Any] = list(messages)
    if isinstance(messages, Mapping) or not all(isinstance(turn, Mapping) for turn in turns):
        raise InvalidRequest(
            'messages: give a list of turns, such as [{"role": "user", "content": "…"}].', field="messages"
        )
    return [dict(turn) for turn in turns]


def scope_of(user: str, chat: str, *, everything: bool) -> dict[str, Any]:
    """The arguments by which a call says for whom it is made. Raises InvalidRequest where nobody is named."""
    if everything and not (user or chat):
        return {"scope": "all"}
    if everything:
        raise InvalidRequest("everything: it names no user and no chat.", field="everything")
    if not (user or chat):
        raise InvalidRequest(
            "user: say for whom (user=), or in which chat (chat=); everything=True means all that is stored.",
            field="user",
        )
    return {key: value for key, value in (("chat_id", chat), ("user_id", user)) if value}


def _of_user(turn: Mapping[str, Any]) -> bool:
    """Whether a turn says of its speaker nothing, or the role `user` alone."""
    from ...ingest.messages import SPELLINGS

    named = {*SPELLINGS["person_id"], *SPELLINGS["speaker"]}
    return turn.get("role", "user") == "user" and not named & turn.keys()


def added_of(answer: Mapping[str, Any]) -> Added:
    """What became of texts that were handed over."""
    refused = answer["reason"] if answer["reason"] in ("chat_filtered", "disabled") else ""
    skipped = () if refused else tuple(answer["skipped_ids"])
    return Added(tuple(answer["stored_ids"]), skipped, refused, tuple(answer["warnings"]), answer["wait_error"])


def default_wait(texts: int) -> Wait:
    """What a call that stores so many texts waits for: a few are found by meaning by whoever asks right after it."""
    return "searchable" if texts <= MOST_AWAITED else "stored"


def memo_of(row: Mapping[str, Any], timezone: str) -> Memo:
    """A text as `memory_text_admin` answers it, or a hit, its time in the zone of the answer."""
    return Memo(
        id=row["id"], text=row["text"], speaker=row["speaker"], time=local_time(row["time"], timezone), chat=row["chat_id"],
        confidence=row.get("confidence", 1.0), external_id=row["external_id"], tags=tuple(row["tags"]),
        metadata=row["metadata"], why=row.get("explain", {}),
    )  # fmt: skip


def facts_of(rows: Sequence[Mapping[str, Any]], timezone: str) -> Facts:
    """Facts as `memory_fact_admin` answers them, their times in the zone of the answer."""
    return Facts([
        Fact(row["id"], row["person"] or row["entity"], row["attribute"], row["value"], row["status"], local_time(row["valid_from"], timezone),
             local_time(row["valid_to"], timezone), row["denied"], row["confidence"], tuple(row["evidence_ids"]))
        for row in rows
    ])  # fmt: skip


def local_time(at: float | None, timezone: str = "") -> datetime | None:
    """Epoch seconds in the zone of that name, without one in that of this machine; None for what is undated."""
    try:
        return None if at is None else datetime.fromtimestamp(at).astimezone(ZoneInfo(timezone) if timezone else None)
    except (OverflowError, ValueError):  # at the ends of the calendar another zone may have no date
        return None if at is None else datetime.fromtimestamp(at, UTC)
