"""Backups through the entrance: made while others write, looked through, put back, and reached by a purge."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.store.file_swap import forget_incoming
from amemorix.testing import HashEmbedder, memory_host, pause_background, run_maintenance
from conftest import Open
from database_file import content, encrypted, open_database
from entrance import admin_of, change, contents, data_of, found, refused, rows, said, stats, told
from import_entrance import pasted
from memory_dump import tables
from pace import PATIENCE, until
from test_purge import left

ADMIN = "memory_runtime_admin"


admin = admin_of(ADMIN)


async def backed_up(host: AMemorixHostService, **args: Any) -> dict[str, Any]:
    return (await admin(host, "backup", **args))["backup"]


# making and listing


async def test_a_backup_is_a_whole_database_with_its_manifest(dense_host: AMemorixHostService) -> None:
    await told(dense_host, "The kettle is blue.")
    await said(dense_host, "c", ("小明", "我住在上海。"))
    await dense_host.settle(600)

    made = await backed_up(dense_host, check=True)

    folder = Path(made["path"])
    assert folder.parent == data_of(dense_host) / "backups"
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "memory.db",
        *(["memory.keys"] if encrypted() else []),
        "memory.toml",
    ]
    assert made["counts"]["paragraphs"] == 2 and made["counts"]["embeddings"] == 2
    with closing(open_database(folder / "memory.db")) as db:
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
        texts = {row[0] for row in db.execute("select content from paragraphs")}
    assert texts == {"The kettle is blue.", "我住在上海。"}
    assert "kettle" not in (folder / "manifest.json").read_text()
    assert (await admin(dense_host, "backup_status"))["doing"] == ""


async def test_the_settings_are_kept_without_secrets(opened: Open) -> None:
    secret = "https://someone:hunter2@example.com/v1?key=hunter2"
    host = await opened(**{"chat.base_url": secret, "chat.api_key_env": "MY_KEY"}, environ={"MY_KEY": "sk-12345"})
    text = content(Path((await backed_up(host))["path"]) / "memory.toml").decode()
    assert "example.com" in text and "MY_KEY" in text
    assert "hunter2" not in text and "sk-12345" not in text


async def test_backups_are_listed_the_newest_first_and_deleted(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock)
    made: list[str] = []
    for _ in range(3):
        made.append((await backed_up(host))["id"])
        clock.advance(60)

    assert [one["id"] for one in (await admin(host, "list_backups"))["backups"]] == made[::-1]
    gone = await admin(host, "delete_backup", backup=made[1])
    assert gone["deleted"] and not Path(gone["backup"]["path"]).exists()
    assert [one["id"] for one in (await admin(host, "list_backups"))["backups"]] == [made[2], made[0]]
    with (Path(gone["backup"]["path"]).with_name(made[0]) / "memory.db").open("ab") as file:
        file.write(b"x")
    listed = {one["id"]: one["sound"] for one in (await admin(host, "list_backups"))["backups"]}
    assert listed == {made[0]: False, made[2]: True}


async def test_backups_are_made_by_themselves_and_only_the_newest_are_kept(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(clock=clock, backup={"every_hours": 1, "keep": 2})
    by_hand = (await backed_up(host))["id"]
    made = [await run_maintenance(host, "backup")]
    for minutes in (59, 1, 60, 60):
        clock.advance(60 * minutes)
        made.append(await run_maintenance(host, "backup"))

    listed = (await admin(host, "list_backups"))["backups"]
    assert [one["reason"] for one in listed] == ["scheduled", "scheduled", "manual"]
    assert listed[-1]["id"] == by_hand
    assert made[1:] == [0, 1, 1, 1]


async def test_the_last_backup_of_another_memory_outlives_those_of_an_empty_one(tmp_path: Path) -> None:
    clock, backup = FrozenClock(), {"every_hours": 1, "keep": 1}
    async with memory_host(tmp_path, clock=clock, backup=backup) as host:
        await pause_background(host)  # the loop makes none in between
        await told(host, "The kettle is blue.")
        assert await run_maintenance(host, "backup")
        full = (await admin(host, "list_backups"))["backups"][0]
    data, aside = tmp_path / "data" / "a-memorix", tmp_path / "aside"
    data.rename(aside)
    async with memory_host(tmp_path, clock=clock, backup=backup) as host:
        await pause_background(host)  # the loop makes none in between
        (aside / "backups").rename(data / "backups")
        for _ in range(3):
            clock.advance(3601)
            assert await run_maintenance(host, "backup")
        listed = (await admin(host, "list_backups"))["backups"]
    assert [one["counts"]["paragraphs"] for one in listed] == [0, 1]
    assert listed[-1]["id"] == full["id"]


async def test_the_loop_makes_one_by_itself(opened: Open) -> None:
    host = await opened(backup={"every_hours": 100})
    async with asyncio.timeout(PATIENCE):
        listed: list[dict[str, Any]] = []
        while not listed:
            listed = (await admin(host, "list_backups"))["backups"]
    assert [one["reason"] for one in listed] == ["scheduled"]


async def test_a_backup_may_go_to_a_root_and_nowhere_else(opened: Open, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir(), outside.mkdir()
    (root / "link").symlink_to(outside)
    host = await opened(backup={"roots": [str(root)]})
    await told(host, "The kettle is blue.")

    made = await backed_up(host, path=str(root / "deep"))

    assert Path(made["path"]).parent == root / "deep"
    for path in (outside, root / "link", root / ".." / "outside", "/", "relative", "\0"):
        await refused(host, ADMIN, {"action": "backup", "path": str(path)}, "path")
    assert list(outside.iterdir()) == []
    assert (await admin(host, "verify_backup", backup=made["path"]))["sound"]
    assert (await admin(host, "restore_backup", backup=made["path"]))["restored"]


@pytest.mark.parametrize("action", ["verify_backup", "restore_backup", "delete_backup"])
async def test_a_backup_has_to_be_named_and_known(host: AMemorixHostService, action: str) -> None:
    await refused(host, ADMIN, {"action": action}, "backup")
    await refused(host, ADMIN, {"action": action, "backup": " "}, "backup")
    for unknown in ("nothing", "20260101T000000Z-00000000", str(data_of(host) / "backups" / "none"), "..", "备份"):
        await refused(host, ADMIN, {"action": action, "backup": unknown}, "backup", code="not_found")
    for outside in ("/etc/passwd", str(data_of(host)), "../memory.db"):
        await refused(host, ADMIN, {"action": action, "backup": outside}, "backup")


# while others write


async def test_a_backup_holds_all_that_was_acknowledged_before_and_nothing_by_half(opened: Open) -> None:
    host = await opened(embed=HashEmbedder(16))
    acknowledged: list[int] = []
    stop = False

    async def write(first: int) -> None:
        number = first
        while not stop:
            await host.call("ingest_text", {
                "external_id": f"n{number}", "source_type": "note", "text": f"Note {number}. " * 30,
                "relations": [{"subject": f"thing {number}", "predicate": "is", "object": "noted"}],
            })  # fmt: skip
            acknowledged.append(number)
            number += 4

    writers = [asyncio.create_task(write(first)) for first in range(4)]
    for _ in range(4):
        await asyncio.sleep(0.15)
        before = set(acknowledged)
        made = await backed_up(host, check=True)
        with closing(open_database(Path(made["path"]) / "memory.db")) as db:
            held = {int(row[0][1:]) for row in db.execute("select external_id from external_memory_refs")}
            counts = [db.execute(f"select count(*) from {name}").fetchone()[0]
                      for name in ("external_memory_refs", "paragraphs", "relations", "relation_evidence", "terms")]  # fmt: skip
        assert held >= before
        assert len(set(counts)) == 1, "each note is there with all that belongs to it"
    assert len(acknowledged) > len(before), "the writers went on"
    stop = True
    await asyncio.gather(*writers)


async def test_a_backup_in_a_closing_memory_ends_and_leaves_nothing(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, "The kettle is blue. " * 20)
        data = data_of(host)
        making = [asyncio.create_task(host.invoke(ADMIN, {"action": "backup"})) for _ in range(5)]
        await asyncio.sleep(0.01)
    answers = await asyncio.gather(*making)
    assert {answer.get("error_code", "") for answer in answers} <= {"", "not_ready"}
    whole = list((data / "backups").iterdir())
    assert len(whole) == sum(answer["success"] for answer in answers)


# looking through


async def test_verify_finds_any_byte_that_is_another(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue.")
    made = await backed_up(host)
    file = Path(made["path"]) / "memory.db"
    whole = file.read_bytes()
    for place in (30, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        verdict = await admin(host, "verify_backup", backup=made["id"])
        assert not verdict["sound"] and any("memory.db" in one for one in verdict["problems"])
        await refused(host, ADMIN, {"action": "restore_backup", "backup": made["id"]}, "backup", code="conflict")
    file.write_bytes(whole)
    assert (await admin(host, "verify", backup=made["id"]))["problems"] == []


async def test_verify_finds_what_is_missing_and_what_the_manifest_does_not_say(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue.")
    made = await backed_up(host)
    folder = Path(made["path"])
    manifest = json.loads((folder / "manifest.json").read_text())
    for wrong, problem in (
        ({"counts": {**manifest["counts"], "paragraphs": 7}}, "paragraphs holds 1 rows, not 7"),
        ({"database_id": "x"}, "another one"),
        ({"change_seq": 99}, "another one"),
        ({"files": {}}, "names no database"),
    ):
        (folder / "manifest.json").write_text(json.dumps(manifest | wrong))
        problems = (await admin(host, "verify_backup", backup=made["id"]))["problems"]
        assert any(problem in one for one in problems), (wrong, problems)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "memory.toml").unlink()
    assert (await admin(host, "verify_backup", backup=made["id"]))["problems"] == ["memory.toml is missing"]
    (folder / "memory.db").unlink()
    assert not (await admin(host, "verify_backup", backup=made["id"]))["sound"]
    (folder / "manifest.json").write_text("{")
    await refused(host, ADMIN, {"action": "verify_backup", "backup": made["id"]}, "backup", code="not_found")


# putting back


async def fill(host: AMemorixHostService, chat: str, count: int) -> None:
    for number in range(count):
        await told(host, f"Note {number} of {chat}: the lantern hangs near the harbour.", chat_id=chat,
                   relations=[{"subject": "lantern", "predicate": "near", "object": f"harbour {number} {chat}"}])  # fmt: skip
        await said(host, chat, ("Ada", f"我在{chat}养了{number}只猫。"), ("Bo", f"Ada's violin {number} is old."))
    await host.settle(600)


async def test_a_restored_memory_is_the_one_that_was_backed_up(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        await fill(host, "early", 6)
        await admin(host, "save")
        rows, counts = await tables(host), await stats(host)
        answers = [await found(host, query, limit=20) for query in ("lantern harbour", "猫", "violin", "early")]
        made = await backed_up(host)
        await fill(host, "later", 8)
        await admin(host, "save")
        assert await contents(host, "later")

        done = await admin(host, "restore_backup", backup=made["id"])
        await host.settle(600)

        assert done["restored"] and done["set_aside"]["counts"]["paragraphs"] == 42
        assert await stats(host) == counts
        assert await tables(host) == rows
        again = [await found(host, query, limit=20) for query in ("lantern harbour", "猫", "violin", "early")]
        assert [one["hits"] for one in again] == [one["hits"] for one in answers]
        assert not [text for text in await contents(host, "later lantern", limit=50) if "later" in text]
        back = await admin(host, "restore_backup", backup=done["set_aside"]["id"])
        assert back["restored"] and await contents(host, "later lantern")
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        assert await contents(host, "later lantern")
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]


async def test_indexes_of_another_history_are_never_used(tmp_path: Path) -> None:
    """A snapshot made after the backup reads further than the restored log, until as much has been written again."""
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        await told(host, "The kettle is blue.")
        await admin(host, "save")
        made = await backed_up(host)
        for number in range(6):
            await told(host, f"Lantern number {number} hangs in the hall.")
        await host.settle(600)
        await admin(host, "save")
        await admin(host, "restore_backup", backup=made["id"])
        for number in range(6):
            await told(host, f"Violin number {number} lies in the attic.")
        await host.settle(600)
        shutil.copytree(data_of(host), tmp_path / "killed" / "data" / "a-memorix")
    for folder in (tmp_path, tmp_path / "killed"):
        async with memory_host(folder, embed=HashEmbedder(32)) as host:
            texts = [f"Violin number {number} lies in the attic." for number in range(6)]
            assert sorted(await contents(host, "violin attic number", limit=6)) == texts
            assert not [text for text in await contents(host, "lantern hall", limit=20) if "Lantern" in text]
            assert (await contents(host, "kettle"))[0] == "The kettle is blue."
            assert (await admin(host, "refresh_self_check"))["report"]["ok"]


async def test_ids_given_out_since_the_backup_are_not_given_out_again_and_the_restore_is_audited(
    host: AMemorixHostService,
) -> None:
    made = await backed_up(host)
    first = await told(host, "The kettle is blue.")
    done = await admin(host, "restore_backup", backup=made["id"])
    second = await told(host, "The lantern is red.")
    assert second["stored_ids"][0] not in first["stored_ids"]
    rows = (await admin(host, "audit", of_action="restore_backup"))["items"]
    assert [row["target"] for row in rows] == [f"backup={made['id']} set_aside={done['set_aside']['id']}"]
    assert rows[0]["component"] == ADMIN and rows[0]["door"] == "host"


async def test_calls_during_a_restore_are_all_answered(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        await told(host, "The kettle is blue.")
        made = await backed_up(host)
        answers: list[dict[str, Any]] = []
        stop = False

        async def ask(number: int) -> None:
            while not stop:
                answers.append(await host.invoke("search_memory", {"query": "kettle"}))
                answers.append(await host.invoke("ingest_text", {
                    "external_id": f"{number}-{len(answers)}", "source_type": "note", "text": f"Note {len(answers)}."}))  # fmt: skip

        asking = [asyncio.create_task(ask(number)) for number in range(6)]
        for round_ in range(1, 4):
            await until(lambda enough=20 * round_: len(answers) > enough)
            assert (await admin(host, "restore_backup", backup=made["id"]))["restored"]
        stop = True
        await asyncio.gather(*asking)
        assert [answer for answer in answers if not answer["success"]] == []
        assert len(answers) > 50


async def test_a_restore_that_is_given_up_on_is_carried_through_or_not_begun(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, "The kettle is blue.")
        made = await backed_up(host)
        await told(host, "The lantern is red.")
        for delay in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05):
            restoring = asyncio.create_task(host.invoke(ADMIN, {"action": "restore_backup", "backup": made["id"]}))
            await asyncio.sleep(delay)
            restoring.cancel()
            await asyncio.gather(restoring, return_exceptions=True)
            assert (await stats(host))["paragraphs"] in (1, 2)
        assert (await admin(host, "restore_backup", backup=made["id"]))["restored"]
        assert await contents(host, "kettle lantern") == ["The kettle is blue."]


async def test_two_restores_at_once_come_one_after_the_other(host: AMemorixHostService) -> None:
    made = await backed_up(host)
    calls = [host.invoke(ADMIN, {"action": "restore_backup", "backup": made["id"]}) for _ in range(3)]
    answers = await asyncio.gather(*calls)
    assert any(answer["success"] for answer in answers)
    assert {answer.get("error_code", "") for answer in answers} <= {"", "not_ready", "conflict"}
    assert (await told(host, "The kettle is blue."))["stored_ids"]


@pytest.mark.parametrize("beside", ["backup", "export", "purge", "restore_backup"])
async def test_nothing_waits_for_a_restore_that_waits_for_it(
    tmp_path: Path, beside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, in between, after: whoever comes second is refused at once or has ended before the restore begins."""
    monkeypatch.setattr("amemorix.host.kernel_pool.DRAIN_SECONDS", 2 * PATIENCE)
    async with memory_host(tmp_path, embed=HashEmbedder(16)) as host:
        for number in range(20):
            await told(host, f"Note {number}: the kettle is blue.", chat_id="c")
        made = await backed_up(host)
        restore = {"action": "restore_backup", "backup": made["id"]}
        other = restore if beside == "restore_backup" else {"action": beside}
        for pause in (0.0, 0.005, 0.02, 0.05, 0.1):
            for first_is_restore in (True, False):
                purge = {"action": "execute", "mode": "chat", "selector": "c", "purge": True}
                calls = [(ADMIN, restore), ("memory_delete_admin", purge) if beside == "purge" else (ADMIN, other)]
                first, second = calls if first_is_restore else calls[::-1]
                began = time.monotonic()
                one = asyncio.create_task(host.invoke(*first))
                await asyncio.sleep(pause)
                two = asyncio.create_task(host.invoke(*second))
                assert (await host.invoke("search_memory", {"query": "kettle", "chat_id": "c"}))["success"]
                answers = await asyncio.gather(one, two)
                assert time.monotonic() - began < PATIENCE
                codes = [answer.get("error_code", "") for answer in answers]
                assert "" in codes and set(codes) <= {"", "conflict", "not_ready", "not_found"}, answers
        assert not list(data_of(host).glob("*.incoming*"))


