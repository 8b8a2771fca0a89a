"""What others stated by hand that names a person who is deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from ..facts import manual_statements
from ..language.name_pattern import SHORTEST_NAME, NamePattern
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import MovedRow
from .mentions import MentionFinder
from .targets import Seeds

__all__ = ["Stated", "Statements"]

Kind = Literal["fact", "relation"]
PROFILE = "the profile written by hand for them names the person: "
EVERY_CHAT = "it counts in every chat"
CALLED = "its name, an alias or what is noted of it holds the person's name"
ALIAS = "an alias of theirs holds the person's name"


@dataclass(slots=True)
class Stated:
    """Statements that can mean nobody else, and (kind, row, why) of those that stay."""

    profiles: list[MovedRow] = field(default_factory=list[MovedRow])
    facts: list[int] = field(default_factory=list[int])
    relations: list[int] = field(default_factory=list[int])
    stays: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])


class Statements:
    """Finds profiles, facts and relations by hand that name a person, and what is called after them."""

    def __init__(self, store: MetadataStore) -> None:
        pass

    def read(self, db: Connection, seeds: Seeds, paragraphs: Collection[int], entities: Collection[int]) -> Stated:
        """What names the persons of the seeds, beside these paragraphs and entities, which go or are told of anyway."""
        stated = Stated()
        if seeds.finder is None:
            return stated
        self._profiles(db, seeds, seeds.finder, stated)
        stated.facts = self._sure(db, "fact", seeds, seeds.finder, stated)
        if seeds.chat is None:
            stated.relations = self._sure(db, "relation", seeds, seeds.finder, stated)
            self._called(db, seeds, paragraphs, entities, stated)
        return stated

    def _profiles(self, db: Connection, seeds: Seeds, finder: MentionFinder, stated: Stated) -> None:
        for one in manual_statements.overrides(db, [person.row for person in seeds.persons]):
            why = finder.judge(db, 0, one.row["text"])
            if why == "" and seeds.chat is None:
                stated.profiles.append(one)
            elif why is not None:
                stated.stays.append(("person", one.id, PROFILE + (why or EVERY_CHAT)))

    def _sure(self, db: Connection, kind: Kind, seeds: Seeds, finder: MentionFinder, stated: Stated) -> list[int]:
        """Those that can mean nobody else; the doubtful ones are noted as staying."""
        persons, sure = [one.row for one in seeds.persons], list[int]()
        for id_, chat, text in manual_statements.texts(db, kind, persons, seeds.chat):
            why = finder.judge(db, chat, text)
            if why == "":
                sure.append(id_)
            elif why is not None:
                stated.stays.append((kind, id_, why))
        return sure

    def _called(
        self,
        db: Connection,
        seeds: Seeds,
        paragraphs: Collection[int],
        entities: Collection[int],
        stated: Stated,
    ) -> None:
        """Entities and persons whose own names hold the person's."""
        names = {name for name in seeds.norms if len(name) >= SHORTEST_NAME}
        pattern = NamePattern(names)
        found = manual_statements.entities(db, names, entities, paragraphs)
        stated.stays += [("entity", id_, CALLED) for id_, text in found if pattern.held(text)]
        others = manual_statements.aliases(db, names, [one.row for one in seeds.persons])
        stated.stays += [("person", id_, ALIAS) for id_, text in others if pattern.held(text)]
