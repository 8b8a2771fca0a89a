"""Whatever is handed to `invoke`, the answer is a dict that can be sent, and an error has stored nothing."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from amemorix import AMemorixHostService, errors
from amemorix.host.operations import OPERATIONS
from amemorix.ops import Operation
from amemorix.testing import HashEmbedder, memory_host, pause_background, resume_background
from entrance import data_of
from memory_dump import every_row
from sample_memory import FILLING, KNOWN
from schema_values import EXTREMES, extremes, fitting, nearly_fitting, smallest

LONG = "AMEMORIX_FUZZ_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("AMEMORIX_FUZZ_EXAMPLES", "4"))
"""Random requests of each kind to each operation; a number from outside also makes them new ones each time."""
MOST_BACKUPS = 4
"""Each purge looks through all of them."""
STEP = 9
"""Otherwise each argument takes one in so many of the extremes, another the next."""
NOT_FOR_ARGUMENTS = (errors.MemoryFault, errors.StorageFailure)
"""Errors in which no argument may end."""
CODES = {
    fault.code
    for fault in vars(errors).values()
    if isinstance(fault, type) and issubclass(fault, errors.MemoryFault) and fault not in NOT_FOR_ARGUMENTS
}
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=not LONG,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
texts = st.text(max_size=40) | st.sampled_from([value for value in EXTREMES if isinstance(value, str)])
single = st.none() | st.booleans() | st.integers() | st.floats() | texts | extremes()
arguments = st.sampled_from(sorted({key for op in OPERATIONS for key in op.request.known_keys()} | {"action"})) | texts
values = (
    single
    | st.lists(single, max_size=4)
    | st.dictionaries(arguments, single | st.lists(single, max_size=3), max_size=5)
)


class Fuzzed:
    """One memory for all examples, on a loop of its own, without background work."""

    def __init__(self, runner: asyncio.Runner, host: AMemorixHostService) -> None:
        self.runner = runner
        self.host = host
        self._watching = sqlite3.connect(":memory:")
        self._file = 0
        self._seen = (0, 0)
        self._rows: dict[str, list[tuple[Any, ...]]] = {}

    def examined(self, component: Any, args: Any, timeout_ms: Any = None) -> dict[str, Any]:
        """The answer to a call, after everything that has to be true of any answer."""
        return self.runner.run(self._examined(component, args, timeout_ms))

    async def _examined(self, component: Any, args: Any, timeout_ms: Any) -> dict[str, Any]:
        await self._look()
        result = await self.host.invoke(component, args, timeout_ms)

        assert isinstance(result, dict)
        assert type(result["success"]) is bool
        json.dumps(result, allow_nan=False).encode()
        if not result["success"]:
            assert result["error"]
            assert result["error_code"] in CODES, result
            await self._unchanged(result)
        return result

    def trouble(self, component: Any, args: Any, answers: Draft202012Validator | None = None) -> list[str]:
        """What is wrong with the answer to a call."""
        try:
            result = self.examined(component, args)
            found = [] if answers is None or "details" in result else answers.iter_errors(result)
            return [f"{shown(args)}: {error.json_path} {error.message:.300}" for error in found]
        except AssertionError as exc:
            return [f"{shown(args)}: {exc!s:.600}"]

    async def _look(self) -> None:
        """Remember the rows, unless nothing was committed since; what puts another memory in place starts the background again."""
        await pause_background(self.host)
        for backup in sorted((data_of(self.host) / "backups").glob("*"))[MOST_BACKUPS:]:
            shutil.rmtree(backup)
        if (version := self._version()) != self._seen:
            self._rows, self._seen = await every_row(self.host), version

    async def _unchanged(self, result: dict[str, Any]) -> None:
        if self._version() != self._seen:
            rows = await every_row(self.host)
            changed = [table for table in rows if rows[table] != self._rows[table]]
            assert not changed, (changed, result)

    def _version(self) -> tuple[int, int]:
        """Changes with each commit, and with the file."""
        path = data_of(self.host) / "memory.db"
        if self._file != (file := path.stat().st_ino):
            self._watching.close()
            self._watching, self._file = sqlite3.connect(path), file
        return file, self._watching.execute("pragma data_version").fetchone()[0]

    def close(self) -> None:
        """Let go of the file."""
        self._watching.close()


def shown(args: Any) -> str:
    """The beginning of its text form, if it has one."""
    try:
        return f"{args!r:.600}"
    except (ValueError, RecursionError) as exc:
        return f"{type(args).__name__} ({exc})"


async def filled(host: AMemorixHostService) -> None:
    """A little of everything."""
    for component, args in FILLING:
        assert (await host.invoke(component, args))["success"]
    await host.settle(600)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    """The memory."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        folder: Path = tmp_path_factory.mktemp("fuzz")
        brief = {"timeout_seconds": 0.5}  # no vector is made while the background rests
        host = runner.run(stack.enter_async_context(memory_host(folder, embed=HashEmbedder(32), embedding=brief)))
        runner.run(filled(host))
        fuzzed = Fuzzed(runner, host)
        yield fuzzed
        fuzzed.close()
        runner.run(stack.aclose())


