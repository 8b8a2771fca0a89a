"""Chats that QQ and DiscordChatExporter wrote out: who said what, when, and nothing of their headings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.services.importing.chat_exports import person_of
from amemorix.services.importing.formats import detect, reader_for
from amemorix.services.importing.records import Record
from entrance import hits
from import_entrance import pasted

RULE = "=" * 64
QQ = f"""消息记录（此消息记录为文本格式，不支持重新导入）

{RULE}
消息分组:我的群聊
{RULE}
消息对象:周末爬山群
{RULE}

2026-03-01 20:15:33 林澈(10001)
明天去不去爬山？

2026-03-01 20:16:33 【管理员】大黄(10002)
去啊，几点集合
备注: 带伞
2026-03-02 有雨

2026-03-01 9:17:33 Alice<alice@foxmail.com>
I am allergic to peanuts.

2026-03-01 20:18:33 系统消息(10000)
小雨加入本群。

{RULE}
消息对象:周末吃饭群
{RULE}

2026-03-01 20:19:33 林澈
好的
"""
DISCORD = f"""{RULE[:62]}
Guild: Devs
Channel: Text Channels / random
{RULE[:62]}

[01/02/2026 6:03 PM] mia
my favourite game is Hades
note: I play every evening

[01/02/2026 12:05 AM] noah#1234 (pinned)
I prefer Celeste

{{Attachments}}
https://cdn/x.png

