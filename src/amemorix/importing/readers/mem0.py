"""Exports of mem0: the answer of `get_all`, or the list of memories that older versions give."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ...clock import Clock, SystemClock
from ..records import Bad, Record
from .foreign_values import digest, entities, id_of, joined, left, metadata, moment, name, relation, text_of, texts
from .json_members import Member, members, records

__all__ = ["Mem0Export"]

EXPECTED = 'an export of mem0: {"results": [{"id", "memory", …}], "relations": […]}, or a list of memories'
SOURCE = "mem0"
LISTS = ("", "results", "memories", "relations")
NOT_METADATA = ("id", "memory", "text", "data", "metadata", "categories", "entities", "relations")
MARGIN_SECONDS = 3_600.0
"""What expires within this time is passed over: it would be gone before it is stored."""


class Mem0Export:
    """`{"results": [{id, memory, user_id, agent_id, run_id, created_at, updated_at, expiration_date, metadata,
    categories, hash, entities, relations}], "relations": [{source, relationship, target or destination}]}`.

    A memory belongs to its run, else to its user's private chat, else to its agent; it is never shown to everyone. One
    of nobody, and a relation of an export of several users, goes to the chat that is named here. An expired memory is
    passed over.
    """

    def __init__(self, *, chat_id: str = "mem0", clock: Clock | None = None, zone: tzinfo | None = None) -> None:
        self._chat_id = chat_id
        self._zone = zone
        self._clock = clock or SystemClock()
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals over all lists."""
        scopes: list[dict[str, str]] = []

        def make(member: Member) -> Record | Bad | None:
            if member.key == "relations":
                return self._relation(member, scopes[0] if len(scopes) == 1 else {"chat_id": self._chat_id})
            scope = self._scope(member.value)
            if len(scopes) < 2 and scope not in scopes:
                scopes.append(scope)
            return self._memory(member, scope)

        return records(members(path, LISTS, EXPECTED, self._told), start, make)

    def _told(self, share: float) -> None:
        self.share = share

    def _memory(self, member: Member, scope: dict[str, str]) -> Record | Bad | None:
        item = member.value
        text = next((found for key in ("memory", "text", "data") if (found := text_of(item.get(key)))), "")
        if not text:
            return Bad(member.place, "has no text under `memory`")
        expires = moment(item.get("expiration_date"), "end", self._zone)
        if expires is not None and expires <= self._clock.now() + MARGIN_SECONDS:
            return None
        given = item.get("metadata")
        kept = {key: value for key, value in item.items() if key not in NOT_METADATA}
        found, between = _graph(item)
        joins = [one for one in between if one]
        arguments = {
            "external_id": id_of(SOURCE, name(item.get("id")) or digest(text, *sorted(scope.values()))),
            **_source(scope),
            "text": text,
            **scope,
            "person_ids": texts(item.get("user_id")),
            "timestamp": moment(item.get("created_at"), zone=self._zone),
            "expires_at": expires,
            "tags": texts(item.get("categories")),
            "metadata": metadata({**(given if isinstance(given, dict) else {}), "mem0": kept}),
            "entities": found,
            "relations": joins,
        }
        return Record("text", arguments, member.place, left(between), foreign=True)

    def _relation(self, member: Member, scope: dict[str, str]) -> Record | Bad:
        made = _between(member.value, {})
        if made is None:
            return Bad(member.place, "has no `source`, `relationship` and `destination` that can be joined")
        arguments = {
            "external_id": f"mem0:relation:{digest(made['subject'], made['predicate'], made['object'])}",
            **_source(scope),
            "text": joined(made),
            **scope,
            "knowledge_type": "factual",
            "relations": [made],
        }
        return Record("text", arguments, member.place, foreign=True)

    def _scope(self, item: dict[str, Any]) -> dict[str, str]:
        run, user, agent = (name(item.get(key)) for key in ("run_id", "user_id", "agent_id"))
        if run or user:
            return {key: value for key, value in (("chat_id", run), ("user_id", user)) if value}
        return {"chat_id": id_of(SOURCE, "agent", agent) if agent else self._chat_id}


def _source(scope: dict[str, str]) -> dict[str, str]:
    """The same for every export, so that a later one brings only what is new."""
    owner = scope.get("user_id") or scope["chat_id"].removeprefix("mem0:")
    return {"source_type": SOURCE, "source": id_of(SOURCE, owner)}


def _graph(item: dict[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any] | None]]:
    """The entities and the relations that an item has of its own; relations there name entities by their ids."""
    listed = [one for one in _list(item.get("entities")) if isinstance(one, dict)]
    names = {name(one.get("id")): name(one.get("name")) for one in listed if name(one.get("name"))}
    kinds = {name(one.get("name")): name(one.get("type")) for one in listed}
    plain = [one for one in _list(item.get("entities")) if isinstance(one, str)]
    between = [_between(one, names) if isinstance(one, dict) else None for one in _list(item.get("relations"))]
    return entities([*names.values(), *plain], kinds), between


def _between(one: dict[str, Any], names: dict[str, str]) -> dict[str, Any] | None:
    source, target = name(one.get("source")), name(one.get("target") or one.get("destination"))
    return relation(names.get(source, source), one.get("relationship"), names.get(target, target))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
