"""Messages in databases of MaiBot."""

from __future__ import annotations

import sqlite3
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from amemorix.errors import InvalidRequest
from amemorix.importing.readers.maibot import MaiBotDatabase
from import_readers import bad, read, records

OLD = """
create table chat_streams (id integer primary key, stream_id text unique, create_time real, platform text,
    user_platform text, user_id text, user_nickname text, user_cardname text, group_platform text, group_id text,
    group_name text, last_active_time real);
create table messages (id integer primary key, message_id text, time real, chat_id text, reply_to text,
    chat_info_stream_id text, chat_info_platform text, chat_info_user_id text, chat_info_group_id text,
    chat_info_group_name text, user_platform text, user_id text, user_nickname text, user_cardname text,
    processed_plain_text text, display_message text, is_command integer, is_notify integer, is_picid integer);
create index messages_message_id on messages (message_id);
create table person_info (id integer primary key, person_id text unique, person_name text, platform text, user_id text,
    nickname text);
"""
NEW = """
create table chat_sessions (id integer primary key, session_id text unique, platform text, user_id text, group_id text);
create table mai_messages (id integer primary key, message_id text, timestamp text, platform text, user_id text,
    user_nickname text, user_cardname text, group_id text, session_id text, processed_plain_text text,
    display_message text, is_command integer, is_notify integer);
"""
BASE = 1_700_000_000.0


def database(path: Path, schema: str, **tables: list[dict[str, Any]]) -> Path:
    db = sqlite3.connect(path)
    db.executescript(schema)
    for table, rows in tables.items():
        for row in rows:
            marks = ", ".join(f":{key}" for key in row)
            db.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", row)
    db.commit()
    db.close()
    return path


def message(id_: int, text: str | None, **more: Any) -> dict[str, Any]:
    group = {"chat_id": "stream-1", "chat_info_group_id": "群9", "chat_info_user_id": "u1", "chat_info_platform": "qq"}
    sender = {"user_platform": "qq", "user_id": "u1", "user_nickname": "小林", "user_cardname": "林组长"}
    told = {"id": id_, "message_id": f"m{id_}", "time": BASE + id_, "processed_plain_text": text}
    return {**group, **sender, **told, **more}


def private(id_: int, text: str) -> dict[str, Any]:
    return message(id_, text, chat_id="stream-2", chat_info_group_id=None, chat_info_user_id="u2", user_id="u2",
                   user_nickname="Alice", user_cardname="")  # fmt: skip


def maibot(folder: Path) -> Path:
    return database(
        folder / "MaiBot.db", OLD,
        messages=[
            message(1, "大家晚上好"), message(2, None, is_picid=1), message(3, "/重启", is_command=1),
            message(4, "戳了戳你", is_notify=1), private(7, "I moved to Lisbon"), message(8, "明天开会", reply_to="m1"),
            message(9, "", display_message="[图片] 猫"), message(10, "大家晚上好", message_id="m1"),
            message(11, "另一句话", message_id="m8"),
        ],
        person_info=[{"person_id": "p" * 32, "person_name": "阿林", "platform": "qq", "user_id": "u1", "nickname": "小林"}],
    )  # fmt: skip


