"""Every page of the console in a browser: what is shown, that nothing of it runs, and who can use it."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from browser_page import Browser
from console_memory import PAGES

Open = Callable[..., Browser]


SEEN = [name for name in PAGES if name not in ("graph-data", "tuning-report")]
LINKS_THAT_RUN = "return [...document.querySelectorAll('main a')].filter(one => one.protocol == 'javascript:').length"
PICTURES = os.environ.get("AMEMORIX_PICTURES")
LOOKS = [("en", "light"), ("zh", "dark"), ("en", "dark"), ("zh", "light")]


def looks(name: str) -> list[tuple[str, str]]:
    """Both languages, each in one theme, in an order that changes by page; all four where pictures are wanted."""
    place = SEEN.index(name)
    pair = LOOKS[place % 2 * 2 :][:2]
    return LOOKS if PICTURES else pair if place % 4 < 2 else pair[::-1]


@pytest.mark.parametrize("name", SEEN)
def test_each_page_runs_nothing_that_was_said_and_is_fit_for_screen_readers_and_telephones(
    open_at: Open, addresses: dict[str, str], shared_memory: str, name: str
) -> None:
    for look, (language, theme) in enumerate(looks(name)):
        page = open_at(shared_memory, addresses[name], language=language, theme=theme)
        assert page.one("html").get_attribute("lang") == ("zh-CN" if language == "zh" else "en")
        assert page.one("html").get_attribute("data-theme") == theme
        assert page.one("h1").text
        if page.all("#drawing"):
            page.one("#drawing[data-nodes]")
        assert page.driver.execute_script("return window.hacked") is None
        assert not page.all("main img, main script")
        assert page.driver.execute_script(LINKS_THAT_RUN) == 0
        if PICTURES or not look:
            assert page.violations() == []
            page.picture(f"{name}-{language}-{theme}-wide")
        page.resize(390)
        if PICTURES or look:
            page.picture(f"{name}-{language}-{theme}-narrow", 390)
        assert not page.too_wide(), f"{name} is wider than a telephone"
        page.resize()
    if name == "fault":
        page.forget_logs()  # the browser tells of the answer 404


def test_the_menu_leads_to_each_page_and_marks_where_one_is(open_at: Open, shared_memory: str) -> None:
    page = open_at(shared_memory)
    for address in [one.get_attribute("href") for one in page.all("nav a")]:
        page.go(address.removeprefix(page.url))
        assert page.one("nav a[aria-current=page]").get_attribute("href") == address
        assert address in page.addresses(), "what the pages ask for is seen"


def test_what_is_typed_is_searched_without_loading_the_page_anew(open_at: Open, shared_memory: str) -> None:
    page = open_at(shared_memory, "/ui/search")
    page.driver.execute_script("window.kept = true")
    page.keys("/")
    page.keys("花生", "\ue007")
    page.until(lambda: "我对花生过敏" in page.one("#found").text, "a hit")
    assert page.driver.execute_script("return window.kept")
    page.one("#found details summary").click()
    assert page.one("#found dl.why").text
