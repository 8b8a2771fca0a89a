"""What Prometheus reads of a memory's state, and under which names calls are counted."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.openapi import BASE_PATH, UPLOAD_PATH
from amemorix.testing import FrozenClock, HashEmbedder, pause_background
from conftest import Open
from entrance import change
from import_entrance import created, pasted

NOW = 1_700_000_000.0
IMPORTS, RUNTIME = "memory_import_admin", "memory_runtime_admin"


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(NOW)


@pytest.fixture
async def host(opened: Open, clock: FrozenClock) -> AMemorixHostService:
    return await opened(clock=clock, embed=HashEmbedder())


async def values(web: httpx.AsyncClient) -> dict[str, float]:
    """Name with labels -> value."""
    lines = (await web.get("/metrics")).text.splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


async def test_imports_are_shown_by_state(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    await pasted(host, "good.txt", "绿茶很好。")
    await pasted(host, "bad.json", "{", format="json")
    await pause_background(host)
    await created(host, "create_paste", name="waits.txt", content="One more.")
    found = await values(web)
    states = ("completed", "failed", "queued", "running", "preparing")
    assert [found[f'amemorix_import_tasks{{status="{state}"}}'] for state in states] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("page", ["docs/monitoring.md", "docs/zh/monitoring.md"])
async def test_the_metrics_to_alert_on_are_called_so(web: httpx.AsyncClient, page: str) -> None:
    await web.post(f"{BASE_PATH}/{RUNTIME}/backup")
    await web.post(f"{BASE_PATH}/{RUNTIME}/refresh_self_check", json={"deep": True})
    told = set(re.findall(r"`(amemorix_\w+)`", (Path(__file__).parents[2] / page).read_text("utf-8")))
    shown = set(re.findall(r"^# TYPE (\w+)", (await web.get("/metrics")).text, re.MULTILINE))
    assert told and told <= shown


async def test_the_age_of_the_last_good_backup_is_shown(
    web: httpx.AsyncClient, host: AMemorixHostService, clock: FrozenClock
) -> None:
    age = "amemorix_backup_age_seconds"
    assert age not in await values(web)
    old = (await host.invoke(RUNTIME, {"action": "backup"}))["backup"]
    clock.advance(100)
    assert (await values(web))[age] == 100
    new = (await host.invoke(RUNTIME, {"action": "backup"}))["backup"]
    clock.advance(7)
    assert (await values(web))[age] == 7
    (Path(new["path"]) / "memory.db").write_bytes(b"cut short")
    assert (await values(web))[age] == 107
    assert (await host.invoke(RUNTIME, {"action": "restore_backup", "backup": old["id"]}))["set_aside"]
    assert (await values(web))[age] == 107


async def test_disk_vectors_and_failed_work_are_shown(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": [{"external_id": "1", "text": "我对花生过敏。"}]})
    await host.settle()
    before = await values(web)
    assert before["amemorix_disk_free_bytes"] > 0
    assert before['amemorix_derive_tasks_failed{kind="episodes"}'] == 0
    await pause_background(host)
    change(host, "update tasks set status = 'failed' where kind = 'episodes'")
    await host.invoke("ingest_text", {"external_id": "2", "source_type": "note", "text": "Mia keeps bees."})
    after = await values(web)
    assert after['amemorix_derive_tasks_failed{kind="episodes"}'] > 0
    assert after["amemorix_embeddings_pending"] == 1


async def test_an_alias_and_an_older_name_count_as_what_they_stand_for(web: httpx.AsyncClient) -> None:
    for path in (f"{RUNTIME}/audit", f"{RUNTIME}/timeline", f"{RUNTIME}/TIMELINE", f"{RUNTIME}/nonsense"):
        await web.post(f"{BASE_PATH}/{path}", json={})
    await web.post(f"{BASE_PATH}/{RUNTIME}", json={"action": "timeline"})
    await web.post(f"{BASE_PATH}/{RUNTIME}", json={"action": ["timeline"]})
    found = await values(web)
    calls = {name: count for name, count in found.items() if name.startswith("amemorix_calls_total")}
    assert calls == {
        f'amemorix_calls_total{{action="audit",component="{RUNTIME}",outcome="ok"}}': 4,
        f'amemorix_calls_total{{action="unknown",component="{RUNTIME}",outcome="unknown_component"}}': 1,
        f'amemorix_calls_total{{action="unknown",component="{RUNTIME}",outcome="invalid_request"}}': 1,
    }


async def test_uploads_count_as_such(web: httpx.AsyncClient) -> None:
    await web.post(f"{BASE_PATH}{UPLOAD_PATH}", files={"file": ("a.txt", b"a line")})
    await web.post(f"{BASE_PATH}{UPLOAD_PATH}", content=b"no form")
    found = await values(web)
    for outcome in ("ok", "invalid_request"):
        assert found[f'amemorix_calls_total{{action="upload",component="{IMPORTS}",outcome="{outcome}"}}'] == 1
    assert not any('action="unknown"' in name for name in found)


async def test_each_door_counts_under_a_name_of_its_own(web: httpx.AsyncClient) -> None:
    await web.get(f"{BASE_PATH}/graph")
    await web.get(f"{BASE_PATH}/records/paragraph/p99")
    await web.get("/api/rooms/r/memories")
    await web.post("/v1/chat/completions", json={})
    found = await values(web)
    calls = {name for name in found if name.startswith("amemorix_calls_total")}
    assert calls == {
        'amemorix_calls_total{action="get /graph",component="dashboard",outcome="ok"}',
        'amemorix_calls_total{action="get /records/{type}/{id}",component="dashboard",outcome="not_found"}',
        'amemorix_calls_total{action="get",component="rooms",outcome="ok"}',
        'amemorix_calls_total{action="",component="proxy",outcome="not_found"}',
    }
