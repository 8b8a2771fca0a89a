"""`AMemorixStore`: a memory as the store of LangGraph agents."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any, cast

from ..errors import NotReady
from ..extras import require
from ..frontends.python.blocking import Client, Memory
from ..frontends.python.calls import added_of, default_wait
from ..frontends.python.foreign_items import MOST_HITS, ORDERS, PAGE, ForeignItems, Row, chat_of, compared, names_of
from ..language.normalise import clean_text

require("langgraph", "The store for LangGraph")

from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    validate_op_namespace,
)  # fmt: skip

__all__ = ["AMemorixStore"]

INDEXED, UNINDEXED = "indexed", "unindexed"
NO_TEXT = "(no text)"


class AMemorixStore(BaseStore):
    """Items of LangGraph, kept in a memory: `AMemorixStore(Memory("./memory"))`, or one of a `Client`.

    A namespace is a chat of its own, and what is put into it a text: the `fields` of the value (all of them by default),
    or those of `index`. A search with a `query` brings first what is likely to answer, with the confidence as its score
    (with a `filter`, of the 200 likeliest those that meet it), and then without a score, unless the store is
    `likely_only`, what a search without a query lists: the last put first. What has expired is not served. `name`
    keeps several stores in one memory apart. A value is at most `ingest.max_metadata_bytes` as JSON. Each put of a batch
    is a transaction.
    """

    supports_ttl = True

    def __init__(
        self, memory: Memory | Client, *, fields: Sequence[str] = ("$",), ttl: TTLConfig | None = None,
        name: str = "store", likely_only: bool = False,
    ) -> None:  # fmt: skip
        self._memory = memory
        self._fields = list(fields)
        self._name = name
        self._likely_only = likely_only
        self._source = chat_of("langgraph", [name])
        self._items = ForeignItems(memory, self._source, self._source)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see what was there before the batch; of several puts under one key the last counts."""
        asked = list(ops)
        for op in asked:
            validate_op_namespace(op)
        got = [op for op in asked if isinstance(op, GetOp)]
        puts = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        held = self._items.get(_external_id(*key) for key in [*((op.namespace, op.key) for op in got), *puts])
        results = [self._answer(op, held) for op in asked]
        self._put(puts.values(), held)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    # reading

    def _answer(self, op: Op, held: Mapping[str, Sequence[Row]]) -> Result:
        if isinstance(op, GetOp):
            rows = held.get(_external_id(op.namespace, op.key), ())
            self._refresh(rows[:1] if op.refresh_ttl else ())
            return _item(rows[0]) if rows else None
        if isinstance(op, SearchOp):
            found = self._found(op)
            self._refresh([row for row, _ in found] if op.refresh_ttl else ())
            return [_item(row, score) for row, score in found]
        return self._namespaces(op) if isinstance(op, ListNamespacesOp) else None

    def _found(self, op: SearchOp) -> list[tuple[Row, float | None]]:
        chosen: list[tuple[Row, float | None]] = []
        seen: set[str] = set()
        hits = self._hits(op) if op.query else ()
        rest = () if op.query and self._likely_only else self._listed(op.namespace_prefix)
        for row, score in chain(hits, rest):
            if len(chosen) == op.offset + op.limit:
                break
            if row["external_id"] not in seen and _matches_filter(_kept(row)["value"], op.filter or {}):
                chosen.append((row, score))
            seen.add(row["external_id"])
        return chosen[op.offset :]

    def _hits(self, op: SearchOp) -> Iterator[tuple[Row, float | None]]:
        wanted = MOST_HITS if op.filter else max(1, 2 * (op.offset + op.limit))  # an item may be of several texts
        found = self._items.found(op.query or "", f"{self._chat(INDEXED, op.namespace_prefix)}*", limit=wanted)
        yield from ((hit, hit["confidence"]) for hit in found)

    def _listed(self, prefix: tuple[str, ...]) -> Iterator[tuple[Row, float | None]]:
        """Rows of the namespaces below the prefix, the last stored first."""
        both = (self._items.listed(f"{self._chat(kind, prefix)}*") for kind in (INDEXED, UNINDEXED))
        return ((row, None) for row in heapq.merge(*both, key=lambda row: -int(row["id"][1:])))

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found: set[tuple[str, ...]] = set()
        while page := self._memory.call(
            "memory_text_admin", action="chats", scope="all", chat_pattern=f"{self._source}*", limit=PAGE, offset=len(found)
        )["items"]:  # fmt: skip
            found |= {names_of(chat["chat_id"]) for chat in page}
        spaces = {names[2:] for names in found}
        chosen = (one for one in spaces if all(_matches_condition(condition, one) for condition in conditions))
        return sorted({one[: op.max_depth] for one in chosen})[op.offset : op.offset + op.limit]

    # writing

    def _put(self, puts: Iterable[PutOp], held: Mapping[str, Sequence[Row]]) -> None:
        gone: list[str] = []
        new: list[dict[str, Any]] = []
        now = datetime.now(UTC).timestamp()
        for op in puts:
            external_id = _external_id(op.namespace, op.key)
            rows = held.get(external_id, ())
            if op.value is None:
                gone += [row["id"] for row in rows]
                continue
            kept = {
                "namespace": list(op.namespace), "key": op.key, "value": dict(op.value), "index": op.index, "ttl": op.ttl,
                "created_at": _kept(rows[0])["created_at"] if rows else now, "updated_at": now,
            }  # fmt: skip
            told = self._telling(external_id, kept)
            if rows and rows[0]["chat_id"] != told["chat_id"]:
                gone += [row["id"] for row in rows]
            new.append(told)
        for told in new:
            stored = self._memory.call("ingest_text", {**told, "wait": default_wait(len(new))})
            if refused := added_of(stored).refused:
                raise NotReady(f"The memory took nothing for {told['chat_id']!r} ({refused}).", reason=refused)
        if gone:
            self._memory.forget(id=gone)

    def _refresh(self, rows: Iterable[Row]) -> None:
        """Let what has a time to live go on living from now; what has been put anew meanwhile does not need it."""
        living: dict[float, list[str]] = {}
        for row in rows:
            if (ttl := _kept(row)["ttl"]) is not None:
                living.setdefault(ttl, []).append(row["id"])
        for ttl, ids in living.items():
            for start in range(0, len(ids), PAGE):
                part = ids[start : start + PAGE]
                self._memory.call("memory_document_admin", action="set", ids=part, ttl_seconds=ttl * 60)

    def _telling(self, external_id: str, kept: dict[str, Any]) -> dict[str, Any]:
        """What stores an item."""
        index = self._fields if kept["index"] is None else kept["index"] or []
        texts = (_told(kept["value"]) if path == "$" else get_text_at_path(kept["value"], path) for path in index)
        text = clean_text("\n".join(line for some in texts for line in some))
        return {
            "chat_id": self._chat(INDEXED if text else UNINDEXED, kept["namespace"]),
            "text": text or NO_TEXT, "external_id": external_id, "source": self._source, "source_type": "langgraph",
            "metadata": {"langgraph": kept},
            **({"expires_at": "never"} if kept["ttl"] is None else {"ttl_seconds": kept["ttl"] * 60}),
        }  # fmt: skip

    def _chat(self, kind: str, namespace: Iterable[str]) -> str:
        return chat_of("langgraph", [self._name, kind, *namespace])


