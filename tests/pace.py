"""How long a test waits, and how much work it allows: the same on a machine that is slow or has other work."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

__all__ = ["PATIENCE", "effort", "until"]

PATIENCE = 120.0
"""Seconds that anything is waited for. A wait ends when the thing has come, so that only a defect takes so long."""


@contextmanager
def effort(most: float) -> Generator[None]:
    """The block has to do with so many seconds of this process's processor time.

    What other programs do meanwhile does not count, nor does the garbage of other tests.
    """
    collecting = gc.isenabled()
    gc.disable()
    started = time.process_time()
    try:
        yield
        spent = time.process_time() - started
    finally:
        if collecting:
            gc.enable()
    assert spent < most, f"{spent:.3f} s of work, and not {most:g}"


async def until(true: Callable[[], bool | Awaitable[bool]], problem: str = "it never came to be") -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = true()
        if answer if isinstance(answer, bool) else await answer:
            return
        assert time.monotonic() < deadline, problem
        await asyncio.sleep(0.01)