def argued(op: Operation, args: Any) -> Any:
    """The arguments with the operation's action."""
    return {**args, "action": op.action} if op.action else args


OPERATION = pytest.mark.parametrize("op", list(OPERATIONS), ids=lambda op: op.name)


@OPERATION
def test_arguments_that_fit_are_taken(fuzzed: Fuzzed, op: Operation) -> None:
    """The memory may know nothing of what is named, or refuse a combination; it does not stumble, and answers as it says."""
    answers = Draft202012Validator(op.response.model_json_schema(mode="serialization"))
    found: list[str] = []

    @SETTINGS
    @given(fitting(op.request.model_json_schema(), KNOWN))
    def check(args: dict[str, Any]) -> None:
        found.extend(fuzzed.trouble(op.component, argued(op, args), answers))

    check()
    assert not found, "\n".join(found)


@OPERATION
def test_arguments_that_nearly_fit(fuzzed: Fuzzed, op: Operation) -> None:
    found: list[str] = []

    @SETTINGS
    @given(nearly_fitting(op.request.model_json_schema(), KNOWN))
    def check(args: dict[str, Any]) -> None:
        found.extend(fuzzed.trouble(op.component, argued(op, args)))

    check()
    assert not found, "\n".join(found)


@OPERATION
def test_each_argument_takes_no_harm_from_extremes(fuzzed: Fuzzed, op: Operation) -> None:
    schema = op.request.model_json_schema()
    least = smallest(schema, KNOWN)
    found: list[str] = []
    for index, name in enumerate(schema.get("properties", {})):
        for value in EXTREMES if LONG else EXTREMES[index % STEP :: STEP]:
            found += fuzzed.trouble(op.component, argued(op, {**least, name: value}))
    assert not found, "\n".join(found)


@OPERATION
def test_values_instead_of_arguments(fuzzed: Fuzzed, op: Operation) -> None:
    for args in (1, "x", [], [{}], True, float("nan"), b"{}", {1: 2, None: 3, (1,): 4}, {"\ud800": "\udfff"}, {"": ""}):
        assert not fuzzed.trouble(op.component, argued(op, args) if isinstance(args, dict) else args)


def test_random_values(fuzzed: Fuzzed) -> None:
    @settings(SETTINGS, max_examples=EXAMPLES * 10)
    @given(st.sampled_from(OPERATIONS.components()) | texts | values, values)
    def check(component: Any, args: Any) -> None:
        fuzzed.examined(component, args)

    check()


@pytest.mark.parametrize("timeout_ms", [0, -1, 1.5, "5", True, float("nan"), [], 10**400, 10**20, 2**63])
def test_odd_times_to_wait(fuzzed: Fuzzed, timeout_ms: Any) -> None:
    fuzzed.examined("memory_stats", {}, timeout_ms)


def test_a_million_entries_are_refused_or_taken_in_time(fuzzed: Fuzzed) -> None:
    """The time is far above what it takes; without bounds each of these would go on for minutes."""
    many = ["x"] * 1_000_000
    calls = [
        ("ingest_text", {"external_id": "many", "source_type": "note", "text": "x", "tags": many}),
        ("ingest_text", {"external_id": "many", "source_type": "note", "text": "x", "relations": [{}] * 1_000_000}),
        ("memory_source_admin", {"action": "batch_delete", "sources": many}),
        ("memory_delete_admin", {"action": "preview", "mode": "paragraph", "selector": {"ids": many}}),
        ("memory_graph_admin", {"action": "merge_nodes", "sources": many, "target": "x"}),
        ("maintain_memory", {"action": "used", "targets": many}),
    ]
    for component, args in calls:
        assert fuzzed.examined(component, args, 120_000)["error_code"] == "invalid_request", component


def test_too_little_time_is_told(fuzzed: Fuzzed) -> None:
    messages = [{"text": f"kite {n} " * 50} for n in range(2_000)]
    result = fuzzed.runner.run(fuzzed.host.invoke("ingest_messages", {"chat_id": "c", "messages": messages}, 1))
    assert (result["success"], result["error_code"]) == (False, "timed_out")


def test_what_is_stored_by_all_this_is_sound(fuzzed: Fuzzed) -> None:
    async def check() -> dict[str, Any]:
        resume_background(fuzzed.host)
        await fuzzed.host.settle(600)
        return (await fuzzed.host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]

    report = fuzzed.runner.run(check())
    assert report["ok"], report
