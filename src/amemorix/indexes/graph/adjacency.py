"""Half-edges by the node they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .pagerank import Positions

__all__ = ["Adjacency"]


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Compressed sparse rows: the half-edges of row r are `starts[r]` to `starts[r + 1]` of the other two arrays."""

    starts: NDArray[np.int64]
    nodes: NDArray[np.int32]
    edges: NDArray[np.int32]

    @classmethod
    def of(cls, rows: int, heads: Positions, tails: Positions, nodes: NDArray[np.int32]) -> Adjacency:
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
