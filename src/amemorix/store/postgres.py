"""The statements and the schema in the words of PostgreSQL: translated from those of SQLite, or worded a second time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

from ..lazy_regex import lazy_regex
from .migrations import migrations
from .queries import queries, sqlite_only

__all__ = ["Statement", "postgres_schema", "postgres_statements", "to_postgres"]

Node: TypeAlias = "str | list[Node]"
"""A token, or the tokens between two parentheses."""

_TOKEN = lazy_regex(
    r"""x?'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | :\w+ | \d+\.\d+ | \w+ | <> | <= | >= | \|\| | ->> | \S""", re.X
)
_LISTED = lazy_regex(r"\b(?:any|all|unnest) ?\( ?:(\w+)")
_PARAMETER = lazy_regex(r"(?<!:):([a-z]\w*)|'(?:[^']|'')*'")
_NULL_TEST = lazy_regex(r":(\w+) is(?= null| not null)")
_UNNESTED = lazy_regex(r"unnest\(:(\w+)\) with ordinality as (\w+)")
_OPERATORS = ("=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "/", "||", "in", "is", "between")
_CONDITIONS = ("where", "and", "or", "not", "on", "when", "having")
"""Words after which a truth value stands."""
_CLAUSES = ("limit", "union", ";")
_JOINED = ("where", "join", "cross", "left", "on", "order", "group", "union", "limit")
"""Words that follow a table without being its alias."""
_TYPES = {"integer": "bigint", "real": "double precision", "blob": "bytea", "text": "text"}
"""`real` has four bytes in PostgreSQL: seconds since 1970 would be rounded to two minutes."""
_BYTEWISE = ' collate "C"'
"""How SQLite compares texts."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that PostgreSQL prepares, with the names of its parameters `$1`, `$2`, … in order."""

    text: str
    parameters: tuple[str, ...]
    lists: frozenset[str]
    """Those of the parameters that are arrays here and JSON in SQLite."""

    def values(self, given: Mapping[str, Any]) -> list[Any]:
        """The values of the parameters in order, as the subjects give them to SQLite."""
        return [
            json.loads(given[name]) if name in self.lists and given[name] is not None else given[name]
            for name in self.parameters
        ]


@cache
def postgres_statements() -> dict[str, Statement]:
    """Every statement that is not about SQLite itself; a second wording without a first one is a ValueError."""
    portable = {name: sql for name, sql in queries().items() if name not in sqlite_only()}
    again = _second_wordings("queries", portable)
    return {name: _numbered(again[name]) if name in again else to_postgres(sql) for name, sql in portable.items()}


def to_postgres(sql: str) -> Statement:
    """A statement of SQLite with the phrases replaced that PostgreSQL has other words for."""
    text = _worded(_tree(sql.replace("insert or ignore into", "insert into", 1)))
    if sql.startswith("insert or ignore into"):
        text += " on conflict do nothing"
    text = _NULL_TEST.sub(lambda found: f":{found[1]}{_cast(found[1], text)} is", text)
    return _numbered(_UNNESTED.sub(lambda found: _list_rows(found[1], found[2], text), text))


@cache
def postgres_schema() -> str:
    """The statements that build the tables, indexes, views and triggers of the newest schema."""
    again = _second_wordings("schema", {name for name, _ in _schema()})
    return ";\n\n".join(again[name] if name in again else _created(nodes) for name, nodes in _schema()) + ";\n"


def _second_wordings(folder: str, known: Container[str]) -> dict[str, str]:
    found = queries((f"store/sql/postgres/{folder}",))
    if unknown := [name for name in found if name not in known]:
        raise ValueError(f"worded for PostgreSQL only: {', '.join(unknown)}")
    return found


def _numbered(sql: str) -> Statement:
    names: list[str] = []

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Statement(_PARAMETER.sub(number, sql), tuple(names), frozenset(_LISTED.findall(sql)))


def _list_rows(parameter: str, alias: str, text: str) -> str:
    """The elements of a list, whose type the text tells where it compares them or looks into them."""
    value = rf"\b{alias}\.value" if alias != "json_each" else r"(?<!\.)\bvalue"
    compared = re.search(rf"(\w+) = {value}\b", text)
    if re.search(rf"{value}::jsonb", text):
        rows = f"jsonb_array_elements_text(:{parameter}::jsonb)"
    elif re.search(rf"position\(\({value}\)", text) or (compared and _column_types()[compared[1]] == "text"):
        rows = f"unnest(:{parameter}::text[])"
    else:
        rows = f"unnest(:{parameter}::bigint[])"
    return f"{rows} with ordinality as {alias}"


def _cast(parameter: str, text: str) -> str:
    """`:x is null` tells no type: that of the column with which the parameter is compared elsewhere."""
    listed = re.search(rf"(\w+) (?:= any|<> all)\(:{parameter}\)", text)
    compared = re.search(rf"(\w+)\)* (?:[<>=]+|ilike) :{parameter}\b", text)
    column = found[1] if (found := listed or compared) else ""
    return f"::{_column_types().get(column, 'text')}{'[]' if listed else ''}"


def _tree(sql: str) -> list[Node]:
    levels: list[list[Node]] = [[]]
    for token in _TOKEN.findall(sql):
        if token == "(":
            levels.append([])
        elif token == ")":
            group = levels.pop()
            levels[-1].append(group)
        elif not token.startswith("--"):
            levels[-1].append(token)
    (nodes,) = levels
    return nodes


def _worded(nodes: Sequence[Node]) -> str:
    """The nodes as text, with each turn of phrase replaced that PostgreSQL has other words for."""
    text = ""
    at = 0
    while at < len(nodes):
        for phrase in _PHRASES:
            if found := phrase(nodes, at):
                words, length = found
                break
        else:
            node = nodes[at]
            words, length = (node if isinstance(node, str) else f"({_worded(node)})"), 1
        at += length
        glued = words in (".", ",", ";") or text.endswith((".", "(")) or not text or not words
        text += words if glued else f" {words}"
    return text


def _split(nodes: Sequence[Node], by: str = ",") -> list[list[Node]]:
    parts: list[list[Node]] = [[]]
    for node in nodes:
        if node == by:
            parts.append([])
        else:
            parts[-1].append(node)
    return parts


Phrase = tuple[str, int]
"""What takes the place of how many nodes."""


def _member(nodes: Sequence[Node], at: int) -> Phrase | None:
    negated = nodes[at : at + 2] == ["not", "in"]
    start = at + 1 if negated else at
    match nodes[start : start + 2]:
        case ["in", ["select", "value", "from", "json_each", [str(parameter)]]]:
            return (f"<> all({parameter})" if negated else f"= any({parameter})"), 3 if negated else 2
        case _:
            return None


def _elements(nodes: Sequence[Node], at: int) -> Phrase | None:
    match nodes[at : at + 3]:
        case ["json_each", list(arguments), str(alias)] if alias.isidentifier() and alias not in _JOINED:
            length = 3
        case ["json_each", list(arguments), *_]:
            alias, length = "json_each", 2
        case _:
            return None
    match _split(arguments):
        case [document, [str(path)]]:
            rows = f"jsonb_array_elements_text({_at_path(_worded(document), path)})"
        case [[str(parameter)]] if parameter.startswith(":"):
            rows = f"unnest({parameter})"
        case _:
            rows = f"jsonb_array_elements_text({_worded(arguments)}::jsonb)"
    return f"{rows} with ordinality as {alias} (value, key)", length


def _cross_join(nodes: Sequence[Node], at: int) -> Phrase | None:
    """SQLite's `cross join … on` keeps the order of the tables; elsewhere it is a join."""
    if nodes[at : at + 2] != ["cross", "join"]:
        return None
    after = (node for node in nodes[at + 2 :] if node in ("on", *_JOINED))
    return ("join", 2) if next(after, None) == "on" else None


def _null_safe(nodes: Sequence[Node], at: int) -> Phrase | None:
    match nodes[at : at + 3]:
        case ["is", "not", "null" | "distinct"] | ["is", "null" | "json", *_]:
            return None
        case ["is", "not", *_]:
            return "is distinct from", 2
        case ["is", *_]:
            return "is not distinct from", 1
        case _:
            return None


def _number_as_condition(nodes: Sequence[Node], at: int) -> Phrase | None:
    """`flags & 4`, `pinned` and `instr(a, b)` stand where SQLite wants a truth value."""
    match nodes[at : at + 5]:
        case [str(), ".", str(), "&", str()]:
            length = 5
        case [str(), "&", str(), *_]:
            length = 3
        case [str(), ".", str(flag), *_] if flag in _flags():
            length = 3
        case ["instr", list(), *_]:
            length = 2
        case [str(flag), *_] if flag in _flags():
            length = 1
        case _:
            return None
    before = nodes[at - 1] if at else None
    after = nodes[at + length] if at + length < len(nodes) else None
    if after in _OPERATORS or (before not in _CONDITIONS and after not in ("and", "or")):
        return None
    number = _call(nodes, at) if nodes[at] == "instr" else None
    return f"({number[0] if number else ' '.join(map(str, nodes[at : at + length]))}) <> 0", length


def _order(nodes: Sequence[Node], at: int) -> Phrase | None:
    if nodes[at : at + 2] != ["order", "by"]:
        return None
    end = next((i for i in range(at, len(nodes)) if nodes[i] in _CLAUSES), len(nodes))
    return f"order by {_sorted(nodes[at + 2 : end])}", end - at


def _sorted(nodes: Sequence[Node]) -> str:
    """The columns, with null below everything as in SQLite, which here has to be said."""
    terms: list[str] = []
    for term in _split(nodes):
        column = [node for node in term if node != "desc"][-1]
        terms.append(_worded(term))
        if isinstance(column, str) and column in _nullable():
            terms[-1] += " nulls last" if "desc" in term else " nulls first"
    return ", ".join(terms)


def _call(nodes: Sequence[Node], at: int) -> Phrase | None:
    match nodes[at : at + 3]:
        case ["instr", list(given), *_]:
            whole, part = (_worded(argument) for argument in _split(given))
            return f"position(({part}) in {whole})", 2
        case ["min" | "max" as name, list(given), *_] if "," in given:
            return f"{'least' if name == 'min' else 'greatest'}({_worded(given)})", 2
        case ["cast", [*value, "as", "integer"], *_] if "double precision" in _kinds(value):
            return f"cast(trunc({_worded(value)}) as bigint)", 2
        case ["cast", [*value, "as", str(kind)], *_]:
            return f"cast({_worded(value)} as {_TYPES[kind]})", 2
        case ["sum", list(given), *_] if _kinds(given) == {"bigint"}:
            return f"sum({_worded(given)})::bigint", 2
        case ["json_group_array", ["json_array", list(given)], *_]:
            return f"coalesce(json_agg(json_build_array({_worded(given)})), '[]')::text", 2
        case [str(name), list(given), *_] if name in _CALLS:
            return _CALLS[name](*(_worded(argument) for argument in _split(given))), 2
        case _:
            return None


def _kinds(nodes: Sequence[Node]) -> set[str]:
    kinds = _column_types()
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, list):
            found |= _kinds(node)
        elif node in kinds:
            found.add(kinds[node])
    return found


