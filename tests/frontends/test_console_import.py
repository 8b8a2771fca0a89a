"""Imports in the console: files, pasted texts and folders of this machine, how far they are, and what failed."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import memory_host
from console_entrance import browser, logged_in, secret, sent
from entrance import contents, data_of
from import_entrance import admin, ended, raw_folder

LINES = "\n".join(
    json.dumps(one)
    for one in (
        {"text": "Mia moved to Leeds.", "external_id": "a1"},
        {"text": 7, "external_id": "<img src=x onerror=alert(2)>"},
        {"text": "Ben keeps bees.", "external_id": "a3"},
    )
)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncGenerator[AMemorixHostService]:
    settings = {"poll_interval_seconds": 0.02, "idle_share": 0.0, "chunk_records": 1}
    async with memory_host(tmp_path, imports=settings) as made:
        yield made


async def newest(host: AMemorixHostService) -> str:
    return (await admin(host, "list"))["items"][0]["task_id"]


def staged(host: AMemorixHostService) -> int:
    return sum(1 for _ in (data_of(host) / "imports" / "staging").glob("u*/*"))


async def test_a_text_is_pasted_into_a_chat(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/import")
        data = {"kind": "paste", "content": "The heron nests by the mill.", "name": "birds.txt", "chat_id": "walks"}
        page = await sent(web, page, **data)
        task = await newest(host)
        assert page.url.path == f"/ui/import/{task}"
        assert (await ended(host, task))["status"] == "completed"
        await host.settle()
        assert await contents(host, "heron", chat_id="walks") == ["The heron nests by the mill."]
        page = await web.get(f"/ui/import/{task}")
        assert "birds.txt" in page.text and "· 1 record ·" in page.text
        assert "1 record<" in (await web.get("/ui/import")).text
        assert "hx-trigger" not in page.text
        assert f"/ui/import/{task}" in (await web.get("/ui/import")).text


async def test_files_are_uploaded_and_what_failed_is_shown_and_tried_again(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/import")
        files = [
            ("file", ("one.jsonl", LINES.encode(), "application/json")),
            ("file", ("two.txt", "芒果过敏".encode(), "text/plain")),
        ]
        page = await web.post(
            "/ui/import/upload", data={"csrf": secret(page), "chat_id": "up", "format": "auto"}, files=files
        )
        assert page.status_code == 200
        task = await newest(host)
        found = await ended(host, task)
        assert (found["status"], len(found["files"])) == ("completed_with_errors", 2)
        page = await web.get(f"/ui/import/{task}")
        for part in ("one.jsonl", "two.txt", "text"):
            assert part in page.text
        assert "<img src=x" not in page.text
        page = await sent(web, page, do="retry", skip_bad="1")
        again = await newest(host)
        assert again != task
        assert page.url.path == f"/ui/import/{again}"
        await ended(host, again)
        assert task in (await web.get(f"/ui/import/{again}")).text


async def test_a_forged_upload_stores_nothing(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        await web.get("/ui/import")
        for forged in ({}, {"csrf": "x"}):
            files = {"file": ("one.jsonl", LINES.encode())}
            assert (await web.post("/ui/import/upload", data=forged, files=files)).status_code == 403
        assert (await admin(host, "list"))["items"] == []
        assert staged(host) == 0


async def test_an_upload_without_a_file_says_so(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/import")
        answer = await web.post(
            "/ui/import/upload", data={"csrf": secret(page)}, files={"file": ("", b"", "application/octet-stream")}
        )
        assert answer.status_code == 400
        assert (await admin(host, "list"))["items"] == []
        assert staged(host) == 0


async def test_a_format_that_does_not_exist_leaves_nothing_behind(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/import")
        data = {"csrf": secret(page), "format": "floppy"}
        assert (await web.post("/ui/import/upload", data=data, files={"file": ("a.txt", b"hi")})).status_code == 400
        assert staged(host) == 0


async def test_a_folder_of_this_machine_is_read(host: AMemorixHostService) -> None:
    (await raw_folder(host)).joinpath("note.txt").write_text("The ferry leaves at nine.", "utf-8")
    async with browser(host) as web:
        page = await web.get("/ui/import")
        begun = await sent(web, page, kind="raw_scan", path="note.txt", chat_id="")
        assert begun.status_code == 200, begun.text
        assert (await ended(host, await newest(host)))["status"] == "completed"
        bad = await sent(web, page, kind="raw_scan", path="../../etc/passwd")
        assert bad.status_code in (400, 403, 404)
        assert (await sent(web, page, kind="maibot_migration", path="none.db")).status_code == 404
        await sent(web, page, kind="temporal_backfill", dry_run="1")
        assert (await ended(host, await newest(host)))["kind"] == "temporal_backfill"


async def test_an_import_is_cancelled(host: AMemorixHostService) -> None:
    async with browser(host) as web:
        page = await web.get("/ui/import")
        lines = "\n".join(json.dumps({"text": f"line {n}"}) for n in range(3000))
        page = await sent(web, page, kind="paste", content=lines, name="many.jsonl")
        task = await newest(host)
        polled = await web.get(f"/ui/import/{task}", headers={"HX-Request": "true"})
        assert "<html" not in polled.text
        assert "hx-trigger" in polled.text
        await sent(web, page, do="cancel")
        assert (await ended(host, task))["status"] == "cancelled"


async def test_a_reader_neither_sees_nor_makes_imports(host: AMemorixHostService, tmp_path: Path) -> None:
    given = [{"token": "writer", "role": "write", "name": "w"}, {"token": "boss", "role": "admin", "name": "b"}]
    tokens = Tokens.read(Http(), {"AMEMORIX_TOKENS": json.dumps(given)}, tmp_path)
    async with browser(host, tokens) as web:
        page = await logged_in(web, "writer")
        assert "/ui/import" not in page.text
        assert (await web.get("/ui/import")).status_code == 403
        assert (await sent(web, page, "/ui/import", kind="paste", content="x", name="y.txt")).status_code == 403
        files = {"file": ("a.txt", b"hi")}
        assert (await web.post("/ui/import/upload", data={"csrf": secret(page)}, files=files)).status_code == 403
        assert staged(host) == 0
