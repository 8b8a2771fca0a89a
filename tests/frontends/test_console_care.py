"""Tuning, the audit, backups, checks and background work in the console."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import HashEmbedder, memory_host
from console_entrance import browser, logged_in, sent, undo_of
from entrance import call, contents, said
from tuning_life import ADMIN, OFF, SETTINGS, create, ended, fill

PAGES = ("/ui/tuning", "/ui/audit", "/ui/backups", "/ui/health")
RUNTIME = "memory_runtime_admin"


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[AMemorixHostService]:
    async with memory_host(tmp_path) as made:
        await said(made, "hike", ("Ann", "I am allergic to peanuts."))
        await made.settle()
        yield made


async def test_a_reader_and_a_bound_token_see_none_of_it(host: AMemorixHostService, tmp_path: Path) -> None:
    given = [
        {"token": "writer", "role": "write", "name": "w"},
        {"token": "hiker", "role": "read", "chats": ["hike"], "name": "h"},
    ]
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(given)}, tmp_path)
    for token in ("writer", "hiker"):
        async with browser(host, tokens) as web:
            page = await logged_in(web, token)
            for path in PAGES:
                assert f'href="{path}"' not in page.text
                assert (await web.get(path)).status_code == 403, path
            for path, data in (
                ("/ui/backups", {"do": "make"}),
                ("/ui/health", {"do": "repair"}),
                ("/ui/health", {"do": "embedding"}),
                ("/ui/tuning", {"do": "create"}),
            ):
                assert (await sent(web, page, path, **data)).status_code == 403, path
    assert (await call(host, RUNTIME, "list_backups"))["backups"] == []


# backups


async def test_a_backup_is_made_verified_and_put_back_and_that_is_undone(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await sent(web, await web.get("/ui/backups"), do="make")
        backup = (await call(host, RUNTIME, "list_backups"))["backups"][0]["id"]
        assert backup in page.text
        verified = await sent(web, page, do="verify", backup=backup)
        assert "sound" in verified.text
        await said(host, "hike", ("Ben", "The hut has a red door."))
        await host.settle()
        looked = await web.get(f"/ui/backups/{backup}/restore")
        assert "hut" not in looked.text
        assert await contents(host, "red door", chat_id="hike")
        assert "set aside" in looked.text
        done = await sent(web, looked)
        await host.settle()
        assert done.status_code == 200
        assert await contents(host, "red door", chat_id="hike") == []
        undone = await web.get(f"/ui/backups/{undo_of(done)}/restore")
        assert undone.status_code == 200
        await sent(web, done, "/ui/backups", undo=undo_of(done))
        await host.settle()
        assert await contents(host, "red door", chat_id="hike")


async def test_a_backup_is_deleted_after_a_look(host: AMemorixHostService) -> None:
    backup = (await call(host, RUNTIME, "backup"))["backup"]["id"]
    async with browser(host) as web:
        looked = await web.get(f"/ui/backups/{backup}/delete")
        assert "cannot be undone" in looked.text
        assert (await call(host, RUNTIME, "list_backups"))["backups"]
        done = await sent(web, looked)
        assert "is gone" in done.text
        assert (await call(host, RUNTIME, "list_backups"))["backups"] == []
        assert (await web.get(f"/ui/backups/{backup}/restore")).status_code == 404
        assert (await web.get("/ui/backups/..%2F..%2Fetc/delete")).status_code in (400, 403, 404)


# checks and background work


async def test_it_is_checked_and_repaired(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await sent(web, await web.get("/ui/health"), do="check")
        assert "database" in page.text
        page = await sent(web, page, do="check", deep="1")
        assert page.status_code == 200
        page = await sent(web, page, do="repair")
        assert page.status_code == 200


async def test_what_waits_and_what_failed_is_shown_and_tried_again(tmp_path: Path) -> None:
    broken = True

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        if broken:
            raise RuntimeError("the endpoint <b>burns</b>")
        return [[1.0, 0.0, 0.0, 0.0] for _ in texts]

    async with memory_host(tmp_path, embed=embed, embedding={"retry_seconds": 3600.0}) as host, browser(host) as web:
        await said(host, "hike", ("Ann", "I am allergic to peanuts."))
        page = await web.get("/ui/health")
        for _ in range(200):
            if "burns" in page.text:
                break
            page = await web.get("/ui/health")
        assert "&lt;b&gt;burns" in page.text
        polled = await web.get("/ui/health", headers={"HX-Request": "true"})
        assert "<html" not in polled.text
        broken = False
        page = await sent(web, page, do="embedding")
        await host.settle()
        assert "burns" not in (await web.get("/ui/health")).text


# the audit


async def test_the_audit_is_filtered_and_paged(host: AMemorixHostService) -> None:
    for n in range(60):
        await call(host, "ingest_text", text=f"note {n}", source=f"s{n}", source_type="note")
        deleted = await call(
            host, "memory_delete_admin", "execute", mode="paragraph", selector={"ids": [f"p{n + 2}"]},
            requested_by="<b>Eve</b>",
        )  # fmt: skip
        assert deleted["operation_id"]
    async with browser(host) as web:
        page = await web.get("/ui/audit")
        assert "<b>Eve" not in page.text
        assert "memory_delete_admin" in page.text
        assert "before=a" in page.text
        page = await web.get("/ui/audit", params={"component": "memory_delete_admin", "who": "<b>Eve</b>"})
        assert "&lt;b&gt;Eve" in page.text
        assert "ingest_text" not in page.text.partition("<table")[2]
        assert (await web.get("/ui/audit", params={"who": "nobody"})).text.count("<td>execute") == 0
        assert (await web.get("/ui/audit", params={"since": "soon-ish"})).status_code == 400


# tuning


async def test_a_task_is_begun_shown_applied_and_taken_back(tmp_path: Path) -> None:
    settings: dict[str, Any] = {**SETTINGS, **OFF}
    async with memory_host(tmp_path, embed=HashEmbedder(), **settings) as host, browser(host) as web:
        await fill(host)
        page = await web.get("/ui/tuning")
        data = {"do": "create", "objective": "balanced", "intensity": "quick", "sample_size": "60"}
        page = await sent(web, page, **data)
        task = (await call(host, ADMIN, "list_tasks"))["items"][0]["task_id"]
        assert page.url.path == f"/ui/tuning/{task}"
        await ended(host, task)
        page = await web.get(f"/ui/tuning/{task}")
        assert "data-rounds=" in page.text
        assert page.text.count('<tr class="round"') == 8
        assert "hx-trigger" not in page.text
        report = await web.get(f"/ui/tuning/{task}/report")
        assert report.text.startswith(f"# Tuning task {task}")
        looked = await web.get(f"/ui/tuning/{task}/apply")
        before = (await call(host, ADMIN, "get_profile"))["profile"]
        assert "retrieval." in looked.text
        done = await sent(web, looked)
        applied = await call(host, ADMIN, "get_profile")
        best = (await call(host, ADMIN, "export_profile", task_id=task))["profile"]
        # which is the best depends on how long searches take
        assert applied["profile"] == {**before, **best}
        assert [one["task_id"] for one in applied["history"]] == [task]
        await sent(web, done, "/ui/tuning", undo=undo_of(done))
        assert (await call(host, ADMIN, "get_profile"))["profile"] == before


async def test_a_task_is_cancelled(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(), **SETTINGS) as host, browser(host) as web:
        await fill(host)
        task = await create(host, rounds=200)
        page = await web.get(f"/ui/tuning/{task}")
        assert "hx-trigger" in page.text
        await sent(web, page, do="cancel")
        found = await ended(host, task)
        assert found["task"]["status"] == "cancelled"
