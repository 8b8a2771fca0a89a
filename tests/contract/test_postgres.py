"""PostgreSQL takes the schema and every named statement, and does with rows what SQLite does."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest

from amemorix.store.migrations import build, migrations
from amemorix.store.postgres import Statement, postgres_schema, postgres_statements, to_postgres
from amemorix.store.queries import array, queries, sqlite_only

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")

Row = tuple[Any, ...]


class Both:
    """The same empty memory in SQLite and in PostgreSQL."""

    def __init__(self, postgres: psycopg.Connection) -> None:
        self.postgres = postgres
        self.sqlite = sqlite3.connect(":memory:", isolation_level=None)
        build(self.sqlite, migrations()[-1][0])
        self.sqlite.execute("pragma foreign_keys = on")
        self.tables = [name for (name,) in self.sqlite.execute(queries()["tables_listed"])]
        self.execute("update meta set value = 'the same' where key = 'database_id'")

    def execute(self, command: str) -> None:
        self.sqlite.execute(command)
        self.postgres.execute(command)

    def run(self, name: str, /, **values: Any) -> list[Row]:
        """What the statement gives, which has to be the same in both."""
        expected, found = self.answers(name, values)
        assert found == expected, name
        return expected

    def new(self, name: str, /, **values: Any) -> int:
        return self.run(name, **values)[0][0]

    def answers(self, name: str, values: dict[str, Any]) -> tuple[list[Row], list[Row]]:
        return in_sqlite(self.sqlite, name, values), in_postgres(self.postgres, name, values)

    def rows(self) -> list[dict[str, list[Row]]]:
        """All rows of each; in which order changes are told, and how often the same one, is left to the triggers."""
        columns = {
            "changes": "distinct kind, id",
            "document_changes": "distinct kind, ref, chat",
            "name_news": "person, chat, entity",
        }
        commands = {table: f'select {columns.get(table, "*")} from "{table}"' for table in self.tables}
        return [
            {table: normal(db.execute(command).fetchall()) for table, command in commands.items()}
            for db in (self.sqlite, self.postgres)
        ]

    def counters_back(self) -> None:
        """The numbers that SQLite gives out are rolled back with the rows."""
        for table, last in self.sqlite.execute(queries()["number_counters"]):
            column = "seq" if table.endswith("changes") else "id"
            self.postgres.execute("select setval(pg_get_serial_sequence(%s, %s), %s)", [table, column, last])


def in_sqlite(db: sqlite3.Connection, name: str, values: dict[str, Any]) -> list[Row]:
    try:
        return normal(db.execute(queries()[name], values).fetchall())
    except sqlite3.IntegrityError:
        return REFUSED


def in_postgres(db: psycopg.Connection, name: str, values: dict[str, Any]) -> list[Row]:
    statement = postgres_statements()[name]
    try:
        cursor = psycopg.RawCursor(db).execute(statement.text, [untyped(value) for value in statement.values(values)])
    except psycopg.IntegrityError:
        return REFUSED
    return normal(cursor.fetchall()) if cursor.description else []


REFUSED: list[Row] = [("refused",)]
"""In place of rows, where a check or a reference does not allow it."""


def untyped(value: Any) -> str | bytes | None:
    """As the server takes it for whatever type the statement wants."""
    if isinstance(value, list):
        return "{" + ",".join(json.dumps(str(item)) for item in value) + "}"
    if value is None or isinstance(value, bytes):
        return value
    return str(int(value) if isinstance(value, bool) else value)


def normal(rows: list[Row]) -> list[Row]:
    """In one order, which statements leave open among equals."""
    return sorted((tuple(map(plain, row)) for row in rows), key=repr)


def plain(value: Any) -> Any:
    """Truth values as numbers, numbers joined by commas in one order, documents whatever their spaces."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"\d+(,\d+)+", value):
        return sorted(value.split(","))
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return json.loads(value)
    return value


@pytest.fixture
def db(address: str) -> Iterator[psycopg.Connection]:
    """An empty memory."""
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("drop schema public cascade; create schema public")
        db.execute(postgres_schema())
        yield db


def test_every_statement_is_prepared(db: psycopg.Connection) -> None:
    refused: dict[str, str] = {}
    for name, statement in postgres_statements().items():
        result = db.pgconn.prepare(name.encode(), statement.text.encode())
        if result.status != psycopg.pq.ExecStatus.COMMAND_OK:
            refused[name] = result.error_message.decode()
    assert refused == {}


