"""Whom each clause of a text is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def owners_of(
    parts: Sequence[str], target: Target, persons: Sequence[tuple[int, int]], directory: NameDirectory
) -> list[Owners]:
    """For each clause whom it is about: whom it names, who says 我 or "I", else whom the clause before it is about."""
    speaker = frozenset({target.speaker} if target.speaker else ())
    about = frozenset(person for person, role in persons if role == ABOUT)
    oneself, chats = about or speaker, (0, target.scope)
    found: list[Owners] = []
    for part in parts:
        before = found[-1] if found else oneself
        named, first = directory.find(part, chats), _FIRST.search(part) is not None
        if named.persons:
            mine = oneself if first else frozenset[int]()
            everybody = frozenset[int]().union(*named.persons)
            if len(named.persons) + bool(mine) > 1:  # those of whom it tells something, all where rules cannot tell
                names = tuple(name.removesuffix("'s").removesuffix("’s") for name in named.names)
                told = {claim.who for claim in facts_said(part, names)}
                meant = [directory.matching(who, chats) if who else mine for who in told]
                everybody = frozenset[int]().union(*meant) or everybody | mine
            found.append(everybody)
        elif first:
            found.append(oneself)
        elif _THIRD.search(part) and not about and before == speaker:
            found.append(frozenset())
        else:
            found.append(before)
    return found
