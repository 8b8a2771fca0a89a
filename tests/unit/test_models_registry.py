"""The choice of the embedder, the host's function, and batches with bad texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from amemorix.config.model import Embedding
from amemorix.errors import ModelUnavailable
from amemorix.models.embedding_batches import embed_each
from amemorix.models.host.embedder import HostEmbedder
from amemorix.models.local import catalog
from amemorix.models.local.install import GRAPH, install
from amemorix.models.registry import PROVIDERS, made_by, make_embedder
from amemorix.ports import EmbedderInfo, Encoded
from test_models_tiny import published


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


async def lengths_later(texts: Sequence[str]) -> list[list[float]]:
    await asyncio.sleep(0)
    return lengths(texts)


class Picky:
    """An embedder that fails a whole batch that holds a bad text, and does not say which."""

    info = EmbedderInfo("test", "picky", "picky", 2)

    def __init__(self, **details: Any) -> None:
        self.details = details
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if "bad" in texts:
            raise ModelUnavailable("A text is bad.", **self.details)
        return np.array(lengths(texts), np.float32)

    def reads(self, text: str) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with an empty cache, in whose catalogue the tiny model is the default."""
    model = published(tmp_path / "published")
    monkeypatch.setattr(catalog, "DEFAULT_MODEL", model)
    monkeypatch.setattr(catalog, "MODELS", {model.name: model})
    return {"AMEMORIX_CACHE": str(tmp_path / "cache")}


def install_tiny(tmp_path: Path) -> Path:
    return install(catalog.DEFAULT_MODEL, tmp_path / "published", tmp_path / "cache")


def test_every_provider_of_the_settings_has_a_factory() -> None:
    assert set(PROVIDERS) == set(get_args(Embedding.model_fields["provider"].annotation))
    for path in PROVIDERS.values():
        module, _, name = path.partition(":")
        assert callable(getattr(import_module(module), name))


def test_none_is_no_embedder_and_no_notice() -> None:
    assert make_embedder(Embedding(provider="none"), environ={}) == (None, "")


def test_auto_without_a_model_says_how_to_install(cache: dict[str, str]) -> None:
    embedder, notice = make_embedder(Embedding(), environ=cache)

    assert embedder is None
    assert notice == (
        "No embedding model is installed: searching by words and structure until it is. `Memory` installs it by itself in the "
        "background, elsewhere `amemorix models install` does."
    )


def test_local_without_a_model_is_an_error(cache: dict[str, str]) -> None:
    with pytest.raises(ModelUnavailable, match="Run `amemorix models install`"):
        make_embedder(Embedding(provider="local"), environ=cache)


@pytest.mark.parametrize("provider", ["auto", "local"])
def test_an_installed_model_is_used(tmp_path: Path, cache: dict[str, str], provider: Any) -> None:
    install_tiny(tmp_path)

    embedder, notice = make_embedder(Embedding(provider=provider), environ=cache)

    assert embedder is not None
    assert (embedder.info.model, notice) == ("tiny", "")


@pytest.mark.parametrize(("end", "known"), [("", True), (":some-table:1:0a1b", True), ("0", False)])
def test_who_made_older_vectors_is_known(tmp_path: Path, cache: dict[str, str], end: str, known: bool) -> None:
    install_tiny(tmp_path)
    embedder, _ = make_embedder(Embedding(provider="local"), environ=cache)
    assert embedder is not None

    maker = made_by(embedder.info.fingerprint + end, cache)

    assert (maker.info if maker else None) == (embedder.info if known else None)


def test_auto_goes_on_without_a_model_that_does_not_load(tmp_path: Path, cache: dict[str, str]) -> None:
    graph = install_tiny(tmp_path) / GRAPH
    graph.write_bytes(b"x" * graph.stat().st_size)

    embedder, notice = make_embedder(Embedding(), environ=cache)

    assert embedder is None
    assert "cannot be loaded" in notice


def test_a_local_model_nobody_knows_is_an_error(cache: dict[str, str]) -> None:
    with pytest.raises(ModelUnavailable, match=r"no local model 'bge-m3'\. Known: tiny"):
        make_embedder(Embedding(provider="local", model_name="bge-m3"), environ=cache)


def test_openai_names_the_variable_that_is_not_set() -> None:
    settings = Embedding(provider="openai", base_url="http://127.0.0.1/v1", model_name="m", api_key_env="MY_KEY")

    with pytest.raises(ModelUnavailable, match="variable MY_KEY"):
        make_embedder(settings, environ={})


@pytest.mark.parametrize("missing", ["base_url", "model_name"])
def test_openai_names_the_setting_that_is_empty(missing: str) -> None:
    given = {"base_url": "http://127.0.0.1/v1", "model_name": "m", missing: ""}

    with pytest.raises(ModelUnavailable, match=f"embedding.{missing} is empty"):
        make_embedder(Embedding(provider="openai", **given), environ={})


def test_openai_with_everything_is_made_without_a_request() -> None:
    settings = Embedding(
        provider="openai", base_url="http://127.0.0.1:9/v1", model_name="m", api_key_env="K", dimension=8
    )

    embedder, notice = make_embedder(settings, environ={"K": "secret"})

    assert embedder is not None
    assert (embedder.info.fingerprint, notice) == ("openai:127.0.0.1:9/v1:m:8", "")
    embedder.close()


def test_host_without_a_function_is_an_error() -> None:
    with pytest.raises(ModelUnavailable, match="handed over no embedding function"):
        make_embedder(Embedding(provider="host"), environ={})


def test_a_synchronous_function_of_the_host() -> None:
    embedder, _ = make_embedder(Embedding(provider="host", model_name="mine"), environ={}, host_callable=lengths)

    assert embedder is not None
    assert embedder.info == EmbedderInfo("host", "mine", "host:mine:2", 2)
    np.testing.assert_allclose(embedder.embed(["abc"]), [[3 / 10**0.5, 1 / 10**0.5]], rtol=1e-6)


async def test_an_asynchronous_function_that_hangs_is_given_up() -> None:
    async def hang(texts: Sequence[str]) -> None:
        await asyncio.sleep(60)

    embedder = HostEmbedder(hang, loop=asyncio.get_running_loop(), timeout=0.05)

    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.05 s"):
        await asyncio.to_thread(embedder.embed, ["a"])


def test_an_asynchronous_function_without_a_loop_is_an_error() -> None:
    with pytest.raises(ModelUnavailable, match="needs the host's running event loop"):
        HostEmbedder(lengths_later).embed(["a"])


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
async def test_what_would_end_the_caller_is_told_too(error: type[BaseException]) -> None:
    def broken(texts: Sequence[str]) -> None:
        raise error("enough")

    async def broken_later(texts: Sequence[str]) -> None:
        raise error("enough")

    for function in (broken, broken_later):
        embedder = HostEmbedder(function, loop=asyncio.get_running_loop())
        with pytest.raises(ModelUnavailable, match=error.__name__):
            await asyncio.to_thread(embedder.embed, ["a"])


def test_a_bad_text_is_found_by_halving() -> None:
    embedder = Picky()

    outcomes = embed_each(embedder, ["a", "b", "bad", "c", "d", "e", "f", "g"])

    assert [isinstance(outcome, ModelUnavailable) for outcome in outcomes].index(True) == 2
    assert sum(isinstance(outcome, Encoded) for outcome in outcomes) == 7
    assert embedder.calls == 7
