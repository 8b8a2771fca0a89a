"""The conversion of a BERT sentence encoder from safetensors to an int8 ONNX graph."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .telemetry import refuse_telemetry

if TYPE_CHECKING:
    import onnx

__all__ = ["build_graph", "convert", "quantise"]

Weights = dict[str, NDArray[np.float32]]

_CONTRIB = "com.microsoft"
_EPSILON = 1e-12
_FLOAT, _INT32 = 1, 6
"""Element types as ONNX numbers them (TensorProto.FLOAT, TensorProto.INT32)."""


def convert(weights: Path, target: Path, *, heads: int) -> None:
    """Write `weights` (safetensors) as an int8 graph to `target`.

    Inputs `input_ids` and `attention_mask`, int64 (batch, length); output `embedding`, float32 (batch, hidden):
    the mean of the token vectors under the mask, divided by its L2 norm.
    """
    import onnx
    from safetensors.numpy import load_file

    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        full = Path(folder) / "full.onnx"
        onnx.save(build_graph(load_file(weights), heads=heads), full)
        quantise(full, target)


def quantise(full: Path, target: Path) -> None:
    """Quantise the float32 graph `full` to int8 with one scale per channel."""
    refuse_telemetry()
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        full,
        target,
        per_channel=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul", "Attention", "Gather"],
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def build_graph(weights: Weights, *, heads: int) -> onnx.ModelProto:
    """The float32 graph of a BERT encoder (Devlin et al. 2018, section 3) with mean pooling and L2 normalisation."""
    graph = _Graph(weights)
    hidden = _embeddings(graph)
    for layer in range(_layers(weights)):
        hidden = _layer(graph, hidden, f"encoder.layer.{layer}.", heads)
    _pool(graph, hidden)
    return graph.model(weights["embeddings.word_embeddings.weight"].shape[1])


def _layers(weights: Weights) -> int:
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


class _Graph:
    """Nodes and initialisers of an ONNX graph in the making."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        self.constant("axis0", np.array([0], np.int64))
        self.constant("axis1", np.array([1], np.int64))
        self.constant("axis2", np.array([2], np.int64))

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add an initialiser and return its name."""
        from onnx import numpy_helper

        self._initializers.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, operator: str, inputs: list[str], *, output: str = "", **attributes: Any) -> str:
        """Add a node with one output and return that output's name."""
        from onnx import helper

        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], name=f"n_{output}", **attributes))
        return output

    def linear(self, hidden: str, name: str) -> str:
        """A dense layer: weights are stored as (out, in)."""
        weight = self.constant(f"{name}.weight", self.weights[f"{name}.weight"].T)
        product = self.node("MatMul", [hidden, weight])
        return self.node("Add", [product, self.constant(f"{name}.bias", self.weights[f"{name}.bias"])])

    def normalise(self, hidden: str, name: str) -> str:
        """Layer normalisation over the last axis."""
        parts = [self.constant(f"{name}.{part}", self.weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self.node("LayerNormalization", [hidden, *parts], axis=-1, epsilon=_EPSILON)

    def model(self, hidden_size: int) -> onnx.ModelProto:
        """The finished model."""
        from onnx import TensorProto, helper

        graph = helper.make_graph(
            self._nodes,
            "sentence_encoder",
            [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"]) for n in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["b", hidden_size])],
            initializer=self._initializers,
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_CONTRIB, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _embeddings(graph: _Graph) -> str:
    """Word + position + the vector of segment 0, which is the only one used and is folded into the positions."""
    name = "embeddings.{}_embeddings.weight"
    words = graph.constant("words", graph.weights[name.format("word")])
    table = graph.weights[name.format("position")] + graph.weights[name.format("token_type")][0]
    shape = graph.node("Shape", ["input_ids"])
    length = graph.node("Slice", [shape, "axis1", "axis2"])
    positions = graph.node("Slice", [graph.constant("positions", table), "axis0", length, "axis0"])
    both = graph.node("Add", [graph.node("Gather", [words, "input_ids"]), positions])
    return graph.normalise(both, "embeddings.LayerNorm")


def _layer(graph: _Graph, hidden: str, prefix: str, heads: int) -> str:
    attended = graph.linear(_attention(graph, hidden, prefix, heads), f"{prefix}attention.output.dense")
    hidden = graph.normalise(graph.node("Add", [attended, hidden]), f"{prefix}attention.output.LayerNorm")
    inner = graph.node("Gelu", [graph.linear(hidden, f"{prefix}intermediate.dense")], domain=_CONTRIB)
    outer = graph.linear(inner, f"{prefix}output.dense")
    return graph.normalise(graph.node("Add", [outer, hidden]), f"{prefix}output.LayerNorm")


def _attention(graph: _Graph, hidden: str, prefix: str, heads: int) -> str:
    """Self-attention as the runtime's fused operator, which takes query, key and value side by side."""
    parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
    weight = np.concatenate([graph.weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([graph.weights[f"{part}.bias"] for part in parts])
    inputs = [hidden, graph.constant(f"{prefix}qkv.weight", weight), graph.constant(f"{prefix}qkv.bias", bias)]
    mask = graph.node("Cast", ["attention_mask"], to=_INT32)
    return graph.node("Attention", [*inputs, mask], domain=_CONTRIB, num_heads=heads)


def _pool(graph: _Graph, hidden: str) -> None:
    mask = graph.node("Cast", ["attention_mask"], to=_FLOAT)
    column = graph.node("Unsqueeze", [mask, "axis2"])
    total = graph.node("ReduceSum", [graph.node("Mul", [hidden, column]), "axis1"], keepdims=0)
    mean = graph.node("Div", [total, graph.node("ReduceSum", [mask, "axis1"], keepdims=1)])
    norm = graph.node("ReduceL2", [mean, "axis1"], keepdims=1)
    graph.node("Div", [mean, norm], output="embedding")
