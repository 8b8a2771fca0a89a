"""The reading of profiles: whose, what of it the asking chat may see, and what still stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..indexes.projections import Indexes
from ..language.normalise import normalise_name
from ..store.access import EVERYONE, Access, Caller, allows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows.persons import PersonNames
from . import rows as profile_rows
from .builder import EVERYTHING, ProfileDeriver, living
from .items import ProfileItem, gathered, load, render
from .rows import OverrideRow
from .service import PersonProfileService

__all__ = ["Known", "Profile", "ProfileReader"]

MOST_SCOPES = 100
"""Scopes that one profile is put together from."""
AT_ONCE = 120
"""Paragraphs read when a profile is asked for that has not been derived yet."""
LOOKED_AT = 1_000
"""Changes looked at for news of a person; behind by more, every profile may be out of date."""


@dataclass(frozen=True, slots=True)
class Known:
    """A person as the asking chat knows them."""

    person_id: str
    name: str
    aliases: tuple[str, ...]
    row: int = 0
    """0 for somebody who was never met."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What the asking chat may see of a person."""

    known: Known
    items: tuple[ProfileItem, ...] = ()
    text: str = ""
    override: OverrideRow | None = None
    version: int = 0
    updated_at: float = 0.0
    stale: bool = False
    filtered: bool = False

    @property
    def is_known(self) -> bool:
        """Whether whoever asks knows the person: met them, or is told something of them."""
        return bool(self.known.name or self.items or self.override)


