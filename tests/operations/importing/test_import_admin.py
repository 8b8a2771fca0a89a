"""The actions of imports: what they do, and what they refuse."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import memory_host, pause_background, resume_background
from conftest import Open
from entrance import change, contents, data_of, hits, refused, stats
from import_entrance import COMPONENT, admin, created, ended, imported, jsonl, pasted, raw_folder, turn
from pace import until

NO_ROOM = "create trigger no_room before insert on paragraphs begin select raise(abort, 'no room'); end"


async def turned_away(
    host: AMemorixHostService, args: dict[str, Any], field: str = "", code: str = "invalid_request"
) -> str:
    before = (await admin(host, "list"))["total"]
    error = await refused(host, COMPONENT, args, field, code)
    assert (await admin(host, "list"))["total"] == before
    return error


def lines(count: int, **more: Any) -> str:
    return "\n".join(json.dumps(turn(n, **more)) for n in range(count))


# what they do


async def test_the_guide_tells_what_can_be_imported_and_how(host: AMemorixHostService) -> None:
    guide = await admin(host, "get_guide")
    assert [one["action"].removeprefix("create_") for one in guide["kinds"]] == [
        "upload", "paste", "raw_scan", "lpmm_openie", "lpmm_convert", "maibot_migration", "temporal_backfill",
    ]  # fmt: skip
    assert {"txt", "md", "jsonl", "csv", "json", "mem0", "a_memorix"} <= {one["format"] for one in guide["formats"]}
    assert all(one["what"] and one["fields"] and one["example"] for one in guide["formats"])
    assert guide["limits"]["max_queue_size"] == 20
    assert await admin(host, "settings") == await admin(host, "get_settings") == guide


async def test_paths_are_resolved_below_their_alias(host: AMemorixHostService) -> None:
    aliases = (await admin(host, "path_aliases"))["aliases"]
    assert sorted(aliases) == ["converted", "lpmm", "maibot", "raw"]
    (Path(aliases["raw"]) / "深").mkdir()
    (Path(aliases["raw"]) / "深" / "a.txt").write_text("abc")

    found = await admin(host, "resolve_path", alias="raw", relative_path="深/a.txt")
    assert (found["resolved_path"], found["is_file"], found["size"]) == (f"{aliases['raw']}/深/a.txt", True, 3)
    assert (await admin(host, "resolve", alias="raw", relative_path="深"))["is_dir"]
    missing = await admin(host, "resolve", alias="raw", relative_path="no.txt", must_exist=False)
    assert (missing["exists"], missing["resolved_path"]) == (False, f"{aliases['raw']}/no.txt")


async def test_progress_is_told_in_bytes_and_records(host: AMemorixHostService) -> None:
    content = lines(450, chat_id="c")
    task = await pasted(host, "talk.jsonl", content)
    assert (task["progress"], task["records"], task["counts"]) == (1.0, 450, {"stored": 450})
    assert (task["bytes_total"], task["bytes_done"]) == (len(content), len(content))
    assert task["rate"] > 0
    assert task["seconds_left"] is None
    [file] = task["files"]
    assert file["chunks"] == {"completed": 3}
    assert [chunk["records"] for chunk in file["chunk_list"]] == [200, 200, 50]
    assert [chunk["start"] for chunk in file["chunk_list"][1:]] == [chunk["stop"] for chunk in file["chunk_list"][:-1]]


async def test_long_texts_make_chunks_of_few(host: AMemorixHostService) -> None:
    path = (await raw_folder(host)) / "long.jsonl"
    jsonl(path, *({"content": f"{n} " + "风筝 kite " * 30_000} for n in range(4)))
    task = await imported(host, "create_raw_scan")
    assert [chunk["records"] for chunk in task["files"][0]["chunk_list"]] == [3, 1]


async def test_chunks_are_paged(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 2})
    task = await pasted(host, "talk.jsonl", lines(9, chat_id="c") + "\n{bad")
    file = task["files"][0]["file_id"]
    page = await admin(host, "get_chunks", task_id=task["task_id"], file_id=file, offset=1, limit=2)
    assert ([chunk["index"] for chunk in page["items"]], page["total"]) == ([1, 2], 5)
    failed = await admin(host, "chunks", task_id=task["task_id"], file_id=file, status="failed")
    assert ([chunk["index"] for chunk in failed["items"]], failed["total"]) == ([4], 1)


async def test_tasks_are_listed_newest_first(host: AMemorixHostService) -> None:
    for n in range(3):
        await pasted(host, f"{n}.txt", f"kite {n}")
    listed = await admin(host, "list", limit=2)
    assert [item["task_id"] for item in listed["items"]] == ["i3", "i2"]
    assert listed["total"] == 3
    assert (await admin(host, "list", status="failed"))["items"] == []


async def test_the_same_file_again_is_recognised(host: AMemorixHostService) -> None:
    first = await pasted(host, "a.txt", "a kite")
    again = await pasted(host, "b.txt", "a kite")
    assert (again["status"], again["files"][0]["status"]) == ("completed", "skipped")
    assert first["task_id"] in again["files"][0]["error"]
    for told in ({"force": True}, {"dedupe_policy": "none"}):
        forced = await pasted(host, "a.txt", "a kite", **told)
        assert forced["counts"] == {"existing": 1}
    assert (await stats(host))["paragraphs"] == 1
    assert (await pasted(host, "a.txt", "a kite", chat_id="c"))["counts"] == {"stored": 1}, "for another chat it is new"


async def test_a_file_is_read_again_when_its_source_holds_nothing_any_more(host: AMemorixHostService) -> None:
    await pasted(host, "a.txt", "a kite")
    await host.invoke("memory_source_admin", {"action": "delete", "source": "import:a.txt"})
    assert (await pasted(host, "a.txt", "a kite"))["counts"] == {"stored": 1}
    assert await contents(host, "kite") == ["a kite"]


async def test_trying_stores_nothing_and_is_not_remembered(host: AMemorixHostService) -> None:
    tried = await pasted(host, "talk.jsonl", lines(3, chat_id="c"), dry_run=True)
    assert (tried["status"], tried["counts"]) == ("completed", {"readable": 3})
    assert (await stats(host))["paragraphs"] == 0
    assert (await pasted(host, "talk.jsonl", lines(3, chat_id="c")))["counts"] == {"stored": 3}


async def test_a_chunk_with_a_bad_record_fails_alone(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 3})
    content = lines(4, chat_id="c") + "\n{bad\n" + lines(4, chat_id="d")
    task = await pasted(host, "talk.jsonl", content)
    assert (task["status"], task["counts"]) == ("completed_with_errors", {"stored": 6, "failed": 3})
    assert [chunk["status"] for chunk in task["files"][0]["chunk_list"]] == ["completed", "failed", "completed"]
    assert [one["place"] for one in task["files"][0]["chunk_list"][1]["errors"]] == ["line 5"]
    assert (await stats(host))["paragraphs"] == 6


async def test_bad_records_may_be_left_out(host: AMemorixHostService) -> None:
    task = await pasted(host, "talk.jsonl", lines(4, chat_id="c") + "\n{bad\n", skip_bad=True)
    assert (task["status"], task["counts"]) == ("completed_with_errors", {"stored": 4, "failed": 1})
    assert task["files"][0]["chunk_list"][0]["errors"][0]["place"] == "line 5"


async def test_only_what_failed_is_retried(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 3})
    task = await pasted(host, "talk.jsonl", lines(4, chat_id="c") + "\n{bad\n" + lines(4, chat_id="d"))
    retried = await admin(host, "retry_failed", task_id=task["task_id"], overrides={"skip_bad": True})
    assert retried["retry_summary"] == {"chunk_retry_files": 1, "chunk_retry_chunks": 1, "file_fallback_files": 0}
    child = await ended(host, retried["task"]["task_id"])
    assert (child["retry_parent_task_id"], child["records"]) == (task["task_id"], 3)
    assert child["counts"] == {"stored": 2, "failed": 1}
    assert (await stats(host))["paragraphs"] == 8
    again = await admin(host, "retry_failed", task_id=task["task_id"], overrides={"skip_bad": True})
    assert (await ended(host, again["task"]["task_id"]))["counts"] == {"existing": 2, "failed": 1}


async def test_what_a_limit_refused_is_stored_once_the_limit_is_raised(opened: Open) -> None:
    host = await opened(ingest={"max_text_chars": 100})
    task = await pasted(
        host, "talk.jsonl", json.dumps({"content": "kite " * 40}) + "\n" + json.dumps({"content": "lamp"})
    )
    assert "max_text_chars" in task["files"][0]["chunk_list"][0]["errors"][0]["reason"]
    await host.update_config({"ingest.max_text_chars": 1000})
    child = (await admin(host, "retry_failed", task_id=task["task_id"]))["task"]["task_id"]
    assert (await ended(host, child))["counts"] == {"stored": 2}


async def test_a_file_that_broke_in_the_middle_goes_on_from_there(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 2})
    path = (await raw_folder(host)) / "a.json"
    path.write_text(json.dumps([f"kite {n}" for n in range(5)])[:-1] + ", ", "utf-8")
    task = await imported(host, "create_raw_scan", format="json")
    assert (task["status"], task["counts"]) == ("completed_with_errors", {"stored": 5})
    assert "not valid JSON" in task["files"][0]["error"]
    child = (await admin(host, "retry_failed", task_id=task["task_id"]))["task"]["task_id"]
    assert (await ended(host, child))["status"] == "failed", "it is still broken"
    path.write_text(json.dumps([f"kite {n}" for n in range(9)]), "utf-8")
    child = (await admin(host, "retry_failed", task_id=task["task_id"]))["task"]["task_id"]
    assert "changed" in (await ended(host, child))["files"][0]["error"]


async def test_what_waits_is_cancelled_at_once(opened: Open) -> None:
    host = await opened()
    await pause_background(host)
    task = await created(host, "create_paste", name="a.txt", content="a kite")
    assert (await admin(host, "cancel", task_id=task))["task"]["status"] == "cancelled"
    resume_background(host)
    await asyncio.sleep(0.05)
    found = (await admin(host, "get", task_id=task))["task"]
    assert (found["status"], found["files"][0]["status"], found["records"]) == ("cancelled", "cancelled", 0)
    assert (found["progress"], found["bytes_done"]) == (0.0, 0)


async def test_what_runs_is_cancelled_after_the_chunk_at_most(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 5, "idle_share": 20})
    task = await created(host, "create_paste", name="a.jsonl", content=lines(1500, chat_id="c"))
    await begun(host, task)
    before = (await admin(host, "cancel", task_id=task))["task"]["records"]
    found = await ended(host, task)
    assert found["status"] == "cancelled"
    assert before <= found["records"] <= before + 5
    assert found["progress"] == pytest.approx(found["records"] / 1500, abs=0.05)
    assert found["bytes_done"] == pytest.approx(
        found["bytes_total"] * found["files"][0]["progress"], abs=0.0001 * found["bytes_total"] + 1
    )
    told = await turned_away(host, {"action": "retry_failed", "task_id": task}, "task_id", "conflict")
    assert "it was cancelled. Import the same files again" in told
    assert (await stats(host))["paragraphs"] == found["records"], "what was stored stays"
    await nothing_staged(host)
    assert (await pasted(host, "b.txt", "a lamp"))["status"] == "completed", "the next one has its turn"


async def begun(host: AMemorixHostService, task: str) -> None:
    """Wait for the first records."""

    async def some() -> bool:
        return bool((await admin(host, "get", task_id=task))["task"]["records"])

    await until(some, "it does not begin")


async def nothing_staged(host: AMemorixHostService) -> None:
    """Staged files go after the task has ended."""
    folder = await staged(host)
    await until(lambda: not list(folder.iterdir()), "the staged files stay")


async def staged(host: AMemorixHostService) -> Path:
    return data_of(host) / "imports" / "staging"


async def test_a_reload_and_a_pause_go_on_where_it_was(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 10, "idle_share": 2})
    task = await created(host, "create_paste", name="a.jsonl", content=lines(1200, chat_id="c"))
    for size in (900, 901, 902):
        await asyncio.sleep(0.1)
        await host.update_config({"ingest.chunk_chars": size})
    await pause_background(host)
    held = (await admin(host, "get", task_id=task))["task"]
    await asyncio.sleep(0.05)
    assert (await admin(host, "get", task_id=task))["task"]["records"] == held["records"]
    resume_background(host)
    found = await ended(host, task)
    assert (found["status"], found["counts"]) == ("completed", {"stored": 1200})
    assert (await stats(host))["paragraphs"] == 1200


async def test_a_task_outlives_the_process(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await pause_background(host)
        task = await created(host, "create_paste", name="a.txt", content="a kite")
    async with memory_host(tmp_path) as host:
        assert (await ended(host, task))["counts"] == {"stored": 1}


async def test_files_that_are_handed_over_go_when_they_are_imported(opened: Open) -> None:
    host = await opened()
    files = [
        {"name": "a.md", "content": "# 茶\n\n绿茶"},
        {"name": "b.csv", "content": "text,speaker\nhi,Ada\n", "format": "csv"},
    ]
    task = await imported(host, "create_upload", files=files, chat_id="c")
    assert [(file["name"], file["format"]) for file in task["files"]] == [("a.md", "md"), ("b.csv", "csv")]
    assert task["counts"] == {"stored": 2}
    await nothing_staged(host)


async def test_a_staged_file_that_failed_waits_for_another_try(opened: Open) -> None:
    host = await opened()
    await pasted(host, "a.jsonl", "{bad")
    assert len(list((await staged(host)).iterdir())) == 1


async def test_a_configured_root_may_be_read(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    (root / "deep").mkdir(parents=True)
    jsonl(root / "deep" / "a.jsonl", turn(1, chat_id="c"))
    jsonl(root / "b.jsonl", turn(2, chat_id="c"))
    host = await opened(imports={"roots": [str(root)]})
    assert (await admin(host, "path_aliases"))["roots"] == [str(root)]
    assert (await admin(host, "resolve", path=str(root / "b.jsonl")))["is_file"]
    shallow = await imported(host, "create_raw_scan", path=str(root), recursive=False)
    assert [file["name"] for file in shallow["files"]] == ["b.jsonl"]
    deep = await imported(host, "create_raw_scan", path=str(root / "deep"), glob="*.jsonl")
    assert deep["counts"] == {"stored": 1}


async def test_the_chat_filter_holds_for_imports(opened: Open) -> None:
    host = await opened(filter={"chats": ["stream:c"]})
    assert (await pasted(host, "a.jsonl", lines(2, chat_id="c")))["counts"] == {"filtered": 2}
    assert (await pasted(host, "a.jsonl", lines(2, chat_id="c"), respect_filter=False))["counts"] == {"stored": 2}


async def test_the_kind_of_text_may_be_said(host: AMemorixHostService) -> None:
    await pasted(host, "a.txt", "a kite", strategy_override="quote")
    assert (await hits(host, "kite"))[0]["content"] == "a kite"


# what they refuse


SENSELESS: list[tuple[dict[str, Any], str]] = [
    ({"action": "create_paste"}, "content"),
    ({"action": "create_paste", "content": "  "}, "content"),
    ({"action": "create_paste", "content": "x" * 200_001}, "content"),
    ({"action": "create_paste", "content": "x", "format": "docx"}, "format"),
    ({"action": "create_paste", "content": "x", "scope_type": "chat"}, "chat_id"),
    ({"action": "create_paste", "content": "x", "chat_log": True}, "chat_id"),
    ({"action": "create_paste", "content": "x", "columns": {"what": "x"}}, "columns"),
    ({"action": "create_upload"}, "files"),
    ({"action": "create_upload", "files": []}, "files"),
    ({"action": "create_upload", "files": [{"name": "a"}]}, "files.0"),
    ({"action": "create_upload", "files": [{"content": "x"}]}, "files.0"),
    ({"action": "create_upload", "files": [{"name": "a", "content": "x", "staged": "u"}]}, "files.0"),
    ({"action": "create_upload", "files": [{"staged": "../../memory.db"}]}, "staged"),
    ({"action": "create_upload", "files": [{"staged": "/etc/passwd"}]}, "staged"),
    ({"action": "create_upload", "files": [{"name": "a", "content": "x", "format": "docx"}]}, "format"),
    ({"action": "create_raw_scan", "alias": "maibot"}, "alias"),
    ({"action": "create_raw_scan", "alias": "staging"}, "alias"),
    ({"action": "create_raw_scan", "glob": ""}, "glob"),
    ({"action": "create_raw_scan", "format": "docx"}, "format"),
    ({"action": "create_raw_scan", "path": "~nobody-has-this-name/x"}, "path"),
    ({"action": "create_raw_scan", "path": "/etc"}, "path"),
    ({"action": "create_raw_scan", "path": "/etc", "alias": "raw"}, "args"),
    ({"action": "create_lpmm_openie", "alias": "raw"}, "alias"),
    ({"action": "create_lpmm_convert", "alias": "raw"}, "alias"),
    ({"action": "create_maibot_migration"}, "source_db"),
    ({"action": "create_maibot_migration", "source_db": "/etc/passwd"}, "path"),
    ({"action": "create_maibot_migration", "source_db": "a.db", "time_from": "whenever"}, "time_from"),
    ({"action": "create_temporal_backfill", "limit": 0}, "limit"),
    ({"action": "resolve_path", "alias": "staging"}, "alias"),
    ({"action": "resolve_path", "alias": "raw", "relative_path": "../x"}, "relative_path"),
    ({"action": "list", "status": "done"}, "status"),
    ({"action": "list", "limit": 0}, "limit"),
    ({"action": "get"}, "task_id"),
    ({"action": "get_chunks", "task_id": "i1"}, "file_id"),
    ({"action": "retry_failed", "task_id": "i1", "overrides": {"skip_bad": "perhaps"}}, "overrides.skip_bad"),
]  # fmt: skip


async def test_arguments_that_make_no_sense_are_named(host: AMemorixHostService) -> None:
    for args, field in SENSELESS:
        error = await turned_away(host, args)
        result = await host.invoke(COMPONENT, args)
        assert result["details"]["field"] == field, (result, error)


MISSING: list[tuple[dict[str, Any], str]] = [
    ({"action": "get", "task_id": "i9"}, "task_id"),
    ({"action": "get", "task_id": "nine"}, "task_id"),
    ({"action": "cancel", "task_id": "i9"}, "task_id"),
    ({"action": "retry_failed", "task_id": "i9"}, "task_id"),
    ({"action": "chunks", "task_id": "i9", "file_id": "1"}, "task_id"),
    ({"action": "create_upload", "files": [{"staged": "u" + "0" * 32}]}, "staged"),
    ({"action": "create_raw_scan"}, "relative_path"),
    ({"action": "create_raw_scan", "format": ""}, "relative_path"),
    ({"action": "create_raw_scan", "relative_path": "no"}, "relative_path"),
    ({"action": "create_lpmm_openie"}, "relative_path"),
    ({"action": "create_maibot_migration", "source_db": "MaiBot.db"}, "relative_path"),
    ({"action": "resolve_path", "alias": "raw", "relative_path": "no"}, "relative_path"),
]


async def test_what_is_not_there_is_named(host: AMemorixHostService) -> None:
    for args, field in MISSING:
        await turned_away(host, args, field, "not_found")


async def test_a_file_of_another_task_is_not_shown(host: AMemorixHostService) -> None:
    one, two = await pasted(host, "a.txt", "kite"), await pasted(host, "b.txt", "lamp")
    args = {"action": "chunks", "task_id": one["task_id"], "file_id": two["files"][0]["file_id"]}
    await turned_away(host, args, "file_id", "not_found")


async def test_states_that_do_not_allow_it_are_conflicts(host: AMemorixHostService) -> None:
    done = (await pasted(host, "a.txt", "kite"))["task_id"]
    await turned_away(host, {"action": "cancel", "task_id": done}, "task_id", "conflict")
    await turned_away(host, {"action": "retry_failed", "task_id": done}, "task_id", "conflict")
    await pause_background(host)
    waits = await created(host, "create_paste", name="b.txt", content="lamp")
    await turned_away(host, {"action": "retry_failed", "task_id": waits}, "task_id", "conflict")


async def test_the_queue_and_a_task_have_their_limits(opened: Open) -> None:
    host = await opened(imports={"max_queue_size": 2, "max_files_per_task": 2, "max_file_size_mb": 0.001})
    await pause_background(host)
    files = [{"name": f"{n}.txt", "content": "x"} for n in range(3)]
    await turned_away(host, {"action": "create_upload", "files": files}, "files")
    for n in range(3):
        ((await raw_folder(host)) / f"{n}.txt").write_text("x")
    await turned_away(host, {"action": "create_raw_scan"}, "files")
    for n in range(2):
        await created(host, "create_paste", name=f"{n}.txt", content="x" * (n * 2000 + 1))
    before = len(list((await staged(host)).iterdir()))
    await turned_away(host, {"action": "create_paste", "content": "x"}, code="conflict")
    assert len(list((await staged(host)).iterdir())) == before, "what was not taken is not kept"
    resume_background(host)
    assert (await ended(host, "i1"))["status"] == "completed"
    assert "max_file_size_mb" in (await ended(host, "i2"))["error"]


@pytest.mark.parametrize("settings", [{"imports": {"enabled": False}}, {"plugin": {"enabled": False}}])
async def test_imports_may_be_switched_off(opened: Open, settings: dict[str, Any]) -> None:
    host = await opened(**settings)
    for action, more in (("create_paste", {"content": "x"}), ("create_temporal_backfill", {}), ("create_raw_scan", {})):
        result = await host.invoke(COMPONENT, {"action": action, **more})
        assert (result["success"], result["error_code"]) == (False, "conflict")


async def test_a_task_that_was_given_up_is_tried_again(opened: Open) -> None:
    host = await opened(imports={"max_attempts": 1})
    change(host, NO_ROOM)
    task = await pasted(host, "a.txt", "绿茶很好。")
    assert (task["status"], "no room" in task["error"]) == ("failed", True)
    change(host, "drop trigger no_room")
    again = (await admin(host, "retry_failed", task_id=task["task_id"]))["task"]["task_id"]
    assert (await ended(host, again))["counts"] == {"stored": 1}
    await turned_away(host, {"action": "retry_failed", "task_id": again}, "task_id", "conflict")


async def test_an_import_whose_reading_is_interrupted_leaves_no_error_unheard(tmp_path: Path) -> None:
    unheard: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    (tmp_path / "in").mkdir()
    file = jsonl(tmp_path / "in" / "many.jsonl", *(turn(n, text=f"a kite 风筝 {n}", chat_id="c") for n in range(4000)))
    settings = {"roots": [str(tmp_path / "in")], "chunk_records": 2000, "poll_interval_seconds": 0.01}
    async with memory_host(tmp_path / "m", imports=settings, facts={"enabled": False}) as host:
        task = await created(host, "create_raw_scan", path=str(file))
        for number in range(4):
            await asyncio.sleep(0.03)
            profile = {"retrieval.candidates": 60 + number}
            applied = await host.invoke("memory_tuning_admin", {"action": "apply_profile", "profile": profile})
            assert applied["success"], applied
        assert (await ended(host, task))["counts"] == {"stored": 4000}
    gc.collect()
    assert unheard == []


async def test_the_log_tells_of_imports_and_nothing_of_what_they_hold(
    host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "amemorix.importing")
    lines = [turn(1, chat_id="c"), {"text": 5, "speaker": "Zoe", "chat_id": "c"}, {"text": "[图片]", "speaker": "Zoe"}]
    await pasted(host, "secret.jsonl", "\n".join(json.dumps(line) for line in lines), skip_bad=True)
    await pasted(host, "secret.zip", "secret", format="json")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]

    assert told == [
        ("INFO", "import i1 (paste) begins: 1 files"),
        ("WARNING", "import i1, file 1 (jsonl, 170 bytes): completed, 3 records: 1 empty_text, 1 failed, 1 stored"),
        ("WARNING", "import i1 ends: completed_with_errors"),
        ("INFO", "import i2 (paste) begins: 1 files"),
        ("WARNING", "import i2, file 2 (json, 6 bytes): failed, 0 records: none"),
        ("WARNING", "import i2 ends: failed"),
    ]


async def test_the_log_tells_of_an_import_that_goes_well(
    host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "amemorix.importing")
    await pasted(host, "a.jsonl", json.dumps(turn(1, chat_id="c")))
    await pasted(host, "b.jsonl", json.dumps(turn(1, chat_id="c")))

    assert [(record.levelname, record.getMessage().split(": ", 1)[-1]) for record in caplog.records] == [
        ("INFO", "1 files"), ("INFO", "completed, 1 records: 1 stored"), ("INFO", "completed"),
        ("INFO", "1 files"), ("INFO", "skipped, 0 records: 1 existing"), ("INFO", "completed"),
    ]  # fmt: skip
