"""What a query says, read without a model."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..indexes.name_directory import NameDirectory
from ..text import is_mostly_cjk, query_terms, term_hashes
from ..times import asks_when

__all__ = ["Query", "read_query"]

_ASKING = re.compile(
    "什么时候|甚么|什么|為什麼|为什么|怎么样|怎樣|怎么|哪里|哪裡|哪儿|哪些|哪个|哪天|多少|多久|几个|几点|是不是|有没有人|有没有|"
    "请问|告诉我|还记得|记不记得|记得|知道|知不知道|有谁|[的了吗嗎呢啊吧呀嘛么麼是谁誰哪啥]"
)
"""Words that ask or only join others, and say nothing about the answer; pairs of characters must not straddle them."""


@dataclass(frozen=True, slots=True)
class Query:
    """The query as the lanes use it."""

    text: str
    bare: str
    """The text without the names of known persons: what is embedded."""
    terms: tuple[str, ...]
    hashes: NDArray[np.uint32]
    """Ascending distinct term hashes."""
    persons: tuple[frozenset[int], ...]
    """For each person named, the rows that may be meant."""
    names: tuple[str, ...]
    asks_when: bool
    cjk: bool

    @property
    def one_person(self) -> frozenset[int] | None:
        """The rows of the person named, if exactly one is."""
        return self.persons[0] if len(self.persons) == 1 else None


def read_query(text: str, directory: NameDirectory, chats: Collection[int] | None) -> Query:
    """Split a query into the persons it names and what it asks about them."""
    named = directory.find(text, chats)
    terms = query_terms(_ASKING.sub(" ", named.bare)) or query_terms(named.bare)
    return Query(
        text=text,
        bare=named.bare,
        terms=tuple(terms),
        hashes=np.unique(term_hashes(terms)),
        persons=named.persons,
        names=named.names,
        asks_when=asks_when(text),
        cjk=is_mostly_cjk(text),
    )
