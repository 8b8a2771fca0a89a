"""What makes rows out of rows in the background."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from ..errors import MemoryFault
from ..store.ports import Connection

__all__ = ["Deriver", "Stumbling", "for_ever"]

log = logging.getLogger(__name__)
WAY_SHARE = 20.0
"""Seconds of rest for each second of work while something that callers wait for goes on."""


LONGEST_REST = 60.0


class Deriver(Protocol):
    """Follows the change log by a cursor that is stored together with what it derives."""

    async def run(self) -> None:
        """Derive for ever; ends when cancelled."""
        ...

    async def drain(self) -> object:
        """Derive until nothing is left to do."""
        ...

    async def at_rest(self) -> None:
        """Wait until what was read before this call has been stored."""
        ...

    def lag(self, db: Connection) -> int:
        """Changes not taken up yet."""
        ...

    def cursor(self, db: Connection) -> int:
        """How far the change log is needed no more; unlimited while it is switched off."""
        ...


class Stumbling:
    """How long a loop rests after each fault: twice as long every time, until something is done again."""

    def __init__(self, pause: float) -> None:
        self._pause = self._rest = pause

    def rest(self) -> float:
        """Seconds to rest after one more fault."""
        rest, self._rest = self._rest, max(self._pause, min(self._rest * 2, LONGEST_REST))
        return rest

    def over(self) -> None:
        """A step was taken to its end."""
        self._rest = self._pause


def _never() -> bool:
    return False


async def for_ever(
    step: Callable[[], Awaitable[bool]],
    *,
    what: str,
    pause: float,
    idle_share: float,
    gives_way: Callable[[], bool] = _never,
) -> None:
    """Take step after step, until cancelled.

    After one that did something it rests `idle_share` seconds for each second of work, so that calls go first, and longer
    while it gives way; after one that found nothing `pause` seconds, and longer each time that it stumbles.
    """
    stumbling = Stumbling(pause)
    while True:
        started = time.perf_counter()
        try:
            busy = await step()
        except asyncio.CancelledError:
            raise
        except MemoryFault as exc:
            log.warning("%s stumbled; it goes on in a while: %s", what, exc)
            await asyncio.sleep(stumbling.rest())
            continue
        except Exception:
            log.exception("%s stumbled; it goes on in a while", what)
            await asyncio.sleep(stumbling.rest())
            continue
        stumbling.over()
        spent = time.perf_counter() - started
        share = max(idle_share, WAY_SHARE) if gives_way() else idle_share
        await asyncio.sleep(spent * share if busy else pause)
