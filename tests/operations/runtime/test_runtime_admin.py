"""The running memory says how it is, and mends itself when asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidConfig
from amemorix.testing import FrozenClock, HashEmbedder, memory_host
from conftest import Open
from entrance import admin_of, contents, refused, told

admin = admin_of("memory_runtime_admin")


async def test_stats_count_what_is_stored(opened: Open) -> None:
    host = await opened(embed=HashEmbedder())
    relation = {"subject": "kite", "predicate": "in", "object": "hall"}
    await told(host, "kite one", external_id="x", chat_id="c", person_ids=["u"], relations=[relation])
    await told(host, "kite two", external_id="x", chat_id="c", person_ids=["u"], relations=[relation])
    await told(host, "lamp", chat_id="d", source="gone")
    await host.invoke("memory_source_admin", {"action": "delete", "source": "gone"})
    await host.settle(600)
    result = await host.invoke("memory_stats", {})

    expected = {"paragraphs": 1, "superseded": 1, "deleted": 1, "relations": 1, "entities": 2, "persons": 1, "chats": 2,
                "episodes": 1, "sources": 1, "external_refs": 1}  # fmt: skip
    assert {name: result[name] for name in expected} == expected
    assert set(result["lag"]) == {
        "sparse", "columns", "graph", "names", "vectors", "relations", "episodes", "extraction", "namings", "facts"
    }  # fmt: skip
    assert set(result["lag"].values()) == {0}
    assert result["embedding"]["state"] == "idle"
    assert (result["embedding"]["pending"], result["embedding"]["failed"]) == (0, 0)
    assert result["disabled"] is False


async def test_stats_count_every_paragraph_once_and_nothing_that_is_gone(host: AMemorixHostService) -> None:
    for text in ("kite one", "kite two"):
        await told(host, text, external_id="x", source="gone", entities=["kite", "hall"])
    await told(host, "lamp", source="kept", entities=["hall"])
    await host.settle(600)
    await host.invoke("memory_source_admin", {"action": "delete", "source": "gone"})
    result = await host.invoke("memory_stats", {})

    expected = {"paragraphs": 1, "superseded": 1, "deleted": 1, "entities": 1, "episodes": 1}
    assert {name: result[name] for name in expected} == expected


async def test_stats_say_that_no_model_is_at_work(host: AMemorixHostService) -> None:
    assert (await host.invoke("memory_stats", {}))["embedding"]["state"] == "off"


async def test_auto_without_an_installed_model_says_so(tmp_path: Path) -> None:
    environ = {"AMEMORIX_CACHE": str(tmp_path / "nothing")}
    async with memory_host(tmp_path, environ=environ, embedding={"provider": "auto"}) as host:
        assert "amemorix models install" in (await host.invoke("memory_stats", {}))["notice"]
        await told(host, "kite")
        assert await contents(host, "kite") == ["kite"]


async def test_save_writes_snapshots_that_are_loaded(opened: Open, tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        await told(host, "kite", relations=[{"subject": "kite", "predicate": "in", "object": "hall"}])
        await host.settle(600)
        first = await admin(host, "save")
        again = await admin(host, "save")

        assert set(first["indexes"]) == {"sparse", "columns", "graph", "vectors", "relations"}
        assert again["indexes"] == []
        assert Path(first["data_dir"]) == tmp_path / "data" / "a-memorix"
        assert list((tmp_path / "data" / "a-memorix" / "indexes").iterdir())
    async with memory_host(tmp_path, embed=HashEmbedder()) as host:
        assert await contents(host, "kite") == ["kite"]


async def test_a_save_that_cannot_write_names_the_path(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, "kite")
        indexes = tmp_path / "data" / "a-memorix" / "indexes"
        shutil.rmtree(indexes, ignore_errors=True)
        indexes.write_text("in the way", "utf-8")
        result = await host.invoke("memory_runtime_admin", {"action": "save"})

    assert (result["success"], result["error_code"]) == (False, "storage_failure")
    assert str(indexes) in result["error"]
    assert result["details"]["file"].startswith(str(indexes))


async def test_get_config_shows_what_is_at_work(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(), retrieval={"candidates": 77})
    result = await admin(host, "get_config")

    assert result["config"] == await host.get_config()
    assert result["config"]["retrieval"]["candidates"] == 77
    assert result["config_file"] == str(host.config_path)
    assert result["auto_save"] is True


async def test_the_mode_of_retrieval_follows_the_model(opened: Open, tmp_path: Path) -> None:
    words = await opened(tmp_path / "a")
    vectors = await opened(tmp_path / "b", embed=HashEmbedder())
    await told(vectors, "kite")
    await vectors.settle(600)

    assert (await admin(words, "get_config"))["retrieval_mode"] == "sparse_graph"
    assert (await admin(vectors, "get_config"))["retrieval_mode"] == "hybrid"


async def test_a_check_finds_all_well_and_remembers_it(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "kite", relations=[{"subject": "kite", "predicate": "in", "object": "hall"}])
    await dense_host.settle(600)
    first = (await admin(dense_host, "self_check"))["report"]
    await told(dense_host, "lamp")
    second = (await admin(dense_host, "self_check"))["report"]
    fresh = (await admin(dense_host, "refresh_self_check"))["report"]

    assert first["ok"], first
    assert {finding["name"] for finding in first["findings"]} >= {"database", "references", "sparse", "graph", "disk"}
    assert second == first
    assert fresh != first
    assert fresh["ok"], fresh


async def test_auto_save_is_remembered(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        assert (await admin(host, "set_auto_save", enabled=False))["auto_save"] is False
    async with memory_host(tmp_path) as host:
        assert (await admin(host, "get_config"))["auto_save"] is False
        assert (await admin(host, "set_auto_save", enabled="yes"))["auto_save"] is True


@pytest.mark.parametrize("enabled", [None, "perhaps", 2, []])
async def test_auto_save_wants_a_truth_value(host: AMemorixHostService, enabled: Any) -> None:
    await refused(host, "memory_runtime_admin", {"action": "set_auto_save", "enabled": enabled}, "enabled")


async def test_a_rebuild_can_be_tried_dry(dense_host: AMemorixHostService) -> None:
    for n in range(5):
        await told(dense_host, f"kite {n}")
    await dense_host.settle(600)
    before = await admin(dense_host, "rebuild_status")
    plan = await admin(dense_host, "rebuild_all_vectors", dry_run=True)

    assert (plan["started"], plan["dry_run"], plan["paragraphs"]) == (False, True, 5)
    assert await admin(dense_host, "rebuild_status") == before


async def test_a_rebuild_makes_a_new_generation_and_tells_its_progress(dense_host: AMemorixHostService) -> None:
    for n in range(5):
        await told(dense_host, f"kite {n}")
    await dense_host.settle(600)
    begun = await admin(dense_host, "rebuild_all_vectors")
    await dense_host.settle(600)
    status = await admin(dense_host, "rebuild_status")

    assert (begun["started"], begun["paragraphs"]) == (True, 5)
    assert (status["progress"], status["total"]) == (1.0, 5)
    assert status["embedding"]["serving_generation"] == begun["generation"]
    assert [(item["status"], item["vectors"]) for item in status["generations"]] == [("retired", 5), ("serving", 5)]


async def test_without_a_model_there_is_nothing_to_rebuild(host: AMemorixHostService) -> None:
    error = await refused(host, "memory_runtime_admin", {"action": "rebuild_all_vectors"}, code="conflict")
    assert "model" in error
    assert (await admin(host, "rebuild_status"))["progress"] == 1.0
    assert (await admin(host, "recover_embedding"))["retried"] == 0


# configuration


async def test_reloads_are_told(host: AMemorixHostService) -> None:
    await host.update_config({"retrieval.candidates": 50, "advanced.debug": True})
    status = await admin(host, "reload_status")

    assert (status["reloads"], status["refused"], status["last_error"]) == (1, 0, None)
    assert status["last"]["ok"]
    assert status["last"]["level"] == "live"
    assert set(status["last"]["changed"]) == {"retrieval.candidates", "advanced.debug"}


BROKEN = [
    ("[retrieval]\ncandidtes = 50\n", ["retrieval", "candidtes", "candidates"]),
    ("[retrieval]\ncandidates = 5\n", ["retrieval.candidates", "10"]),
    ('[retrieval]\ncandidates = "many"\n', ["retrieval.candidates"]),
    ('[filter]\nmode = "blaklist"\n', ["filter.mode", "blacklist", "whitelist"]),
    ("[retrieval\n", ["line 1"]),
    ("[retrivial]\n", ["retrivial", "retrieval"]),
]


@pytest.mark.parametrize(("text", "words"), BROKEN, ids=lambda value: str(value)[:30])
async def test_a_broken_file_changes_nothing_and_is_told(
    host: AMemorixHostService, text: str, words: list[str]
) -> None:
    await told(host, "kite")
    before = await host.get_config()
    host.config_path.write_text(text, "utf-8")
    with pytest.raises(Exception, match=r".+"):
        await host.reload()
    status = await admin(host, "reload_status")

    assert await host.get_config() == before
    assert await contents(host, "kite") == ["kite"]
    assert status["refused"] == 1
    assert all(word in json.dumps(status["last_error"]) for word in words), status["last_error"]

    host.config_path.write_text("[retrieval]\ncandidates = 60\n", "utf-8")
    await host.reload()
    assert (await admin(host, "reload_status"))["last_error"] is None


@pytest.mark.parametrize("folder", ["~no-such-user-at-all/x", "a\0b", "loop/x"])
async def test_a_data_folder_that_cannot_be_is_refused_and_told(
    host: AMemorixHostService, tmp_path: Path, folder: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    host.config_path.write_text(f"[storage]\ndata_dir = {json.dumps(folder)}\n", "utf-8")
    with pytest.raises(InvalidConfig, match=r"storage\.data_dir"):
        await host.reload()
    status = await admin(host, "reload_status")

    assert status["refused"] == 1
    assert [problem["path"] for problem in status["last_error"]["problems"]] == ["storage.data_dir"]
    assert status["last_error"]["problems"][0]["value"] == folder


async def test_a_changed_clock_does_not_confuse_the_check(tmp_path: Path) -> None:
    async with memory_host(tmp_path, clock=FrozenClock(0.0)) as host:
        await told(host, "kite")
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]
