"""Who is related to whom, as adjacency in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Lock
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .pagerank import Positions, Steps, personalised_pagerank

if TYPE_CHECKING:
    import networkx

__all__ = ["EdgeRow", "GraphStore"]

_BATCH = 10_000
_FORMAT = "graph/1"
_EDGE = np.dtype([("id", "<i8"), ("subject", "<i8"), ("object", "<i8"), ("weight", "<f4")])

Ids = NDArray[np.int64]
Edges = NDArray[np.void]
"""A table of edges (`_EDGE`) by ascending id."""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """What the store eats: a relation between two entities; the weight is finite and not negative."""

    id: int
    subject: int
    object: int
    weight: float


@dataclass(frozen=True, slots=True)
class _Adjacency:
    """Compressed sparse rows: the half-edges of row r are `starts[r]` to `starts[r + 1]` of the other two arrays."""

    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    edges: NDArray[np.int32]

    @classmethod
    def of(cls, rows: int, heads: Positions, tails: Positions, nodes: NDArray[np.int32]) -> _Adjacency:
        """Both halves of each edge: row `heads[i]` to node `nodes[tails[i]]` and back, 0 <= heads, tails < rows."""
        start = np.concatenate((heads, tails))
        order = np.argsort(start, kind="stable")
        starts = np.zeros(rows + 1, np.int64)
        np.cumsum(np.bincount(start, minlength=rows), out=starts[1:])
        edges = (order % max(len(heads), 1)).astype(np.int32)
        return cls(starts, nodes[np.concatenate((tails, heads))[order]], edges)

    def degrees(self, rows: Positions) -> NDArray[np.int64]:
        """Half-edges in each row."""
        return self.starts[rows + 1] - self.starts[rows]

    def half_edges(self, rows: Positions) -> tuple[Positions, Positions]:
        """For every half-edge of the rows: which of the rows it is in, and its place in `nodes` and `edges`."""
        counts = self.degrees(rows)
        source = np.repeat(np.arange(len(rows)), counts)
        ends = np.cumsum(counts)
        return source, np.arange(len(source)) + (self.starts[rows] - ends + counts)[source]


@dataclass(frozen=True, slots=True)
class _Base:
    """Merged edges, with their nodes numbered by ascending id."""

    edges: Edges
    ids: Ids
    weights: NDArray[np.float32]
    nodes: Ids
    adjacency: _Adjacency

    @classmethod
    def of(cls, edges: Edges) -> _Base:
        """Number the nodes and sort the half-edges."""
        nodes = np.unique(np.concatenate((edges["subject"], edges["object"])))
        heads, tails = (np.searchsorted(nodes, edges[end]) for end in ("subject", "object"))
        adjacency = _Adjacency.of(len(nodes), heads, tails, np.arange(len(nodes), dtype=np.int32))
        return cls(edges, edges["id"].copy(), edges["weight"].copy(), nodes, adjacency)


@dataclass(frozen=True)
class _State:
    """What a reader sees: merged edges, which of them are gone, and those that came since.

    Nodes are numbered through: those of the base first, then those that only recent edges have. So are edges.
    """

    base: _Base
    gone: NDArray[np.bool_]
    recent: Edges

    @classmethod
    def merged(cls, edges: Edges) -> _State:
        """A state without recent changes."""
        return cls(_Base.of(edges), np.zeros(len(edges), np.bool_), edges[:0])

    @cached_property
    def gone_count(self) -> int:
        """Edges of the base that were removed or replaced."""
        return int(np.count_nonzero(self.gone))

    def edges(self) -> Edges:
        """All live edges by ascending id."""
        edges = np.concatenate((self.base.edges[~self.gone], self.recent))
        return edges[np.argsort(edges["id"], kind="stable")]

    @cached_property
    def new_nodes(self) -> Ids:
        """Nodes that the base does not have, ascending."""
        ends = np.unique(np.concatenate((self.recent["subject"], self.recent["object"])))
        return ends[_find(self.base.nodes, ends) < 0]

    @cached_property
    def _recent(self) -> tuple[Positions, _Adjacency]:
        """The nodes that recent edges touch, ascending, and a row of half-edges for each."""
        heads, tails = self.positions(self.recent["subject"]), self.positions(self.recent["object"])
        nodes = np.unique(np.concatenate((heads, tails))).astype(np.int32)
        rows = np.searchsorted(nodes, heads), np.searchsorted(nodes, tails)
        return nodes, _Adjacency.of(len(nodes), *rows, nodes)

    @property
    def size(self) -> int:
        """Number of nodes, those included whose edges are gone."""
        return len(self.base.nodes) + len(self.new_nodes)

    def __len__(self) -> int:
        return len(self.base.edges) - self.gone_count + len(self.recent)

    def positions(self, nodes: Ids) -> Positions:
        """Numbers of node ids, -1 for one that no edge has."""
        old, new = _find(self.base.nodes, nodes), _find(self.new_nodes, nodes)
        return np.where((old < 0) & (new >= 0), len(self.base.nodes) + new, old)

    def node_ids(self, positions: Positions) -> Ids:
        """Ids of numbered nodes."""
        return _pick(self.base.nodes, self.new_nodes, positions)

    def edge_rows(self, positions: Positions) -> list[EdgeRow]:
        """Rows of numbered edges, by ascending id."""
        rows = _pick(self.base.edges, self.recent, np.unique(positions)).tolist()
        return [EdgeRow(*row) for row in sorted(rows)]

    def degrees(self, nodes: Positions) -> NDArray[np.int64]:
        """Half-edges at each node, those included that are gone."""
        old, row = self._split(nodes)
        count = np.zeros(len(nodes), np.int64)
        count[old] = self.base.adjacency.degrees(nodes[old])
        count[row >= 0] += self._recent[1].degrees(row[row >= 0])
        return count

    def steps(self, nodes: Positions) -> Steps:
        """The live half-edges that leave the nodes."""
        old, row = self._split(nodes)
        merged = self._merged_steps(np.flatnonzero(old), nodes[old])
        if not len(self.recent):
            return merged
        recent = self._recent_steps(np.flatnonzero(row >= 0), row[row >= 0])
        return Steps(
            np.concatenate((merged.source, recent.source)),
            np.concatenate((merged.node, recent.node)),
            np.concatenate((merged.weight, recent.weight)),
            np.concatenate((merged.edge, recent.edge)),
        )

    def _split(self, nodes: Positions) -> tuple[NDArray[np.bool_], Positions]:
        """Which of the nodes the base has, and the row of each among the recent edges, or -1."""
        return nodes < len(self.base.nodes), _find(self._recent[0], nodes)

    def _merged_steps(self, given: Positions, nodes: Positions) -> Steps:
        source, at = self.base.adjacency.half_edges(nodes)
        edge = self.base.adjacency.edges[at]
        if self.gone_count:
            live = ~self.gone[edge]
            source, at, edge = source[live], at[live], edge[live]
        return Steps(given[source], self.base.adjacency.nodes[at], self.base.weights[edge], edge)

    def _recent_steps(self, given: Positions, rows: Positions) -> Steps:
        adjacency = self._recent[1]
        source, at = adjacency.half_edges(rows)
        edge = adjacency.edges[at]
        return Steps(given[source], adjacency.nodes[at], self.recent["weight"][edge], len(self.gone) + edge)


class GraphStore:
    """An index of weighted edges, walked in both directions; parallel edges add up and loops are left out.

    A node exists while it has an edge. Asking for one that does not is no error: it has no neighbours, paths or rank.
    """

    name = "graph"

    def __init__(self) -> None:
        self._changing = Lock()
        self._state = _State.merged(_table([]))

    @property
    def fingerprint(self) -> str:
        """The format."""
        return _FORMAT

    def __len__(self) -> int:
        return len(self._state)

    def neighbours(self, node: int) -> tuple[Ids, NDArray[np.float32]]:
        """The nodes next to a node by ascending id, with the summed weights of the edges between."""
        state = self._state
        steps = state.steps(_known(state, [node]))
        nodes, inverse = np.unique(state.node_ids(steps.node), return_inverse=True)
        return nodes, np.bincount(inverse, steps.weight, minlength=len(nodes)).astype(np.float32)

    def degree(self, node: int) -> int:
        """How many nodes are next to a node."""
        return len(self.neighbours(node)[0])

    def edges_of(self, node: int) -> list[EdgeRow]:
        """The edges that begin or end at a node, by ascending id."""
        return self._state.edge_rows(self._state.steps(_known(self._state, [node])).edge)

    def subgraph(self, nodes: Sequence[int]) -> list[EdgeRow]:
        """The edges among some nodes, by ascending id."""
        state = self._state
        known = _known(state, nodes)
        steps = state.steps(known)
        return state.edge_rows(steps.edge[_find(known, steps.node) >= 0])

    def path(self, a: int, b: int, max_hops: int = 4) -> list[int] | None:
        """The nodes of a shortest path from a to b, both included; None if there is none so short."""
        state = self._state
        start, goal = (_known(state, [node]) for node in (a, b))
        if not len(start) or not len(goal):
            return None
        trail = _breadth_first(state, int(start[0]), int(goal[0]), max_hops)
        return None if trail is None else state.node_ids(np.array(trail)).tolist()

    def to_networkx(self, nodes: Sequence[int]) -> networkx.MultiDiGraph[int]:
        """The nodes and the edges among them, keyed by edge id and with `weight`, for layout and export."""
        from networkx import MultiDiGraph

        graph: networkx.MultiDiGraph[int] = MultiDiGraph()
        graph.add_nodes_from(nodes)
        for edge in self.subgraph(nodes):
            graph.add_edge(edge.subject, edge.object, key=edge.id, weight=edge.weight)
        return graph

    def pagerank(
        self,
        seeds: Mapping[int, float],
        alpha: float = 0.15,
        epsilon: float = 1e-5,
        limit: int | None = None,
        max_steps: int = 1_000_000,
    ) -> tuple[Ids, NDArray[np.float64]]:
        """The nodes near the seeds as (nodes, scores), best first, equal ones by id, at most `limit`.

        `seeds` are nodes with their shares of the walk's starts; those that do not exist, or have no share above zero,
        are left out. The other arguments and the meaning of a score: see `pagerank.personalised_pagerank`.
        """
        state = self._state
        known = _known(state, [node for node, share in seeds.items() if share > 0])
        mass = np.array([seeds[node] for node in state.node_ids(known).tolist()], np.float64)
        found, scores = personalised_pagerank(
            state, known, mass / (mass.sum() or 1.0), alpha=alpha, epsilon=epsilon, max_steps=max_steps
        )
        nodes = state.node_ids(found)
        order = np.lexsort((nodes, -scores))[:limit]
        return nodes[order], scores[order]

    def dump(self) -> dict[int, tuple[int, int, float]]:
        """Every edge's id with (subject, object, weight)."""
        return {number: (subject, object_, weight) for number, subject, object_, weight in self._state.edges().tolist()}

    def build(self, rows: Iterator[EdgeRow]) -> None:
        """Replace the whole content; of rows with the same id the last counts. ValueError leaves the store as it was."""
        parts: list[Edges] = []
        while batch := list(islice(rows, _BATCH)):
            parts.append(_table(batch, keep_loops=True))
        edges = np.concatenate(parts) if parts else _table([])
        edges = edges[np.argsort(edges["id"], kind="stable")]
        last = np.append(edges["id"][1:] != edges["id"][:-1], True)[: len(edges)]
        built = _State.merged(edges[last & (edges["subject"] != edges["object"])])
        with self._changing:
            self._state = built

    def apply(self, rows: Sequence[EdgeRow], removed: Sequence[int]) -> None:
        """Remove ids, then insert or replace rows. ValueError leaves the store as it was."""
        new = _table(list({row.id: row for row in rows}.values()))
        gone = np.unique(np.array([*removed, *(row.id for row in rows)], np.int64))
        with self._changing:
            state = self._state
            kept = state.recent[_find(gone, state.recent["id"]) < 0]
            recent = np.insert(kept, np.searchsorted(kept["id"], new["id"]), new)
            self._state = _State(state.base, _marked(state, gone), recent)

    def compact(self) -> bool:
        """Merge once changes are more than 2,000 and 2 % of the edges; True if it did."""
        with self._changing:
            state = self._state
            worth_it = len(state.recent) + state.gone_count > max(2_000, len(state) // 50)
            if worth_it:
                self._state = _State.merged(state.edges())
        return worth_it

    def save(self, folder: Path) -> None:
        """Write `edges.npy`: id, subject, object and weight of every edge, by ascending id."""
        np.save(folder / "edges.npy", self._state.edges(), allow_pickle=False)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote; ValueError or OSError if it does not fit."""
        try:
            edges: Edges = np.load(folder / "edges.npy", allow_pickle=False)
        except (ArithmeticError, EOFError, MemoryError, SyntaxError, TokenError, TypeError) as exc:
            raise ValueError(f"edges.npy in {folder} is damaged: {exc}") from exc
        if edges.dtype != _EDGE or edges.ndim != 1:
            raise ValueError(f"edges.npy in {folder} is of another format")
        _check(edges)
        if np.any(np.diff(edges["id"]) <= 0) or np.any(edges["subject"] == edges["object"]):
            raise ValueError(f"edges.npy in {folder} is out of order")
        with self._changing:
            self._state = _State.merged(edges)


def _table(rows: Sequence[EdgeRow], *, keep_loops: bool = False) -> Edges:
    """Rows as a table by ascending id, checked."""
    edges = np.array([(row.id, row.subject, row.object, row.weight) for row in rows], _EDGE)
    _check(edges)
    if not keep_loops:
        edges = edges[edges["subject"] != edges["object"]]
    return edges[np.argsort(edges["id"], kind="stable")]


def _check(edges: Edges) -> None:
    if not np.all((edges["weight"] >= 0) & np.isfinite(edges["weight"])):
        raise ValueError("the weight of an edge is a finite number, not below zero")


def _marked(state: _State, gone: Ids) -> NDArray[np.bool_]:
    """The base's edges that are gone, with more ids."""
    at = _find(state.base.ids, gone)
    marked = state.gone.copy()
    marked[at[at >= 0]] = True
    return marked


def _known(state: _State, nodes: Sequence[int]) -> Positions:
    """Numbers of those of the nodes that have an edge, ascending and distinct."""
    found = np.unique(state.positions(np.array(nodes, np.int64)))
    found = found[found >= 0]
    return found[np.unique(state.steps(found).source)]


def _find(ascending: NDArray[Any], values: NDArray[Any]) -> Positions:
    """The place of each value in an ascending array, or -1."""
    if not len(ascending):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[at] == values, at, -1)


def _pick(first: NDArray[Any], second: NDArray[Any], positions: Positions) -> NDArray[Any]:
    """Elements of two arrays that are numbered through."""
    picked = np.empty(len(positions), first.dtype)
    early = positions < len(first)
    picked[early], picked[~early] = first[positions[early]], second[positions[~early] - len(first)]
    return picked


def _breadth_first(state: _State, start: int, goal: int, max_hops: int) -> list[int] | None:
    parent = np.full(state.size, -1, np.int32)
    parent[start] = start
    frontier: Positions = np.array([start])
    for _ in range(max_hops):
        if parent[goal] >= 0 or not len(frontier):
            break
        steps = state.steps(frontier)
        fresh = parent[steps.node] < 0
        reached, first = np.unique(steps.node[fresh], return_index=True)
        parent[reached] = frontier[steps.source[fresh][first]]
        frontier = reached
    return _trail(parent, start, goal) if parent[goal] >= 0 else None


def _trail(parent: NDArray[np.int32], start: int, goal: int) -> list[int]:
    trail = [goal]
    while trail[-1] != start:
        trail.append(int(parent[trail[-1]]))
    return trail[::-1]
