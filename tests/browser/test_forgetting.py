"""Deleting, bringing back and erasing for good, by a person at a browser."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from amemorix import Client
from browser_page import Browser

Open = Callable[..., Browser]
TAB, ENTER, SPACE = "\ue004", "\ue007", " "


def known(url: str, query: str = "peanuts") -> list[str]:
    """The texts that a search finds."""
    with closing(Client(url)) as memory:
        found = memory.call("search_memory", query=query, scope="all")
    return [one["content"] for one in found["hits"]]


def test_a_person_is_forgotten_after_a_look_and_brought_back(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/people/u3")
    page.press("a[href*='mode=person']")
    assert "Ann is allergic to peanuts" in page.text, "what others said of her goes too"
    assert "I live in Leeds" in page.text
    assert known(memory), "nothing goes before it is confirmed"
    page.fill("#reason", "she asked for it")
    page.press("form[method=post] button.danger")
    assert page.path.startswith("/ui/deletion/d")
    assert "she asked for it" in page.text
    assert not any("Ann" in one or "Leeds" in one for one in known(memory))
    page.press(".remark button[name=undo]")
    assert "Everything of it is back." in page.text
    assert "Ann is allergic to peanuts, so no satay." in known(memory)


def test_chosen_lines_of_a_chat_are_deleted_and_one_of_them_comes_back(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/log?chat=discord:band")
    for line in ("move the rehearsal", "no satay"):
        page.one(
            f"li:has(a[href*='discord']):nth-child({1 + next(n for n, one in enumerate(page.all('ul.texts li')) if line in one.text)}) input"
        ).click()
    page.press("form[action='/ui/deletion'] button.danger")
    assert "Let us move the rehearsal to Wednesday." in page.text
    page.press("form[method=post] button.danger")
    first = page.one("input[name=item][value^=p]")
    text = first.get_attribute("value")
    first.click()
    page.press("form[method=post] button.primary")
    assert "What was chosen is back." in page.text
    with closing(Client(memory)) as client:
        back = client.call("memory_text_admin", action="get", ids=[text], scope="all")["items"]
        listed = client.call("memory_text_admin", action="list", chat_id="discord:band")["items"]
    assert len(back) == 1
    assert len(listed) == 5, "four lines of the chat, and a note"


def test_a_deletion_is_made_and_undone_by_the_keyboard_alone(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/deletion")
    page.tab_to("input[name=target]")
    page.keys("u1", ENTER)
    page.until(lambda: page.all("form[method=post] button.danger"), "the preview")
    page.tab_to("form[method=post] button.danger")
    page.keys(ENTER)
    page.until(lambda: page.path.startswith("/ui/deletion/d"), "the deletion")
    assert known(memory, "花生") == []
    page.tab_to("button[name=undo]")
    page.keys(SPACE)
    page.until(lambda: "Everything of it is back." in page.text, "the restore")
    assert known(memory, "花生")


def test_without_scripts_a_deletion_is_shown_made_and_undone(open_at: Open, memory: str) -> None:
    page = open_at(memory)
    page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.go("/ui/deletion?mode=chat&target=discord:band")
        page.one("form[method=post] button.danger").click()
        page.until(lambda: page.all("button[name=undo]"), "the deletion")
        assert not any("satay" in one for one in known(memory))
        page.one("button[name=undo]").click()
        page.until(lambda: "Everything of it is back." in page.text, "the restore")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert any("satay" in one for one in known(memory))


def test_erasing_for_good_is_said_plainly_and_shows_a_receipt(open_at: Open, memory: str, tmp_path: Path) -> None:
    page = open_at(memory, "/ui/deletion?mode=person&target=u3")
    page.press("form[method=post] button.danger")
    page.press("a[href$='/purge']")
    assert "This cannot be undone." in page.one("[role=alert]").text
    page.one("button.danger").click()
    assert page.path.endswith("/purge"), "nothing happens before it was understood"
    assert page.violations() == []
    page.picture("purge")
    page.one("input[name=understood]").click()
    page.press("button.danger")
    page.until(lambda: "Receipt" in page.text, "the receipt", 120)
    assert "It is gone: nothing of it was found in any file." in page.text
    assert not page.all("form[method=post] button.primary, a[href$='/purge']"), "nothing is left to restore"
    assert page.violations() == []
    page.picture("receipt")
    files = [one for one in (tmp_path / "memory").rglob("*") if one.is_file()]
    assert files
    assert not any(
        "so no satay".encode(coding) in one.read_bytes() for one in files for coding in ("utf-8", "utf-16le")
    )


def test_a_preview_that_is_no_longer_true_deletes_nothing(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/deletion?mode=chat&target=discord:band")
    with closing(Client(memory)) as client:
        client.call("ingest_messages", chat_id="discord:band", messages=[{"speaker": "Ben", "text": "Bring a torch."}])
    page.press("form[method=post] button.danger")
    assert page.one("[role=alert]").text
    assert any("satay" in one for one in known(memory))
    page.forget_logs()  # the browser tells of the answer 409
    page.go("/ui/deletion")