async def test_a_wrong_number_in_a_manifest_does_no_harm(host: AMemorixHostService) -> None:
    await told(host, KEPT)
    made = [await backed_up(host), await backed_up(host)]
    file = Path(made[0]["path"]) / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["numbers"]["paragraphs"] = 2**63 - 1
    file.write_text(json.dumps(manifest))
    problems = (await admin(host, "verify_backup", backup=made[0]["id"]))["problems"]
    assert any("numbers" in one for one in problems)
    await refused(host, ADMIN, {"action": "restore_backup", "backup": made[0]["id"]}, "backup", code="conflict")

    await admin(host, "restore_backup", backup=made[1]["id"])
    assert (await told(host, "The lantern is red."))["stored_ids"]


async def test_a_restore_that_is_given_up_on_while_it_copies_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, KEPT)
        made = await backed_up(host)
        monkeypatch.setattr("amemorix.store.copies.BREATH_SECONDS", 0.5)
        left_over: list[Path] = []
        restoring = asyncio.create_task(host.invoke(ADMIN, {"action": "restore_backup", "backup": made["id"]}))
        for _ in range(1_000):
            if left_over := list(data_of(host).glob("*.incoming*")):
                break
            await asyncio.sleep(0.01)
        restoring.cancel()
        await asyncio.gather(restoring, return_exceptions=True)
        assert left_over and not list(data_of(host).glob("*.incoming*"))
        assert await contents(host, "kettle") == [KEPT]


