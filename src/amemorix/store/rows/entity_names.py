"""Which of the names of an entity somebody has said, where several entities were made one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...language.normalise import fold
from ...language.person_names import any_as_word
from ..ports import Connection
from ..queries import array, optional_array

__all__ = ["Leaving"]

LOOKED_AT = 200
"""Paragraphs, the newest, by which it is told how a chat calls an entity."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of an entity; `row`: the entity that bears it, or bore it before it was merged; 0 for an alias."""

    norm: str
    name: str
    row: int


@dataclass(slots=True)
class Leaving:
    """Names that nobody who stays has said: rows of merged entities, aliases, and main names with what replaces them."""

    merged: list[int] = field(default_factory=list[int])
    aliases: list[str] = field(default_factory=list[str])
    renamed: dict[int, tuple[str, str]] = field(default_factory=dict[int, tuple[str, str]])
    """Entity -> (name, normalised) that it goes by from now on."""
    names: list[str] = field(default_factory=list[str])
    """All that goes."""


def shown(db: Connection, entities: Iterable[int], scopes: Sequence[int] | None) -> dict[int, str]:
    """Entity -> the name by which these chats know it; without those of which they have said no name."""
    ids = list(entities)
    if not ids:
        return {}
    known: dict[int, str] = dict(db.run("entity_names", ids=array(ids)).fetchall())
    for entity, norms in said(db, ids, scopes).items():
        if norms:
            known[entity] = next(iter(norms.values()))
        else:
            known.pop(entity, None)
    return known


def said(db: Connection, entities: Collection[int], scopes: Sequence[int] | None) -> dict[int, dict[str, str]]:
    """Entity -> the names (normalised -> as written) that these chats have said, the one to show first.

    Only of entities that have names of several origins; nothing is kept from whoever sees everything.
    """
    if scopes is None or not entities:
        return {}
    mixed = _ids(db, "naming_mixed", {"ids": array(entities)})
    where = {"scopes": optional_array(scopes), "but": None, "among": None, "limit": LOOKED_AT}
    found: dict[int, dict[str, str]] = {}
    for entity, names in _names(db, mixed).items():
        spoken = sorted(dict.fromkeys(_spoken(db, entity, names, where)), key=lambda name, own=entity: name.row != own)
        found[entity] = {name.norm: name.name for name in spoken}
    return found


def leaving(db: Connection, paragraphs: Sequence[int]) -> Leaving:
    """What goes with these paragraphs because nothing else says it."""
    leaving, going = Leaving(), array(paragraphs)
    touched = _ids(db, "naming_touched", {"ids": going})
    for entity, names in _names(db, touched).items():
        where = {"scopes": None, "but": None, "among": going, "limit": -1}
        said = set(_spoken(db, entity, names, where))
        kept = dict.fromkeys(_spoken(db, entity, names, {**where, "but": going, "among": None}))
        bearing = list(kept) or [name for name in names if name.row == entity]
        if lost := said - set(bearing):
            _leave(leaving, entity, lost, bearing)
    return leaving


def _names(db: Connection, entities: Sequence[int]) -> dict[int, list[_Name]]:
    found: dict[int, list[_Name]] = {}
    for entity, *name in db.run("naming_names", ids=array(entities)) if entities else ():
        found.setdefault(entity, []).append(_Name(*name))
    return found


def _spoken(
    db: Connection, entity: int, names: Sequence[_Name], where: Mapping[str, str | int | None]
) -> Iterator[_Name]:
    """The names that the paragraphs linked to an entity say, the newest first."""
    pattern, by_norm = any_as_word({name.norm for name in names}), {name.norm: name for name in names}
    linked: dict[int, _Name] | None = None
    for paragraph, text in db.run("naming_paragraphs", entity=entity, **where).fetchall():
        met = pattern.findall(" ".join(fold(text).split()))
        yield from (by_norm[norm] for norm in met)
        if not met:
            if linked is None:  # paragraph -> what it was linked to before that was merged
                linked, rows = {}, {name.row: name for name in names if name.row not in (0, entity)}
                for source, merged in db.run("naming_merges", ids=array(rows)).fetchall():
                    linked.setdefault(merged, rows[source])
            yield linked.get(paragraph) or next(name for name in names if name.row == entity)


def _ids(db: Connection, query: str, values: Mapping[str, str]) -> list[int]:
    return [row[0] for row in db.run(query, **values)]


def _leave(leaving: Leaving, entity: int, lost: set[_Name], kept: Sequence[_Name]) -> None:
    """Let the lost names go; a main name that is lost gives way to one that is still said."""
    leaving.names += sorted(name.name for name in lost)
    leaving.merged += sorted(name.row for name in lost if name.row not in (0, entity))
    leaving.aliases += sorted(name.norm for name in lost if not name.row)
    if any(name.row == entity for name in lost):
        heir = kept[0]
        leaving.renamed[entity] = heir.name, heir.norm
        if heir.row:
            leaving.merged.append(heir.row)
        else:
            leaving.aliases.append(heir.norm)
