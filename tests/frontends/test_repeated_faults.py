"""Faults that come again and again: what the log holds of them, and paths that nothing is at."""

from __future__ import annotations

import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.frontends.repeated_faults import FORGOTTEN_SECONDS, MOST_FAULTS, QUIET_SECONDS, RepeatedFaults
from amemorix.testing import scratch_config
from daemon_process import daemon
from doors import web_client

LONG = "a" * 5_000
PLACES = (
    "/ui/static/{}",
    "/ui/{}",
    "/ui/people/{}",
    "/docs/{}",
    "/{}",
    "/api/webui/memory/{}",
    "/healthz/{}",
    "/rooms/{}",
)
ODD = (
    LONG,
    "%00",
    f"{LONG}%00.css",
    "%ff%fe",
    "..%2f..%2fa_memorix.toml",
    "%2e%2e",
    "con",
    "a" * 255 + ".css",
    "字" * 200,
)
STATIC = [one.name for one in files("amemorix.frontends.console").joinpath("static").iterdir() if one.is_file()]


class Lines(logging.Handler):
    """Keeps what is logged, as it would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(self.format(record))


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def log(request: pytest.FixtureRequest) -> logging.Logger:
    return logging.Logger(request.node.name)


def fail(log: logging.Logger, about: str, error: type[Exception] = ValueError) -> None:
    try:
        raise error(f"{about} is wrong")
    except error:
        log.exception("the call %r failed", about)


def test_a_fault_is_told_once_and_then_counted(log: logging.Logger, lines: Lines) -> None:
    now = 0.0
    log.addHandler(RepeatedFaults(lines, lambda: now))
    for number in range(1_000):
        fail(log, f"call {number}")
    assert len(lines.text) == 1
    assert "Traceback" in lines.text[0]
    now = QUIET_SECONDS
    fail(log, "one more")
    assert len(lines.text) == 2
    assert "Traceback" not in lines.text[1]
    assert "the call 'one more' failed: ValueError (1000 times in 60 s" in lines.text[1]
    now += FORGOTTEN_SECONDS
    fail(log, "the next day")
    assert "Traceback" in lines.text[2]


def test_other_faults_and_what_is_no_fault_are_told(log: logging.Logger, lines: Lines) -> None:
    log.addHandler(RepeatedFaults(lines, lambda: 0.0))
    fail(log, "one")
    fail(log, "two", KeyError)
    for number in range(3):
        log.warning("call %d was slow", number)
        log.info("again")
    log.warning("call %d was slow", 2)
    assert [text.splitlines()[0] for text in lines.text] == [
        "the call 'one' failed", "the call 'two' failed", "call 0 was slow", "again", "call 1 was slow", "again",
        "call 2 was slow", "again",
    ]  # fmt: skip


def test_other_handlers_get_the_record_as_it_was_logged(log: logging.Logger, lines: Lines) -> None:
    now, others = 0.0, Lines()
    log.addHandler(RepeatedFaults(lines, lambda: now))
    log.addHandler(others)
    for number in range(2):
        fail(log, f"call {number}")
        now = QUIET_SECONDS
    assert "(1 times in 60 s" in lines.text[1]
    assert others.text[1].startswith("the call 'call 1' failed\nTraceback")


def test_threads_are_counted_one_at_a_time(log: logging.Logger, lines: Lines) -> None:
    inside, most = 0, 0

    def clock() -> float:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        time.sleep(0.01)
        inside -= 1
        return 0.0

    log.addHandler(RepeatedFaults(lines, clock))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: log.warning("the same"), range(8)))
    assert (len(lines.text), most) == (1, 1)


def test_what_is_remembered_of_faults_is_bounded(log: logging.Logger, lines: Lines) -> None:
    bound = RepeatedFaults(lines, lambda: 0.0)
    log.addHandler(bound)
    for number in range(3 * MOST_FAULTS):
        log.warning("warning %d", number)
    assert len(lines.text) == 3 * MOST_FAULTS
    assert len(bound._told) == MOST_FAULTS  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("token", ["", "a-token-of-this-test"])
async def test_nothing_is_at_a_path_however_odd(
    token: str, host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    async with web_client(host, token) as web:
        for place in PLACES:
            for odd in ODD:
                answer = await web.get(place.format(odd))
                low = 404 if place.startswith("/ui/static") else 200
                assert low <= answer.status_code <= 405, (place, odd[:20], answer.status_code)
        for name in STATIC:
            assert (await web.get(f"/ui/static/{name}")).status_code == 200
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("component", "args"),
    [
        ("memory_runtime_admin", {"action": "restore_backup", "backup": LONG}),
        ("memory_runtime_admin", {"action": "verify_backup", "backup": LONG}),
        ("memory_runtime_admin", {"action": "delete_backup", "backup": LONG}),
        ("memory_runtime_admin", {"action": "export", "path": LONG}),
        ("memory_runtime_admin", {"action": "import_export", "path": LONG}),
        ("memory_graph_admin", {"action": "export", "path": LONG, "format": "json", "scope": "all"}),
        ("memory_import_admin", {"action": "create_raw_scan", "path": LONG}),
        ("memory_import_admin", {"action": "create_upload", "files": [{"staged": LONG, "name": "a.txt"}]}),
        ("memory_import_admin", {"action": "resolve_path", "path": LONG}),
    ],
)
async def test_no_file_has_a_name_that_is_too_long(
    component: str, args: dict[str, object], host: AMemorixHostService, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (LONG, "a\0b", f"../{LONG}/x", "\udcff"):
        given = {key: value.replace(LONG, name) if isinstance(value, str) else value for key, value in args.items()}
        answer = await host.invoke(component, given)
        assert answer["success"] is False
        assert answer["error_code"] in ("invalid_request", "not_found", "unknown_component", "conflict"), answer
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def test_a_fault_of_every_call_fills_no_log_of_a_daemon(tmp_path: Path) -> None:
    config, output = scratch_config(tmp_path, {"embedding.provider": "none"}), tmp_path / "log"
    with daemon(config) as running:
        with httpx.Client(base_url=running.url, timeout=60) as web:
            for _ in range(20):
                assert web.get(f"/ui/static/{LONG}").status_code == 404
        address = httpx.URL(running.url)
        for _ in range(100):
            with socket.create_connection((address.host, address.port or 80)) as raw:
                raw.sendall(b"no HTTP at all\r\n\r\n")
                raw.recv(1_000)
        running.process.terminate()
        output.write_text(running.process.stdout.read() if running.process.stdout else "", "utf-8")
    assert len(output.read_text("utf-8")) < 2_000, output.read_text("utf-8")[:2_000]
