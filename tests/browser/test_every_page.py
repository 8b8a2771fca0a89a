"""Every page of the console in a browser: what is shown, that nothing of it runs, and who can use it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from browser_page import Browser

PAGES = {
    "overview": "/", "search": "/ui/search?q=peanuts", "people": "/ui/people", "person": "/ui/people/u1?all", "chats": "/ui/chats",
    "log": "/ui/log?chat=qq:hike", "text": "/ui/texts/p1", "episodes": "/ui/episodes", "episode": "/ui/episodes/e1", "graph": "/ui/graph",
    "graph-search": "/ui/graph?q=Ann", "node": "/ui/graph/nodes/Ann", "relation": "/ui/graph/relations/r1",
    "merge": "/ui/graph/change?do=merge&node=Anne&into=Ann", "delete-node": "/ui/graph/change?do=delete&node=Ann",
    "corrections": "/ui/corrections", "deletion": "/ui/deletion", "deletion-preview": "/ui/deletion?mode=person&target=u1",
}  # fmt: skip
HOSTILE = (
    "/", "/ui/search?q=peanuts", "/ui/people", "/ui/people/u5", "/ui/chats", "/ui/log", "/ui/texts/p12", "/ui/episodes", "/ui/graph",
    "/ui/deletion?mode=person&target=u5", "/ui/deletion?mode=paragraph&target=p12",
)  # fmt: skip
Open = Callable[..., Browser]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_page_is_fit_for_screen_readers_and_for_narrow_windows(
    open_at: Open, shared_memory: str, language: str, name: str
) -> None:
    page = open_at(shared_memory, "/")
    if language == "zh":
        page.press("button[name=language][value=zh]")
    for theme in ("light", "dark"):
        page.go("/")
        page.driver.add_cookie({"name": "amemorix_theme", "value": theme, "path": "/"})
        page.go(PAGES[name])
        assert page.one("html").get_attribute("lang") == ("zh-CN" if language == "zh" else "en")
        assert page.one("html").get_attribute("data-theme") == theme
        assert page.one("h1").text
        if page.all("#drawing"):
            page.one("#drawing[data-nodes]")
        assert page.violations() == []
        page.picture(f"{name}-{language}-{theme}-wide")
        page.picture(f"{name}-{language}-{theme}-narrow", 390)
        assert not page.too_wide(), f"{name} is wider than a telephone"
        page.driver.set_window_size(1200, 900)


def test_what_people_said_is_shown_and_never_run(open_at: Open, shared_memory: str) -> None:
    page = open_at(shared_memory)
    for path in HOSTILE:
        page.go(path)
        assert page.driver.execute_script("return window.hacked") is None, path
        assert not page.all("main img, main script"), path
        assert all("javascript:" not in one.get_attribute("href") for one in page.all("main a[href]")), path
    assert "window.hacked=3" in page.text


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
