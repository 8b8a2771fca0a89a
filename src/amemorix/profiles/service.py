"""The profile of a person: whose it is, what of it the asking chat may see, and which statements it is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..facts.query import FactReader
from ..facts.rows import FactRow, Moment
from ..facts.rows import held as facts_held
from ..ids import fact_key
from ..indexes.projections import Indexes
from ..language.normalise import is_mostly_cjk, normalise_name, tokens
from ..language.stopwords import is_talk
from ..language.times import find_span, local_moment
from ..store.access import Access, Caller, TimeZones, allows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array, optional_array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows.persons import EVERY_CHAT, PersonNames
from . import rows as profile_rows
from .items import ProfileItem, estimated_tokens, ranked, render, side_by_side, within
from .rows import OverrideRow, Version
from .statements import fact_items, line_items, relation_item

__all__ = ["Asked", "Known", "PersonProfileService", "Profile"]

LOOKED_AT = 1_000
"""Changes looked at for news of a person; behind by more, every profile may be out of date."""
RELATIONS, LINES = 30, 60
"""Relations told of, and lines looked at where nothing lasting is known."""
FEW = 2
"""Statements with which a person is still told of by their own lines."""
OPEN_FOR = 90 * 86_400.0
"""How long a plan that names no day stays open."""
EVERYTHING_KEPT = 500
"""Facts of an earlier time that are looked at."""


@dataclass(frozen=True, slots=True)
class Known:
    """A person as the asking chat knows them."""

    person_id: str
    name: str
    aliases: tuple[str, ...]
    row: int = 0
    """0 for somebody who was never met."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a profile is asked for: the words, and how likely paragraphs answer them."""

    text: str = ""
    paragraphs: Mapping[int, float] = field(default_factory=dict[int, float])

    def relevance(self, items: Sequence[ProfileItem]) -> dict[ProfileItem, float]:
        """How much the statements matter for it, those that do: by the paragraphs they rest on, and by shared words."""
        words = {word for word in tokens(self.text) if not is_talk(word)}
        found: dict[ProfileItem, float] = {}
        for item in items:
            score = max((self.paragraphs.get(row, 0.0) for row in item.evidence), default=0.0)
            if words:
                score += len(words.intersection(tokens(item.statement))) / len(words)
            if score > 0:
                found[item] = score
        return found


@dataclass(frozen=True, slots=True)
class Profile:
    """What the asking chat may see of a person: statements by section."""

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


