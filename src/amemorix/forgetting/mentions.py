"""Lines that name a person without being theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..indexes.name_directory import NameDirectory
from ..language.normalise import normalise_name, term_hashes, tokens
from ..language.person_names import (
    LETTER,
    SHORTEST_NAME,
    NamePattern,
    is_part_of_word,
    is_used_as_name,
    is_word,
    respelled,
    untitled,
)  # fmt: skip
from ..lazy_regex import lazy_regex
from ..store.ports import Connection
from ..store.queries import array, optional_array

__all__ = ["COMMON", "KEPT", "PART", "SHARED", "SHORTENED", "Called", "MentionFinder", "Mentioned", "Visible"]

SHARED = "somebody else has the name by which it may mean them"
COMMON = "the name by which it may mean them is a common word"
PART = "the name by which it may mean them stands within another word"
SHORTENED = "it may mean them by a short form of their name"
KEPT = "it names them, and what names them is kept"
"""Why a line stays; the name itself is not told, so that the reason may outlive it."""
EVERYONE = 0
"""The chat of what belongs to no chat."""
SHORT_FORMS = (3, 4, 5)
"""Letters of a longer name that may stand for it (see `NameDirectory`)."""
Visible = Callable[[Connection, int], Collection[int] | None]
"""The chats that a chat sees; None: every one."""
SLOTS = 8
"""Terms that are looked for in one pass over the term blobs."""
_SENTENCE_START = lazy_regex(r"(?:^|[.!?:;…\n\"“”'(\[*>-])\s*$")


@dataclass(frozen=True, slots=True)
class Called:
    """A normalised name of a person; `chat`: the only one in which it counts, 0 for all."""

    chat: int
    name: str


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph that holds a term; `live` if it is neither deleted nor an older wording."""

    id: int
    chat: int
    text: str
    live: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a name stands in a line as it is looked at."""

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Mentioned:
    """Lines that can mean nobody else, and those that stay with the reason why."""

    lines: set[int] = field(default_factory=set[int])
    stays: dict[int, str] = field(default_factory=dict[int, str])


class MentionFinder:
    """Finds lines by the terms of the names, and judges each by its text and by who else has the name where it stands.

    A name is looked for in the chat of the line; where nobody has it there, among all persons, and if it is not only
    these who have it, among those of the chats that the chat sees.
    """

    def __init__(
        self,
        persons: Collection[int],
        names: Iterable[Called],
        *,
        directory: NameDirectory,
        visible: Visible,
        chat: int | None,
        keep: bool,
    ) -> None:
        self._ours = frozenset(persons)
        names = list(names)
        self._names = _chats_by_name([*names, *_titled_otherwise(names)])
        self._directory = directory
        self._visible = visible
        self._chat = chat
        self._keep = keep
        self._words = frozenset(name for name in self._names if is_word(name))
        self._pattern = NamePattern([*self._names, *_longer(self._names, directory)])
        self._short = (*_short_forms(self._names, directory), *_bare_surnames(self._names, directory))
        self._whose: dict[tuple[str, int], tuple[bool, bool]] = {}

    def read(self, db: Connection, after: int) -> Mentioned:
        """What names them past a paragraph; blocking, as long as the term blobs are many."""
        found = Mentioned()
        for line in self._candidates(db, after):
            if line.id in found.lines or line.id in found.stays:
                continue
            why = self._judged(db, line)
            if why == "" and not self._keep:
                found.lines.add(line.id)
            elif why is not None and line.live:
                found.stays[line.id] = why or KEPT
        return found

    def judge(self, db: Connection, chat: int, text: str) -> str | None:
        """Of a statement that is no paragraph: empty if it can mean nobody else, why it stays, None if it names nobody."""
        why = self._judged(db, Line(0, chat, text, True))
        return KEPT if why == "" and self._keep else why

    # candidates

    def _candidates(self, db: Connection, after: int) -> Iterator[Line]:
        """Lines that hold the rarest-looking term of a name, or the name itself if it has none; some more than once."""
        here = None if self._chat is None else [self._chat]
        terms = {name: _longest_term(name) for name in self._names}
        yield from self._lines(db, "mention_lines_by_term", _hashes(terms.values()), after, here)
        plain = [
            name[:1].upper() + name[1:] for name, term in terms.items() if not term
        ]  # as a text is likely to hold it
        yield from self._lines(db, "mention_lines_by_word", plain, after, here)
        if self._short:
            met = self._met()
            chats = sorted(met if here is None else met & set(here))
            yield from self._lines(db, "mention_lines_by_term", _hashes(map(_longest_term, self._short)), after, chats)

    def _lines(
        self, db: Connection, query: str, keys: Sequence[Any], after: int, chats: Sequence[int] | None
    ) -> Iterator[Line]:
        """Lines past a row, in some chats or all, that are bound to none of the persons."""
        values = {"after": after, "chats": optional_array(chats), "persons": array(sorted(self._ours))}
        for start in range(0, len(keys), SLOTS):
            some = [*keys[start : start + SLOTS], *[None] * SLOTS][:SLOTS]
            slots = {f"k{place}": key for place, key in enumerate(some)}
            for id_, chat, text, live in db.run(query, **(values | slots)):
                yield Line(id_, chat, text, bool(live))

    def _met(self) -> set[int]:
        """The chats in which these persons were met."""
        known = (self._directory.row(row) for row in self._ours)
        return {chat for one in known if one is not None for chat in one.chats}

    # judging

    def _judged(self, db: Connection, line: Line) -> str | None:
        """Empty if the line can mean nobody else; why that is not so; None if it does not name them at all."""
        doubts: list[str] = []
        text = normalise_name(line.text)
        for name, *place in self._pattern.places(text):
            chats = self._names.get(name)
            if chats is None or (chats and line.chat not in chats):
                continue
            doubt = self._doubt(db, name, line, _Place(text, *place))
            if not doubt:
                return ""
            doubts.append(doubt)
        if not doubts and any(self._shortened(short, line) for short in self._short):
            return SHORTENED
        return doubts[0] if doubts else None

    def _doubt(self, db: Connection, name: str, line: Line, place: _Place) -> str:
        """Why the name may mean something else here, empty if it does not."""
        theirs, met = self._owned(db, name, line.chat)
        if not theirs:
            return SHARED
        if not name.isascii() and is_part_of_word(place.text, place.start, place.end):
            return PART
        if name not in self._words:
            return ""
        if name.isascii():
            named = _is_written_as_name(name, line.text, within=True)
        else:
            named = is_used_as_name(place.text, place.start, place.end)
        return "" if met and named else COMMON

    def _owned(self, db: Connection, name: str, chat: int) -> tuple[bool, bool]:
        """(whether the name means these persons only, whether they were met by it in the chat)."""
        known = self._whose.get((name, chat))
        if known is None:
            here = self._directory.called(name, (chat, EVERYONE))
            owners = here or self._directory.called(name, None)
            if not here and not owners <= self._ours:
                owners = self._directory.called(name, self._visible(db, chat)) or owners
            known = self._whose[name, chat] = owners <= self._ours, bool(here & self._ours)
        return known

    def _shortened(self, short: str, line: Line) -> bool:
        here = (line.chat, EVERYONE)
        meant = self._directory.nickname(short, here) or self._directory.called(short, here)
        return bool(meant) and meant <= self._ours and _is_written_as_name(short, line.text, within=False)


def _is_written_as_name(name: str, text: str, *, within: bool) -> bool:
    """Whether the text writes a Latin name with a capital letter, and if asked, within a sentence."""
    matches = re.finditer(f"(?<!{LETTER}){re.escape(name)}(?!{LETTER})", text, re.I)
    capital = [match.start() for match in matches if match.group()[0].isupper()]
    return any(not within or not _SENTENCE_START.search(text[:start]) for start in capital)


def _chats_by_name(names: Iterable[Called]) -> dict[str, frozenset[int]]:
    """Name -> the chats in which it counts, none for everywhere."""
    found: dict[str, frozenset[int]] = {}
    for one in names:
        if len(one.name) < SHORTEST_NAME:
            continue
        before = found.get(one.name)
        everywhere = one.chat == EVERYONE or before == frozenset()
        found[one.name] = frozenset() if everywhere else (before or frozenset()) | {one.chat}
    return found


def _longer(names: Collection[str], directory: NameDirectory) -> list[str]:
    """Names of whomever that hold one of these as a word: where they stand, the shorter one means nothing."""
    own = NamePattern(names)
    return [name for name in directory.longer(names) if own.held(name)]


def _titled_otherwise(names: Iterable[Called]) -> Iterator[Called]:
    """Dr Chen for Dr. Chen, and the full name without a title: Sarah Chen, 林澈; a single Latin word is too little."""
    for one in names:
        bare = untitled(one.name)
        full = {bare} if " " in bare or not bare.isascii() else set[str]()
        yield from (Called(one.chat, form) for form in sorted(respelled(one.name) | full))


def _bare_surnames(names: Iterable[str], directory: NameDirectory) -> tuple[str, ...]:
    """What is left of a Latin name without its title, where it is nobody's name: it may be anybody's."""
    bare = dict.fromkeys(one for name in names if (one := untitled(name)) and one.isascii() and " " not in one)
    return tuple(one for one in bare if not directory.owners(one, None) and not is_word(one))


def _short_forms(names: Iterable[str], directory: NameDirectory) -> tuple[str, ...]:
    """Beginnings of single Latin names that may stand for them and are nobody's name."""
    whole = [name for name in names if name.isascii() and name.isalpha() and len(name) > max(SHORT_FORMS)]
    short = dict.fromkeys(name[:size] for name in whole for size in SHORT_FORMS)
    return tuple(one for one in short if not directory.owners(one, None) and not is_word(one))


def _longest_term(name: str) -> str:
    return max(tokens(name), key=len, default="")


def _hashes(terms: Iterable[str]) -> list[bytes]:
    """The bytes by which term blobs hold these terms, each once."""
    return [int(one).to_bytes(4, "little") for one in dict.fromkeys(term_hashes(t for t in terms if t).tolist())]
