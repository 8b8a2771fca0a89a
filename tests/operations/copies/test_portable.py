"""A whole memory in one file: what is made of it answers as the first one did."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.copies.portable import LEFT_BEHIND, VECTORS
from amemorix.copies.portable_file import is_portable
from amemorix.testing import HashEmbedder, memory_host, pause_background
from amemorix_bench import corpus
from amemorix_bench.recall.chinese import read_chinese
from amemorix_bench.recall.dataset import Dataset, spread
from amemorix_bench.recall.locomo import read_locomo
from conftest import Open
from entrance import contents, data_of, found, refused, rows, said, stats, told
from import_entrance import pasted
from memory_dump import tables
from test_backup import ADMIN, CHINESE, KEPT, TEXT, admin
from test_purge import left

Query = tuple[str, str]
"""A question and the chat that asks it."""


def calls_of(dataset: Dataset, most_sessions: int) -> Iterator[dict[str, Any]]:
    """The arguments that store the first sessions of each conversation."""
    for part in dataset.corpora:
        for session in part.sessions[:most_sessions]:
            turns = [{"external_id": part.key(t.id), "speaker": t.speaker, "text": t.text, "time": session.time}
                     for t in session.turns]  # fmt: skip
            if turns:
                yield {"chat_id": part.id, "source": part.key(session.id), "messages": turns}


async def answers(host: AMemorixHostService, queries: Iterable[Query]) -> list[list[tuple[str, float]]]:
    every: list[list[tuple[str, float]]] = []
    for text, chat in queries:
        answer = await found(host, text, chat_id=chat, limit=10)
        every.append([(hit["id"], hit["score"]) for hit in answer["hits"]])
    return every


async def exported(host: AMemorixHostService, **args: Any) -> dict[str, Any]:
    return await admin(host, "export", **args)


def carried(path: str, folder: Path) -> str:
    """The file in the folder of exports of another memory's data directory; its name."""
    home = folder / "data" / "a-memorix" / "exports"
    home.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, home / "carried.jsonl")
    return "carried.jsonl"


async def filled(host: AMemorixHostService) -> None:
    """Everything that a memory can hold of its own accord, and some of what hands do to it."""
    for number in range(8):
        await told(host, f"Note {number}: the lantern hangs near the harbour.", chat_id="c", tags=["t", "标签"],
                   metadata={"n": number}, expires_at="2099-01-01",
                   relations=[{"subject": "lantern", "predicate": "near", "object": f"harbour {number}"}])  # fmt: skip
    await said(host, "c", ("小明", "我住在上海，我喜欢喝乌龙茶。"), ("Bo", "I live in Berlin and I like chess."))
    await told(host, "The kettle is blue.", external_id="k")
    await told(host, "The kettle is green.", external_id="k")
    gone = await told(host, "A cup of tin.", external_id="cup")
    await host.invoke("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": gone["stored_ids"]})
    await host.settle(600)


@pytest.mark.parametrize("vectors", [True, False])
async def test_every_row_is_carried(tmp_path: Path, vectors: bool) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        await filled(host)
        rows, counts = await tables(host), await stats(host)
        profile = await host.invoke("get_person_profile", {"person_keyword": "Bo", "chat_id": "c"})
        done = await exported(host, vectors=vectors)
    assert is_portable(Path(done["path"]))
    assert sum(done["counts"].values()) == done["rows"] > 100
    async with memory_host(tmp_path / "b", embed=HashEmbedder(32)) as host:
        taken = await admin(host, "import_export", path=carried(done["path"], tmp_path / "b"))
        await host.settle(600)

        assert taken["imported"] and taken["counts"] == done["counts"]
        assert await stats(host) == counts
        again = await tables(host)
        if not vectors:  # what is deleted or superseded gets no new vector
            rows, again = ({n: t for n, t in one.items() if "embedding" not in n} for one in (rows, again))
        assert again == rows
        assert await host.invoke("get_person_profile", {"person_keyword": "Bo", "chat_id": "c"}) == profile
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]
        assert [one["reason"] for one in (await admin(host, "list_backups"))["backups"]] == []
        restored = await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "d1"})
        assert restored["success"], restored
        assert "A cup of tin." in await contents(host, "cup tin", limit=20)


