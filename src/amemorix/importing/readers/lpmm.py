"""Knowledge of LPMM: its OpenIE files, and the store that it builds of them."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InvalidRequest
from ...store.temp_lookup import TempLookup
from ..records import Bad, Reader, Record
from .foreign_values import digest, entities, is_hash, joined, left, metadata, name, relation, text_of
from .json_documents import JsonReader, Member

__all__ = ["LpmmOpenie", "LpmmParquet"]

STORE = "a store of LPMM: a directory with paragraph.parquet, and entity.parquet, relation.parquet, rag-graph.graphml"
SOURCE = "lpmm"
PARAGRAPHS, ENTITIES, RELATIONS, GRAPH = "paragraph.parquet", "entity.parquet", "relation.parquet", "rag-graph.graphml"
BATCH = 500
LONGEST_TRIPLE = 10_000
NAME, LINKS, TRIPLE, PARAGRAPHS_OF = "name", "links", "triple", "paragraphs of"


class LpmmOpenie(JsonReader):
    """`{"docs": [{idx, passage, extracted_entities: [name], extracted_triples: [[subject, predicate, object]]}]}`.

    A passage is known by the hash of its text, so that the same one out of two files, or out of a store, is one. It is
    knowledge that every chat may find.
    """

    what = "The OpenIE files of LPMM. LPMM 的 OpenIE 文件。"
    fields = "docs: passage, extracted_entities, extracted_triples, idx"
    example = (
        '{"docs": [{"idx": "1", "passage": "小雨养了一只猫。", "extracted_entities": ["小雨"], '
        '"extracted_triples": [["小雨", "养", "猫"]]}]}'
    )

    expected = 'an OpenIE file of LPMM: {"docs": [{"idx", "passage", "extracted_entities", "extracted_triples"}]}'
    lists = ("docs",)

    def record(self, member: Member) -> Record | Bad:
        item = member.value
        text = text_of(item.get("passage"))
        if not text or is_hash(text):
            return Bad(member.place, "its `passage` is a hash, not a text" if text else "has no text under `passage`")
        triples, listed = item.get("extracted_triples"), item.get("extracted_entities")
        made = [_of_triple(triple) for triple in triples] if isinstance(triples, list) else []
        return _passage(
            text, member.place,
            entities=entities(listed if isinstance(listed, list) else []),
            relations=[one for one in made if one],
            metadata=metadata({"lpmm_idx": item.get("idx")}), left=left(made),
        )  # fmt: skip


class LpmmParquet(Reader):
    """A directory with the files of LPMM's store, or with its folders `embedding` and `rag`; vectors are not taken over.

    A paragraph has the entities that the graph links it to, and the relations whose two ends are among them: LPMM does
    not keep which paragraph a relation was read from. A relation that no paragraph has becomes a text of its own.
    Needs pyarrow, which the extra `lpmm` installs.
    """

    what = "The store of LPMM, without its vectors; wants the extra `amemorix[lpmm]`. LPMM 的知识库目录。"
    fields = "a folder with embedding/paragraph.parquet, entity.parquet, relation.parquet and rag/rag-graph.graphml"
    example = "data/embedding"
    folder = True

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        """Positions are ordinals, the paragraphs before the relations."""
        places = [path / folder for folder in ("", "embedding", "rag", "data/embedding", "data/rag")]
        found = [folder / called for called in (PARAGRAPHS, ENTITIES, RELATIONS, GRAPH) for folder in reversed(places)]
        files = {file.name: file for file in found if file.is_file()}
        if PARAGRAPHS not in files:
            raise InvalidRequest(f"{path.name} is not {STORE}.", field="path")
        with TempLookup() as known:
            rows = 0
            for called in (PARAGRAPHS, RELATIONS):
                if called in files:
                    with _opened(files[called]) as file:
                        rows += file.metadata.num_rows
            for key, called in _rows(files.get(ENTITIES)):
                known.put(NAME, key, called)
            for _, told in _rows(files.get(RELATIONS)):
                if triple := _triple(told):
                    known.put_between(TRIPLE, triple[0], triple[2], repr(triple))
            for ends in _edges(files.get(GRAPH)):
                for one, other in (ends, ends[::-1]):
                    if one.startswith("entity-") and other.startswith("paragraph-"):
                        known.put(LINKS, other, one)
                        known.put(PARAGRAPHS_OF, one, other)
            first = 0
            for first, (key, text) in enumerate(_rows(files[PARAGRAPHS]), start=1):
                self.share = first / rows
                yield first, self._paragraph(key, text, f"{PARAGRAPHS} row {first}", known)
            for number, (_, told) in enumerate(_rows(files.get(RELATIONS)), start=1):
                self.share = (first + number) / rows
                if made := self._relation(told, f"{RELATIONS} row {number}", known):
                    yield first + number, made

    def _paragraph(self, key: str, raw: str, place: str, known: TempLookup) -> Record | Bad:
        text = text_of(raw)
        if not text or is_hash(text):
            return Bad(place, "is a hash, not a text" if text else "has no text")
        names = [called for one in known.values(LINKS, key) for called in known.values(NAME, one, limit=1)]
        triples = [ast.literal_eval(told) for told in known.between(TRIPLE, names)]
        made = [one for triple in triples if (one := _of_triple(triple))]
        return _passage(text, place, entities=entities(names), relations=made, metadata={"lpmm_hash": key})

    def _relation(self, raw: str, place: str, known: TempLookup) -> Record | Bad | None:
        triple = _triple(raw)
        made = _of_triple(triple)
        if triple is None or made is None:
            return Bad(place, "is no triple whose ends differ")
        if known.meet(PARAGRAPHS_OF, *(f"entity-{digest(end)}" for end in (triple[0], triple[2]))):
            return None
        return _passage(joined(made), place, relations=[made], knowledge_type="factual")


def _passage(text: str, place: str, left: Mapping[str, int] | None = None, **more: Any) -> Record:
    about = {"external_id": f"lpmm:{digest(text)}", "source_type": SOURCE, "source": SOURCE}
    arguments = {**about, "text": text, "scope": "global", **more}
    return Record("text", arguments, place, left or {})


def _of_triple(triple: Any) -> dict[str, Any] | None:
    if not isinstance(triple, list | tuple) or len(triple) != 3:
        return None
    return relation(triple[0], triple[1], triple[2])


def _triple(raw: str) -> tuple[str, str, str] | None:
    """The triple that a text writes as a Python tuple or a list."""
    try:
        value = ast.literal_eval(raw.strip()) if len(raw) <= LONGEST_TRIPLE else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(value, list | tuple) or len(value) != 3 or not all(isinstance(part, str) for part in value):
        return None
    return value[0], value[1], value[2]


def _opened(path: Path) -> Any:
    try:
        return import_module("pyarrow.parquet").ParquetFile(path)
    except ImportError as exc:
        raise InvalidRequest("Stores of LPMM are read with pyarrow: install `amemorix[lpmm]`.", extra="lpmm") from exc
    except (ValueError, OSError) as exc:
        raise InvalidRequest(f"{path.name} is no parquet file; expected {STORE}.", field="path") from exc


def _rows(path: Path | None) -> Iterator[tuple[str, str]]:
    """(hash, text) of each row; the vectors stay on disk."""
    if path is None:
        return
    with _opened(path) as file:
        columns = [called for called in ("hash", "str") if called in file.schema_arrow.names]
        if "str" not in columns:
            raise InvalidRequest(f"{path.name} has no column `str`; expected {STORE}.", field="path")
        for batch in file.iter_batches(batch_size=BATCH, columns=columns):
            for row in batch.to_pylist():
                yield name(row.get("hash")), row["str"] if isinstance(row["str"], str) else ""


def _edges(path: Path | None) -> Iterator[tuple[str, str]]:
    """(source, target) of the graph's edges, each element let go of when it is read."""
    if path is None:
        return
    try:
        for _, element in ElementTree.iterparse(path, events=("end",)):
            if element.tag.rpartition("}")[2] == "edge":
                yield element.get("source", ""), element.get("target", "")
            if element.tag.rpartition("}")[2] in ("edge", "node"):
                element.clear()
    except ElementTree.ParseError as exc:
        raise InvalidRequest(f"{path.name} is no GraphML ({exc}); expected {STORE}.", field="path") from exc
