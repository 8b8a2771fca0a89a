"""The functions that a host hands over are used, and what goes wrong with them is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.config import default_toml, patched
from amemorix.testing import HashEmbedder

CONFIG = {"embedding": {"retry_seconds": 0.05}}


def written(folder: Path, settings: dict[str, Any] | None = None) -> Path:
    """The file that the memory writes by itself, with settings of the test's."""
    path = folder / "config" / "a_memorix.toml"
    path.parent.mkdir()
    path.write_text(patched(default_toml(), {**CONFIG, **(settings or {})}), "utf-8")
    return path


async def chat(messages: Sequence[dict[str, str]]) -> str:
    return '{"ok": true}'


async def test_both_functions_are_used_with_the_default_file(tmp_path: Path) -> None:
    async with AMemorixHostService(written(tmp_path), embed=HashEmbedder(16), chat=chat, watch=False) as host:
        await host.call("ingest_text", {"external_id": "1", "source_type": "note", "text": "The kettle is blue."})
        await host.settle(600)
        stats = await host.invoke("memory_stats")
        assert (stats["embedding"]["provider"], stats["embedding"]["dimension"]) == ("host", 16)
        assert (stats["embedding"]["state"], stats["embedding"]["done"]) == ("idle", 1)
        assert stats["chat"]["state"] == "on"
        found = await host.invoke("search_memory", {"query": "kettle"})
        assert "dense" in found["hits"][0]["explain"]["lanes"]


async def test_another_provider_that_is_named_wins(tmp_path: Path) -> None:
    path = written(tmp_path, {"embedding.provider": "none"})
    async with AMemorixHostService(path, embed=HashEmbedder(16), watch=False) as host:
        assert (await host.invoke("memory_stats"))["embedding"]["state"] == "off"


@pytest.mark.parametrize("provider", ["auto", "host"])
async def test_a_function_that_fails_is_shown_until_it_answers(tmp_path: Path, provider: str) -> None:
    answers = False
    model = HashEmbedder(16)

    def embed(texts: Sequence[str]) -> Any:
        if not answers:
            raise RuntimeError("no GPU left")
        return model.embed(texts)

    path = written(tmp_path, {"embedding.provider": provider})
    async with AMemorixHostService(path, embed=embed, watch=False) as host:
        stats = await host.invoke("memory_stats")
        assert stats["embedding"]["state"] == "off"
        assert "no GPU left" in stats["embedding"]["error"]
        assert "no GPU left" in stats["notice"]
        report = (await host.invoke("memory_runtime_admin", {"action": "check", "probe": True}))["report"]
        assert [one["name"] for one in report["findings"] if not one["ok"] and "no GPU left" in one["detail"]] == [
            "model"
        ]

        answers = True
        await host.invoke("memory_runtime_admin", {"action": "recover_embedding"})
        await host.settle(600)
        stats = await host.invoke("memory_stats")
        assert (stats["embedding"]["state"], stats["embedding"]["error"], stats["notice"]) == ("idle", "", "")


async def test_a_check_looks_at_the_configured_model_and_not_at_the_one_before(tmp_path: Path) -> None:
    async with AMemorixHostService(written(tmp_path), embed=HashEmbedder(16), watch=False) as host:
        await host.call("ingest_text", {"external_id": "1", "source_type": "note", "text": "The kettle is blue."})
        await host.settle(600)
        away = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model_name": "m", "max_attempts": 1}
        await host.update_config({"embedding": away})
        for probe in (False, True):
            report = (await host.invoke("memory_runtime_admin", {"action": "check", "probe": probe}))["report"]
            model = next(one for one in report["findings"] if one["name"] == "model")
            assert not model["ok"]
            assert "cannot be reached" in model["detail"]
        assert "model before" in (await host.invoke("memory_stats"))["notice"]
