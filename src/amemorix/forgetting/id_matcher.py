"""Ids of chats, persons and texts, found in records and texts as whole ids only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..language.person_names import LETTER
from ..lazy_regex import lazy_regex

__all__ = ["Ids"]

KEYS = {
    "chats": ("chat_id", "chat_ids", "chats", "session_id", "stream_id", "stream_ids"),
    "persons": ("person_id", "person_ids", "persons", "speaker_id", "user_ids"),
    "refs": ("external_id", "external_ids"),
}
"""For each kind of id, the keys of records that hold such ids."""
TELLING_BYTES = 6
"""A shorter id of letters and digits alone may be any word of a text."""
_MARKS = ":@#/._-"
_TOKEN = lazy_regex(rf"(?:{LETTER}|[{_MARKS}])+")
_PART = lazy_regex(r"[./]")


class Ids:
    """Ids that go: in a field of a record that holds ids they are compared as they are, in texts as whole words."""

    def __init__(self, by_kind: Mapping[str, Iterable[str]], told: Iterable[str] = ()) -> None:
        """`told`: those that mean nothing else, so that they may be looked for in texts."""
        self._by_key = {key: frozenset(by_kind.get(kind, ())) for kind, keys in KEYS.items() for key in keys}
        told = {id_ for id_ in told if len(id_.encode()) >= TELLING_BYTES or not id_.isalnum()}
        self._words = frozenset(id_ for id_ in told if _TOKEN.fullmatch(id_))
        others = sorted(told - self._words, key=len, reverse=True)
        self._others = re.compile("|".join(map(_whole, others))) if others else None

    def among(self, fields: Iterable[tuple[str, str]]) -> bool:
        """Whether one of these (key, value) of a record is such an id."""
        return any(value in self._by_key.get(key, ()) for key, value in fields)

    def held(self, text: str) -> bool:
        """Whether a text names such an id."""
        if self._words and any(token in self._words for token in _tokens(text)):
            return True
        return self._others is not None and self._others.search(text) is not None


def _tokens(text: str) -> Iterator[str]:
    """What may be an id: everything between spaces, with and without what ends a sentence, a path or a name of a file."""
    for match in _TOKEN.finditer(text):
        token = match.group()
        yield token
        yield token.rstrip(_MARKS)
        if "." in token or "/" in token:
            yield from (part.rstrip(_MARKS) for part in _PART.split(token))


def _whole(id_: str) -> str:
    """As a pattern that is not met within a longer id."""
    kept_apart = rf"(?:{LETTER}|_)"
    before = rf"(?<!{LETTER})(?<!_)" if re.match(kept_apart, id_[0]) else ""
    after = f"(?!{kept_apart})" if re.match(kept_apart, id_[-1]) else ""
    return before + re.escape(id_) + after