def _at_path(document: str, path: str) -> str:
    steps = re.findall(r"\w+", path)
    return f"{document}::jsonb #> '{{{','.join(steps)}}}'"


_CALLS: dict[str, Callable[..., str]] = {
    "char": "chr({})".format,
    "iif": "case when {} then {} else {} end".format,
    "hex": "upper(encode({}, 'hex'))".format,
    "randomblob": "uuid_send(gen_random_uuid())".format,
    "group_concat": lambda value, separator="','": f"string_agg({value}::text, {separator})",
    "json_quote": "to_json({})::text".format,
    "json_valid": "({} is json)".format,
    "json_object": "json_build_object({}, {})::text".format,
    "json_array": lambda *values: f"json_build_array({', '.join(values)})::text",
    "json_array_length": lambda *place: f"jsonb_array_length({_at_path(*place)})",
    "json_extract": lambda *place: f"({_at_path(*place).replace('#>', '#>>')})",
    "json_type": lambda *place: f"jsonb_typeof({_at_path(*place)})",
    "json_remove": lambda *place: f"({_at_path(*place).replace('#>', '#-')})::text",
}


def _word(nodes: Sequence[Node], at: int) -> Phrase | None:
    match nodes[at : at + 2]:
        case ["indexed", "by"]:
            return "", 3
        case ["9e999", *_]:
            return "double precision 'infinity'", 1
        case ["like", *_]:
            return "ilike", 1
        case ["limit", str(parameter)] if parameter.startswith(":"):
            return f"limit nullif({parameter}::bigint, -1)", 2
        case ["glob", str(pattern)]:
            return f"~ '^{pattern[1:-1].replace('*', '.*').replace('?', '.')}$'", 2
        case [str(blob), *_] if blob.startswith("x'"):
            return f"'\\x{blob[2:-1]}'::bytea", 1
        case _:
            return None


