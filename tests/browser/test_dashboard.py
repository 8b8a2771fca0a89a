"""The published pages of MaiBot's dashboard in front of a daemon: they load, list what is stored and act."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal

from amemorix.clock import SystemClock
from amemorix.frontends.dashboard.routes import DASHBOARD_ROUTES
from amemorix.testing import memory_host
from browser_page import Browser
from console_memory import say
from dashboard_package import dashboard_in_front_of, dashboard_pages
from doors import served
from entrance import one_token

TOKEN = "owner"
CONSOLE = "/resource/knowledge-base"
NOT_OFFERED = {"images", "image-jobs", "image-writeback-jobs", "bundles"}
"""What A-Memorix has nothing of: the pages of these show that there is nothing."""
NOT_OFFERED_EITHER = {
    ("POST", "/episodes/migration-backfill/discard"), ("DELETE", "/profiles/{}/aliases"), ("DELETE", "/runtime/vectors/spaces/{}"),
}  # fmt: skip
"""Buttons that stay closed, since there is nothing to discard, to take back or to delete."""


@pytest.fixture(scope="module")
def pages() -> Path:
    return dashboard_pages()


@asynccontextmanager
async def daemon_of_two_chats(folder: Path) -> AsyncGenerator[str]:
    """The address of a daemon that wants a token."""
    async with memory_host(folder, clock=SystemClock()) as host:
        await say(host, "qq:hike", "discord:band")
        async with served(host, one_token(TOKEN)) as url:
            yield url


@pytest.fixture
def dashboard(
    open_at: Callable[..., Browser], pages: Path, portal: BlockingPortal, tmp_path: Path
) -> Iterator[Browser]:
    """The dashboard in front of a daemon."""
    with (
        portal.wrap_async_context_manager(daemon_of_two_chats(tmp_path)) as daemon,
        dashboard_in_front_of(daemon, TOKEN, pages) as url,
    ):
        yield open_at(url, "/auth")


def seen(page: Browser, text: str, selector: str = "body") -> Any:
    """Waits until an element shows a text."""
    found = page.until(
        lambda: next((one for one in page.all(selector) if text in one.text), None), f"{text} in {selector}"
    )
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    return found


def record(page: Browser, kind: str, text: str) -> Any:
    """Waits until a record is listed."""

    def listed() -> Any:
        rows = page.all("[data-memory-record-button]")
        return next((one for one in rows if one.text.startswith(kind) and text in one.text), None)

    found = page.until(listed, f"{kind} {text}")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    return found


def press(page: Browser, label: str, within: str = "") -> None:
    """Click the last button that has this label, as soon as it can be."""

    def ready() -> Any:
        every = [one for one in page.all(f"{within} button") if one.text.strip() == label and one.is_enabled()]
        return every[-1] if every else None

    button = page.until(ready, f"the button {label}")
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()


def test_every_call_of_the_pages_is_answered_or_known_to_be_missing(pages: Path) -> None:
    source = next(pages.glob("assets/memory-api-*.js")).read_text("utf-8")
    called = set[tuple[str, str]]()
    for name, path, method in re.findall(r"\b([ta])\([`\"](/[^`\"?]*)[^`\"]*[`\"](?:,\{method:\"([A-Z]+)\")?", source):
        called.add((method or ("POST" if name == "a" else "GET"), re.sub(r"\$\{[^}]*\}", "{}", path)))
    assert len(called) > 70
    answered = {(one.method, re.sub(r"\{\w+\}", "{}", one.path)) for one in DASHBOARD_ROUTES}
    missing = {call for call in called - answered if call[1].split("/")[1] not in NOT_OFFERED}
    assert missing == NOT_OFFERED_EITHER
    assert answered - called == set()


def test_every_page_of_the_memory_lists_what_is_stored(dashboard: Browser) -> None:
    for path, told in (
        (CONSOLE, "我养了一只叫豆豆的猫。"), (f"{CONSOLE}?tab=profiles", "小林"), (f"{CONSOLE}?tab=timeline&chat_id=discord:band", "We rehearse on Tuesdays"),
        (f"{CONSOLE}?tab=graph", "腾讯"), ("/resource/knowledge-graph", "腾讯"), (f"{CONSOLE}?tab=import", "导入队列"), (f"{CONSOLE}?tab=correction", "discord:band"),
        (f"{CONSOLE}?tab=maintenance", "记忆回收站"), (f"{CONSOLE}?tab=episodes", "chat:qq:hike"), (f"{CONSOLE}?tab=inspection&mode=profiles", "支撑证据"),
        (f"{CONSOLE}?tab=tuning", "Tuning"), (f"{CONSOLE}?tab=feedback", "反馈纠错历史"), (f"{CONSOLE}?tab=delete", "删除记录"),
    ):  # fmt: skip
        dashboard.go(path)
        seen(dashboard, told)
        dashboard.picture(re.sub(r"\W+", "-", path))
    assert dashboard.driver.execute_script("return window.hacked") is None


def test_records_are_opened_and_a_fact_is_changed(dashboard: Browser) -> None:
    dashboard.go(CONSOLE)
    for kind, title, told in (
        ("段落", "我养了一只叫豆豆的猫。", "chat:qq:hike"), ("实体", "腾讯", "关系 1"), ("关系", "小林 任职于 腾讯", "实体 2"), ("情景记忆", "爬山", "段落 6"),
    ):  # fmt: skip
        dashboard.driver.execute_script(
            "arguments[0].click()", record(dashboard, kind, title)
        )  # the last one lies over it
        seen(dashboard, told, "[role=dialog]")
    dashboard.go(CONSOLE)
    record(dashboard, "事实", "Leeds").click()
    press(dashboard, "编辑")
    dashboard.fill("#fact-value", "Bath")
    press(dashboard, "保存事实")
    seen(dashboard, "事实已修订")
    seen(dashboard, "Bath", "[data-memory-record-button]")


def test_the_graph_shows_evidence_and_deletes_a_relation_that_is_restored(dashboard: Browser) -> None:
    dashboard.go("/resource/knowledge-graph")
    node = dashboard.until(
        lambda: next((one for one in dashboard.all(".react-flow__node") if one.text == "Leeds"), None), "Leeds"
    )
    dashboard.driver.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", node)
    seen(dashboard, "Ann lives in Leeds", "[role=dialog]")
    press(dashboard, "删除关系")
    seen(dashboard, "预览项 1", "[role=dialog]")
    press(dashboard, "确认删除")
    seen(dashboard, "关系 1，段落 0", "[role=dialog]")
    press(dashboard, "恢复本次删除")
    seen(dashboard, "Ann lives in Leeds", "[role=dialog]")
    press(dashboard, "切到证据视图")
    seen(dashboard, "Who knows whom.", ".react-flow__node")


def test_a_source_is_deleted_after_a_preview_and_restored(dashboard: Browser) -> None:
    dashboard.go(f"{CONSOLE}?tab=delete")
    press(dashboard, "其他")
    seen(dashboard, "qq:hike\n6", "tr").find_element("css selector", "[role=checkbox]").click()
    press(dashboard, "预览删除")
    seen(dashboard, "我养了一只叫豆豆的猫。", "[role=dialog]")
    press(dashboard, "确认删除")
    seen(dashboard, "段落 6，来源 1", "[role=dialog]")
    press(dashboard, "恢复本次删除")
    seen(dashboard, "已恢复", "[data-memory-delete-operation]").click()
    seen(dashboard, "来源 1 个：chat:qq:hike", "[role=dialog]")


def test_a_profile_is_overridden_and_its_evidence_corrected(dashboard: Browser) -> None:
    dashboard.go(f"{CONSOLE}?tab=inspection&mode=profiles&person_id=u1")
    seen(dashboard, "当前编辑对象：小林")
    dashboard.one("#profile-aliases").send_keys("林哥")
    press(dashboard, "保存别名")
    seen(dashboard, "人物别名已保存")
    dashboard.one("textarea[placeholder*='固定使用']").send_keys("小林是领队。")
    press(dashboard, "保存画像覆写")
    seen(dashboard, "人物画像覆写已保存")
    press(dashboard, "纠错并刷新")
    dashboard.driver.switch_to.alert.accept()
    seen(dashboard, "画像证据已纠错")
    dashboard.go(f"{CONSOLE}?tab=profiles&person_id=u1")
    area = dashboard.one("[role=dialog] textarea")
    dashboard.until(lambda: area.get_attribute("value") == "小林是领队。", "the override")


def test_a_pasted_text_is_imported(dashboard: Browser) -> None:
    dashboard.go(f"{CONSOLE}?tab=import")
    seen(dashboard, "文本", "button").click()
    dashboard.one("textarea").send_keys("Mina planted forty olive trees in Crete.")
    press(dashboard, "创建导入任务")
    seen(dashboard, "100.0%", "[data-memory-import-task]").click()
    seen(dashboard, "成功 1 / 1 分块", "[role=dialog]")
    seen(dashboard, "1-1 / 1", "[role=dialog]")
    dashboard.go(CONSOLE)
    dashboard.fill("#memory-record-query", "olive trees\n")
    seen(dashboard, "Mina planted forty olive trees in Crete.", "[data-memory-record-button]")


def test_a_correction_is_previewed_carried_out_and_rolled_back(dashboard: Browser) -> None:
    dashboard.go(f"{CONSOLE}?tab=correction")
    dashboard.fill("#memory-correction-request", "小林不住在深圳，他住在广州")
    dashboard.fill("#memory-correction-person-keyword", "小林")
    seen(dashboard, "qq:hike", "button").click()
    press(dashboard, "生成预览")
    seen(dashboard, "我在腾讯上班，住在广州。")
    press(dashboard, "确认执行")
    press(dashboard, "确认执行", "[role=alertdialog]")
    seen(dashboard, "记忆修正已执行")
    press(dashboard, "回滚计划")
    press(dashboard, "确认回滚", "[role=alertdialog]")
    seen(dashboard, "记忆修正已回滚")


def test_upkeep_episodes_and_tuning(dashboard: Browser) -> None:
    dashboard.go(f"{CONSOLE}?tab=maintenance&target=r1")
    press(dashboard, "执行强化")
    seen(dashboard, "记忆强化完成")
    dashboard.go(f"{CONSOLE}?tab=episodes")
    dashboard.fill("#episode-rebuild-source", "chat:qq:hike")
    press(dashboard, "重新生成 Episode")
    seen(dashboard, "已重建 1 个来源")
    dashboard.go(f"{CONSOLE}?tab=tuning")
    press(dashboard, "Create tuning task")
    seen(dashboard, "Not recommended", "[role=listitem]")
    dashboard.go(CONSOLE)
    dashboard.one("[aria-label='更多操作']").click()
    seen(dashboard, "查看记忆状态", "[role=menuitem]").click()
    press(dashboard, "自检")
    seen(dashboard, "自检通过")
    seen(dashboard, "就绪", "[data-memory-runtime-status]")
