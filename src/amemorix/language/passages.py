"""The kind of a text, and what is read out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Extraction", "KnowledgeType", "Mention", "Triple"]

KnowledgeType = Literal["", "factual", "narrative", "quote"]
"""The kind of a text; empty: short, or said in a chat, and so of none."""


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
