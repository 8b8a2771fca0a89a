"""A browser, and a daemon with a small memory, for the tests of the console as a person sees it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import Client
from amemorix.testing import ASK_NOBODY, scratch_config
from browser_page import CHROMIUM, Browser
from daemon_process import daemon

SAID = {
    "qq:hike": [
        ("小林", "u1", "我对花生过敏，点菜的时候提醒我。"), ("阿周", "u2", "周日八点在福田口岸集合去爬山。"), ("小林", "u1", "我在腾讯上班，住在深圳。"),
        ("阿周", "u2", "小林怕高，走平路吧。"), ("小林", "u1", "我养了一只叫豆豆的猫。"), ("阿周", "u2", "那就走梅林水库那条线。"),
    ],
    "discord:band": [
        ("Ann", "u3", "I live in Leeds and have two cats."), ("Ben", "u4", "We rehearse on Tuesdays in the old mill."), ("Ann", "u3", "I work at Stripe."),
        ("Ben", "u4", "Ann is allergic to peanuts, so no satay."), ("Ann", "u3", "Let us move the rehearsal to Wednesday."),
    ],
    "<script>window.hacked=1</script>": [
        ("<img src=x onerror=window.hacked=2>", "u5", "\"'><script>window.hacked=3</script> \u202egnp.exe [x](javascript:window.hacked=4) {{7*7}} " + "x" * 3_000),
    ],
}  # fmt: skip
RELATED = [
    ("小林", "住在", "深圳"), ("小林", "任职于", "腾讯"), ("小林", "认识", "阿周"), ("阿周", "住在", "福田"), ("福田", "属于", "深圳"),
    ("Ann", "lives in", "Leeds"), ("Ann", "works at", "Stripe"), ("Ann", "knows", "Ben"), ("Ben", "rehearses in", "old mill"), ("Anne", "knows", "Ben"),
]  # fmt: skip


def fill(url: str, token: str = "") -> None:
    """Store the sample memory in a daemon."""
    with closing(Client(url, token)) as memory:
        for n, (chat, turns) in enumerate(SAID.items()):
            messages = [
                {"speaker": speaker, "person_id": person, "text": text, "time": f"2025-03-0{n + 1}T09:0{minute}:00Z"}
                for minute, (speaker, person, text) in enumerate(turns)
            ]
            memory.call("ingest_messages", chat_id=chat, messages=messages)
        relations: Any = [dict(zip(("subject", "predicate", "object"), one, strict=True)) for one in RELATED]
        memory.call("ingest_text", external_id="n1", source_type="note", text="Who knows whom.", relations=relations)
        memory.call("memory_fact_admin", action="process_pending")
        memory.call("memory_episode_admin", action="rebuild", all=True, wait=60)


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


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[str]:
    """The address of a daemon with a sample memory of its own."""
    config = scratch_config(tmp_path / "memory", {**ASK_NOBODY, "embedding": {"provider": "none"}})
    with daemon(config) as running:
        fill(running.url)
        yield running.url


@pytest.fixture(scope="session")
def shared_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same for tests that only look."""
    config = scratch_config(tmp_path_factory.mktemp("memory"), {**ASK_NOBODY, "embedding": {"provider": "none"}})
    with daemon(config) as running:
        fill(running.url)
        yield running.url


@pytest.fixture
def open_at(chromium: Any, tmp_path: Path) -> Iterator[Callable[[str], Browser]]:
    """Opens the console of a daemon in the browser, without a cookie of an earlier test.

    In the end no page may have asked anybody but this daemon, and no page may have had an error in its console.
    """
    chromium.delete_all_cookies()
    chromium.set_window_size(1200, 900)
    page = Browser(chromium, tmp_path)
    page.forget_logs()

    def open_(url: str, path: str = "/") -> Browser:
        page.url = url
        chromium.get(url)
        chromium.delete_all_cookies()
        page.go(path)
        return page

    yield open_
    errors, addresses = page.errors(), page.addresses()
    chromium.get("about:blank")
    assert not errors
    assert [one for one in addresses if not one.startswith((page.url, "data:", "about:"))] == []
