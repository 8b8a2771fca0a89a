"""Every operation through every door: `invoke`, HTTP and the command line give the same answer."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner, Result

from amemorix.clock import SystemClock
from amemorix.frontends.cli.call import arguments
from amemorix.frontends.cli.main import COMMANDS, app
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.host.operations import OPERATIONS
from amemorix.ops import Operation
from amemorix.testing import memory_host, scratch_config
from daemon_process import daemon
from sample_memory import FILLING, KNOWN
from schema_values import smallest

Door = Callable[[Operation, dict[str, Any]], Awaitable[dict[str, Any]]]
ORDER = {"read": 0, "write": 1, "destructive": 2}
MINE = frozenset({"json", "config", "help"})
"""Options that every command has."""


ALSO: dict[str, dict[str, Any]] = {
    "search_memory": {"query": "北京"},
    "ingest_messages": {"chat_id": "c"},
    "maintain_memory_used": {"targets": ["p1"]},
    "memory_correction_admin_preview": {"chat_id": "c"},
    "memory_correction_admin_execute": {"confirmed": True},
    "memory_delete_admin_preview": {"selector": "p4"},
    "memory_delete_admin_execute": {"selector": "p4"},
    "memory_delete_admin_purge": {"older_than_days": 0},
    "memory_episode_admin_rebuild": {"all": True},
    "memory_fact_admin_query": {"text": "周宁"},
    "memory_fact_admin_add": {"person_id": "周宁"},
    "memory_fact_admin_supersede": {"value": "上海"},
    "memory_graph_admin_edge_detail": {"relation": "r1"},
    "memory_graph_admin_merge_nodes": {"sources": ["kite"], "target": "Hannah"},
    "memory_graph_admin_add_alias": {"node": "Hannah", "alias": "汉娜"},
    "memory_graph_admin_remove_alias": {"node": "Hannah", "alias": "汉娜"},
    "memory_graph_admin_update_edge_weight": {"relation": "r1"},
    "memory_graph_admin_delete_edge": {"source": "周宁", "target": "北京"},
}
"""Without these a request of only what its schema requires is refused, since it names nothing."""
WITHOUT_MODEL = {"embed_texts": "model_unavailable"}
"""What is answered where there is no embedding model, by an operation that is nothing without one."""
OPEN = {"privacy.require_scope": "never"}
"""Every door takes a call without a chat, as the process itself does."""
LAST = (
    "memory_correction_admin_preview", "memory_correction_admin_get", "memory_correction_admin_execute",
    "memory_correction_admin_rollback", "memory_delete_admin_execute", "memory_delete_admin_get_operation",
    "memory_delete_admin_restore", "memory_delete_admin_purge",
)  # fmt: skip
"""Each of these stands on one before it."""


def in_order() -> list[Operation]:
    """What reads, then what writes, then what deletes, then what stands on another."""
    return sorted(
        OPERATIONS, key=lambda op: (LAST.index(op.name) + 9 if op.name in LAST else ORDER[op.effect], op.name)
    )


def least_request(op: Operation) -> dict[str, Any]:
    """The smallest that names something the memory knows."""
    return smallest(op.request.model_json_schema(), KNOWN) | ALSO.get(op.name, {})


def run(*args: str) -> Result:
    return CliRunner().invoke(app, args, env={"COLUMNS": "200"})


def words(op: Operation, args: dict[str, Any]) -> list[str]:
    """The command that calls an operation with these arguments."""
    command = ["call", op.component, *([op.action] if op.action else [])]
    for argument in arguments(op):
        if argument.name in args:
            command += _option(argument.spellings[0], args[argument.name])
    return command


def _option(spelling: str, value: Any) -> list[str]:
    match value:
        case bool():
            return [spelling if value else f"--no-{spelling.removeprefix('--')}"]
        case list():
            return [word for item in value for word in _option(spelling, item)]
        case str():
            return [spelling, value]
        case _:
            return [spelling, json.dumps(value, ensure_ascii=False)]


def wrong_with(op: Operation, answer: dict[str, Any]) -> list[str]:
    """In what an answer is not the one that the operation declares."""
    if "details" in answer:
        expected = {"success", "error", "error_code", "details"}
        unexpected = answer["error_code"] not in (
            "not_found",
            "conflict",
            "invalid_request",
            WITHOUT_MODEL.get(op.name),
        )
        return [str(answer)] if unexpected or set(answer) != expected else []
    schema = op.response.model_json_schema(mode="serialization")
    found = [f"{error.json_path} {error.message}" for error in Draft202012Validator(schema).iter_errors(answer)]
    return found if set(answer) == set(schema["properties"]) else [*found, f"fields {sorted(answer)}"]


@pytest.fixture
async def doors(tmp_path: Path) -> AsyncIterator[dict[str, Door]]:
    """A door to each of three memories that were told the same; the command line asks a daemon."""
    (tmp_path / "invoke").mkdir()
    config = scratch_config(tmp_path / "cli", {"embedding.provider": "none", **OPEN})
    async with (
        memory_host(tmp_path / "invoke", clock=SystemClock()) as near,
        memory_host(tmp_path / "http", clock=SystemClock(), **OPEN) as far,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app=create_app(far)), base_url="http://localhost", timeout=120
        ) as web,
    ):
        with daemon(config):

            async def by_invoke(op: Operation, args: dict[str, Any]) -> dict[str, Any]:
                return await near.invoke(op.component, args | ({"action": op.action} if op.action else {}))

            async def by_http(op: Operation, args: dict[str, Any]) -> dict[str, Any]:
                path = f"{op.component}/{op.action}" if op.action else op.component
                return (await web.post(f"{BASE_PATH}/{path}", json=args)).json()

            async def by_command(op: Operation, args: dict[str, Any]) -> dict[str, Any]:
                result = await asyncio.to_thread(run, *words(op, args), "--config", str(config))
                answer = json.loads(result.stdout)
                assert result.exit_code == (0 if answer["success"] else 1), result.output
                return answer

            given = {"invoke": by_invoke, "http": by_http, "command": by_command}
            for call in given.values():
                await fill(call)
            yield given


async def fill(call: Door) -> None:
    """Tell it the sample, and wait for what is derived from it."""
    table = {op.name: op for op in OPERATIONS}
    for component, args in FILLING:
        assert (await call(table[component], args))["success"]
    deadline = time.monotonic() + 240
    while not await derived(call, table):
        assert time.monotonic() < deadline
        for component in ("memory_episode_admin", "memory_fact_admin", "memory_profile_admin"):
            await call(table[f"{component}_process_pending"], {})


async def derived(call: Door, table: dict[str, Operation]) -> bool:
    """Whether the background has nothing left to do."""
    counts, profiles = await call(table["memory_stats"], {}), await call(table["memory_profile_admin_status"], {})
    return counts["episodes"] == 4 and not any(counts["lag"].values()) and profiles["lag"] == 0


async def test_every_operation_answers_the_same_through_every_door(doors: dict[str, Door]) -> None:
    wrong: list[str] = []
    refused: list[str] = []
    for op in in_order():
        answers = {name: await call(op, least_request(op)) for name, call in doors.items()}
        wrong += [f"{name} {op.name}: {text}" for name, answer in answers.items() for text in wrong_with(op, answer)]
        outcomes = {name: (answer["success"], answer.get("error_code")) for name, answer in answers.items()}
        if len(set(outcomes.values())) > 1:
            wrong.append(f"{op.name}: {outcomes} {answers}")
        refused += [] if answers["invoke"]["success"] else [op.name]
    assert not wrong, "\n".join(wrong)
    assert len(refused) < len(list(OPERATIONS)) / 3, f"most have to do something: {refused}"


@pytest.mark.parametrize("op", list(OPERATIONS), ids=lambda op: op.name)
def test_every_operation_has_a_command_that_explains_itself(op: Operation) -> None:
    for action in op.actions or (None,):
        result = run("call", op.component, *([action] if action else []), "--help")
        assert result.exit_code == 0, result.output
        text = " ".join(result.output.split())
        assert op.summary.split("`")[0][:40].strip() in text
        for argument in arguments(op):
            assert all(f"{spelling}" in text for spelling in argument.spellings[:1]), argument.name
    names = [spelling.removeprefix("--") for argument in arguments(op) for spelling in argument.spellings]
    assert not MINE & set(names), "an argument would hide an option of the command"
    assert len(names) == len(set(names)), "two arguments would share a spelling"


def test_options_are_read_as_the_schema_says(tmp_path: Path) -> None:
    config = str(scratch_config(tmp_path, {"embedding.provider": "none"}))
    relation = '{"subject": "周宁", "predicate": "住在", "object": "北京"}'
    stored = run("call", "ingest_text", "--external_id", "n", "--source-type", "note", "--text", "{周宁住在北京。", "--tags", "a",
                 "--tags", "[b]", "--metadata", '{"k": [1]}', "--relations", relation, "--chat-id", "5", "-c", config)  # fmt: skip
    answer = json.loads(stored.stdout)
    assert (answer["stored_ids"], answer["relation_ids"]) == (["p1"], ["r1"])
    found = run("call", "search_memory", "--query", "北京", "--limit", "1", "--no-respect-filter", "-c", config)
    (hit,) = json.loads(found.stdout)["hits"]
    assert hit["content"] == "{周宁住在北京。"
    assert hit["metadata"]["k"] == [1]
    merged = run("call", "search_memory", "--limit", "1", "--json", '{"query": "北京", "limit": 900}', "-c", config)
    assert len(json.loads(merged.stdout)["hits"]) == 1


def test_a_component_goes_by_its_older_name_too(tmp_path: Path) -> None:
    config = str(scratch_config(tmp_path, {"embedding.provider": "none"}))
    older = run("call", "memory_fuzzy_modify_admin", "list", "--limit", "3", "-c", config)
    assert older.stdout == run("call", "memory_correction_admin", "list", "--limit", "3", "-c", config).stdout
    assert json.loads(older.stdout)["success"] is True


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("search_memory", "--limit", "many"), 1, '"field": "limit"'),
        (("search_memory", "--limit", "NaN"), 1, '"field": "limit"'),
        (("ingest_text", "--external-id", "n", "--source-type", "note", "--text", "x", "--metadata", "{"), 1, "--metadata is not valid"),
        (("ingest_summary", "--chat_id", "c"), 1, "external_id"),
        (("memory_source_admin", "delte"), 2, "Did you mean 'delete'?"),
        (("serch_memory",), 2, "No such command 'serch_memory'"),
        (("search_memory", "--querry", "x"), 2, "--query"),
        (("search_memory", "--json", "[]"), 1, "must be a JSON object"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], code: int, says: str
) -> None:
    monkeypatch.setenv("AMEMORIX_CONFIG", str(scratch_config(tmp_path, {"embedding.provider": "none"})))
    result = run("call", *args)
    assert result.exit_code == code, result.output
    assert says in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_outline_says_what_each_command_says(name: str) -> None:
    text = " ".join(run(name, "--help").output.split())
    assert COMMANDS[name][1] in text
