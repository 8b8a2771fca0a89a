"""The kind of a text, and a name in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["KnowledgeType", "Mention"]

KnowledgeType = Literal["", "factual", "narrative", "quote"]
"""The kind of a text; empty: short, or said in a chat, and so of none."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A named thing that a text speaks of."""

    name: str
    kind: str = ""
