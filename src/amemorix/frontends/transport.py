"""The two ways to a memory: opened in this process, or asked of a daemon over HTTP."""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from ..audit_context import Grant, entered_by
from ..errors import Forbidden, InvalidRequest, MemoryFault, NotReady, TimedOut, fault_of
from ..locale import spoken
from ..location import TOKEN_ENV
from .daemon import Daemon
from .http.json_response import BASE_PATH, UPLOAD_PATH, usable_token

if TYPE_CHECKING:
    from ..host.service import AMemorixHostService

__all__ = ["DaemonMemory", "LocalMemory", "Refused", "client_of"]

JSON = {"Content-Type": "application/json"}
MAX_SECONDS = 600.0
"""Time given to one call of a daemon."""
SETTLE_SECONDS = 5.0
"""The longest that one call waits for a daemon's background."""
ROUND_PAUSE_SECONDS = 0.1
"""Between two such calls: a daemon that is changing over answers at once that it has not caught up."""


class Refused(MemoryFault):
    """The memory answered that it could not."""

    code = "refused"


class DaemonMemory:
    """A memory behind HTTP."""

    def __init__(self, client: httpx.AsyncClient, token_env: str = TOKEN_ENV) -> None:
        self._client = client
        self._token_env = token_env

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        """Answer a component. Raises NotReady if nobody answers, Forbidden if the token is missing or wrong."""
        try:
            body = json.dumps(args or {}, allow_nan=False, default=_sent)
        except ValueError as exc:
            raise InvalidRequest(f"{component_name}: {exc}.") from exc
        try:
            response = await self._client.post(
                f"{BASE_PATH}/{component_name}", content=body, headers=JSON | _language()
            )
            answer: dict[str, Any] = response.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise NotReady(f"The daemon at {self._client.base_url} does not answer: {exc}.") from exc
        if not isinstance(answer, dict) or "success" not in answer:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotReady(
                f"What answers at {self._client.base_url} is no memory: {response.status_code} {response.text[:100]}"
            )
        if response.status_code == 401:
            raise Forbidden(
                f"The daemon refused: {answer['error']} Set its token in the environment variable {self._token_env}."
            )
        if response.status_code == 403:
            raise Forbidden(f"The daemon refused: {answer['error']}")
        return answer

    async def settle(self, timeout: float | None = None) -> None:
        """Wait until the daemon's background has caught up. Raises TimedOut after `timeout` seconds, NotReady if nobody answers.

        It is asked again and again, so that no call is in the way of a restart for long.
        """
        given = self._client.timeout.read
        longest = SETTLE_SECONDS if given is None else min(SETTLE_SECONDS, given / 2)
        until = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            seconds = max(0.0, min(longest, until - time.monotonic()))
            answer = await self.invoke("memory_runtime_admin", {"action": "settle", "seconds": seconds})
            if fault := fault_of(answer):
                raise fault
            if answer["settled"]:
                return
            if time.monotonic() >= until:
                raise TimedOut(
                    f"Not everything had caught up after {timeout:g} s.", seconds=timeout, waiting=answer["waiting"]
                )
            await asyncio.sleep(ROUND_PAUSE_SECONDS)

    async def stage(self, path: Path) -> dict[str, Any]:
        """Upload the file. Raises Refused with the daemon's sentence, NotReady if nobody answers."""
        try:
            with path.open("rb") as file:
                response = await self._client.post(
                    f"{BASE_PATH}{UPLOAD_PATH}", files={"file": (path.name, file)}, headers=_language()
                )
            answer: dict[str, Any] = response.json()
        except (httpx.HTTPError, ValueError) as exc:
            raise NotReady(f"The daemon at {self._client.base_url} does not take {path.name}: {exc}.") from exc
        if not answer.get("success"):
            raise Refused(str(answer.get("error", "The daemon refused.")))
        return {key: answer["files"][0][key] for key in ("staged", "name")}


def _language() -> dict[str, str]:
    """The language in which the caller is answered, where one is spoken here."""
    return {"Accept-Language": language} if (language := spoken()) else {}


def _sent(value: Any) -> Any:
    """What JSON has no words for, as the memory reads it. Raises InvalidRequest."""
    if isinstance(value, datetime) and value.tzinfo:
        return value.timestamp()
    if isinstance(value, date):
        return value.isoformat()
    raise InvalidRequest(f"{value!r:.100} cannot be sent: it is neither JSON nor a date.")


class LocalMemory:
    """A memory in this process, asked by a door for a caller who may do what is granted; None: everything."""

    def __init__(self, host: AMemorixHostService, door: str, grant: Grant | None = None) -> None:
        self._host = host
        self._door = door
        self._grant = grant

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        with entered_by(self._door, self._grant):
            return await self._host.invoke(component_name, args)

    async def settle(self, timeout: float | None = None) -> None:
        await self._host.settle(timeout)

    async def stage(self, path: Path) -> dict[str, Any]:
        staged = await asyncio.to_thread(self._host.staging()[0].adopt, path)
        return {"staged": staged.id, "name": staged.name}


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
