"""What others stated by hand that names a person who is deleted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from ..facts import manual_statements
from ..language.person_names import SHORTEST_NAME, NamePattern
from ..store.ports import Connection
from ..store.records import MovedRow
from .targets import Seeds

__all__ = ["Stated", "stated_of"]

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


def stated_of(db: Connection, seeds: Seeds, paragraphs: Collection[int], entities: Collection[int]) -> Stated:
    """Profiles, facts and relations by hand that name the persons of the seeds, and what is called after them.

    Beside these paragraphs and entities, which go or are told of anyway.
    """
    stated, finder = Stated(), seeds.finder
    if finder is None:
        return stated
    persons = [person.row for person in seeds.persons]
    for one in manual_statements.overrides(db, persons):
        why = finder.judge(db, 0, one.row["text"])
        if why == "" and seeds.chat is None:
            stated.profiles.append(one)
        elif why is not None:
            stated.stays.append(("person", one.id, PROFILE + (why or EVERY_CHAT)))
    by_kind: dict[Literal["fact", "relation"], list[int]] = {"fact": stated.facts, "relation": stated.relations}
    for kind, sure in by_kind.items():
        for id_, chat, text in manual_statements.texts(db, kind, persons, seeds.chat):
            why = finder.judge(db, chat, text)
            if why == "":
                sure.append(id_)
            elif why is not None:
                stated.stays.append((kind, id_, why))
        if seeds.chat is not None:
            return stated
    names = {name for name in seeds.norms if len(name) >= SHORTEST_NAME}
    pattern = NamePattern(names)
    found = manual_statements.entities(db, names, entities, paragraphs)
    stated.stays += [("entity", id_, CALLED) for id_, text in found if pattern.held(text)]
    others = manual_statements.aliases(db, names, persons)
    stated.stays += [("person", id_, ALIAS) for id_, text in others if pattern.held(text)]
    return stated
