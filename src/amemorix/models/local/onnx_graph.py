"""An ONNX graph in the making."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import onnx

__all__ = ["CONTRIB", "FLOAT", "INT32", "INT64", "Graph"]

CONTRIB = "com.microsoft"
"""The domain of the runtime's own fused operators."""
FLOAT, INT32, INT64 = 1, 6, 7
"""Element types as ONNX numbers them (TensorProto.DataType)."""


class Graph:
    """Nodes and initialisers, added in the order of computation; tensors are known by their names."""

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add an initialiser and return its name; a name that is there already keeps its value."""
        from onnx import numpy_helper

        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def number(self, value: float) -> str:
        """A float32 scalar."""
        return self.constant(f"float_{value!r}", np.array(value, np.float32))

    def axis(self, value: int) -> str:
        """A list of one axis or index."""
        return self.constant(f"axis_{value}", np.array([value], np.int64))

    def node(self, operator: str, inputs: Sequence[str], *, output: str = "", **attributes: Any) -> str:
        """Add a node with one output and return that output's name."""
        output = output or self._fresh(operator)
        self._add(operator, inputs, [output], attributes)
        return output

    def split(self, tensor: str, count: int) -> list[str]:
        """Cut a tensor along its last axis into `count` equal parts."""
        outputs = [f"{self._fresh('Split')}_{part}" for part in range(count)]
        self._add("Split", [tensor], outputs, {"axis": -1, "num_outputs": count})
        return outputs

    def model(
        self, inputs: Mapping[str, tuple[int, Sequence[str | int]]], outputs: Mapping[str, Sequence[str | int]]
    ) -> onnx.ModelProto:
        """The finished model; inputs are of the given element types and shapes, outputs float32 of the given shapes."""
        from onnx import helper

        graph = helper.make_graph(
            self._nodes,
            "sentence_encoder",
            [helper.make_tensor_value_info(name, kind, list(shape)) for name, (kind, shape) in inputs.items()],
            [helper.make_tensor_value_info(name, FLOAT, list(shape)) for name, shape in outputs.items()],
            initializer=list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def _fresh(self, operator: str) -> str:
        return f"{operator}_{len(self._nodes)}"

    def _add(self, operator: str, inputs: Sequence[str], outputs: list[str], attributes: dict[str, Any]) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(operator, inputs, outputs, name=f"n_{outputs[0]}", **attributes))
