"""What an import says of a file that it does not store, or not any more, or not to its end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.cli.imports import missing
from entrance import hits, rows
from import_entrance import pasted, turn

OPENAI = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "我喜欢爵士乐"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "content": "ok", "timestamp": 1_735_808_701, "refusal": None, "audio": {"id": "a"}},
        {"role": "user", "name": "Mia", "content": "I like jazz"},
        {"role": "assistant", "content": "ok", "timestamp": 1_735_808_701},
    ],
}  # fmt: skip


async def paragraphs(host: AMemorixHostService) -> list[dict[str, Any]]:
    found = rows(
        host,
        "select p.content, coalesce(s.name, ''), p.event_start from paragraphs p left join persons s on s.id = p.speaker"
        " where p.deleted_at is null order by p.id",
    )
    return [dict(zip(("text", "speaker", "time"), row, strict=True)) for row in found]


async def test_a_conversation_with_roles_is_read(host: AMemorixHostService) -> None:
    task = await pasted(host, "chat.json", json.dumps(OPENAI), chat_id="c", chat_reference_time=1_700_000_001)
    assert (task["status"], task["files"][0]["format"], task["counts"]) == ("completed", "messages", {"stored": 5}), (
        task
    )
    found = await paragraphs(host)
    assert [(one["speaker"], one["text"]) for one in found] == [
        ("system", "Be brief."), ("user", "我喜欢爵士乐\n[图片]"), ("assistant", "ok"), ("Mia", "I like jazz"), ("assistant", "ok"),
    ]  # fmt: skip
    assert [one["time"] for one in found[1:3]] == [1_700_000_001, 1_735_808_701]
    again = await pasted(host, "2.json", json.dumps(OPENAI["messages"]), chat_id="c")
    assert again["counts"] == {"existing": 5}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"messages": [{"a": 1}, {"b": "text"}]}, "there is no `role` or `speaker`"),
        ({"messages": [{"role": "user", "value": "hi"}]}, "there is no `role` or `speaker`"),
        ({"guild": {}, "channel": {}, "messages": [{"id": "1", "content": "hi"}]}, "no message of Discord"),
        ({"chats": {"list": [{"id": 1, "messages": [{"id": 7}]}]}}, "no message of Telegram"),
        ([{"post_type": "", "value": 1}], "no message of OneBot"),
    ],
)
async def test_messages_of_nobody_knows_what_fail(host: AMemorixHostService, content: Any, why: str) -> None:
    task = await pasted(host, "a.json", json.dumps(content), chat_id="c")
    assert (task["status"], set(task["counts"])) == ("failed", {"failed"}), task
    assert why in task["files"][0]["chunk_list"][0]["errors"][0]["reason"]
    assert missing(task) == "1 file: 1 failed", "not `in part`: nothing of it is stored"


async def test_a_file_in_which_nobody_says_anything_says_so(host: AMemorixHostService) -> None:
    heartbeat = {"post_type": "meta_event", "self_id": 1, "time": 1}
    task = await pasted(host, "a.jsonl", json.dumps(heartbeat), chat_id="c")
    assert (task["status"], task["counts"]) == ("completed", {})
    assert task["warnings"] == ["a.jsonl: there is nothing in it that somebody says or writes: nothing is stored."]


@pytest.mark.parametrize("time", ["2025/1/3 9:1", "2025-01-03 9:1:0", "2025-01-03T09:01"])
async def test_a_table_may_write_minutes_bare(host: AMemorixHostService, time: str) -> None:
    task = await pasted(host, "a.csv", f"昵称,时间,内容\n小雨,{time},我不喝茶\n", chat_id="c")
    assert task["counts"] == {"stored": 1}, task
    same = await pasted(host, "b.csv", "昵称,时间,内容\n小雨,2025-01-03 09:01:00,我喝咖啡\n", chat_id="c")
    assert same["counts"] == {"stored": 1}
    first, second = await paragraphs(host)
    assert first["time"] == second["time"]


async def test_a_name_that_is_cut_is_noted(host: AMemorixHostService) -> None:
    message = {
        "author": {"id": "1", "name": "大" * 600},
        "timestamp": "2026-02-03T10:00:00Z",
        "content": "hi",
        "id": "9",
    }
    fine = {"author": {"id": "2", "name": "大" * 512}, "timestamp": "2026-02-03T10:00:00Z", "content": "ho", "id": "8"}
    task = await pasted(host, "a.json", json.dumps({"messages": [message, fine]}), chat_id="c")
    assert task["counts"] == {"stored": 2}
    assert task["files"][0]["warnings"] == ["1 names or ids are cut to 512 characters."]


async def test_a_file_of_which_lines_were_deleted_says_how_many(host: AMemorixHostService) -> None:
    lines = "".join(
        json.dumps(turn(number, speaker=("Ada", "小雨")[number % 3 == 0], person_id=str(900 + (number % 3 == 0))))
        + "\n"
        for number in range(60)
    )
    assert (await pasted(host, "a.jsonl", lines, chat_id="c"))["counts"] == {"stored": 60}
    same = await pasted(host, "a.jsonl", lines, chat_id="c")
    assert (same["files"][0]["status"], same["counts"]) == ("skipped", {"existing": 60})
    assert "any more" not in same["files"][0]["error"]
    answer = await host.invoke("memory_delete_admin", {"action": "execute", "mode": "person", "selector": "901"})
    assert answer["success"], answer
    again = await pasted(host, "a.jsonl", lines, chat_id="c")
    assert (again["status"], again["counts"]) == ("completed", {"existing": 40, "gone": 20}), again
    said = again["files"][0]["error"]
    assert (
        "imported before, as i1. 20 of its 60 texts are not there any more; `force` (`--force`) stores them again."
        in said
    )
    forced = await pasted(host, "a.jsonl", lines, chat_id="c", force=True)
    assert forced["counts"]["existing"] == 40
    assert len(await paragraphs(host)) == 60
    assert await hits(host, "kite number 3", chat_id="c")
    last = await pasted(host, "a.jsonl", lines, chat_id="c")
    assert last["counts"] == {"existing": 60}


async def test_a_file_of_which_lines_were_purged_is_not_known_any_more(host: AMemorixHostService) -> None:
    lines = "".join(
        json.dumps(turn(number, speaker="Ada", person_id=str(900 + number % 3))) + "\n" for number in range(60)
    )
    await pasted(host, "a.jsonl", lines, chat_id="c")
    gone = {"action": "execute", "mode": "person", "selector": "901", "purge": True}
    answer = await host.invoke("memory_delete_admin", gone)
    assert answer["success"], answer
    assert (await pasted(host, "a.jsonl", lines, chat_id="c"))["counts"] == {"existing": 40, "stored": 20}
