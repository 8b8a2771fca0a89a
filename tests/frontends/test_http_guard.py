"""Who may call over HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.auth import LOGGED_A_MINUTE, host_of, is_loopback, resolves_to_loopback
from amemorix.frontends.http.openapi import BASE_PATH
from doors import web_client
from entrance import one_token

STATS = f"{BASE_PATH}/memory_stats"


async def ask(host: AMemorixHostService, path: str = STATS, *, token: str = "", **headers: Any) -> httpx.Response:
    async with web_client(host, token) as web:
        method = "POST" if path.startswith(BASE_PATH) else "GET"
        return await web.request(method, path, headers=headers)


@pytest.mark.parametrize("path", [STATS, "/openapi.json", "/metrics", "/nothing"])
async def test_a_token_is_needed_everywhere_but_for_health(host: AMemorixHostService, path: str) -> None:
    answer = await ask(host, path, token="secret")
    assert (answer.status_code, answer.json()["error_code"]) == (401, "forbidden")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert (await ask(host, "/healthz", token="secret", Host="memory.example")).status_code == 200


@pytest.mark.parametrize("given", ["Bearer wrong", "Bearer secre", "Bearer secret1", "bearer sécret"])
async def test_a_wrong_token_is_refused(host: AMemorixHostService, given: str) -> None:
    answer = await ask(host, token="secret", Authorization=given.encode())
    assert (answer.status_code, answer.json()["error"]) == (401, "The token is wrong.")
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


@pytest.mark.parametrize("given", ["Basic secret", "secret", "Bearer", ""])
async def test_what_is_no_token_is_asked_for(host: AMemorixHostService, given: str) -> None:
    assert (await ask(host, token="secret", Authorization=given)).status_code == 401


async def test_the_right_token_opens_from_anywhere(host: AMemorixHostService) -> None:
    answer = await ask(
        host, token="secret", Authorization="Bearer secret", Host="memory.example", Origin="https://a.example"
    )
    assert answer.json()["success"] is True


REFUSED = {
    "Host": ("evil.example", "evil.example:7400", "localhost.evil.example", "10.0.0.7", "", "[::1"),
    "Origin": (
        "https://evil.example", "null", "http://[", "http://localhost:3000", "http://127.0.0.1", "https://localhost:443", "file://",
    ),
    "Sec-Fetch-Site": ("cross-site", "same-site"),
}  # fmt: skip
ANSWERED = {
    "Host": ("localhost:7400", "127.0.0.1", "127.8.8.8:1", "[::1]:7400", "LOCALHOST", "a.localhost"),
    "Origin": ("http://localhost", "http://LOCALHOST"),
    "Sec-Fetch-Site": ("same-origin", "none"),
    "Content-Type": ("application/x-www-form-urlencoded",),  # as `curl -d` sends it
}


@pytest.mark.parametrize("header", REFUSED)
async def test_without_a_token_other_names_and_pages_are_refused(host: AMemorixHostService, header: str) -> None:
    for value in REFUSED[header]:
        answer = await ask(host, **{header: value})
        assert (answer.status_code, answer.json()["error_code"]) == (403, "forbidden"), value


@pytest.mark.parametrize("header", ANSWERED)
async def test_without_a_token_this_machine_is_answered(host: AMemorixHostService, header: str) -> None:
    for value in ANSWERED[header]:
        assert (await ask(host, **{header: value})).status_code == 200, value


async def test_readiness_without_a_token_is_yes_or_no(host: AMemorixHostService) -> None:
    ready = await ask(host, "/readyz", token="secret", Host="memory.example")
    assert (ready.status_code, ready.json()) == (200, {"success": True, "ready": True})
    told = await ask(host, "/readyz", token="secret", Authorization="Bearer secret")
    assert told.json() == {"success": True, "status": "ready"}
    await host.stop()
    waiting = await ask(host, "/readyz", token="secret")
    assert (waiting.status_code, waiting.json()) == (503, {"success": False, "ready": False})


async def test_refused_calls_are_logged_without_the_token_and_counted(
    host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(host, tokens=one_token("right"))
    transport = httpx.ASGITransport(app=app, client=("203.0.113.9", 5))
    async with httpx.AsyncClient(transport=transport, base_url="http://memory.example") as web:
        for n in range(200):
            assert (await web.post(STATS, headers={"Authorization": f"Bearer guess{n}"})).status_code == 401
        assert (await web.post(STATS)).status_code == 401
        figures = (await web.get("/metrics", headers={"Authorization": "Bearer right"})).text
    lines = [record.getMessage() for record in caplog.records if record.name == "amemorix.frontends.http.auth"]
    assert lines[0] == "a call of 203.0.113.9 was refused (its token is wrong)"
    assert len(lines) == LOGGED_A_MINUTE
    assert "guess" not in caplog.text
    assert 'amemorix_refused_total{reason="wrong"} 200.0' in figures
    assert 'amemorix_refused_total{reason="missing"} 1.0' in figures


def test_names_of_this_machine() -> None:
    assert host_of("LocalHost:80") == "localhost"
    assert host_of("[::1]:80") == "::1"
    assert is_loopback("127.255.0.1")
    assert not is_loopback("127.0.0.1.example")
    assert resolves_to_loopback("127.0.0.1")
    assert not resolves_to_loopback("0.0.0.0")
    with pytest.raises(OSError, match=r"."):
        resolves_to_loopback("no such name")
