"""Chats that QQ, WeChat, WhatsApp and DiscordChatExporter wrote out: who said what, when, and nothing of their headings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.importing.readers.chat_exports import person_of
from amemorix.importing.readers.formats import detect, reader_for
from amemorix.importing.records import Record
from entrance import hits
from import_entrance import pasted
from import_readers import turns

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
WHATSAPP = """02/01/2025, 09:05 - Messages and calls are end-to-end encrypted. Tap to learn more.
02/01/2025, 09:06 - Mia: I'm allergic to mango: sorry
and to kiwi
02/01/2025, 09:06 - Mia created group "Trip: Rome"
02/01/2025, 09:07 - 小雨: <Media omitted>
02/01/2025, 09:08 - 小雨: 我也过敏
13/01/2025, 21:07 - Noah Levi: bye
"""
WECHAT = "小雨 2025-01-02 09:05:01\n我对芒果过敏\n\nLin Che  2025-01-02 15:15:01\n记住了: 2025-01-03\n"
IPHONE = """[02/01/25, 21:06:11] Hikers: \u200eMessages and calls are end-to-end encrypted.
\u200e[02/01/25, 21:06:12] ~ Mia: \u200eimage omitted
[02/01/25, 21:06:13] ~ Mia: the lake \u200e<attached: 00000012-PHOTO.jpg>
[22/01/25, 21:06:14] Noah: \u200eThis message was deleted."""
QQ_SAID = [
    ("林澈", "10001", "2026/03/01 20:15:33", "明天去不去爬山？"),
    ("大黄", "10002", "2026/03/01 20:16:33", "去啊，几点集合\n备注: 带伞\n2026-03-02 有雨"),
    ("Alice", "alice@foxmail.com", "2026/03/01 9:17:33", "I am allergic to peanuts."),
    ("林澈", None, "2026/03/01 20:19:33", "好的"),
]
DISCORD_HEAD = DISCORD[: DISCORD.index("[")]
SEE = "[01/13/2026 6:03 PM] mia\nsee {{Reactions}}\n{{Embed}} too\n\n{0}\n\n[01/13/2026 6:04 PM] noah\n\n{0}\n"
TOLD: list[tuple[str, str, list[tuple[str, str | None, str, str]]]] = [
    ("群.txt", QQ, QQ_SAID),
    ("part.txt", QQ[QQ.index("2026") :], QQ_SAID),
    ("random.txt", DISCORD, [
        ("mia", None, "2026/01/02 18:03", "my favourite game is Hades\nnote: I play every evening"),
        ("noah#1234", None, "2026/01/02 00:05", "I prefer Celeste"),
    ]),
    ("general.json", json.dumps(DISCORD_JSON, ensure_ascii=False), [
        ("Mia 🐶", "91", "2026-02-03T10:00:00.123+00:00", "I adopted a corgi."),
        ("noah", "92", "2026-02-03T10:02:00+00:00", "柯基叫饼干。"),
    ]),
    ("random.csv", DISCORD_CSV, [
        ("mia", "91", "2026-02-03T10:00:00.0000000+00:00", 'I adopted a dog, named "Biscuit".'),
        ("小雨", "92", "2026-02-03T10:01:00.0000000+00:00", "恭喜！"),
    ]),
    ("WhatsApp Chat with Mia.txt", WHATSAPP, [
        ("Mia", None, "2025/01/02 09:06", "I'm allergic to mango: sorry\nand to kiwi"),
        ("小雨", None, "2025/01/02 09:08", "我也过敏"),
        ("Noah Levi", None, "2025/01/13 21:07", "bye"),
    ]),
    ("_chat.txt", IPHONE, [("Mia", None, "2025/01/02 21:06:13", "the lake")]),
    ("wechat.txt", WECHAT, [
        ("小雨", None, "2025/01/02 09:05:01", "我对芒果过敏"), ("Lin Che", None, "2025/01/02 15:15:01", "记住了: 2025-01-03"),
    ]),
    *(
        ("times of discord.txt", f"{DISCORD_HEAD}{head} mia\nhi\n", [("mia", None, time, "hi")])
        for head, time in (
            ("[25/02/2026 18:03]", "2026/02/25 18:03"), ("[05.02.2026 18:03]", "2026/02/05 18:03"),
            ("[05-Feb-26 06:03 PM]", "2026/02/05 18:03"), ("[2026-02-05 18:03]", "2026/02/05 18:03"),
            ("[2/5/2026 6:03 AM]", "2026/02/05 06:03"),
        )
    ),
    *(
        ("blocks.txt", f"{DISCORD_HEAD}{SEE.format(block)}", [("mia", None, "2026/01/13 18:03", "see {Reactions}\n{Embed} too")])
        for block in ("{Attachments}\nhttps://cdn/x.png", "{Reactions}\n👍 (2)", "{Embed}\nhttps://a\nTitle")
    ),
    *(
        ("_chat.txt", f"\u200e{one} Mia: a\n{other} Mia: b\n", [("Mia", None, first, "a"), ("Mia", None, second, "b")])
        for one, other, first, second in (
            ("[13/01/25, 9:06:11 PM]", "[01/02/25, 9:06:11\u202fAM]", "2025/01/13 21:06:11", "2025/02/01 09:06:11"),
            ("[1/2/25, 12:06:11 AM]", "[1/13/25, 9:06:11 AM]", "2025/01/02 00:06:11", "2025/01/13 09:06:11"),
            ("30.12.24, 21:06 -", "02.01.25, 09:06 -", "2024/12/30 21:06", "2025/01/02 09:06"),
            ("2025/1/2 上午9:06 -", "2025/1/2 下午3:06 -", "2025/01/02 09:06", "2025/01/02 15:06"),
            ("[2025/1/2 凌晨12:06:11]", "[2025/1/2 晚上8:06:11]", "2025/01/02 00:06:11", "2025/01/02 20:06:11"),
            ("10/01/2025, 09:06 -", "01/02/2025, 09:06 -", "2025/01/10 09:06", "2025/02/01 09:06"),
            ("01/10/2025, 09:06 -", "02/01/2025, 09:06 -", "2025/01/10 09:06", "2025/02/01 09:06"),
            ("2/1/25, 9:06 p. m. -", "14/1/25, 9:06 a. m. -", "2025/01/02 21:06", "2025/01/14 09:06"),
        )
    ),
]  # fmt: skip


def said(name: str, path: Path) -> list[tuple[Any, ...]]:
    return [tuple(one.get(key) for key in ("speaker", "person_id", "time", "text")) for one in turns(name, path)]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    return path


@pytest.mark.parametrize(("name", "text", "told"), TOLD)
def test_an_export_is_told_by_itself(
    tmp_path: Path, name: str, text: str, told: list[tuple[str, str | None, str, str]]
) -> None:
    path = write(tmp_path / name, text)
    kind = detect(path.name, path)
    assert kind == {".json": "discord", ".csv": "csv"}.get(path.suffix, "chat_log")
    assert said(kind, path) == told


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030"])
def test_an_export_may_have_another_encoding(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "群.txt", QQ, encoding)
    assert (detect(path.name, path), said("chat_log", path)) == ("chat_log", QQ_SAID)


def test_authors_of_books_do_not_speak(tmp_path: Path) -> None:
    path = write(tmp_path / "b.csv", "author,text\nAda,A note on engines\n")
    assert [one.kind for _, one in reader_for("csv", {}).read(path, 0) if isinstance(one, Record)] == ["text"]


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


HEADING = QQ[: QQ.index("2026")]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("上午 9:05:01", "09:05:01"),
        ("下午 3:15:01", "15:15:01"),
        ("凌晨 12:05:01", "00:05:01"),
        ("上午 12:05:01", "00:05:01"),
        ("中午 12:05:01", "12:05:01"),
        ("中午 1:05:01", "13:05:01"),
        ("晚上 8:05:01", "20:05:01"),
        ("下午12:30:05", "12:30:05"),
        ("9:05:01 PM", "21:05:01"),
        ("12:05:01 AM", "00:05:01"),
    ],
)
def test_hours_of_qq_by_twelve(tmp_path: Path, written: str, read: str) -> None:
    path = write(tmp_path / "a.txt", f"{HEADING}2025-01-02 {written} 小雨\n我对芒果过敏\n")
    assert detect(path.name, path) == "chat_log"
    assert said("chat_log", path) == [("小雨", None, f"2025/01/02 {read}", "我对芒果过敏")]
    path = write(tmp_path / "b.txt", f"2025-01-02 {written} 小雨：我对芒果过敏\n")
    assert said("chat_log", path) == [("小雨", None, f"2025/01/02 {read}", "我对芒果过敏")]


async def test_an_export_without_a_message_fails(host: AMemorixHostService) -> None:
    task = await pasted(host, "a.txt", f"{HEADING}2. Januar 2025, 9 Uhr, 小雨\n我对芒果过敏\n", chat_id="c")
    assert (task["status"], task["files"][0]["status"]) == ("failed", "failed")
    assert "begins as qq writes a chat out, and none of its lines begins a message" in task["files"][0]["error"]


@pytest.mark.parametrize("before", ["", "Trip to Rome\n\n", "去罗马\n", "and so on\nNote: bring a hat\n"])
async def test_whatsapp_has_its_speakers_and_times_whatever_stands_before(
    host: AMemorixHostService, before: str
) -> None:
    task = await pasted(host, "a.txt", f"{before}{WHATSAPP}", chat_id="c", chat_log=True)
    assert task["counts"] == {"stored": 3 + bool(before)}, task
    found = {one["content"]: one for one in await hits(host, "allergic to mango 我也过敏", chat_id="c")}
    mango = found["I'm allergic to mango: sorry\nand to kiwi"]
    assert (mango["speaker"], found["我也过敏"]["speaker"]) == ("Mia", "小雨")
    assert mango["time"]["text"].startswith("2025-01-02T")
    if before:
        told = await pasted(host, "b.txt", f"{before}{WHATSAPP}", chat_id="d")
        assert "looks like a saved chat" in told["warnings"][0]


async def test_a_line_of_whatsapp_in_another_chat_makes_none_of_it(host: AMemorixHostService) -> None:
    text = "Mia: look\n小雨: 看到了\n02/01/2025, 09:06 - Noah: ok\n"
    task = await pasted(host, "a.txt", text, chat_id="c", chat_log=True)
    assert task["counts"] == {"stored": 2}, task
    assert (await hits(host, "看到了", chat_id="c"))[0]["speaker"] == "小雨"


async def test_roles_of_a_conversation_are_its_speakers(host: AMemorixHostService) -> None:
    said = [{"role": "user", "content": "I like walnuts"}, {"role": "assistant", "content": "记住了，你爱吃核桃"}]
    task = await pasted(host, "a.json", json.dumps({"messages": said}), chat_id="c")
    assert (task["files"][0]["format"], task["counts"], task["warnings"]) == ("messages", {"stored": 2}, [])
    found = await hits(host, "walnuts 核桃", chat_id="c")
    assert {one["speaker"]: one["content"] for one in found} == {one["role"]: one["content"] for one in said}


async def test_dates_that_may_be_read_two_ways_are_noted(host: AMemorixHostService) -> None:
    task = await pasted(
        host, "a.txt", "02/01/2025, 09:06 - Mia: I like jazz\n03/01/2025, 09:06 - Noah: ok\n", chat_id="c"
    )
    assert task["counts"] == {"stored": 2}
    assert "2 messages have dates such as 03/04/2025" in task["files"][0]["warnings"][0]
    found = await hits(host, "who likes jazz", chat_id="c")
    assert found[0]["speaker"] == "Mia"
    sure = await pasted(
        host, "b.txt", "02/01/2025, 09:06 - Mia: I like jazz\n13/01/2025, 09:06 - Noah: ok\n", chat_id="c"
    )
    assert not sure["files"][0]["warnings"]


@pytest.mark.parametrize(
    "text",
    [
        f"A text.\n\n{RULE}\nA note: it is none.\n",
        "2026-03-01 20:15:33 log started\nok\n",
        "[02/01/2025 09:06:11] error: disk full\n[02/01/2025 09:06:12] error: disk full\n",
        "2025-01-02 09:06:11 - root: started\n2025-01-02 09:06:12 - root: stopped\n",
        "Meeting 2025-01-02 09:05\nWe met.\n\nMeeting 2025-01-09 09:05\nWe met again.\n",
        "Notes of the trip\n02/01/2025, 09:06 - Mia: hello\n",
    ],
)
def test_other_texts_are_no_chats(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "a.txt", text)
    assert detect(path.name, path) == "txt"


@pytest.mark.parametrize(
    "line",
    ["02/01/2025, 09:06 - Mia: hello", "09:06 Mia: hello", "2. 1. 2025 09:06 hello", "1月2日: 出发", "On 02/01/2025: we met",
     "下午3:15 出发"],
)  # fmt: skip
def test_a_date_or_a_time_is_no_name(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "a.txt", f"Mia: hi\n{line}\n大黄2号: ok\n10001: yes\n")
    assert said("chat_log", path) == [
        ("Mia", None, None, f"hi\n{line}"),
        ("大黄2号", None, None, "ok"),
        ("10001", None, None, "yes"),
    ]
