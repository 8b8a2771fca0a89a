"""The int8 ONNX graph of a BERT sentence encoder, from its float32 weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .onnx_graph import CONTRIB, FLOAT, INT32, INT64, Graph
from .quantisation import Arithmetic, Float32, Int8
from .runtime import open_session

if TYPE_CHECKING:
    import onnx

__all__ = ["HIDDEN", "WORDS", "Weights", "amplitudes", "build_graph", "int8_graph", "last_hidden", "sample"]

Weights = dict[str, NDArray[np.float32]]

WORDS = "embeddings.word_embeddings.weight"
"""The name of the table of word vectors."""
HIDDEN = "hidden"
"""The name of the last layer's output."""
_EPSILON = 1e-12
_GELU_FLOOR = -0.17
"""Just below the minimum of x * Phi(x), which is -0.16997."""
_STRIDE = 7919


def int8_graph(
    weights: Weights, words: NDArray[np.float32], *, heads: int, directions: NDArray[np.float32] | None = None
) -> onnx.ModelProto:
    """`build_graph` in int8; `words`, shape (texts, length, hidden), are the vectors of `sample`."""
    layers = {name: weight for name, weight in weights.items() if name != WORDS}
    arithmetic = Int8(amplitudes(layers, words, heads=heads))
    return build_graph(weights, heads=heads, arithmetic=arithmetic, directions=directions)


def build_graph(
    weights: Weights, *, heads: int, arithmetic: Arithmetic | None = None, directions: NDArray[np.float32] | None = None
) -> onnx.ModelProto:
    """The graph of a BERT encoder (Devlin et al. 2018, section 3) with mean pooling and L2 normalisation.

    Inputs `input_ids` and `attention_mask`, int64 (batch, length). Outputs, float32: `embedding` (batch, hidden), the
    mean of the token vectors under the mask, divided by its L2 norm; with `directions`, shape (hidden, count), also
    `tokens` (batch, length, count), unit vectors along them. Weights without the table of words make a graph whose first
    input is `words`, float32 (batch, length, hidden), and that also gives the last layer's output, `hidden`.

    Float32 unless another arithmetic is given. The output of each layer normalisation bears its name, but for the
    last.
    """
    encoder = _Encoder(weights, heads, arithmetic or Float32())
    count = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    prefixes = [f"encoder.layer.{layer}." for layer in range(count)]
    hidden = encoder.embeddings()
    for prefix in prefixes:
        hidden = encoder.layer(hidden, prefix, output=HIDDEN if prefix == prefixes[-1] else "")
    return encoder.finished(hidden, directions)


def amplitudes(layers: Weights, words: NDArray[np.float32], *, heads: int) -> Weights:
    """The largest absolute value per channel of each layer normalisation that another layer reads, by its name.

    The vectors of a `sample` do: the channels that stand out in it are those that stand out in sentences.
    """
    model = build_graph(layers, heads=heads)
    names = [node.output[0] for node in model.graph.node if node.output[0].endswith("LayerNorm")]
    measured = _measured(model, names, words)
    return {name: np.abs(values).max((0, 1)) for name, values in zip(names, measured, strict=True)}


def last_hidden(layers: Weights, words: NDArray[np.float32], *, heads: int) -> NDArray[np.float32]:
    """The last layer's output in float32, shape (texts, length, hidden)."""
    return _measured(build_graph(layers, heads=heads), [HIDDEN], words)[0]


def sample(words: int, texts: int = 32, length: int = 64) -> NDArray[np.int64]:
    """Token ids from all over a vocabulary of so many words in no sensible order, shape (texts, length)."""
    return (np.arange(texts * length, dtype=np.int64) * _STRIDE % words).reshape(-1, length)


