"""Exports of mem0: the answer of `get_all`, or the list of memories that older versions give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..records import Bad, Record
from .foreign_values import digest, entities, id_of, joined, left, metadata, moment, name, relation, text_of, texts
from .json_documents import JsonReader, Member

__all__ = ["Mem0Export"]

SOURCE = "mem0"
NOT_METADATA = ("id", "memory", "text", "data", "metadata", "categories", "entities", "relations")
MARGIN_SECONDS = 3_600.0
"""What expires within this time is passed over: it would be gone before it is stored."""


class Mem0Export(JsonReader):
    """`{"results": [{id, memory, user_id, agent_id, run_id, created_at, updated_at, expiration_date, metadata,
    categories, hash, entities, relations}], "relations": [{source, relationship, target or destination}]}`.

    A memory belongs to its run, else to its user's private chat, else to its agent; it is never shown to everyone. One
    of nobody, and a relation of an export of several users, goes to the chat that is named here. An expired memory is
    passed over.
    """

    what = "The answer of mem0's `get_all`. mem0 的导出。"
    fields = (
        "results: id, memory, user_id, agent_id, run_id, created_at, metadata, categories; relations: source, "
        "relationship, target"
    )
    example = '{"results": [{"id": "m1", "memory": "Likes oolong tea", "user_id": "ada", "created_at": "2025-03-01T09:00:00Z"}]}'

    default_chat = SOURCE
    expected = 'an export of mem0: {"results": [{"id", "memory", …}], "relations": […]}, or a list of memories'
    lists = ("", "results", "memories", "relations")

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        self._scopes: list[dict[str, str]] = []
        """The first two that were met."""
        return super().records(path)

    def record(self, member: Member) -> Record | Bad | None:
        if member.key == "relations":
            return self._relation(member, self._scopes[0] if len(self._scopes) == 1 else {"chat_id": self._chat_id})
        run, user, agent = (name(member.value.get(key)) for key in ("run_id", "user_id", "agent_id"))
        scope = {key: value for key, value in (("chat_id", run), ("user_id", user)) if value}
        scope = scope or {"chat_id": id_of(SOURCE, "agent", agent) if agent else self._chat_id}
        if len(self._scopes) < 2 and scope not in self._scopes:
            self._scopes.append(scope)
        return self._memory(member, scope)

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
        listed, joins = (
            [] if not isinstance(some := item.get(key), list) else some for key in ("entities", "relations")
        )
        nodes = [one for one in listed if isinstance(one, dict)]
        names = {name(one.get("id")): name(one.get("name")) for one in nodes if name(one.get("name"))}
        kinds = {name(one.get("name")): name(one.get("type")) for one in nodes}
        plain = [one for one in listed if isinstance(one, str)]
        between = [_between(one, names) if isinstance(one, dict) else None for one in joins]
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
            "entities": entities([*names.values(), *plain], kinds),
            "relations": [one for one in between if one],
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


def _source(scope: dict[str, str]) -> dict[str, str]:
    """The same for every export, so that a later one brings only what is new."""
    owner = scope.get("user_id") or scope["chat_id"].removeprefix("mem0:")
    return {"source_type": SOURCE, "source": id_of(SOURCE, owner)}


def _between(one: dict[str, Any], names: dict[str, str]) -> dict[str, Any] | None:
    """A relation, which may name its ends by the ids of entities."""
    source, target = name(one.get("source")), name(one.get("target") or one.get("destination"))
    return relation(names.get(source, source), one.get("relationship"), names.get(target, target))