def test_what_only_sqlite_has_is_about_its_files_its_catalogue_or_its_settings() -> None:
    about = re.compile(
        r"^(pragma |reindex$|vacuum$)|\bsqlite_(schema|sequence)\b|\bpragma_\w+\(|\bprintf\('(select|insert) "
    )
    assert [name for name in sorted(sqlite_only()) if not about.search(queries()[name])] == []
    assert set(postgres_statements()) == set(queries()) - sqlite_only()


def fill(both: Both) -> None:
    """A few rows of everything."""
    for name in ("c", "d"):
        both.new("chat_insert", chat_id=name, group_id="g", user_id="u", now=10.0)
    sources = [both.new("source_insert", name=f"source {i}", chat=i, source_type="chat", now=10.0) for i in (1, 2)]
    sessions = [both.new("session_insert", source=source, scope=source) for source in sources]
    persons = [both.new("person_insert", person_id=f"p-{name}", name=name, now=10.0) for name in ("mia", "林澈", "bo")]
    for person, name in zip(persons, ("mia", "林澈", "bo"), strict=True):
        both.run("chat_person_insert", person=person, chat=1, name=name)
    both.run("person_alias_insert", person=1, chat=0, norm="mi", alias="Mi", origin="admin", now=11.0)
    for i in range(1, 9):
        chat = 1 if i < 7 else 2
        ref = both.new("ref_insert", source=chat, external_id=f"e{i}", content_hash=bytes([i]), now=20.0 + i)
        paragraph = both.new(
            "paragraph_insert", source=chat, ref=ref, revision=1, position=0, chat=chat, scope=chat, session=sessions[chat - 1],
            kind="message" if i < 6 else "text", knowledge="factual", speaker=1 + i % 2, flags=i, now=20.0 + i,
            event_start=None if i == 4 else 900.0 + i, event_end=None if i == 4 else 910.0 + 2 * i,
            expires_at=1500.0 if i == 6 else None, content_hash=bytes([i]), content=f"mia lives in porto {i}",
            tags='["t"]', metadata='{"a": 1}', derive=1,
        )  # fmt: skip
        both.run("original_put", ref=ref, revision=1, content=f" mia lives in porto {i}")
        both.run("terms_insert", id=paragraph, v=bytes(range(i, i + 10)))
        both.run("paragraph_person_insert", paragraph=paragraph, person=1 + i % 2, role=1, name="mia")
    entities = [
        both.new("entity_insert", name=name, norm=name.lower(), kind="", origin=origin, now=12.0)
        for name, origin in (("mia", "caller"), ("Porto", "rule"), ("Bo", "model"), ("Kyoto", "admin"))
    ]
    both.run("entity_alias_put", norm="oporto", entity=2, alias="Oporto", origin="caller", created_at=13.0)
    both.run("entity_paragraphs_link", entities=array(entities), paragraphs=array([1, 2, 3, 7]))
    for number, (subject, object_, origin) in enumerate(
        ((1, 2, "caller"), (1, 4, "rule"), (3, 2, "model"), (3, 4, "admin"))
    ):
        relation = both.new("relation_upsert", subject=subject, predicate="lives_in", object=object_, confidence=0.5 + number / 10,
                            origin=origin, now=14.0)  # fmt: skip
        both.run("relation_paragraphs_link", relations=array([relation]), paragraphs=array([number + 1, 7]))
    both.run("relations_taken", by="u1", ids="[1]")
    undo = both.new("undo_insert", kind="entity_merge", requested_by="mia", reason="Mia said so", now=15.0, detail=json.dumps(
        {"target": 2, "touches": ["n2", "r1"], "sources": [{"id": 3, "paragraphs": [1, 2]}]}))  # fmt: skip
    for i, value in enumerate(("porto", "lisbon", "*", "kyoto"), 1):
        both.new(
            "fact_insert", person=None if i == 3 else 1, entity=2 if i == 3 else None, scope=1, attribute="home", value=value,
            norm=value, polarity=1, cardinality="single", stability="stable", authority="direct_user", confidence=0.9,
            asserted_at=16.0 if i == 3 else None, merged=i == 1, valid_from=900.0, valid_to=None, now=17.0,
            kind="home", importance=0.5,
        )  # fmt: skip
        for paragraph in (i % 4 + 1, 2):
            both.run("fact_evidence_put", fact=i, paragraph=paragraph, value="porto", at=900.0 + paragraph, until=None,
                     told=900.5 + paragraph, authority="direct_user", confidence=0.9, sentence="")  # fmt: skip
        both.run("fact_transition_insert", fact=i, was="", became="active", cause=None, undo=undo, requested_by="",
                 reason="Mia", at=18.0)  # fmt: skip
    both.run("fact_link_put", fact=1, later=2, outcome="replaces", reason="")
    both.run("fact_link_put", fact=4, later=2, outcome="doubts", reason="")
    both.run("fact_update", id=1, value="porto", authority="direct_user", status="superseded", confidence=0.8, valid_from=900.0,
             valid_to=950.0, superseded_at=950.0, superseded_by=2, outdone_at=940.0, doubted_by=None, kind="home", importance=0.5)  # fmt: skip
    for status in ("serving", "building"):
        generation = both.new(
            "generation_insert", fingerprint="mia", provider="p", model="m", dimension=2, status=status, now=19.0
        )
        for i in (1, 2, 3):
            both.run("embedding_put", paragraph=i, generation=generation, vector=bytes([i] * 4))
            both.run("token_vectors_put", paragraph=i, generation=generation, tokens=b"ab")
            both.run("embedding_failure_put", paragraph=i + 3, generation=generation, next_at=500.0, error="no")
        both.run("relation_embedding_put", relation=1, generation=generation, vector=b"1234", sentence="")
    for kind in ("paragraph", "relation"):
        both.run("retention_put", kind=kind, id=1, strength=0.4, anchor_at=30.0, pinned=0, protected_until=None,
                 accessed_at=None, reinforced_at=40.0, reinforcements=1)  # fmt: skip
    for i in (1, 2):
        both.new("episode_insert", source=1, scope=1, stretch=1 if i == 1 else 3, title="porto", summary="s", event_start=901.0,
                 event_end=920.0, paragraph_count=2, participants="[]", keywords="[]", segmented_by="rules", model_due=100.0,
                 prompt="", now=50.0)  # fmt: skip
        for position, paragraph in enumerate((2 * i - 1, 2 * i)):
            both.run("episode_member_insert", paragraph=paragraph, episode=i, position=position)
        both.run("episode_term_insert", term=i, scope=1, episode=i)
        both.run("episode_news_insert", since=1.0, upto=2.0, anew=0, source=i)
        both.run("task_want", kind="episodes", key=i, since=1.0, status="pending", due_at=60.0, now=60.0)
        both.run("profile_override_put", person=i, text="t", updated_by="mia", source="s", now=62.0)
        both.run("chat_usage_add", day="mia", task=str(i), calls=1, failures=0, prompt_tokens=10, completion_tokens=5)
        both.run("summary_want", chat=i, wanted=5, now=63.0)
        operation = both.new("operation_insert", mode="mixed", selector="{}", counts='{"a": 1}', stays="[]", requested_by="mia",
                             reason="Mia", status="executed", now=64.0)  # fmt: skip
        for kind in ("paragraph", "relation", "fact", "entity"):
            both.run(
                "operation_item_insert",
                operation=operation,
                kind=kind,
                id=i,
                detail='{"why": "target", "row": {"x": 1}}',
            )
        both.new("correction_insert", request="mia", person=i, chat=i, plan='{"paragraphs": [1, 2]}', requested_by="mia",
                 reason="", now=65.0)  # fmt: skip
        both.new("v5_operation_insert", action="pin", kind="mixed", items='[{"id": "p1"}]', strength=None, requested_by="mia",
                 reason="Mia", now=66.0)  # fmt: skip
        both.new("feedback_insert", key=f"q{i}", chat=i, query="mia", asked_at=67.0, hits="[]")
        task = both.new(
            "import_task_insert",
            kind="mia",
            params='{"columns": {"a": "b"}}',
            parent=None,
            requested_by="mia",
        )
        file = both.new("import_file_insert", task=task, name="f", root="staging", path="p", format="x", size=1, sha256="mia",
                        position=0, rest=1)  # fmt: skip
        both.run("import_chunk_queue", file=file, number=1, start=0, stop=5)
        both.run("import_chunk_put", file=file, number=2, start=5, stop=9, status="failed", records=1, counts="{}",
                 errors='["no"]', now=71.0)  # fmt: skip
        both.run("import_source_met", file=file, source=1)
        both.new("audit_insert", at=72.0, component="memory_import_admin", action="a", target="retry task_id=i1", requested_by="mia", door="sdk",
                 records='{"delete": [1], "undo": [1]}', rows=1)  # fmt: skip
        tuning = both.new("tuning_insert", options="{}", baseline="{}", rounds=3, reason="mia")
        query = both.new("tuning_query_insert", task=tuning, split="train", kind="fact", chat_id="c", text="mia")
        both.run("tuning_query_link", query=query, role="target", paragraphs="[1, 2]")
        both.run("tuning_round_insert", task=tuning, round=1, params="{}", profile="{}", score=0.5, merit=0.5, figures="{}",
                 seconds=1.5, created_at=74.0)  # fmt: skip
        both.new("retrieval_profile_insert", task=tuning, profile="{}", previous="{}", reason="", now=75.0)
        both.new("space_insert", name=f"space {i}", dimension=None, now=76.0)
        both.run("space_vectors_insert", space=i, external_id="e1", ref=i if i < 3 else None, expires_at=None, magnitude=2.0,
                 attributes='{"a": 1}', vector=b"\x01\x02")  # fmt: skip
    both.run("entity_set_merged", target=2, ids="[3]")
    both.run("entity_set_deleted", at=80.0, ids="[4]")
    both.run("delete_relations", now=81.0, ids="[1, 4]")
    both.run("relations_taken", by="c2", ids="[1]")
    both.run("relations_taken", by="d1", ids="[4]")
    both.run("fact_update", id=4, value="kyoto", authority="direct_user", status="superseded", confidence=0.8, valid_from=900.0,
             valid_to=950.0, superseded_at=950.0, superseded_by=2, outdone_at=940.0, doubted_by=None, kind="home", importance=0.5)  # fmt: skip
    both.run("operation_items_wanted", operation=1, kind="relation", ids="[1]")
    both.run("purge_begin", id=2)
    both.run("profile_paragraph_delete", now=90.0, id=8)
    both.run("relations_set_state", inactive_at=82.0, reason="decay", deleted_at=None, ids="[2]")
    both.run("correction_supersede", now=910.0, ids="[5]")
    both.run(
        "correction_copy", flags=16, now=910.0, content_hash=b"n", content="mia lives in kyoto", metadata="{}", old=5
    )
    both.run("fact_evidence_refute", stance="refute", fact=2, paragraph=3)
    both.run("task_want", kind="episodes", key=3, since=1.0, status="pending", due_at=60.0, now=60.0)
    for kind in ("feedback", "import", "tuning"):
        for key in (1, 2):
            both.run("task_want", kind=kind, key=key, since=None, status="queued", due_at=60.0, now=60.0)
    for kind in ("episodes", "feedback", "import", "tuning"):
        both.run("task_claim", kind=kind, status="running", limit=1, most=9, now=70.0, until=80.0, worker="me")


