"""The daemon: a host service behind an HTTP socket, until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvicorn

from ...config import Config, load
from ...config.model import Http
from ...config.watch import watch
from ...errors import Conflict, Forbidden, InvalidConfig
from ...host.service import AMemorixHostService
from ...location import project_folder
from ...store.private_files import UMASK
from ...version import commit
from ..daemon import announced
from .app import create_app
from .auth import is_loopback, resolves_to_loopback
from .connections import Connections
from .tokens import Tokens, tokens_path

__all__ = ["Listening", "listening", "refuse_open_door", "serve"]

log = logging.getLogger(__name__)
GRACE_SECONDS = 10
"""How long calls in flight may go on after a signal."""
BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Listening:
    """What a daemon has to say about itself when it answers."""

    url: str
    needs_token: bool
    statistics: dict[str, Any]
    config_path: Path


async def serve(
    config_path: Path,
    *,
    host: str | None = None,
    port: int | None = None,
    environ: Mapping[str, str],
    tell: Callable[[Listening], None],
    trusted: Callable[[str], bool] = is_loopback,
) -> None:
    """Run until SIGTERM or SIGINT; `host` and `port` stand for those of the configuration; `tell` is called once.

    The socket opens first, so that `/healthz` and `/readyz` answer while the memory is being opened. Addresses that are
    not `trusted` hold `http.connections_per_peer` connections at most. Raises Forbidden (beyond this machine without a
    token), InvalidConfig (a token that cannot be), Conflict (the port is taken), and what starting a host raises.
    """
    config = await asyncio.to_thread(load, config_path, create=True)
    base = project_folder(config_path.absolute())
    tokens = await asyncio.to_thread(Tokens.read, config.http, environ, base)
    address, number = host or config.http.host, config.http.port if port is None else port
    refuse_open_door(address, bool(tokens), config)
    os.umask(UMASK)
    await asyncio.to_thread(commit)  # may ask git, for which no call should wait
    memory = AMemorixHostService(config_path)
    with listening(address, number) as sock:
        url = _url(sock, address)
        connections = Connections(
            idle_seconds=config.http.idle_seconds, per_peer=config.http.connections_per_peer, trusted=trusted
        )
        settings: Any = {
            "ws": "none", "log_config": None, "access_log": False, "server_header": False,
        }  # fmt: skip
        app = create_app(memory, tokens=tokens, is_ending=lambda: server.should_exit)
        http = cast(Any, connections.protocol)
        server = _Server(uvicorn.Config(app, http=http, timeout_graceful_shutdown=GRACE_SECONDS, **settings))
        running = asyncio.create_task(server.serve(sockets=[sock]))
        ended = asyncio.Event()
        following = asyncio.create_task(_follow_tokens(tokens, config.http, environ, base, ended))
        try:
            await memory.start()
            gc.freeze()  # a look for garbage through all that was imported would hold the interpreter up
            statistics = (await memory.call("memory_stats", {})).model_dump(mode="json")
            with announced(Path(statistics["data_dir"]), url, config_path):
                tell(Listening(url, bool(tokens), statistics, config_path))
                await running
        finally:
            server.should_exit = True
            try:
                await running
                ended.set()
                await following
            finally:
                await memory.stop()


async def _follow_tokens(
    tokens: Tokens, settings: Http, environ: Mapping[str, str], base: Path, ended: asyncio.Event
) -> None:
    """Take `http.tokens_file` each time it is saved, until the daemon has ended; a file that is gone changes nothing."""

    async def revise(content: bytes) -> None:
        new, revoked, faults = tokens.revise(settings, environ, base, content)
        for fault in faults:
            log.error("%s A token that this line held keeps what it was allowed until the line is put right.", fault)
        if new or revoked:
            log.warning("http.tokens_file was read again: %d tokens are new, %d are revoked", new, revoked)

    if settings.tokens_file:
        try:
            await watch(tokens_path(settings, base), revise, stop=ended, seen=b"")
        except Exception:
            log.exception("http.tokens_file is not followed any more: what is changed in it counts from the next start")


def refuse_open_door(host: str, has_token: bool, config: Config) -> None:
    """Raise Forbidden if others can reach an address and need no token, InvalidConfig if there is no such address."""
    try:
        safe = has_token or resolves_to_loopback(host)
    except OSError as exc:
        raise InvalidConfig(
            f"http.host {host!r} is not an address of this machine: {exc.strerror}.", field="http.host"
        ) from exc
    if not safe:
        raise Forbidden(
            f"Others can reach {host}, so a token is needed: set the environment variable {config.http.token_env}, "
            "give http.tokens_file lines of `amemorix token`, or listen on 127.0.0.1.",
            field="http.host",
        )


@contextmanager
def listening(host: str, port: int) -> Generator[socket.socket, None, None]:
    """A bound socket. Raises Conflict if the port is taken, InvalidConfig if the address is not ours."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as sock:
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(address)
            sock.listen(BACKLOG)
        except OSError as exc:
            raise Conflict(
                f"Cannot listen on {host} port {port}: {exc.strerror}. Choose another with --port or http.port.",
                field="http.port",
            ) from exc
        yield sock


def _url(sock: socket.socket, host: str) -> str:
    address, port = sock.getsockname()[:2]
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    name = anywhere.get(address, host if is_loopback(host) else address)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


class _Server(uvicorn.Server):
    """Ends on a signal without raising it again, so that a stop that was asked for is a success."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
