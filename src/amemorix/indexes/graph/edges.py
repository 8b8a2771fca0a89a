"""Edges as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["EDGE", "EdgeRow", "Edges", "check_edges", "edge_table"]

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