VALUES: dict[str, list[Any]] = {
    "bigint": [1, 2, 3],
    "integer": [4, 2, 0],
    "double precision": [905.0, 60.0, 2000.0],
    "text": ["mia", "porto", ""],
    "bigint[]": [array(range(1, 10)), array([2, 99]), array([])],
    "text[]": [array(["mia", "porto", "e1", "c", "home"]), array(["source 1", "kyoto", "entity_merge"]), array([])],
    "boolean": [1, 0, 1],
    "bytea": [b"\x01\x02", b"\x09", b""],
}
"""What is given for the parameters of each type, one turn after the other."""
TURNS = 4
FITTING: dict[str, list[Any]] = {
    "limit": [100, -1], "offset": [0], "after": [0], "cursor": [0], "most": [9], "upto": [99, 2, 1], "role": [1], "polarity": [1],
    "confidence": [0.5], "importance": [0.5], "outcome": ["doubts"], "strength": [0.5], "dimension": [3], "rounds": [2], "pinned": [1], "derive": [1], "tags:text": ['["t"]', "[]", '["mia"]'], "tags:text[]": [array(["t"]), array(["mia"])], "anew": [1], "rest": [1], "attempts": [1],
    "kind": ["paragraph", "episodes", "relation"], "kinds": [array(["paragraph", "entity_merge", "relation", "added"])],
    "status": ["completed", "failed", "executed"], "statuses": [array(["active", "failed", "executed", "pending"])],
    "origin": ["caller", "admin", "rule"], "mode": ["mixed"], "knowledge": ["quote"], "stance": ["refute"], "cardinality": ["set"],
    "stability": ["stable"], "authority": ["rule"], "split": ["train"], "stage": ["done"], "segmented_by": ["model"],
    "inactive_reason": ["decay"], "reason": ["", "decay", "frozen"], "worker": ["me", "", "me"], "attribute": ["home"],
    "norm": ["porto", "mi", "kyoto"], "folded": ["mi"], "predicate": ["lives_in"], "predicates": [array(["lives_in"])],
    "chat_id": ["c"], "group_id": ["g", "", "g"], "user_id": ["u"], "person_id": ["p-mia"], "external_id": ["e1"],
    "name": ["mia", "source 1", "Mi"], "alias": ["Mi"], "key": ["q1", "changes_floor", "x"], "key:bigint": [1, 2, 3],
    "first": ["a"], "last": ["z"], "last:bigint": [9], "text": ["orto", "mia", "yoto"], "by": ["d1", "u1", "c2"], "but:bigint[]": [array([99])], "now": [2000.0, 60.0, 905.0], "id:text": [1],
    "meanings": ['[["lives in", "home", 1]]'], "norms": [array(["porto", "kyoto", "mi", "*"])], "names": [array(["mia", "orto", "Mi"])],
    "attributes": [array(["home"])], "labels:text[]": [array(["e1", "01", "mia"])], "subject": [1], "object": [2],
}  # fmt: skip
"""What is given for parameters of these names, where rows are found by it or a check allows nothing else."""
DOCUMENT = re.compile("detail|records|metadata|plan|counts|result|hits|items|stays|selector|receipt|decision|params|"
                      "options|baseline|profile|previous|figures|content|participants|keywords|errors|notes")  # fmt: skip


