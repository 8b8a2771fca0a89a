"""The suggesting of merges, by names and neighbours: nothing is merged by itself."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from ..indexes.graph.state import Edges
from ..language.normalise import fold, is_mostly_cjk
from ..lazy_regex import lazy_regex
from ..store.access import Sight
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as graph_rows
from .entity_lookup import find_node
from .requests import SuggestMerges
from .responses import MergeSuggestion, MergeSuggestions
from .view import GraphViewService, View, node_items

__all__ = ["GraphSuggestionService"]

SAME_FORM = 0.9
CONTAINED = 0.45
ALIKE = 0.45
BUSY = 50
"""A node with more neighbours does not tell two of them alike."""
MOST_IN_GROUP = 200
"""Nodes that share a form or a neighbour, beyond which it tells nothing."""
LONGEST = 24
"""Characters or words of a name that are looked at for names within it."""
LIKENESS = 0.5
_GAPS = lazy_regex(r"[\W_]+")

Pair = tuple[int, int]


@dataclass(slots=True)
class Candidate:
    """Two nodes (the lower id first) with a score in 0..1 and what speaks for it."""

    pair: Pair
    score: float = 0.0
    reasons: list[str] = field(default_factory=list[str])


class GraphSuggestionService:
    """Compares the names and neighbours of the nodes that may be seen, on a background thread."""

    def __init__(self, store: MetadataStore, views: GraphViewService, *, background: Executor) -> None:
        self._store = store
        self._views = views
        self._background = background

    async def suggest(self, request: SuggestMerges) -> MergeSuggestions:
        """Pairs of nodes that may be one, the likeliest first. Raises NotFound for a node that is not there."""

        def material(db: Connection) -> tuple[Sight, View, int, list[tuple[int, str]]]:
            sight = self._views.sight(db, request)
            node = find_node(db, "node", request.node, sight).id if request.node else 0
            view = self._views.view(db, sight)
            if view.alone is None:
                return sight, view, node, db.run("graph_all_names").fetchall()
            ids = np.concatenate((view.standing.nodes, view.alone)).tolist()  # for a chat only the names themselves
            return sight, view, node, [(one.id, one.name) for one in graph_rows.nodes(db, ids, sight)]

        sight, view, node, names = await self._store.read(material)

        def likely() -> list[Candidate]:
            found = candidates(names, view.graph.edges())
            return [one for one in found if one.score >= request.min_score and (not node or node in one.pair)]

        found = await asyncio.get_running_loop().run_in_executor(self._background, likely)
        page = found[request.offset : request.offset + request.limit]

        def told(db: Connection) -> list[MergeSuggestion]:
            nodes = graph_rows.nodes(db, {node for one in page for node in one.pair}, sight)
            items = {node.id: item for node, item in zip(nodes, node_items(nodes, view.standing), strict=True)}
            suggestions: list[MergeSuggestion] = []
            for one in page:
                if set(one.pair) <= items.keys():
                    # of equals the older is the better known
                    source, target = sorted(one.pair, key=lambda node: (items[node].degree, -node))
                    suggestions.append(
                        MergeSuggestion(
                            source=items[source], target=items[target], score=one.score, reasons=one.reasons
                        )
                    )
            return suggestions

        return MergeSuggestions(items=await self._store.read(told), total=len(found))


def candidates(names: Iterable[tuple[int, str]], edges: Edges) -> list[Candidate]:
    """Pairs of nodes, the likeliest first; CPU work that grows with the names and edges."""
    forms: dict[int, set[str]] = defaultdict(set)  # the folded names of each, words joined by single spaces
    for node, name in names:
        if form := _GAPS.sub(" ", fold(name)).strip():
            forms[node].add(form)
    neighbours: dict[int, set[int]] = defaultdict(set)
    for one, other in zip(edges["subject"].tolist(), edges["object"].tolist(), strict=True):
        neighbours[one].add(other)
        neighbours[other].add(one)
    found: dict[Pair, Candidate] = {}
    for reason, score, pair in (*_by_form(forms), *_alike(forms, neighbours)):
        candidate = found.setdefault(pair, Candidate(pair))
        if reason not in candidate.reasons:
            candidate.reasons.append(reason)
            candidate.score = max(candidate.score, score)
    for one in found.values():
        first, second = (neighbours[node] - set(one.pair) for node in one.pair)
        if shared := len(first & second):
            one.reasons.append(f"shared_neighbours:{shared}")
            one.score = min(1.0, one.score + 0.05 + 0.2 * shared / len(first | second))
        one.score = round(one.score, 4)
    return sorted(found.values(), key=lambda one: (-one.score, one.pair))


def _by_form(forms: Mapping[int, set[str]]) -> Iterator[tuple[str, float, Pair]]:
    """Names alike but for spaces, and those that begin or end with another: 李雷 in 李雷老师, Mia in Mia Chen."""
    owners: dict[str, list[int]] = defaultdict(list)
    joined: dict[str, set[int]] = defaultdict(set)
    for node, said in forms.items():
        for form in said:
            owners[form].append(node)
            joined[form.replace(" ", "")].add(node)
    for nodes in joined.values():
        if len(nodes) <= MOST_IN_GROUP:
            yield from (("same_form", SAME_FORM, pair) for pair in combinations(sorted(nodes), 2))
    for node, said in forms.items():
        for form in said:
            for part in _parts(form):
                others = owners.get(part, ())
                share = len(part) / len(form)
                for other in others if len(others) <= MOST_IN_GROUP else ():
                    if other != node:
                        yield "contains", CONTAINED + 0.3 * share, (min(node, other), max(node, other))


def _parts(form: str) -> set[str]:
    """What the name begins and ends with: whole words, of Chinese at least two characters."""
    if " " in form or not is_mostly_cjk(form):
        words = form.split()[:LONGEST]
        ends = [" ".join(words[:n]) for n in range(1, len(words))] + [" ".join(words[n:]) for n in range(1, len(words))]
        return {end for end in ends if len(end) > 1}
    first = {form[:n] for n in range(2, min(len(form), LONGEST))}
    return first | {form[n:] for n in range(1, min(len(form) - 1, LONGEST))}


def _alike(forms: Mapping[int, set[str]], neighbours: Mapping[int, set[int]]) -> Iterator[tuple[str, float, Pair]]:
    """Names that share most pairs of characters, among nodes that share at least two neighbours."""
    shared: Counter[Pair] = Counter()
    for beside in neighbours.values():
        if len(beside) <= BUSY:
            shared.update(combinations(sorted(beside), 2))
    for pair, count in shared.items():
        if count >= 2:
            likeness = max((_dice(a, b) for a in forms.get(pair[0], ()) for b in forms.get(pair[1], ())), default=0.0)
            if likeness >= LIKENESS:
                yield "alike", ALIKE * likeness + 0.1, pair


def _dice(one: str, other: str) -> float:
    """Share of pairs of characters in common (Dice 1945)."""
    first, second = (Counter(a + b for a, b in zip(f" {name}", f"{name} ", strict=True)) for name in (one, other))
    return 2 * (first & second).total() / (first.total() + second.total())
