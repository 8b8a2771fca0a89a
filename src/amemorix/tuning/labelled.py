"""Questions that somebody gives with what answers them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..config.model import Config
from ..errors import InvalidRequest
from ..language.normalise import content_hash
from ..store.access import EVERYONE, Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import material as tuning_material
from .query_set import Draft

__all__ = ["Labelled", "read_labelled"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the ids (`p12`), external ids or texts of what should be found."""

    query: str
    chat_id: str
    expected: tuple[str, ...]


def read_labelled(
    store: MetadataStore, db: Connection, given: Sequence[Labelled], *, config: Config, now: float
) -> list[Draft]:
    """The questions with the paragraphs that are meant.

    Raises InvalidRequest, naming the place, for a chat that the memory does not know and for what it does not hold, or
    does not show in that chat.
    """
    labels: dict[str, set[str]] = defaultdict(set)
    for place, one in enumerate(given):
        if one.chat_id and store.names.chat_row(db, one.chat_id) is None:
            field = f"queries.{place}.chat_id"
            raise InvalidRequest(f"{field}: the memory knows no chat {one.chat_id!r}.", field=field)
        labels[one.chat_id].update(one.expected)
    meant = {chat: _meant(store, db, config, chat, some, now) for chat, some in labels.items()}
    return [_draft(db, one, meant[one.chat_id], f"queries.{place}", now) for place, one in enumerate(given)]


def _draft(db: Connection, one: Labelled, meant: Mapping[str, set[int]], field: str, now: float) -> Draft:
    for place, label in enumerate(one.expected):
        if label not in meant:
            where = f"{field}.expected.{place}"
            raise InvalidRequest(
                f"{where}: {label[:80]!r} is no paragraph, external id or text that this chat may see.", field=where
            )
    targets = sorted(set[int]().union(*(meant[label] for label in one.expected)))
    lines = tuning_material.lines(db, targets, now)
    return Draft("labelled", one.chat_id, one.query, tuple(targets), frozenset(line.session for line in lines.values()))


def _meant(
    store: MetadataStore, db: Connection, config: Config, chat_id: str, labels: set[str], now: float
) -> dict[str, set[int]]:
    """Label -> the paragraphs that it means in the chat; an external id goes before an id, and that before a text.

    Without a chat, texts are those that everyone may see.
    """
    scopes = Access(store.names, config).scopes(db, Caller(chat_id, respect_filter=False))
    rows = {label: int(bare) for label in labels if (bare := label.removeprefix("p")).isdecimal() and len(bare) < 19}
    hashes = {label: content_hash(label) for label in labels}
    own = (EVERYONE, *filter(None, [store.names.chat_row(db, chat_id) if chat_id else None]))
    by_text = tuning_material.expected(db, "texts", hashes.values(), own if scopes is None else scopes, now)
    by_row = tuning_material.expected(db, "ids", rows.values(), scopes, now)
    found = {label: by_text[hash_] for label, hash_ in hashes.items() if hash_ in by_text}
    found |= {label: by_row[str(row)] for label, row in rows.items() if str(row) in by_row}
    return found | tuning_material.expected(db, "references", labels, scopes, now)
