"""Whom a correction is about, and whom each clause of a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InvalidRequest, NotFound
from ..indexes.name_directory import NameDirectory
from ..language.normalise import normalise_name
from ..language.person_names import is_word
from ..lazy_regex import lazy_regex
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from .language.claim import Correction
from .language.claims import facts_said
from .parser import Wish
from .rows import Target

__all__ = ["Owners", "Whom", "owners_of", "whom_meant"]

ABOUT = 3
_FIRST = lazy_regex(r"我(?![们国校司])|俺(?!们)|本人|\b(?:i|i'm|i've|i'd|my|mine)\b", re.I)
_THIRD = lazy_regex(r"[他她](?!们)|\b(?:he|she|his|her)\b", re.I)
Owners = frozenset[int]
"""Persons; empty where nobody can be told."""
Scopes = tuple[int, ...] | None
_ALL_ABOUT = lazy_regex(r"关于|有关|所有|全部|\b(?:everything|anything|all|about|memor(?:y|ies) of)\b", re.I)
_ONESELF = lazy_regex(r"我|俺|本人|我自己|me|myself", re.I)


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom a correction is about: persons, names that may be no person's; `but` is certainly not meant."""

    rows: Owners = frozenset()
    names: frozenset[str] = frozenset()
    but: Owners = frozenset()


def whom_meant(db: Connection, wish: Wish, reading: Correction, scopes: Scopes, directory: NameDirectory) -> Whom:
    """The person whom the words name, or the caller, among those whose names the chat may see.

    Of several who have the name the caller's `person_id` says which one. Raises NotFound for nobody, InvalidRequest
    where several may be meant, and for what means all that is known of a person.
    """
    _refuse_whole_person(reading, wish, scopes, directory)
    person = frozenset[int]()
    if wish.person_id:
        person = directory.matching(wish.person_id, scopes)
        if not person:
            raise NotFound(f"person_id: nobody is known as {wish.person_id!r}.", field="person_id")
        _refuse_several(db, "person_id", wish.person_id, person, scopes)
    speaker = directory.matching(wish.speaker, scopes) if wish.speaker else frozenset[int]()
    if reading.of_speaker:
        return _with_names(person or speaker, directory)
    if reading.subject:
        named = directory.matching(reading.subject, scopes)
        if not named:
            return Whom(names=frozenset({normalise_name(reading.subject)}))
        if not named & person:
            _refuse_several(db, "text", reading.subject, named, scopes)
        return _with_names(named & person or named, directory)
    if person:
        return _with_names(person, directory)
    return Whom(but=speaker if reading.of_somebody else frozenset())


def _refuse_whole_person(reading: Correction, wish: Wish, scopes: Scopes, directory: NameDirectory) -> None:
    """A person is not a statement: raises InvalidRequest for `forget everything about Mia`."""
    if reading.action != "remove" or reading.subject or reading.about:
        return
    all_of = _ALL_ABOUT.search(wish.text) is not None
    if _ONESELF.fullmatch(reading.wrong):
        who = wish.person_id or wish.speaker or reading.wrong
    elif directory.matching(reading.wrong, scopes) and (all_of or not is_word(normalise_name(reading.wrong))):
        who = reading.wrong
    else:
        return
    raise InvalidRequest(
        f"text: to forget all that is known of a person, use memory_delete_admin with mode `person` and selector {who!r}.",
        field="text",
    )


def _refuse_several(db: Connection, field: str, name: str, rows: Owners, scopes: Scopes) -> None:
    """Raises InvalidRequest if two of the persons have ids of their own."""
    known = [one for one in (person_rows.names(db, row) for row in sorted(rows)) if one is not None]
    apart = [one for one in known if not one.by_name_alone]
    if len(apart) < 2:
        return
    told = ", ".join(one.person_id for one in apart)
    raise InvalidRequest(
        f"{field}: {normalise_name(name)!r} means {len(apart)} persons ({told}); give the id of one as person_id.",
        field="person_id", candidates=[{"person_id": one.person_id, "names": one.within(scopes)} for one in apart],
    )  # fmt: skip


def _with_names(rows: Owners, directory: NameDirectory) -> Whom:
    known = [row for row in map(directory.row, rows) if row is not None]
    names = {normalise_name(name) for row in known for name in (row.person_id, row.name, *(n for n, _ in row.names))}
    return Whom(frozenset(row.id for row in known), frozenset(names))


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
