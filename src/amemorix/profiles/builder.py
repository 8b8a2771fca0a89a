"""From rows to drafts of profiles: what is news to a person, put together with what was known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..config.model import Profile
from ..indexes.name_directory import NameDirectory
from ..language.normalise import fold, is_mostly_cjk, normalise_name
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import persons as person_rows
from ..store.rows import relation_validity
from ..store.rows import relations as relation_rows
from ..store.rows.persons import Namesake, PersonNames
from ..store.tasks import NO_PARAGRAPH
from . import material as profile_material
from . import rows as profile_rows
from .items import ProfileItem, dump, gathered, load, render
from .material import SPEAKER, FactOf, Line
from .retractions import endings, has_ended, outlived
from .rows import SnapshotDraft
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

    def snapshot(self) -> SnapshotDraft | None:
        """The draft as a row; None if it says what the newest snapshot says."""
        content = dump(self.items)
        if content == self.before:
            return None
        return SnapshotDraft(
            scope=self.scope,
            text=render(self.name, self.items),
            content=content,
            confidence=round(max((item.confidence for item in self.items), default=0.0), 3),
            evidence=tuple(dict.fromkeys(row for item in self.items for row in item.evidence)),
        )


@dataclass(frozen=True, slots=True)
class _Subject:
    """A person with those who are the same person by name."""

    person: PersonNames
    namesakes: tuple[Namesake, ...]
    contested: Mapping[str, Collection[int | None]]

    @property
    def rows(self) -> list[int]:
        return [self.person.row, *(one.row for one in self.namesakes)]

    def own_names(self, chats: Collection[int]) -> list[str]:
        """The names by which nobody else is meant in one of the chats."""
        return [
            name
            for name in self.person.within(chats)
            if any(chat not in self.contested[name] for chat in chats) and None not in self.contested[name]
        ]


class ProfileDeriver:
    """Reads on the calling thread, bounded amounts only, whatever is stored of a person."""

    def __init__(self, store: MetadataStore, settings: Profile, directory: NameDirectory) -> None:
        self._store = store
        self._directory = directory
        self._settings = settings

    def drafts(
        self,
        db: Connection,
        person: int,
        since: float,
        now: float,
        *,
        scopes: Sequence[int] | None = None,
        lines: int | None = None,
    ) -> list[ProfileDraft]:
        """A draft for every scope with news from the paragraph `since` on, of these scopes only if they are given."""
        names = person_rows.names(db, person)
        if names is None:
            return []
        namesakes = tuple(person_rows.namesakes(db, names))
        mine = {person, *(one.row for one in namesakes)}
        subject = _Subject(names, namesakes, person_rows.contested(db, names, mine))
        read = self._lines(db, subject, since, scopes, lines or self._settings.max_lines, now)
        affected = self._affected(db, subject, read, scopes, whole=since <= EVERYTHING)
        known = {row.scope: row.content for row in profile_rows.newest(db, person, affected, len(affected))}
        return [self._draft(db, subject, scope, read, known.get(scope, ""), now) for scope in affected]

    def _lines(
        self,
        db: Connection,
        subject: _Subject,
        since: float,
        scopes: Sequence[int] | None,
        limit: int,
        now: float,
    ) -> list[Line]:
        """The person's own paragraphs, those of their namesakes where they are meant, and those that name them."""
        if since >= NO_PARAGRAPH:
            return []
        found = {line.id: line for line in profile_material.lines(db, subject.person.row, since, scopes, limit, now)}
        for one in subject.namesakes:
            for line in profile_material.lines(db, one.row, since, scopes, limit, now):
                if one.is_meant(subject.person, line.chat):
                    found.setdefault(line.id, line)
        names_in = {call.chat for call in subject.person.called}
        for line in profile_material.told(
            db, self._entities(db, subject, names_in), since, scopes, limit // 10 + 1, now
        ):
            if subject.own_names((line.chat,)):
                found.setdefault(line.id, line)
        return [found[row] for row in sorted(found, reverse=True)]

    def _entities(self, db: Connection, subject: _Subject, chats: Collection[int]) -> list[int]:
        norms = {normalise_name(name) for name in subject.own_names(chats)} - {""}
        return sorted({row for row, _, _ in self._store.names.entities(db, norms)})

    def _affected(
        self, db: Connection, subject: _Subject, lines: Iterable[Line], scopes: Sequence[int] | None,
        *, whole: bool,
    ) -> list[int]:  # fmt: skip
        """Scopes with news; a fact does not say that it is news, so all scopes that hold facts are looked at."""
        found = {line.scope for line in lines}
        if whole:
            found |= {one.scope for one in profile_rows.newest(db, subject.person.row, None, MOST_SCOPES)}
        found |= set(profile_material.fact_scopes(db, subject.rows, MOST_SCOPES))
        return sorted(found if scopes is None else found & set(scopes))

    def _draft(
        self, db: Connection, subject: _Subject, scope: int, read: Sequence[Line], before: str, now: float
    ) -> ProfileDraft:
        self._store.right_of_way.give_way()
        lines = [line for line in read if line.scope == scope and line.alive]
        known = living(db, load(before) if before else [], (scope,), now)
        kept = self._still_meant(db, subject, scope, known)
        facts = _settled(profile_material.facts(db, subject.rows, scope, FACTS, now))
        stated = [*kept, *self._stated(subject, lines)]
        over = endings(lines, stated)
        said = [item for item in _current(stated, facts) if not has_ended(item, over)]
        chinese = is_mostly_cjk(" ".join(sorted({item.statement for item in said} | {fact.value for fact in facts})))
        told = [
            fact_item(fact, chinese=chinese)
            for fact in facts
            if fact.contested or (fact.holds and not any(covers(item, fact) for item in said))
        ]
        told += self._related(db, subject, scope, lines, now)
        told = [item for item in told if not has_ended(item, over)]
        items = [*said, *living(db, told, (scope,), now), *self._topic(db, known, lines)]
        chosen = tuple(gathered(items, self._settings.items_per_section))
        texts = {line.id: line.content for line in lines[: self._settings.max_evidence]}
        return ProfileDraft(scope, self._called(subject, scope), chosen, self._cited(db, chosen) | texts, before)

    def _still_meant(
        self, db: Connection, subject: _Subject, scope: int, known: Sequence[ProfileItem]
    ) -> list[ProfileItem]:
        """The sentences that were known, without those by a name that somebody else has by now."""
        kept = [item for item in known if item.basis in ("said", "told", "model")]
        told = {row for item in kept if item.basis == "told" for row in item.evidence}
        if not told:
            return kept
        chats = (scope,) if scope else [call.chat for call in subject.person.called]
        entities = self._entities(db, subject, chats)
        meant = profile_material.named_by(db, told, subject.rows, entities)
        return [item for item in kept if item.basis != "told" or not meant.isdisjoint(item.evidence)]

    def _called(self, subject: _Subject, scope: int) -> str:
        names = subject.person.within((scope,))
        return names[0] if names else ""

    def _stated(self, subject: _Subject, lines: Sequence[Line]) -> list[ProfileItem]:
        found: list[ProfileItem] = []
        for line in lines:
            names = subject.person.within((line.chat,)) or [subject.person.person_id]
            found += statements(line, names, self._others(subject, line.chat))
        return found

    def _others(self, subject: _Subject, chat: int) -> Others:
        """Knows the names of everybody else in this chat."""
        mine = set(subject.rows)

        def others(clause: str) -> bool:
            return any(mine.isdisjoint(rows) for rows in self._directory.find(clause, (chat,)).persons)

        return others

    def _related(
        self, db: Connection, subject: _Subject, scope: int, lines: Sequence[Line], now: float
    ) -> list[ProfileItem]:
        """What relations say; their support is looked at again whenever the profile is read."""
        entities = self._entities(db, subject, {scope, *(line.chat for line in lines)})
        found = profile_material.relations(db, entities, scope, RELATIONS, now)
        over = relation_validity.of(db, [one.id for one in found], (scope,), now)
        relations = [one for one in found if one.id not in over]
        times = {line.id: line.at for line in lines}
        missing = [relation.paragraph for relation in relations if relation.paragraph not in times]
        rows = paragraph_rows.full(db, missing).values()
        times |= {row.id: row.recorded_at if row.event_start is None else row.event_start for row in rows}
        return [relation_item(one, times.get(one.paragraph, now)) for one in relations]

    def _topic(self, db: Connection, known: Sequence[ProfileItem], lines: Sequence[Line]) -> list[ProfileItem]:
        """What the person talks about lately, in the newest of their lines that are known."""
        said = [(line.id, line.at, line.content) for line in lines if line.role == SPEAKER][:TOPIC_LINES]
        earlier = [item for item in known if item.basis == "topic"]
        if len(said) < TOPIC_LINES and earlier:
            rows = paragraph_rows.full(db, {row for item in earlier for row in item.evidence} - {s[0] for s in said})
            said += [
                (r.id, r.recorded_at if r.event_start is None else r.event_start, r.content) for r in rows.values()
            ]
        item = topic_item(said)
        return [item] if item else []

    def _cited(self, db: Connection, items: Sequence[ProfileItem]) -> dict[int, str]:
        rows = list(dict.fromkeys(row for item in items for row in item.evidence[:2]))
        return paragraph_rows.contents(db, rows[: self._settings.max_evidence])


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
    relations -= relation_validity.of(db, relations, scopes, now).keys()
    facts = profile_material.facts_alive(db, {i.ref for i in items if i.basis == "fact"}, now)
    standing = [item for item in items if _stands(item, seen, relations, facts)]
    return [replace(item, evidence=tuple(row for row in item.evidence if row in seen)) for item in standing]


def _stands(item: ProfileItem, seen: set[int], relations: set[int], facts: set[int]) -> bool:
    if item.basis == "relation":
        return item.ref in relations
    if item.basis == "fact":
        return item.ref in facts and (not item.evidence or not seen.isdisjoint(item.evidence))
    return seen.issuperset(item.evidence) if item.needs_all else not seen.isdisjoint(item.evidence)
