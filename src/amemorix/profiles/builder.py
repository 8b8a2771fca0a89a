"""From rows to drafts of profiles: what is news to a person, put together with what was known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..config.model import Profile
from ..indexes.name_directory import NameDirectory
from ..language.normalise import fold, is_mostly_cjk, normalise_name
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows import relations as relation_rows
from ..store.rows.paragraphs import ParagraphRow
from ..store.rows.persons import PersonNames
from ..store.tasks import NO_PARAGRAPH
from . import rows as profile_rows
from .items import ProfileItem, dump, gathered, load
from .retractions import endings, has_ended, outlived
from .rows import SPEAKER, FactOf, Line
from .rules import TOPIC_LINES, Others, covers, fact_item, relation_item, statements, topic_item

__all__ = ["EVERYTHING", "ProfileDeriver", "ProfileDraft", "living"]

EVERYTHING = 0.0
MOST_SCOPES = 500
RELATIONS, FACTS = 30, 200


@dataclass(frozen=True, slots=True)
class ProfileDraft:
    """What is known of a person from one scope; `texts` are the paragraphs that a model may read, newest first."""

    scope: int
    name: str
    items: tuple[ProfileItem, ...]
    texts: Mapping[int, str]
    before: str = ""
    """The content of the snapshot that it would follow."""

    @property
    def is_worth_asking(self) -> bool:
        """Whether a model may find more in it: the rules found sentences that no model has read, or it is the first."""
        return not self.before or any(item.basis in ("said", "told") for item in self.items)

    @property
    def content(self) -> str:
        """As it is stored; the same as `before` if there is nothing new in it."""
        return dump(self.items)


class ProfileDeriver:
    """Reads on the calling thread, bounded amounts only, whatever is stored of a person."""

    def __init__(self, store: MetadataStore, settings: Profile, directory: NameDirectory) -> None:
        self._store = store
        self._directory = directory
        self._settings = settings

    def drafts(
        self, db: Connection, person: int, since: float, now: float, *, scopes: Sequence[int] | None = None,
        lines: int | None = None,
    ) -> list[ProfileDraft]:  # fmt: skip
        """A draft for every scope with news from the paragraph `since` on, of these scopes only if they are given."""
        names = person_rows.names(db, person)
        if names is None:
            return []
        reading = _PersonReading(db, names, now, self._store, self._directory, self._settings)
        read = reading.lines(since, scopes, lines or self._settings.max_lines)
        # a fact does not say that it is news, so all scopes that hold facts are looked at
        affected = {line.scope for line in read}
        affected |= {row[0] for row in db.run("profile_fact_scopes", persons=array(reading.rows), limit=MOST_SCOPES)}
        if since <= EVERYTHING:
            affected |= {one.scope for one in profile_rows.newest(db, person, None, MOST_SCOPES)}
        chosen = sorted(affected if scopes is None else affected & set(scopes))
        known = {row.scope: row.content for row in profile_rows.newest(db, person, chosen, len(chosen))}
        return [reading.draft(scope, read, known.get(scope, "")) for scope in chosen]


class _PersonReading:
    """What is read of a person and of those who are the same person by name."""

    def __init__(
        self, db: Connection, person: PersonNames, now: float, store: MetadataStore, directory: NameDirectory,
        settings: Profile,
    ) -> None:  # fmt: skip
        self._db = db
        self._person = person
        self._now = now
        self._store = store
        self._directory = directory
        self._settings = settings
        self._namesakes = person_rows.namesakes(db, person)
        self.rows = [person.row, *(one.row for one in self._namesakes)]
        self._contested = person_rows.contested(db, person, set(self.rows))

    def _own_names(self, chats: Collection[int]) -> list[str]:
        """The names by which nobody else is meant in one of the chats."""
        return [
            name
            for name in self._person.within(chats)
            if any(chat not in self._contested[name] for chat in chats) and None not in self._contested[name]
        ]

    def _entities(self, chats: Collection[int]) -> list[int]:
        norms = {normalise_name(name) for name in self._own_names(chats)} - {""}
        return sorted({row for row, _, _ in self._store.names.entities(self._db, norms)})

    def lines(self, since: float, scopes: Sequence[int] | None, limit: int) -> list[Line]:
        """The person's own paragraphs, those of their namesakes where they are meant, and those that name them."""
        if since >= NO_PARAGRAPH:
            return []

        def bound(row: int) -> list[Line]:
            return profile_rows.lines(self._db, row, since, scopes, limit, self._now)

        found = {line.id: line for line in bound(self._person.row)}
        for one in self._namesakes:
            for line in bound(one.row):
                if one.is_meant(self._person, line.chat):
                    found.setdefault(line.id, line)
        entities = self._entities({call.chat for call in self._person.called})
        for line in profile_rows.told(self._db, entities, since, scopes, limit // 10 + 1, self._now):
            if self._own_names((line.chat,)):
                found.setdefault(line.id, line)
        return [found[row] for row in sorted(found, reverse=True)]

    def draft(self, scope: int, read: Sequence[Line], before: str) -> ProfileDraft:
        """What is known from one scope, by these lines and what was known `before`."""
        self._store.right_of_way.give_way()
        lines = [line for line in read if line.scope == scope and line.alive]
        known = self._living(load(before) if before else [], scope)
        facts = _settled(profile_rows.facts(self._db, self.rows, scope, FACTS, self._now))
        stated = self._still_meant(scope, known)
        for line in lines:
            names = self._person.within((line.chat,)) or [self._person.person_id]
            stated += statements(line, names, self._others(line.chat))
        over = endings(lines, stated)
        said = [item for item in _current(stated, facts) if not has_ended(item, over)]
        chinese = is_mostly_cjk(" ".join(sorted({item.statement for item in said} | {fact.value for fact in facts})))
        told = [
            fact_item(fact, chinese=chinese)
            for fact in facts
            if fact.contested or (fact.holds and not any(covers(item, fact) for item in said))
        ]
        told += self._related(scope, lines)
        told = [item for item in told if not has_ended(item, over)]
        items = [*said, *self._living(told, scope), *self._topic(known, lines)]
        chosen = tuple(gathered(items, self._settings.items_per_section))
        most = self._settings.max_evidence
        cited = list(dict.fromkeys(row for item in chosen for row in item.evidence[:2]))[:most]
        texts = paragraph_rows.contents(self._db, cited) | {line.id: line.content for line in lines[:most]}
        return ProfileDraft(scope, next(iter(self._person.within((scope,))), ""), chosen, texts, before)

    def _living(self, items: Sequence[ProfileItem], scope: int) -> list[ProfileItem]:
        return living(self._db, items, (scope,), self._now)

    def _still_meant(self, scope: int, known: Sequence[ProfileItem]) -> list[ProfileItem]:
        """The sentences that were known, without those by a name that somebody else has by now."""
        kept = [item for item in known if item.basis in ("said", "told", "model")]
        told = {row for item in kept if item.basis == "told" for row in item.evidence}
        if not told:
            return kept
        entities = self._entities((scope,) if scope else [call.chat for call in self._person.called])
        values = {"ids": array(told), "persons": array(self.rows), "entities": array(entities)}
        meant = {row[0] for row in self._db.run("profile_named_by", **values)}
        return [item for item in kept if item.basis != "told" or not meant.isdisjoint(item.evidence)]

    def _others(self, chat: int) -> Others:
        mine = set(self.rows)
        return lambda clause: any(mine.isdisjoint(rows) for rows in self._directory.find(clause, (chat,)).persons)

    def _related(self, scope: int, lines: Sequence[Line]) -> list[ProfileItem]:
        """What relations say; their support is looked at again whenever the profile is read."""
        entities = self._entities({scope, *(line.chat for line in lines)})
        relations = profile_rows.relations(self._db, entities, scope, RELATIONS, self._now)
        times = {line.id: line.at for line in lines}
        rows = paragraph_rows.full(self._db, [one.paragraph for one in relations if one.paragraph not in times])
        times |= {row.id: _time(row) for row in rows.values()}
        return [relation_item(one, times.get(one.paragraph, self._now)) for one in relations]

    def _topic(self, known: Sequence[ProfileItem], lines: Sequence[Line]) -> list[ProfileItem]:
        """What the person talks about lately, in the newest of their lines that are known."""
        said = [(line.id, line.at, line.content) for line in lines if line.role == SPEAKER][:TOPIC_LINES]
        earlier = {row for item in known if item.basis == "topic" for row in item.evidence}
        if len(said) < TOPIC_LINES and earlier:
            rows = paragraph_rows.full(self._db, earlier - {row for row, _, _ in said})
            said += [(row.id, _time(row), row.content) for row in rows.values()]
        item = topic_item(said)
        return [item] if item else []


def _time(row: ParagraphRow) -> float:
    return row.recorded_at if row.event_start is None else row.event_start


def _current(items: Sequence[ProfileItem], facts: Sequence[FactOf]) -> list[ProfileItem]:
    """Without sentences that say what was a fact and is none any more, or is contested, whatever else they say."""
    past = [fact for fact in facts if not fact.holds]
    held = [fact for fact in facts if fact.holds]

    def is_over(item: ProfileItem) -> bool:
        true = {_said_by(fact) for fact in held if covers(item, fact)}
        return any(covers(item, fact) and _said_by(fact) not in true for fact in past)

    return [item for item in items if not is_over(item)]


def _said_by(fact: FactOf) -> tuple[str, str, int]:
    return fact.attribute, fold(fact.value), fact.polarity


def _settled(facts: Sequence[FactOf]) -> list[FactOf]:
    """The facts; one that is denied later in other words does not hold."""
    return [replace(fact, holds=False) if outlived(fact, facts) else fact for fact in facts]


def living(db: Connection, items: Sequence[ProfileItem], scopes: Sequence[int] | None, now: float) -> list[ProfileItem]:
    """Those of the items that still stand on something alive, current, unexpired and within the scopes.

    What was deleted, reworded or has expired is not told any more, however old the snapshot that tells it.
    """
    rows = np.array(sorted({row for item in items for row in item.evidence}), np.int64)
    seen = set(paragraph_rows.gate(db, rows, scopes, now).ids.tolist())
    relations = relation_rows.seen(db, {i.ref for i in items if i.basis == "relation"}, scopes, now)
    told = array({i.ref for i in items if i.basis == "fact"})
    facts = {row[0] for row in db.run("profile_facts_alive", ids=told, now=now)}
    standing = [item for item in items if _stands(item, seen, relations, facts)]
    return [replace(item, evidence=tuple(row for row in item.evidence if row in seen)) for item in standing]


def _stands(item: ProfileItem, seen: set[int], relations: set[int], facts: set[int]) -> bool:
    if item.basis == "relation":
        return item.ref in relations
    if item.basis == "fact":
        return item.ref in facts and (not item.evidence or not seen.isdisjoint(item.evidence))
    return seen.issuperset(item.evidence) if item.needs_all else not seen.isdisjoint(item.evidence)
