"""Work on a thread, and in tasks, that nobody leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from typing import Any, TypeVar

__all__ = ["end_tasks", "to_its_end"]

T = TypeVar("T")


async def to_its_end(pool: Executor, work: Callable[[], T], *, when_cancelled: Callable[[], None] | None = None) -> T:
    """Do it on a thread of the pool; a cancellation waits for its end, so that nothing works on files that nobody minds.

    `when_cancelled` may tell the work to end soon. What it raises then counts as seen.
    """
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    future.add_done_callback(_seen)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if when_cancelled is not None:
            when_cancelled()
        await asyncio.wait([future])
        raise


def _seen(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait for their end; those of another loop, which does not run any more, have ended with it."""
    here = asyncio.get_running_loop()
    mine = [task for task in tasks if task.get_loop() is here]
    for task in mine:
        task.cancel()
    await asyncio.gather(*mine, return_exceptions=True)
