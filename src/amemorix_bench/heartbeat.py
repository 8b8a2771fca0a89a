"""A pulse on the event loop, which notices when something holds the loop up."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator

from .metrics import percentile

__all__ = ["Heartbeat", "heartbeat"]

BEAT_SECONDS = 0.002


class Heartbeat:
    """How late each beat came, in milliseconds."""

    def __init__(self) -> None:
        self.late: list[float] = []

    @property
    def longest(self) -> float:
        """The longest stall."""
        return round(max(self.late, default=0.0), 2)

    @property
    def p99(self) -> float:
        """The stall that one beat in a hundred exceeded."""
        return round(percentile(self.late, 99), 2)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            due = time.perf_counter() + BEAT_SECONDS
            await asyncio.sleep(BEAT_SECONDS)
            self.late.append(max(0.0, time.perf_counter() - due) * 1000)


@contextlib.asynccontextmanager
async def heartbeat() -> AsyncGenerator[Heartbeat, None]:
    """A heartbeat that beats while the block runs."""
    pulse = Heartbeat()
    task = asyncio.create_task(pulse.run())
    try:
        yield pulse
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
