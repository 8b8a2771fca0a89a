"""JSON lines in UTF-8 and in GB 18030, and what is in neither."""

from __future__ import annotations

import pytest

from amemorix import AMemorixHostService
from entrance import contents
from import_entrance import imported, raw_folder

LINES = '{"text": "山竹好吃", "speaker": "小雨"}\n{"text": "fine", "speaker": "Ada"}\n'


async def test_json_lines_are_read_in_either_encoding(host: AMemorixHostService) -> None:
    folder = await raw_folder(host)
    (folder / "gb.jsonl").write_bytes(LINES.encode("gb18030"))
    task = await imported(host, "create_raw_scan", glob="gb.jsonl", chat_id="c")
    assert (task["status"], task["counts"]) == ("completed", {"stored": 2}), task
    assert "山竹好吃" in await contents(host, "山竹", chat_id="c")


@pytest.mark.parametrize(
    "broken", ['{"text": "山'.encode()[:-1] + b'"}', '{"text": "山竹"}'.encode("gb18030"), b'{"text": "na\xefve"}']
)
async def test_a_line_that_is_not_utf8_like_the_others_is_said(host: AMemorixHostService, broken: bytes) -> None:
    (await raw_folder(host) / "a.jsonl").write_bytes(LINES.encode() + broken)
    task = await imported(host, "create_raw_scan", glob="a.jsonl", chat_id="c", skip_bad=True)
    assert task["counts"] == {"stored": 2, "failed": 1}
    [chunk] = task["files"][0]["chunk_list"]
    assert [(one["place"], one["reason"]) for one in chunk["errors"]] == [
        ("line 3", "not UTF-8; save the file as UTF-8")
    ]
    assert "山竹好吃" in await contents(host, "山竹", chat_id="c")


async def test_a_broken_byte_makes_no_other_words_of_a_line(host: AMemorixHostService) -> None:
    (await raw_folder(host) / "a.jsonl").write_bytes(b'{"text": "na\xefve", "speaker": "Ada"}\n')
    task = await imported(host, "create_raw_scan", glob="a.jsonl", chat_id="c")
    assert (task["status"], task["counts"]) == ("failed", {"failed": 1})


async def test_a_line_that_is_not_gb18030_like_the_others_is_said(host: AMemorixHostService) -> None:
    filler = f'{{"text": "{"x" * (1 << 20)}"}}\n'.encode()
    broken = b'{"text": "\xff"}\n'
    (await raw_folder(host) / "a.jsonl").write_bytes(LINES.encode("gb18030") + filler + broken)
    task = await imported(host, "create_raw_scan", glob="a.jsonl", chat_id="c", skip_bad=True)
    assert task["counts"] == {"stored": 2, "failed": 2}, task
    reasons = [one["reason"] for chunk in task["files"][0]["chunk_list"] for one in chunk["errors"]]
    assert reasons[-1] == "not GB 18030, as the lines before; save the file as UTF-8"