def _external_id(namespace: Sequence[str], key: str) -> str:
    return hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def _kept(row: Row) -> dict[str, Any]:
    return row["metadata"]["langgraph"]


def _item(row: Row, score: float | None = None) -> SearchItem:
    kept = _kept(row)
    created, updated = (datetime.fromtimestamp(kept[name], UTC) for name in ("created_at", "updated_at"))
    return SearchItem(tuple(kept["namespace"]), kept["key"], kept["value"], created, updated, score)


def _told(value: Any, name: str = "") -> list[str]:
    """A line for each text and number within the value, with its name."""
    if isinstance(value, Mapping):
        return [line for key, one in cast(Mapping[str, Any], value).items() for line in _told(one, key)]
    if isinstance(value, list):
        return [line for one in cast(list[Any], value) for line in _told(one, name)]
    return [] if value is None else [f"{name}: {value}"]


def _matches_condition(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :] if path else ()
    return len(part) == len(path) and all(want in ("*", one) for want, one in zip(path, part, strict=True))


def _matches_filter(value: Any, wanted: Any) -> bool:
    """Whether a value matches a filter: equal, or by its operators; of an object the keys that the filter names."""
    if isinstance(wanted, Mapping):
        named = cast(Mapping[str, Any], wanted)
        if any(key.startswith("$") for key in named):
            return all(_satisfies(value, name, than) for name, than in named.items())
        return isinstance(value, Mapping) and all(
            _matches_filter(cast(Row, value).get(key), one) for key, one in named.items()
        )
    if isinstance(wanted, list | tuple) and isinstance(value, list):
        some, others = cast(Sequence[Any], wanted), cast(list[Any], value)
        return len(some) == len(others) and all(map(_matches_filter, others, some))
    return value == wanted


def _satisfies(value: Any, name: str, than: Any) -> bool:
    if name in ("$eq", "$ne"):
        return (value == than) == (name == "$eq")
    if name.removeprefix("$") not in ORDERS:
        raise ValueError(f"Unsupported operator {name}: there are $eq, $ne, $gt, $gte, $lt and $lte.")
    return compared(value, name.removeprefix("$"), than)
