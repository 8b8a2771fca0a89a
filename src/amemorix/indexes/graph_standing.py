"""The nodes of some edges by importance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .graph_edges import Edges

__all__ = ["Standing"]

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Standing:
    """Nodes in order, with what puts them there.

    A node's importance is the sum over its edges of their weight times the paragraphs behind them (at least one): its
    strength, or weighted degree, which for an undirected graph is proportional to its PageRank without a restart. Of
    equally important nodes the newer comes first.
    """

    edges: Edges
    nodes: Ids
    score: NDArray[np.float64]
    degree: Ids
    """Edges at each node."""
    support: Ids
    """Evidence of all of a node's edges."""
    pairs: int
    """Ordered pairs of nodes that have an edge."""

    @classmethod
    def of(cls, edges: Edges) -> Standing:
        """The nodes of these edges."""
        ends = np.concatenate((edges["subject"], edges["object"]))
        nodes, place = np.unique(ends, return_inverse=True)
        counted = np.maximum(edges["support"], 1)
        weighed = np.tile(edges["weight"] * counted, 2)
        strength = np.bincount(place, weighed, minlength=len(nodes)).astype(np.float64)
        support = np.bincount(place, np.tile(edges["support"], 2), minlength=len(nodes)).astype(np.int64)
        degree = np.bincount(place, minlength=len(nodes))
        half = len(edges)
        pairs = len(np.unique(place[:half] * np.int64(max(len(nodes), 1)) + place[half:]))
        order = np.lexsort((-nodes, -strength))
        return cls(edges, nodes[order], strength[order], degree[order], support[order], pairs)

    def among(self, nodes: Ids, before: Ids) -> Edges:
        """The edges that join one of `nodes` with another of them, or with one of `before`."""
        subject, object_ = self.edges["subject"], self.edges["object"]
        begins, ends = np.isin(subject, nodes), np.isin(object_, nodes)
        inside = begins & ends
        if len(before):
            inside |= (begins & np.isin(object_, before)) | (ends & np.isin(subject, before))
        return self.edges[inside]
