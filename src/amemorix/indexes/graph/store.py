"""Who is related to whom, as adjacency in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from tokenize import TokenError

import numpy as np
from numpy.typing import NDArray

from ...store.sealed_files import Folder, load_array, save_array
from .state import EDGE, EdgeRow, Edges, GraphState, Ids, Positions, check_edges, edge_table, find

__all__ = ["EdgeRow", "GraphStore"]

_BATCH = 10_000
_FORMAT = "graph/2"


class GraphStore:
    """An index of weighted edges, walked in both directions; parallel edges add up and loops are left out.

    A node exists while it has an edge. Asking for one that does not is no error: it has no neighbours, paths or rank.
    """

    name = "graph"

    def __init__(self) -> None:
        self._changing = Lock()
        self._state = GraphState.merged(edge_table([]))

    @property
    def fingerprint(self) -> str:
        """The format."""
        return _FORMAT

    def __len__(self) -> int:
        return len(self._state)

    def neighbours(self, node: int) -> tuple[Ids, NDArray[np.float32]]:
        """The nodes next to a node by ascending id, with the summed weights of the edges between."""
        state = self._state
        steps = state.steps(state.known([node]))
        nodes, inverse = np.unique(state.node_ids(steps.node), return_inverse=True)
        return nodes, np.bincount(inverse, steps.weight, minlength=len(nodes)).astype(np.float32)

    def degree(self, node: int) -> int:
        """How many nodes are next to a node."""
        return len(self.neighbours(node)[0])

    def edges_of(self, node: int) -> list[EdgeRow]:
        """The edges that begin or end at a node, by ascending id."""
        state = self._state
        return state.edge_rows(state.steps(state.known([node])).edge)

    def subgraph(self, nodes: Sequence[int]) -> list[EdgeRow]:
        """The edges among some nodes, by ascending id."""
        state = self._state
        known = state.known(nodes)
        steps = state.steps(known)
        return state.edge_rows(steps.edge[find(known, steps.node) >= 0])

    def path(self, a: int, b: int, max_hops: int = 4) -> list[int] | None:
        """The nodes of a shortest path from a to b, both included; None if there is none so short."""
        state = self._state
        start, goal = (state.known([node]) for node in (a, b))
        if not len(start) or not len(goal):
            return None
        begin, end = int(start[0]), int(goal[0])
        parent = np.full(state.size, -1, np.int32)
        parent[begin] = begin
        frontier: Positions = np.array([begin])
        for _ in range(max_hops):
            if parent[end] >= 0 or not len(frontier):
                break
            steps = state.steps(frontier)
            fresh = parent[steps.node] < 0
            reached, first = np.unique(steps.node[fresh], return_index=True)
            parent[reached] = frontier[steps.source[fresh][first]]
            frontier = reached
        if parent[end] < 0:
            return None
        trail = [end]
        while trail[-1] != begin:
            trail.append(int(parent[trail[-1]]))
        return state.node_ids(np.array(trail[::-1])).tolist()

    def pagerank(
        self,
        seeds: Mapping[int, float],
        alpha: float = 0.15,
        epsilon: float = 1e-5,
        limit: int | None = None,
        max_steps: int = 1_000_000,
    ) -> tuple[Ids, NDArray[np.float64]]:
        """The nodes near the seeds as (nodes, scores), best first, equal ones by id, at most `limit`.

        Scores are those of a walk that returns to the seeds with probability alpha before each step. `seeds` are nodes
        with their shares of the walk's starts; those that do not exist, or have no share above zero, are left out. A
        score is a lower bound, at most `epsilon` times the node's degree too low on a graph where all edges weigh the
        same, so good for ranking but not as a probability.

        Personalised PageRank by local push, without visiting the rest of the graph: forward push of Andersen, Chung and
        Lang, "Local Graph Partitioning using PageRank Vectors" (FOCS 2006), section 3, without the lazy half-step, and of
        a whole frontier at a time. It walks about `1 / (alpha * epsilon)` half-edges at most, and never more than
        `max_steps`: the last frontier is cut to the nodes that hold the most for each half-edge. A node that no weight
        leaves keeps what it receives.
        """
        state = self._state
        frontier = state.known([node for node, share in seeds.items() if share > 0])
        mass = np.array([seeds[node] for node in state.node_ids(frontier).tolist()], np.float64)
        rank, residual = np.zeros(state.size), np.zeros(state.size)
        residual[frontier] = mass / (mass.sum() or 1.0)
        while True:
            cost = state.degrees(frontier)
            if cost.sum() > max_steps:
                order = np.argsort(-residual[frontier] / np.maximum(cost, 1), kind="stable")
                frontier = frontier[order[np.cumsum(cost[order]) <= max_steps]]
            if not len(frontier):
                break
            held = residual[frontier]
            residual[frontier] = 0
            steps = state.steps(frontier)
            leaving = np.bincount(steps.source, steps.weight, minlength=len(frontier))
            rank[frontier] += np.where(leaving > 0, alpha * held, held)
            passed = np.divide((1 - alpha) * held, leaving, out=np.zeros(len(frontier)), where=leaving > 0)
            np.add.at(residual, steps.node, passed[steps.source] * steps.weight)
            max_steps -= len(steps.node)
            touched = np.unique(steps.node)
            frontier = touched[residual[touched] > epsilon * state.degrees(touched)]
        found = np.flatnonzero(rank)
        nodes, scores = state.node_ids(found), rank[found]
        order = np.lexsort((nodes, -scores))[:limit]
        return nodes[order], scores[order]

    def dump(self) -> dict[int, tuple[int, int, float, int]]:
        """Every edge's id with (subject, object, weight, support)."""
        return {number: tuple(rest) for number, *rest in self._state.edges().tolist()}

    @property
    def state(self) -> GraphState:
        """The graph as it is at this moment; it does not change."""
        return self._state

    def build(self, rows: Iterator[EdgeRow]) -> None:
        """Replace the whole content; of rows with the same id the last counts. ValueError leaves the store as it was."""
        parts: list[Edges] = []
        while batch := list(islice(rows, _BATCH)):
            parts.append(edge_table(batch, keep_loops=True))
        edges = np.concatenate(parts) if parts else edge_table([])
        edges = edges[np.argsort(edges["id"], kind="stable")]
        last = np.append(edges["id"][1:] != edges["id"][:-1], True)[: len(edges)]
        built = GraphState.merged(edges[last & (edges["subject"] != edges["object"])])
        with self._changing:
            self._state = built

    def apply(self, rows: Sequence[EdgeRow], removed: Sequence[int]) -> None:
        """Remove ids, then insert or replace rows. ValueError leaves the store as it was."""
        new = edge_table(list({row.id: row for row in rows}.values()))
        gone = np.unique(np.array([*removed, *(row.id for row in rows)], np.int64))
        with self._changing:
            self._state = self._state.changed(new, gone)

    def compact(self) -> bool:
        """Merge once changes are more than 2,000 and 2 % of the edges; True if it did."""
        with self._changing:
            state = self._state
            worth_it = len(state.recent) + state.gone_count > max(2_000, len(state) // 50)
            if worth_it:
                self._state = GraphState.merged(state.edges())
        return worth_it

    def save(self, folder: Folder) -> None:
        """Write `edges.npy`: id, subject, object, weight and support of every edge, by ascending id."""
        save_array(folder, "edges.npy", self._state.edges())

    def load(self, folder: Folder) -> None:
        """Read what `save` wrote; ValueError or OSError if it does not fit."""
        try:
            edges: Edges = np.array(load_array(folder, "edges.npy"))
        except (ArithmeticError, EOFError, MemoryError, SyntaxError, TokenError, TypeError) as exc:
            raise ValueError(f"edges.npy in {folder} is damaged: {exc}") from exc
        if edges.dtype != EDGE or edges.ndim != 1:
            raise ValueError(f"edges.npy in {folder} is of another format")
        check_edges(edges)
        if np.any(np.diff(edges["id"]) <= 0) or np.any(edges["subject"] == edges["object"]):
            raise ValueError(f"edges.npy in {folder} is out of order")
        with self._changing:
            self._state = GraphState.merged(edges)
