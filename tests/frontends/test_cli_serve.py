"""The daemon as a process: started, asked, stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner, Result

from amemorix.frontends.cli.main import app
from amemorix.frontends.daemon import announced, find_daemon
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.frontends.http.serving import GRACE_SECONDS
from amemorix.frontends.http.tokens import make_token
from amemorix.store.lock import DirectoryLock
from amemorix.testing import scratch_config
from daemon_process import Running, daemon
from pace import PATIENCE

TURN = {"speaker": "Hannah", "text": "I am allergic to peanuts.", "time": "2025-03-02T09:00:00Z", "external_id": "m1"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return scratch_config(tmp_path, {"embedding.provider": "none", "http.token_env": "MEMORY_TOKEN_OF_THE_TEST"})


def command(config: Path, *args: str, env: Mapping[str, str] | None = None) -> Result:
    """Run a command in this process."""
    return CliRunner().invoke(app, [*args, "-c", str(config)], env=env)


def stop(running: Running, number: int = signal.SIGTERM) -> float:
    started = time.monotonic()
    running.process.send_signal(number)
    assert running.process.wait(timeout=120) == 0
    return time.monotonic() - started


def test_a_daemon_answers_and_ends_when_it_is_told_to(config: Path, tmp_path: Path) -> None:
    with daemon(config) as running, httpx.Client(base_url=running.url, trust_env=False, timeout=PATIENCE) as web:
        assert web.get("/readyz").json() == {"success": True, "status": "ready"}
        stored = web.post(f"{BASE_PATH}/ingest_messages", json={"chat_id": "c", "messages": [TURN]}).json()
        assert stored["stored_ids"] == ["p1"]
        found = web.post(f"{BASE_PATH}/search_memory", json={"query": "peanuts", "chat_id": "c"}).json()
        assert [hit["external_id"] for hit in found["hits"]] == ["m1"]
        assert stop(running) < GRACE_SECONDS
        assert running.process.stdout is not None
        assert "Traceback" not in running.process.stdout.read()
    assert not (tmp_path / "data" / "a-memorix" / "daemon.json").exists()


def test_a_daemon_looks_for_garbage_in_what_it_did_and_not_in_what_it_imported(config: Path) -> None:
    code = """
import asyncio, gc, os, signal, sys
from pathlib import Path
from amemorix.frontends.http.serving import serve

def tell(_):
    print(gc.get_freeze_count(), len(gc.get_objects()))
    os.kill(os.getpid(), signal.SIGTERM)

