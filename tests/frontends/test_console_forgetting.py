"""Deletion, corrections, episodes and the graph in the console: who may do what, and what a form does not do."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.tokens import Tokens
from console_entrance import browser, logged_in, secret
from entrance import call
from test_console import host, tokens  # noqa: F401  # pyright: ignore[reportUnusedImport]  # fixtures

FORMS = {
    "/ui/deletion": {"mode": "chat", "target": "hike"}, "/ui/deletion/d1": {}, "/ui/deletion/d1/purge": {"understood": "yes"},
    "/ui/corrections": {"text": "Ann is not allergic to peanuts"}, "/ui/episodes": {"all": "yes"}, "/ui/graph": {"do": "delete", "node": "Ann"},
}  # fmt: skip
OTHERS = ("/ui/episodes", "/ui/graph", "/ui/graph/data", "/ui/corrections", "/ui/deletion", "/ui/deletion?mode=chat&target=private",
          "/ui/episodes?chat=private", "/ui/graph?q=Ben", "/ui/graph/data?node=Ben", "/ui/deletion?mode=paragraph&target=p2")  # fmt: skip


@pytest.mark.parametrize("token", ["hiker", "writer"])
async def test_who_is_bound_to_a_chat_sees_no_button_and_is_refused(
    host: AMemorixHostService,  # noqa: F811
    tokens: Tokens,  # noqa: F811
    token: str,
) -> None:
    relation = {"subject": "Ben", "predicate": "keeps", "object": "locker 4417"}
    await call(
        host, "ingest_text", external_id="n", source_type="note", text="4417", chat_id="private", relations=[relation]
    )
    async with browser(host, tokens) as web:
        page = await logged_in(web, token)
        assert "/ui/deletion" not in page.text
        assert "/ui/corrections" not in page.text
        for path in OTHERS:
            assert "4417" not in (await web.get(path)).text, path
        for path in ("/ui/log", "/ui/texts/p1", "/ui/search?q=peanuts", "/ui/episodes"):
            shown = (await web.get(path)).text
            assert "/ui/deletion" not in shown, path
            assert "danger" not in shown, path
        for path, form in FORMS.items():
            assert (await web.post(path, data={"csrf": secret(page), **form})).status_code == 403, path
    assert (await call(host, "memory_delete_admin", "list_operations"))["items"] == []


async def test_no_form_works_without_the_secret_of_the_session(host: AMemorixHostService) -> None:  # noqa: F811
    async with browser(host) as web:
        for path, form in FORMS.items():
            for forged in ({}, {"csrf": "x"}):
                assert (await web.post(path, data={**form, **forged})).status_code == 403, path
    assert (await call(host, "memory_delete_admin", "list_operations"))["items"] == []


async def test_looking_at_a_deletion_or_a_purge_changes_nothing(host: AMemorixHostService) -> None:  # noqa: F811
    async with browser(host) as web:
        page = await web.get("/ui/deletion?mode=chat&target=private")
        assert "4417" in page.text
        assert (await call(host, "memory_delete_admin", "list_operations"))["items"] == []
        done = await call(host, "memory_delete_admin", "execute", mode="chat", selector="private")
        here = f"/ui/deletion/{done['operation_id']}"
        await web.get(f"{here}/purge")
        assert (await web.post(f"{here}/purge", data={"csrf": secret(page)})).url.path == f"{here}/purge"
        found = await call(host, "memory_delete_admin", "get_operation", operation_id=done["operation_id"])
        assert found["operation"]["status"] == "executed"
