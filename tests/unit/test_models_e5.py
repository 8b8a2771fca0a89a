"""multilingual-e5-small: a tiny file of its layout, read, installed and asked; and, where it is installed, the real model."""

from __future__ import annotations

import dataclasses
import hashlib
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from amemorix import AMemorixHostService
from amemorix.errors import ModelUnavailable
from amemorix.models.local import catalog
from amemorix.models.local.bert_onnx import WORDS as TABLE
from amemorix.models.local.catalog import LocalModel, ModelFile
from amemorix.models.local.e5 import read_published, rows
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import GRAPH, find_installed, install
from amemorix.models.local.unigram import Unigram, hashed
from amemorix.ports import CODE_SCALE, Encoded
from amemorix.testing import memory_host
from entrance import found, said
from test_models_tiny import HEADS, HIDDEN, INNER, LAYERS, POSITIONS, published, reference, tiny_weights

SCORES = {
    "<s>": 0.0, "<pad>": 0.0, "</s>": 0.0, "<unk>": 0.0, "▁query": -9.0, "▁passage": -9.0, ":": -4.0, "▁": -5.0,
    "▁red": -8.0, "▁green": -9.0, "▁lake": -10.0, "▁boat": -9.5, "s": -4.5, "▁我": -7.0, "对": -7.5, "花": -9.0,
    "生": -9.0, "花生": -11.0, "▁the": -3.5, "过敏": -11.0,
}  # fmt: skip
PIECES = list(SCORES)
SHORT = {"query": "q", "key": "k", "value": "v"}


def packed(weight: np.ndarray) -> bytes:
    """Blocks of 32 weights in four bits with a scale of half precision."""
    blocks = weight.reshape(-1, 32)
    scales = (np.abs(blocks).max(1) / 7).astype("<f2")
    numbers = np.clip(np.round(blocks / scales[:, None].astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    return b"".join(
        scale.tobytes() + (block[:16] | block[16:] << 4).tobytes() for scale, block in zip(scales, numbers, strict=True)
    )


def weights_file() -> tuple[bytes, dict[str, np.ndarray]]:
    """A file of the published layout, and the float32 weights that went into it."""
    weights = tiny_weights()
    weights[TABLE] = weights[TABLE][: len(PIECES)]
    parts: dict[str, bytes] = {
        "emb.word": packed(weights[TABLE]),
        "emb.pos": weights["embeddings.position_embeddings.weight"].tobytes(),
        "emb.type": weights["embeddings.token_type_embeddings.weight"].tobytes(),
        "emb.ln.w": weights["embeddings.LayerNorm.weight"].tobytes(),
        "emb.ln.b": weights["embeddings.LayerNorm.bias"].tobytes(),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for name, short in (
            *((f"attention.self.{part}", letter) for part, letter in SHORT.items()),
            ("attention.output.dense", "ao"), ("intermediate.dense", "fi"), ("output.dense", "fo"),
        ):  # fmt: skip
            parts[f"l{layer}.{short}.w"] = packed(weights[f"{prefix}{name}.weight"])
            parts[f"l{layer}.{short}.b"] = weights[f"{prefix}{name}.bias"].tobytes()
        for name, short in (("attention.output.LayerNorm", "aln"), ("output.LayerNorm", "oln")):
            parts[f"l{layer}.{short}.w"] = weights[f"{prefix}{name}.weight"].tobytes()
            parts[f"l{layer}.{short}.b"] = weights[f"{prefix}{name}.bias"].tobytes()
    blob = "".join(PIECES).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    scores = np.array(list(SCORES.values()), "<f4")
    normalisations = struct.pack("<IBI", 0x3000, 1, 0x20)
    head = struct.pack("<4sI7if6iQ", b"E5S1", 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32,
                       len(PIECES), 0, 2, 1, 3, len(blob))  # fmt: skip
    head += offsets.tobytes() + scores.tobytes() + blob
    head += struct.pack("<iI", 1, len(normalisations)) + normalisations + struct.pack("<i", len(parts))
    place = len(head) + sum(2 + len(name) + 21 for name in parts)
    for name, content in parts.items():
        head += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 1, 0, place, len(content))
        place += len(content)
    return head + b"".join(parts.values()), weights


def published_e5(folder: Path) -> LocalModel:
    """Write the tiny file and centres into `folder` and describe them as the catalogue would."""
    folder.mkdir(parents=True, exist_ok=True)
    content = weights_file()[0]
    (folder / "tiny.bin").write_bytes(content)
    rng = np.random.default_rng(5)
    middle = {role: 0.05 * rng.standard_normal(HIDDEN).astype(np.float32) for role in ("passage", "query", "token")}
    turned = np.linalg.qr(rng.standard_normal((HIDDEN, HIDDEN)))[0].astype(np.float32)
    np.savez(folder / "centres.npz", **middle, languages=turned[:, :2], directions=turned[:, 2:10])
    return dataclasses.replace(
        catalog.E5, name="tiny-e5", dimension=HIDDEN, heads=HEADS, max_tokens=16, centres=folder / "centres.npz",
        weights=ModelFile("tiny.bin", len(content), hashlib.sha256(content).hexdigest()),
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("e5")
    return install(published_e5(root / "published"), root / "published", root / "cache")


def test_the_published_file_is_read_to_the_bit(tmp_path: Path) -> None:
    content, weights = weights_file()
    (tmp_path / "tiny.bin").write_bytes(content)

    found = read_published(tmp_path / "tiny.bin")

    assert (found.pieces, found.scores.tolist()) == (PIECES, list(SCORES.values()))
    assert set(found.layers) | {TABLE} == set(weights)
    for name, weight in {**found.layers, TABLE: rows(found.table)}.items():
        exact = "Norm" in name or name.endswith("bias") or "position" in name or "type" in name
        step = 0 if exact else np.abs(weights[name]).max() / 7
        assert np.abs(weight - weights[name]).max() <= 0.51 * step, name


@pytest.mark.parametrize("content", [b"GGUF" + bytes(100), b"short"])
def test_a_file_of_another_layout_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "tiny.bin").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"tiny\.bin is not of the layout"):
        read_published(tmp_path / "tiny.bin")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("red boats", ["▁red", "▁boat", "s"]),
        ("我对花生过敏", ["▁我", "对", "花生", "过敏"]),
        ("花花生", ["▁", "花", "花生"]),
        ("　ＲＥＤ\tred\u200b red\n", ["▁", "<unk>", "▁red", "▁red"]),
        ("xyz boat", ["▁", "<unk>", "▁boat"]),
        ("<s>", ["▁", "<unk>", "s", "<unk>"]),
    ],
)
def test_a_text_is_cut_in_the_most_probable_way(text: str, pieces: list[str]) -> None:
    known = [piece for piece, score in SCORES.items() if score < 0]
    hashes = hashed(known)
    order = np.argsort(hashes)
    ids = np.array([PIECES.index(known[place]) for place in order], np.int32)
    scores = np.array([SCORES[known[place]] for place in order], np.float32)

    assert [PIECES[id_] for id_ in Unigram(hashes[order], ids, scores, unknown=3).cut(text)] == pieces