{RULE[:62]}
Exported 2 message(s)
{RULE[:62]}
"""
DISCORD_JSON = {
    "guild": {"id": "1", "name": "Devs"},
    "channel": {"id": "2", "name": "general"},
    "messages": [
        {
            "id": "11", "type": "Default", "timestamp": "2026-02-03T10:00:00.123+00:00", "content": "I adopted a corgi.",
            "author": {"id": "91", "name": "mia", "nickname": "Mia 🐶"},
        },
        {"id": "12", "type": "GuildMemberJoin", "timestamp": "2026-02-03T10:01:00+00:00", "content": "Joined the server.",
         "author": {"id": "92", "name": "noah"}},
        {"id": "13", "type": "Reply", "timestamp": "2026-02-03T10:02:00+00:00", "content": "柯基叫饼干。",
         "author": {"id": "92", "name": "noah", "nickname": None}},
        {"id": "14", "type": "Default", "timestamp": "2026-02-03T10:03:00+00:00", "content": "", "author": {"id": "92"}},
    ],
}  # fmt: skip
DISCORD_CSV = """AuthorID,Author,Date,Content,Attachments,Reactions
"91","mia","2026-02-03T10:00:00.0000000+00:00","I adopted a dog, named ""Biscuit"".","",""
"92","小雨","2026-02-03T10:01:00.0000000+00:00","恭喜！","","👍 (1)"
"""


def turns(name: str, path: Path) -> list[tuple[Any, ...]]:
    keys = ("speaker", "person_id", "time", "text")
    found = list(reader_for(name, {}).read(path, 0))
    for i, (position, _) in enumerate(found):
        assert list(reader_for(name, {}).read(path, position)) == found[i + 1 :]
    assert all(isinstance(one, Record) for _, one in found)
    return [tuple(one.arguments.get(key) for key in keys) for _, one in found if isinstance(one, Record)]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030"])
def test_the_text_of_qq_is_told_by_itself(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "群.txt", QQ, encoding)
    assert detect(path.name, path) == "chat_log"
    assert turns("chat_log", path) == [
        ("林澈", "10001", "2026/03/01 20:15:33", "明天去不去爬山？"),
        ("大黄", "10002", "2026/03/01 20:16:33", "去啊，几点集合\n备注: 带伞\n2026-03-02 有雨"),
        ("Alice", "alice@foxmail.com", "2026/03/01 9:17:33", "I am allergic to peanuts."),
        ("林澈", None, "2026/03/01 20:19:33", "好的"),
    ]


def test_the_text_of_qq_is_told_without_its_heading(tmp_path: Path) -> None:
    path = write(tmp_path / "part.txt", QQ[QQ.index("2026") :])
    assert detect(path.name, path) == "chat_log"


def test_the_text_of_discord_is_told_by_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "random.txt", DISCORD)
    assert detect(path.name, path) == "chat_log"
    assert turns("chat_log", path) == [
        ("mia", None, "2026/01/02 18:03", "my favourite game is Hades\nnote: I play every evening"),
        ("noah#1234", None, "2026/01/02 00:05", "I prefer Celeste\n\n{Attachments}\nhttps://cdn/x.png"),
    ]


@pytest.mark.parametrize(
    ("head", "time"),
    [
        ("[25/02/2026 18:03]", "2026/02/25 18:03"),
        ("[05.02.2026 18:03]", "2026/02/05 18:03"),
        ("[05-Feb-26 06:03 PM]", "2026/02/05 18:03"),
        ("[2026-02-05 18:03]", "2026/02/05 18:03"),
        ("[2/5/2026 6:03 AM]", "2026/02/05 06:03"),
    ],
)
def test_times_of_discord_are_read_as_its_countries_write_them(tmp_path: Path, head: str, time: str) -> None:
    path = write(tmp_path / "a.txt", DISCORD.split("[")[0] + f"{head} mia\nhi\n")
    assert turns("chat_log", path) == [("mia", None, time, "hi")]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("林澈(10001)", ("林澈", "10001")),
        ("【管理员】大黄(10002)", ("大黄", "10002")),
        ("Alice<alice@foxmail.com>", ("Alice", "alice@foxmail.com")),
        ("(10001)", ("10001", "10001")),
        ("Anna (work)", ("Anna (work)", "")),
        ("【大黄】", ("【大黄】", "")),
    ],
)
def test_names_of_qq_hold_ids(name: str, told: tuple[str, str]) -> None:
    assert person_of(name) == told


@pytest.mark.parametrize(
    "text", ["A text.\n\n" + RULE + "\nA note: it is none.\n", "2026-03-01 20:15:33 log started\nok\n"]
)
def test_other_texts_stay_texts(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "a.txt", text)
    assert detect(path.name, path) == "txt"


def test_the_json_of_discord_is_read_message_by_message(tmp_path: Path) -> None:
    path = write(tmp_path / "general.json", json.dumps(DISCORD_JSON, ensure_ascii=False))
    assert detect(path.name, path) == "discord"
    assert turns("discord", path) == [
        ("Mia 🐶", "91", "2026-02-03T10:00:00.123+00:00", "I adopted a corgi."),
        ("noah", "92", "2026-02-03T10:02:00+00:00", "柯基叫饼干。"),
    ]


def test_the_table_of_discord_has_speakers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", DISCORD_CSV)
    assert [row[:2] + row[3:] for row in turns("csv", path)] == [
        ("mia", "91", 'I adopted a dog, named "Biscuit".'),
        ("小雨", "92", "恭喜！"),
    ]
    path = write(tmp_path / "b.csv", "author,text\nAda,A note on engines\n")
    books = list(reader_for("csv", {}).read(path, 0))
    assert [one.kind for _, one in books if isinstance(one, Record)] == ["text"]


@pytest.mark.parametrize(
    ("name", "content", "query", "speaker", "count"),
    [
        ("群.txt", QQ, "明天去不去", "林澈", 4),
        ("random.txt", DISCORD, "Hades", "mia", 2),
        ("general.json", json.dumps(DISCORD_JSON), "柯基", "noah", 2),
        ("random.csv", DISCORD_CSV, "恭喜", "小雨", 2),
    ],
)
async def test_exported_chats_are_found_with_who_spoke(
    host: AMemorixHostService, name: str, content: str, query: str, speaker: str, count: int
) -> None:
    task = await pasted(host, name, content, chat_id="c")
    assert (task["status"], task["counts"]) == ("completed", {"stored": count})
    assert [hit["speaker"] for hit in await hits(host, query, chat_id="c") if query in hit["content"]] == [speaker]


async def test_an_exported_chat_wants_to_know_its_chat(host: AMemorixHostService) -> None:
    task = await pasted(host, "群.txt", QQ)
    assert task["status"] == "failed"
    assert "chat_id is required" in task["files"][0]["chunk_list"][0]["errors"][0]["reason"]
