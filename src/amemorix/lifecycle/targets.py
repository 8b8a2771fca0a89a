"""From what a caller names to the memories that are meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..config.model import Config
from ..errors import InvalidRequest, NotFound
from ..language.normalise import fold, normalise_name
from ..lazy_regex import lazy_regex
from ..search.operations import KernelSearchRequest
from ..search.service import SearchService
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.rows import retention as retention_rows
from ..store.rows.retention import MemoryKind, Ref

__all__ = ["MemoryTargets", "Targets", "read_keys"]

MOST = 10
"""Memories that a text can mean."""
LOOKED_AT = 50
"""Hits of a search among which those are found that hold the text."""
LARGEST_ROW = 2**63 - 1
_KEY = lazy_regex(r"([pref])(\d{1,19})", re.ASCII)
_KINDS: dict[str, MemoryKind] = {"p": "paragraph", "r": "relation"}


@dataclass(frozen=True, slots=True)
class Targets:
    """Memories, and the scopes that they are looked up in."""

    refs: tuple[Ref, ...]
    scopes: tuple[int, ...] | None
    named: bool
    """True if they were given by id."""


class MemoryTargets:
    """Finds memories by id or by the words they hold, within what a chat may see; a call without chat sees everything."""

    def __init__(self, store: MetadataStore, *, config: Config, searches: SearchService) -> None:
        self._store = store
        self._config = config
        self._searches = searches

    async def scopes(self, chat_id: str) -> tuple[int, ...] | None:
        """What the chat may see: nothing if the chat filter refuses it; None without a chat."""
        if not chat_id:
            return None
        access = Access(self._store.names, self._config)
        return await self._store.read(lambda db: access.scopes(db, Caller(chat_id)))

    async def find(self, target: str, kind: MemoryKind | None, chat_id: str, *, gone: bool = False) -> Targets:
        """The memory with this id, or up to ten that hold the text; `gone`: of those that can be restored.

        Raises NotFound if there is none.
        """
        scopes = await self.scopes(chat_id)
        if (ref := _ref(target, kind)) is not None:
            return Targets((ref,), scopes, True)
        norm = normalise_name(target)
        found: list[Ref] = []
        if norm and kind != "paragraph":
            ids = await self._store.read(
                lambda db: retention_rows.relations_by_words(db, norm, scopes, gone=gone, limit=MOST)
            )
            found.extend(("relation", id_) for id_ in ids)
        asked = fold(target)
        if kind != "relation" and gone:
            held = await self._store.read(lambda db: retention_rows.paragraphs_in_bin(db, scopes))
            found.extend(("paragraph", id_) for id_, content in held if asked in fold(content))
        elif kind != "relation":  # the best hits of a search for the text that hold it word for word
            request = KernelSearchRequest.model_validate({"query": target, "chat_id": chat_id, "limit": LOOKED_AT})
            hits = (await self._searches.search(request)).hits
            found.extend(("paragraph", int(hit.id[1:])) for hit in hits if asked in fold(hit.content))
        if not found:
            raise self.missing(target, "in the recycle bin or at rest" if gone else "in the memory")
        return Targets(tuple(found[:MOST]), scopes, False)

    def missing(self, target: str, where: str = "in the memory") -> NotFound:
        """The error for a target that means nothing."""
        return NotFound(f"target: there is nothing {where} that {target[:80]!r} means.", field="target")


def read_keys(keys: Sequence[str]) -> tuple[list[Ref], list[int], list[int]]:
    """(memories, episodes, facts) of the ids of hits and of lines. Raises InvalidRequest for what is no such id."""
    refs: list[Ref] = []
    further: dict[str, list[int]] = {"e": [], "f": []}
    for i, key in enumerate(keys):
        match = _KEY.fullmatch(key.lower())
        row = int(match[2]) if match else LARGEST_ROW + 1
        if match is None or row > LARGEST_ROW:
            raise InvalidRequest(
                f"targets.{i}: {key[:40]!r} is no id of a hit, such as p12, r12, e12 or f12.", field=f"targets.{i}"
            )
        if match[1] in further:
            further[match[1]].append(row)
        else:
            refs.append((_KINDS[match[1]], row))
    episodes, facts = (list(dict.fromkeys(rows)) for rows in further.values())
    return list(dict.fromkeys(refs)), episodes, facts


def _ref(target: str, kind: MemoryKind | None) -> Ref | None:
    """The memory that an id names; with a kind, its number alone will do. None for a text."""
    if kind is not None and target.isascii() and target.isdigit():
        target = kind[0] + target
    match = _KEY.fullmatch(target.lower())
    if match is None or match[1] not in _KINDS:
        return None
    ref = (_KINDS[match[1]], int(match[2]))
    if ref[1] > LARGEST_ROW or (kind is not None and ref[0] != kind):
        raise NotFound(f"target: there is no {kind or ref[0]} {target[:40]}.", field="target")
    return ref
