"""What a history does to a memory, and what the memory must hold afterwards."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Delete", "Errand", "Held", "Ledger", "Operation", "Piece", "Shelf", "Write", "applied", "seen"]

WORDS = [
    a + b + c for a in ("zor", "mel", "tak", "piv") for b in ("im", "ul", "ado", "ek") for c in ("", "ta.", "nor\n")
]
WORDS += ["雨伞", "值班", "乌龙茶。", "周末去爬山"]
COMPONENTS = {"ingest_text": "note", "ingest_summary": "chat_summary", "ingest_messages": "chat"}
"""Component -> the source type of what it stores."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text by its recipe: the same seed and length give the same words."""

    external_id: str
    seed: int
    words: int

    @property
    def mark(self) -> str:
        """A word that no other text has."""
        return f"mark{self.seed:x}q"

    def text(self) -> str:
        """The words, in sentences, with the mark in the middle."""
        words = random.Random(self.seed).choices(WORDS, k=self.words)
        words.insert(self.words // 2, self.mark)
        return " ".join(words)

    def relation(self) -> tuple[str, str, str] | None:
        """Subject, predicate and object that some texts speak of; few, so that many texts support the same one."""
        if self.seed % 3:
            return None
        return f"lamp {self.seed % 5}", "stands in", f"hall {self.seed % 4}"


@dataclass(frozen=True, slots=True)
class Write:
    """Texts handed over in one call."""

    component: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Sources of the worker's chat, by type, deleted in one call."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """A call that changes nothing of what is remembered."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])


Operation = Write | Delete | Errand


@dataclass(frozen=True, slots=True)
class Held:
    """What stands under an external id: how often it was written, and the text; None once it is deleted."""

    revision: int
    piece: Piece | None


Shelf = dict[tuple[str, str], Held]
"""(kind of source, external id) -> what is held there, for one chat."""


def applied(shelf: Shelf, operation: Operation) -> Shelf:
    """The shelf after the operation."""
    after = dict(shelf)
    if isinstance(operation, Delete):
        gone = [key for key, held in shelf.items() if key[0] in operation.kinds and held.piece]
        after |= {key: Held(shelf[key].revision, None) for key in gone}
    if isinstance(operation, Write):
        for piece in operation.pieces:
            key = COMPONENTS[operation.component], piece.external_id
            held = after.get(key, Held(0, None))
            if held.piece is None or held.piece != piece:
                after[key] = Held(held.revision + 1, piece)
    return after


def seen(shelf: Shelf) -> dict[tuple[str, str], tuple[int, str | None]]:
    """The shelf as rows show it: the texts without white space, because that is lost between paragraphs."""
    return {
        key: (held.revision, None if held.piece is None else "".join(held.piece.text().split()))
        for key, held in shelf.items()
    }


@dataclass(slots=True)
class Ledger:
    """What was acknowledged, for each chat, and the one call of each that was under way."""

    shelves: list[Shelf]
    pending: dict[int, Operation] = field(default_factory=dict[int, Operation])
    acknowledged: int = 0

    def begun(self, chat: int, operation: Operation) -> None:
        """A call is about to be made."""
        self.pending[chat] = operation

    def done(self, chat: int) -> None:
        """The call was answered."""
        self.shelves[chat] = applied(self.shelves[chat], self.pending.pop(chat))
        self.acknowledged += 1

    def allowed(self, chat: int) -> list[Shelf]:
        """What may be found: everything acknowledged, with or without the whole of the call under way."""
        shelf = self.shelves[chat]
        return [shelf, applied(shelf, self.pending[chat])] if chat in self.pending else [shelf]
