"""Data directories of the reference implementation."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.errors import InvalidRequest
from amemorix.importing.readers.amemorix_directory import AMemorixDirectory
from amemorix.importing.readers.formats import detect
from amemorix.importing.records import Record
from import_entrance import imported, raw_folder
from import_readers import Read, bad, peak, read, records
from reference_directory import VERSIONS, ReferenceDirectory, Version

NOW = 1_800_000_000.0
LI = "0123456789abcdef0123456789abcdef"


def reader(**options: Any) -> AMemorixDirectory:
    return AMemorixDirectory(clock=FrozenClock(NOW), **options)


def build(folder: Path, version: Version) -> Path:
    """What a bot remembers: two chats, an imported file, a fact, a summary, and something that nobody can place."""
    made = ReferenceDirectory(folder / version, version)
    moved = made.paragraph(
        "李雷上周搬到了杭州，在西湖边租了房子。", source="chat_turn:群一", entities=("李雷", "杭州"), external_id="turn:1",
        metadata={"chat_id": "群一", "person_ids": [LI], "participants": ["李雷"], "tags": ["搬家"], "source_type": "chat_turn"},
        event_time_start=1_690_000_000.0, event_time_end=1_690_000_600.0, knowledge_type="mixed",
    )  # fmt: skip
    works = made.paragraph(
        "Alice works at Orbit and lives in Lisbon.", source="chat_turn:room-2", entities=("Alice", "Orbit", "Lisbon"),
        external_id="turn:2", metadata={"session_id": "room-2", "source_type": "chat_turn"}, event_time=1_695_000_000.0,
    )  # fmt: skip
    made.paragraph(
        "Water boils at 100 degrees.", source="web_import:facts.txt", metadata={}, knowledge_type="factual",
    )  # fmt: skip
    made.paragraph(
        "李雷喜欢吃辣。", source=f"person_fact:{LI}", external_id=f"person_fact:{LI}:1", knowledge_type="factual",
        metadata={"chat_id": "群一", "person_id": LI, "person_name": "李雷", "source_type": "person_fact"},
    )  # fmt: skip
    made.paragraph(
        "大家讨论了周末去爬山。", source="chat_summary:群一", external_id="chat_auto_summary:群一:36",
        metadata={"source_type": "chat_summary", "participants": ["李雷", "小美"]}, knowledge_type="narrative",
    )  # fmt: skip
    made.paragraph("A note that says nothing of its chat.", source="note", metadata={})
    made.relation("李雷", "住在", "杭州", moved, confidence=0.9)
    made.relation("Alice", "works at", "Orbit", works, confidence=0.8)
    made.relation("Alice", "lives in", "Lisbon", works, confidence=7.5)
    made.relation("西湖", "位于", "杭州")
    made.insert("person_profile_overrides", person_id=LI, override_text="李雷，住在杭州。", updated_at=1.0)
    for number, aliases in ((1, ["旧名"]), (2, ["雷哥", "李雷", LI])):
        made.insert("person_profile_snapshots", person_id=LI, profile_version=number, aliases_json=json.dumps(aliases))
    return made.close()


def by_text(found: list[Record]) -> dict[str, dict[str, Any]]:
    return {one.arguments["text"]: one.arguments for one in found if "text" in one.arguments}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_paragraphs_scopes_and_relations(tmp_path: Path, version: Version) -> None:
    found = records(reader(), build(tmp_path, version))
    told = by_text(found)
    moved, works = told["李雷上周搬到了杭州，在西湖边租了房子。"], told["Alice works at Orbit and lives in Lisbon."]
    assert (moved["chat_id"], works["chat_id"]) == ("群一", "room-2")
    assert (moved["source"], moved["source_type"]) == ("chat_turn:群一", "chat_turn")
    assert (moved["person_ids"], moved["participants"], moved["tags"]) == ([LI], ["李雷"], ["搬家"])
    assert moved["entities"] == [{"name": "李雷"}, {"name": "杭州"}]
    assert moved["relations"] == [{"subject": "李雷", "predicate": "住在", "object": "杭州", "confidence": 0.9}]
    assert works["relations"] == [
        {"subject": "Alice", "predicate": "works at", "object": "Orbit", "confidence": 0.8},
        {"subject": "Alice", "predicate": "lives in", "object": "Lisbon", "confidence": 1.0},
    ]
    assert (told["Water boils at 100 degrees."]["scope"], told["Water boils at 100 degrees."]["chat_id"]) == (
        "global",
        "",
    )
    assert told["A note that says nothing of its chat."]["chat_id"] == "a-memorix"
    assert told["大家讨论了周末去爬山。"]["chat_id"] == "群一"
    assert told["李雷喜欢吃辣。"]["person_aliases"] == {LI: ["李雷"]}
    assert told["西湖位于杭州"]["relations"] == [
        {"subject": "西湖", "predicate": "位于", "object": "杭州", "confidence": 1.0}
    ]
    assert told["西湖位于杭州"]["chat_id"] == "a-memorix"
    kinds = Counter(one.kind for one in found)
    assert kinds["text"] + kinds["summary"] == 7
    assert (kinds["override"], kinds["alias"]) == ((0, 0) if version == "first" else (1, 2))
    assert {one.kind for one in found[:7]} <= {"text", "summary"}


def test_times_ids_and_knowledge_of_the_current_version(tmp_path: Path) -> None:
    found = records(reader(), build(tmp_path, "current"))
    told = by_text(found)
    moved, works = told["李雷上周搬到了杭州，在西湖边租了房子。"], told["Alice works at Orbit and lives in Lisbon."]
    assert (moved["time_start"], moved["time_end"]) == (1_690_000_000.0, 1_690_000_600.0)
    assert (works["time_start"], works["time_end"]) == (1_695_000_000.0, None)
    water, fact = told["Water boils at 100 degrees."], told["李雷喜欢吃辣。"]
    assert (water["timestamp"], water["external_id"]) == (
        1_700_000_000.0, f"a-memorix:{hashlib.sha256(water['text'].encode()).hexdigest()}",
    )  # fmt: skip
    assert (moved["knowledge_type"], water["knowledge_type"]) == ("auto", "factual")
    assert (moved["external_id"], fact["external_id"]) == ("turn:1", f"person_fact:{LI}:1")
    assert moved["metadata"]["a_memorix"]["knowledge_type"] == "mixed"
    summary = next(one for one in found if one.kind == "summary")
    assert summary.arguments["external_id"] == "chat_auto_summary:群一:36"
    assert summary.arguments["participants"] == ["李雷", "小美"]
    assert summary.arguments["time_start"] == 1_700_000_000.0
    override, *aliases = [one for one in found if one.kind in ("override", "alias")]
    assert override.arguments == {"person_id": LI, "text": "李雷，住在杭州。", "chat_id": ""}
    assert [one.arguments for one in aliases] == [
        {"person_id": LI, "alias": alias, "chat_id": ""} for alias in ("雷哥", "李雷")
    ]


def test_what_is_gone_stays_behind(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    made.paragraph("deleted 删除", is_deleted=1, deleted_at=1.0)
    made.paragraph("expired 过期", expires_at=NOW - 1)
    made.paragraph("expiring 快过期", expires_at=NOW + 60)
    made.paragraph("superseded 被更正", metadata={"memory_change": {"valid_to": 1_750_000_000.0}})
    alive = made.paragraph("lasting 还在", expires_at=NOW + 90_000, entities=("Ada",))
    made.insert("entities", hash="e", name="Gone", is_deleted=1)
    made.insert("paragraph_entities", paragraph_hash=alive, entity_hash="e")
    made.relation("Ada", "forgot", "Bob", alive, is_inactive=1, inactive_reason="manual_forget")
    made.relation("Ada", "fades", "Bob", alive, is_inactive=1, inactive_reason="decay", confidence=None)
    stale = made.relation("Ada", "was", "Bob", alive)
    made.insert("paragraph_stale_relation_marks", paragraph_hash=alive, relation_hash=stale)
    made.relation("Ada", "is", "ada", alive)
    made.relation("gone", "rested on", "nothing", "no such paragraph")
    found = records(reader(), made.close())
    assert [one.arguments["text"] for one in found] == ["lasting 还在"]
    assert found[0].arguments["expires_at"] == NOW + 90_000
    assert found[0].arguments["entities"] == [{"name": "Ada"}]
    assert [one["predicate"] for one in found[0].arguments["relations"]] == ["fades"]


def test_a_text_of_two_chats_is_shown_to_both_under_their_ids(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    key = made.paragraph("哈哈哈", source="chat_turn:A", metadata={"chat_id": "A", "chat_ids": ["A", "B", "C"]})
    made.reference("first", key, "chat_turn", chat_id="A")
    made.reference("again", key, "chat_turn", chat_id="A")
    made.reference("turn:B:7", key, "chat_turn")
    made.paragraph("所有人", metadata={"scope_type": "global", "chat_id": "A"})
    made.paragraph("nested", metadata={"context": [{"stream_id": "D"}], "memory_change": None})
    told = [(one.arguments["external_id"], one.arguments["chat_id"]) for one in records(reader(), made.close())]
    assert told[:3] == [("first", "A"), ("again", "A"), ("turn:B:7", "B")]
    assert told[3] == (f"a-memorix:{key}:C", "C")
    assert [chat for _, chat in told[4:]] == ["A", "D"]


def test_relations_with_old_ids_and_several_paragraphs_keep_all_their_evidence(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    first, second = made.paragraph("Ada met Bob."), made.paragraph("Bob met Ada again.")
    key = made.relation("Ada", "met", "Bob", first)
    made.insert("relation_hash_aliases", alias32=key[:32], hash=key)
    made.insert("paragraph_relations", paragraph_hash=second, relation_hash=key[:32])
    assert [len(one.arguments["relations"]) for one in records(reader(), made.close())] == [1, 1]


def test_broken_rows_name_their_place(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    made.paragraph("  ")
    made.insert("paragraphs", content="no hash")
    made.insert("paragraphs", hash="h3", content="odd metadata", metadata="{broken", created_at=1e20)
    made.insert("paragraphs", hash="h4", content="numbers", metadata='{"x": NaN, "chat_id": 77}')
    made.insert("person_profile_snapshots", person_id=LI, profile_version=1, aliases_json="[")
    path = made.close()
    assert bad(reader(), path) == [
        ("paragraphs row 1", "has no content"),
        ("paragraphs row 2", "has no hash"),
        ("person_profile_snapshots row 1", "its `aliases_json` is no JSON"),
    ]
    told = by_text([one for _, one in read(reader(), path) if isinstance(one, Record)])
    assert (told["odd metadata"]["timestamp"], told["odd metadata"]["chat_id"]) == (None, "a-memorix")
    assert told["numbers"]["chat_id"] == "77"


def test_the_folder_its_part_and_the_file_are_the_same(tmp_path: Path) -> None:
    folder = build(tmp_path, "current")
    found: list[Read] = [
        read(reader(), path) for path in (folder, folder / "metadata", folder / "metadata/metadata.db")
    ]
    assert found[0] == found[1] == found[2]


def test_other_directories_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "metadata.db").write_text("no database")
    empty = ReferenceDirectory(tmp_path / "empty")
    assert read(reader(), empty.folder) == []
    empty.db.execute("drop table paragraphs")
    for path in (tmp_path, tmp_path / "metadata.db", tmp_path / "missing", empty.close()):
        with pytest.raises(InvalidRequest) as caught:
            list(reader().read(path, 0))
        assert caught.value.details == {"field": "path"}


# never changed


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")
    }  # fmt: skip


def test_a_directory_at_rest_is_left_as_it_is(tmp_path: Path) -> None:
    folder = build(tmp_path, "current")
    before = {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")}
    records(reader(), folder)
    assert {str(path): path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_live_log_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    made.db.execute("pragma wal_autocheckpoint = 0")
    made.paragraph("已提交，还在日志里", metadata={"chat_id": "A"})
    made.db.execute("begin immediate")
    made.paragraph("not committed")
    before = files(made.folder)
    assert [one.arguments["text"] for one in records(reader(), made.folder)] == ["已提交，还在日志里"]
    assert files(made.folder) == before
    made.db.execute("commit")
    assert len(records(reader(), made.folder)) == 2
    made.close()


def test_a_log_without_its_index_is_read_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    made = ReferenceDirectory(tmp_path / "data")
    made.db.execute("pragma wal_autocheckpoint = 0")
    made.paragraph("left by a crash 崩溃留下的", metadata={"chat_id": "A"})
    copied = tmp_path / "copied" / "metadata"
    copied.mkdir(parents=True)
    for end in ("", "-wal"):
        shutil.copyfile(f"{made.path}{end}", copied / f"metadata.db{end}")
    made.close()
    before = files(copied)
    assert [one.arguments["text"] for one in records(reader(), copied.parent)] == ["left by a crash 崩溃留下的"]
    assert files(copied) == before
    assert sorted(path.name for path in copied.iterdir()) == ["metadata.db", "metadata.db-wal"]
    reading = reader().read(copied.parent, 0)
    next(reading)
    assert list(temporary.iterdir()) == []  # nothing that a crash would leave behind
    reading.close()


def test_a_log_that_a_crash_left_with_its_index_is_read_in_place(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    made.db.execute("pragma wal_autocheckpoint = 0")
    made.paragraph("both were left 两个都在", metadata={"chat_id": "A"})
    shutil.copytree(made.folder, tmp_path / "copied")
    made.close()
    before = files(tmp_path / "copied")
    assert len(before) == 2
    assert [one.arguments["text"] for one in records(reader(), tmp_path / "copied")] == ["both were left 两个都在"]
    assert files(tmp_path / "copied") == before


async def texts(host: AMemorixHostService, query: str, **where: str) -> list[str]:
    answer = await host.invoke("search_memory", {"query": query, **where})
    return [hit["content"] for hit in answer["hits"]]


def test_reading_goes_on_within_and_between_pages(tmp_path: Path) -> None:
    made = ReferenceDirectory(tmp_path / "data")
    for i in range(450):
        made.paragraph(f"第{i}段", metadata={"chat_ids": [f"c{i}", f"d{i}"]})
    made.db.execute("delete from paragraphs where rowid % 7 = 0")
    for i in range(250):
        made.relation(f"甲{i}", "认识", f"乙{i}")
    path = made.close()
    found = list(reader().read(path, 0))
    assert len(found) == (450 - 64) * 2 + 250
    for i in (0, 1, 198, 199, 200, 401, 770, 771, 772, 900, len(found) - 1):
        rest = list(reader().read(path, found[i][0]))
        assert [one for one in rest if one[0] > found[i][0]] == found[i + 1 :]
        assert len(rest) < len(found) - i + 3, "it begins there"


def test_a_large_directory_is_never_held_in_memory(tmp_path: Path) -> None:
    sizes: list[int] = []
    for count in (1_000, 8_000):
        made = ReferenceDirectory(tmp_path / str(count))
        made.db.execute("begin")
        for i in range(count):
            key = made.paragraph(
                f"第{i}段记忆，" + "内容" * 50, metadata={"chat_id": f"c{i % 9}"}, entities=(f"实体{i % 500}",)
            )
            made.relation(f"甲{i}", "认识", f"乙{i}", key)
        made.db.execute("commit")
        found, most = peak(reader(), made.close())
        assert found == count
        sizes.append(most)
    assert sizes[1] < sizes[0] + 300_000


async def test_a_profiles_text_is_not_shown_to_all_by_an_import_for_one_chat(
    host: AMemorixHostService, tmp_path: Path
) -> None:
    build(await raw_folder(host), "current")
    wish = {"alias": "raw", "relative_path": "current", "format": "a_memorix", "skip_bad": True}
    task = await imported(host, "create_raw_scan", chat_id="群一", scope_type="chat", **wish)
    reasons = [error["reason"] for chunk in task["files"][0]["chunk_list"] for error in chunk["errors"]]
    assert any("text of a profile" in reason for reason in reasons)
    assert any("'room-2'" in reason for reason in reasons)
    assert (await host.invoke("get_person_profile", {"person_id": LI}))["summary"] != "李雷，住在杭州。"
    assert await texts(host, "water boils", chat_id="room-2") == []
    assert "Water boils at 100 degrees." in await texts(host, "water boils", chat_id="群一")
    assert await texts(host, "Alice works Orbit", chat_id="room-2") == []


def test_a_database_that_is_held_open_is_known_by_the_name_it_was_given(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.write_bytes(b"SQLite format 3\0" + bytes(84))
    assert detect("old/metadata/metadata.db", held) == "a_memorix"
    assert detect("data/MaiBot.db", held) == "maibot"
