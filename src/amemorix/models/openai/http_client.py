"""Requests that end in time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import httpx

__all__ = ["Closed", "Poster", "Reply", "TooLarge"]


class Closed(Exception):
    """The poster was closed before the answer was there."""


class TooLarge(Exception):
    """The answer is longer than is read."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that was read to its end."""

    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def text(self) -> str:
        """The content for people to read."""
        return self.content.decode(errors="replace")


class Poster:
    """Posts JSON for any number of threads.

    The requests run on an event loop in a thread of their own, so that each can be ended at any point: looking up the
    host, connecting, or reading an answer that drips in.
    """

    def __init__(self, *, headers: Mapping[str, str], timeout: float, max_bytes: int) -> None:
        self._client = httpx.AsyncClient(headers=headers, timeout=None)
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="amemorix-http", daemon=True)
        self._thread.start()

    def post(self, url: httpx.URL, body: Mapping[str, Any]) -> Reply:
        """The answer, all of it within `timeout` seconds.

        Raises TimeoutError, TooLarge (more than `max_bytes`), Closed, httpx.HTTPError.
        """
        with self._lock:
            if self._closing.is_set():
                raise Closed("it is closed")
            work = asyncio.run_coroutine_threadsafe(self._exchange(url, body), self._loop)
        try:
            return work.result()
        except CancelledError as exc:
            raise Closed("it was closed meanwhile") from exc

    def pause(self, seconds: float) -> None:
        """Wait so long, or until `close`."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """End the requests under way and close the connections."""
        with self._lock:
            if self._closing.is_set():
                return
            self._closing.set()
        asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop)
        self._thread.join()

    async def _exchange(self, url: httpx.URL, body: Mapping[str, Any]) -> Reply:
        async with asyncio.timeout(self._timeout), self._client.stream("POST", url, json=body) as answer:
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > self._max_bytes:
                    raise TooLarge(f"answered with more than {self._max_bytes} bytes")
            return Reply(answer.status_code, answer.headers, bytes(content))

    async def _hang_up(self) -> None:
        requests = asyncio.all_tasks() - {asyncio.current_task()}
        for request in requests:
            request.cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        try:
            await self._client.aclose()
        finally:
            self._loop.stop()

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()
