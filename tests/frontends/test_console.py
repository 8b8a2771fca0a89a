"""The console: who gets in, what a page may show, and that forms are this session's own."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from html import unescape
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import memory_host
from console_entrance import browser, logged_in, secret
from console_memory import PAGES
from entrance import call, said

GIVEN = [
    {"token": "boss", "role": "admin", "name": "boss"}, {"token": "hiker", "role": "read", "chats": ["hike"], "name": "hiker"},
    {"token": "writer", "role": "write", "chats": ["hike"], "name": "writer"},
]  # fmt: skip


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(GIVEN)}, tmp_path)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[AMemorixHostService]:
    async with memory_host(tmp_path) as made:
        turns = [
            {"speaker": "Ann", "person_id": "u1", "text": "I am allergic to peanuts.", "time": "2023-11-01T10:00:00Z"}
        ]
        await call(made, "ingest_messages", chat_id="hike", messages=turns)
        await said(made, "private", ("Ben", "The locker code is 4417."))
        await made.settle()
        yield made


async def test_with_tokens_one_is_asked_for_and_remembered_in_a_cookie(
    host: AMemorixHostService, tokens: Tokens
) -> None:
    async with browser(host, tokens) as web:
        for path in PAGES.values():
            page = await web.get(path)
            assert page.url.path == "/ui/login", path
            assert "allergic" not in page.text
        assert (await logged_in(web, "wrong")).status_code == 401
        page = await logged_in(web, "boss")
        assert (page.status_code, page.url.path) == (200, "/ui/chats")
        assert "hike" in page.text
        cookie = page.history[0].headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert "boss" not in cookie
        assert (await web.post("/ui/logout", data={"csrf": secret(page)})).url.path == "/ui/login"
        assert (await web.get("/")).url.path == "/ui/login"


async def test_nobody_is_led_to_another_site_by_logging_in(host: AMemorixHostService, tokens: Tokens) -> None:
    async with browser(host, tokens) as web:
        for elsewhere in ("https://evil.example/", "//evil.example/", "/\\evil.example", "/%0d%0aSet-Cookie: a=b"):
            answer = await web.post(
                "/ui/login", params={"next": elsewhere}, data={"token": "boss"}, follow_redirects=False
            )
            assert answer.headers["location"].startswith("/")
            assert "evil" not in answer.headers["location"] or elsewhere.startswith("/%0d")
            assert "a=b" not in str(answer.headers.get_list("set-cookie"))


async def test_a_form_without_the_secret_of_the_session_does_nothing(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/people/u1")
        fact = (await call(host, "memory_fact_admin", "list", person_id="u1", scope="all"))["items"][0]["id"]
        for forged in ({}, {"csrf": "x"}, {"csrf": ""}):
            answer = await web.post("/ui/people/u1", data={"fact": fact, **forged})
            assert answer.status_code == 403
        foreign = await web.post(
            "/ui/people/u1", data={"fact": fact, "csrf": secret(page)}, headers={"Origin": "https://evil.example"}
        )
        assert foreign.status_code == 403
        assert (await call(host, "memory_fact_admin", "get", fact_id=fact, scope="all"))["fact"]["status"] == "active"


async def test_a_statement_is_taken_back_and_stands_again(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/people/u1")
        fact = (await call(host, "memory_fact_admin", "list", person_id="u1", scope="all"))["items"][0]["id"]
        page = await web.post("/ui/people/u1", data={"fact": fact, "csrf": secret(page)})
        assert "taken back" in page.text
        assert (await call(host, "memory_fact_admin", "get", fact_id=fact, scope="all"))["fact"][
            "status"
        ] == "retracted"
        undo = re.search(r'name="undo" value="([^"]+)"', page.text)
        assert undo
        await web.post("/ui/people/u1", data={"undo": undo[1], "csrf": secret(page)})
        assert (await call(host, "memory_fact_admin", "get", fact_id=fact, scope="all"))["fact"]["status"] == "active"


async def test_what_was_said_last_stands_first_whenever_it_was_stored(host: AMemorixHostService) -> None:
    for day in ("2024-03-03", "2024-03-01", "2024-03-02"):
        turn = {"speaker": "Cid", "person_id": "u3", "text": f"Said on {day}.", "time": f"{day}T10:00:00Z"}
        await call(host, "ingest_messages", chat_id="days", messages=[turn])
    await host.settle()
    async with browser(host) as web:
        for path in ("/ui/log?chat=days", "/ui/people/u3"):
            page = (await web.get(path)).text
            assert re.findall(r"Said on 2024-03-(\d+)\.", page)[-3:] == ["03", "02", "01"], path


async def test_files_of_the_browser_are_given_and_no_others(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        assert (await web.get("/ui/static/console.css")).headers["content-type"].startswith("text/css")
        for path in (
            "/ui/static/..%2Fview.py",
            "/ui/static/nothing.js",
            "/ui/static/.hidden",
            "/ui/texts/p999",
            "/ui/texts/x",
        ):
            assert (await web.get(path)).status_code in (400, 404), path


async def test_the_language_and_the_theme_that_were_chosen_stay(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.post("/ui/look", data={"language": "zh", "next": "/ui/chats"})
        assert (page.url.path, "聊天" in page.text) == ("/ui/chats", True)
        page = await web.post("/ui/look", data={"theme": "dark", "next": "/"})
        assert 'data-theme="dark"' in page.text
        assert "概览" in page.text


async def test_who_is_bound_to_a_chat_begins_at_the_chats(host: AMemorixHostService, tokens: Tokens) -> None:
    async with browser(host, tokens) as web:
        await logged_in(web, "hiker")
        page = await web.get("/")
        assert (page.status_code, page.url.path) == (200, "/ui/chats")
        for path in re.findall(r'<a [^>]*href="(/[^"]*)"', page.text):
            assert (await web.get(path)).status_code == 200, path


async def test_who_may_read_any_one_chat_sees_the_figures(host: AMemorixHostService, tmp_path: Path) -> None:
    given = json.dumps([{"token": "reader", "role": "read"}])
    async with browser(host, Tokens.read(Http(), {"AMEMORIX_TOKENS": given}, tmp_path)) as web:
        await logged_in(web, "reader")
        page = await web.get("/")
        assert (page.status_code, "hike" in page.text) == (200, False)


async def test_a_part_of_a_page_takes_no_remark_from_the_next_whole_one(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.post("/ui/backup", data={"csrf": secret(await web.get("/"))}, follow_redirects=False)
        assert page.status_code == 303
        assert "The backup is made." not in (await web.get("/", headers={"HX-Request": "true"})).text
        assert "The backup is made." in (await web.get("/")).text


async def test_a_form_takes_no_files(host: AMemorixHostService, tokens: Tokens) -> None:
    async with browser(host, tokens) as web:
        for path in ("/ui/login", "/ui/look"):
            assert (await web.post(path, files={"token": ("t", b"x" * 100_000)})).status_code == 400


async def test_what_a_page_does_not_know_of_its_address_is_said(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        for path in PAGES.values():
            joint = "&" if "?" in path else "?"
            plain = await web.get(path)
            assert "does not know" not in plain.text, path
            for link in re.findall(r'href="(/[^"#]*\?[^"#]*)"', plain.text):
                assert "does not know" not in (await web.get(unescape(link))).text, link
            if (
                plain.status_code != 200 or "html" not in plain.headers["content-type"]
            ):  # the data of a drawing is no page
                continue
            page = await web.get(f"{path}{joint}ofset=50&%3Cb%3E=1")
            assert (
                page.status_code == 200 and "This page does not know ofset, &lt;b&gt; in its address." in page.text
            ), path
        known = await web.get("/ui/search?q=peanuts&chat=hike&person=&from=&to=&as_of=&mode=search&limit=10")
        assert "does not know" not in known.text
        assert "does not know" not in (await web.get("/ui/audit?component=ingest_text")).text
        web.cookies.set("amemorix_language", "zh")
        assert "本页不认识地址中的 ofset。" in (await web.get("/ui/people?ofset=50")).text
