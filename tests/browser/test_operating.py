"""Imports, settings, tuning, backups, the audit and health in a browser, as an operator uses them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from amemorix import Client
from browser_page import Browser

Open = Callable[..., Browser]
ENTER = "\ue007"


def candidates(url: str) -> int:
    with closing(Client(url)) as memory:
        return memory.call("memory_runtime_admin", action="get_config")["config"]["retrieval"]["candidates"]


def test_a_setting_is_changed_and_taken_back_by_the_keyboard_alone(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/settings/table/retrieval")
    before = candidates(memory)
    page.tab_to('input[name="set:retrieval.candidates"]')
    page.keys("77", ENTER)  # to come by the tabulator selects what stands there
    page.until(lambda: "Nothing is changed yet" in page.text, "the look at the change")
    assert page.violations() == []
    page.picture("settings-look")
    page.tab_to("main button.primary")
    page.keys(ENTER)
    page.until(lambda: "The settings are changed." in page.text, "the receipt")
    assert candidates(memory) == 77
    page.tab_to("button[name=undo]")
    page.keys(ENTER)
    page.until(lambda: "as they were before" in page.text, "the second receipt")
    assert candidates(memory) == before


def test_a_file_is_uploaded_and_its_progress_comes_by_itself(open_at: Open, memory: str, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"text": "The heron nests by the mill."}\n{"text": 7}\n', "utf-8")
    page = open_at(memory, "/ui/import")
    page.one("input[type=file]").send_keys(str(file))
    page.press("form[action='/ui/import/upload'] button")
    page.until(lambda: not page.all("#import[hx-trigger]"), "the end of the import")
    page.until(lambda: "What could not be stored" in page.text, "what failed")
    assert page.violations() == []
    page.picture("import-failed")
    page.picture("import-failed-narrow", 390)
    page.resize()
    page.one("input[name=skip_bad]").click()
    page.press("button[value=retry]")
    page.until(lambda: "Reads again what failed" in page.text, "the second import")


def test_a_backup_is_put_back_and_that_is_undone(open_at: Open, memory: str) -> None:
    page = open_at(memory, "/ui/backups")
    page.press("button[value=make]")
    page.press("a[href$='/restore']")
    assert page.violations() == []
    page.picture("backup-restore")
    page.press("button.danger")
    assert "set aside" in page.text
    page.picture("backups-restored")
    page.press("button[name=undo]")
    assert "is back" in page.text
    page.press("a[href$='/delete']")
    assert "cannot be undone" in page.text
    page.picture("backup-delete")
    page.press("button.danger")
    assert "gone for good" in page.text


def test_rounds_are_drawn_and_stand_in_a_table(open_at: Open, memory: str) -> None:
    with closing(Client(memory)) as client:
        for n in range(60):
            turns = [
                {"speaker": "Ben", "text": f"How did the weekend number {n} near the lake turn out?", "time": 1.6e9 + n * 86_400},
                {"speaker": "Ada", "text": f"Wonderful, I mended chain {n} of bicycle {n} by the gate.", "time": 1.6e9 + n * 86_400 + 60},
            ]  # fmt: skip
            client.call("ingest_messages", chat_id="lake", messages=turns)
    page = open_at(memory, "/ui/tuning")
    page.one("select[name=intensity] option[value=quick]").click()
    page.press("main form button.primary")
    page.until(lambda: not page.all("#tuning[hx-trigger]"), "the end of the search", 300)
    page.one(".plot canvas")
    assert len(page.all("tr.round")) == 8
    assert page.violations() == []
    page.picture("tuning-task")
    page.picture("tuning-task-narrow", 390)
    assert not page.too_wide()
