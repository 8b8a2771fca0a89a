"""`Memory` and `AsyncMemory` with the calls of mem0: change the import, keep the program."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import logging
import re
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, cast

from ..errors import NotFound
from ..frontends.python.blocking import Client
from ..frontends.python.blocking import Memory as NativeMemory
from ..frontends.python.calls import default_wait
from ..frontends.python.foreign_items import MOST_HITS, PAGE, ForeignItems, Row, chat_of
from ..lazy_regex import lazy_regex
from .mem0_filters import matches

__all__ = ["AsyncMemory", "Memory"]

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)
ROOT, SOURCE = "mem0", "compat:mem0"
IDS = ("user_id", "agent_id", "run_id")
PROMOTED = (*IDS, "actor_id", "role", "expiration_date")
FAR = date(5000, 1, 1)
_UNSET: Any = object()
Kept = dict[str, Any]


_GENERAL = lazy_regex(
    r"\bwhat (?:do|can|did) (?:you|we) (?:know|remember|recall|tell me)\b(?! (?:about|of) (?!me\b|us\b|him\b|her\b|the user\b|this (?:user|person)\b))"
    r"|\btell me (?:everything )?about (?:me|myself|the user)\b|\bwho am i\b|\bwhat (?:is|are) (?:known|my (?:preferences|facts|memories))\b|\bsummar\w+ (?:what you know|me|the user)\b"
    r"|(?:记得|知道|了解)(?:关于)?我(?:的)?(?:什么|哪些|多少|啥)|我是(?:谁|什么样的人)|(?:介绍|说说|总结)(?:一下)?我(?:自己)?$",
    re.IGNORECASE,
)
"""A question for all that is known of a user."""


class Memory:
    """A memory with mem0's calls and answers, on this machine: `Memory()`, or `Memory.from_config({"amemorix": …})`.

    `amemorix` in the configuration says where it lies (`folder` and `settings`, or `url` and `token` of a daemon); what
    else mem0 is configured with has no effect. `user_id`, `agent_id` and `run_id` together are a chat of their own, and
    a filter reads the chats that bear all the ids it names. `infer=True` stores what was said as it was said, and
    statements are read out of it in the background; `infer=False` stores notes, in which nobody speaks. `score` is the
    probability that a memory answers. What has expired is not shown.
    """

    def __init__(self, config: Any = None) -> None:
        given = config.model_dump() if hasattr(config, "model_dump") else dict(config or {})
        ours = dict(given.pop("amemorix", {}))
        if given:
            log.warning("without effect in the configuration: %s; `amemorix` says where the memory lies", sorted(given))
        at = ours.pop("url", None)
        self._memory: NativeMemory | Client = Client(at, **ours) if at else NativeMemory(**ours)
        self._texts = ForeignItems(self._memory, SOURCE, chat_of(ROOT, ()))

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """Open the memory that `config_dict["amemorix"]` names."""
        return cls(config_dict)

    # writing

    def add(
        self, messages: Any, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None,
        metadata: dict[str, Any] | None = None, timestamp: Any | None = None, expiration_date: Any | None = None,
        infer: bool = True, memory_type: str | None = None, prompt: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Store messages; `timestamp` is when they were said. Every message of a user or an assistant is a result."""
        ids = _ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if memory_type is not None:
            raise ValueError("memory_type: no model summarises here; store your own summary with infer=False.")
        if prompt:
            log.warning("prompt: it has no effect; statements are read out of messages by rules and a classifier")
        given = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        given = [given] if isinstance(given, dict) else given
        if not isinstance(given, list):
            raise ValueError(
                f"messages: must be a text, a message or a list of messages, not {type(messages).__name__}."
            )
        turns = [one for one in map(_checked, cast(list[Any], given)) if one is not None]
        until, now = _day(expiration_date), datetime.now(UTC).isoformat()
        shared = {**ids, "metadata": _without_ids(metadata or {}, {}), "created_at": now, "updated_at": now}
        shared |= {"expiration_date": until} if until else {}
        where = {"chat_id": chat_of(ROOT, (ids.get(key, "") for key in IDS)), "user_id": ids.get("user_id", "")}
        where |= {"source": SOURCE, "expires_at": _expiry(until), "wait": default_wait(len(turns))}
        told: list[dict[str, Any]] = []
        for turn in turns:
            name = {"actor_id": turn["name"]} if turn.get("name") else {}
            kept = {**shared, **name, **({} if infer else {"role": turn["role"]})}
            told.append({"external_id": str(uuid.uuid4()), "metadata": {ROOT: kept}, "time": timestamp})
        spoken = [
            {**{key: turn[key] for key in ("role", "content", "name") if turn.get(key)}, **one}
            for one, turn in zip(told, turns, strict=True)
        ]
        if infer and turns:
            self._memory.call("ingest_messages", {"messages": spoken, **where})
        for one, turn in zip(told, turns, strict=True) if not infer else ():
            self._memory.call("ingest_text", {"text": turn["content"], "source_type": "mem0", **one, **where})
        items = self._items([one["external_id"] for one in told])
        also = () if infer else ("actor_id", "role")
        return {
            "results": [
                {"id": item["id"], "memory": item["memory"], "event": "ADD", **{key: item.get(key) for key in also}}
                for item in items
            ]
        }

    def update(
        self, memory_id: str, text: str | None = None, metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET, data: str | None = None,
    ) -> dict[str, str]:  # fmt: skip
        """Give a memory other words, further metadata or another date to expire; `data` is an older name of `text`."""
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("text: give a text, metadata or an expiration_date.")
        rows = self._texts.get([memory_id]).get(memory_id) or _not_found(memory_id)
        kept = dict(_kept(rows[0]))
        kept["metadata"] = {**kept["metadata"], **_without_ids(metadata or {}, kept)}
        kept["updated_at"] = datetime.now(UTC).isoformat()
        if expiration_date is not _UNSET:
            kept["expiration_date"] = _day(expiration_date)
        if text is not None and text != _text(rows):
            self._memory.update(rows[0]["id"], text, metadata={ROOT: kept})
            rows = self._texts.get([memory_id])[memory_id]
        expiry = {} if expiration_date is _UNSET else {"expires_at": _expiry(kept["expiration_date"]) or "never"}
        told = {"action": "set", "ids": [rows[0]["id"]], "metadata": {ROOT: kept}, **expiry}
        self._memory.call("memory_document_admin", told)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory; raises ValueError if there is none of that id."""
        rows = self._texts.get([memory_id]).get(memory_id) or _not_found(memory_id)
        self._memory.forget(id=[row["id"] for row in rows])
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> dict[str, str]:
        """Delete every memory that bears all of these ids."""
        pattern = _pattern(_ids({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}))
        while chats := self._memory.call(
            "memory_text_admin", action="chats", scope="all", chat_pattern=pattern, limit=PAGE
        )["items"]:  # fmt: skip
            selector = [chat["chat_id"] for chat in chats]
            self._memory.call("memory_delete_admin", action="execute", mode="chat", selector=selector)
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Erase everything that was stored by these calls, for good; what the memory holds otherwise stays."""
        with contextlib.suppress(NotFound):  # nothing was
            self._memory.call("memory_delete_admin", action="execute", mode="source", selector=[SOURCE], purge=True)

    # reading

    def search(
        self, query: str, *, top_k: int = 20, filters: dict[str, Any] | None = None, threshold: float = 0.1,
        rerank: bool = False,  # noqa: ARG002
        explain: bool = False, reference_date: Any | None = None, show_expired: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Find what answers the query, of at least the score `threshold`; always ranked in two steps."""
        _refuse(kwargs, show_expired)
        if reference_date is not None:
            raise ValueError("reference_date: dates in a query are read as of today.")
        if not isinstance(query, str) or not query.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("query: must be a text that is not blank.")
        threshold = 0.1 if threshold is None else threshold  # pyright: ignore[reportUnnecessaryComparison]
        if not 0 <= threshold <= 1:
            raise ValueError("threshold: must be from 0 to 1.")
        ids, wanted = _wanted(filters)
        count = _count(top_k)
        if not count:
            return {"results": []}
        most = MOST_HITS if set(wanted) - {*IDS} else 2 * count
        hits: dict[str, Row] = (
            self._known_of(ids["user_id"], wanted) if "user_id" in ids and _GENERAL.search(query) else {}
        )
        for hit in self._texts.found(query, _pattern(ids), limit=most):
            if hit["score"] >= threshold and matches(_fields(hit), wanted):
                hits.setdefault(hit["external_id"], hit)
        results = self._items(list(hits)[:count])
        for item in results:
            item["score"] = hits[item["id"]]["score"]
            item |= {"score_details": hits[item["id"]]["explain"]} if explain else {}
        return {"results": results}

    def _known_of(self, user: str, wanted: Mapping[str, Any]) -> dict[str, Row]:
        """The memories on which the profile of a user rests, as hits, the weightiest first: what a question asks that
        asks for nothing in particular."""
        profile = self._memory.call("get_person_profile", person_id=user, scope="all")
        scores = {
            key: item["confidence"] for item in reversed(profile["items"]) for key in item["evidence"] if key[0] == "p"
        }
        if not scores:
            return {}
        found = self._memory.call("memory_text_admin", action="get", ids=[*reversed(scores)][:PAGE], scope="all")
        rows = [row for row in found["items"] if ROOT in row["metadata"] and matches(_fields(row), wanted)]
        return {row["external_id"]: {**row, "score": scores[row["id"]], "explain": {"profile": user}} for row in rows}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """The memory of that id; None if there is none."""
        return next(iter(self._items([memory_id])), None)

    def get_all(
        self, *, filters: dict[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        """What is stored, the last stored first."""
        _refuse(kwargs, show_expired)
        ids, wanted = _wanted(filters)
        count = _count(top_k)
        chosen: dict[str, None] = {}
        for row in self._texts.listed(_pattern(ids)):
            if len(chosen) == count:
                break
            chosen |= {row["external_id"]: None} if matches(_fields(row), wanted) else {}
        items = self._items(list(chosen))
        return {"results": [{key: value for key, value in item.items() if key != "score"} for item in items]}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """How a memory was worded, the oldest first, and that it was deleted; nothing after `reset`."""
        found = self._memory.call("memory_text_admin", action="history", external_id=memory_id, source=SOURCE)
        events: list[dict[str, Any]] = []
        old: str | None = None
        for row in found["items"]:
            kept = row["metadata"][ROOT]
            steps: list[tuple[str | None, str, float]] = [
                (row["text"], "ADD" if old is None else "UPDATE", row["recorded_at"])
            ]
            if row["deleted_at"] is not None and row["superseded_at"] is None:
                steps.append((None, "DELETE", row["deleted_at"]))
            for new, event, at in steps:
                events.append(
                    {
                        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{memory_id} {len(events)}")), "memory_id": memory_id,
                        "old_memory": old, "new_memory": new, "event": event, "created_at": kept["created_at"],
                        "updated_at": datetime.fromtimestamp(at, UTC).isoformat(), "is_deleted": event == "DELETE",
                        "actor_id": kept.get("actor_id"), "role": kept.get("role"),
                    }
                )  # fmt: skip
                old = new
        return events

    # opening and closing

    def close(self) -> None:
        """Close it; what was acknowledged is stored."""
        self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _items(self, memory_ids: Sequence[str]) -> list[dict[str, Any]]:
        rows = self._texts.get(memory_ids)
        return [_item(id_, rows[id_]) for id_ in memory_ids if id_ in rows]


def _awaited(call: Callable[Concatenate[Memory, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    @functools.wraps(call)
    async def run(self: AsyncMemory, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(call, self.memory, *args, **kwargs)

    return run


class AsyncMemory:
    """The same calls, awaited."""

    def __init__(self, config: Any = None) -> None:
        self.memory = Memory(config)

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """Open the memory that `config_dict["amemorix"]` names."""
        return cls(config_dict)

    add = _awaited(Memory.add)
    update = _awaited(Memory.update)
    delete = _awaited(Memory.delete)
    delete_all = _awaited(Memory.delete_all)
    reset = _awaited(Memory.reset)
    search = _awaited(Memory.search)
    get = _awaited(Memory.get)
    get_all = _awaited(Memory.get_all)
    history = _awaited(Memory.history)

    def close(self) -> None:
        """Close it; what was acknowledged is stored."""
        self.memory.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self.close)


def _ids(given: Mapping[str, Any], told: str = "give") -> dict[str, str]:
    """The ids that say whose memories are meant. Raises ValueError for one that names nobody, and for none at all."""
    ids: dict[str, str] = {}
    for key in IDS:
        value = given.get(key)
        if value is None and (key not in given or told == "give"):
            continue
        name = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if not name or name == "*" or any(char.isspace() for char in name):
            raise ValueError(f"{key}: must be an id without blanks, not {value!r}.")
        ids[key] = name
    if not ids:
        raise ValueError(f"{told} at least one of user_id, agent_id and run_id.")
    return ids


def _wanted(filters: Mapping[str, Any] | None) -> tuple[dict[str, str], dict[str, Any]]:
    """The ids that a filter names, and the filter with the ids as they are stored. Raises ValueError."""
    ids = _ids(filters or {}, "filters: must name")
    wanted = {**(filters or {}), **ids}
    matches({}, wanted)  # what it does not know is said even where nothing is stored
    return ids, wanted


def _pattern(ids: Mapping[str, str]) -> str:
    return chat_of(ROOT, (ids.get(key) for key in IDS))


def _count(top_k: Any) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise ValueError(f"top_k: must be a number of memories, not {top_k!r}.")
    return top_k


def _refuse(kwargs: Mapping[str, Any], show_expired: bool) -> None:
    for key in kwargs:
        told = f"give it in filters={{{key!r}: …}}" if key in IDS else "there is no such argument"
        raise ValueError(f"{key}: {told}.")
    if show_expired:
        raise ValueError("show_expired: what has expired is not shown; the recycle bin of the memory lists it.")


def _checked(message: Any) -> dict[str, Any] | None:
    """A message that is stored; None for a system's, and for what is none."""
    turn = cast(dict[str, Any], message) if isinstance(message, dict) else {}
    if turn.get("role") is None or turn.get("content") in (None, ""):  # as that of a tool call
        log.warning("a message without role or content was left out")
        return None
    return None if turn["role"] == "system" else turn


def _without_ids(metadata: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata without keys that say whose a memory is: these never change."""
    for key in (*IDS, "actor_id"):
        if key in metadata and metadata[key] != kept.get(key):
            log.warning("metadata: %s says whose the memory is, and was left out", key)
    return {key: value for key, value in metadata.items() if key not in (*IDS, "actor_id")}


def _day(value: Any) -> str | None:
    """A day as YYYY-MM-DD. Raises ValueError."""
    if value is None or isinstance(value, date):
        return value and (value.date() if isinstance(value, datetime) else value).isoformat()
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError) as exc:
        raise ValueError("expiration_date: must be a day, YYYY-MM-DD.") from exc


def _expiry(day: str | None) -> float | None:
    """The end of a day (UTC); a larger number of seconds would be read as milliseconds."""
    if day is None:
        return None
    end = min(date.fromisoformat(day), FAR) + timedelta(days=1)
    return datetime.combine(end, datetime.min.time(), UTC).timestamp()


def _kept(row: Row) -> Kept:
    return row["metadata"][ROOT]


def _fields(row: Row) -> dict[str, Any]:
    """What a filter may name."""
    kept = _kept(row)
    return {**kept["metadata"], **{key: value for key, value in kept.items() if key != "metadata"}}


def _text(rows: Iterable[Row]) -> str:
    return "\n".join(row["text"] for row in rows)


def _item(memory_id: str, rows: Sequence[Row]) -> dict[str, Any]:
    kept, text = _kept(rows[0]), _text(rows)
    return {
        "id": memory_id, "memory": text, "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": kept["metadata"] or None, "score": None, "created_at": kept["created_at"],
        "updated_at": kept["updated_at"], **{key: kept[key] for key in PROMOTED if key in kept},
    }  # fmt: skip


def _not_found(memory_id: str) -> Any:
    raise ValueError(f"memory_id: there is no memory {memory_id!r}.")
