"""Finding entities and relations by what they are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..language.normalise import normalise_name
from ..store.access import Sight
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import entity_names
from . import rows as graph_rows
from .requests import SearchGraph
from .responses import Found, FoundItem
from .view import GraphViewService

__all__ = ["search"]

MATCHES = ("exact", "prefix", "contains")
LAST_CHARACTER = "\U0010ffff"
MOST_PREDICATES = 20_000
MOST_ENTITIES = 50
"""Entities whose relations are looked at."""


@dataclass(frozen=True, slots=True)
class NameMatch:
    """An entity found by a name; `tier` is 0 if the name is just that."""

    id: int
    name: str
    kind: str
    created_at: float
    tier: int
    field: str
    said: str


def search(db: Connection, views: GraphViewService, request: SearchGraph) -> Found:
    """Exact names first, then those that begin like the query, then those that hold it; names before relations.

    Exact names and beginnings are read off indexes; the rest is scanned only if there is room left on the page.
    """
    sight, said = views.sight(db, request), normalise_name(request.query)
    wanted = request.offset + request.limit + 1
    begin = [
        NameMatch(*row)
        for row in db.run("graph_names_from", first=said, last=said + LAST_CHARACTER, limit=wanted, **sight.values)
    ]
    found = [(match.tier, match) for match in begin]
    if len(found) < wanted:
        but = array(match.id for match in begin)
        more = db.run("graph_names_with", text=said, limit=wanted - len(found), but=but, **sight.values)
        found += [(2, NameMatch(*row)) for row in more]
    matches = list(_known_to(db, found, sight))
    hits: list[tuple[int, FoundItem]] = []
    if request.kind != "relation":
        hits += [(tier, _entity(match, tier, sight)) for tier, match in matches]
    if request.kind != "entity":
        hits += _relations(db, views, said, matches, sight, wanted)
    hits.sort(key=lambda hit: (hit[0], hit[1].type != "entity"))
    page = [item for _, item in hits[request.offset : request.offset + request.limit]]
    return Found(items=page, count=len(page), more=len(hits) > request.offset + request.limit)


def _known_to(db: Connection, found: Sequence[tuple[int, NameMatch]], sight: Sight) -> Iterator[tuple[int, NameMatch]]:
    """The entities by names that whoever looks has said, where they have several; a match with another is none."""
    known = entity_names.said(db, [match.id for _, match in found], sight.scopes)
    for tier, match in found:
        names = known.get(match.id)
        if names is None:
            yield tier, match
        elif normalise_name(match.said) in names:
            yield tier, replace(match, name=next(iter(names.values())))


def _relations(
    db: Connection, views: GraphViewService, said: str, matches: Sequence[tuple[int, NameMatch]], sight: Sight,
    wanted: int,
) -> Iterator[tuple[int, FoundItem]]:  # fmt: skip
    """Relations that say it (just that, beginning like it, holding it), then those of the entities that are called so."""
    spoken = said.replace("_", " ")
    rows = db.run("graph_predicates", limit=MOST_PREDICATES)
    forms = [(one, normalise_name(one.replace("_", " "))) for (one,) in rows]
    tiers_of_predicates = (
        [one for one, form in forms if form == spoken],
        [one for one, form in forms if form != spoken and form.startswith(spoken)],
        [one for one, form in forms if spoken in form and not form.startswith(spoken)],
    )
    why: dict[int, tuple[int, str]] = {}
    for tier, predicates in enumerate(tiers_of_predicates):
        values = {"predicates": array(predicates), "limit": wanted, **sight.values}
        for (relation,) in db.run("graph_relations_saying", **values) if predicates else ():
            why.setdefault(relation, (tier, "predicate"))
    tiers = {match.id: tier for tier, match in matches[:MOST_ENTITIES] if tier < 2}
    for one in graph_rows.relations_at(db, tiers, sight)[:wanted] if tiers else ():
        end = "subject" if one.subject in tiers else "object"
        why.setdefault(one.id, (tiers[one.subject if end == "subject" else one.object], end))
    for item in views.relations(db, why, sight):
        tier, field = why[int(item.id[1:])]
        text = {"predicate": item.predicate, "subject": item.subject, "object": item.object}[field]
        yield tier, FoundItem(
            type="relation", id=item.id, name=item.text, matched_field=field, matched_text=text, match=MATCHES[tier],
            relation=item,
        )  # fmt: skip


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
