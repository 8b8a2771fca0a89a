"""The statements that are run on databases of other programs."""

from __future__ import annotations

import re
from pathlib import Path

import amemorix
from amemorix.store.queries import FOREIGN, queries

PACKAGE = Path(amemorix.__file__).parent
WHO = (
    "store/read_only_database.py", "store/temp_lookup.py", "importing/readers/amemorix_directory.py",
    "importing/readers/maibot.py",
)  # fmt: skip


def test_every_statement_is_used_and_every_one_that_is_asked_for_exists() -> None:
    code = "\n".join((PACKAGE / name).read_text("utf-8") for name in WHO)
    words = set(re.findall(r'"(\w+)"', code))
    asked = set(re.findall(r'(?:rows|last|prepare|_grouped)\(\s*"(\w+)"|_statements\["(\w+)"\]', code))
    assert sorted(set(queries(FOREIGN)) - words) == []
    assert sorted({name for pair in asked for name in pair if name} - set(queries(FOREIGN))) == []


def test_none_changes_a_table_of_the_other_program() -> None:
    """Only what is made in the connection's own temporary store is ever written."""
    own = {"evidence", "paragraph_entities", "external_memory_refs", "repeated", "kept"}
    for name, sql in queries(FOREIGN).items():
        first = sql.split()[0].lower()
        assert first in ("select", "create", "insert", "update"), name
        if first == "create" and not name.startswith("scratch"):
            assert re.match(r"create temp table|create index temp\.", sql), name
        if written := re.match(r"(?:insert(?: or ignore)? into|update) (\w+)", sql):
            assert written[1] in own, name
