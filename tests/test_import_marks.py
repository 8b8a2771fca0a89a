"""A reader that goes on from a kept place tells what one tells that read all from the start."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.importing.duplicates import Occurrences
from amemorix.importing.readers.formats import reader_for
from amemorix.importing.resume_points import Mark
from entrance import change, rows
from import_entrance import jsonl, turn

RULE = "=" * 64
WORDS = ("a kite", "风筝", "去爬山", "tea\n\nand cake", "=" * 40, "ok", "")


def talk(rng: random.Random) -> str:
    lines = [f"2026-03-{1 + n % 28:02} 20:{n % 60:02}:33 大黄(1000{n % 7})\n{rng.choice(WORDS)}\n\n" for n in range(60)]
    return f"消息记录（此消息记录为文本格式）\n\n{RULE}\n消息对象:群\n{RULE}\n\n{''.join(lines)}"


def made(folder: Path, name: str) -> Path:
    rng = random.Random(name)
    path = folder / name
    match name:
        case "jsonl":
            jsonl(
                path,
                *(
                    rng.choice([turn(rng.randrange(40)), "{bad", "", {"post_type": "notice", "self_id": 1}])
                    for _ in range(90)
                ),
            )
        case "csv":
            rows = [f'"{rng.choice(WORDS[:4])}",{rng.randrange(9)}' for _ in range(90)] + [
                '"a",1,2',
                '"bad"x",2',
                "y,3",
            ]
            rng.shuffle(rows)
            path.write_text('\ufefftext,"a\nnote"\n' + "\n".join(rows) + "\n", "utf-8")
        case "txt":
            parts = [rng.choice(("茶" * 3000, "a kite\n" * 1500, "\n\n", "end\n")) for _ in range(90)]
            path.write_text("\n".join(parts), "utf-8")
        case "qq":
            path.write_text(talk(rng), "gb18030")
        case _:
            said = [rng.choice(("Ada: a kite", "小雨： 风筝", "goes on", "", "x: y")) for _ in range(80)]
            later = [f"2026-03-01 10:{n % 60:02} Ada: {rng.choice(WORDS)}" for n in range(40)]
            path.write_text("\n".join(["Begin", *said, *later]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "format_"), [("jsonl", "jsonl"), ("csv", "csv"), ("txt", "txt"), ("qq", "chat_log"), ("log", "chat_log")]
)
def test_any_mark_leads_to_the_same_rest(tmp_path: Path, name: str, format_: str) -> None:
    path = made(tmp_path, name)
    reader: Any = reader_for(format_, {})
    found, marks = [], []
    for one in reader.read(path, 0):
        found.append(one)
        assert reader.mark is not None
        assert reader.mark.position == one[0]
        marks.append(reader.mark.packed())
    assert len(found) > 20
    rng = random.Random(1)
    for at in rng.sample(range(len(found)), 8):
        mark = Mark.unpacked(marks[at])
        assert mark is not None
        for start in (found[at][0], found[min(at + 3, len(found) - 1)][0]):
            other: Any = reader_for(format_, {})
            other.resume(mark)
            assert list(other.read(path, start)) == [one for one in found if one[0] > start]
            mark = Mark.unpacked(marks[at])
            assert mark is not None
        before: Any = reader_for(format_, {})
        before.resume(mark)
        assert next(iter(before.read(path, found[at][0] - 1))) == found[at], "what stands before the mark is read anew"


def test_a_mark_of_another_version_is_none() -> None:
    packed = Mark(3, 1, Occurrences()).packed()
    assert Mark.unpacked(packed) is not None
    assert Mark.unpacked(packed.replace(b"[1, 3", b"[0, 3")) is None


async def test_a_mark_is_gone_with_its_file_and_with_any_purge(host: AMemorixHostService) -> None:
    await host.invoke("ingest_text", {"external_id": "1", "source_type": "note", "text": "a kite", "chat_id": "c"})
    await host.invoke("memory_import_admin", {"action": "create_paste", "name": "a.txt", "content": "a lamp"})
    change(host, "insert into import_marks values (1, x'00')")
    answer = await host.invoke(
        "memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "c", "purge": True}
    )
    assert answer["success"], answer
    assert rows(host, "select * from import_marks") == []