def test_every_statement_does_the_same_in_both(db: psycopg.Connection) -> None:
    both = Both(db)
    both.execute("begin")
    fill(both)
    both.execute("commit")
    rows, same = both.rows()
    assert same == rows
    assert [table for table in both.tables if not rows[table]] == []
    differing: dict[tuple[str, int], Any] = {}
    for name, statement in postgres_statements().items():
        types = parameter_types(db, statement.text)
        for turn in range(TURNS):
            values = arguments(statement, types, turn)
            both.execute("begin")
            written = both.sqlite.total_changes
            expected, found = both.answers(name, values)
            if expected is not REFUSED and both.sqlite.total_changes > written:
                expected, found = zip((expected, found), both.rows(), strict=True)
            both.execute("rollback")
            if found != expected:
                differing[name, turn] = values, expected, found
            if statement.text.startswith("insert"):
                both.counters_back()
    assert differing == {}


def parameter_types(db: psycopg.Connection, text: str) -> list[str]:
    db.pgconn.prepare(b"", text.encode())
    described = db.pgconn.describe_prepared(b"")
    numbers = [described.param_type(i) for i in range(described.nparams)]
    return [db.execute("select format_type(%s, null)", [number]).fetchone()[0] for number in numbers]


def arguments(statement: Statement, types: list[str], turn: int) -> dict[str, Any]:
    """In the last turn null wherever the statement asks for it."""
    given: dict[str, Any] = {}
    for number, (parameter, kind) in enumerate(zip(statement.parameters, types, strict=True), 1):
        if turn == TURNS - 1 and re.search(rf"\${number}::[\w ]+(\[\])? is null", statement.text):
            given[parameter] = None
        elif kind == "text" and DOCUMENT.fullmatch(parameter):
            given[parameter] = "{}"
        else:
            values = FITTING.get(f"{parameter}:{kind}") or FITTING.get(parameter) or VALUES[kind]
            given[parameter] = values[turn % len(values)]
    return given


