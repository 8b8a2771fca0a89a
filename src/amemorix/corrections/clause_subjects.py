"""Whom each clause of a text is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..indexes.name_directory import NameDirectory
from ..lazy_regex import lazy_regex
from .language.claims import facts_said
from .rows import Target

__all__ = ["Owners", "owners_of"]

ABOUT = 3
_FIRST = lazy_regex(r"我(?![们国校司])|俺(?!们)|本人|\b(?:i|i'm|i've|i'd|my|mine)\b", re.I)
_THIRD = lazy_regex(r"[他她](?!们)|\b(?:he|she|his|her)\b", re.I)
Owners = frozenset[int]
"""Persons; empty where nobody can be told."""


@dataclass(frozen=True, slots=True)
class _Text:
    """Who said a text, whom it was stored about, and the chats whose names it may use."""

    speaker: Owners
    about: Owners
    chats: tuple[int, int]


def owners_of(
    parts: Sequence[str], target: Target, persons: Sequence[tuple[int, int]], directory: NameDirectory
) -> list[Owners]:
    """For each clause whom it is about: whom it names, who says 我 or "I", else whom the clause before it is about."""
    about = frozenset(person for person, role in persons if role == ABOUT)
    said = _Text(frozenset({target.speaker} if target.speaker else ()), about, (0, target.scope))
    found: list[Owners] = []
    for part in parts:
        before = found[-1] if found else said.about or said.speaker
        found.append(_owners(part, before, said, directory))
    return found


def _owners(part: str, before: Owners, said: _Text, directory: NameDirectory) -> Owners:
    named = directory.find(part, said.chats)
    if named.persons:
        names = tuple(name.removesuffix("'s").removesuffix("’s") for name in named.names)
        return _told_of(part, names, named.persons, said, directory)
    if _FIRST.search(part):
        return said.about or said.speaker
    if _THIRD.search(part) and not said.about and before == said.speaker:
        return frozenset()
    return before


def _told_of(
    part: str, names: tuple[str, ...], persons: tuple[Owners, ...], said: _Text, directory: NameDirectory
) -> Owners:
    """Of several whom a clause names, those of whom it tells something; all of them where rules cannot tell."""
    everybody = frozenset[int]().union(*persons)
    mine = said.about or said.speaker if _FIRST.search(part) else frozenset[int]()
    if len(persons) + bool(mine) == 1:
        return everybody
    told = {claim.who for claim in facts_said(part, names)}
    meant = [directory.matching(who, said.chats) if who else mine for who in told]
    return frozenset[int]().union(*meant) or everybody | mine
