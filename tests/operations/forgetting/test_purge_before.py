"""A purge reaches what was deleted before it: forgotten, expired, deleted, replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host
from entrance import contents, data_of, hits, refused, rows, said, told
from memory_dump import tables
from test_purge import admin, in_copy, left

ADMIN = "memory_delete_admin"
SECRETS = {"en": "the treasure lies under the seventh birch tree", "zh": "宝藏埋在第七棵白桦树下面的石头旁边"}
BY_MODE: list[dict[str, Any]] = [
    {"mode": "chat", "selector": "c"},
    {"mode": "source", "selector": "notes"},
    {"mode": "person", "selector": "Zoe"},
    {"mode": "paragraph", "selector": ["p1", "p2"]},
]


async def forgotten(host: AMemorixHostService, id_: str) -> None:
    answer = await host.invoke("memory_v5_admin", {"action": "forget", "target": id_})
    assert answer["success"], answer


async def binned(host: AMemorixHostService, language: str) -> None:
    """An older wording and the last one, both out of sight."""
    for text in (SECRETS[language], SECRETS[language] + " !"):
        await told(host, text, external_id="1", chat_id="c", source="notes", person_ids=["Zoe"])
    await forgotten(host, "p2")


async def gone(host: AMemorixHostService, folder: Path, language: str) -> None:
    assert rows(host, "select count(*) from paragraphs where content like '%birch%' or content like '%白桦%'") == [(0,)]
    assert left(in_copy(data_of(host), folder), [SECRETS[language]]) == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("wish", BY_MODE, ids=lambda wish: wish["mode"])
async def test_a_purge_erases_what_was_forgotten_before(tmp_path: Path, wish: dict[str, Any], language: str) -> None:
    async with memory_host(tmp_path) as host:
        await binned(host, language)
        if wish["mode"] != "paragraph":
            await told(host, "It rains.", external_id="2", chat_id="c", source="notes", person_ids=["Zoe"])
        done = await admin(host, "execute", **wish, purge=True)
        assert done["receipt"]["found"] == {} and done["receipt"]["erased"]["paragraphs"] >= 2
        await gone(host, tmp_path / "after", language)


async def test_a_deletion_that_is_purged_later_takes_it_too(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await binned(host, "en")
        await told(host, "It rains.", external_id="2", chat_id="c")
        done = await admin(host, "execute", mode="chat", selector="c")
        assert done["counts"]["deleted_before"] == 1
        await admin(host, "purge", operation_id=done["operation_id"])
        await gone(host, tmp_path / "after", "en")


async def test_lines_that_name_a_person_and_were_deleted_before_go_too(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await said(host, "c", ("Zebulonia Quist", "I drink coffee."), ("Bob", "Zebulonia Quist hates the birch tree!"))
        await said(host, "c", ("Bob", "It rains."))
        await admin(host, "execute", mode="paragraph", selector="p2")
        await admin(host, "execute", mode="person", selector="Zebulonia Quist", purge=True)
        assert rows(host, "select content from paragraphs") == [("It rains.",)]


async def test_a_restore_leaves_what_was_deleted_before(host: AMemorixHostService) -> None:
    await binned(host, "zh")
    await told(host, "下雨了。", external_id="2", chat_id="c")
    before = await tables(host)
    done = await admin(host, "execute", mode="chat", selector="c")
    back = await admin(host, "restore", operation_id=done["operation_id"])
    assert (back["status"], back["not_restored"]) == ("restored", [])
    assert await tables(host) == before
    assert await contents(host, "白桦树 下雨") == ["下雨了。"]


async def test_what_another_deletion_brings_back_is_not_purged(host: AMemorixHostService) -> None:
    await told(host, "The kite hangs in the hall.", external_id="1", chat_id="c")
    await told(host, "It rains.", external_id="2", chat_id="c")
    first = await admin(host, "execute", mode="paragraph", selector="p1")
    second = await admin(host, "execute", mode="chat", selector="c")
    assert (await admin(host, "restore", operation_id=first["operation_id"]))["status"] == "restored"
    await admin(host, "purge", operation_id=second["operation_id"])
    assert await contents(host, "kite rain") == ["The kite hangs in the hall."]


async def test_what_is_deleted_already_can_only_be_purged(host: AMemorixHostService) -> None:
    await binned(host, "en")
    await admin(host, "execute", mode="source", selector="notes")
    wish = {"mode": "paragraph", "selector": "p2"}
    error = await refused(host, ADMIN, {"action": "execute", **wish}, "selector", "not_found")
    assert "purge" in error
    assert (await admin(host, "execute", **wish, purge=True))["status"] == "purged"
    assert rows(host, "select count(*) from paragraphs") == [(0,)]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_purge_by_age_empties_the_recycle_bin(tmp_path: Path, language: str) -> None:
    async with memory_host(tmp_path) as host:
        await binned(host, language)
        await told(host, "It rains.", external_id="2", chat_id="c")
        assert (await admin(host, "purge", older_than_days=1))["purged_count"] == 0
        done = await admin(host, "purge", grace_hours=0)
        assert (done["purged_count"], done["operations"][0]["receipt"]["erased"]["paragraphs"]) == (1, 2)
        await gone(host, tmp_path / "after", language)
        assert (await admin(host, "purge", grace_hours=0))["purged_count"] == 0
        assert [hit["content"] for hit in await hits(host, "rains")] == ["It rains."]
