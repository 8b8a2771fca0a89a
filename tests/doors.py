"""A memory asked through `Memory` or `Client`, in the shape of the host's, so that the same cases run through each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from amemorix import Client, Memory, MemoryFault
from amemorix.config import patched
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.tokens import Tokens
from amemorix.frontends.python.blocking import Calls
from amemorix.host.service import AMemorixHostService
from amemorix.testing import ASK_NOBODY, lay_empty_database, memory_host, scratch_config
from entrance import one_token

__all__ = ["Door", "opened_through", "served", "through_each_door", "web_client"]

through_each_door = pytest.mark.parametrize(
    "opened", [None, "Memory", "Client"], ids=["host", "Memory", "Client"], indirect=True
)
"""Marks cases whose memory comes from the fixture `opened`."""


def web_client(host: AMemorixHostService, token: str = "") -> httpx.AsyncClient:
    """Calls the HTTP front end of a memory in this process; with a token, one is needed."""
    transport = httpx.ASGITransport(app=create_app(host, tokens=one_token(token)))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120)


class Door:
    """What the cases use of a host, through a door that does not await."""

    def __init__(self, calls: Calls, config: Path, host: AMemorixHostService | None = None) -> None:
        """`host`: what is behind a client, which itself waits for nothing."""
        self._calls = calls
        self._host = host
        self.config_path = config

    async def invoke(self, component: str, args: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(self._calls.call, component, dict(args or {}))
        except MemoryFault as exc:
            return exc.to_dict()

    async def settle(self, timeout: float | None = None) -> None:
        async with asyncio.timeout(timeout):
            await (self._host.settle() if self._host else asyncio.to_thread(self._calls.settle))

    async def update_config(self, patch: Mapping[str, Any]) -> None:
        self.config_path.write_text(patched(self.config_path.read_text("utf-8"), patch), "utf-8")
        await asyncio.to_thread(self._calls.call, "memory_runtime_admin", action="reload")


@asynccontextmanager
async def served(host: AMemorixHostService, tokens: Tokens | None = None) -> AsyncGenerator[str]:
    """The address at which a daemon in this process answers for the memory."""
    server = uvicorn.Server(uvicorn.Config(create_app(host, tokens=tokens), port=0, log_config=None))
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110  # there is no event of it
            await asyncio.sleep(0)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def opened_through(name: str, folder: Path, **settings: Any) -> AsyncGenerator[Door]:
    """A memory behind a door; a call without a chat reads every one, as in the process of the host."""
    settings["privacy"] = {"require_scope": "never", **settings.get("privacy", {})}
    if name == "Memory":
        settings.pop("clock", None)  # it goes by its own
        lay_empty_database(folder)
        config = scratch_config(folder, {**ASK_NOBODY, "embedding": {"provider": "none"}, **settings})
        memory = await asyncio.to_thread(Memory, folder)
        try:
            yield Door(memory, config)
        finally:
            await asyncio.to_thread(memory.close)
        return
    async with memory_host(folder, **settings) as host, served(host) as url:
        with closing(Client(url)) as client:
            yield Door(client, host.config_path, host)
