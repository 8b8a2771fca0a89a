"""What a kind of text is to the memory: a way to be cut, and a way to be read for knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

__all__ = ["Extraction", "KnowledgeType", "Mention", "Passage", "Strategy", "Triple"]

KnowledgeType = Literal["", "factual", "narrative", "quote"]
"""Empty: short, or said in a chat, and so of no kind."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A named thing that a text speaks of."""

    name: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Triple:
    """What a text says of two things; `confidence` in 0..1."""

    subject: str
    predicate: str
    object: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read out of a text, each thing once, in the order it was met."""

    entities: tuple[Mention, ...] = ()
    relations: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be read; `speaker` is who means himself by "I", empty if nobody does."""

    text: str
    speaker: str = ""
    known: Mapping[str, Mention] = field(default_factory=dict)
    """Normalised name -> what the memory knows by it: persons of the chat, and entities met before."""


class Strategy(Protocol):
    """One kind of text."""

    @property
    def knowledge(self) -> KnowledgeType:
        """The kind, as it is stored with each paragraph."""
        ...

    def chunks(self, text: str, target: int) -> list[str]:
        """The text in pieces of about `target` characters, none over 1.5 times that; only white space is lost."""
        ...

    def extract(self, passage: Passage) -> Extraction:
        """Entities and relations by rules: the same passage always gives the same."""
        ...
