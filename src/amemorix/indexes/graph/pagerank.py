"""Personalised PageRank by local push: what is near the seeds, without visiting the rest of the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Positions", "Steps", "Walkable", "personalised_pagerank"]

Positions = NDArray[np.signedinteger[Any]]
"""Nodes as numbers from 0 to `Walkable.size - 1`."""


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


class Walkable(Protocol):
    """A weighted undirected graph whose nodes are numbered; parallel edges are allowed."""

    @property
    def size(self) -> int:
        """Number of nodes."""
        ...

    def degrees(self, nodes: Positions) -> NDArray[np.int64]:
        """At most how many half-edges leave each node."""
        ...

    def steps(self, nodes: Positions) -> Steps:
        """The half-edges that leave the nodes."""
        ...


def personalised_pagerank(
    graph: Walkable,
    seeds: Positions,
    mass: NDArray[np.float64],
    *,
    alpha: float = 0.15,
    epsilon: float = 1e-5,
    max_steps: int = 1_000_000,
) -> tuple[Positions, NDArray[np.float64]]:
    """Approximate scores of a walk that returns to the seeds with probability alpha before each step.

    `seeds` are distinct and `mass` is how the walk's starts are shared among them (sum 1). The result is the nodes with a
    score above zero, in no particular order, with their scores: lower bounds, each at most `epsilon` times the node's
    degree too low on a graph where all edges weigh the same, so good for ranking but not as probabilities.

    Forward push of Andersen, Chung and Lang, "Local Graph Partitioning using PageRank Vectors" (FOCS 2006), section 3,
    without the lazy half-step, and of a whole frontier at a time. It walks about `1 / (alpha * epsilon)` half-edges at
    most, and never more than `max_steps`: the last frontier is cut to the nodes that hold the most for each half-edge.
    A node that no weight leaves keeps what it receives.
    """
    rank, residual = np.zeros(graph.size), np.zeros(graph.size)
    residual[seeds] = mass
    frontier = seeds
    while True:
        cost = graph.degrees(frontier)
        if cost.sum() > max_steps:
            order = np.argsort(-residual[frontier] / np.maximum(cost, 1), kind="stable")
            frontier = frontier[order[np.cumsum(cost[order]) <= max_steps]]
        if not len(frontier):
            break
        held = residual[frontier]
        residual[frontier] = 0
        steps = graph.steps(frontier)
        leaving = np.bincount(steps.source, steps.weight, minlength=len(frontier))
        rank[frontier] += np.where(leaving > 0, alpha * held, held)
        passed = np.divide((1 - alpha) * held, leaving, out=np.zeros(len(frontier)), where=leaving > 0)
        np.add.at(residual, steps.node, passed[steps.source] * steps.weight)
        max_steps -= len(steps.node)
        touched = np.unique(steps.node)
        frontier = touched[residual[touched] > epsilon * graph.degrees(touched)]
    found = np.flatnonzero(rank)
    return found, rank[found]
