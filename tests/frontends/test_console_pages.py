"""What holds for every page of the console: it answers in both languages, runs nothing, and shows no other chat."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from starlette.routing import compile_path

from amemorix import AMemorixHostService
from amemorix.clock import SystemClock
from amemorix.config.model import Http
from amemorix.frontends.console.pages import PAGES as ROUTES
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import memory_host
from console_entrance import browser, logged_in, secret
from console_memory import PAGES, fill

ROLES = ("read", "write")
"""Those that a bound token may have."""
OF_OTHERS = ("Leeds", "Stripe", "satay", "old mill", "discord:band", "hacked", "locker code")
"""What is told in chats that the bound token must not see."""
ASKING_FOR_IT = ("/ui/log?chat=discord:band", "/ui/search?q=who+rehearses", "/ui/search?q=rehearse&chat=discord:band", "/ui/texts/p7",
                 "/ui/texts/p7?chat=discord:band", "/ui/chats?q=discord")  # fmt: skip


def test_each_page_has_an_address_here() -> None:
    paths = [path.partition("?")[0] for path in PAGES.values()]
    for route in ROUTES:
        pattern = compile_path(route.path)[0]
        assert "GET" not in route.methods or any(pattern.fullmatch(path) for path in paths), route.path


@pytest.fixture
async def sample(tmp_path: Path) -> AsyncGenerator[tuple[AMemorixHostService, dict[str, str]]]:
    async with memory_host(tmp_path, clock=SystemClock()) as host:
        yield host, await fill(host)


async def test_every_page_answers_in_both_languages_and_runs_no_text(
    sample: tuple[AMemorixHostService, dict[str, str]],
) -> None:
    host, pages = sample
    async with browser(host) as web:
        for name, path in pages.items():
            for language, menu in (("en", "Overview"), ("zh", "概览")):
                page = await web.get(path, headers={"Accept-Language": language})
                assert page.status_code == (404 if name == "fault" else 200), path
                assert len(page.text) < 1_000_000, path
                assert "default-src 'none'" in page.headers["content-security-policy"]
                assert page.headers["x-content-type-options"] == "nosniff"
                if page.headers["content-type"].startswith("text/html"):
                    assert menu in page.text, path
                    assert not re.search(r"<script>window|<img|href=.javascript", page.text), path
        for name in (
            "search-hostile",
            "text-hostile",
            "relation-hostile",
            "deletion-done",
            "corrections",
            "import-task",
        ):
            assert "window.hacked" in (await web.get(pages[name])).text, name


async def test_people_attributes_and_reasons_are_called_by_their_names(
    sample: tuple[AMemorixHostService, dict[str, str]],
) -> None:
    host, _ = sample
    async with browser(host) as web:
        episode = (await web.get("/ui/episodes/e1")).text
        assert '<a href="/ui/people/u1"><bdi>小林</bdi></a>' in episode and "<bdi>u1</bdi>" not in episode
        for node, language, told, label in (
            ("小林", "zh", "工作单位：腾讯", "workplace"), ("Ann", "en", "workplace: Stripe", "Ann workplace")
        ):  # fmt: skip
            shown = (await web.get(f"/ui/graph/nodes/{node}", headers={"Accept-Language": language})).text
            assert f"<li><bdi>{told}</bdi></li>" in shown and label not in shown
        for language, told in (("zh", ("词", "问句词语的覆盖率", "其中的词")), ("en", ("words", "words in it"))):
            asked = {"params": {"q": "peanuts"}, "headers": {"Accept-Language": language}}
            why = (await web.get("/ui/search", **asked)).text.partition('<dl class="why">')[2]
            assert all(f"{name} " in why or f"<dt>{name}</dt>" in why for name in told), why
            assert "matched_terms" not in why


async def test_a_token_bound_to_a_chat_sees_that_chat_on_every_page(
    sample: tuple[AMemorixHostService, dict[str, str]], tmp_path: Path
) -> None:
    host, pages = sample
    given = [{"token": role, "role": role, "chats": ["qq:hike"]} for role in ROLES]
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(given)}, tmp_path)
    for role in ROLES:
        async with browser(host, tokens) as web:
            page = await logged_in(web, role)
            assert (await web.post("/ui/backup", data={"csrf": secret(page)})).status_code == 403
            for path in (*pages.values(), *ASKING_FOR_IT):
                shown = (await web.get(path)).text
                assert [word for word in OF_OTHERS if word in shown and word not in path] == [], (role, path)
            assert "梅林水库" in (await web.get("/ui/log")).text
