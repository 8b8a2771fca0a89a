"""The names of the persons the memory knows, found in texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..language.normalise import fold, normalise_name
from ..language.person_names import COMMON_WORDS, respelled, untitled
from ..lazy_regex import lazy_regex
from ..store.sealed_files import Folder

__all__ = ["NameDirectory", "PersonRow"]

LONGEST_LATIN, LONGEST_CJK, LONGEST_MIXED = 4, 6, 12
"""Words of a Latin name; characters of one in Chinese, Japanese or Korean, and of one that mixes scripts."""
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = lazy_regex(rf"[^\W_{_UNSPACED}]+(?:['’-][^\W_{_UNSPACED}]+)*")
_CJK = lazy_regex(rf"[{_UNSPACED}]")
_RUN = lazy_regex(r"\w+")


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person with every name, each with the chats in which they have it; `name` is the first of all."""

    id: int
    person_id: str
    name: str
    names: tuple[tuple[str, frozenset[int]], ...]

    @property
    def chats(self) -> frozenset[int]:
        """Every chat the person was met in."""
        return frozenset[int]().union(*(chats for _, chats in self.names))


@dataclass(frozen=True, slots=True)
class Named:
    """Persons named in a text: one set of possible rows per name, and the text without the names."""

    persons: tuple[frozenset[int], ...]
    names: tuple[str, ...]
    bare: str


