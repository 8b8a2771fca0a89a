"""A browser, and daemons with a small memory, for the tests of the console as a person sees it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from amemorix.clock import SystemClock
from amemorix.testing import memory_host
from browser_page import CHROMIUM, Browser
from console_memory import filled
from doors import served


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium; what is not of this machine is asked of a proxy that is not there, so that nothing leaves it."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("no chromium and chromedriver on this machine (Debian: apt-get install chromium chromium-driver)")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in CHROMIUM:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('chromium')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    running = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield running
    running.quit()


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """A thread in which the daemons of these tests run."""
    with start_blocking_portal() as running:
        yield running


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The folder of a closed memory that holds something for every page, and the pages' addresses."""
    folder = tmp_path_factory.mktemp("sample")
    return folder, asyncio.run(filled(folder))


@pytest.fixture
def addresses(sample: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return sample[1]


@asynccontextmanager
async def _daemon(folder: Path) -> AsyncGenerator[str]:
    async with memory_host(folder, clock=SystemClock()) as host, served(host) as url:
        yield url


@pytest.fixture
def memory(sample: tuple[Path, dict[str, str]], portal: BlockingPortal, tmp_path: Path) -> Iterator[str]:
    """The address of a daemon with a copy of the sample memory."""
    folder = shutil.copytree(sample[0], tmp_path / "memory")
    with portal.wrap_async_context_manager(_daemon(folder)) as url:
        yield url


@pytest.fixture(scope="session")
def shared_memory(
    sample: tuple[Path, dict[str, str]], portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The same for tests that only look."""
    folder = shutil.copytree(sample[0], tmp_path_factory.mktemp("shared") / "memory")
    with portal.wrap_async_context_manager(_daemon(folder)) as url:
        yield url


@pytest.fixture
def open_at(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Browser]]:
    """Opens the console of a daemon in the browser, without a cookie of an earlier test.

    In the end no page may have asked anybody but this daemon, and no page may have had an error in its console. Pictures
    go to the folder that the environment variable AMEMORIX_PICTURES names, else to that of the test.
    """
    pictures = Path(os.environ.get("AMEMORIX_PICTURES") or tmp_path)
    pictures.mkdir(parents=True, exist_ok=True)
    page = Browser(chromium, pictures)
    page.forget_logs()
    page.resize()

    def open_(url: str, path: str = "/", *, language: str = "en", theme: str = "") -> Browser:
        page.url = url
        page.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        page.set_cookies(amemorix_language=language, amemorix_theme=theme)
        page.go(path)
        return page

    yield open_
    errors, addresses = page.errors(), page.addresses()
    chromium.get("about:blank")
    assert not errors
    assert [one for one in addresses if not one.startswith((page.url, "data:", "about:", "chrome:"))] == []
