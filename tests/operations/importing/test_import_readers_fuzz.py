"""Whatever stands in foreign data, a record of it is accepted by the operation that its kind names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemorix.clock import FrozenClock
from amemorix.importing.readers.amemorix_directory import Known, loose_relation, paragraph_records
from amemorix.importing.readers.graphiti import GraphitiExport
from amemorix.importing.readers.lpmm import LpmmOpenie
from amemorix.importing.readers.mem0 import Mem0Export
from amemorix.importing.records import Bad, Reader, Record
from amemorix.ingest.operations import IngestSummary, IngestText
from import_readers import write

ODD = [
    "",
    " ",
    "\x00",
    "\ud83d",
    "小林",
    "Ada",
    "ada ",
    "2024-07-01T12:00:00Z",
    "2024-02-31",
    "yesterday",
    "x" * 600,
    "!",
]
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(ODD), st.text(max_size=20),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(ODD), inner, max_size=3)),
    max_leaves=8,
)  # fmt: skip
FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


GOOD = st.sampled_from(["小林搬到了杭州", "Ada", "Orbit", "杭州", "n-1"])
GOOD_LISTS = st.lists(st.one_of(GOOD, st.lists(GOOD, min_size=3, max_size=3)), max_size=4)


def objects(*keys: str, mostly: tuple[str, ...] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these keys, each with any value; what they mostly have is mostly what it should be."""
    right = st.one_of(GOOD, GOOD, GOOD, GOOD_LISTS, VALUES)
    return st.fixed_dictionaries(dict.fromkeys(mostly, right), optional=dict.fromkeys(keys, VALUES))


GRAPH = objects("destination", "id", "type", mostly=("source", "target", "relationship", "name"))
MEMORY = objects("id", "text", "user_id", "agent_id", "run_id", "created_at", "expiration_date", "categories",
                 "metadata", "hash", mostly=("memory",))  # fmt: skip
MEMORIES = st.tuples(MEMORY, st.lists(GRAPH, max_size=3), st.lists(GRAPH, max_size=3)).map(
    lambda parts: {**parts[0], "entities": parts[1], "relations": parts[2]}
)
NODE = objects("content", "labels", "group_id", "valid_at", "created_at", mostly=("uuid", "name", "summary"))
EDGE = objects(
    "valid_at",
    "invalid_at",
    "group_id",
    mostly=("uuid", "name", "fact", "source_node_uuid", "target_node_uuid", "episodes"),
)
DOC = objects("idx", mostly=("passage", "extracted_entities", "extracted_triples"))
EXPORTS: list[tuple[Reader, st.SearchStrategy[Any]]] = [
    (Mem0Export(clock=FrozenClock()), st.fixed_dictionaries({"results": st.lists(st.one_of(MEMORIES, VALUES), max_size=5), "relations": st.lists(GRAPH, max_size=3)})),
    (GraphitiExport(), st.fixed_dictionaries({"nodes": st.lists(st.one_of(NODE, VALUES), max_size=5), "edges": st.lists(EDGE, max_size=5)})),
    (LpmmOpenie(), st.fixed_dictionaries({"docs": st.lists(st.one_of(DOC, VALUES), max_size=5)})),
]  # fmt: skip


def accepted(one: Record | Bad) -> None:
    """A record passes the request model of its operation, with metadata that can be written."""
    if isinstance(one, Bad):
        assert one.place and one.reason
        return
    model = {"text": IngestText, "summary": IngestSummary}[one.kind]
    request = model.model_validate(one.arguments)
    assert request.external_id
    json.dumps(request.metadata, ensure_ascii=False, allow_nan=False)


@pytest.mark.parametrize(("reader", "content"), EXPORTS, ids=lambda one: type(one).__name__)
def test_any_export_is_read(tmp_path: Path, reader: Reader, content: st.SearchStrategy[Any]) -> None:
    path = tmp_path / "any.json"

    @FUZZ
    @given(content)
    def reads(value: Any) -> None:
        path.write_text(json.dumps(value), "utf-8")
        found = list(reader.read(path, 0))
        for position, one in found:
            accepted(one)
            rest = [later for later in reader.read(path, position) if later[0] > position]
            assert [later for later in found if later[0] > position] == rest

    reads()


CELLS = st.one_of(SCALARS, st.binary(max_size=5))
ABOUT = st.one_of(
    objects("chat_id", "chat_ids", "stream_id", "scope_type", "person_id", "person_ids", "person_name", "participants",
            "tags", "source_type", "source", "memory_change").map(json.dumps),
    CELLS,
)  # fmt: skip
ROW = st.fixed_dictionaries(
    {"row_": st.integers(1, 9), "hash": st.one_of(GOOD, CELLS), "content": st.one_of(GOOD, CELLS)},
    optional={"metadata": ABOUT, "source": CELLS, "created_at": CELLS, "event_time": CELLS, "event_time_start": CELLS,
              "event_time_end": CELLS, "expires_at": CELLS, "knowledge_type": CELLS, "is_deleted": st.sampled_from([0, None])},
)  # fmt: skip
RELATION = st.fixed_dictionaries(
    {
        "row_": st.integers(1, 9),
        "hash": CELLS,
        "subject": st.one_of(GOOD, CELLS),
        "predicate": st.one_of(GOOD, CELLS),
        "object": st.one_of(GOOD, CELLS),
    },
    optional={"confidence": CELLS, "metadata": ABOUT, "created_at": CELLS},
)
REFERENCE = st.fixed_dictionaries({"external_id": CELLS, "source_type": CELLS, "metadata_json": ABOUT})


@FUZZ
@given(
    ROW,
    st.lists(RELATION, max_size=3),
    st.lists(st.fixed_dictionaries({"name": CELLS}), max_size=3),
    st.lists(REFERENCE, max_size=3),
)
def test_any_row_of_the_reference_is_read(row: Any, relations: Any, entities: Any, references: Any) -> None:
    key = row["hash"]
    try:
        known = Known({key: relations}, {key: entities}, {key: references})
    except TypeError:
        known = Known({}, {}, {})
    made = list(paragraph_records(row, known, "a-memorix", 0.0))
    for relation in relations:
        made += loose_relation(relation, "a-memorix")
    for one in made:
        accepted(one)


def test_a_deep_value_is_left_out_of_the_metadata(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    path = write(tmp_path / "deep.json", [{"id": "1", "memory": "好", "metadata": {"deep": deep, "mood": "glad"}}])
    _, one = next(iter(Mem0Export().read(path, 0)))
    accepted(one)