_PHRASES = (_member, _elements, _cross_join, _null_safe, _number_as_condition, _order, _call, _word)


@cache
def _schema() -> list[tuple[str, list[Node]]]:
    """The statements of the migrations, each with the name of what it makes; a trigger is one statement."""
    found: list[tuple[str, list[Node]]] = []
    statement: list[Node] = []
    depth = 0
    for node in _tree("\n".join(sql for _, _, sql in migrations())):
        if node == ";" and not depth:
            name = statement[3 if statement[1] == "unique" else 2]
            found.append((str(name) if statement[0] == "create" else "", statement))
            statement = []
            continue
        depth += (node in ("begin", "case")) - (node == "end")
        statement.append(node)
    return found


def _columns() -> Iterator[tuple[str, str, list[Node]]]:
    """(name, type, the rest of its definition) of every column of every table."""
    for _, nodes in _schema():
        if nodes[:2] == ["create", "table"]:
            parts = _split(nodes[3])
        else:
            parts = [nodes[5:]] if nodes[:2] == ["alter", "table"] and "add" in nodes else []
        for part in parts:
            match part:
                case [str(name), str(kind), *rest] if kind in _TYPES:
                    yield name, _TYPES[kind], rest
                case _:
                    pass


@cache
def _nullable() -> frozenset[str]:
    return frozenset(
        name for name, _, rest in _columns() if "primary" not in rest and ("not", "null") not in pairwise(rest)
    )


