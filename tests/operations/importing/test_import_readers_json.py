"""What the readers of JSON documents have in common."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amemorix.errors import InvalidRequest
from amemorix.importing.readers.graphiti import GraphitiExport
from amemorix.importing.readers.json_documents import JsonReader
from amemorix.importing.readers.lpmm import LpmmOpenie
from amemorix.importing.readers.mem0 import Mem0Export
from import_readers import peak, read, write

Make = Callable[[int], dict[str, Any]]
READERS: dict[str, tuple[type[JsonReader], str, Make]] = {
    "an export of mem0": (
        Mem0Export, "results", lambda i: {"id": str(i), "memory": f"第{i}条记忆 " + "x" * 100, "user_id": f"u{i % 7}"},
    ),
    "an export of Graphiti": (
        GraphitiExport, "nodes",
        lambda i: {"uuid": f"n{i}", "name": f"实体{i}", "summary": "介绍" * 20, "name_embedding": [0.5, 0.25]},
    ),
    "an OpenIE file of LPMM": (
        LpmmOpenie, "docs",
        lambda i: {"passage": f"第{i}段 " + "知识" * 40, "extracted_entities": ["甲"], "extracted_triples": [["甲", "是", "乙"]]},
    ),
}  # fmt: skip
OTHERS = (
    b"",
    b"plain text",
    b"{}",
    b'{"passages": []}',
    b"7",
    b'"results"',
    b"\xff\xfe{}",
    b'{"results": 3, "docs": 3, "nodes": 3}',
)
kinds = pytest.mark.parametrize("expected", READERS)


@kinds
def test_other_files_are_refused(tmp_path: Path, expected: str) -> None:
    reader, file = READERS[expected][0], tmp_path / "other.json"
    for content in OTHERS:
        file.write_bytes(content)
        with pytest.raises(InvalidRequest, match=f"expected {expected}"):
            list(reader().read(file, 0))
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(InvalidRequest, match=f"expected {expected}"):
            list(reader().read(path, 0))


@kinds
def test_an_empty_list_holds_nothing(tmp_path: Path, expected: str) -> None:
    reader, key, _ = READERS[expected]
    assert read(reader(), write(tmp_path / "empty.json", {key: []})) == []


@kinds
def test_a_large_file_is_never_held_in_memory(tmp_path: Path, expected: str) -> None:
    reader, key, make = READERS[expected]
    sizes: list[int] = []
    for count in (1_500, 8_000):
        path = tmp_path / f"{count}.json"
        with path.open("w", encoding="utf-8") as file:
            file.write(f'{{"{key}": [')
            for i in range(count):
                file.write(("," if i else "") + json.dumps(make(i), ensure_ascii=False))
            file.write("]}")
        found, most = peak(reader(), path)
        assert found == count
        sizes.append(most)
    assert sizes[1] < sizes[0] + 300_000
