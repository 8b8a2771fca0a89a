"""Installing a local model from a folder and from a hub."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amemorix.errors import ModelUnavailable
from amemorix.frontends.cli.main import app
from amemorix.models.cache import cache_dir
from amemorix.models.local import catalog
from amemorix.models.local.catalog import DEFAULT_MODEL, LocalModel, ModelFile, known_model
from amemorix.models.local.install import GRAPH, install, installed, verify
from amemorix.models.local.manifest import FORMAT, Manifest
from test_models_tiny import published


@pytest.fixture
def model(tmp_path: Path) -> LocalModel:
    return published(tmp_path / "published")


@pytest.fixture
def hub(tmp_path: Path, model: LocalModel) -> Iterator[str]:
    """A hub that serves the published files at the pinned revision."""
    root = tmp_path / "hub"
    shutil.copytree(tmp_path / "published", root / model.repository / "resolve" / model.revision)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(root)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def with_wrong_weights_hash(model: LocalModel) -> LocalModel:
    return dataclasses.replace(model, weights=ModelFile(model.weights.name, model.weights.size, "0" * 64))


def test_a_folder_installs_whole(tmp_path: Path, model: LocalModel) -> None:
    said: list[str] = []

    folder = install(model, tmp_path / "published", tmp_path / "cache", said.append)

    assert folder == tmp_path / "cache" / "models" / f"tiny.{FORMAT}" == installed(model, tmp_path / "cache")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["NOTICE.txt", "manifest.json", GRAPH, "tokenizer.json", "vocab.txt"]
    manifest = Manifest.read(folder)
    assert manifest is not None
    assert (manifest.source, manifest.licence, manifest.dimension) == ("folder", "Apache-2.0", 32)
    assert "Apache License" in (folder / "NOTICE.txt").read_text()
    assert "Converting the weights." in said


def test_the_commands_install_list_and_verify(
    tmp_path: Path, model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "MODELS", {model.name: model})
    monkeypatch.setattr(catalog, "DEFAULT_MODEL", model)
    monkeypatch.setenv("AMEMORIX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "250")

    def said(*command: str) -> str:
        return CliRunner().invoke(app, ("models", *command)).stdout

    assert "not installed" in said("list")
    assert said("install", "--from", str(tmp_path / "published")).splitlines()[-1].startswith("tiny is ready in ")
    folder = str(installed(model, tmp_path / "cache"))
    assert folder in said("list")
    assert said("verify") == f"tiny in {folder} is intact.\n"


def test_a_hub_installs_at_the_pinned_revision(tmp_path: Path, model: LocalModel, hub: str) -> None:
    folder = install(model, "hub", tmp_path / "cache", hub_url=hub)

    assert verify(model, tmp_path / "cache") == folder


def test_installing_again_fetches_nothing(tmp_path: Path, model: LocalModel) -> None:
    install(model, tmp_path / "published", tmp_path / "cache")
    shutil.rmtree(tmp_path / "published")

    assert install(model, tmp_path / "published", tmp_path / "cache") == installed(model, tmp_path / "cache")


def test_a_wrong_hash_names_the_file_and_leaves_nothing(tmp_path: Path, model: LocalModel) -> None:
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors has the wrong SHA-256: expected 0000") as caught:
        install(with_wrong_weights_hash(model), tmp_path / "published", tmp_path / "cache")

    assert caught.value.details["got"] == model.weights.sha256
    assert list((tmp_path / "cache" / "models").iterdir()) == []
    assert installed(model, tmp_path / "cache") is None


def test_a_file_longer_than_published_is_refused(tmp_path: Path, model: LocalModel, hub: str) -> None:
    served = tmp_path / "hub" / model.repository / "resolve" / model.revision / "tokenizer.json"
    served.write_bytes(served.read_bytes() + b" " * 1_000_000)

    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json has the wrong SHA-256"):
        install(model, "hub", tmp_path / "cache", hub_url=hub)


def test_a_hub_that_cannot_be_reached_says_what_to_do(tmp_path: Path, model: LocalModel) -> None:
    with pytest.raises(ModelUnavailable, match="install from that folder"):
        install(model, "hub", tmp_path / "cache", hub_url="http://127.0.0.1:9")


def test_a_file_the_hub_does_not_have_is_named(tmp_path: Path, model: LocalModel, hub: str) -> None:
    (tmp_path / "hub" / model.repository / "resolve" / model.revision / "vocab.txt").unlink()

    with pytest.raises(ModelUnavailable, match=r"vocab\.txt of tiny .* \(HTTP 404\)"):
        install(model, "hub", tmp_path / "cache", hub_url=hub)


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")])
def test_a_damaged_installation_is_replaced(tmp_path: Path, model: LocalModel, damage) -> None:
    folder = install(model, tmp_path / "published", tmp_path / "cache")
    damage(folder / GRAPH)
    assert installed(model, tmp_path / "cache") is None

    install(model, tmp_path / "published", tmp_path / "cache")

    assert verify(model, tmp_path / "cache") == folder
    assert [path.name for path in folder.parent.iterdir()] == [f"tiny.{FORMAT}"]


def test_verify_notices_a_byte_that_changed(tmp_path: Path, model: LocalModel) -> None:
    folder = install(model, tmp_path / "published", tmp_path / "cache")
    content = bytearray((folder / "vocab.txt").read_bytes())
    content[0] ^= 1
    (folder / "vocab.txt").write_bytes(content)

    assert installed(model, tmp_path / "cache") == folder
    with pytest.raises(ModelUnavailable, match=r"vocab\.txt has the wrong SHA-256"):
        verify(model, tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, model: LocalModel) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")

    with pytest.raises(ModelUnavailable, match="cannot be written"):
        install(model, tmp_path / "published", tmp_path / "cache")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"AMEMORIX_CACHE": "/a", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/a"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/amemorix"),
        ({"HOME": "/h"}, "/h/.cache/amemorix"),
    ],
)
def test_cache_dir(environ: dict[str, str], expected: str) -> None:
    assert cache_dir(environ) == Path(expected)


def test_the_catalogue() -> None:
    assert known_model("") is known_model("multilingual-e5-small") is DEFAULT_MODEL
    with pytest.raises(ModelUnavailable, match="Known: multilingual-e5-small, all-MiniLM-L6-v2"):
        known_model("bge-m3")
