"""What the formats of imports become, in Chinese and English."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.errors import InvalidRequest
from amemorix.importing.readers.chat_exports import by_24_hours, person_of, said_in
from amemorix.importing.readers.formats import FORMATS, detect, reader_for
from amemorix.importing.records import Bad, Occurrences, Record
from amemorix.language.message_segments import in_words
from entrance import contents, hits, refused, stats
from import_entrance import COMPONENT, admin, ended, imported, jsonl, pasted, raw_folder
from pace import assert_linear

LOG = """2025-03-01 09:30 周宁: 我把折叠伞放在值班柜里。
第二层靠左。
2025-03-01 09:31:05 Hannah: I am allergic to peanuts.
"""
QQ = """2025-03-01 09:30:00 周宁(10001)
我把折叠伞放在值班柜里。

2025-03-01 9:31:05 Hannah
I am allergic: to peanuts.
see https://example.com
"""
MARKDOWN = """Before any heading.

# Kitchen

The oven runs hot.

```
# no heading
```

## 茶

绿茶用八十度的水。
"""
PAYLOAD = {
    "paragraphs": [
        "Ada keeps bees in Porto.",
        {
            "content": "小雨养了一只叫豆包的猫。", "source": "diary", "event_time": "2025-03-01", "knowledge_type": "factual",
            "entities": ["小雨", {"name": "豆包", "type": "cat"}],
            "relations": [{"subject": "小雨", "predicate": "养", "object": "豆包"}],
        },
    ],
    "entities": [{"name": "Porto", "description": "Porto is a city in Portugal."}, "大连"],
    "relations": [{"subject": "Ada", "predicate": "lives in", "object": "Porto"}, ["小雨", "住在", "大连"]],
}  # fmt: skip


def read(name: str, path: Path, **options: Any) -> list[tuple[int, Record | Bad]]:
    return list(reader_for(name, options).read(path, 0))


def records(rows: list[tuple[int, Record | Bad]]) -> Iterator[Record]:
    for _, record in rows:
        assert isinstance(record, Record), record
        yield record


def arguments(rows: list[tuple[int, Record | Bad]], *keys: str) -> list[tuple[Any, ...]]:
    return [tuple(record.arguments.get(key) for key in keys) for record in records(rows)]


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


# through the entrance


async def test_turns_of_json_lines_are_found_in_their_chat(host: AMemorixHostService) -> None:
    lines = [
        {"speaker": "周宁", "text": "我把折叠伞放在值班柜里。", "time": "2025-03-01T09:00:00Z", "chat_id": "c"},
        {"role": "user", "content": "I am allergic to peanuts.", "chat_id": "d"},
        {"content": "The tea house opens at nine.", "source_type": "note", "person_ids": ["Ada"]},
    ]
    task = await pasted(host, "talk.jsonl", "\n".join(json.dumps(line) for line in lines))

    assert (task["status"], task["counts"], task["files"][0]["format"]) == ("completed", {"stored": 3}, "jsonl")
    [umbrella] = await hits(host, "折叠伞", chat_id="c")
    assert (umbrella["speaker"], umbrella["source"], umbrella["time"]["start"]) == ("周宁", "chat:c", 1740819600)
    assert await contents(host, "peanuts", chat_id="c") == []
    assert await contents(host, "peanuts", chat_id="d") == ["I am allergic to peanuts."]
    assert await contents(host, "tea house", chat_id="c") == ["The tea house opens at nine."]


async def test_a_task_says_the_chat_of_what_names_none(host: AMemorixHostService) -> None:
    task = await pasted(host, "talk.jsonl", '{"speaker": "Ada", "text": "a kite"}\n{"content": "a lamp"}', chat_id="c")
    assert task["counts"] == {"stored": 2}
    assert await contents(host, "kite", chat_id="c") == ["a kite"]
    assert await contents(host, "lamp", chat_id="d") == []


async def test_texts_of_a_chat_may_be_for_everyone(host: AMemorixHostService) -> None:
    await pasted(host, "a.txt", "a lamp", chat_id="c", scope_type="global")
    assert await contents(host, "lamp", chat_id="d") == ["a lamp"]


async def test_a_turn_without_a_chat_among_others_is_refused_with_the_reason(host: AMemorixHostService) -> None:
    lines = '{"speaker": "Ada", "text": "a kite"}\n{"speaker": "Ada", "text": "a lamp", "chat_id": "c"}'
    task = await pasted(host, "talk.jsonl", lines, skip_bad=True)
    assert task["counts"] == {"stored": 1, "failed": 1}
    [chunk] = task["files"][0]["chunk_list"]
    assert chunk["errors"] == [{"place": "line 1", "reason": "chat_id is required (or group_id, or user_id)"}]


async def test_a_text_is_found_by_its_sections(host: AMemorixHostService) -> None:
    await pasted(host, "茶.txt", "茶馆九点开门。\n\nThe tea house opens at nine.")
    [hit] = await hits(host, "茶馆")
    assert (hit["source"], hit["content"]) == ("import:茶.txt", "茶馆九点开门。\n\nThe tea house opens at nine.")


async def test_markdown_is_stored_heading_by_heading(host: AMemorixHostService) -> None:
    task = await pasted(host, "house.md", MARKDOWN)
    assert task["counts"] == {"stored": 3}
    [hit] = await hits(host, "绿茶")
    assert (hit["content"], hit["metadata"]) == ("## 茶\n\n绿茶用八十度的水。", {"headings": ["Kitchen", "茶"]})
    [oven] = await hits(host, "oven")
    assert "# no heading" in oven["content"]


@pytest.mark.parametrize("text", [LOG, QQ])
async def test_a_saved_chat_is_stored_turn_by_turn(host: AMemorixHostService, text: str) -> None:
    task = await pasted(host, "log.txt", text, chat_log=True, chat_id="c")
    assert (task["files"][0]["format"], task["counts"]) == ("chat_log", {"stored": 2})
    hit = (await hits(host, "折叠伞", chat_id="c"))[0]
    assert (hit["speaker"].startswith("周宁"), hit["time"]["start"]) == (True, 1740821400)
    assert (await hits(host, "peanuts", chat_id="c"))[0]["speaker"] == "Hannah"


async def test_a_saved_chat_without_times_gets_the_one_that_is_said(host: AMemorixHostService) -> None:
    await pasted(host, "log.txt", "Ada: a kite", chat_log=True, chat_id="c", chat_reference_time="2025-03-01")
    assert (await hits(host, "kite"))[0]["time"]["start"] == 1740787200


async def test_a_payload_brings_its_entities_and_relations(host: AMemorixHostService) -> None:
    task = await pasted(host, "knowledge.json", json.dumps(PAYLOAD, ensure_ascii=False))
    assert (task["status"], task["counts"]) == ("completed", {"stored": 6}), task
    [cat] = await hits(host, "豆包", limit=1)
    assert (cat["source"], cat["time"]["start"]) == ("diary", 1740787200)
    graph = await host.invoke("memory_graph_admin", {"action": "search", "query": "小雨"})
    assert "豆包" in json.dumps(graph, ensure_ascii=False)
    assert (await stats(host))["relations"] >= 3


async def test_a_table_is_read_in_either_encoding(host: AMemorixHostService, tmp_path: Path) -> None:
    folder = await raw_folder(host)
    write(folder / "a.csv", "发言人,内容,时间,心情\n周宁,我把折叠伞放在值班柜里。,2025-03-01 09:30,好\n", "gb18030")
    write(folder / "b.csv", "speaker;text\nHannah;I am allergic to peanuts.\n", "utf-8-sig")
    task = await imported(host, "create_raw_scan", chat_id="c", glob="*.csv")

    assert task["counts"] == {"stored": 2}
    [umbrella] = await hits(host, "折叠伞", chat_id="c")
    assert (umbrella["speaker"], umbrella["metadata"]) == ("周宁", {"心情": "好"})
    assert (await hits(host, "peanuts", chat_id="c"))[0]["speaker"] == "Hannah"


async def test_columns_may_be_named(host: AMemorixHostService) -> None:
    task = await pasted(
        host, "t.csv", "who,remark\nAda,a kite\n", columns={"text": "remark", "speaker": "who"}, chat_id="c"
    )
    assert task["counts"] == {"stored": 1}
    assert (await hits(host, "kite"))[0]["speaker"] == "Ada"


async def test_a_table_without_a_text_fails_with_the_reason(host: AMemorixHostService) -> None:
    task = await pasted(host, "t.csv", "who,remark\nAda,a kite\n")
    assert (task["status"], task["files"][0]["status"]) == ("failed", "failed")
    assert "no column holds the text" in task["files"][0]["error"]
    assert "t.csv" in task["error"]


async def test_lpmm_files_are_taken_from_their_folder(host: AMemorixHostService) -> None:
    folder = Path((await admin(host, "path_aliases"))["aliases"]["lpmm"])
    doc = {
        "idx": "1",
        "passage": "小雨养了一只猫。",
        "extracted_entities": ["小雨", "猫"],
        "extracted_triples": [["小雨", "养", "猫"]],
    }
    (folder / "a-openie.json").write_text(json.dumps({"docs": [doc]}), "utf-8")
    (folder / "b.json").write_text(json.dumps({"docs": [{**doc, "passage": "Ada keeps bees."}]}), "utf-8")
    assert (await imported(host, "create_lpmm_openie"))["counts"] == {"stored": 1}
    task = await imported(host, "create_lpmm_openie", include_all_json=True)
    assert sorted(file["status"] for file in task["files"]) == ["completed", "skipped"]


@pytest.mark.parametrize("name", sorted(FORMATS))
async def test_the_examples_of_the_guide_can_be_imported(host: AMemorixHostService, name: str) -> None:
    guide = await admin(host, "get_guide")
    example = next(one["example"] for one in guide["formats"] if one["format"] == name)
    if FORMATS[name].folder or FORMATS[name].live or name == "lpmm_parquet":
        assert example  # a place, not a text
        return
    task = await pasted(host, "example", example, format=name, chat_id="c")
    assert task["status"] == "completed", task
    assert task["counts"]["stored"] >= 1


# the readers


FILES: dict[str, tuple[str, str]] = {
    "txt": ("a.txt", "\n\n".join(f"第{n}段 paragraph {n} " + "words and 字 " * 900 for n in range(5))),
    "md": ("a.md", MARKDOWN),
    "chat_log": ("a.log", LOG),
    "jsonl": ("a.jsonl", "\n".join(json.dumps({"text": f"行 {n % 3}", "speaker": "Ada"}) for n in range(7)) + "\n{bad\n"),
    "csv": ("a.csv", "text,speaker\nhi,Ada\n\"two\nlines\",周宁\nhi,Ada\na,b,c\n"),
    "json": ("a.json", json.dumps(PAYLOAD, ensure_ascii=False)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FILES))
def test_reading_again_tells_the_same_at_the_same_places(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / FILES[name][0], FILES[name][1])
    assert detect(path.name, path) == ("txt" if name == "chat_log" else name)
    whole = read(name, path)
    assert len(whole) >= 2
    assert [position for position, _ in whole] == sorted({position for position, _ in whole})
    assert read(name, path) == whole


@pytest.mark.parametrize("name", sorted({*FILES} - {"json"}))
def test_an_empty_file_holds_nothing(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "empty", "text\n" if name == "csv" else "")
    assert read(name, path) == []


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("json", b"{}", "a JSON document with one of"),
        ("json", b'{"paragraphs": ["a"', "not valid JSON"),
        ("json", b"plain", "not valid JSON"),
        ("jsonl", b"plain text\n", "begin with"),
        ("txt", b"\x89PNG\r\n\0\0", "NUL"),
        ("txt", "字".encode("utf-16"), "UTF-16"),
        ("md", b"\xff\xff\xff\xff", "neither UTF-8"),
        ("csv", b"", "no column holds the text"),
        ("csv", b"a,b\n1,2\n", "no column holds the text"),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidRequest, match=says):
        read(name, path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not valid JSON"),
        ("[1]", "must be a JSON object"),
        ('{"speaker": "Ada"}', "there is no `text`"),
        ('{"text": "a", "chat_ID": "c"}', 'unknown "chat_ID"'),
        ('{"text": NaN}', "NaN is not a JSON number"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path, line: str, reason: str) -> None:
    rows = read("jsonl", jsonl(tmp_path / "a.jsonl", {"text": "first"}, line, {"text": "last"}))
    bad = rows[1][1]
    assert isinstance(bad, Bad)
    assert bad.place == "line 2"
    assert reason in bad.reason
    assert [row[1].arguments["text"] for row in (rows[0], rows[2]) if isinstance(row[1], Record)] == ["first", "last"]


def test_lines_that_say_the_same_have_ids_of_their_own(tmp_path: Path) -> None:
    rows = read(
        "jsonl", jsonl(tmp_path / "a.jsonl", {"text": "好"}, {"text": "好"}, {"text": "好", "external_id": "own"})
    )
    ids = [row[0] for row in arguments(rows, "external_id")]
    assert ids[0].removesuffix(":1") == ids[1].removesuffix(":2")
    assert ids[2] == "own"


def test_a_line_longer_than_any_may_be_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + b'{"text": "' + b"x" * (17 << 20) + b'"}\n{"text": "b"}\n')
    rows = read("jsonl", path)
    assert [type(row) for _, row in rows] == [Record, Bad, Record]
    assert rows[1][1] == Bad("line 2", "the line is too long")


def test_a_table_with_quoted_line_ends_and_more_cells_than_headings(tmp_path: Path) -> None:
    rows = read("csv", write(tmp_path / "a.csv", FILES["csv"][1]))
    assert isinstance(rows[-1][1], Bad)
    assert rows[-1][1].reason == "3 cells under 2 headings"
    assert [a for (a,) in arguments(rows[:-1], "text")] == ["hi", "two\nlines", "hi"]
    assert len({a for (a,) in arguments(rows[:-1], "external_id")}) == 3


def test_hashes_are_no_texts(tmp_path: Path) -> None:
    rows = read("json", write(tmp_path / "a.json", json.dumps(["a" * 32, "a kite"])))
    assert rows[0][1] == Bad("paragraphs.0", "the content is a hash, not a text")


def test_sections_end_at_blank_lines_and_are_never_longer_than_stored(tmp_path: Path) -> None:
    rows = read("txt", write(tmp_path / "a.txt", FILES["txt"][1]))
    texts = [text for (text,) in arguments(rows, "text")]
    assert len(texts) == 5
    assert all(text.startswith("第") for text in texts)
    one = read("txt", write(tmp_path / "b.txt", "\n".join("x" * 100 for _ in range(1000))))
    assert max(len(text) for (text,) in arguments(one, "text")) < 16_200


def test_occurrences_are_counted(tmp_path: Path) -> None:
    said = Occurrences()
    for times in ("1", "2"):
        assert {said.external_id("line", str(n)).rpartition(":")[2] for n in range(20_000)} == {times}


@pytest.mark.parametrize("name", ["jsonl", "csv", "txt", "json"])
def test_a_large_file_is_read_in_little_memory(tmp_path: Path, name: str) -> None:
    def lines() -> Iterator[str]:
        if name == "csv":
            yield "text\n"
        if name == "json":
            yield '["start"'
        for n in range(12_000):
            text = f"paragraph {n} " + "字 word " * 80
            yield {"jsonl": json.dumps({"text": text}) + "\n", "json": ", " + json.dumps(text)}.get(name, text + "\n")
        if name == "json":
            yield "]"

    path = tmp_path / "big"
    with path.open("w", encoding="utf-8") as out:
        out.writelines(lines())
    reader = reader_for(name, {})
    tracemalloc.start()
    try:
        count = sum(1 for _ in reader.read(path, 0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count > 300
    assert peak < 24 << 20, "16 MiB are the filter of what was said before"


async def test_a_cell_may_be_as_long_as_a_document(host: AMemorixHostService) -> None:
    long = "The kettle is blue. 水壶是蓝色的。" * 6_000
    assert len(long) > 131_072
    task = await pasted(host, "t.csv", f'text\n"{long}"\n')
    assert task["status"] == "completed", task


CLOSED = {"chat_id": "priv", "scope_type": "chat"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "alpha walrus 海象", "scope": "global", "external_id": "w1"}'),
        ("b.json", '{"paragraphs": [{"content": "alpha walrus 海象", "scope": "global"}]}'),
        ("c.csv", "text,scope\nalpha walrus 海象,global\n"),
        ("d.jsonl", '{"text": "alpha walrus 海象", "chat_id": "priv", "group_id": "g", "user_id": "u"}'),
        ("e.txt", "alpha walrus 海象"),
    ],
)
async def test_what_is_for_one_chat_only_is_seen_there_only(host: AMemorixHostService, name: str, content: str) -> None:
    task = await pasted(host, name, content, **CLOSED)
    assert task["counts"] == {"stored": 1}, task
    for query in ("walrus", "海象"):
        assert await contents(host, query, chat_id="priv") == ["alpha walrus 海象"]
        assert await contents(host, query, chat_id="third") == []
        assert await contents(host, query, group_id="g") == await contents(host, query, user_id="u") == []


async def test_good_records_for_one_chat_are_stored_beside_bad_ones(host: AMemorixHostService) -> None:
    lines = '{"text": "a kite 风筝"}\n{"text": "a lamp", "chat_id": "elsewhere"}'
    task = await pasted(host, "a.jsonl", lines, skip_bad=True, **CLOSED)
    assert task["counts"] == {"stored": 1, "failed": 1}
    assert await contents(host, "风筝", chat_id="priv") == ["a kite 风筝"]
    assert await contents(host, "lamp") == []


async def test_a_failed_import_for_one_chat_is_not_retried_for_none(host: AMemorixHostService) -> None:
    task = await pasted(host, "a.jsonl", '{"text": "a lamp", "chat_id": "elsewhere"}', **CLOSED)
    args = {"action": "retry_failed", "task_id": task["task_id"], "overrides": {"chat_id": ""}}
    await refused(host, COMPONENT, args, "overrides.chat_id")
    again = await admin(host, "retry_failed", task_id=task["task_id"], overrides={"chat_id": "elsewhere"})
    assert (await ended(host, again["task"]["task_id"]))["counts"] == {"stored": 1}
    assert await contents(host, "lamp", chat_id="third") == []
    assert await contents(host, "lamp", chat_id="elsewhere") == ["a lamp"]


def as_file(name: str, folder: Path, text: str) -> list[Any]:
    path = folder / "a.txt"
    path.write_text(text, "utf-8")
    detect(path.name, path)
    return list(reader_for(name, {}).read(path, 0))


LONG_LINES: dict[str, tuple[Callable[[Path, str], object], tuple[str, str, str]]] = {
    "a heading of hashes": (lambda folder, text: as_file("md", folder, text), ("# ", "#", "x")),
    "a heading of spaces": (lambda folder, text: as_file("md", folder, text), ("# a", " ", "#x")),
    "titles without an end": (lambda _, text: in_words(text, ""), ("<msg>", "<title>", "")),
    "a word of WhatsApp": (lambda _, text: said_in(text), ("", "a", "")),
    "an attachment without an end": (lambda _, text: said_in(text), ("", "<attached: ", "")),
    "spaces after a time": (lambda _, text: by_24_hours(text), ("2025/1/1 9:00", " ", "x")),
    "spaces after half a day": (lambda _, text: by_24_hours(text), ("2025/1/1 下午", " ", "x")),
    "spaces in a name": (lambda _, text: person_of(text), ("a", " ", "x")),
    "an address without an end": (lambda _, text: person_of(text), ("<", "@a", " x")),
    "dates in a name": (lambda folder, text: as_file("chat_log", folder, text), ("Ada: hi\n", "2020-01-01 ", ": x")),
    "spaces in a line of a chat": (lambda folder, text: as_file("chat_log", folder, text), ("Ada: hi\nBob", " ", "x: a")),
}  # fmt: skip


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_long_line_is_read_in_time_that_grows_with_it(tmp_path: Path, kind: str) -> None:
    work, (before, piece, after) = LONG_LINES[kind]
    assert_linear(lambda size: work(tmp_path, before + piece * size + after), 500, 4_000)
