"""Lines that may name a person, found by the terms of the names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["Line", "Sought"]

SLOTS = 8
"""Terms that are looked for in one pass over the term blobs."""


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph that holds a term; `live` if it is neither deleted nor an older wording."""

    id: int
    chat: int
    text: str
    live: bool


@dataclass(frozen=True, slots=True)
class Sought:
    """Where lines are looked for: past a row, in some chats or all, and none that is bound to one of these persons."""

    after: int
    chats: Sequence[int] | None
    persons: Sequence[int]


def names(db: Connection, persons: Iterable[int]) -> list[tuple[int, int, str]]:
    """(person, chat, name) of every name of these persons; an alias of one chat has that chat, all others 0."""
    return db.run("mention_names", ids=array(persons)).fetchall()


def with_terms(db: Connection, terms: Sequence[bytes], where: Sought) -> Iterator[Line]:
    """Lines whose terms may hold one of these hashes; a line may come more than once."""
    return _lines(db, "mention_lines_by_term", terms, where)


def with_words(db: Connection, words: Sequence[str], where: Sought) -> Iterator[Line]:
    """Lines whose text holds one of these words letter by letter, for words that are no terms."""
    return _lines(db, "mention_lines_by_word", words, where)


def _lines(db: Connection, query: str, keys: Sequence[Any], where: Sought) -> Iterator[Line]:
    values = {"after": where.after, "chats": optional_array(where.chats), "persons": array(where.persons)}
    for start in range(0, len(keys), SLOTS):
        some = [*keys[start : start + SLOTS], *[None] * SLOTS][:SLOTS]
        slots = {f"k{place}": key for place, key in enumerate(some)}
        for id_, chat, text, live in db.run(query, **(values | slots)):
            yield Line(id_, chat, text, bool(live))