def test_messages_are_turns_of_their_chats(tmp_path: Path) -> None:
    found = records(MaiBotDatabase(), maibot(tmp_path))
    assert {one.kind for one in found} == {"turn"}
    assert [position for position, _ in read(MaiBotDatabase(), tmp_path / "MaiBot.db")] == [1, 7, 8, 9, 10, 11]
    first, alone, reply, picture, again, other = [one.arguments for one in found]
    assert first == {
        "chat_id": "stream-1", "group_id": "群9", "user_id": "", "text": "大家晚上好", "time": BASE + 1, "external_id": "m1",
        "speaker": "林组长", "person_id": "p" * 32, "aliases": ["小林", "阿林"], "metadata": {"platform": "qq"},
    }  # fmt: skip
    assert (alone["chat_id"], alone["group_id"], alone["user_id"]) == ("stream-2", "", "u2")
    assert (alone["speaker"], alone["person_id"], alone["aliases"]) == ("Alice", "u2", [])
    assert reply["metadata"]["reply_to"] == "m1"
    assert picture["text"] == "[图片] 猫"
    assert again["external_id"] == "m1"  # the same words under the same id: known already
    assert (reply["external_id"], other["external_id"]) == ("m8", "m8#11")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stream_ids": ["stream-2"]}, [7]),
        ({"group_ids": ["群9"]}, [1, 8, 9, 10, 11]),
        ({"user_ids": ["u2", "nobody"]}, [7]),
        ({"start_id": 8}, [8, 9, 10, 11]),
        ({"end_id": 8}, [1, 7, 8]),
        ({"start_id": 7, "end_id": 7}, [7]),
        ({"end_id": 0}, []),
        ({"time_from": BASE + 8}, [8, 9, 10, 11]),
        ({"time_to": BASE + 7}, [1, 7]),
        ({"time_from": "2023-11-14", "time_to": "2023-11-14"}, [1, 7, 8, 9, 10, 11]),
        ({"time_from": "2023/11/15"}, []),
        ({"time_from": BASE + 8, "user_ids": ["u2"]}, []),
        ({"stream_ids": [], "group_ids": [], "user_ids": []}, [1, 7, 8, 9, 10, 11]),
    ],
)
def test_filters_belong_to_the_span_and_all_count(tmp_path: Path, options: dict[str, Any], expected: list[int]) -> None:
    assert [at for at, _ in read(MaiBotDatabase(zone=UTC, **options), maibot(tmp_path))] == expected


@pytest.mark.parametrize("field", ["time_from", "time_to"])
def test_a_bound_that_is_no_time_is_refused(field: str) -> None:
    for value in ("yesterday", "gestern", 1e300):
        with pytest.raises(InvalidRequest, match=field) as caught:
            MaiBotDatabase(**{field: value})
        assert caught.value.details["field"] == field


def test_newer_databases_are_read_too(tmp_path: Path) -> None:
    path = database(
        tmp_path / "trymai.db", NEW,
        chat_sessions=[{"session_id": "s1", "platform": "qq", "user_id": "u5", "group_id": None}],
        mai_messages=[
            {"id": 3, "message_id": "x", "timestamp": "2026-01-02 03:04:05.500000", "platform": "qq", "user_id": "u5",
             "user_nickname": "老王", "session_id": "s1", "processed_plain_text": "我换工作了"},
            {"id": 4, "message_id": "y", "timestamp": "2026-01-02 03:05:00", "platform": "qq", "user_id": "bot",
             "user_nickname": "麦麦", "session_id": "s1", "processed_plain_text": "恭喜"},
        ],
    )  # fmt: skip
    first, second = [one.arguments for one in records(MaiBotDatabase(zone=UTC), path)]
    assert (first["chat_id"], first["user_id"], first["time"]) == ("s1", "u5", 1_767_323_045.5)
    assert (second["speaker"], second["person_id"], second["user_id"]) == ("麦麦", "bot", "u5")


def test_bad_rows_name_their_place(tmp_path: Path) -> None:
    path = database(tmp_path / "bad.db", OLD, messages=[
        message(1, "没有聊天", chat_id=None), message(2, "没有时间", time=None), message(3, "好"), message(5, "远", time=1e20),
    ])  # fmt: skip
    assert bad(MaiBotDatabase(), path) == [
        ("messages id 1", "has no `chat_id`"),
        ("messages id 2", "`time` is no time"),
        ("messages id 5", "`time` is no time"),
    ]


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database at all")
    (tmp_path / "empty.db").write_bytes(b"")
    assert read(MaiBotDatabase(), database(tmp_path / "no messages.db", OLD)) == []
    database(tmp_path / "other.db", "create table notes (id integer)")
    (tmp_path / "torn.db").write_bytes(maibot(tmp_path).read_bytes()[:700])
    for name in ("text.db", "empty.db", "other.db", "torn.db", "missing.db", "."):
        with pytest.raises(InvalidRequest) as caught:
            list(MaiBotDatabase().read(tmp_path / name, 0))
        assert caught.value.details == {"field": "path"}


def test_text_that_is_not_utf8_is_mended(tmp_path: Path) -> None:
    path = database(tmp_path / "MaiBot.db", OLD, messages=[message(1, "x")])
    with sqlite3.connect(path) as db:
        db.execute("update messages set processed_plain_text = cast(x'e4bda0ff' as text)")
    db.close()
    assert records(MaiBotDatabase(), path)[0].arguments["text"] == "你\ufffd"
