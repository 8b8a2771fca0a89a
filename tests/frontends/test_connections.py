"""Requests that never arrive: they hold nobody else up."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from socket import create_connection, socket
from typing import Any

import httpx

from amemorix.frontends.http.connections import MOST_WAITING
from amemorix.frontends.http.openapi import BASE_PATH
from amemorix.testing import scratch_config
from pace import PATIENCE

HEAD = b"POST /api/webui/memory/memory_stats HTTP/1.1\r\nHost: localhost\r\n"
TOKEN = {"Authorization": "Bearer secret"}
CODE = """
import asyncio, os, sys
from pathlib import Path
from amemorix.frontends.http.serving import serve

strangers = sys.argv[2] == "strangers"
tell = lambda listening: print(listening.url, flush=True)
asyncio.run(serve(Path(sys.argv[1]), port=0, environ=os.environ, tell=tell, trusted=lambda _: not strangers))
"""


@contextmanager
def server(folder: Path, *, strangers: bool, **http: Any) -> Generator[tuple[str, int]]:
    """A daemon that takes callers of this machine for `strangers` or not: its URL and port."""
    config = scratch_config(
        folder, {"embedding.provider": "none", **{f"http.{key}": value for key, value in http.items()}}
    )
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(config), "strangers" if strangers else "friends"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "AMEMORIX_TOKEN": "secret"},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        yield url, int(url.rpartition(":")[2])
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE)


def is_closed(sock: socket) -> bool:
    """Whether the other side has hung up."""
    sock.settimeout(PATIENCE)
    try:
        while data := sock.recv(65_536):
            assert b" 200 " not in data
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_half_sent_requests_of_a_stranger_are_closed_and_others_answered(tmp_path: Path) -> None:
    with (
        server(tmp_path, strangers=True, connections_per_peer=20, idle_seconds=1.5) as (url, port),
        ExitStack() as stack,
    ):
        held = [stack.enter_context(create_connection(("127.0.0.1", port))) for _ in range(200)]
        for n, sock in enumerate(held):
            try:
                sock.sendall(HEAD[: 1 + n % len(HEAD)])
            except ConnectionError:
                continue
        assert all(is_closed(sock) for sock in held)
        with httpx.Client(base_url=url, trust_env=False, headers=TOKEN, timeout=PATIENCE) as web:
            assert web.post(f"{BASE_PATH}/memory_stats").status_code == 200


def test_the_oldest_of_too_many_heads_make_way(tmp_path: Path) -> None:
    with (
        server(tmp_path, strangers=True, connections_per_peer=1000, idle_seconds=600.0) as (url, port),
        ExitStack() as stack,
    ):
        held: list[socket] = []
        for _ in range(MOST_WAITING + 50):
            held.append(stack.enter_context(create_connection(("127.0.0.1", port))))
            held[-1].sendall(HEAD)
        assert all(is_closed(sock) for sock in held[:50])
        with httpx.Client(base_url=url, trust_env=False, headers=TOKEN, timeout=PATIENCE) as web:
            assert web.post(f"{BASE_PATH}/memory_stats").status_code == 200
        held[-1].sendall(b"Connection: close\r\n\r\n")
        held[-1].settimeout(PATIENCE)
        assert held[-1].recv(1000).startswith(b"HTTP/1.1 401 ")


def test_heads_that_follow_a_whole_request_make_way_too(tmp_path: Path) -> None:
    with (
        server(tmp_path, strangers=True, connections_per_peer=1000, idle_seconds=600.0) as (_, port),
        ExitStack() as stack,
    ):
        held: list[HTTPConnection] = []
        for _ in range(MOST_WAITING + 5):
            held.append(stack.enter_context(closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE))))
            held[-1].request("GET", "/healthz")
            assert held[-1].getresponse().read()
            held[-1].sock.sendall(HEAD)
        assert all(is_closed(web.sock) for web in held[:5])


def test_this_machine_holds_as_many_connections_as_it_likes(tmp_path: Path) -> None:
    with (
        server(tmp_path, strangers=False, connections_per_peer=20, idle_seconds=60.0) as (url, port),
        ExitStack() as stack,
    ):
        held = [stack.enter_context(create_connection(("127.0.0.1", port))) for _ in range(200)]
        for sock in held:
            sock.sendall(HEAD)
        with httpx.Client(base_url=url, trust_env=False, headers=TOKEN, timeout=PATIENCE) as web:
            assert web.post(f"{BASE_PATH}/memory_stats").status_code == 200
        for sock in held:
            sock.sendall(b"Connection: close\r\n\r\n")
            sock.settimeout(PATIENCE)
            assert sock.recv(1000).startswith(b"HTTP/1.1 401 ")


def test_what_does_not_arrive_is_closed(tmp_path: Path) -> None:
    half_a_body = HEAD + b"Authorization: Bearer secret\r\nContent-Length: 9\r\n\r\n{"
    with server(tmp_path, strangers=False, idle_seconds=0.3) as (_, port):
        for begun in (b"", b"P", HEAD, half_a_body):
            with create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(begun)
                assert is_closed(sock), begun


def test_a_head_that_trickles_in_gains_no_time(tmp_path: Path) -> None:
    with (
        server(tmp_path, strangers=False, idle_seconds=0.5) as (_, port),
        create_connection(("127.0.0.1", port)) as sock,
    ):
        sock.settimeout(0.05)
        sent, most = 0, 1000
        try:
            for sent in range(most):
                sock.sendall(b"X-Slow: 1\r\n" if sent else HEAD)
                try:
                    if not sock.recv(100):
                        break
                except TimeoutError:
                    continue
        except ConnectionError:
            pass
        assert sent < most - 1


def test_a_body_that_trickles_in_arrives_and_a_pause_between_calls_is_none(tmp_path: Path) -> None:
    body = b'{"query": "kite", "chat_id": "c"}'
    with (
        server(tmp_path, strangers=True, idle_seconds=30.0) as (_, port),
        closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as web,
    ):
        web.connect()
        sock = web.sock
        for _ in range(2):
            web.putrequest("POST", f"{BASE_PATH}/search_memory")
            for name, value in {**TOKEN, "Content-Length": str(len(body))}.items():
                web.putheader(name, value)
            web.endheaders()
            for byte in body:
                web.send(bytes([byte]))
                time.sleep(0.01)
            answer = web.getresponse()
            assert (answer.status, answer.read()[:1]) == (200, b"{")
            assert web.sock is sock
