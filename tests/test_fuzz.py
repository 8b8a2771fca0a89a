"""Whatever is handed to `invoke`, the answer is a dict that can be sent, and an error has stored nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from amemorix import AMemorixHostService, errors
from amemorix.components import OPERATIONS
from amemorix.testing import HashEmbedder, memory_host
from entrance import written

CODES = {
    fault.code
    for fault in vars(errors).values()
    if isinstance(fault, type) and issubclass(fault, errors.MemoryFault) and fault is not errors.MemoryFault
}
SETTINGS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)

texts = st.one_of(
    st.text(max_size=40),
    st.sampled_from(["", " ", "kite", "伞", "🎂", "\x00", "\ud800", "x" * 600, "2023-05-08", "昨天", "chat_summary:c", "false",
                     "NaN", "-1", "1e400", "'; drop table paragraphs; --", "null", "{}", "search", "time", "delete", "c"]),
)  # fmt: skip
numbers = st.one_of(
    st.integers(), st.floats(), st.sampled_from([0, -5, 1e20, 10**30, 10**400, 1_700_000_000, 1683540000000, 2.5, True])
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def known_arguments() -> list[str]:
    """Every argument of every operation, older names included, and those of what they hold."""
    inner = {"name", "type", "subject", "predicate", "object", "confidence", "speaker", "text", "time", "person_id"}
    return sorted({key for op in OPERATIONS for key in op.request.known_keys()} | inner | {"action"})


PLAUSIBLE = {
    "action": st.sampled_from(sorted({action for op in OPERATIONS for action in op.actions}) or [""]),
    "mode": st.sampled_from(["search", "time", "hybrid", "episode", "aggregate"]),
    "source_type": st.just("note"),
    "text": texts,
    "query": texts,
    "chat_id": st.sampled_from(["c", "d", 5]),
    "external_id": texts,
    "source": texts,
    "sources": st.lists(texts, min_size=1, max_size=3),
    "limit": st.integers(1, 200),
    "time_start": st.one_of(numbers, texts),
    "time_end": st.one_of(numbers, texts),
    "entities": st.lists(texts | st.fixed_dictionaries({"name": texts}), max_size=3),
    "relations": st.lists(
        st.fixed_dictionaries(
            {"subject": texts, "predicate": texts, "object": texts}, optional={"confidence": numbers}
        ),
        max_size=3,
    ),
    "messages": st.lists(
        st.fixed_dictionaries({"text": texts}, optional={"speaker": texts, "time": values, "external_id": texts}),
        max_size=3,
    ),
    "metadata": st.dictionaries(texts, values, max_size=3),
}


def arguments() -> st.SearchStrategy[dict[str, Any]]:
    """Objects of which most are nearly right."""
    likely = st.fixed_dictionaries({}, optional=PLAUSIBLE)
    odd = st.dictionaries(st.sampled_from(known_arguments()) | texts, values, max_size=4)
    return st.builds(lambda a, b: {**a, **b}, likely, odd | st.just({}))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, AMemorixHostService]]:
    """One memory for all examples, on a loop of its own."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        folder: Path = tmp_path_factory.mktemp("fuzz")
        host = runner.run(stack.enter_async_context(memory_host(folder, embed=HashEmbedder(32))))
        yield runner, host
        runner.run(stack.aclose())


async def examined(host: AMemorixHostService, component: Any, args: Any, timeout_ms: Any = None) -> dict[str, Any]:
    """The answer to a call, after everything that has to be true of any answer."""
    before = await written(host)
    result = await host.invoke(component, args, timeout_ms)

    assert isinstance(result, dict)
    assert type(result["success"]) is bool
    json.dumps(result, allow_nan=False).encode()
    if not result["success"]:
        assert result["error"]
        assert result["error_code"] in CODES
        assert await written(host) == before
    return result


@pytest.mark.parametrize("component", OPERATIONS.components())
def test_random_objects(running: tuple[asyncio.Runner, AMemorixHostService], component: str) -> None:
    runner, host = running

    @SETTINGS
    @given(arguments())
    @example({"limit": 10**400, "query": "x"})
    @example({"limit": -(10**30), "query": "x"})
    @example({"external_id": 10**5000, "source_type": "n", "text": "x"})
    @example({"time_start": 10**400, "mode": "time"})
    @example({"time_start": "9" * 99, "mode": "time"})
    @example({"external_id": "x", "source_type": "n", "text": "x", "timestamp": 10**400})
    @example({"external_id": "x", "source_type": "n", "text": "x", "metadata": {"n": 10**5000}})
    @example({"external_id": "x", "source_type": "n", "text": "x", "metadata": {"\ud800": "\udfff"}})
    @example({"external_id": "\ud800", "source_type": "n", "text": "x"})
    @example({"external_id": "x", "source_type": "n", "text": "x", "tags": ["\ud800"]})
    @example(
        {
            "external_id": "x",
            "source_type": "n",
            "text": "x",
            "relations": [{"subject": "a", "predicate": "b", "object": "c", "confidence": 10**400}],
        }
    )
    @example({1: 2, None: 3, (1,): 4})
    def check(args: dict[Any, Any]) -> None:
        runner.run(examined(host, component, args))

    check()


def test_random_values(running: tuple[asyncio.Runner, AMemorixHostService]) -> None:
    runner, host = running

    @SETTINGS
    @given(st.sampled_from(OPERATIONS.components()) | texts | values, values)
    def check(component: Any, args: Any) -> None:
        runner.run(examined(host, component, args))

    check()


@pytest.mark.parametrize("timeout_ms", [0, -1, 1.5, "5", True, float("nan"), [], 10**400, 10**20, 2**63])
def test_odd_times_to_wait(running: tuple[asyncio.Runner, AMemorixHostService], timeout_ms: Any) -> None:
    runner, host = running
    runner.run(examined(host, "memory_stats", {}, timeout_ms))


def test_too_little_time_is_told(running: tuple[asyncio.Runner, AMemorixHostService]) -> None:
    runner, host = running
    messages = [{"text": f"kite {n} " * 50} for n in range(2_000)]
    result = runner.run(host.invoke("ingest_messages", {"chat_id": "c", "messages": messages}, 1))
    assert (result["success"], result["error_code"]) == (False, "timed_out")


def test_what_is_stored_by_all_this_is_sound(running: tuple[asyncio.Runner, AMemorixHostService]) -> None:
    runner, host = running

    async def check() -> dict[str, Any]:
        await host.settle(60)
        return (await host.invoke("memory_runtime_admin", {"action": "refresh_self_check"}))["report"]

    report = runner.run(check())
    assert report["ok"], report
