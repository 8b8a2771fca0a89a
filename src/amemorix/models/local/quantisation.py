"""The arithmetic of an encoder's weights: float32, or int8 with one scale per token and per channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .onnx_graph import CONTRIB, FLOAT, Graph

__all__ = ["Arithmetic", "Float32", "Int8"]

_LEVELS = 127
"""Steps on either side of zero in a signed byte."""
_TINY = 1e-12
"""Stands for a range of zero, by which nothing can be divided."""


class Arithmetic(Protocol):
    """How a graph looks rows up in a table and multiplies by a weight matrix."""

    def rows(self, graph: Graph, table: NDArray[np.float32], name: str, ids: str) -> str:
        """The rows `ids` of `table`, float32 (..., columns)."""
        ...

    def product(
        self, graph: Graph, hidden: str, weight: NDArray[np.float32], name: str, floor: float | None = None
    ) -> str:
        """`hidden` (..., in) times the transpose of `weight` (out, in), float32 (..., out).

        `floor` is a negative bound that `hidden` never falls below, if there is one near zero.
        """
        ...


class Float32:
    """Weights as they are published."""

    def rows(self, graph: Graph, table: NDArray[np.float32], name: str, ids: str) -> str:
        return graph.node("Gather", [graph.constant(name, table), ids])

    def product(
        self,
        graph: Graph,
        hidden: str,
        weight: NDArray[np.float32],
        name: str,
        floor: float | None = None,  # noqa: ARG002
    ) -> str:
        return graph.node("MatMul", [hidden, graph.constant(name, weight.T)])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows in unsigned bytes: `value = (byte - zero) / steps * reach`, with one `reach` per row."""

    values: str
    reach: str
    zero: int
    steps: int


class Int8:
    """Weights in bytes with one scale per output channel, activations in bytes with one scale per token.

    A token's scale is its own, so a text's vector does not depend on the texts beside it in the batch. Activations
    are unsigned and weights signed, for which the runtime has its fastest kernel. (Processors without VNNI sum pairs
    of products in 16 bits there and clip the few that do not fit.)

    `amplitudes` are the largest absolute values per channel of the named activations. These are smoothed: divided
    per channel by sqrt(amplitude of activation / amplitude of weight), which the weights take over (SmoothQuant,
    Xiao et al. 2023, equation 4 with alpha = 0.5).
    """

    def __init__(self, amplitudes: Mapping[str, NDArray[np.float32]]) -> None:
        self._amplitudes = amplitudes

    def rows(self, graph: Graph, table: NDArray[np.float32], name: str, ids: str) -> str:
        """Bytes with one scale per row of the table."""
        values, scales = _bytes_per_row(table)
        row = graph.node("Gather", [graph.constant(f"{name}.int8", values), ids])
        scale = graph.node("Gather", [graph.constant(f"{name}.scale", scales[:, None]), ids])
        return graph.node("Mul", [graph.node("Cast", [row], to=FLOAT), scale])

    def product(
        self, graph: Graph, hidden: str, weight: NDArray[np.float32], name: str, floor: float | None = None
    ) -> str:
        """One integer matrix product, scaled per column by the operator and per row after it."""
        hidden, weight = self._smooth(graph, hidden, weight, name)
        rows = _signed_rows(graph, hidden) if floor is None else _floored_rows(graph, hidden, floor)
        values, scales = _bytes_per_row(weight)
        inputs = [rows.values, graph.constant(f"{name}.int8", values.T), graph.number(1 / rows.steps)]
        inputs += [graph.constant(f"{name}.scale", scales), _zero_point(graph, rows.zero)]
        return graph.node("Mul", [graph.node("MatMulIntegerToFloat", inputs, domain=CONTRIB), rows.reach])

    def _smooth(
        self, graph: Graph, hidden: str, weight: NDArray[np.float32], name: str
    ) -> tuple[str, NDArray[np.float32]]:
        amplitude = self._amplitudes.get(hidden)
        if amplitude is None:
            return hidden, weight
        factor = np.sqrt(np.maximum(amplitude, _TINY) / np.maximum(np.abs(weight).max(0), _TINY))
        return graph.node("Mul", [hidden, graph.constant(f"{name}.smoothing", 1 / factor)]), weight * factor


def _bytes_per_row(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Signed bytes and the scale of each row, by which they are multiplied to get the row back."""
    scales = np.maximum(np.abs(matrix).max(1), _TINY) / _LEVELS
    return np.round(matrix / scales[:, None]).astype(np.int8), scales


def _signed_rows(graph: Graph, hidden: str) -> _Rows:
    reach = _largest(graph, graph.node("Abs", [hidden]), at_least=_TINY)
    return _in_bytes(graph, hidden, reach, zero=_LEVELS + 1, steps=_LEVELS)


def _floored_rows(graph: Graph, hidden: str, floor: float) -> _Rows:
    """An eighth of the range below zero, the row's largest value at the end; the scale has room for `floor`."""
    zero, steps = 32, 223
    reach = _largest(graph, hidden, at_least=-floor * steps / zero)
    return _in_bytes(graph, hidden, reach, zero=zero, steps=steps)


def _largest(graph: Graph, tensor: str, *, at_least: float) -> str:
    largest = graph.node("ReduceMax", [tensor, graph.axis(-1)], keepdims=1)
    return graph.node("Max", [largest, graph.number(at_least)])


def _in_bytes(graph: Graph, hidden: str, reach: str, *, zero: int, steps: int) -> _Rows:
    share = graph.node("Div", [hidden, reach])
    values = graph.node("QuantizeLinear", [share, graph.number(1 / steps), _zero_point(graph, zero)])
    return _Rows(values, reach, zero, steps)


def _zero_point(graph: Graph, value: int) -> str:
    return graph.constant(f"zero_{value}", np.array(value, np.uint8))