async def assert_answered_alike(
    folder: Path, calls: Iterable[dict[str, Any]], asked: list[Query], **settings: Any
) -> None:
    """What is made of an export, with its vectors or without, answers as the first memory does."""
    async with memory_host(folder, **settings) as host:
        for call in calls:
            assert (await host.invoke("ingest_messages", call))["success"]
        await host.settle(300)
        await admin(host, "rebuild_all_vectors")  # the names left out of what is embedded are those known at the time
        await host.settle(300)
        before = await answers(host, asked)
        exports = {vectors: (await exported(host, vectors=vectors))["path"] for vectors in (True, False)}
    assert sum(map(bool, before)) > len(asked) / 2
    for vectors, path in exports.items():
        other = folder / f"vectors {vectors}"
        async with memory_host(other, **settings) as host:
            await admin(host, "import_export", path=carried(path, other))
            await host.settle(300)
            assert await answers(host, asked) == before, vectors


async def test_every_question_is_answered_the_same(tmp_path: Path) -> None:
    calls = [call.args() for call in corpus.calls(300)] + list(calls_of(read_chinese(), 2))
    asked = [(q.text, q.chat_id) for q in corpus.questions(60, 300, "portable")]
    asked += [(q.text, part.id) for part, q in spread(list(read_chinese().questions()), 60)]
    await assert_answered_alike(tmp_path, calls, asked, embed=HashEmbedder(64))


@pytest.mark.shared_data
@pytest.mark.local_model
async def test_locomo_is_answered_the_same(tmp_path: Path, shared_data: Path, local_model: str) -> None:
    whole = read_locomo(shared_data / "locomo_dev.json")
    one = replace(whole, corpora=whole.corpora[:1])
    asked = [(q.text, part.id) for part, q in spread(list(one.questions()), 60)]
    local = {"embedding": {"provider": "local"}, "environ": os.environ}
    await assert_answered_alike(tmp_path, calls_of(one, 3), asked, **local)


async def test_what_was_not_derived_yet_is_derived_there(tmp_path: Path) -> None:
    text = "Ada lives in Berlin. 小明住在上海。"
    async with memory_host(tmp_path) as host:
        await pause_background(host)
        await told(host, text, chat_id="c")
        done = await exported(host)
        assert (await stats(host))["episodes"] == 0
    async with memory_host(tmp_path / "b") as host:
        await admin(host, "import_export", path=carried(done["path"], tmp_path / "b"))
        await host.settle(600)
        assert (await stats(host))["episodes"] == 1


async def test_a_memory_that_was_imported_goes_on(tmp_path: Path) -> None:
    """New rows get numbers of their own, deletions and restarts work."""
    async with memory_host(tmp_path, embed=HashEmbedder(32)) as host:
        await filled(host)
        done = await exported(host)
    async with memory_host(tmp_path / "b", embed=HashEmbedder(32)) as host:
        await admin(host, "import_export", path=carried(done["path"], tmp_path / "b"))
        again = await told(host, "The kettle is green.", external_id="k")
        assert again["stored_ids"] == [] and again["reason"] == "exists"
        await told(host, "A violin in the attic.")
        await host.settle(600)
    async with memory_host(tmp_path / "b", embed=HashEmbedder(32)) as host:
        assert await contents(host, "violin attic", limit=1) == ["A violin in the attic."]
        assert (await admin(host, "refresh_self_check"))["report"]["ok"]


# refusals


async def test_only_an_empty_memory_takes_an_export_in(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, KEPT)
        done = await exported(host)
        for path in (Path(done["path"]).name, str(tmp_path / "elsewhere.jsonl")):
            why = await refused(host, ADMIN, {"action": "import_export", "path": path}, code="conflict")
            assert "The memory is not empty" in why
        assert await contents(host, "kettle") == [KEPT]


