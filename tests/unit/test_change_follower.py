"""The loop of all background work."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from amemorix.background.change_follower import run_forever
from pace import until


async def test_what_comes_while_it_looks_is_looked_at_at_once() -> None:
    wake, looks = asyncio.Event(), 0

    async def step() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            wake.set()
        return False

    loop = asyncio.create_task(run_forever(step, what="looking", pause=3600.0, idle_share=0.0, wake=wake))
    await until(lambda: looks > 1)
    await asyncio.sleep(0.01)
    assert looks == 2, "and then it rests"
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop
