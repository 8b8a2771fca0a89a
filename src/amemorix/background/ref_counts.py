"""Who is still using what."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator, Hashable
from typing import Generic, TypeVar

__all__ = ["Leases"]

T = TypeVar("T", bound=Hashable)


class Leases(Generic[T]):
    """Counts the users of things, and tells when a thing has none left."""

    def __init__(self) -> None:
        self._users: dict[T, int] = {}
        self._idle: dict[T, asyncio.Event] = {}

    @contextlib.contextmanager
    def taken(self, thing: T) -> Generator[T]:
        """Use the thing until the block ends."""
        self._users[thing] = self._users.get(thing, 0) + 1
        try:
            yield thing
        finally:
            self._let_go(thing)

    def _let_go(self, thing: T) -> None:
        self._users[thing] -= 1
        if not self._users[thing]:
            del self._users[thing]
            if thing in self._idle:
                self._idle.pop(thing).set()

    @contextlib.contextmanager
    def given_back(self, thing: T) -> Generator[None]:
        """Do not count as a user of the thing until the block ends."""
        self._let_go(thing)
        try:
            yield
        finally:
            self._users[thing] = self._users.get(thing, 0) + 1

    async def drained(self, thing: T, seconds: float) -> bool:
        """Wait until nobody uses the thing; False if somebody still does after that time."""
        if thing not in self._users:
            return True
        idle = self._idle.setdefault(thing, asyncio.Event())
        try:
            async with asyncio.timeout(seconds):
                await idle.wait()
        except TimeoutError:
            return False
        return True