@pytest.mark.parametrize(
    ("sqlite", "text"),
    [
        ("select id from paragraphs where id in (select value from json_each(:ids))", "select id from paragraphs where id = any($1)"),
        ("select id from paragraphs order by deleted_at desc, id", "select id from paragraphs order by deleted_at desc nulls last, id"),
        ("select id from facts where person is :person", "select id from facts where person is not distinct from $1"),
        ("select id from facts where :at is null or valid_from <= :at",
         "select id from facts where $1::double precision is null or valid_from <= $1"),
        ("select id from paragraphs indexed by paragraphs_in_cjk where flags & 16 and not instr(content, 'it''s :x')",
         "select id from paragraphs where (flags & 16) <> 0 and not (position(('it''s :x') in content)) <> 0"),
        ("select cast(recorded_at * 1000 as integer) from paragraphs", "select cast(trunc(recorded_at * 1000) as bigint) from paragraphs"),
    ],
)  # fmt: skip
def test_phrases_are_translated(sqlite: str, text: str) -> None:
    assert to_postgres(sqlite).text == text


def test_lists_are_arrays_and_parameters_stand_in_order() -> None:
    statement = to_postgres("select :b, :a, value from json_each(:a) where value = :b")
    assert statement.parameters == ("b", "a")
    assert statement.values({"a": "[1, 2]", "b": 1, "c": 2}) == [1, [1, 2]]
