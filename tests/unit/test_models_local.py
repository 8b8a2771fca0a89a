"""The local embedder, with tiny random weights and, where it is installed, with the real model."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from amemorix.errors import ModelUnavailable
from amemorix.models.local.embedder import LocalEmbedder
from amemorix.models.local.install import GRAPH, install, installed
from amemorix.models.local.manifest import FORMAT
from test_models_tiny import published

TEXTS = [
    "",
    "red boat",
    "a green lake",
    "boats " * 40,
    "你好",
    "half \ud800 a pair",
    "z",
    "red lake " * 5,
    *(f"{c} boat" for c in "abcdefgh" * 6),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("local")
    return install(published(root / "published"), root / "published", root / "cache")


@pytest.fixture(scope="module")
def real() -> LocalEmbedder:
    where = installed()
    if where is None:
        pytest.skip("multilingual-e5-small is not installed; `amemorix models install` installs it")
    return LocalEmbedder(where)


def test_every_text_gets_a_unit_vector_in_its_place(folder: Path) -> None:
    embedder = LocalEmbedder(folder)

    vectors = embedder.embed(TEXTS)

    assert vectors.shape == (len(TEXTS), 32)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_a_vector_does_not_depend_on_the_batch(folder: Path) -> None:
    embedder = LocalEmbedder(folder)

    together = embedder.embed(TEXTS)

    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=0.01)


def test_the_identity_names_model_format_and_weights(folder: Path, tmp_path: Path) -> None:
    info = LocalEmbedder(folder).info

    sha = published(tmp_path).weights.sha256
    assert (info.provider, info.model, info.dimension, info.languages) == ("local", "tiny", 32, ("en",))
    assert info.fingerprint == f"local:tiny:{FORMAT}:{sha[:16]}"


def test_threads_share_one_embedder(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    once = embedder.embed(TEXTS)

    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(embedder.embed, [TEXTS] * 8):
            np.testing.assert_array_equal(vectors, once)


def test_embedding_leaves_no_trace_in_the_home_folder(folder: Path, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from amemorix.models.local.embedder import LocalEmbedder
LocalEmbedder(Path({str(folder)!r})).embed(["red boat"])
"""
    environ = {k: v for k, v in os.environ.items() if k not in {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "CI"}}

    subprocess.run([sys.executable, "-c", script], env={**environ, "HOME": str(tmp_path)}, check=True, timeout=120)

    assert list(tmp_path.iterdir()) == []


def test_a_closed_embedder_says_so(folder: Path) -> None:
    embedder = LocalEmbedder(folder)
    embedder.close()

    with pytest.raises(ModelUnavailable, match="closed"):
        embedder.embed(["red"])


def test_a_model_whose_packages_are_missing_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ModelUnavailable, match=r"pip install 'amemorix\[minilm\]'"):
        LocalEmbedder(folder)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="no installed model"):
        LocalEmbedder(tmp_path)


@pytest.mark.parametrize("name", [GRAPH, "tokenizer.json"])
def test_a_file_that_cannot_be_read_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(b"broken" if path.name == name else path.read_bytes())

    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        LocalEmbedder(tmp_path)


@pytest.mark.local_model
def test_the_nearest_text_is_the_one_that_means_the_same(real: LocalEmbedder) -> None:
    texts = ["She adopted a puppy last week.", "The stock market fell sharply.", "He plays the violin in an orchestra."]
    queries = ["a new dog in the family", "shares lost value", "a classical musician"]

    nearest = (real.embed(queries) @ real.embed(texts).T).argmax(1)

    assert nearest.tolist() == [0, 1, 2]


@pytest.mark.local_model
def test_the_batch_hardly_changes_a_vector(real: LocalEmbedder) -> None:
    texts = ["", "hello", "We went hiking near the lake in May. " * 4, "ok " * 400, "What did Anna buy?"] * 8

    together = real.embed(texts)

    alone = np.concatenate([real.embed([text]) for text in texts])
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1.0, atol=1e-5)
    assert (together * alone).sum(1).min() > 0.999
