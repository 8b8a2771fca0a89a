"""What a reader of the graph sees at one moment: a table of edges, walked in both directions, and its nodes by importance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EDGE", "EdgeRow", "Edges", "GraphState", "Ids", "Positions", "Standing", "check_edges", "edge_table", "find",
]  # fmt: skip

Ids = NDArray[np.int64]
Positions = NDArray[np.signedinteger[Any]]
"""Nodes, or edges, as numbers from 0 on."""
UNIT = 1_000_000
"""Importance is counted in millionths, so that taking an edge away leaves nothing behind."""

EDGE = np.dtype([("id", "<i8"), ("subject", "<i8"), ("object", "<i8"), ("weight", "<f4"), ("support", "<i4")])

Edges = NDArray[np.void]
"""A table of edges (`EDGE`) by ascending id."""


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """What the store eats: a relation between two entities; the weight is finite and not negative.

    `support` counts the paragraphs that it rests on: walks do not use it, the order of importance does.
    """

    id: int
    subject: int
    object: int
    weight: float
    support: int = 1


def edge_table(rows: Sequence[EdgeRow], *, keep_loops: bool = False) -> Edges:
    """Rows as a table by ascending id, checked."""
    edges = np.array([(row.id, row.subject, row.object, row.weight, row.support) for row in rows], EDGE)
    check_edges(edges)
    if not keep_loops:
        edges = edges[edges["subject"] != edges["object"]]
    return edges[np.argsort(edges["id"], kind="stable")]


def check_edges(edges: Edges) -> None:
    """ValueError for a weight that is not a finite number, or below zero."""
    if not np.all((edges["weight"] >= 0) & np.isfinite(edges["weight"])):
        raise ValueError("the weight of an edge is a finite number, not below zero")


@dataclass(frozen=True, slots=True)
class Steps:
    """The half-edges that leave some nodes, four arrays of one length."""

    source: Positions
    """Which of the given nodes: an index into them."""
    node: Positions
    """The node at the other end."""
    weight: NDArray[np.float32]
    edge: Positions
    """The edge, in the graph's own numbering."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Nodes that have an edge, in order, with what puts them there.

    A node's importance is the sum over its edges of their weight times the paragraphs behind them (at least one): its
    strength, or weighted degree, which for an undirected graph is proportional to its PageRank without a restart. Of
    equally important nodes the newer comes first.
    """

    nodes: Ids
    score: NDArray[np.float64]
    degree: Ids
    """Edges at each node."""
    support: Ids
    """Evidence of all of a node's edges."""
    relations: int
    """Edges in all."""
    pairs: int
    """Ordered pairs of nodes that have an edge."""


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


@dataclass(frozen=True)
class MergedEdges:
    """Merged edges, with their nodes numbered by ascending id."""

    edges: Edges
    ids: Ids
    weights: NDArray[np.float32]
    nodes: Ids
    adjacency: _Adjacency

    @classmethod
    def of(cls, edges: Edges) -> MergedEdges:
        """Number the nodes and sort the half-edges."""
        nodes = np.unique(np.concatenate((edges["subject"], edges["object"])))
        heads, tails = (np.searchsorted(nodes, edges[end]) for end in ("subject", "object"))
        adjacency = _Adjacency.of(len(nodes), heads, tails, np.arange(len(nodes), dtype=np.int32))
        return cls(edges, edges["id"].copy(), edges["weight"].copy(), nodes, adjacency)

    @cached_property
    def totals(self) -> Ids:
        """What the edges of each node add up to: a row each of strength, degree and support."""
        totals = np.zeros((3, len(self.nodes)), np.int64)
        columns = _amounts(self.edges)
        for end in ("subject", "object"):
            at = np.searchsorted(self.nodes, self.edges[end])
            for row, column in enumerate(columns):
                totals[row] += np.bincount(at, column, minlength=len(self.nodes)).astype(np.int64)
        return totals

    @cached_property
    def pairs(self) -> tuple[Ids, Ids]:
        """The pairs of nodes that have an edge, as numbers in ascending order, and how many each has."""
        return np.unique(_pair_keys(self.edges), return_counts=True)


