"""A tiny encoder with random weights, and the graph that is built from it."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from amemorix.models.local.bert_onnx import build_graph
from amemorix.models.local.catalog import LocalModel, ModelFile
from amemorix.models.local.minilm import convert
from amemorix.models.local.runtime import open_session

HIDDEN, HEADS, LAYERS, INNER, POSITIONS = 32, 2, 2, 64, 64
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz", "red", "green", "lake", "boat", "##s"]


def tiny_weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    weights: dict[str, np.ndarray] = {}

    def add(name: str, *shape: int, around: float = 0.0) -> None:
        weights[name] = (around + 0.2 * rng.standard_normal(shape)).astype(np.float32)

    def dense(name: str, out: int, into: int) -> None:
        add(f"{name}.weight", out, into)
        add(f"{name}.bias", out)

    def norm(name: str) -> None:
        add(f"{name}.weight", HIDDEN, around=1.0)
        add(f"{name}.bias", HIDDEN)

    for kind, rows in (("word", len(WORDS)), ("position", POSITIONS), ("token_type", 2)):
        add(f"embeddings.{kind}_embeddings.weight", rows, HIDDEN)
    norm("embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            dense(f"{prefix}attention.self.{part}", HIDDEN, HIDDEN)
        dense(f"{prefix}attention.output.dense", HIDDEN, HIDDEN)
        norm(f"{prefix}attention.output.LayerNorm")
        dense(f"{prefix}intermediate.dense", INNER, HIDDEN)
        dense(f"{prefix}output.dense", HIDDEN, INNER)
        norm(f"{prefix}output.LayerNorm")
    return weights


def published(folder: Path) -> LocalModel:
    """Write the tiny model's published files into `folder` and describe them as the catalogue would."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tiny_weights(), folder / "model.safetensors")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))

    def file(name: str) -> ModelFile:
        content = (folder / name).read_bytes()
        return ModelFile(name, len(content), hashlib.sha256(content).hexdigest())

    return LocalModel(
        name="tiny", repository="nobody/tiny", revision="r1", package="nobody-tiny==1",
        weights=file("model.safetensors"), kept=(file("tokenizer.json"), file("vocab.txt")),
        converter="amemorix.models.local.minilm:convert", dimension=HIDDEN, max_tokens=16, heads=HEADS,
        languages=("en",), licence="Apache-2.0", notice="NOTICE-MiniLM.txt", extra="minilm",
    )  # fmt: skip


def reference(weights: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """The encoder in plain numpy, for one text without padding."""

    def dense(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def attention(x: np.ndarray, prefix: str) -> np.ndarray:
        parts = [dense(x, f"{prefix}attention.self.{part}") for part in ("query", "key", "value")]
        query, key, value = (part.reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in parts)
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return dense(mixed.transpose(1, 0, 2).reshape(len(ids), HIDDEN), f"{prefix}attention.output.dense")

    erf = np.vectorize(math.erf)
    table = "embeddings.{}_embeddings.weight"
    x = weights[table.format("word")][ids] + weights[table.format("position")][: len(ids)]
    x = norm(x + weights[table.format("token_type")][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        x = norm(x + attention(x, prefix), f"{prefix}attention.output.LayerNorm")
        inner = dense(x, f"{prefix}intermediate.dense")
        inner = 0.5 * inner * (1 + erf(inner / math.sqrt(2)))
        x = norm(x + dense(inner, f"{prefix}output.dense"), f"{prefix}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


IDS = np.array([[2, 5, 9, 30, 3], [2, 31, 3, 0, 0]], np.int64)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], np.int64)
"""Two texts of different length, the shorter one padded."""


def run(graph: bytes | str, ids: np.ndarray = IDS, mask: np.ndarray = MASK, output: str = "embedding") -> np.ndarray:
    """One output of an encoder's graph."""
    return infer(graph, output, {"input_ids": ids, "attention_mask": mask})


def infer(graph: bytes | str, output: str, feed: dict[str, np.ndarray]) -> np.ndarray:
    """One output of any graph."""
    return np.asarray(open_session(graph).run([output], feed)[0])


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    weights = tiny_weights()
    return np.stack([reference(weights, [2, 5, 9, 30, 3]), reference(weights, [2, 31, 3])])


@pytest.fixture(scope="module")
def int8(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("int8")
    convert(folder / "model.safetensors", folder / "out.onnx", published(folder))
    return str(folder / "out.onnx")


def test_the_graph_computes_what_plain_numpy_computes(expected: np.ndarray) -> None:
    got = run(build_graph(tiny_weights(), heads=HEADS).SerializeToString())

    np.testing.assert_allclose(got, expected, atol=2e-5)


def test_the_int8_graph_is_near_and_of_unit_length(int8: str, expected: np.ndarray) -> None:
    got = run(int8)

    assert (got * expected).sum(1).min() > 0.999
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1.0, atol=1e-5)


def test_the_texts_beside_it_do_not_change_a_vector(int8: str) -> None:
    together = run(int8)

    np.testing.assert_allclose(run(int8, IDS[:1], MASK[:1])[0], together[0], atol=1e-5)
    np.testing.assert_allclose(run(int8, IDS[1:, :3], MASK[1:, :3])[0], together[1], atol=1e-5)


def test_token_vectors_keep_their_angles(int8: str) -> None:
    """With as many directions as dimensions nothing is lost: the angles are those of the full vectors."""
    tokens = run(int8, output="tokens")

    full = infer(with_hidden(int8), "hidden", {"input_ids": IDS, "attention_mask": MASK})
    full /= np.linalg.norm(full, axis=2, keepdims=True)
    assert tokens.shape == (2, 5, HIDDEN)
    np.testing.assert_allclose(tokens @ tokens.transpose(0, 2, 1), full @ full.transpose(0, 2, 1), atol=1e-4)


def with_hidden(path: str) -> bytes:
    """The graph with its last hidden layer as an output."""
    import onnx

    model = onnx.load(path)
    model.graph.output.append(onnx.helper.make_tensor_value_info("hidden", onnx.TensorProto.FLOAT, None))
    return model.SerializeToString()