class PersonProfileService:
    """Reads profiles: each is a view of the facts that stand at the moment; asks no model, keeps nothing."""

    def __init__(
        self, store: MetadataStore, *, config: Config, clock: Clock, zones: TimeZones, indexes: Indexes,
        facts: ChangeFollower,
    ) -> None:  # fmt: skip
        self._store = store
        self._config = config
        self._clock = clock
        self._zones = zones
        self._indexes = indexes
        self._following = facts
        self._facts = FactReader(store, zones)
        self._access = Access(store.names, config)

    def profile(self, db: Connection, key: str, caller: Caller) -> Profile:
        """All that is known of a person by id, name or alias, what matters most first; empty for somebody unknown.

        Raises InvalidRequest if the name means several persons.
        """
        if not self._access.serves(db, caller):
            return Profile(Known(key, "", ()), filtered=True)
        scopes = self._access.scopes(db, caller)
        person = self._found(db, key, scopes)
        if person is None:
            return Profile(Known(key, "", ()))
        return self._of(db, person, self._seen(db, person, scopes, caller), scopes, self._zone(caller))

    def cut(self, profile: Profile, caller: Caller, asked: Asked | None = None, max_tokens: int = 0) -> Profile:
        """The profile in the order of its sections, cut to a budget (0: that of the settings), with its text.

        What matters for what is asked comes in first.
        """
        settings, zone = self._config.profile, self._zone(caller)
        relevance = {} if asked is None else asked.relevance(profile.items)
        items = within(
            profile.items, each=settings.items_per_section, zone=zone, relevance=relevance,
            budget=(max_tokens or settings.max_tokens) - estimated_tokens(profile.known.name),
        )  # fmt: skip
        return replace(profile, items=tuple(items), text=render(profile.known.name, items, zone))

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
        if person is None:
            return Profile(Known("", "", ()))
        return self.cut(self._of(db, person, None, None, self._zones.general), Caller())

    def known(self, db: Connection, row: int, chat_id: str = "") -> Known:
        """A person as the chat knows them; where none is named, as whoever sees everything does."""
        person = person_rows.names(db, row)
        return Known("", "", ()) if person is None else self._known(person, self._of_chat(db, chat_id))

    def lag(self, db: Connection) -> int:
        """Changes that no fact has been read from yet."""
        return self._following.lag(db)

    def history(
        self, db: Connection, row: int, limit: int, offset: int
    ) -> tuple[list[tuple[Version, list[ProfileItem], str]], int]:
        """((a change of what one scope knows of a person, the statements after it, as text), the last first; how many)."""
        person = person_rows.names(db, row)
        if person is None:
            return [], 0
        rows = self._rows(db, person)
        versions, total = profile_rows.history(db, rows, limit, offset)
        name, found = self._known(person, None).name, list[tuple[Version, list[ProfileItem], str]]()
        for version in versions:
            moment = Moment(self._clock.now(), as_of=version.at)
            facts = facts_held(db, rows, [version.scope], moment, limit=EVERYTHING_KEPT)
            items = side_by_side(ranked(self._statements(db, rows, facts, self._zones.general, as_of=version.at)))
            found.append((version, items, render(name, items, self._zones.general)))
        return found, total

    # who asks

    def _zone(self, caller: Caller) -> tzinfo:
        return self._zones.of(caller.chat_id, caller.group_id, caller.user_id)

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
        self, db: Connection, person: PersonNames, seen: tuple[int, ...] | None, scopes: tuple[int, ...] | None,
        zone: tzinfo,
    ) -> Profile:  # fmt: skip
        rows, now = self._rows(db, person), self._clock.now()
        persons = array(rows)
        facts = self._facts.current(db, self._meant(db, person, rows, seen, now), Moment(now))
        items = self._statements(db, rows, facts, zone)
        items += self._related(db, person, rows, seen, now, items)
        if len(items) <= FEW:
            told = {row for item in items for row in item.evidence}
            lines = profile_rows.lines(db, rows[:1], seen, LINES, now)
            items += line_items([line for line in lines if line.id not in told])
        items = ranked(items)
        override = profile_rows.override(db, person.row)
        is_met = (
            items or override or db.run("profile_is_met", persons=persons, scopes=optional_array(seen)).fetchone()[0]
        )
        if not is_met:
            return Profile(Known(person.person_id, "", ()))
        cursor = self._following.position(db)
        stale = self._following.lag(db) > LOOKED_AT or bool(
            db.run("profile_has_news", cursor=cursor, persons=persons, limit=LOOKED_AT).fetchone()[0]
        )
        version, updated_at = profile_rows.last_change(db, rows, seen)
        return Profile(
            known=self._named(db, person, items, scopes),
            items=tuple(items),
            override=override,
            version=version,
            updated_at=updated_at or max((item.at for item in items), default=0.0),
            stale=stale,
        )

    def _meant(
        self, db: Connection, person: PersonNames, rows: Sequence[int], seen: Sequence[int] | None, now: float
    ) -> list[FactRow]:
        """The facts about the person, and those about a namesake where the name means the person."""
        of = {one.row: one for one in person_rows.namesakes(db, person)}
        return [
            fact
            for fact in profile_rows.facts(db, rows, seen, now)
            if fact.person not in of or of[fact.person].is_meant(person, fact.scope)
        ]

    def _statements(
        self, db: Connection, rows: Sequence[int], facts: Sequence[FactRow], zone: tzinfo, as_of: float | None = None
    ) -> list[ProfileItem]:
        """Facts as statements, without plans that have run out."""
        now = self._clock.now()
        said = profile_rows.said(db, [fact.id for fact in facts], rows, now, as_of)
        shown = next((one.sentence for some in said.values() for one in some if one.sentence), "")
        chinese = is_mostly_cjk(" ".join([shown, *(fact.value for fact in facts)]))
        ends = {fact_key(fact.id): fact.valid_to for fact in facts}

        def is_open(item: ProfileItem) -> bool:
            if item.section != "plans" or ends[item.ref] is not None:
                return True
            spans = find_span(item.statement, now=item.at, zone=zone)
            return (as_of or now) <= max((span.end for _, span in spans), default=item.at + OPEN_FOR)

        year = local_moment(now, zone).year
        return [item for item in fact_items(facts, said, chinese=chinese, year=year) if is_open(item)]

    def _related(
        self, db: Connection, person: PersonNames, rows: Sequence[int], seen: Sequence[int] | None, now: float,
        told: Sequence[ProfileItem],
    ) -> list[ProfileItem]:  # fmt: skip
        """What relations say of the person by the names by which nobody else is meant, where no statement tells it."""
        contested = person_rows.contested(db, person, set(rows))
        chats = None if seen is None else {EVERY_CHAT, *seen}
        met = {call.chat for call in person.called} if seen is None else set(seen)
        norms = {
            normalise_name(name)
            for name in person.within(chats)
            if None not in contested[name] and met - contested[name]
        } - {""}
        entities = sorted({row for row, _, _ in self._store.names.entities(db, norms)})
        if not entities:
            return []
        said: dict[int, str] = {}
        for item in told:
            for row in item.evidence:
                said[row] = f"{said.get(row, '')}\n{item.statement}"
        return [
            relation_item(one)
            for one in profile_rows.relations(db, entities, seen, RELATIONS, now)
            if not any(
                end in said.get(one.paragraph, "") and normalise_name(end) not in norms
                for end in (one.subject, one.object)
            )
        ]

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
