"""A started memory for the tests that go through the entrance."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from amemorix import AMemorixHostService
from amemorix.models.local.catalog import DEFAULT_MODEL
from amemorix.models.local.install import installed
from amemorix.testing import HashEmbedder, memory_host

Open = Callable[..., Awaitable[AMemorixHostService]]
ROOT = Path(__file__).parent.parent
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """Opens memories with settings of their own; the first below the test's folder, others where `folder` says."""
    async with AsyncExitStack() as stack:

        async def open_(folder: Path | None = None, **settings: Any) -> AMemorixHostService:
            return await stack.enter_async_context(memory_host(folder or tmp_path, **settings))

        yield open_


@pytest.fixture
async def host(opened: Open) -> AMemorixHostService:
    """A memory without vectors."""
    return await opened()


@pytest.fixture
async def dense_host(opened: Open) -> AMemorixHostService:
    """A memory with vectors of hashed words."""
    return await opened(embed=HashEmbedder())


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
