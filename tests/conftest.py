"""A started memory for the tests that go through the entrance."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings

if os.environ.get(
    "AMEMORIX_TEST_ENCRYPTED"
):  # every memory that the tests make is encrypted, also those of other processes
    os.environ.setdefault("AMEMORIX_TEST_KEY_FILE", str(Path(tempfile.mkdtemp(prefix="amemorix-key-")) / "key"))
    Path(os.environ["AMEMORIX_TEST_KEY_FILE"]).write_text("5a" * 32)
    Path(os.environ["AMEMORIX_TEST_KEY_FILE"]).chmod(0o600)
    where = str(Path(__file__).parent / "encrypted")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (where, os.environ.get("PYTHONPATH"))))
    sys.path.insert(0, where)
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401

from amemorix import AMemorixHostService
from amemorix.models.local.catalog import DEFAULT_MODEL
from amemorix.models.local.install import installed
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, scratch_config

pytest.register_assert_rewrite("suite")
Open = Callable[..., Awaitable[AMemorixHostService]]
ROOT = Path(__file__).parent.parent
QUICK, ENTRANCE = 4, {"host", "dense_host", "opened"}
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    """Mark what `-m quick` runs: of each file, one case each of the first tests that call a memory."""
    chosen: dict[Path, set[str]] = {}
    for item in items:
        names = chosen.setdefault(item.path, set())
        if len(names) < QUICK and item.originalname not in names and not ENTRANCE.isdisjoint(item.fixturenames):
            names.add(item.originalname)
            item.add_marker("quick")


def pytest_collection_finish() -> None:
    """Leave what was imported for the tests out of every look for garbage."""
    gc.freeze()


@pytest.fixture
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens memories with settings of their own; the first below the test's folder, others where `folder` says.

    Through a door where a case is marked by `doors.through_each_door`.
    """
    door: str | None = getattr(request, "param", None)
    async with AsyncExitStack() as stack:

        async def open_(folder: Path | None = None, **settings: Any) -> AMemorixHostService:
            if door:
                from doors import opened_through

                through: Any = await stack.enter_async_context(opened_through(door, folder or tmp_path, **settings))
                return through
            return await stack.enter_async_context(memory_host(folder or tmp_path, **settings))

        yield open_


@pytest.fixture
def clock() -> FrozenClock:
    """The clock of `host`."""
    return FrozenClock()


@pytest.fixture
async def host(opened: Open, clock: FrozenClock) -> AMemorixHostService:
    """A memory without vectors."""
    return await opened(clock=clock)


@pytest.fixture
async def web(host: AMemorixHostService) -> AsyncIterator[httpx.AsyncClient]:
    """The HTTP front end of `host`."""
    from doors import web_client

    async with web_client(host) as client:
        yield client


@pytest.fixture
async def dense_host(opened: Open) -> AMemorixHostService:
    """A memory with vectors of hashed words."""
    return await opened(embed=HashEmbedder())


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A PostgreSQL server."""
    from postgres_server import postgres

    with postgres() as address:
        yield address


@pytest.fixture
def memory_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory that goes by words alone, for an example that reads `MEMORY_FOLDER`."""
    scratch_config(tmp_path, {"embedding.provider": "none"})
    monkeypatch.setenv("MEMORY_FOLDER", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the evaluation data; skips the test where there is none."""
    folder = Path(os.environ.get("AMEMORIX_SHARED") or ROOT.parent / "shared") / "data"
    if not folder.is_dir():
        pytest.skip(f"no evaluation data at {folder} (set AMEMORIX_SHARED to the folder that holds data/)")
    return folder


@pytest.fixture(scope="session")
def local_model() -> str:
    """The name of the installed local model; skips the test where there is none."""
    if installed() is None:
        pytest.skip(f"{DEFAULT_MODEL.name} is not installed; `amemorix models install` installs it")
    return DEFAULT_MODEL.name