def _measured(model: onnx.ModelProto, names: list[str], words: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Values inside the graph, each of shape (batch, length, hidden)."""
    from onnx import helper

    known = {output.name for output in model.graph.output}
    model.graph.output.extend(helper.make_tensor_value_info(name, FLOAT, None) for name in names if name not in known)
    session = open_session(model.SerializeToString())
    feed = {"words": words, "attention_mask": np.ones(words.shape[:2], np.int64)}
    return [np.asarray(v) for v in session.run(names, feed)]


class _Encoder:
    """The steps of the encoder, each of which adds nodes to one graph and returns the name of its result."""

    def __init__(self, weights: Weights, heads: int, arithmetic: Arithmetic) -> None:
        self._weights = weights
        self._heads = heads
        self._arithmetic = arithmetic
        self._has_words = WORDS in weights
        self._input = "input_ids" if self._has_words else "words"
        self._graph = Graph()
        self._mask = self._graph.node("Cast", ["attention_mask"], to=INT32)

    def embeddings(self) -> str:
        """Word + position + the vector of segment 0, which is the only one used and is folded into the positions."""
        graph, name = self._graph, "embeddings.{}_embeddings.weight"
        words = self._arithmetic.rows(graph, self._weights[WORDS], "words", "input_ids") if self._has_words else "words"
        table = self._weights[name.format("position")] + self._weights[name.format("token_type")][0]
        length = graph.node("Slice", [graph.node("Shape", [self._input]), graph.axis(1), graph.axis(2)])
        table = graph.constant("positions", table)
        positions = graph.node("Slice", [table, graph.axis(0), length, graph.axis(0)])
        return self._normalise([words, positions], "embeddings.LayerNorm")

    def layer(self, hidden: str, prefix: str, *, output: str = "") -> str:
        """Self-attention, then the feed-forward pair, each added to its input and normalised."""
        graph = self._graph
        name = f"{prefix}attention.output"
        attended = self._product(self._attention(hidden, prefix), f"{name}.dense")
        hidden = self._normalise([attended, self._bias(f"{name}.dense"), hidden], f"{name}.LayerNorm")
        name = f"{prefix}intermediate.dense"
        inner = graph.node("Sum", [self._product(hidden, name), self._bias(name)])
        inner = graph.node("Gelu", [inner], domain=CONTRIB)
        name = f"{prefix}output"
        outer = self._product(inner, f"{name}.dense", floor=_GELU_FLOOR)
        return self._normalise([outer, self._bias(f"{name}.dense"), hidden], f"{name}.LayerNorm", output)

    def finished(self, hidden: str, directions: NDArray[np.float32] | None) -> onnx.ModelProto:
        """The finished graph."""
        width = self._weights["embeddings.LayerNorm.weight"].size
        outputs: dict[str, list[str | int]] = {self._pooled(hidden): ["batch", width]}
        if directions is not None:
            outputs[self._projected(hidden, directions)] = ["batch", "length", directions.shape[1]]
        mask = {"attention_mask": (INT64, ["batch", "length"])}
        if self._has_words:
            return self._graph.model({"input_ids": (INT64, ["batch", "length"])} | mask, outputs)
        outputs[hidden] = ["batch", "length", width]
        return self._graph.model({"words": (FLOAT, ["batch", "length", width])} | mask, outputs)

    def _pooled(self, hidden: str) -> str:
        graph = self._graph
        mask = graph.node("Cast", ["attention_mask"], to=FLOAT)
        column = graph.node("Unsqueeze", [mask, graph.axis(2)])
        total = graph.node("ReduceSum", [graph.node("Mul", [hidden, column]), graph.axis(1)], keepdims=0)
        mean = graph.node("Div", [total, graph.node("ReduceSum", [mask, graph.axis(1)], keepdims=1)])
        norm = graph.node("ReduceL2", [mean, graph.axis(1)], keepdims=1)
        return graph.node("Div", [mean, norm], output="embedding")

    def _projected(self, hidden: str, directions: NDArray[np.float32]) -> str:
        graph = self._graph
        kept = graph.node("MatMul", [hidden, graph.constant("directions", directions)])
        norm = graph.node("ReduceL2", [kept, graph.axis(2)], keepdims=1)
        return graph.node("Div", [kept, norm], output="tokens")

    def _attention(self, hidden: str, prefix: str) -> str:
        """Self-attention in float32; query, key and value are one product, which quantises its input once."""
        graph = self._graph
        parts = [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._weights[f"{part}.weight"] for part in parts])
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        product = self._arithmetic.product(graph, hidden, weight, f"{prefix}qkv.weight")
        inputs = [*graph.split(product, 3), graph.constant(f"{prefix}qkv.bias", bias), self._mask]
        return graph.node("MultiHeadAttention", inputs, domain=CONTRIB, num_heads=self._heads)

    def _product(self, hidden: str, name: str, *, floor: float | None = None) -> str:
        """A dense layer without its bias."""
        weight = self._weights[f"{name}.weight"]
        return self._arithmetic.product(self._graph, hidden, weight, f"{name}.weight", floor)

    def _bias(self, name: str) -> str:
        return self._graph.constant(f"{name}.bias", self._weights[f"{name}.bias"])

    def _normalise(self, summands: list[str], name: str, output: str = "") -> str:
        """The layer normalisation of a sum.

        Sum and not Add, here and before Gelu: the runtime would fuse Add into SkipLayerNormalization, which takes four
        times as long as the two operators it replaces (onnxruntime 1.31, AVX-512), and into BiasGelu, which is slower
        than its parts too.
        """
        total = self._graph.node("Sum", summands)
        parts = [self._graph.constant(f"{name}.{part}", self._weights[f"{name}.{part}"]) for part in ("weight", "bias")]
        inputs = [total, *parts]
        return self._graph.node("LayerNormalization", inputs, output=output or name, axis=-1, epsilon=_EPSILON)
