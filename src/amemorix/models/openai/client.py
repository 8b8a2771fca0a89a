"""The client of an OpenAI-compatible endpoint, asked until it answers or is given up."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from ...clock import Clock, SystemClock
from ...errors import MemoryFault

__all__ = ["OpenAIClient", "Refused", "TooLarge"]

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Answers that another try may change."""
LONGEST_PAUSE = 30.0
"""Seconds: an endpoint that asks for a longer pause is down for this call."""


class Refused(Exception):
    """The endpoint will not take this request."""


class TooLarge(Refused):
    """The answer is longer than is read."""


class OpenAIClient:
    """Posts JSON to `{base_url}{path}` from one event loop.

    A request that was not answered in full after `timeout` seconds, or meets another passing fault, is tried up to
    `max_attempts` times. Whatever fails is a `fault` with these `details`; no message holds the key.
    """

    def __init__(
        self,
        kind: str,
        base_url: str,
        path: str,
        *,
        key: str,
        fault: type[MemoryFault],
        details: Mapping[str, Any],
        refused: frozenset[int],
        timeout: float,
        max_attempts: int,
        max_bytes: int,
        max_concurrent: int = 64,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        """`kind` is the section of the settings; statuses in `refused` raise Refused."""
        field = f"{kind}.base_url"
        try:
            self.url = httpx.URL(base_url.strip().rstrip("/") + path)
        except httpx.InvalidURL as exc:
            raise fault(f"{field} is not an address.", field=field) from exc
        if self.url.scheme not in {"http", "https"} or not self.url.host:
            raise fault(f"{field} must be like https://api.example.com/v1.", field=field)
        if not (key.isascii() and key.isprintable()):
            raise fault(f"The {kind} endpoint's key holds characters that no header can carry.")
        self.who = f"The {kind} endpoint {self.url.host}"
        self._client = httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=None)
        self._key, self._fault, self._details, self._refused = key, fault, details, refused
        self._timeout, self._attempts, self._max_bytes = timeout, max_attempts, max_bytes
        self._slots = asyncio.Semaphore(max_concurrent)
        self._clock = clock or SystemClock()
        self._sleep = sleep or asyncio.sleep

    async def post(self, body: Mapping[str, Any]) -> bytes:
        """The first good answer. Raises Refused, TooLarge, or the fault after the last try."""
        attempt = 1
        while True:
            problem, pause = await self._try(body)
            if isinstance(problem, bytes):
                return problem
            if attempt >= self._attempts or (pause or 0) > LONGEST_PAUSE:
                raise self.failed(problem, retry_after=pause)
            # Doubling from half a second, with as much again of chance.
            chance = min(0.5 * 2 ** (attempt - 1), LONGEST_PAUSE / 2) * (1 + random.random())
            await self._sleep(chance if pause is None else pause)
            attempt += 1

    def failed(self, problem: str, **details: Any) -> MemoryFault:
        """The fault that says what is wrong with this endpoint."""
        return self._fault(f"{self.who} {problem}.", **self._details, **details)

    async def close(self) -> None:
        await self._client.aclose()

    async def _try(self, body: Mapping[str, Any]) -> tuple[bytes | str, float | None]:
        """A good answer, or what went wrong with the pause that the endpoint asks for."""
        content = bytearray()
        try:
            async with (
                self._slots,
                asyncio.timeout(self._timeout),
                self._client.stream("POST", self.url, json=body) as answer,
            ):
                async for chunk in answer.aiter_bytes():
                    content += chunk
                    if len(content) > self._max_bytes:
                        raise TooLarge(f"answered with more than {self._max_bytes} bytes")
        except (TimeoutError, httpx.TimeoutException):
            return "did not answer in time", None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as exc:
            return f"cannot be reached ({self._clean(str(exc))})", None
        except (httpx.HTTPError, RuntimeError) as exc:  # httpx raises RuntimeError when the client is closed
            raise self.failed(f"cannot be asked: {self._clean(str(exc))}") from exc
        if 200 <= answer.status_code < 300:
            return bytes(content), None
        said = f"answered HTTP {answer.status_code}: {self._clean(content.decode(errors='replace'))[:200]}"
        if answer.status_code in self._refused:
            raise Refused(said)
        if answer.status_code not in PASSING:
            raise self.failed(said, status=answer.status_code)
        return said, _retry_after(answer.headers, self._clock.now())

    def _clean(self, text: str) -> str:
        """`text` on one line, without the key."""
        return " ".join((text.replace(self._key, "***") if self._key else text).split())


def _retry_after(headers: httpx.Headers, now: float) -> float | None:
    """Seconds to wait as the endpoint says (RFC 9110, section 10.2.3), or None."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now) if value else None
    except ValueError:
        return None
