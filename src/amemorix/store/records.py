"""What is handed to the store, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "ABOUT", "PARTICIPANT", "SPEAKER", "Alias", "ChatKey", "Entity", "MovedRow", "NewParagraph", "NewText", "Person", "Relation",
    "SessionRule", "Stored",
]  # fmt: skip

SPEAKER, PARTICIPANT, ABOUT = 1, 2, 3
"""How a person is bound to a paragraph (`paragraph_persons.role`): they said it, took part in it, or it is about them."""


@dataclass(frozen=True, slots=True)
class MovedRow:
    """A row that is taken out; `id` tells it from others of its kind within an operation."""

    kind: str
    id: int
    row: Mapping[str, Any]
    why: str = "person"


Kind = Literal["message", "text", "summary"]


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A chat by its id, with the group or user it belongs to (empty when not said)."""

    chat_id: str
    group_id: str = ""
    user_id: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A person by id and display name; `about`: the text is about them, and not only with them.

    `by_name`: only the name was said, which means whoever is the one person known by it in the chat.
    """

    person_id: str
    name: str
    about: bool = False
    by_name: bool = False


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of something, and the argument that it came in."""

    name: str
    norm: str
    field: str = "alias"


@dataclass(frozen=True, slots=True)
class Entity:
    """A named thing."""

    name: str
    norm: str
    kind: str = ""
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """Subject, predicate, object; `confidence` in 0..1."""

    subject: Entity
    predicate: str
    object: Entity
    confidence: float


@dataclass(frozen=True, slots=True)
class NewParagraph:
    """One paragraph of a text, analysed."""

    content: str
    content_hash: bytes
    terms: bytes
    flags: int


@dataclass(frozen=True, slots=True)
class SessionRule:
    """When a message opens a new session."""

    gap_seconds: float
    max_paragraphs: int


@dataclass(frozen=True, slots=True)
class NewText:
    """One text under one external id, ready to be written."""

    source: str
    source_type: str
    kind: Kind
    external_id: str
    content_hash: bytes
    paragraphs: tuple[NewParagraph, ...]
    chat: ChatKey | None = None
    shared: bool = False
    """True: everyone may see it, whatever chat it came from."""
    event_start: float | None = None
    event_end: float | None = None
    expires_at: float | None = None
    """Epoch seconds, infinity for never, None if nothing was said."""
    speaker: Person | None = None
    persons: tuple[Person, ...] = ()
    aliases: tuple[tuple[Person, str], ...] = ()
    """Further names of persons; they count in the text's chat."""
    tags: str | None = None
    metadata: str | None = None
    """JSON; None if nothing was said: a text that is there already keeps what it has."""
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    session: SessionRule | None = None
    """None: the text is a session of its own."""
    knowledge: Literal["", "factual", "narrative", "quote"] = ""
    """What kind of text it is; empty for what is short or said in a chat."""
    told: str = ""
    """Its words with every blank space, as they were told; empty: as the paragraphs, each on a line, have them."""
    derive: bool = True
    """False: nothing is read out of it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of one text."""

    status: Literal["stored", "existing", "revised"]
    external_id: str
    paragraphs: tuple[int, ...]
    relations: tuple[int, ...] = ()
    superseded: tuple[int, ...] = field(default=())
    warnings: tuple[str, ...] = ()
    expiry_changed: bool = False
    """True for an existing text that was given another time to expire."""
    metadata_changed: bool = False
    """True for an existing text that was given other metadata or tags."""
