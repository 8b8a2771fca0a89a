"""What `Memory` and `Client` answer: small records that read well when they are printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from html import escape
from typing import Any, Generic, TypeVar, overload

from ...facts.language.sentences import written_dates

__all__ = ["Added", "Context", "Fact", "Facts", "Forgotten", "Hits", "Listing", "Memo", "Profile", "Texts"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Memo:
    """A text as it is stored; of a search also how likely it answers, and why it was found."""

    id: str
    text: str
    speaker: str = ""
    time: datetime | None = None
    """When it was said, in the time zone of the memory's settings; None where it is undated."""
    chat: str = ""
    """The chat that it belongs to; empty for what every chat may see."""
    confidence: float = 1.0
    external_id: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    why: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        said = f"{self.speaker}: {self.text}" if self.speaker else self.text
        return f"{self.time:%Y-%m-%d} {said}" if self.time else said


@dataclass(frozen=True, slots=True)
class Fact:
    """What is held true of somebody; `until` is None while nothing has ended it."""

    id: str
    person: str
    attribute: str
    value: str
    status: str
    since: datetime | None = None
    until: datetime | None = None
    denied: bool = False
    confidence: float = 1.0
    evidence: tuple[str, ...] = ()
    """Ids of the texts that state it."""

    def __str__(self) -> str:
        told = f"{self.person}: " if self.person else ""
        value = written_dates(self.value, datetime.now().year)
        told += value if self.attribute == "statement" else f"{self.attribute} {'not ' * self.denied}{value}"
        return told if self.status == "active" else f"{told} ({self.status})"


class Listing(Sequence[T], Generic[T]):
    """Records in order; printed, one on each line."""

    def __init__(self, items: Sequence[T]) -> None:
        self._items = tuple(items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._items)

    def __str__(self) -> str:
        return "\n".join(map(str, self._items)) or "(nothing)"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self._items)!r})"

    def _repr_html_(self) -> str:
        """A table, in notebooks."""
        if not self._items:
            return "<i>nothing</i>"
        names = [one.name for one in fields(self._items[0])]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        shown = [
            name
            for name in names
            if any(getattr(item, name) for item in self._items) and name not in ("why", "metadata")
        ]
        head = "".join(f"<th>{name}</th>" for name in shown)
        rows = ("".join(f"<td>{escape(str(getattr(item, name)))}</td>" for name in shown) for item in self._items)
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


class Facts(Listing[Fact]):
    """Facts, the newest first."""


class Texts(Listing[Memo]):
    """Stored texts, the last stored first; `next` goes on with the page after them."""

    def __init__(self, items: Sequence[Memo], next: str = "") -> None:
        super().__init__(items)
        self.next = next
        """What to give as `before`; empty on the last page."""


class Hits(Listing[Memo]):
    """What a search found, the likeliest first."""

    def __init__(self, items: Sequence[Memo], facts: Facts, *, weak: bool, corrected: Mapping[str, str]) -> None:
        super().__init__(items)
        self.facts = facts
        """What is held true of those whom the query names, if it asks for it."""
        self.weak = weak
        """Whether no hit is likely to answer."""
        self.corrected = corrected
        """Words of the query, and what they were taken for."""

    def __str__(self) -> str:
        return "\n".join([*(f"{hit.confidence:.2f} {hit}" for hit in self), *map(str, self.facts)]) or "(nothing)"


@dataclass(frozen=True, slots=True)
class Context:
    """A block of text for a prompt."""

    text: str
    tokens: int
    ids: tuple[str, ...] = ()
    """Of what stands in it, in order."""
    truncated: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a person."""

    id: str
    name: str
    text: str
    statements: tuple[str, ...] = ()
    known: bool = False
    stale: bool = False
    """Whether there is news that it does not tell yet."""

    def __str__(self) -> str:
        return self.text or f"Nothing is known of {self.name or self.id}."


@dataclass(frozen=True, slots=True)
class Added:
    """Ids of the texts that were stored, and of those that were there already."""

    ids: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    refused: str = ""
    """Why the settings let nothing in: `chat_filtered`, `disabled`; empty where something was stored or there."""
    warnings: tuple[str, ...] = ()
    """What was not taken as it was meant, such as a key that no message has."""
    wait_error: str = ""
    """Why what is stored is not found by meaning yet, such as the model's error; empty if it is, or was not waited for."""
    repeated: bool = False
    """Whether the user had said the very same before: nothing was stored, and `ids` are those of that text."""

    def __str__(self) -> str:
        if self.refused:
            return f"nothing stored: {self.refused}"
        if self.repeated:
            return "; ".join([f"{len(self.ids)} was there already", *self.warnings])
        told = f"{len(self.ids)} stored" + (f", {len(self.skipped)} were there" if self.skipped else "")
        return "; ".join([told, *self.warnings])


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted; `operation` brings it back until it is purged."""

    operation: str
    texts: int
    purged: bool = False
    left: tuple[str, ...] = ()
    """Files in which a purge has left something."""

    def __str__(self) -> str:
        how = "erased for good" if self.purged else f"deleted; restore({self.operation!r}) brings it back"
        return f"{self.texts} texts {how}"