def test_it_installs_whole(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["NOTICE.txt", "centres.npz", "manifest.json", GRAPH, "pieces.npz", "words.npy"]
    assert "MIT License" in (folder / "NOTICE.txt").read_text()


def test_vectors_are_those_of_plain_numpy_without_what_they_share(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.bin").write_bytes(weights_file()[0])
    file = read_published(tmp_path / "tiny.bin")
    weights = {**file.layers, TABLE: rows(file.table)}
    centres = np.load(folder / "centres.npz")

    def expected(text: str, role: str) -> np.ndarray:
        ids = [0, PIECES.index(f"▁{role}"), PIECES.index(":"), *map(PIECES.index, text.split()), 2]
        away = reference(weights, ids) - centres[role]
        away -= centres["languages"] @ (centres["languages"].T @ away)
        return away / np.linalg.norm(away)

    embedder = LocalEmbedder(folder)
    (passage,) = embedder.encode(["red boat"])
    (query,) = embedder.encode(["red boat"], query=True)

    assert float(passage.vector @ expected("▁red ▁boat", "passage")) > 0.99
    assert float(query.vector @ expected("▁red ▁boat", "query")) > 0.99
    assert float(passage.vector @ query.vector) < 0.99
    np.testing.assert_allclose(embedder.embed(["red boat"])[0], passage.vector, atol=1e-6)


def test_tokens_are_content_and_weigh_their_surprisal(folder: Path) -> None:
    (found,) = LocalEmbedder(folder).encode(["the red lake"])

    assert found.tokens.shape == (2, 8)
    np.testing.assert_allclose(np.linalg.norm(found.tokens.astype(float), axis=1), CODE_SCALE, atol=2)
    np.testing.assert_allclose(found.weights, [2 / 6, 4 / 6], atol=1e-6)


def test_nothing_but_stop_words_is_content_after_all(folder: Path) -> None:
    embedder = LocalEmbedder(folder)

    assert [len(found.tokens) for found in embedder.encode(["the", "", "red lake " * 40])] == [1, 0, 12]
    assert all(map(embedder.reads, ["我对花生过敏", "ねこ", "кот", "kite"]))


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="wants /proc")
def test_the_table_of_words_is_mapped(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    assert str(folder / "words.npy") in Path("/proc/self/maps").read_text()
    embedder.close()


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment whose catalogue has two tiny models, the e5 before the other, both to be installed."""
    made = published_e5(tmp_path / "e5"), published(tmp_path / "minilm")
    monkeypatch.setattr(catalog, "DEFAULT_MODEL", made[0])
    monkeypatch.setattr(catalog, "MODELS", {model.name: model for model in made})
    return {"AMEMORIX_CACHE": str(tmp_path / "cache")}


def test_without_a_name_the_best_installed_model_is_taken(tmp_path: Path, both: dict[str, str]) -> None:
    cache = tmp_path / "cache"
    assert find_installed(cache_dir=cache) is None
    light = install(catalog.MODELS["tiny"], tmp_path / "minilm", cache)
    assert find_installed(cache_dir=cache) == light
    best = install(catalog.MODELS["tiny-e5"], tmp_path / "e5", cache)
    assert find_installed(cache_dir=cache) == best
    assert find_installed("tiny", cache) == light


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Passages wait for it before the tiny e5 takes them."""
    opened, encode = threading.Event(), LocalEmbedder.encode

    def held(self: LocalEmbedder, texts: Sequence[str], *, query: bool = False) -> list[Encoded]:
        if self.info.model == "tiny-e5" and not query:
            opened.wait()
        return encode(self, texts, query=query)

    monkeypatch.setattr(LocalEmbedder, "encode", held)
    yield opened
    opened.set()


async def answering(host: AMemorixHostService) -> tuple[str, list[str]]:
    """The state of the vectors, and the lanes that find the boat."""
    hits = (await found(host, "red boat", chat_id="c"))["hits"]
    return (await host.invoke("memory_stats", {}))["embedding"]["state"], sorted(hits[0]["explain"]["lanes"])


@pytest.mark.parametrize("restart", [False, True])
async def test_the_old_model_answers_while_the_new_one_fills(
    tmp_path: Path, both: dict[str, str], gate: threading.Event, restart: bool
) -> None:
    for name, place in (("tiny", "minilm"), ("tiny-e5", "e5")):
        install(catalog.MODELS[name], tmp_path / place, tmp_path / "cache")
    async with AsyncExitStack() as stack:
        before = await stack.enter_async_context(
            memory_host(tmp_path, environ=both, embedding={"provider": "auto", "model_name": "tiny"})
        )
        await said(before, "c", ("Ada", "The red boat lies on the lake."), ("Bob", "Is it green?"))
        await before.settle()
        host = before
        if restart:
            await stack.aclose()
            host = await stack.enter_async_context(memory_host(tmp_path, environ=both, embedding={"provider": "auto"}))
        else:
            await host.update_config({"embedding.model_name": ""})
        stack.callback(gate.set)  # or stopping would wait for it

        assert await answering(host) == ("rebuilding", ["dense", "sparse"])
        gate.set()
        await host.settle()

        assert await answering(host) == ("idle", ["dense", "sparse"])
        embedding = (await host.invoke("memory_stats", {}))["embedding"]
        assert (embedding["model"], embedding["serving_generation"]) == ("tiny-e5", 2)


@pytest.mark.local_model
def test_a_question_finds_its_answer_in_another_language(local_model: str) -> None:
    folder = find_installed(local_model)
    assert folder is not None
    embedder = LocalEmbedder(folder)
    said_ = ["我对花生过敏，一吃就起疹子。", "Ich fahre morgen mit dem Zug nach Berlin.", "猫が花瓶を割ってしまった。", "Я учусь играть на скрипке."]  # fmt: skip
    asked = ["What can't she eat?", "火车去哪里？", "Which pet broke something?", "Who plays an instrument?"]

    passages = np.stack([found.vector for found in embedder.encode(said_)])
    queries = np.stack([found.vector for found in embedder.encode(asked, query=True)])

    assert (queries @ passages.T).argmax(1).tolist() == [0, 1, 2, 3]
