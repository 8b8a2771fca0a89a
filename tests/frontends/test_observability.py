"""Slow calls are logged with what they were, logs can be JSON, and calls and lanes are spans."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from typer.testing import CliRunner

from amemorix.frontends.cli.main import JsonLines, app
from amemorix.testing import HashEmbedder, memory_host, scratch_config
from conftest import Open
from entrance import said


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """The process's only provider: a second one would be refused."""
    made = TracerProvider()
    trace.set_tracer_provider(made)
    return made


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


async def test_a_slow_call_is_a_warning_that_says_what_it_was(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    host = await opened(observability={"slow_call_ms": 0.0001})
    await host.invoke("memory_stats")
    [record] = [record for record in caplog.records if record.name == "amemorix.calls"]
    line = json.loads(JsonLines().format(record))
    assert (line["level"], line["component"], line["outcome"], line["door"]) == (
        "warning",
        "memory_stats",
        "ok",
        "host",
    )
    assert line["milliseconds"] > 0


def test_a_command_says_nothing_of_slow_calls(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = scratch_config(tmp_path, {"embedding.provider": "none", "observability.slow_call_ms": 0.0001})
    assert CliRunner().invoke(app, ["stats", "-c", str(config)]).exit_code == 0
    assert not [record for record in caplog.records if record.name == "amemorix.calls"]


async def test_a_quick_call_is_told_only_to_who_wants_all(opened: Open, caplog: pytest.LogCaptureFixture) -> None:
    host = await opened(observability={"slow_call_ms": 0})
    await host.invoke("memory_stats")
    assert not [record for record in caplog.records if record.name == "amemorix.calls"]
    with caplog.at_level(logging.DEBUG, logger="amemorix.calls"):
        await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "99"})
    assert [getattr(record, "outcome", "") for record in caplog.records if record.name == "amemorix.calls"] == [
        "not_found"
    ]


async def test_a_lane_that_runs_out_of_its_budget_is_a_warning_without_a_traceback(
    opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    host = await opened(retrieval={"lane_budget_ms": 0.001}, facts={"enabled": False})
    for begin in (0, 1_000):
        await said(host, "c", *(("Bob", f"I love Ada and the boat number {begin + n}.") for n in range(1_000)))
    await host.settle()
    answer = await host.invoke("search_memory", {"query": "what does Bob love", "chat_id": "c"})

    assert answer["degraded"]
    told = [one for one in caplog.records if one.levelno >= logging.WARNING and one.name.startswith("amemorix.search")]
    assert told and all(record.levelno == logging.WARNING and not record.exc_info for record in told), told
    assert all("retrieval.lane_budget_ms" in record.getMessage() for record in told)


async def test_the_log_tells_of_the_start_and_of_a_clean_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="amemorix.host.service")
    async with memory_host(tmp_path):
        pass

    folder = tmp_path / "data" / "a-memorix"
    assert [record.getMessage() for record in caplog.records] == [
        f"the memory in {folder} is open",
        f"the memory in {folder} is closed",
    ]


def test_a_line_of_json_holds_what_was_said_and_the_traceback() -> None:
    try:
        raise ValueError("没有")
    except ValueError:
        record = logging.getLogger("x").makeRecord(
            "x", logging.ERROR, __file__, 1, "%s stumbled", ("loop",), sys.exc_info(), extra={"chat": "c"}
        )
    line = json.loads(JsonLines().format(record))
    assert (line["message"], line["chat"], line["logger"]) == ("loop stumbled", "c", "x")
    assert "没有" in line["traceback"]
    assert line["time"].endswith("+00:00")


def test_the_command_line_writes_json_when_asked() -> None:
    code = (
        "import logging; from amemorix.frontends.cli.main import options; options(log_format='json');"
        "logging.getLogger('a').warning('said'); logging.getLogger('a').info('not said')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    [line] = done.stderr.splitlines()
    assert json.loads(line)["message"] == "said"


async def test_calls_and_lanes_are_spans_of_one_trace(opened: Open, spans: InMemorySpanExporter) -> None:
    host = await opened(embed=HashEmbedder())
    await host.invoke("ingest_text", {"external_id": "1", "source_type": "note", "text": "Mia keeps bees in Lisbon."})
    await host.settle()
    spans.clear()
    await host.invoke("search_memory", {"query": "bees in Lisbon"})
    found: dict[str, ReadableSpan] = {span.name: span for span in spans.get_finished_spans()}
    call = found["amemorix search_memory"]
    assert {
        "amemorix lane sparse",
        "amemorix lane graph",
        "amemorix lane dense",
        "amemorix lane person",
    } <= found.keys()
    for span in found.values():
        assert span.context is not None
        assert call.context is not None
        assert span.context.trace_id == call.context.trace_id


async def test_a_call_that_fails_is_a_span_with_an_error(opened: Open, spans: InMemorySpanExporter) -> None:
    host = await opened()
    await host.invoke("memory_delete_admin", {"action": "restore", "operation_id": "99"})
    [span] = [span for span in spans.get_finished_spans() if span.name == "amemorix memory_delete_admin_restore"]
    assert not span.status.is_ok


def test_without_opentelemetry_everything_goes_on() -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None;"
        "from amemorix.audit_context import carried, span\n"
        "with span('x', a=1): print(carried(lambda: 'well')())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "well"
