"""Knowledge of LPMM: OpenIE files and stores."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import networkx
import pyarrow
import pyarrow.parquet
import pytest

from amemorix.errors import InvalidRequest
from amemorix.importing.readers.lpmm import LpmmOpenie, LpmmParquet
from import_readers import bad, read, records, write

PASSAGES = ["内卷：指一类文化模式无法转变为新的形态。", "Ada Lovelace wrote the first program."]
DOCS: list[dict[str, Any]] = [
    {
        "idx": "sha-1", "passage": PASSAGES[0], "extracted_entities": ["内卷", "文化模式", "内卷", "  ", 3],
        "extracted_triples": [["内卷", "指", "文化模式"], ["内卷", "是", "内卷"], ["内卷", "缺"], "x"],
    },
    {
        "idx": "sha-2", "passage": PASSAGES[1], "extracted_entities": ["Ada Lovelace"],
        "extracted_triples": [["Ada Lovelace", "wrote", "the first program"]],
    },
]  # fmt: skip
KNOWN = [{"subject": "内卷", "predicate": "指", "object": "文化模式"}]
WROTE = [{"subject": "Ada Lovelace", "predicate": "wrote", "object": "the first program"}]


def openie(folder: Path) -> Path:
    return write(folder / "11-20-openie.json", {"docs": DOCS, "avg_ent_chars": 4.2, "avg_ent_words": 1})


def test_passages_come_with_entities_and_triples(tmp_path: Path) -> None:
    first, second = [one.arguments for one in records(LpmmOpenie(), openie(tmp_path))]
    assert first["text"] == PASSAGES[0]
    assert first["external_id"] == f"lpmm:{hashlib.sha256(PASSAGES[0].encode()).hexdigest()}"
    assert (first["scope"], first["source"], first["metadata"]) == ("global", "lpmm", {"lpmm_idx": "sha-1"})
    assert first["entities"] == [{"name": "内卷"}, {"name": "文化模式"}, {"name": "3"}]
    assert first["relations"] == KNOWN
    assert second["relations"] == WROTE


def test_bad_documents_name_their_place(tmp_path: Path) -> None:
    path = write(tmp_path / "b.json", {"docs": [{"passage": ""}, {"passage": "a" * 64}, [], {"passage": "好"}]})
    assert bad(LpmmOpenie(), path) == [
        ("docs.0", "has no text under `passage`"),
        ("docs.1", "its `passage` is a hash, not a text"),
        ("docs.2", "is a list, not an object"),
    ]


# stores


def table(path: Path, kind: str, texts: list[str]) -> list[str]:
    """Writes a table as LPMM does; the hashes of its rows."""
    hashes = [f"{kind}-{hashlib.sha256(text.encode()).hexdigest()}" for text in texts]
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"hash": hashes, "embedding": [[0.1, 0.2, 0.3]] * len(texts), "str": texts}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return hashes


def lpmm_store(folder: Path, *, graph: bool = True) -> Path:
    embedding = folder / "data" / "embedding"
    paragraphs = table(embedding / "paragraph.parquet", "paragraph", PASSAGES)
    names = ["内卷", "文化模式", "Ada Lovelace", "the first program"]
    entities = dict(zip(names, table(embedding / "entity.parquet", "entity", names), strict=True))
    triples = [
        ("内卷", "指", "文化模式"),
        ("Ada Lovelace", "wrote", "the first program"),
        ("内卷", "fits", "Ada Lovelace"),
    ]
    table(embedding / "relation.parquet", "relation", [str(triple) for triple in triples])
    if graph:
        found = networkx.DiGraph()
        found.add_edge(entities["内卷"], paragraphs[0], weight=1.0)
        found.add_edge(entities["文化模式"], paragraphs[0], weight=1.0)
        found.add_edge(entities["Ada Lovelace"], paragraphs[1], weight=1.0)
        found.add_edge(paragraphs[1], entities["the first program"], weight=1.0)
        found.add_edge(entities["内卷"], entities["文化模式"], weight=1.0)
        (folder / "data" / "rag").mkdir()
        networkx.write_graphml(found, folder / "data" / "rag" / "rag-graph.graphml")
    return folder


def test_a_store_gives_paragraphs_with_what_the_graph_links(tmp_path: Path) -> None:
    folder = lpmm_store(tmp_path)
    first, second, loose = [one.arguments for one in records(LpmmParquet(), folder)]
    assert first["entities"] == [{"name": "内卷"}, {"name": "文化模式"}]
    assert (first["text"], first["relations"]) == (PASSAGES[0], KNOWN)
    assert (second["text"], second["relations"]) == (PASSAGES[1], WROTE)
    assert loose["text"] == "内卷 fits Ada Lovelace"
    assert loose["relations"] == [{"subject": "内卷", "predicate": "fits", "object": "Ada Lovelace"}]
    assert records(LpmmParquet(), folder / "data") == records(LpmmParquet(), folder)


def test_nothing_outside_the_directory_is_read(tmp_path: Path) -> None:
    folder = lpmm_store(tmp_path)
    found = records(LpmmParquet(), folder / "data" / "embedding")
    assert [len(one.arguments.get("relations", ())) for one in found] == [0, 0, 1, 1, 1]  # the graph lies beside it


def test_a_passage_is_one_whichever_way_it_comes(tmp_path: Path) -> None:
    ids = [
        [one.arguments["external_id"] for one in records(reader, path)][:2]
        for reader, path in ((LpmmOpenie(), openie(tmp_path)), (LpmmParquet(), lpmm_store(tmp_path)))
    ]
    assert ids[0] == ids[1]


def test_without_a_graph_every_relation_is_a_text(tmp_path: Path) -> None:
    found = records(LpmmParquet(), lpmm_store(tmp_path, graph=False))
    assert [len(one.arguments.get("relations", ())) for one in found] == [0, 0, 1, 1, 1]


def test_bad_rows_name_their_place(tmp_path: Path) -> None:
    table(tmp_path / "paragraph.parquet", "paragraph", ["", "a" * 32, "好文章"])
    table(
        tmp_path / "relation.parquet",
        "relation",
        ["no triple", "('a', 'is', 'a')", "__import__('os')", "('a','is','b')"],
    )
    assert bad(LpmmParquet(), tmp_path) == [
        ("paragraph.parquet row 1", "has no text"),
        ("paragraph.parquet row 2", "is a hash, not a text"),
        ("relation.parquet row 1", "is no triple whose ends differ"),
        ("relation.parquet row 2", "is no triple whose ends differ"),
        ("relation.parquet row 3", "is no triple whose ends differ"),
    ]


def test_other_directories_and_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="is not a store of LPMM"):
        list(LpmmParquet().read(tmp_path, 0))
    (tmp_path / "paragraph.parquet").write_text("no parquet")
    with pytest.raises(InvalidRequest, match="is no parquet file"):
        list(LpmmParquet().read(tmp_path, 0))
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a"]}), tmp_path / "paragraph.parquet")
    with pytest.raises(InvalidRequest, match="no column `str`"):
        list(LpmmParquet().read(tmp_path, 0))
    table(tmp_path / "paragraph.parquet", "paragraph", ["a text"])
    (tmp_path / "rag-graph.graphml").write_text("<graphml><edge")
    with pytest.raises(InvalidRequest, match="is no GraphML"):
        list(LpmmParquet().read(tmp_path, 0))


def test_without_pyarrow_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lpmm_store(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InvalidRequest, match=r"amemorix\[lpmm\]"):
        list(LpmmParquet().read(folder, 0))


def test_empty_stores_hold_nothing(tmp_path: Path) -> None:
    columns = {name: pyarrow.array([], pyarrow.string()) for name in ("hash", "str")}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "paragraph.parquet")
    assert read(LpmmParquet(), tmp_path) == []
