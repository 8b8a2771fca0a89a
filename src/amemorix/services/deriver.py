"""What makes rows out of rows in the background."""

from __future__ import annotations

import sqlite3
from typing import Protocol

__all__ = ["Deriver"]


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

    def lag(self, db: sqlite3.Connection) -> int:
        """Changes not taken up yet."""
        ...

    def cursor(self, db: sqlite3.Connection) -> int:
        """How far the change log is needed no more; unlimited while it is switched off."""
        ...
