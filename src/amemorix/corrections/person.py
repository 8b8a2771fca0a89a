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
from ..store.records import ABOUT
from ..store.rows import persons as person_rows
from ..store.rows.paragraphs import ParagraphRow
from .sentence import FIRST, Sentence, kin

__all__ = [
    "Clause",
    "Whom",
    "calls_by_name",
    "named_in_full",
    "read_clauses",
    "speaks_of_another",
    "speaks_of_self",
    "subject_kin",
    "whom_meant",
]

_THIRD = lazy_regex(r"[他她](?!们)|\b(?:he|she|his|her)\b", re.I)
_BEGINS_WITH_PRONOUN = lazy_regex(r"^(?:[他她](?!们)|(?:he|she)\b)", re.I)
_ALL_ABOUT = lazy_regex(r"关于|有关|所有|全部|\b(?:everything|anything|all|about|memor(?:y|ies) of)\b", re.I)
_ONESELF = lazy_regex(r"我|俺|本人|我自己|me|myself", re.I)
_HEAD = lazy_regex(
    r"([A-Z][\w-]+)(?='s?\b|\s+[a-z])|((?:(?![是叫的])[\u4e00-\u9fff]){2,4}?)(?=的|不|没|住|在|是|叫|喜欢|对|今年|现在|已经|有|养)"
)
_TO_NAME = lazy_regex(r"(?:[\s,，]|-in-law|叫做?|名叫|是|\b(?:is )?(?:called|named)\b)*", re.I)
"""What may stand between a relative and their name."""
_KIN_LEAD = lazy_regex(
    r"\W*(?:(?:and|but|so|because|well|oh|yes|no)\s+)?(?:(?:my|our|your|his|her|their|[\w-]+'s)\s+)?(?:\w+\s+)?|\W*(?:其实|但是?|而且)?(?:[我你他她俺咱]们?|[^\s，,]{1,4}的)?(?:家里?|的|那|这|只|条|个|大|小|老|有)*",
    re.I,
)
_HEAD_LEAD = lazy_regex(
    r"\W*(?:(?:and|but|so|because|well|oh|yes|no|my|our)\s+|而且|但是?|不过|听说|其实|我们?家?的?)*(?:\w{0,12}\s)?",
    re.I,
)
"""What may stand before the subject of a clause."""
Owners = frozenset[int]
"""Persons; empty where nobody can be told."""
Scopes = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom a correction is about: persons, or a name that is no person's; `but` is certainly not meant."""

    rows: Owners = frozenset()
    name: str = ""
    but: Owners = frozenset()


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text, whom it is about, and which relative or pet of theirs (empty: themselves)."""

    text: str
    owners: Owners
    kin: str = ""


def whom_meant(
    db: Connection, sentence: Sentence, scopes: Scopes, directory: NameDirectory, *, person_id: str, speaker: str
) -> Whom:
    """The person whom the words name, or the caller, among those whose names the chat may see.

    Of several who have the name the caller's `person_id` says which one. Raises NotFound for nobody, InvalidRequest
    where several may be meant, and for what means all that is known of a person.
    """
    _refuse_whole_person(sentence, scopes, directory, person_id or speaker)
    person = frozenset[int]()
    if person_id:
        person = directory.matching(person_id, scopes)
        if not person:
            raise NotFound(f"person_id: nobody is known as {person_id!r}.", field="person_id")
        _refuse_several(db, "person_id", person_id, person, scopes)
    who_speaks = directory.matching(speaker, scopes) if speaker else frozenset[int]()
    if sentence.first_person:
        return Whom(person or who_speaks)
    found = directory.find(sentence.forget or " ".join((*sentence.said, *sentence.denied)), scopes)
    is_word_alone = any(normalise_name(sentence.forget) == normalise_name(name) for name in found.names)
    if found.persons and not is_word_alone:  # "forget coffee", where somebody is called so
        named, name = found.persons[0], found.names[0]
        if not named & person:
            _refuse_several(db, "text", name, named, scopes)
        return Whom(named & person or named, normalise_name(name))
    heads = (_HEAD.match(part.strip()) for part in (sentence.forget, *sentence.said, *sentence.denied))
    for head in filter(None, heads):
        name = head[0]
        if (not is_word(normalise_name(name)) or _is_tagged_name(name)) and not kin(name) and not _THIRD.match(name):
            return Whom(name=normalise_name(name))
    return Whom(person) if person else Whom(but=who_speaks if _THIRD.search(sentence.text) else frozenset())


def _is_tagged_name(name: str) -> bool:
    from rjieba import tag

    return not name.isascii() and [flag[:2] for _, flag in tag(name)] == ["nr"]


def _refuse_whole_person(sentence: Sentence, scopes: Scopes, directory: NameDirectory, caller: str) -> None:
    """A person is not a statement: raises InvalidRequest for `forget everything about Mia`."""
    what = sentence.forget
    if not what:
        return
    if _ONESELF.fullmatch(what):
        who = caller or what
    elif directory.matching(what, scopes) and (_ALL_ABOUT.search(sentence.text) or not is_word(normalise_name(what))):
        who = what
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


def read_clauses(
    parts: Sequence[str], target: ParagraphRow, persons: Sequence[tuple[int, int]], directory: NameDirectory
) -> list[Clause]:
    """Each clause with whom it is about: whom it names first, who says 我 or "I", else whom the clause before it is about."""
    speaker = frozenset({target.speaker} if target.speaker else ())
    about = frozenset(person for person, role in persons if role == ABOUT)
    oneself, chats = about or speaker, (0, target.scope)
    found: list[Clause] = []
    for part in parts:
        before = found[-1] if found else Clause("", oneself)
        named, first = directory.find(part, chats), FIRST.search(part)
        relative = subject_kin(part)
        if named.persons and not first and _HEAD_LEAD.fullmatch(part[: part.find(named.names[0])]):
            owners = named.persons[0]
        elif first and first.start() <= (part.find(named.names[0]) if named.persons else 0):
            owners = oneself
        elif first or named.persons:  # somebody else stands before, or no subject: it may be about either
            owners = oneself.union(*named.persons)
        elif _THIRD.search(part) and not about and before.owners == speaker and not before.kin:
            owners = frozenset[int]()
        else:
            owners = before.owners
            relative = relative or before.kin
        found.append(Clause(part, owners, relative))
    return found


def subject_kin(part: str) -> str:
    """The relative or pet that a clause begins with; empty for none."""
    return next((one for one, (start, _) in kin(part).items() if _KIN_LEAD.fullmatch(part[:start])), "")


def named_in_full(text: str, clause: Clause) -> str:
    """The text with the relative of the clause, as it names them, in the place of the pronoun that it begins with."""
    end = kin(clause.text).get(clause.kin, (0, 0))[1]
    return _BEGINS_WITH_PRONOUN.sub(lambda _: clause.text[:end].strip(), text, count=1) if end else text


def speaks_of_another(text: str) -> bool:
    """Whether the text says 他 or "she"."""
    return _THIRD.search(text) is not None


def speaks_of_self(text: str) -> bool:
    """Whether the text says 我 or "I"."""
    return FIRST.search(text) is not None


def calls_by_name(clause: Clause, name: str) -> bool:
    """Whether the clause tells of a relative by this name: `my sister Anna`."""
    spans = [span for one, span in kin(clause.text).items() if one == clause.kin]
    if not spans or not name:
        return False
    before = _TO_NAME.match(clause.text, spans[0][1])
    rest = clause.text[before.end() if before else spans[0][1] :]
    return normalise_name(rest[: len(name) + 1]).rstrip(" ,.;住在是的叫").startswith(name)