asyncio.run(serve(Path(sys.argv[1]), port=0, environ={}, tell=tell))
"""
    done = subprocess.run([sys.executable, "-c", code, str(config)], capture_output=True, text=True, timeout=120)
    frozen, looked_through = map(int, done.stdout.split())
    assert frozen > 10 * looked_through, done.stderr


def test_the_banner_says_where_what_and_how(config: Path, tmp_path: Path) -> None:
    with daemon(config) as running:
        text = "\n".join(running.banner)
        assert re.search(r"A-Memorix answers on http://127\.0\.0\.1:[1-9]\d*", text)
        assert any(f"{running.url}/ " in line for line in running.banner[1:3]), "the console"
        assert str(tmp_path / "data" / "a-memorix") in text
        assert "searching by words and structure" in text
        assert f"curl -s {running.url}{BASE_PATH}/search_memory" in text
        stop(running, signal.SIGINT)


def test_commands_go_to_the_daemon_that_has_the_memory_open(config: Path, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(json.dumps(TURN), "utf-8")
    with daemon(config):
        assert command(config, "ingest", str(tmp_path / "talk.jsonl"), "--chat", "c").stdout == "1 stored\n"
        assert "allergic" in command(config, "search", "peanuts", "--chat", "c").stdout
        everywhere = command(config, "search", "peanuts")
        assert ("allergic" in everywhere.stdout, "Every chat is searched" in everywhere.stderr) == (True, True)
        assert json.loads(command(config, "invoke", "memory_stats").stdout)["paragraphs"] == 1
        assert "All is well." in command(config, "check").stdout
        failed = command(config, "search", "x", "--mode", "time")
        assert (failed.exit_code, "time_start" in failed.stderr) == (1, True)
        second = command(config, "serve", "--port", "0")
        assert second.exit_code == 1
        assert "is in use by process" in second.stderr


def test_the_token_comes_from_the_environment(config: Path) -> None:
    token = {"MEMORY_TOKEN_OF_THE_TEST": "open sesame"}
    with daemon(config, "--host", "0.0.0.0", env=token) as running:
        assert running.url.startswith("http://127.0.0.1:")
        assert 'Authorization: Bearer $MEMORY_TOKEN_OF_THE_TEST"' in "\n".join(running.banner)
        assert command(config, "stats", env=token).exit_code == 0
        refused = command(config, "stats")
        assert refused.exit_code == 1
        assert "A token is needed" in refused.stderr
        assert "MEMORY_TOKEN_OF_THE_TEST" in refused.stderr


def test_behind_a_proxy_with_tls_the_token_counts_and_the_cookie_is_for_https(config: Path) -> None:
    passed_on = {"Host": "memory.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
    own, others = ({"Origin": f"https://{name}"} for name in ("memory.example.com", "elsewhere.example"))
    with (
        daemon(config, env={"MEMORY_TOKEN_OF_THE_TEST": "open sesame"}) as running,
        httpx.Client(base_url=running.url, headers=passed_on) as web,
    ):
        assert web.post(f"{BASE_PATH}/memory_stats").status_code == 401
        assert web.post(f"{BASE_PATH}/memory_stats", headers={"Authorization": "Bearer open sesame"}).json()["success"]
        assert web.post("/ui/login", data={"token": "open sesame"}, headers=others).status_code == 403
        entered = web.post("/ui/login", data={"token": "open sesame"}, headers=own)
        assert entered.status_code == 303 and "Secure" in entered.headers["set-cookie"]


def test_a_port_in_use_is_said(config: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = command(config, "serve", "--port", str(port))
    assert result.exit_code == 1
    assert f"Cannot listen on 127.0.0.1 port {port}" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_broken_configuration_is_said(config: Path) -> None:
    config.write_text("[retrieval]\ncandidates = 3\n", "utf-8")
    result = command(config, "serve", "--port", "0")
    assert result.exit_code == 1
    assert "line 2" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_large_body_gets_its_answer_over_a_real_socket(config: Path) -> None:
    config.write_text(config.read_text("utf-8") + "\nmax_body_bytes = 100_000\n", "utf-8")
    with daemon(config) as running, httpx.Client(base_url=running.url, trust_env=False, timeout=PATIENCE) as web:
        declared = web.post(f"{BASE_PATH}/ingest_text", content=b"x" * 5_000_000)
        assert (declared.status_code, declared.json()["error_code"]) == (413, "too_large")
        chunked = web.post(f"{BASE_PATH}/ingest_text", content=(b"x" * 10_000 for _ in range(500)))
        assert chunked.status_code == 413
        assert web.get("/healthz").status_code == 200


def test_the_note_is_that_of_the_process_that_holds_the_lock(tmp_path: Path) -> None:
    with announced(tmp_path, "http://127.0.0.1:1", tmp_path / "a.toml"):
        assert find_daemon(tmp_path) is None, "nobody holds the lock"
        lock = DirectoryLock(tmp_path)
        found = find_daemon(tmp_path)
        assert found is not None
        assert found.url == "http://127.0.0.1:1"
        (tmp_path / "daemon.json").write_text(json.dumps({"url": found.url, "pid": os.getpid() + 1}), "utf-8")
        assert find_daemon(tmp_path) is None
        lock.release()
    assert find_daemon(tmp_path) is None


@pytest.mark.parametrize("note", ["{", "[]", "3", '{"url": "http://127.0.0.1:1"}', '{"url": 1, "pid": "x", "more": 2}'])
def test_a_note_that_cannot_be_read_is_no_note(tmp_path: Path, note: str) -> None:
    (tmp_path / "daemon.json").write_text(note, "utf-8")
    lock = DirectoryLock(tmp_path)
    assert find_daemon(tmp_path) is None
    lock.release()


# tokens


def test_a_token_is_revoked_by_saving_the_file(config: Path, tmp_path: Path) -> None:
    """Also for who follows events or is at the console, whatever is wrong with another line."""
    made = {name: make_token("admin", (), name) for name in ("ann", "bo", "cy")}
    lines = {name: line for name, (_, line) in made.items()}
    tokens = tmp_path / "tokens"

    def save(*kept: str) -> None:
        tokens.write_text("".join(f"{line}\n" for line in kept), "utf-8")

    save(lines["ann"], lines["bo"])
    assert command(config, "config", "set", "http.tokens_file", "tokens").exit_code == 0
    with daemon(config) as running, httpx.Client(base_url=running.url, trust_env=False, timeout=PATIENCE) as web:

        def status(name: str) -> int:
            headers = {"Authorization": f"Bearer {made[name][0]}"}
            return web.post(f"{BASE_PATH}/memory_stats", headers=headers, json={}).status_code

        def comes(name: str, wanted: int) -> bool:
            end = time.monotonic() + PATIENCE
            while status(name) != wanted and time.monotonic() < end:
                time.sleep(0.05)
            return status(name) == wanted

        assert (status("ann"), status("bo"), status("cy")) == (200, 200, 401)
        bearer = {"Authorization": f"Bearer {made['ann'][0]}"}
        web.post("/ui/login", data={"token": made["ann"][0]})
        assert web.get("/ui/people").status_code == 200
        with web.stream("GET", "/api/changes?scope=all&since=0", headers=bearer) as events:
            assert events.status_code == 200
            save(lines["bo"][:-2], lines["cy"])  # a line that cannot be read beside
            list(events.iter_bytes())  # ends, as ann's token is no more
        assert comes("ann", 401) and comes("cy", 200)
        assert status("bo") == 200  # keeps what it was allowed
        assert web.get("/ui/people").status_code == 303
        told = command(config, "doctor", "--no-probe")
        assert told.exit_code == 1 and "is no line of" in told.output
        save("# nobody")
        assert comes("cy", 401) and comes("bo", 401)
        assert web.post(f"{BASE_PATH}/memory_stats", json={}).status_code == 401  # nor without a token
        save(lines["ann"])
        assert comes("ann", 200)
        stop(running)
        assert running.process.stdout is not None
        said = running.process.stdout.read()
        assert f"{tokens} line 1 is no line of" in said and not [token for token, _ in made.values() if token in said]