async def test_paths_stay_within_their_roots(opened: Open, tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir(), outside.mkdir()
    (root / "link").symlink_to(outside)
    host = await opened(backup={"roots": [str(root)]})
    exports = data_of(host) / "exports"
    exports.mkdir()
    (exports / "link").symlink_to(outside)
    places = "../a.jsonl", "link/a.jsonl", str(outside / "a.jsonl"), str(root / "link" / "a.jsonl"), "/a", ".", "a\0"
    for path in places:
        await refused(host, ADMIN, {"action": "import_export", "path": path}, "path")
    await refused(host, ADMIN, {"action": "import_export", "path": "none.jsonl"}, "path", code="not_found")
    await told(host, KEPT)

    assert (await exported(host, path="deep/a.jsonl"))["path"] == str(exports / "deep" / "a.jsonl")
    assert (await exported(host, path=str(root / "a.jsonl")))["path"] == str(root / "a.jsonl")
    for path in places:
        await refused(host, ADMIN, {"action": "export", "path": path}, "path")
    why = await refused(host, ADMIN, {"action": "export", "path": str(outside / "a.jsonl")}, "path")
    assert str(exports) in why
    assert f"`amemorix config set backup.roots '{json.dumps([str(root), str(outside)])}'` allows it" in why
    for path in ("deep/a.jsonl", str(root / "a.jsonl")):
        await refused(host, ADMIN, {"action": "export", "path": path}, "path", code="conflict")
    await refused(host, ADMIN, {"action": "import_export"}, "path")
    assert list(outside.iterdir()) == []


def resealed(lines: list[bytes]) -> bytes:
    """The lines with a last one that seals them."""
    seal = {"end": {"rows": len(lines) - 1, "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}}
    return b"".join(lines) + json.dumps(seal).encode() + b"\n"


async def test_a_damaged_export_changes_nothing(tmp_path: Path) -> None:
    async with memory_host(tmp_path, embed=HashEmbedder(8)) as host:
        await filled(host)
        done = await exported(host, vectors=True)
    raw = Path(done["path"]).read_bytes()
    lines = raw.splitlines(keepends=True)
    header = json.loads(lines[0])
    place = next(n for n, line in enumerate(lines) if line.startswith(b'{"paragraphs"'))
    row = json.loads(lines[place])["paragraphs"]
    bad: dict[str, bytes] = {
        "its first line": b"",
        "no export": b'{"hello": 1}\n',
        "header of": b'{"format": "amemorix-portable", "version": 2}\n',
        "newer version": json.dumps({**header, "schema": 99}).encode() + b"\n" + b"".join(lines[1:]),
        "before its last one": b"".join(lines[:-1]),
        "before its last": lines[0],
        "seal": b"".join([*lines[:place], *lines[place + 1 :]]),
        "is no row": b"".join([*lines[:place], b"[1, 2]\n", *lines[place:]]),
        "no row": b"".join([*lines[:place], lines[place][:-20] + b"\n", *lines[place + 1 :]]),
        "cannot be stored": resealed([*lines[:place], json.dumps({"paragraphs": row[:-1]}).encode() + b"\n", *lines[place + 1 : -1]]),
        "that cannot be stored": resealed([*lines[:place], json.dumps({"paragraphs": ["x", *row[1:]]}).encode() + b"\n", *lines[place + 1 : -1]]),
        "points to a row": resealed([*lines[:place], *lines[place + 1 : -1]]),
        "row that cannot be stored": resealed([*lines[:place], json.dumps({"paragraphs": [*row[:-1], {"base64": "?"}]}).encode() + b"\n", *lines[place + 1 : -1]]),
        "does not name": resealed([*lines[:-1], b'{"nothing": [1]}\n']),
        "does not know": resealed([json.dumps({**header, "tables": {"sqlite_schema": {"columns": ["name"], "rows": 0}}}).encode() + b"\n"]),
    }  # fmt: skip
    flipped = bytearray(raw)
    flipped[len(raw) // 2] ^= 1
    async with memory_host(tmp_path / "b", embed=HashEmbedder(8)) as host:
        exports = data_of(host) / "exports"
        exports.mkdir(parents=True)
        for message, damaged in {**bad, "": bytes(flipped)}.items():
            (exports / "x.jsonl").write_bytes(damaged)
            said = await refused(host, ADMIN, {"action": "import_export", "path": "x.jsonl"})
            assert message in said, (message, said)
        assert not list(data_of(host).glob("*.incoming*"))
        (exports / "x.jsonl").write_bytes(raw)
        assert (await admin(host, "import_export", path="x.jsonl"))["imported"]


def test_other_files_are_no_exports(tmp_path: Path) -> None:
    for text in ("", "{}", '{"format": "something"}', "甲乙"):
        (tmp_path / "x.jsonl").write_text(text)
        assert not is_portable(tmp_path / "x.jsonl")
    assert not is_portable(tmp_path) and not is_portable(tmp_path / "none")


# purge


async def test_a_purge_removes_exports_that_hold_what_goes(opened: Open, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    host = await opened(embed=HashEmbedder(32), backup={"roots": [str(root)]})
    await told(host, KEPT)
    clean = await exported(host, path="clean.jsonl")
    (root / "diary.txt").write_text(TEXT)
    await told(host, TEXT, chat_id="away")
    await said(host, "away", ("Zebedee", CHINESE))
    held = [
        (await exported(host, path=path, vectors=True))["path"] for path in ("held.jsonl", str(root / "held.jsonl"))
    ]

    args = {"action": "execute", "mode": "chat", "selector": "away", "purge": True}
    receipt = (await host.invoke("memory_delete_admin", args))["receipt"]

    assert receipt["found"] == {}
    assert {copy["file"]: copy["done"] for copy in receipt["copies"]} == {
        "exports/held.jsonl": "removed", str(root / "held.jsonl"): "removed"}  # fmt: skip
    assert Path(clean["path"]).exists() and not any(Path(path).exists() for path in held)
    shutil.copytree(data_of(host), tmp_path / "copy")
    assert left(tmp_path / "copy", [TEXT, CHINESE]) == []
    assert (root / "diary.txt").read_text() == TEXT, "it is no file of this program"


async def test_values_are_carried_to_the_last_bit(tmp_path: Path) -> None:
    text = 'a\u2028b\t"quoted" \\ 𝄞 𠮷 \x7f 尾'
    async with memory_host(tmp_path, embed=HashEmbedder(8)) as host:
        await told(host, text, time=1.7e9 + 1 / 3)
        await host.settle(600)
        rows = await tables(host)
        done = await exported(host, vectors=True)
    line = next(line for line in Path(done["path"]).read_bytes().split(b"\n") if line.startswith(b'{"embeddings"'))
    assert len(base64.b64decode(json.loads(line)["embeddings"][2]["base64"])) == 16
    async with memory_host(tmp_path / "b", embed=HashEmbedder(8)) as host:
        await admin(host, "import_export", path=carried(done["path"], tmp_path / "b"))
        assert (await tables(host))["paragraphs"] == rows["paragraphs"]
        assert (await tables(host))["embeddings"] == rows["embeddings"]


NAMES = """
chats sources sessions persons chat_persons person_aliases external_memory_refs paragraphs terms paragraph_persons
entities entity_aliases name_news paragraph_entities relations relation_evidence retention memory_v5_operations
undo_records facts fact_evidence fact_links fact_transitions profile_overrides tasks
summary_cursors chat_usage delete_operations delete_operation_items correction_plans feedback_tasks tuning_tasks
tuning_queries tuning_query_paragraphs tuning_rounds retrieval_profiles episodes episode_paragraphs episode_terms
episode_news originals document_tags vector_spaces space_vectors document_changes
"""
CARRIED = frozenset(NAMES.split())
"""Tables that every export holds; one that is new goes here or among those that are left behind."""


async def test_of_every_table_it_is_decided_whether_it_is_carried(host: AMemorixHostService) -> None:
    known = {
        name
        for (name,) in rows(host, "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    }
    assert known == CARRIED | {*LEFT_BEHIND, *VECTORS}
    assert not CARRIED & {*LEFT_BEHIND, *VECTORS}


async def test_nothing_that_is_carried_points_to_what_is_left_behind(host: AMemorixHostService) -> None:
    sql = "select m.name, f.'table' from sqlite_schema m, pragma_foreign_key_list(m.name) f where m.type = 'table'"
    ends = rows(host, sql)
    assert ("import_sources", "import_files") in ends
    assert [one for one in ends if one[0] in CARRIED and one[1] not in CARRIED] == []
    assert [one for one in ends if one[1] in LEFT_BEHIND and one[0] not in LEFT_BEHIND] == []


async def test_a_memory_that_imported_files_is_carried(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await pasted(host, "notes.md", "# Kites\n\nThe kettle is blue.\n\n# 笔记\n\n我住在上海。\n")
        done = await exported(host)
    async with memory_host(tmp_path / "b") as host:
        assert (await admin(host, "import_export", path=carried(done["path"], tmp_path / "b")))["imported"]
        assert any("The kettle is blue." in text for text in await contents(host, "kettle"))
        assert any("我住在上海。" in text for text in await contents(host, "上海"))
        assert rows(host, "select key from tasks where kind = 'import'") == [], (
            "which speaks of files that are not here"
        )


async def test_an_export_with_a_number_that_leaves_none_is_refused(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, KEPT)
        done = await exported(host)
    name = carried(done["path"], tmp_path / "b")
    file = tmp_path / "b" / "data" / "a-memorix" / "exports" / name
    header, _, rows = file.read_text().partition("\n")
    said = json.loads(header)
    assert said["numbers"]["paragraphs"] == 1
    said["numbers"]["paragraphs"] = 2**63 - 1
    file.write_text(json.dumps(said) + "\n" + rows)
    async with memory_host(tmp_path / "b") as host:
        await refused(host, ADMIN, {"action": "import_export", "path": name}, "path")
        assert (await told(host, KEPT))["stored_ids"]


MARKS = {
    "episodes_upto": "99999999", "facts_upto": "-1", "facts_scan": "0:99999", "extracted_upto": "abc",
    "names_sought": "1:2",
}  # fmt: skip


@pytest.mark.parametrize("key", ["floor", *MARKS])
async def test_an_export_whose_readers_would_never_read_again_is_refused(tmp_path: Path, key: str) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, KEPT, chat_id="c")
        await host.settle(600)
        lines = Path((await exported(host))["path"]).read_bytes().splitlines(keepends=True)
    header = json.loads(lines[0])
    assert key in ("floor", "facts_scan", "names_sought") or key in header["meta"]
    wrong = {**header, "floor": header["numbers"]["changes"] + 1}
    if key != "floor":
        wrong = {**header, "meta": {**header["meta"], key: MARKS[key]}}
    async with memory_host(tmp_path / "b") as host:
        exports = data_of(host) / "exports"
        exports.mkdir(parents=True)
        (exports / "x.jsonl").write_bytes(resealed([json.dumps(wrong).encode() + b"\n", *lines[1:-1]]))
        error = await refused(host, ADMIN, {"action": "import_export", "path": "x.jsonl"}, "path")
        assert "x.jsonl cannot be right" in error
        assert {"floor": "changes_floor"}.get(key, key) in error
        (exports / "x.jsonl").write_bytes(b"".join(lines))
        assert (await admin(host, "import_export", path="x.jsonl"))["imported"]
        await host.settle(600)


async def test_an_import_is_in_the_audit_of_what_it_brings(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await told(host, KEPT)
        done = await exported(host)
    async with memory_host(tmp_path / "b") as host:
        await admin(host, "import_export", path=carried(done["path"], tmp_path / "b"))
        assert [one["action"] for one in (await admin(host, "audit", of_action="import_export"))["items"]] == [
            "import_export"
        ]


async def test_of_two_exports_to_one_file_the_second_is_refused(host: AMemorixHostService) -> None:
    await told(host, "The kettle is blue. 水壶是蓝色的。")
    calls = [{"action": "export", "path": "deep/same.jsonl", "vectors": vectors} for vectors in (False, True)]
    first, second = sorted(
        await asyncio.gather(*(host.invoke(ADMIN, call) for call in calls)), key=lambda answer: not answer["success"]
    )
    assert (first["success"], second["success"], second["error_code"]) == (True, False, "conflict")
    assert "there already" in second["error"]
    folder = Path(first["path"]).parent
    assert [path.name for path in folder.iterdir()] == ["same.jsonl"]
    lines = Path(first["path"]).read_bytes().splitlines(True)
    assert hashlib.sha256(b"".join(lines[:-1])).hexdigest() == first["sha256"]


async def test_of_two_memories_that_export_to_one_file_one_is_refused(opened: Open, tmp_path: Path) -> None:
    hosts = [await opened(tmp_path / name, backup={"roots": [str(tmp_path / "root")]}) for name in ("a", "b")]
    for host in hosts:
        await told(host, "The kettle is blue. 水壶是蓝色的。")
    for number in range(10):
        call = {"action": "export", "path": str(tmp_path / "root" / f"{number}.jsonl")}
        said = await asyncio.gather(*(host.invoke(ADMIN, call) for host in hosts))
        assert sorted(answer.get("error_code", "") for answer in said) == ["", "conflict"]
