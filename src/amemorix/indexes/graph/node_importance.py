"""The nodes of a graph by importance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .edges import Edges

__all__ = ["Ranks", "Standing", "amounts", "pair_keys"]

Ids = NDArray[np.int64]
UNIT = 1_000_000
"""Importance is counted in millionths, so that taking an edge away leaves nothing behind."""


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

    @classmethod
    def of(cls, nodes: Ids, totals: Ids, relations: int, pairs: int) -> Standing:
        """Order nodes by their totals: a row each of strength, degree and support; nodes without an edge are left out."""
        strength, degree, support = totals[:, totals[1] > 0]
        nodes = nodes[totals[1] > 0]
        order = np.lexsort((-nodes, -strength))
        return cls(nodes[order], strength[order] / UNIT, degree[order], support[order], relations, pairs)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Totals of the nodes of many edges, and how many edges each pair of nodes has."""

    totals: Ids
    pairs: Ids
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, edges: Edges, nodes: Ids) -> Ranks:
        """Of edges between these nodes, given in ascending order."""
        totals = np.zeros((3, len(nodes)), np.int64)
        columns = amounts(edges)
        for end in ("subject", "object"):
            at = np.searchsorted(nodes, edges[end])
            for row, column in enumerate(columns):
                totals[row] += np.bincount(at, column, minlength=len(nodes)).astype(np.int64)
        return cls(totals, *np.unique(pair_keys(edges), return_counts=True))


def amounts(edges: Edges) -> Ids:
    """What each edge adds to its ends: a row each of strength, degree and support."""
    strength = np.rint(edges["weight"].astype(np.float64) * np.maximum(edges["support"], 1) * UNIT)
    return np.stack((strength.astype(np.int64), np.ones(len(edges), np.int64), edges["support"].astype(np.int64)))


def pair_keys(edges: Edges) -> Ids:
    """A number for each ordered pair of nodes."""
    return (edges["subject"] << 32) | edges["object"]
