"""What a deletion is asked to delete, read from whatever form it is given in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from ..errors import InvalidRequest
from ..language.normalise import clean_text
from ..lazy_regex import lazy_regex

__all__ = ["DeleteMode", "Selector", "read_selector"]

DeleteMode = Literal["relation", "paragraph", "entity", "source", "person", "chat", "mixed"]
MOST_VALUES = 10_000
LONGEST = 10_000
LETTERS = {"paragraphs": "p", "relations": "r", "entities": "n"}
_HASH = lazy_regex(r"[0-9a-fA-F]{64}")
_DIGITS = lazy_regex(r"[0-9]{1,18}")

_KEYS: dict[str, dict[str, str]] = {
    "paragraph": {
        "id": "paragraphs", "ids": "paragraphs", "paragraph_id": "paragraphs", "paragraph_ids": "paragraphs",
        "hash": "hashes", "hashes": "hashes", "paragraph_hashes": "hashes",
        "external_id": "external_ids", "external_ids": "external_ids", "query": "query",
    },
    "relation": {
        "id": "relations", "ids": "relations", "relation_id": "relations", "relation_ids": "relations",
        "hash": "relations", "hashes": "relations", "relation_hashes": "relations",
        "subject": "subject", "predicate": "predicate", "object": "object", "query": "sentence",
    },
    "entity": {
        "id": "entities", "ids": "entities", "entity_id": "entities", "entity_ids": "entities",
        "hash": "entities", "hashes": "entities", "entity_hashes": "entities",
        "name": "entity_names", "names": "entity_names", "entity_names": "entity_names", "query": "entity_names",
    },
    "source": {"source": "sources", "sources": "sources", "name": "sources", "names": "sources"},
    "person": {
        "id": "persons", "ids": "persons", "person_id": "persons", "person_ids": "persons",
        "name": "persons", "names": "persons",
    },
    "chat": {"id": "chats", "ids": "chats", "chat_id": "chats", "chat_ids": "chats"},
    "mixed": {
        "paragraph_ids": "paragraphs", "paragraph_hashes": "hashes", "external_ids": "external_ids",
        "relation_ids": "relations", "relation_hashes": "relations",
        "entity_ids": "entities", "entity_hashes": "entities", "entity_names": "entity_names",
        "source": "sources", "sources": "sources", "person_ids": "persons", "chat_ids": "chats",
    },
}  # fmt: skip
"""For each mode, what a key of the selector fills."""
_PLAIN = {
    "paragraph": "paragraphs", "relation": "relations", "entity": "entity_names", "source": "sources",
    "person": "persons", "chat": "chats",
}  # fmt: skip
"""What a selector without keys fills."""
NUMBERED = ("persons", "chats", "external_ids")
"""What platforms number: an id that is given as a number is taken for its digits."""
_SINGLE = ("query", "sentence", "subject", "predicate", "object")


@dataclass(frozen=True, slots=True)
class Selector:
    """What is named, kind by kind; ids as rows, names as they were given."""

    paragraphs: tuple[int, ...] = ()
    hashes: tuple[str, ...] = ()
    external_ids: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    entities: tuple[int, ...] = ()
    entity_names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    persons: tuple[str, ...] = ()
    chats: tuple[str, ...] = ()
    query: str = ""
    """Paragraphs that hold these words."""
    sentence: str = ""
    """Relations whose subject, predicate and object hold these words."""
    subject: str = ""
    predicate: str = ""
    object: str = ""

    @property
    def named(self) -> int:
        """How many things are named."""
        return sum(len(value) if isinstance(value, tuple) else bool(value) for value in self.to_dict().values())

    def to_dict(self) -> dict[str, Any]:
        """What is given, without what is not."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value}


@dataclass(slots=True)
class _Reading:
    """A selector on the way from its raw form: lists of ids and names, and single texts."""

    lists: dict[str, dict[Any, None]] = field(default_factory=dict[str, dict[Any, None]])
    words: dict[str, str] = field(default_factory=dict[str, str])

    def put(self, kind: str, value: int | str) -> None:
        """Add to a list, once."""
        self.lists.setdefault(kind, {})[value] = None

    def finished(self) -> Selector:
        given: dict[str, Any] = {kind: tuple(values) for kind, values in self.lists.items()}
        given |= self.words
        return Selector(**given)


