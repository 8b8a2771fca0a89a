"""Who changed what, and when: every call that changes rows is noted in the transaction of the change."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.audit_context import entered_by
from amemorix.testing import FrozenClock, run_maintenance
from conftest import Open
from entrance import call

NOW = 1_700_000_000.0


async def timeline(host: AMemorixHostService, **args: Any) -> list[dict[str, Any]]:
    return (await call(host, "memory_runtime_admin", action="audit", **args))["items"]


async def note(host: AMemorixHostService, id_: str, text: str, **more: Any) -> None:
    await call(host, "ingest_text", external_id=id_, source_type="note", text=text, **more)


async def test_a_change_is_told_with_its_caller_and_how_to_undo_it(host: AMemorixHostService) -> None:
    await note(host, "n1", "林澈对花生过敏。", chat_id="c")
    deleted = await call(
        host, "memory_delete_admin", action="execute", mode="chat", selector={"chat_id": "c"}, requested_by="mia"
    )
    [deletion, ingest] = await timeline(host)
    assert (deletion["component"], deletion["action"]) == ("memory_delete_admin", "execute")
    assert deletion["requested_by"] == "mia"
    assert [(u["kind"], u["id"]) for u in deletion["undo"]] == [("delete", deleted["operation_id"])]
    assert (ingest["component"], ingest["undo"], ingest["door"]) == ("ingest_text", [], "host")
    assert ingest["rows"] > 0
    await call(host, "memory_delete_admin", action="restore", operation_id=deleted["operation_id"])
    assert (await timeline(host))[0]["target"] == f"operation_id={deleted['operation_id']}"


async def test_only_what_can_be_undone_now_is_offered(host: AMemorixHostService) -> None:
    await note(host, "n1", "林澈对花生过敏。", chat_id="c")
    first = await call(host, "memory_delete_admin", action="execute", mode="paragraph", selector=[1])
    await call(host, "memory_delete_admin", action="restore", operation_id=first["operation_id"])
    assert [item["undo"] for item in await timeline(host, of_action="execute")] == [[]]
    second = await call(host, "memory_delete_admin", action="execute", mode="paragraph", selector=[1])
    assert [[u["id"] for u in item["undo"]] for item in await timeline(host)][:1] == [[second["operation_id"]]]
    await call(host, "memory_delete_admin", action="purge", operation_id=second["operation_id"])
    assert [item["undo"] for item in await timeline(host, of_component="memory_delete_admin")] == [[]] * 4


@pytest.mark.parametrize(
    ("told", "wish"),
    [
        ("Anna lives in Lisbon.", "Anna lives in Berlin, not Lisbon"),
        ("安娜住在里斯本。", "安娜不住在里斯本，她住在柏林"),
    ],
)
async def test_a_correction_is_undone_from_where_it_was_carried_out(
    host: AMemorixHostService, told: str, wish: str
) -> None:
    await note(host, "n1", told, chat_id="c")
    correction = {"component": "memory_correction_admin"}
    plan = (await call(host, **correction, action="preview", text=wish, chat_id="c"))["plan_id"]
    [previewed] = await timeline(host, of_component="memory_correction_admin")
    assert (previewed["undo"], previewed["target"]) == ([], f"plan_id={plan}")
    await call(host, **correction, action="execute", plan_id=plan, confirmed=True)
    [executed, _] = await timeline(host, of_component="memory_correction_admin")
    assert [(u["kind"], u["id"]) for u in executed["undo"]] == [("correction", plan)]
    await call(host, **correction, action="rollback", plan_id=plan)
    assert [item["undo"] for item in await timeline(host, of_component="memory_correction_admin")] == [[]] * 3


@pytest.mark.parametrize("text", ["Tom likes tea.", "林澈住在上海。"])
async def test_reading_and_failing_leave_no_trace(host: AMemorixHostService, text: str) -> None:
    await note(host, "n1", text)
    before = await timeline(host)
    await call(host, "search_memory", query=text)
    assert not (await host.invoke("memory_graph_admin", {"action": "create_node", "name": ""}))["success"]
    assert not (await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "77"}))["success"]
    await note(host, "n1", text)
    assert await timeline(host) == before


async def test_like_calls_within_a_minute_share_a_row(opened: Open) -> None:
    clock = FrozenClock(NOW)
    host = await opened(clock=clock)
    for i in range(3):
        await note(host, f"n{i}", f"note number {i}")
        clock.advance(10)
    [one] = await timeline(host)
    assert (one["calls"], one["at"], one["until"]) == (3, NOW, NOW + 20)
    clock.advance(60)
    await note(host, "late", "a late note")
    assert [item["calls"] for item in await timeline(host)] == [1, 3]


async def test_calls_at_once_are_all_counted(host: AMemorixHostService) -> None:
    await asyncio.gather(*(note(host, f"n{i}", f"note number {i}") for i in range(50)))
    assert sum(item["calls"] for item in await timeline(host)) == 50


async def test_pages_filters_and_doors(opened: Open) -> None:
    clock = FrozenClock(NOW)
    host = await opened(clock=clock)
    for i in range(7):
        with entered_by("http" if i % 2 else "cli"):
            await call(host, "memory_graph_admin", action="create_node", name=f"node {i}", requested_by=f"by{i}")
        clock.advance(100)
    everything = await timeline(host)
    assert [item["requested_by"] for item in everything] == [f"by{i}" for i in reversed(range(7))]
    assert [item["door"] for item in everything[:2]] == ["cli", "http"]
    first = await call(host, "memory_runtime_admin", action="timeline", limit=4)
    second = await call(host, "memory_runtime_admin", action="timeline", limit=4, before=first["next"])
    assert first["items"] + second["items"] == everything
    assert second["next"] == ""
    assert [i["requested_by"] for i in await timeline(host, requested_by="by3")] == ["by3"]
    within = await timeline(host, since=NOW + 150, until=NOW + 350)
    assert [i["requested_by"] for i in within] == ["by3", "by2"]
    assert await timeline(host, of_component="memory_delete_admin") == []
    assert len(await timeline(host, of_component="memory_graph_admin", of_action="create_node")) == 7


@pytest.mark.parametrize(
    ("args", "field"),
    [({"before": "x"}, "before"), ({"before": "a" + "9" * 30}, "before"), ({"limit": 0}, "limit"),
     ({"since": "no time"}, "since"), ({"since": 20, "until": 10}, "since")],
)  # fmt: skip
async def test_bad_questions_name_the_field(host: AMemorixHostService, args: dict[str, Any], field: str) -> None:
    answer = await host.invoke("memory_runtime_admin", {"action": "audit", **args})
    assert not answer["success"]
    assert answer["details"]["field"] == field


async def test_settings_are_noted_by_name(host: AMemorixHostService) -> None:
    await host.update_config({"retrieval": {"candidates": 90}})
    [item] = await timeline(host, of_component="config")
    assert item["target"] == "settings=retrieval.candidates"


async def test_what_is_too_old_is_forgotten(opened: Open) -> None:
    clock = FrozenClock(NOW)
    host = await opened(clock=clock, observability={"audit_days": 30})
    await note(host, "old", "an old note")
    clock.advance(31 * 86_400)
    await note(host, "new", "a new note")
    assert await run_maintenance(host, "audit") == 1
    assert [item["at"] for item in await timeline(host)] == [NOW + 31 * 86_400]


async def test_what_the_memory_does_by_itself_is_told(opened: Open) -> None:
    clock = FrozenClock(NOW)
    host = await opened(clock=clock)
    await note(host, "n1", "The wifi code is on the fridge.", ttl_seconds=60)
    clock.advance(120)
    await run_maintenance(host, "lifecycle")
    await run_maintenance(host, "lifecycle")
    [item] = await timeline(host, of_component="background")
    assert (item["action"], item["door"], [u["kind"] for u in item["undo"]]) == ("lifecycle", "memory", ["maintenance"])
