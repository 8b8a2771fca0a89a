"""Questions that somebody gives with what answers them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ..config.model import Config
from ..errors import InvalidRequest
from ..fields import Name
from ..language.normalise import content_hash
from ..ops import Request
from ..store.access import EVERYONE, Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, optional_array
from .rows import Question

__all__ = ["LabelledQuery", "read_labelled"]


def _listed_texts(value: Any) -> Any:
    some = [value] if isinstance(value, str | int) and not isinstance(value, bool) else value
    if not isinstance(some, list):
        return some
    return [str(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in some]


class LabelledQuery(Request):
    """A question with what should be found."""

    query: str = Field(min_length=1, max_length=10_000)
    chat_id: Name = Field("", description="The chat that asks; without it everything may answer.")
    expected: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=10_000)]], BeforeValidator(_listed_texts)
    ] = Field(
        min_length=1, max_length=20, description="Paragraph ids (`p12`), external ids, or whole texts of the chat."
    )


def read_labelled(
    store: MetadataStore, db: Connection, given: Sequence[LabelledQuery], *, config: Config, now: float
) -> list[Question]:
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
    found: list[Question] = []
    for place, one in enumerate(given):
        known = meant[one.chat_id]
        for n, label in enumerate(one.expected):
            if label not in known:
                field = f"queries.{place}.expected.{n}"
                raise InvalidRequest(
                    f"{field}: {label[:80]!r} is no paragraph, external id or text that this chat may see.", field=field
                )
        targets = sorted(set[int]().union(*(known[label] for label in one.expected)))
        found.append(Question("labelled", one.chat_id, one.query, tuple(targets)))
    return found


def _meant(
    store: MetadataStore, db: Connection, config: Config, chat_id: str, labels: set[str], now: float
) -> dict[str, set[int]]:
    """Label -> the paragraphs that it means in the chat; an external id goes before an id, and that before a text.

    Without a chat, texts are those that everyone may see.
    """
    scopes = Access(store.names, config).scopes(db, Caller(chat_id, respect_filter=False))
    own = (EVERYONE, *filter(None, [store.names.chat_row(db, chat_id) if chat_id else None]))
    bare = {label: label.removeprefix("p") for label in labels}
    found: dict[str, set[int]] = {}
    for statement, names, within in (
        ("tuning_expected_texts", {label: content_hash(label) for label in labels}, own if scopes is None else scopes),
        ("tuning_expected_ids", {one: int(n) for one, n in bare.items() if n.isdecimal() and len(n) < 19}, scopes),
        ("tuning_expected_references", {label: label for label in labels}, scopes),
    ):
        rows: dict[str | int, set[int]] = defaultdict(set)
        for paragraph, name in db.run(statement, labels=array(names.values()), scopes=optional_array(within), now=now):
            rows[name].add(paragraph)
        found |= {label: rows[name] for label, name in names.items() if name in rows}
    return found
