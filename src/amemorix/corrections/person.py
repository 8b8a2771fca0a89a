"""Whom a correction is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..config.model import Config
from ..errors import InvalidRequest, NotFound
from ..indexes.projections import Indexes
from ..language.normalise import normalise_name
from ..language.person_names import is_word
from ..lazy_regex import lazy_regex
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import persons as person_rows
from .clause_subjects import Owners
from .language.claim import Correction
from .parser import Wish

__all__ = ["Whom", "WhomFinder"]

Scopes = tuple[int, ...] | None
_ALL_ABOUT = lazy_regex(r"关于|有关|所有|全部|\b(?:everything|anything|all|about|memor(?:y|ies) of)\b", re.I)
_ONESELF = lazy_regex(r"我|俺|本人|我自己|me|myself", re.I)


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom a correction is about: persons, names that may be no person's; `but` is certainly not meant."""

    rows: Owners = frozenset()
    names: frozenset[str] = frozenset()
    but: Owners = frozenset()


class WhomFinder:
    """Finds the persons that a wish means, among those whose names the chat may see."""

    def __init__(self, store: MetadataStore, config: Config, indexes: Indexes) -> None:
        self._store = store
        self._config = config
        self._indexes = indexes

    def meant(self, db: Connection, wish: Wish, reading: Correction) -> Whom:
        """The person whom the words name, or the caller.

        Of several who have the name the caller's `person_id` says which one. Raises NotFound for nobody, InvalidRequest
        where several may be meant.
        """
        self._indexes.names.catch_up(db)
        scopes = Access(self._store.names, self._config).scopes(db, Caller(wish.chat_id))
        self._refuse_whole_person(reading, wish, scopes)
        person = self._person(db, wish.person_id, scopes) if wish.person_id else frozenset[int]()
        speaker = self._matching(wish.speaker, scopes) if wish.speaker else frozenset[int]()
        if reading.of_speaker:
            return self._with_names(person or speaker)
        if reading.subject:
            return self._named(db, reading.subject, person, scopes)
        if person:
            return self._with_names(person)
        return Whom(but=speaker if reading.of_somebody else frozenset())

    def _refuse_whole_person(self, reading: Correction, wish: Wish, scopes: Scopes) -> None:
        """A person is not a statement: raises InvalidRequest for `forget everything about Mia`."""
        if reading.action != "remove" or reading.subject or reading.about:
            return
        all_of = _ALL_ABOUT.search(wish.text) is not None
        if _ONESELF.fullmatch(reading.wrong):
            who = wish.person_id or wish.speaker or reading.wrong
        elif self._matching(reading.wrong, scopes) and (all_of or not is_word(normalise_name(reading.wrong))):
            who = reading.wrong
        else:
            return
        raise InvalidRequest(
            f"text: to forget all that is known of a person, use memory_delete_admin with mode `person` and selector {who!r}.",
            field="text",
        )  # fmt: skip

    def _named(self, db: Connection, name: str, person: Owners, scopes: Scopes) -> Whom:
        named = self._matching(name, scopes)
        if not named:
            return Whom(names=frozenset({normalise_name(name)}))
        return self._with_names(named & person or self._one(db, "text", name, named, scopes))

    def _person(self, db: Connection, person_id: str, scopes: Scopes) -> Owners:
        """The person whom the caller names. Raises NotFound, InvalidRequest if the name is not enough to tell."""
        meant = self._matching(person_id, scopes)
        if not meant:
            raise NotFound(f"person_id: nobody is known as {person_id!r}.", field="person_id")
        return self._one(db, "person_id", person_id, meant, scopes)

    def _one(self, db: Connection, field: str, name: str, rows: Owners, scopes: Scopes) -> Owners:
        """The persons, if no two of them have ids of their own. Raises InvalidRequest."""
        known = [one for one in (person_rows.names(db, row) for row in sorted(rows)) if one is not None]
        apart = [one for one in known if not one.by_name_alone]
        if len(apart) < 2:
            return rows
        candidates = [{"person_id": one.person_id, "names": one.within(scopes)} for one in apart]
        told = ", ".join(one.person_id for one in apart)
        raise InvalidRequest(
            f"{field}: {normalise_name(name)!r} means {len(apart)} persons ({told}); give the id of one as person_id.",
            field="person_id", candidates=candidates,
        )  # fmt: skip

    def _matching(self, name: str, scopes: Scopes) -> Owners:
        return self._indexes.names.index.matching(name, scopes)

    def _with_names(self, rows: Iterable[int]) -> Whom:
        known = [row for row in map(self._indexes.names.index.row, rows) if row is not None]
        names = {
            normalise_name(name) for row in known for name in (row.person_id, row.name, *(n for n, _ in row.names))
        }
        return Whom(frozenset(row.id for row in known), frozenset(names))