async def test_a_restored_memory_goes_on_with_backups_and_restarts(tmp_path: Path) -> None:
    async with memory_host(tmp_path, backup={"keep": 2}) as host:
        await told(host, "The kettle is blue.")
        made = await backed_up(host)
        for _ in range(4):
            await admin(host, "restore_backup", backup=made["id"])
        reasons = [one["reason"] for one in (await admin(host, "list_backups"))["backups"]]
        assert sorted(reasons) == ["before_restore", "before_restore", "manual"]
        for one in (await admin(host, "list_backups"))["backups"]:
            assert (await admin(host, "verify_backup", backup=one["id"]))["problems"] == []
    async with memory_host(tmp_path) as host:
        assert await contents(host, "kettle") == ["The kettle is blue."]


# purge


TEXT, CHINESE, KEPT = "zanzibar quorum vexillology", "麒麟貔貅饕餮穷奇混沌梼杌", "The kettle is blue."


async def test_what_was_purged_stays_away_however_often_old_backups_are_restored(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    host = await opened(backup={"roots": [str(root)]})
    before = await told(host, TEXT)
    made = [await backed_up(host, path=str(root)), await backed_up(host, path=str(root))]
    for one in made:
        shutil.copytree(one["path"], tmp_path / "unplugged" / one["id"])
    args = {"action": "execute", "mode": "paragraph", "selector": before["stored_ids"], "purge": True}
    operation = (await host.invoke("memory_delete_admin", args))["operation_id"]

    for one in made:
        shutil.rmtree(one["path"])
        shutil.copytree(tmp_path / "unplugged" / one["id"], one["path"])
        done = await admin(host, "restore_backup", backup=one["path"])
        assert done["erased"] > 0
        assert (await stats(host))["paragraphs"] == 0
    known = await host.invoke("memory_delete_admin", {"action": "get_operation", "operation_id": operation})
    assert known["success"] and known["operation"]["status"] == "purged", known


QUOTE = "zanzibar quixotic pineapple"
CHAT, PERSON = "qq-group-of-mia", "Zebedee Quill"


async def quoted(host: AMemorixHostService) -> None:
    """A chat, and records beside it that name or quote it."""
    await told(host, KEPT)
    await told(host, QUOTE, chat_id=CHAT)
    await said(host, CHAT, (PERSON, CHINESE))
    bad = json.dumps({"messages": [{"speaker": PERSON, "text": "a kite", "time": QUOTE}]})
    await pasted(host, f"{PERSON}.json", bad, chat_id=CHAT, skip_bad=True)
    args = {
        "action": "apply_profile",
        "profile": {"retrieval.weights.dense": 0.5},
        "reason": f"because {PERSON} said {QUOTE}",
    }
    assert (await host.invoke("memory_tuning_admin", args))["success"]
    await host.settle(600)


async def forget_chat(host: AMemorixHostService) -> dict[str, Any]:
    person = {"action": "execute", "mode": "person", "selector": PERSON, "purge": True}
    chat = {"action": "execute", "mode": "chat", "selector": CHAT, "purge": True}
    answers = [await host.invoke("memory_delete_admin", args) for args in (chat, person)]
    assert answers[0]["success"], answers
    return answers[0]["receipt"]


async def test_only_what_a_backup_left_is_swept(opened: Open, tmp_path: Path) -> None:
    ours, others = (tmp_path / "root" / "a" / name for name in (".partial-1a-b2c3d4-0123456789ab", ".partial-download"))
    for folder in (ours, others):
        folder.mkdir(parents=True)
    await opened(backup={"roots": [str(tmp_path / "root")]})
    await until(lambda: not ours.exists())
    assert others.exists()


async def test_a_purge_empties_records_in_backups_says_which_and_removes_none(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    host = await opened(embed=HashEmbedder(32), backup={"roots": [str(root)]})
    before = await backed_up(host)
    await quoted(host)
    held = [await backed_up(host, path=path) for path in ("", str(root), str(root / "a" / "b"))]
    listed = [one["id"] for one in (await admin(host, "list_backups"))["backups"]]
    assert sorted(listed) == sorted(one["id"] for one in (before, *held))
    told_of = [QUOTE, CHINESE, CHAT, PERSON]
    assert left(root / "a", told_of), "a backup in a folder below a root is one of those that hold it"

    receipt = await forget_chat(host)

    assert receipt["found"] == {}
    names = {f"backups/{held[0]['id']}/memory.db", *(f"{one['path']}/memory.db" for one in held[1:])}
    assert {copy["file"] for copy in receipt["copies"] if copy["done"] == "rewritten"} >= names
    shutil.copytree(data_of(host), tmp_path / "copy")
    assert left(tmp_path / "copy" / "backups", told_of) == [] and left(root, told_of) == []
    for one in (await admin(host, "list_backups"))["backups"]:
        assert (await admin(host, "verify_backup", backup=one["id"]))["problems"] == []
        assert bool(one["purged"]) == (one["id"] != before["id"])
    await admin(host, "restore_backup", backup=held[2]["id"])
    assert await contents(host, "kettle") == [KEPT]


async def test_a_restored_copy_is_scrubbed_like_the_memory_it_replaces(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    host = await opened(embed=HashEmbedder(32), backup={"roots": [str(root)]})
    await quoted(host)
    made = await backed_up(host, path=str(root))
    shutil.move(root / made["id"], tmp_path / "unplugged")
    await forget_chat(host)
    shutil.move(tmp_path / "unplugged", root / made["id"])

    assert (await admin(host, "restore_backup", backup=made["id"]))["erased"] > 0
    await host.settle(600)

    shutil.copytree(data_of(host), tmp_path / "copy")
    assert left(tmp_path / "copy", [QUOTE, CHINESE, CHAT, PERSON]) == []
    assert await contents(host, KEPT) == [KEPT]


async def test_nothing_is_restored_while_a_purge_is_under_way(host: AMemorixHostService) -> None:
    made = await backed_up(host)
    change(
        host,
        "insert into delete_operations (mode, status, selector, counts, created_at) values ('mixed', 'purging', '[]', '{}', 0)",
    )
    answer = await host.invoke(ADMIN, {"action": "restore_backup", "backup": made["id"]})
    assert answer["success"] or answer["error_code"] == "conflict"
    await host.settle(600)
    assert (await admin(host, "restore_backup", backup=made["id"]))["restored"]


# files


async def test_what_was_decided_is_carried_out_after_a_crash(tmp_path: Path) -> None:
    """The old database's log is still there: it must not be read into the new one."""
    async with memory_host(tmp_path / "new") as host:
        await told(host, "The new kettle.")
    async with memory_host(tmp_path / "crashed") as host:
        crashed = data_of(host)
    async with memory_host(tmp_path / "old") as host:
        await told(host, "The old kettle.")
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(data_of(host) / name, crashed / name)
        assert (crashed / "memory.db-wal").stat().st_size
    new = tmp_path / "new" / crashed.relative_to(tmp_path / "crashed")
    shutil.copy(new / "memory.db", crashed / "memory.db.decided")
    if encrypted():
        shutil.copy(new / "memory.keys", crashed)

    async with memory_host(tmp_path / "crashed") as host:
        assert rows(host, "select content from paragraphs") == [("The new kettle.",)]
        assert await contents(host, "kettle") == ["The new kettle."]
    assert not (crashed / "memory.db.decided").exists()


def test_what_was_made_ready_only_is_forgotten(tmp_path: Path) -> None:
    for name in ("memory.db", "memory.db.incoming", "memory.db.incoming-journal"):
        (tmp_path / name).write_text("x")
    forget_incoming(tmp_path / "memory.db")
    assert [path.name for path in tmp_path.iterdir()] == ["memory.db"]


# beside each other


async def test_nothing_is_put_into_a_backup(opened: Open, tmp_path: Path) -> None:
    host = await opened(backup={"roots": [str(tmp_path / "root")]})
    await told(host, "The kettle is blue. 水壶是蓝色的。")
    for first in (await backed_up(host), await backed_up(host, path=str(tmp_path / "root"))):
        for place in (first["path"], f"{first['path']}/deep/er"):
            error = await refused(host, ADMIN, {"action": "backup", "path": place}, "path")
            assert first["id"] in error
            await refused(host, ADMIN, {"action": "export", "path": f"{place}/all.jsonl"}, "path")
    await refused(host, ADMIN, {"action": "backup", "path": str(tmp_path / "root" / ".partial-1-2-3")}, "path")
    assert len((await admin(host, "list_backups"))["backups"]) == 2


async def test_a_backup_that_was_put_into_another_outlives_it(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue.")
    outer, inner = await backed_up(host), await backed_up(host)
    shutil.move(inner["path"], Path(outer["path"]) / inner["id"])
    assert (await admin(host, "delete_backup", backup=outer["id"]))["deleted"]
    assert [one["id"] for one in (await admin(host, "list_backups"))["backups"]] == [inner["id"]]
    assert (await admin(host, "verify_backup", backup=inner["id"]))["sound"]
    assert [path.name for path in Path(outer["path"]).iterdir()] == [inner["id"]]


async def test_of_those_that_delete_a_backup_one_does_and_the_others_are_told(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue.")
    made = await backed_up(host)
    calls = [{"action": "delete_backup", "backup": made["id"]} for _ in range(4)]
    answers = await asyncio.gather(*(host.invoke(ADMIN, call) for call in calls))
    assert sorted(answer.get("error_code", "") for answer in answers) == ["", *["not_found"] * 3]
    assert not Path(made["path"]).exists()


async def test_a_list_beside_deletions_tells_what_is_there(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue.")
    kept = await backed_up(host)
    gone = [await backed_up(host) for _ in range(8)]
    seen: list[dict[str, Any]] = []
    listing = True

    async def list_on() -> None:
        while listing:
            seen.append(await host.invoke(ADMIN, {"action": "list_backups"}))

    lists = [asyncio.create_task(list_on()) for _ in range(3)]
    for one in gone:
        await admin(host, "delete_backup", backup=one["id"])
    listing = False
    await asyncio.gather(*lists)
    assert all(answer["success"] and kept["id"] in {one["id"] for one in answer["backups"]} for answer in seen)


async def test_a_backup_that_goes_while_it_is_looked_at_is_passed_over(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await backed_up(host) for _ in range(2)]
    looked = Path.stat

    def stat(path: Path, **how: Any) -> Any:
        if path == Path(made[0]["path"]) / "manifest.json":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return looked(path, **how)

    monkeypatch.setattr(Path, "stat", stat)
    assert [one["id"] for one in (await admin(host, "list_backups"))["backups"]] == [made[1]["id"]]
