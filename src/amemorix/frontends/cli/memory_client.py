"""A command's way to the memory: opened here, or asked of the daemon that has it open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from ...audit_context import entered_by
from ...errors import Forbidden, MemoryFault, NotReady
from ...location import TOKEN_ENV, locate
from ...store.private_files import UMASK
from ..daemon import Daemon, daemon_of
from ..http.json_response import BASE_PATH, UPLOAD_PATH, usable_token
from .terminal import remark

if TYPE_CHECKING:
    from ...host.service import AMemorixHostService

__all__ = ["DaemonMemory", "LocalMemory", "Memory", "Refused", "answered", "ask", "client_of", "opened"]

MAX_SECONDS = 600.0
"""Time given to one call of a daemon."""


class DaemonMemory:
    """A memory behind HTTP."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer a component. Raises NotReady if nobody answers, Forbidden if the token is missing or wrong."""
        try:
            response = await self._client.post(f"{BASE_PATH}/{component_name}", json=args or {})
            answer: dict[str, Any] = response.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise NotReady(f"The daemon at {self._client.base_url} does not answer: {exc}.") from exc
        if response.status_code in (401, 403):
            raise Forbidden(f"The daemon refused: {answer['error']} Set its token in the environment.")
        return answer

    async def settle(self) -> None:
        """The daemon makes its vectors in the background."""

    async def stage(self, path: Path) -> dict[str, Any]:
        """Upload the file. Raises Refused with the daemon's sentence, NotReady if nobody answers."""
        try:
            with path.open("rb") as file:
                response = await self._client.post(f"{BASE_PATH}{UPLOAD_PATH}", files={"file": (path.name, file)})
            answer: dict[str, Any] = response.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise NotReady(f"The daemon at {self._client.base_url} does not take {path.name}: {exc}.") from exc
        if not answer.get("success"):
            raise Refused(str(answer.get("error", "The daemon refused.")))
        return {key: answer["files"][0][key] for key in ("staged", "name")}


class LocalMemory:
    """A memory that a command opens in its own process."""

    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        with entered_by("cli"):
            return await self._host.invoke(component_name, args)

    async def settle(self) -> None:
        await self._host.settle()

    async def stage(self, path: Path) -> dict[str, Any]:
        staged = await asyncio.to_thread(self._host.staging()[0].adopt, path)
        return {"staged": staged.id, "name": staged.name}


Memory = DaemonMemory | LocalMemory
"""What commands work on: `invoke` answers a component with a dict that has `success`, `settle` waits until what was written has its
vectors, where this process makes them, and `stage` hands a file over and returns what `create_upload` takes for it."""


class Refused(MemoryFault):
    """The memory answered that it could not."""

    code = "refused"


async def answered(memory: Memory, component: str, args: dict[str, Any]) -> dict[str, Any]:
    """The answer of a component. Raises Refused with the error's sentence if it failed."""
    answer = await memory.invoke(component, args)
    if not answer.get("success") and "error_code" in answer:
        raise Refused(str(answer["error"]), **answer.get("details", {}))
    return answer


def ask(config: Path, component: str, args: dict[str, Any], *, raising: bool = True) -> dict[str, Any]:
    """The answer of a component of the memory of a configuration file. Raises as `opened` and, if asked to, `answered` do."""

    async def asked() -> dict[str, Any]:
        async with opened(config) as memory:
            return await (answered(memory, component, args) if raising else memory.invoke(component, args))

    return asyncio.run(asked())


@asynccontextmanager
async def opened(config_path: Path) -> AsyncGenerator[Memory, None]:
    """The memory of a configuration file; if a daemon holds its data directory, that daemon is asked.

    Raises what starting a host raises.
    """
    if not config_path.exists():
        remark(f"There is no {config_path} yet: it is written with the defaults.")
    if daemon := daemon_of(config_path):
        place = locate(config_path)
        async with client_of(daemon, place.token_env if place else TOKEN_ENV) as client:
            yield DaemonMemory(client)
        return
    from ...host.service import AMemorixHostService

    os.umask(UMASK)
    async with AMemorixHostService(config_path, watch=False) as host:
        yield LocalMemory(host)


def client_of(daemon: Daemon, token_env: str) -> httpx.AsyncClient:
    """A client that asks a daemon with the token in the environment variable. Raises InvalidConfig for one that cannot be sent."""
    token = usable_token(os.environ.get(token_env, ""), token_env)
    return httpx.AsyncClient(
        base_url=daemon.url,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=MAX_SECONDS,
        trust_env=False,
        verify=daemon.url.startswith("https:"),  # reading the certificates costs more than the call
    )