@dataclass(frozen=True)
class GraphState:
    """What a reader sees: merged edges, which of them are gone, and those that came since.

    Nodes are numbered through: those of the base first, then those that only recent edges have. So are edges.
    """

    base: MergedEdges
    gone: NDArray[np.bool_]
    recent: Edges

    @classmethod
    def merged(cls, edges: Edges) -> GraphState:
        """A state without recent changes."""
        return cls(MergedEdges.of(edges), np.zeros(len(edges), np.bool_), edges[:0])

    def changed(self, new: Edges, gone: Ids) -> GraphState:
        """The state with edges removed, then others put in; `gone`, ascending, has the ids of both."""
        kept = self.recent[find(gone, self.recent["id"]) < 0]
        at = find(self.base.ids, gone)
        marked = self.gone.copy()
        marked[at[at >= 0]] = True
        return GraphState(self.base, marked, np.insert(kept, np.searchsorted(kept["id"], new["id"]), new))

    @cached_property
    def gone_count(self) -> int:
        """Edges of the base that were removed or replaced."""
        return int(np.count_nonzero(self.gone))

    def edges(self) -> Edges:
        """All live edges by ascending id."""
        edges = np.concatenate((self.base.edges[~self.gone], self.recent))
        return edges[np.argsort(edges["id"], kind="stable")]

    @cached_property
    def standing(self) -> Standing:
        """The nodes by importance: the totals of the merged edges, less those gone, and with the recent ones."""
        new, (pairs, held) = self.new_nodes, self.base.pairs
        totals = np.concatenate((self.base.totals, np.zeros((3, len(new)), np.int64)), axis=1)
        counts, further = held.copy(), 0
        for edges, sign in ((self.base.edges[self.gone], -1), (self.recent, 1)):
            for end in ("subject", "object"):
                at = self.positions(edges[end])
                for row, column in zip(totals, _amounts(edges), strict=True):
                    np.add.at(row, at, sign * column)
            keys = _pair_keys(edges)
            at = find(pairs, keys)
            np.add.at(counts, at[at >= 0], sign)
            further += len(np.unique(keys[at < 0]))
        joined = totals[1] > 0
        nodes, (strength, degree, support) = np.concatenate((self.base.nodes, new))[joined], totals[:, joined]
        order = np.lexsort((-nodes, -strength))
        return Standing(
            nodes[order],
            strength[order] / UNIT,
            degree[order],
            support[order],
            len(self),
            int(np.count_nonzero(counts)) + further,
        )

    def joining(self, nodes: Ids, others: Ids) -> Edges:
        """The live edges that join one of `nodes` with another of them, or with one of `others`."""
        here, there = (found[found >= 0] for found in (self.positions(nodes), self.positions(others)))
        wanted = np.zeros(self.size, np.bool_)
        wanted[here] = wanted[there] = True
        steps = self.steps(here)
        return _pick(self.base.edges, self.recent, np.unique(steps.edge[wanted[steps.node]]))

    def around(self, node: int, depth: int) -> Ids:
        """A node and what is at most so many steps away."""
        reached = self.positions(np.array([node], np.int64))
        for _ in range(depth if reached[0] >= 0 else 0):
            reached = np.union1d(reached, self.steps(reached).node)
        return self.node_ids(reached) if reached[0] >= 0 else np.array([node], np.int64)

    @cached_property
    def new_nodes(self) -> Ids:
        """Nodes that the base does not have, ascending."""
        ends = np.unique(np.concatenate((self.recent["subject"], self.recent["object"])))
        return ends[find(self.base.nodes, ends) < 0]

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
        old, new = find(self.base.nodes, nodes), find(self.new_nodes, nodes)
        return np.where((old < 0) & (new >= 0), len(self.base.nodes) + new, old)

    def node_ids(self, positions: Positions) -> Ids:
        """Ids of numbered nodes."""
        return _pick(self.base.nodes, self.new_nodes, positions)

    def known(self, nodes: Sequence[int]) -> Positions:
        """Numbers of those of the nodes that have an edge, ascending and distinct."""
        found = np.unique(self.positions(np.array(nodes, np.int64)))
        found = found[found >= 0]
        return found[np.unique(self.steps(found).source)]

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
        adjacency = self.base.adjacency
        source, at = adjacency.half_edges(nodes[old])
        edge = adjacency.edges[at]
        if self.gone_count:
            live = ~self.gone[edge]
            source, at, edge = source[live], at[live], edge[live]
        source, node, weight = np.flatnonzero(old)[source], adjacency.nodes[at], self.base.weights[edge]
        if not len(self.recent):
            return Steps(source, node, weight, edge)
        adjacency = self._recent[1]
        further, at = adjacency.half_edges(row[row >= 0])
        new = adjacency.edges[at]
        return Steps(
            np.concatenate((source, np.flatnonzero(row >= 0)[further])),
            np.concatenate((node, adjacency.nodes[at])),
            np.concatenate((weight, self.recent["weight"][new])),
            np.concatenate((edge, len(self.gone) + new)),
        )

    def _split(self, nodes: Positions) -> tuple[NDArray[np.bool_], Positions]:
        """Which of the nodes the base has, and the row of each among the recent edges, or -1."""
        return nodes < len(self.base.nodes), find(self._recent[0], nodes)


def find(ascending: NDArray[Any], values: NDArray[Any]) -> Positions:
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


def _amounts(edges: Edges) -> Ids:
    """What each edge adds to its ends: a row each of strength, degree and support."""
    strength = np.rint(edges["weight"].astype(np.float64) * np.maximum(edges["support"], 1) * UNIT)
    return np.stack((strength.astype(np.int64), np.ones(len(edges), np.int64), edges["support"].astype(np.int64)))


def _pair_keys(edges: Edges) -> Ids:
    """A number for each ordered pair of nodes."""
    return (edges["subject"] << 32) | edges["object"]