class NameDirectory:
    """Looks up names; an `Index` over person rows that is small enough to need no snapshot.

    A name counts only where the person has it: what somebody is called in one chat is not known in another.
    """

    name = "names"
    fingerprint = "names-1"

    def __init__(self) -> None:
        self._rows: dict[int, PersonRow] = {}
        self._by_name: dict[str, dict[int, frozenset[int]]] = {}
        self._by_form: dict[str, frozenset[str]] = {}
        self._short: dict[str, frozenset[str]] = {}

    # Index

    def build(self, rows: Iterable[PersonRow]) -> None:
        """Replace the whole content."""
        fresh = NameDirectory()
        fresh.apply(list(rows), [])
        self._rows, self._by_name = fresh._rows, fresh._by_name
        self._by_form, self._short = fresh._by_form, fresh._short

    def apply(self, rows: Sequence[PersonRow], removed: Sequence[int]) -> None:
        """Insert or replace persons, with the names that they have now, and remove those that are gone."""
        for row in rows:
            stale = set(_names(self._rows[row.id])) if row.id in self._rows else set[str]()
            self._rows[row.id] = row
            for name, chats in _names(row).items():
                stale.discard(name)
                self._by_name[name] = {**self._by_name.get(name, {}), row.id: chats}
                for form in _forms(name):
                    self._by_form[form] = self._by_form.get(form, frozenset()) | {name}
                if len(name) > 5 and name.isascii() and " " not in name:
                    self._short[name[:3]] = self._short.get(name[:3], frozenset()) | {name}
            self._unname(row.id, stale)
        for id_ in removed:
            if id_ in self._rows:
                self._unname(id_, _names(self._rows[id_]))
                del self._rows[id_]

    def _unname(self, person: int, names: Iterable[str]) -> None:
        """Nobody means the person by these names any more."""
        for name in names:
            others = {id_: chats for id_, chats in self._by_name.get(name, {}).items() if id_ != person}
            self._by_name[name] = others
            if not others:
                del self._by_name[name]
                for form in _forms(name):
                    self._by_form[form] = self._by_form.get(form, frozenset()) - {name}
                if name in (short := self._short.get(name[:3], frozenset())):
                    self._short[name[:3]] = short - {name}

    def compact(self) -> bool:
        """Nothing accumulates here."""
        return False

    def save(self, folder: Folder) -> None:
        """No snapshot is kept; the projection never asks for one."""
        raise ValueError(f"{self.name} keeps no snapshot in {folder}")

    def load(self, folder: Folder) -> None:
        """No snapshot is kept."""
        raise ValueError(f"{self.name} keeps no snapshot in {folder}")

    def dump(self) -> dict[int, PersonRow]:
        """Every person by row; for comparing directories."""
        return dict(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    # looking up

    def row(self, id_: int) -> PersonRow | None:
        """The person of this row."""
        return self._rows.get(id_)

    def matching(self, key: str, chats: Collection[int] | None = None) -> frozenset[int]:
        """Persons with this id, or else this name, where it may be seen (None: everywhere).

        Somebody known by name alone is all of that name. A title may be left out, or written otherwise.
        """
        name = normalise_name(key)
        named = self.called(name, chats) or self.owners(untitled(name), chats)
        rows = [row for row in map(self._rows.get, named) if row is not None]
        exact = frozenset(row.id for row in rows if row.person_id == key)
        by_id = any(row.id in exact and row.name != key for row in rows)
        return exact if by_id else named

    def find(self, text: str, chats: Collection[int] | None = None) -> Named:
        """Persons that the text names, among those met in these chats (None: among all)."""
        spans: list[tuple[int, int, frozenset[int]]] = []
        end = 0
        found = [*self._latin(text, list(_WORD.finditer(text)), chats), *self._cjk(text, chats)]
        for start, stop, persons in sorted(found, key=lambda m: (m[0], -m[1])):  # the longest first at each place
            if start >= end:
                spans.append((start, stop, persons))
                end = stop
        return Named(
            tuple(dict.fromkeys(found for *_, found in spans)),
            tuple(dict.fromkeys(text[a:b] for a, b, _ in spans)),
            _without(text, [(a, b) for a, b, _ in spans]),
        )

    def names_in(self, chats: Collection[int] | None) -> list[str]:
        """Normalised names that somebody has in one of these chats (None: anywhere)."""
        return [name for name in self._by_name if self.owners(name, chats)]

    def longer(self, names: Collection[str]) -> frozenset[str]:
        """Normalised names, of whomever, that hold one of these and are none of them."""
        return frozenset(
            known for known in [*self._by_name, *self._by_form] if known not in names and any(n in known for n in names)
        )

    def owners(self, name: str, chats: Collection[int] | None) -> frozenset[int]:
        """Persons who have this normalised name in one of the chats."""
        known = self._by_name.get(name, {})
        if chats is None:
            return frozenset(known)
        return frozenset(id_ for id_, met in known.items() if any(chat in chats for chat in met))

    def called(self, name: str, chats: Collection[int] | None) -> frozenset[int]:
        """Persons who have this normalised name in one of the chats; else those who have it with a title, or another spelling of it."""
        exact = self.owners(name, chats)
        if exact or name in COMMON_WORDS or name not in self._by_form:
            return exact
        return frozenset[int]().union(*(self.owners(whole, chats) for whole in self._by_form[name]))

    def _latin(
        self, text: str, words: Sequence[re.Match[str]], chats: Collection[int] | None
    ) -> Iterator[tuple[int, int, frozenset[int]]]:
        for i, first in enumerate(words):
            for last in words[i : i + LONGEST_LATIN]:
                raw = text[first.start() : last.end()]
                if raw[-2:].lower() in ("'s", "’s"):
                    raw = raw[:-2]
                if persons := self._named(raw, chats, single=last is first):
                    yield first.start(), last.end(), persons

    def _named(self, raw: str, chats: Collection[int] | None, *, single: bool) -> frozenset[int]:
        name = normalise_name(raw)
        capital = raw[:1] != raw[:1].lower()
        if single and not capital and (name in COMMON_WORDS or len(name) < 2):
            return frozenset()
        exact = self.owners(name, chats) or (self.called(name, chats) if capital else frozenset[int]())
        if exact:
            return exact
        return self.nickname(name, chats) if single and capital else frozenset()

    def nickname(self, name: str, chats: Collection[int] | None) -> frozenset[int]:
        """The one person whose longer name begins like this: Mel for Melanie."""
        if not 3 <= len(name) <= 5 or name in COMMON_WORDS:
            return frozenset()
        longer = (whole for whole in self._short.get(name[:3], ()) if whole.startswith(name))
        meant = frozenset[int]().union(*(self.owners(whole, chats) for whole in longer))
        return meant if len(meant) == 1 else frozenset()

    def _cjk(self, text: str, chats: Collection[int] | None) -> Iterator[tuple[int, int, frozenset[int]]]:
        if text.isascii():
            return
        for run in _RUN.finditer(text):
            if _CJK.search(run.group()):
                at = run.start()
                found = self._in_run(run.group(), chats)
                yield from ((at + start, at + stop, persons) for start, stop, persons in found)

    def _in_run(self, run: str, chats: Collection[int] | None) -> Iterator[tuple[int, int, frozenset[int]]]:
        """Names in characters without spaces between them, such as 林澈 or 小A; a Latin word is never cut."""
        folded = fold(run)
        letters = folded if len(folded) == len(run) else [fold(char) for char in run]
        latin = [_CJK.match(char) is None for char in run]
        longest = LONGEST_MIXED if any(latin) else LONGEST_CJK
        met: dict[str, frozenset[int]] = {}
        for start in range(len(run) - 1):
            if start and latin[start - 1] and latin[start]:
                continue
            for stop in range(min(len(run), start + longest), start + 1, -1):
                name = "".join(letters[start:stop])
                if (persons := met.get(name)) is None:
                    persons = met[name] = self.called(name, chats)
                cuts = stop < len(run) and latin[stop - 1] and latin[stop]
                if persons and not cuts and not all(latin[start:stop]):
                    yield start, stop, persons
                    break


def _forms(name: str) -> frozenset[str]:
    """The name without its title, and with the title written otherwise."""
    return respelled(name) | ({untitled(name)} - {""})


def _names(row: PersonRow) -> dict[str, frozenset[int]]:
    """Normalised name -> chats; the id is a name in every chat."""
    found: dict[str, frozenset[int]] = {}
    for raw, chats in ((row.person_id, row.chats), *row.names):
        if name := normalise_name(raw):
            found[name] = found.get(name, frozenset()) | chats
    return found


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    kept: list[str] = []
    at = 0
    for start, stop in spans:
        kept.append(text[at:start])
        at = stop
    return " ".join(" ".join([*kept, text[at:]]).split())
