"""Finding entities and relations by what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..language.normalise import normalise_name
from ..store.access import Sight
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.rows import entity_names
from . import rows as graph_rows
from .requests import SearchGraph
from .responses import Found, FoundItem, RelationItem
from .rows import NameMatch
from .view import GraphViewService

__all__ = ["GraphSearchService"]

MATCHES = ("exact", "prefix", "contains")
MOST_ENTITIES = 50
"""Entities whose relations are looked at."""


@dataclass(frozen=True, slots=True)
class _Hit:
    tier: int
    item: FoundItem


class GraphSearchService:
    """Exact names first, then those that begin like the query, then those that hold it; names before relations.

    Exact names and beginnings are read off indexes; the rest is scanned only if there is room left on the page.
    """

    def __init__(self, store: MetadataStore, views: GraphViewService) -> None:
        self._store = store
        self._views = views

    async def search(self, request: SearchGraph) -> Found:
        """One page of what is found."""
        return await self._store.read(lambda db: self._search(db, request))

    def _search(self, db: Connection, request: SearchGraph) -> Found:
        sight, said = self._views.sight(db, request), normalise_name(request.query)
        wanted = request.offset + request.limit + 1
        matches = self._names(db, said, sight, wanted)
        hits: list[_Hit] = []
        if request.kind != "relation":
            hits += [_Hit(tier, _entity(match, tier, sight)) for tier, match in matches]
        if request.kind != "entity":
            hits += self._relations(db, said, matches, sight, wanted)
        hits.sort(key=lambda hit: (hit.tier, hit.item.type != "entity"))
        page = [hit.item for hit in hits[request.offset : request.offset + request.limit]]
        return Found(items=page, count=len(page), more=len(hits) > request.offset + request.limit)

    def _names(self, db: Connection, said: str, sight: Sight, wanted: int) -> list[tuple[int, NameMatch]]:
        begin = graph_rows.names_from(db, said, sight, wanted)
        found = [(match.tier, match) for match in begin]
        if len(found) < wanted:
            but = [match.id for match in begin]
            found += [(2, match) for match in graph_rows.names_with(db, said, sight, wanted - len(found), but)]
        return list(self._known_to(db, found, sight))

    def _known_to(
        self, db: Connection, found: Sequence[tuple[int, NameMatch]], sight: Sight
    ) -> Iterator[tuple[int, NameMatch]]:
        """The entities by names that whoever looks has said, where they have several; a match with another is none."""
        known = entity_names.said(db, [match.id for _, match in found], sight.scopes)
        for tier, match in found:
            names = known.get(match.id)
            if names is None:
                yield tier, match
            elif normalise_name(match.said) in names:
                yield tier, replace(match, name=next(iter(names.values())))

    def _relations(
        self, db: Connection, said: str, matches: Sequence[tuple[int, NameMatch]], sight: Sight, wanted: int
    ) -> list[_Hit]:
        """Relations that say it, then those of the entities that are called so."""
        why: dict[int, tuple[int, str, str]] = {}
        for tier, predicates in enumerate(self._predicates(db, said)):
            for relation in graph_rows.saying(db, predicates, sight, wanted) if predicates else ():
                why.setdefault(relation, (tier, "predicate", ""))
        tiers = {match.id: tier for tier, match in matches[:MOST_ENTITIES] if tier < 2}
        for one in graph_rows.relations_at(db, tiers, sight)[:wanted] if tiers else ():
            end = "subject" if one.subject in tiers else "object"
            tier = tiers[one.subject if end == "subject" else one.object]
            why.setdefault(one.id, (tier, end, ""))
        items = self._views.relations(db, why, sight)
        return [_Hit(why[int(item.id[1:])][0], _relation(item, *why[int(item.id[1:])][:2])) for item in items]

    def _predicates(self, db: Connection, said: str) -> Iterator[list[str]]:
        """Predicates that are just that, begin like it, hold it."""
        forms = [(predicate, normalise_name(predicate.replace("_", " "))) for predicate in graph_rows.predicates(db)]
        said = said.replace("_", " ")
        yield [predicate for predicate, form in forms if form == said]
        yield [predicate for predicate, form in forms if form != said and form.startswith(said)]
        yield [predicate for predicate, form in forms if said in form and not form.startswith(said)]


def _entity(match: NameMatch, tier: int, sight: Sight) -> FoundItem:
    """Without the alias itself for a chat: it may come from another one."""
    shown = match.said if match.field == "name" or sight.scopes is None else ""
    return FoundItem(
        type="entity",
        id=f"n{match.id}",
        name=match.name,
        matched_field=match.field,
        matched_text=shown,
        match=MATCHES[tier],
        entity_type=match.kind,
    )


def _relation(item: RelationItem, tier: int, field: str) -> FoundItem:
    said = {"predicate": item.predicate, "subject": item.subject, "object": item.object}[field]
    return FoundItem(
        type="relation",
        id=item.id,
        name=item.text,
        matched_field=field,
        matched_text=said,
        match=MATCHES[tier],
        relation=item,
    )
