"""Chats that come from bots and other messengers: OneBot, NapCat, Telegram, and tables out of WeChat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.importing.readers.formats import detect
from amemorix.language.message_segments import spelled, spelled_segments
from entrance import hits
from import_entrance import jsonl, pasted
from import_readers import turns, write

HIKE = {
    "post_type": "message", "message_type": "group", "self_id": 900, "group_id": 42, "user_id": 10001, "message_id": -77,
    "time": 1772366400, "sender": {"user_id": 10001, "nickname": "林澈", "card": ""},
    "raw_message": "明天去爬山[CQ:face,id=14]", "message": "明天去爬山[CQ:face,id=14]",
}  # fmt: skip
PICTURE = {
    "post_type": "message", "message_type": "group", "self_id": 900, "group_id": 42, "user_id": 10002, "message_id": 78,
    "time": 1772366460, "sender": {"user_id": 10002, "nickname": "dh", "card": "大黄"},
    "raw_message": "[CQ:reply,id=1][CQ:at,qq=10001] see[CQ:image,file=a.jpg]",
    "message": [
        {"type": "reply", "data": {"id": "1"}}, {"type": "at", "data": {"qq": "10001", "name": "林澈"}},
        {"type": "text", "data": {"text": "see [1]"}}, {"type": "image", "data": {"file": "a.jpg"}},
    ],
}  # fmt: skip
PRIVATE = {
    "post_type": "message", "message_type": "private", "self_id": 900, "user_id": 10003, "message_id": 79,
    "time": 1772366520, "sender": {"user_id": 10003, "nickname": "Alice"}, "raw_message": "I am allergic to peanuts.",
}  # fmt: skip
ANSWER = {
    "post_type": "message_sent", "message_type": "private", "self_id": 900, "user_id": 900, "target_id": 10003,
    "message_id": 80, "time": 1772366580, "sender": {"user_id": 900, "nickname": "Bot"}, "raw_message": "Noted!",
}  # fmt: skip
HEARTBEAT = {"post_type": "meta_event", "meta_event_type": "heartbeat", "time": 1772366600, "self_id": 900}
NOTICE = {
    "post_type": "notice",
    "notice_type": "group_increase",
    "group_id": 42,
    "user_id": 5,
    "time": 1,
    "self_id": 900,
}
NEWER = {
    "type": "message", "detail_type": "group", "self": {"platform": "qq", "user_id": "900"}, "id": "e1", "message_id": "m9",
    "group_id": "42", "user_id": "10001", "time": 1772366640.5, "alt_message": "带伞",
    "message": [{"type": "text", "data": {"text": "带伞"}}],
}  # fmt: skip
EVENTS = [HIKE, HEARTBEAT, PICTURE, NOTICE, PRIVATE, ANSWER, NEWER]
SAID = [
    ("林澈", "10001", "明天去爬山[表情]", {"group_id": "42"}),
    ("大黄", "10002", "@林澈 see [1][图片]", {"group_id": "42"}),
    ("Alice", "10003", "I am allergic to peanuts.", {"user_id": "10003"}),
    ("Bot", "900", "Noted!", {"user_id": "10003"}),
    ("10001", "10001", "带伞", {"group_id": "42"}),
]
NAPCAT = {
    "metadata": {"name": "QQChatExporter"}, "chatInfo": {"name": "周末爬山群", "type": "group"},
    "messages": [
        {"id": "7", "timestamp": 1772366400000, "sender": {"uid": "u_x", "uin": "10001", "name": "林澈"}, "recalled": False,
         "type": "text", "content": {"text": "明天去爬山", "elements": []}},
        {"id": "8", "timestamp": 1772366401000, "sender": {"uin": "10002", "name": "大黄"}, "system": True,
         "content": {"text": "大黄加入本群"}},
    ],
}  # fmt: skip
TELEGRAM: dict[str, Any] = {
    "name": "Hiking", "type": "private_group", "id": 42,
    "messages": [
        {"id": 1, "type": "service", "date": "2026-02-03T09:00:00", "actor": "Mia", "actor_id": "user91",
         "action": "create_group", "text": ""},
        {"id": 2, "type": "message", "date": "2026-02-03T10:00:00", "date_unixtime": "1770112800", "from": "Mia",
         "from_id": "user91", "text": ["I adopted a ", {"type": "bold", "text": "corgi"}, "."]},
        {"id": 3, "type": "message", "date": "2026-02-03T10:01:00", "date_unixtime": "1770112860", "from": "小雨",
         "from_id": "user92", "photo": "photos/1.jpg", "text": "柯基叫饼干"},
        {"id": 4, "type": "message", "date": "2026-02-03T10:02:00", "date_unixtime": "1770112920", "from": None,
         "from_id": "user93", "media_type": "sticker", "sticker_emoji": "🐶", "file": "a.webp", "text": ""},
    ],
}  # fmt: skip
TOLD = [
    ("Mia", "user91", "I adopted a corgi."),
    ("小雨", "user92", "[图片] 柯基叫饼干"),
    ("user93", "user93", "[贴纸: 🐶]"),
]


def said(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["speaker"], one["person_id"], one["text"]) for one in found]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a[CQ:image,file=x.jpg,sub_type=0,url=https://a/b]b", "a[图片]b"),
        ("[CQ:image,file=x,summary=&#91;动画表情&#93;]", "[动画表情]"),
        ("[CQ:at,qq=10001]来吗", "@10001 来吗"),
        ("好[CQ:at,qq=all]", "好 @全体成员"),
        ("[CQ:reply,id=5]嗯", "嗯"),
        ("[CQ:share,url=http://a,title=一篇&amp;文章]", "[链接: 一篇&文章]"),
        ('[CQ:json,data={"prompt":"&#91;小程序&#93;点歌"&#44;"v":1}]', "[卡片: 小程序 点歌]"),
        ("[CQ:record,file=a.amr]", "[语音]"),
        ("[CQ:novel,a=1]", "[novel]"),
        ("1 &lt; 2 &amp; [x] &#91;y&#93;", "1 &lt; 2 & [x] [y]"),
        ("[CQ:", "[CQ:"),
    ],
)
def test_codes_are_read_as_words(text: str, read: str) -> None:
    assert spelled(text) == read


def test_segments_are_read_as_words() -> None:
    segments = [
        "hi",
        {"type": "at", "data": {"qq": 7}},
        {"type": "file", "data": {"name": "a.pdf"}},
        {"type": "", "data": 3},
    ]
    assert spelled_segments(segments) == "hi @7 [文件: a.pdf][消息]"


def test_a_log_of_events_is_read_line_by_line(tmp_path: Path) -> None:
    for name in ("a.jsonl", "events.log", "events"):
        path = jsonl(tmp_path / name, *EVENTS)
        assert detect(path.name, path) == "jsonl"
        found = turns("jsonl", path)
        assert [
            (*one, {k: a[k] for k in ("group_id", "user_id") if k in a})
            for one, a in zip(said(found), found, strict=True)
        ] == SAID
        assert [one["time"] for one in found[:2]] == [1772366400, 1772366460]


@pytest.mark.parametrize(
    "wrapped",
    [lambda e: e, lambda e: {"messages": e}, lambda e: {"status": "ok", "retcode": 0, "data": {"messages": e}}, lambda e: {"data": e}],
)  # fmt: skip
def test_a_document_of_messages_is_told_by_itself(tmp_path: Path, wrapped: Any) -> None:
    path = write(tmp_path / "history.json", wrapped(EVENTS))
    assert detect(path.name, path) == "onebot"
    assert said(turns("onebot", path)) == [one[:3] for one in SAID]


def test_a_message_has_the_same_id_in_a_log_and_in_a_document(tmp_path: Path) -> None:
    log = turns("jsonl", jsonl(tmp_path / "a.jsonl", *EVENTS))
    document = turns("onebot", write(tmp_path / "a.json", EVENTS))
    assert [one["external_id"] for one in log] == [one["external_id"] for one in document]
    assert len({one["external_id"] for one in log}) == len(SAID)


def test_an_export_of_napcat_is_told_by_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "group.json", NAPCAT)
    assert detect(path.name, path) == "onebot"
    assert said(turns("onebot", path)) == [("林澈", "10001", "明天去爬山")]


def test_a_chat_of_telegram_is_told_by_itself(tmp_path: Path) -> None:
    path = write(tmp_path / "result.json", TELEGRAM)
    assert detect(path.name, path) == "telegram"
    assert said(found := turns("telegram", path)) == TOLD
    assert {one["chat_id"] for one in found} == {"telegram:42"}
    assert found[0]["time"] == "1770112800"
    assert all("chat_id" not in one for one in turns("telegram", path, chat_id="c")), "the task's chat"


def test_all_chats_of_telegram_stay_apart(tmp_path: Path) -> None:
    other = {**TELEGRAM, "id": 43}
    path = write(
        tmp_path / "result.json", {"personal_information": {"user_id": 91}, "chats": {"list": [TELEGRAM, other]}}
    )
    assert detect(path.name, path) == "telegram"
    found = turns("telegram", path, chat_id="c")
    assert said(found) == TOLD * 2
    assert [one["chat_id"] for one in found] == ["telegram:42"] * 3 + ["telegram:43"] * 3
    assert len({one["external_id"] for one in found}) == 6


async def test_a_chat_of_telegram_without_an_id_before_its_messages_is_no_other(host: AMemorixHostService) -> None:
    saved = {"type": "saved_messages", "messages": TELEGRAM["messages"], "id": 7}
    nameless = {"type": "saved_messages", "messages": TELEGRAM["messages"]}
    document = {"chats": {"list": [TELEGRAM, saved, nameless, {**TELEGRAM, "id": 43}]}}
    task = await pasted(host, "result.json", json.dumps(document), skip_bad=True, chat_id="c")
    assert task["counts"] == {"stored": 4, "empty_text": 2, "failed": 6}, task
    [chunk] = task["files"][0]["chunk_list"]
    assert "no `id` before its `messages`" in chunk["errors"][0]["reason"]
    for chat in ("telegram:42", "telegram:43"):
        assert (await hits(host, "adopted a corgi", chat_id=chat))[0]["speaker"] == "Mia"
        assert "柯基叫饼干" in " ".join(one["content"] for one in await hits(host, "柯基", chat_id=chat))


async def test_single_chats_of_telegram_without_an_id_do_not_revise_each_other(host: AMemorixHostService) -> None:
    for text in ("I adopted a corgi.", "我养了一只柯基"):
        one = {"id": 1, "type": "message", "date": "2026-02-03T10:00:00", "from": "Mia", "from_id": "user91"}
        document = {"type": "saved_messages", "messages": [{**one, "text": text}], "id": 7}
        task = await pasted(host, "result.json", json.dumps(document), chat_id="c")
        assert task["counts"] == {"stored": 1}, task
    assert len(await hits(host, "corgi 柯基", chat_id="c")) == 2


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("时间,发送者,内容\n2026-03-01 20:15:33,林澈,明天去爬山\n", ("林澈", None, "明天去爬山")),
        ("序号,时间,发送者,昵称,消息\n1,2026-03-01 20:15,wxid_1,林澈,去爬山\n", ("林澈", "wxid_1", "去爬山")),
        ("昵称,微信号,聊天时间,聊天内容\n林澈,wxid_1,2026-03-01,去爬山\n", ("林澈", "wxid_1", "去爬山")),
        ("localId,TalkerId,Type,IsSender,CreateTime,StrContent,StrTime,Remark,NickName,Sender\n"
         "1,2,1,0,1772366400,去爬山,2026-03-01 20:00:00,阿澈,林澈,wxid_1\n", ("林澈", "wxid_1", "去爬山")),
        ("sender,text\nMia,hello\n", ("Mia", None, "hello")),
    ],
)  # fmt: skip
def test_tables_of_wechat_have_speakers(tmp_path: Path, table: str, told: tuple[Any, ...]) -> None:
    path = tmp_path / "微信.csv"
    path.write_text(table, "utf-8-sig")
    assert [(one["speaker"], one.get("person_id"), one["text"]) for one in turns("csv", path)] == [told]


@pytest.mark.parametrize(
    ("name", "content", "count", "stickers"),
    [
        ("a.jsonl", "\n".join(json.dumps(one, ensure_ascii=False) for one in EVENTS), 5, {}),
        ("a.json", json.dumps(EVENTS), 5, {}),
        ("result.json", json.dumps(TELEGRAM), 2, {"empty_text": 1}),
        ("group.json", json.dumps(NAPCAT), 1, {}),
    ],
)
async def test_chats_of_bots_are_stored_once(
    host: AMemorixHostService, name: str, content: str, count: int, stickers: dict[str, int]
) -> None:
    task = await pasted(host, name, content, chat_id="c")
    assert (task["status"], task["counts"]) == ("completed", {"stored": count, **stickers}), task
    again = await pasted(host, f"2-{name}", content, chat_id="c", force=True)
    assert again["counts"] == {"existing": count, **stickers}


async def test_every_chat_of_a_log_finds_its_own(host: AMemorixHostService) -> None:
    await pasted(host, "a.json", json.dumps(EVENTS))
    found = await hits(host, "明天去爬山", group_id="42")
    assert (found[0]["content"], found[0]["speaker"]) == ("明天去爬山[表情]", "林澈")
    found = await hits(host, "allergic peanuts", user_id="10003")
    assert found[0]["speaker"] == "Alice"
    assert not [one for one in await hits(host, "allergic peanuts", group_id="42") if "peanuts" in one["content"]]
