"""Chats that WeChat and QQ leave without ids, the JSON of PyWxDump, and what in them nobody has said in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from entrance import hits
from import_entrance import pasted

SAID = [("小明", "晚上吃火锅吗？"), ("阿美", "好啊，\n我不吃香菜"), ("小明", "七点见[微笑]")]
SILENT = [
    "[图片]", "[表情]", "[动画表情][旺柴]", "[CQ:image,file=a.jpg]", "[CQ:face,id=14]", '"阿美" 撤回了一条消息',
    "你撤回了一条消息", '<msg><img aeskey="7" cdnurl="x" /></msg>', '<?xml version="1.0"?>\n<msg><emoji md5="1"></emoji></msg>',
    "<sysmsg type='revokemsg'><revokemsg><session>w</session></revokemsg></sysmsg>", "wxid_7:\n<msg><voicemsg length='3'/></msg>",
]  # fmt: skip
TIME_FIRST = "".join(
    f"2024-05-01 {12 + n // 60}:{n % 60:02}:21 {name}\n{text}\n\n" for n, (name, text) in enumerate(SAID * 30)
)
NAME_FIRST = "".join(
    f"{name} 2024/5/1 {12 + n // 60}:{n % 60:02}\n{text}\n" for n, (name, text) in enumerate(SAID * 30)
)
LOG = "".join(f"2024-05-01 12:{n:02}:21 INFO request {n} done\n" for n in range(40))
NOTES = "2024-05-01 12:00:21 第一次开会\n大家都到了。\n\n" + "后来我们又谈了很久，没有结果。\n\n" * 20
PYWXDUMP: list[dict[str, Any]] = [
    {"id": number, "MsgSvrID": str(900 + number), "type_name": kind, "is_sender": int(talker == "我"), "talker": talker,
     "room_name": "5@chatroom", "msg": text, "src": "", "extra": {}, "CreateTime": f"2024-05-01 12:3{number}:21"}
    for number, (kind, talker, text) in enumerate([
        ("文本", "wxid_a", "我对花生过敏"), ("图片", "wxid_a", "图片"), ("文本", "我", "记住了，不放花生"),
        ("系统通知", "系统", '"小明" 撤回了一条消息'), ("动画表情", "wxid_a", "<msg><emoji md5='1'/></msg>"),
        ("引用回复", "wxid_a", "花生酱也不行\n[引用]wxid_b:花生酱呢"),
    ])
]  # fmt: skip


@pytest.mark.parametrize("text", [TIME_FIRST, NAME_FIRST, NAME_FIRST.replace(":", "："), TIME_FIRST.replace("-", "/")])
async def test_a_saved_chat_without_ids_is_stored_turn_by_turn(host: AMemorixHostService, text: str) -> None:
    task = await pasted(host, "聊天.txt", text, chat_id="c")
    (hit,) = await hits(host, "香菜", chat_id="c", limit=1)

    assert (task["counts"], task["warnings"]) == ({"stored": 90}, [])
    assert (hit["speaker"], hit["content"]) == ("阿美", "好啊，\n我不吃香菜")


@pytest.mark.parametrize("text", [LOG, NOTES])
async def test_a_text_with_dates_is_no_chat(host: AMemorixHostService, text: str) -> None:
    task = await pasted(host, "a.txt", text, chat_id="c")

    assert task["files"][0]["format"] == "txt"


@pytest.mark.parametrize("chat", ["", "c"])
async def test_the_json_of_pywxdump(host: AMemorixHostService, chat: str) -> None:
    task = await pasted(host, "0_499.json", json.dumps(PYWXDUMP, ensure_ascii=False), chat_id=chat)
    found = await hits(host, "花生", chat_id=chat or "wechat:5@chatroom")

    assert task["status"] == "completed"
    assert task["counts"] == {"stored": 3, "empty_text": 3}
    assert task["files"][0]["warnings"] == [
        "3 messages are left out: pictures, stickers and notices without a word that somebody wrote."
    ]
    assert {(hit["speaker"], hit["content"]) for hit in found} == {
        ("wxid_a", "我对花生过敏"), ("我", "记住了，不放花生"), ("wxid_a", "花生酱也不行\n[引用]wxid_b:花生酱呢"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.json"])
async def test_what_nobody_says_in_words_is_no_memory(host: AMemorixHostService, name: str) -> None:
    turns = [(name, text.replace("\n", " ")) for name, text in SAID] + [
        ("小明", text.replace("\n", " ")) for text in SILENT
    ]
    if name == "a.txt":
        content = "".join(f"2024-05-01 12:{n:02}:21 {who}\n{text}\n\n" for n, (who, text) in enumerate(turns))
    elif name == "a.csv":
        content = "speaker\ttext\n" + "".join(f"{who}\t{text}\n" for who, text in turns).replace('"', "'")
    else:
        rows = [{"speaker": who, "text": text} for who, text in turns]
        content = "".join(f"{json.dumps(row)}\n" for row in rows) if name == "a.jsonl" else json.dumps(rows)
    task = await pasted(host, name, content, chat_id="c")

    assert task["counts"] == {"stored": len(SAID), "empty_text": len(SILENT)}
    assert f"{len(SILENT)} messages are left out" in "".join(task["warnings"])


async def test_a_card_of_wechat_keeps_its_title(host: AMemorixHostService) -> None:
    link = (
        '<msg><appmsg appid="" sdkver="0"><title>杭州三日游 &amp; 攻略</title><des>d</des><type>5</type></appmsg></msg>'
    )
    quote = "<?xml version='1.0'?><msg><appmsg><title>杭州我也想去</title><type>57</type><refermsg/></appmsg></msg>"
    await pasted(host, "a.json", json.dumps([{"speaker": "小明", "text": text} for text in (link, quote)]), chat_id="c")

    assert {hit["content"] for hit in await hits(host, "杭州", chat_id="c")} == {
        "[链接: 杭州三日游 & 攻略]", "杭州我也想去",
    }  # fmt: skip


async def test_a_channel_of_discord_is_its_chat_unless_another_is_named(host: AMemorixHostService) -> None:
    said = [
        {"id": str(n), "type": "Default", "timestamp": "2026-02-03T10:00:00+00:00", "content": f"corgi number {n}",
         "author": {"id": "91", "name": "mia"}}
        for n in range(50)
    ]  # fmt: skip
    export = {"guild": {"id": "1", "name": "Devs"}, "channel": {"id": "2", "name": "general"}, "messages": said}
    own = await pasted(host, "a.json", json.dumps(export))
    named = await pasted(host, "a.json", json.dumps(export), chat_id="c")

    assert (own["counts"], named["counts"]) == ({"stored": 50}, {"stored": 50})
    assert len(await hits(host, "corgi", chat_id="discord:2", limit=100)) == 50
    assert len(await hits(host, "corgi", chat_id="c", limit=100)) == 50


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("聊天.txt", TIME_FIRST),
        ("a.txt", TIME_FIRST.replace("晚上吃火锅吗？", "[图片]")),
        ("a.json", json.dumps({"messages": [{"role": "user", "content": f"kite {n}"} for n in range(900)]})),
        ("a.jsonl", "".join(f'{{"speaker": "Ada", "text": "kite {n}"}}\n' for n in range(900))),
    ],
)
async def test_a_chat_that_no_chat_is_named_for_fails_once_and_says_what_to_do(
    host: AMemorixHostService, name: str, content: str
) -> None:
    task = await pasted(host, name, content)

    assert task["status"] == "failed"
    assert task["counts"].get("failed", 0) == 0
    assert "`chat_id` (`--chat`)" in task["files"][0]["error"]