@cache
def _flags() -> frozenset[str]:
    """Names of columns that hold 0 or 1."""
    return frozenset(name for name, _, rest in _columns() if [name, "in", ["0", ",", "1"]] in rest)


@cache
def _column_types() -> dict[str, str]:
    return {name: kind for name, kind, _ in _columns()}


def _created(nodes: list[Node]) -> str:
    match nodes:
        case ["create", "table", _, list(columns), *_]:
            return f"{_worded(nodes[:3])} (\n    " + ",\n    ".join(map(_column, _split(columns))) + "\n)"
        case ["alter", "table", str(table), "add", "column", *column]:
            return f"alter table {table} add column {_column(column)}"
        case ["drop", "trigger", str(name)]:
            return f"drop function {name}() cascade"
        case ["create", "trigger", str(name), *_]:
            return _trigger(name, nodes)
        case ["create", *_] if "index" in nodes[:3]:
            at = nodes.index("on") + 2
            return f"{_worded(nodes[:at])} ({_sorted(nodes[at])}) {_worded(nodes[at + 1 :])}".rstrip()
        case _:
            return _worded(nodes)


def _column(nodes: list[Node]) -> str:
    match nodes:
        case [str(name), "integer", "primary", "key", "autoincrement"]:
            return f"{name} bigint generated by default as identity primary key"
        case [str(name), str(kind), *rest] if kind in _TYPES:
            return f"{name} {_TYPES[kind]}{_BYTEWISE if kind == 'text' else ''} {_worded(rest)}"
        case _:
            return _worded(nodes)


def _trigger(name: str, nodes: list[Node]) -> str:
    begin = nodes.index("begin")
    event, *condition = _split(nodes[3:begin], "when")
    when = f"when ({_worded(condition[0])}) " if condition else ""
    return (
        f"create function {name}() returns trigger language plpgsql as $$\n"
        f"begin\n    {_worded(nodes[begin + 1 : -1])}\n    return {'old' if event[0] == 'before' else 'null'};\nend $$;\n"
        f"{_worded(nodes[:3])} {_worded(event)} for each row {when}execute function {name}()"
    )