class ProfileReader:
    """Puts a profile together from the snapshots of the scopes that may be seen; asks no model."""

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, indexes: Indexes, service: PersonProfileService
    ) -> None:
        self._store = store
        self._config = config
        self._clock = clock
        self._indexes = indexes
        self._service = service
        self._access = Access(store.names, config)
        self._deriver = ProfileDeriver(store, config.profile, indexes.names.index)

    def profile(self, db: Connection, key: str, caller: Caller) -> Profile:
        """The profile of a person by id, name or alias; an empty one for somebody unknown.

        Raises InvalidRequest if the name means several persons.
        """
        if not self._access.serves(db, caller):
            return Profile(Known(key, "", ()), filtered=True)
        scopes = self._access.scopes(db, caller)
        person = self._found(db, key, scopes)
        if person is None:
            return Profile(Known(key, "", ()))
        return self._of(db, person, self._seen(db, person, scopes, caller), scopes)

    def row(self, db: Connection, key: str, chat_id: str = "") -> int | None:
        """The row of a person by id, or by a name that the chat may see (none named: any). Raises InvalidRequest if ambiguous."""
        scopes = self._of_chat(db, chat_id)
        person = self._found(db, key, scopes)
        if person is None or (scopes is not None and person.by_name_alone and not person.within(scopes)):
            return None
        return person.row

    def of_row(self, db: Connection, row: int) -> Profile:
        """The profile of this very person, for whoever sees everything."""
        person = person_rows.names(db, row)
        return Profile(Known("", "", ())) if person is None else self._of(db, person, None, None)

    def known(self, db: Connection, row: int, chat_id: str = "") -> Known:
        """A person as the chat knows them; where none is named, as whoever sees everything does."""
        person = person_rows.names(db, row)
        return Known("", "", ()) if person is None else self._known(person, self._of_chat(db, chat_id))

    # who asks

    def _of_chat(self, db: Connection, chat_id: str) -> tuple[int, ...] | None:
        """What a chat may see: nothing, where the filter does not serve it. None: no chat is named, and all is seen."""
        return self._access.scopes(db, Caller(chat_id)) if chat_id else None

    def _seen(
        self, db: Connection, person: PersonNames, scopes: tuple[int, ...] | None, caller: Caller
    ) -> tuple[int, ...] | None:
        """The scopes of a profile: those that may be seen, and private chats where the settings open them."""
        if scopes is None or not self._config.profile.share_private or caller.include_private is False:
            return scopes
        opened = set(scopes)
        for chat in profile_rows.chats_met(db, self._rows(db, person)):
            key = self._store.names.chat_of(db, chat)
            is_private = key is not None and not key.group_id and bool(key.user_id)
            if key is not None and is_private and (not caller.respect_filter or allows(self._config.filter, key)):
                opened.add(chat)
        return tuple(sorted(opened))

    # whose profile

    def _found(self, db: Connection, key: str, scopes: Collection[int] | None) -> PersonNames | None:
        """The person of this id, or else the one who is called so where it may be seen."""
        exact = person_rows.by_id(db, key)
        person = None if exact is None else person_rows.names(db, exact)
        if person is not None and not person.by_name_alone:
            return person
        self._indexes.names.catch_up(db)
        rows = self._indexes.names.index.matching(key, scopes)
        named = [one for one in (person_rows.names(db, row) for row in sorted(rows)) if one is not None]
        with_id = [one for one in named if not one.by_name_alone]
        if len(with_id) > 1:
            candidates = [{"person_id": one.person_id, "names": one.within(scopes)} for one in with_id]
            told = ", ".join(one.person_id for one in with_id)
            raise InvalidRequest(
                f"person_id: {normalise_name(key)!r} means {len(with_id)} persons ({told}); give the id of one.",
                field="person_id", candidates=candidates,
            )  # fmt: skip
        if with_id:
            return with_id[0]
        return person or next(iter(named), None)

    def _known(self, person: PersonNames, scopes: Collection[int] | None) -> Known:
        names = person.within(scopes)
        return Known(person.person_id, names[0] if names else "", tuple(names[1:]), person.row)

    def _rows(self, db: Connection, person: PersonNames) -> list[int]:
        return [person.row, *(one.row for one in person_rows.namesakes(db, person))]

    # what is known

    def _of(
        self, db: Connection, person: PersonNames, seen: tuple[int, ...] | None, scopes: tuple[int, ...] | None
    ) -> Profile:
        rows, now = self._rows(db, person), self._clock.now()
        persons, cursor = array(rows), self._service.position(db)
        # always stale while nothing is derived in the background
        stale = (
            not self._config.profile.enabled
            or self._service.lag(db) > LOOKED_AT
            or bool(db.run("profile_has_news", cursor=cursor, persons=persons, limit=LOOKED_AT).fetchone()[0])
            or bool(db.run("profile_tasks_open", persons=persons).fetchone()[0])
        )
        held = profile_rows.newest(db, person.row, seen, MOST_SCOPES)
        items = [item for row in held for item in load(row.content)]
        if stale:
            # what rules read out of the newest lines of scopes that have no snapshot yet
            met = {EVERYONE, *profile_rows.chats_met(db, rows)} - {row.scope for row in held}
            missing = sorted(met if seen is None else met & set(seen))[-MOST_SCOPES:]
            if missing:
                drafts = self._deriver.drafts(db, person.row, EVERYTHING, now, scopes=missing, lines=AT_ONCE)
                items += [item for draft in drafts for item in draft.items]
        chosen = tuple(gathered(living(db, items, seen, now), self._config.profile.items_per_section))
        override = profile_rows.override(db, person.row)
        is_met = (
            chosen or override or db.run("profile_is_met", persons=persons, scopes=optional_array(seen)).fetchone()[0]
        )
        if not is_met:
            return Profile(Known(person.person_id, "", ()))
        known = self._named(db, person, chosen, scopes)
        return Profile(
            known=known,
            items=chosen,
            text=render(known.name, chosen),
            override=override,
            version=max((row.version for row in held), default=0),
            updated_at=max((row.derived_at for row in held), default=now if chosen else 0.0),
            stale=stale,
        )

    def _named(
        self, db: Connection, person: PersonNames, items: Sequence[ProfileItem], scopes: tuple[int, ...] | None
    ) -> Known:
        """The person by the names that count where the call may look; else by the one that the evidence uses."""
        known = self._known(person, scopes)
        if known.name or not items:
            return known
        persons = paragraph_rows.persons(db, [row for item in items for row in item.evidence])
        used = (p.name for found in persons.values() for p in found if p.person_id == person.person_id)
        return replace(known, name=next((name for name in used if name != person.person_id), ""))
