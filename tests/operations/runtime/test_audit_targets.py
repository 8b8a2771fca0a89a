"""Every row of the audit says what was changed, and a purge forgets what that tells of those who go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from amemorix import AMemorixHostService
from amemorix.frontends.cli.main import app
from amemorix.testing import FrozenClock, run_maintenance, scratch_config
from conftest import Open
from database_file import content, open_database
from entrance import call
from import_entrance import COMPONENT as IMPORT
from import_entrance import ended
from test_audit import NOW, note, timeline

DELETE, RUNTIME, GRAPH = "memory_delete_admin", "memory_runtime_admin", "memory_graph_admin"


async def targets(host: AMemorixHostService, action: str, component: str = "") -> list[str]:
    return [one["target"] for one in await timeline(host, of_action=action, of_component=component)]


async def delete(host: AMemorixHostService, mode: str, selector: Any, **more: Any) -> str:
    done = await call(host, DELETE, action="execute", mode=mode, selector=selector, **more)
    return done["operation_id"]


@pytest.mark.parametrize(
    ("mode", "selector", "told"),
    [
        ("chat", "c", '{"chats": ["c"]}'),
        ("person", "林澈", '{"persons": ["林澈"]}'),
        ("source", "chat:c", '{"sources": ["chat:c"]}'),
        ("paragraph", {"ids": ["p1"]}, '{"paragraphs": [1]}'),
        ("paragraph", {"query": "花生"}, '{"others": 1}'),
    ],
)
async def test_a_deletion_tells_what_was_meant(host: AMemorixHostService, mode: str, selector: Any, told: str) -> None:
    turn = {"external_id": "1", "speaker": "林澈", "text": "我对花生过敏。"}
    await call(host, "ingest_messages", chat_id="c", messages=[turn])
    operation = await delete(host, mode, selector)
    assert await targets(host, "execute") == [f"mode={mode} selector={told} operation_id={operation}"]
    await call(host, DELETE, action="restore", operation_id=operation)
    assert await targets(host, "restore") == [f"operation_id={operation}"]


async def test_a_purge_tells_the_deletions_by_number_only(host: AMemorixHostService) -> None:
    for chat in ("a", "b", "c"):
        await note(host, "n", f"林澈 writes in {chat}.", chat_id=chat)
    one, two = await delete(host, "chat", "a"), await delete(host, "chat", "b")
    await call(host, DELETE, action="purge", grace_hours=0)
    assert await targets(host, "purge") == [f"operation_id={two}", f"operation_id={one}"]
    at_once = await delete(host, "chat", "c", purge=True)
    assert await targets(host, "execute") == [
        f"mode=chat operation_id={at_once}",
        *(f"operation_id={o}" for o in (two, one)),
    ]


@pytest.mark.parametrize("chat", ["c", "qq:4242", 'of "Mia"'])
async def test_a_purge_forgets_the_chat_and_the_person_in_other_rows(host: AMemorixHostService, chat: str) -> None:
    turn = {"external_id": "1", "speaker": "Mia Okafor", "person_id": "mia", "text": "I keep bees in Lisbon."}
    await call(host, "ingest_messages", chat_id=chat, messages=[turn])
    await note(host, "n", "Tom likes tea.", chat_id="other")
    undone = await delete(host, "chat", chat)
    await call(host, DELETE, action="restore", operation_id=undone)
    undone = await delete(host, "person", "Mia Okafor", chat_id=chat)
    await call(host, DELETE, action="restore", operation_id=undone)
    kept = await delete(host, "chat", "other")
    gone = await delete(host, "chat", chat)

    purged = await call(host, DELETE, action="purge", operation_id=gone)

    assert purged["operations"][0]["receipt"]["scrubbed"]["audit"] >= 2
    assert await targets(host, "execute") == [
        f"operation_id={gone}", f'mode=chat selector={{"chats": ["other"]}} operation_id={kept}', "", "",
    ]  # fmt: skip


async def test_a_purge_forgets_the_name_of_an_imported_file(host: AMemorixHostService) -> None:
    turn = {"external_id": "1", "speaker": "林澈", "text": "我住在上海。"}
    await call(host, "ingest_messages", chat_id="c", messages=[turn])
    await call(host, IMPORT, action="create_paste", name="林澈.txt", content="One line of text.")
    await ended(host, "i1")
    assert await targets(host, "create_paste") == ['files=["林澈.txt"] task_id=i1']
    await delete(host, "person", "林澈", purge=True)
    assert await targets(host, "create_paste") == [""]


async def test_imports_tell_their_task_and_files(host: AMemorixHostService) -> None:
    await call(host, IMPORT, action="create_paste", name="a b.txt", content="One line of text.")
    await ended(host, "i1")
    assert await targets(host, "create_paste") == ['files=["a b.txt"] task_id=i1']
    assert await targets(host, "import", "background") == ["task_id=i1"]


async def test_backups_and_exports_are_told(host: AMemorixHostService, tmp_path: Path) -> None:
    await note(host, "n1", "Tom likes tea.")
    made = (await call(host, RUNTIME, action="backup"))["backup"]["id"]
    await call(host, RUNTIME, action="export", path="all.jsonl")
    restored = await call(host, RUNTIME, action="restore_backup", backup=made)
    aside = restored["set_aside"]["id"]
    [row] = await timeline(host, of_action="restore_backup")
    assert row["target"] == f"backup={made} set_aside={aside}"
    assert [(ref["kind"], ref["id"]) for ref in row["undo"]] == [("backup", aside)]
    await call(host, RUNTIME, action="restore_backup", backup=aside)
    assert await targets(host, "backup") == [f"backup={made}"]
    assert await targets(host, "export") == ['file="all.jsonl"']
    await call(host, RUNTIME, action="delete_backup", backup=made)
    assert await targets(host, "delete_backup") == [f"backup={made}"]
    assert (tmp_path / "data" / "a-memorix" / "exports" / "all.jsonl").exists()
    [again] = await timeline(host, of_action="restore_backup")
    [undo] = again["undo"]
    await call(host, RUNTIME, action="delete_backup", backup=undo["id"])
    assert [row["undo"] for row in await timeline(host, of_action="restore_backup")] == [[]]


async def test_a_backup_by_the_clock_is_told(opened: Open) -> None:
    host = await opened(clock=FrozenClock(NOW))
    assert await run_maintenance(host, "backup")
    [row] = await timeline(host, of_component="background")
    assert (row["action"], row["door"], row["target"].startswith("backup=")) == ("backup", "memory", True)


async def test_edits_of_the_graph_tell_node_and_relations(host: AMemorixHostService) -> None:
    made = await call(host, GRAPH, action="create_node", name="Lisbon")
    edge = await call(host, GRAPH, action="create_edge", subject="林澈", predicate="lives in", object="Lisbon")
    await call(host, GRAPH, action="delete_edge", relation=edge["relation_ids"][0])
    assert await targets(host, "create_node") == [f"node={made['node']['id']}"]
    [created], [deleted] = await targets(host, "create_edge"), await targets(host, "delete_edge")
    assert created == deleted and created.endswith(f"relations={edge['relation_ids'][0]}")
    await call(host, GRAPH, action="undo", undo_id="u1")
    assert await targets(host, "undo") == ["undo_id=u1"]


async def test_tuning_tells_task_and_settings(host: AMemorixHostService) -> None:
    await call(host, "memory_tuning_admin", action="create_task")
    await call(host, "memory_tuning_admin", action="cancel", task_id="t1")
    await call(host, "memory_tuning_admin", action="apply_profile", profile={"retrieval.candidates": 90})
    assert await targets(host, "create_task") == ["task_id=t1"]
    assert await targets(host, "cancel") == ["task_id=t1"]
    assert await targets(host, "apply_profile") == ["settings=retrieval.candidates"]


async def test_long_selectors_are_only_counted(host: AMemorixHostService) -> None:
    chats = [f"chat number {i}" for i in range(40)]
    for chat in chats:
        await note(host, "n", "Tom likes tea.", chat_id=chat)
    await delete(host, "chat", chats)
    assert (await targets(host, "execute"))[0].startswith("mode=chat selector=1 ")


async def test_a_backup_that_was_purged_names_nobody_either(host: AMemorixHostService, tmp_path: Path) -> None:
    turn = {"external_id": "1", "speaker": "Mia Okafor", "text": "I keep bees in Lisbon."}
    await call(host, "ingest_messages", chat_id="c", messages=[turn])
    undone = await delete(host, "person", "Mia Okafor")
    await call(host, DELETE, action="restore", operation_id=undone)
    made = (await call(host, RUNTIME, action="backup"))["backup"]
    await delete(host, "person", "Mia Okafor", purge=True)
    raw = content(Path(made["path"]) / "memory.db")
    assert b"Okafor" not in raw
    with open_database(f"file:{made['path']}/memory.db?immutable=1", uri=True) as db:
        assert db.execute("select count(*) from audit").fetchone()[0] > 0
    db.close()
    assert b"Okafor" not in content(tmp_path / "data" / "a-memorix" / "memory.db")


def run(*args: str) -> str:
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, (result.stdout, result.stderr)
    return result.stdout


def test_the_command_shows_local_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMORIX_CONFIG", str(scratch_config(tmp_path, {"embedding.provider": "none"})))
    monkeypatch.setenv("COLUMNS", "300")
    assert run("audit") == "Nothing has been changed.\n"
    run("call", GRAPH, "create_node", "--name", "茶", "--requested-by", "林澈")
    run("call", GRAPH, "create_edge", "--subject", "Tom", "--predicate", "likes", "--object", "茶")
    shown = [line.split() for line in run("audit").splitlines() if "memory_graph_admin" in line]
    assert [line[-3:-1] for line in shown] and [line[1][2] for line in shown] == [":", ":"]
    assert shown[1][2:7] == ["林澈", "cli", "memory_graph_admin", "create_node", "node=n1"]
    assert run("audit", "--by", "林澈", "--action", "create_node").count("memory_graph_admin") == 1
    assert run("audit", "--limit", "1").count("memory_graph_admin") == 1
