"""The HTTP front door: every operation, the daemon's own pages, and what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService, __version__
from amemorix.config.model import Http
from amemorix.errors import TimedOut
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.frontends.http.serving import _follow_tokens  # pyright: ignore[reportPrivateUsage]
from amemorix.frontends.http.tokens import Tokens
from amemorix.frontends.transport import DaemonMemory
from amemorix.host.operations import OPERATIONS
from amemorix.testing import memory_host, pause_background
from amemorix.version import commit
from doors import web_client
from entrance import told

MESSAGE = {
    "speaker": "周宁",
    "text": "我把折叠伞放在值班柜第二层。",
    "time": "2025-03-01T09:00:00Z",
    "external_id": "m1",
}


async def post(web: httpx.AsyncClient, path: str, body: Any = None, **options: Any) -> httpx.Response:
    return await web.post(f"{BASE_PATH}/{path}", json=body, **options)


async def test_what_is_stored_is_found(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    stored = await post(web, "ingest_messages", {"chat_id": "c", "messages": [MESSAGE]})
    assert (stored.status_code, stored.json()["stored_ids"]) == (200, ["p1"])
    found = (await post(web, "search_memory", {"query": "折叠伞", "chat_id": "c"})).json()
    assert [hit["external_id"] for hit in found["hits"]] == ["m1"]
    assert (await post(web, "memory_stats")).json() == await host.invoke("memory_stats")


async def test_an_action_goes_into_the_path_or_the_body(web: httpx.AsyncClient) -> None:
    by_path = await post(web, "memory_source_admin/list", {"limit": 3, "chat_id": "c"})
    by_body = await post(web, "memory_source_admin", {"action": "list", "limit": 3, "chat_id": "c"})
    assert by_path.json() == by_body.json()
    assert by_path.json()["success"] is True


async def test_older_names_of_actions_and_components_work(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    assert (await post(web, "memory_runtime_admin/paragraph_backfill_once")).json()["retried"] == 0
    answer = await host.invoke("memory_correction_admin", {"action": "list", "chat_id": "c"})
    assert (await post(web, "memory_fuzzy_modify_admin/list", {"chat_id": "c"})).json() == answer
    assert (await post(web, "memory_fuzzy_modify_admin", {"action": "list", "chat_id": "c"})).json() == answer


async def test_unknown_arguments_are_warned_about(web: httpx.AsyncClient) -> None:
    answer = (await post(web, "search_memory", {"query": "x", "chat_id": "c", "limitt": 3})).json()
    assert answer["warnings"] == ["unknown argument 'limitt' was ignored. Did you mean 'limit'?"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("search_memory", {"query": "x", "limit": -5}, 400, "invalid_request"),
        ("search_memory", {"query": "x", "mode": "semantic"}, 400, "invalid_request"),
        ("serch_memory", {}, 404, "unknown_component"),
        ("search_memory/list", {}, 404, "unknown_component"),
        ("memory_source_admin/erase", {}, 404, "unknown_component"),
        ("memory_source_admin", {}, 400, "invalid_request"),
        ("memory_source_admin/list", {"action": "delete"}, 400, "invalid_request"),
        ("search_memory?timeout_ms=0", {"query": "x"}, 400, "invalid_request"),
        ("search_memory?timeout_ms=soon", {"query": "x"}, 400, "invalid_request"),
    ],
)
async def test_faults_have_their_status(
    web: httpx.AsyncClient, path: str, body: dict[str, Any], status: int, code: str
) -> None:
    answer = await post(web, path, body)
    assert (answer.status_code, answer.json()["error_code"]) == (status, code)
    assert answer.json()["success"] is False
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b'{"query": ', "not valid JSON"),
        (b'{"query": "x", "min_score": NaN}', "NaN is not a JSON number"),
        (b'{"min_score": -Infinity}', "-Infinity is not a JSON number"),
        (b"[1, 2]", "not an array"),
        (b'"search"', "not a string"),
        (b"null", "not null"),
        (b"true", "not true or false"),
        (b"7", "not a number"),
        (b"\xff\xfe\xfd", "not valid JSON"),
        (b'{"a":' * 100_000, "nested too deep"),
    ],
)
async def test_a_body_that_is_no_json_object_is_named(web: httpx.AsyncClient, body: bytes, says: str) -> None:
    answer = await web.post(f"{BASE_PATH}/search_memory", content=body)
    assert answer.status_code == 400
    assert says in answer.json()["error"]


async def test_any_content_type_will_do_if_the_body_is_json(web: httpx.AsyncClient) -> None:
    answer = await web.post(
        f"{BASE_PATH}/search_memory",
        content=b'{"query": "x", "chat_id": "c"}',
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.json()["success"] is True


async def test_half_a_surrogate_pair_does_no_harm_and_infinity_is_refused(web: httpx.AsyncClient) -> None:
    answer = await web.post(f"{BASE_PATH}/search_memory", content=rb'{"query": "x", "chat_id": "c", "\ud83d": 1}')
    assert answer.status_code == 200
    assert "unknown argument '\\ud83d' was ignored." in answer.json()["warnings"][0]
    body = b'{"external_id": "n", "source_type": "note", "text": "x", "metadata": {"a": 1e999}}'
    answer = await web.post(f"{BASE_PATH}/ingest_text", content=body)
    assert answer.status_code == 400


async def test_paths_and_methods_that_are_not_there(web: httpx.AsyncClient) -> None:
    missing = await web.get("/api/nothing")
    assert (missing.status_code, missing.json()["error_code"]) == (404, "not_found")
    wrong = await web.get(f"{BASE_PATH}/memory_stats")
    assert (wrong.status_code, wrong.json()["error_code"]) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "POST"


@pytest.mark.parametrize(("boundary", "content"), [
    ("", b"--x"), ("; boundary=x", b'--x\r\ncontent-disposition: form-data; name="a"; filename="b"\r\n\r\nc\r\n--x--\r\n'),
])  # fmt: skip
async def test_a_form_that_cannot_be_read_says_so(web: httpx.AsyncClient, boundary: str, content: bytes) -> None:
    headers = {"content-type": f"multipart/form-data{boundary}"}
    answer = await web.post("/ui/look", content=content, headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "invalid_request"), answer.text


async def test_openapi_describes_every_operation(web: httpx.AsyncClient) -> None:
    document = (await web.get("/openapi.json")).json()
    assert document["openapi"] == "3.1.0"
    described = {entry["operationId"] for path in document["paths"].values() for entry in path.values()}
    assert {op.name for op in OPERATIONS} <= described


async def test_metrics_count_calls_and_show_the_memory(web: httpx.AsyncClient, host: AMemorixHostService) -> None:
    await post(web, "ingest_messages", {"chat_id": "c", "messages": [MESSAGE]})
    await post(web, "search_memory", {"query": "x", "limit": -5})
    await post(web, "made_up_by_a_caller")
    text = (await web.get("/metrics")).text
    assert 'amemorix_calls_total{action="",component="ingest_messages",outcome="ok"} 1.0' in text
    assert 'amemorix_calls_total{action="",component="search_memory",outcome="invalid_request"} 1.0' in text
    assert 'component="unknown",outcome="unknown_component"} 1.0' in text
    assert "made_up_by_a_caller" not in text
    assert 'amemorix_call_seconds_bucket{action="",component="ingest_messages",le="30.0"} 1.0' in text
    assert "amemorix_ready 1.0" in text
    assert "amemorix_paragraphs 1.0" in text
    assert "amemorix_embeddings_pending 0.0" in text
    assert 'amemorix_projection_lag{projection="sparse"}' in text
    assert "amemorix_reloads_total 0.0" in text
    assert "amemorix_reloads_refused_total 0.0" in text
    await host.update_config({"retrieval.candidates": 50})
    assert "amemorix_reloads_total 1.0" in (await web.get("/metrics")).text


async def test_life_and_readiness(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host, web_client(host) as web:
        assert (await web.get("/readyz")).status_code == 200
        await host.stop()
        alive = {"success": True, "status": "alive", "version": __version__, "commit": commit()}
        assert (await web.get("/healthz")).json() == alive
        waiting = await web.get("/readyz")
        assert (waiting.status_code, waiting.json()["error_code"]) == (503, "not_ready")
        assert (await post(web, "memory_stats")).status_code == 503
        assert "amemorix_ready 0.0" in (await web.get("/metrics")).text


async def test_a_body_over_the_limit_is_refused_and_the_limit_is_live(
    web: httpx.AsyncClient, host: AMemorixHostService
) -> None:
    await host.update_config({"http.max_body_bytes": 2000})
    answer = await post(web, "search_memory", {"query": "x" * 2000, "chat_id": "c"})
    assert (answer.status_code, answer.json()["error_code"]) == (413, "too_large")
    assert (await post(web, "search_memory", {"query": "x" * 1900, "chat_id": "c"})).status_code == 200


async def test_a_declared_length_that_is_too_long_is_not_read(
    web: httpx.AsyncClient, host: AMemorixHostService
) -> None:
    await host.update_config({"http.max_body_bytes": 2000})
    read: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(1)
        yield b"{}"

    answer = await web.post(f"{BASE_PATH}/search_memory", content=body(), headers={"Content-Length": "9000"})
    assert answer.status_code == 413
    assert read == []


async def test_a_body_longer_than_it_said_is_refused(host: AMemorixHostService) -> None:
    await host.update_config({"http.max_body_bytes": 2000})
    sent: list[dict[str, Any]] = []
    parts = [{"type": "http.request", "body": b"x" * 1500, "more_body": True}] * 1000

    async def receive() -> dict[str, Any]:
        return parts.pop()

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": f"{BASE_PATH}/search_memory", "query_string": b"", "root_path": "",
        "headers": [(b"host", b"localhost"), (b"content-length", b"10")], "http_version": "1.1", "scheme": "http",
    }  # fmt: skip
    await create_app(host)(scope, receive, send)
    assert sent[0]["status"] == 413
    assert len(parts) == 998


async def test_a_client_that_waits_for_a_paused_memory_asks_it_a_few_times_a_second(
    dense_host: AMemorixHostService,
) -> None:
    asked: list[httpx.Request] = []

    async def count(request: httpx.Request) -> None:
        asked.append(request)

    await pause_background(dense_host)
    await told(dense_host, "a red kite", chat_id="c")
    async with web_client(dense_host) as web:
        web.event_hooks["request"].append(count)
        with pytest.raises(TimedOut):
            await DaemonMemory(web).settle(1.0)
    assert 2 <= len(asked) <= 12


async def test_a_tokens_file_that_cannot_be_followed_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = tmp_path / "no\0where"
    await _follow_tokens(Tokens.read(Http(), {}, tmp_path), Http(tokens_file="tokens"), {}, nowhere, asyncio.Event())
    (record,) = [one for one in caplog.records if one.exc_info]
    assert "http.tokens_file is not followed any more" in record.getMessage()
