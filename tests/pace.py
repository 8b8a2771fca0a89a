"""How long a test waits, and how work is measured: the same on a machine that is slow or has other work."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager

__all__ = ["PATIENCE", "assert_linear", "calls", "processor_time", "until", "work_unit"]

PATIENCE = 120.0
"""Seconds that anything is waited for. A wait ends when the thing has come, so that only a defect takes so long."""
SLACK = 4.0
"""How much more than in proportion work may grow between two sizes; work that grows with the square goes far beyond."""


@contextmanager
def processor_time(spent: list[float]) -> Generator[None]:
    """Append the processor time of the block, in seconds of this process, without the garbage of other tests."""
    collecting = gc.isenabled()
    gc.disable()
    started = time.process_time()
    try:
        yield
        spent.append(time.process_time() - started)
    finally:
        if collecting:
            gc.enable()


def assert_linear(work: Callable[[int], object], small: int, large: int) -> None:
    """`work(size)` takes processor time in proportion to the size, or less: the best of three runs of each size."""
    costs: dict[int, list[float]] = {small: [], large: []}
    for _ in range(3):
        for size, spent in costs.items():
            with processor_time(spent):
                work(size)
    few, many = min(costs[small]), min(costs[large])
    assert many <= SLACK * large / small * max(few, 1e-4), f"{few:.4f} s for {small}, {many:.4f} s for {large}"


def calls(work: Callable[[], object]) -> int:
    """How many Python functions are entered while `work()` runs a second time: the same on every machine."""
    entered = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    work()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return entered


def work_unit() -> float:
    """Seconds of processor time that a fixed piece of work takes here and now: about 0.01 on a machine of 2024."""
    spent: list[float] = []
    for _ in range(3):
        with processor_time(spent):
            sum(number * number for number in range(200_000))
    return min(spent)


async def until(true: Callable[[], bool | Awaitable[bool]], problem: str = "it never came to be") -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE
    while True:
        answer = true()
        if answer if isinstance(answer, bool) else await answer:
            return
        assert time.monotonic() < deadline, problem
        await asyncio.sleep(0.01)