def read_selector(mode: DeleteMode, raw: Any) -> Selector:
    """The selector of a mode: an id, a name or words as text, a list of them, or an object with keys.

    Raises InvalidRequest naming the place: nothing selected, an unknown key, a value that fits no kind.
    """
    reading = _Reading()
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            _keyed(reading, mode, str(key), value)
    elif isinstance(raw, list):
        for place, value in enumerate(_bounded(raw, "selector")):
            _plain(reading, mode, value, f"selector.{place}")
    elif raw is not None and raw != "":
        _plain(reading, mode, raw, "selector", words=True)
    selector = reading.finished()
    if not selector.named:
        raise InvalidRequest(f"selector is empty: say which {mode} to delete.", field="selector")
    return selector


def _keyed(reading: _Reading, mode: DeleteMode, key: str, value: Any) -> None:
    known = _KEYS[mode]
    if key not in known:
        raise InvalidRequest(
            f"selector.{key} is unknown with mode `{mode}`; known: {', '.join(known)}.",
            field=f"selector.{key}", allowed=sorted(known),
        )  # fmt: skip
    kind = known[key]
    if value is None:
        return
    if kind in _SINGLE:
        reading.words[kind] = _text(value, f"selector.{key}")
        return
    several = isinstance(value, list)
    for place, one in enumerate(_bounded(value, f"selector.{key}") if several else [value]):
        where = f"selector.{key}.{place}" if several else f"selector.{key}"
        _add(reading, kind, one, where, number=kind in NUMBERED and key not in ("name", "names"))


def _plain(reading: _Reading, mode: DeleteMode, value: Any, where: str, *, words: bool = False) -> None:
    if mode == "mixed":
        raise InvalidRequest(
            f"{where}: mode `mixed` needs an object with {', '.join(_KEYS[mode])}.", field=where,
            allowed=sorted(_KEYS[mode]),
        )  # fmt: skip
    kind = _PLAIN[mode]
    text = value.strip() if isinstance(value, str) else ""
    if mode == "entity" and _row(text, "n", letter=True) is not None:
        kind = "entities"
    elif mode == "paragraph" and _HASH.fullmatch(text):
        kind = "hashes"
    elif words and text and mode in ("paragraph", "relation") and _row(text, LETTERS[kind]) is None:
        reading.words["query" if mode == "paragraph" else "sentence"] = _text(value, where)
        return
    _add(reading, kind, value, where, number=kind in NUMBERED)


def _add(reading: _Reading, kind: str, value: Any, where: str, *, number: bool) -> None:
    """Add an id or a name; where platforms have numeric ids, a `number` is one."""
    if kind not in LETTERS:
        text = _text(str(value) if number and isinstance(value, int) and not isinstance(value, bool) else value, where)
        if kind == "hashes" and not _HASH.fullmatch(text):
            raise InvalidRequest(f"{where} is no hash: 64 hexadecimal digits.", field=where)
        reading.put(kind, text.lower() if kind == "hashes" else text)
        return
    row = value if isinstance(value, int) and not isinstance(value, bool) else None
    if isinstance(value, str):
        row = _row(value.strip(), LETTERS[kind])
    if row is None or not 0 < row < 1 << 62:
        own = f'; an external id is given as {{"external_ids": ["{value}"]}}' if kind == "paragraphs" else ""
        raise InvalidRequest(f"{where} is no id: expected one such as {LETTERS[kind]}12{own}.", field=where)
    reading.put(kind, row)


def _row(text: str, prefix: str, *, letter: bool = False) -> int | None:
    """The row of an id such as `p12` or, unless the letter is needed, `12`."""
    bare = text[1:] if text[:1] == prefix else "" if letter else text
    return int(bare) if _DIGITS.fullmatch(bare) and bare.isascii() else None


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{where} must be a text.", field=where)
    text = clean_text(value)
    if not text:
        raise InvalidRequest(f"{where} is blank.", field=where)
    if len(text) > LONGEST:
        raise InvalidRequest(f"{where} is longer than {LONGEST} characters.", field=where)
    return text


def _bounded(values: list[Any], where: str) -> list[Any]:
    if len(values) > MOST_VALUES:
        raise InvalidRequest(f"{where}: {len(values)} in one call, at most {MOST_VALUES}.", field=where)
    return values
