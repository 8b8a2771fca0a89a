"""A temporary store on disk for what an import must look up and memory should not hold."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from .driver import PageKey, cipher_is_loaded
from .queries import FOREIGN, array, connect

__all__ = ["TempLookup"]

BETWEEN = "\x1f"


class TempLookup:
    """Texts by kind and key, in the order they were put; a file without a name that is gone when it is closed.

    Where an encrypted memory is open in this process the file is encrypted, with a key that is never stored.
    """

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory(prefix="amemorix-import-", ignore_cleanup_errors=True) as folder:
            key = PageKey(secrets.token_bytes(32)) if cipher_is_loaded() else None
            self._db = connect(Path(folder, "lookup") if key else "", key=key, folders=FOREIGN)
            self._db.execute("pragma journal_mode = memory")
            self._db.run("scratch_table")
        self._db.execute("begin")
        self._place = 0

    def __enter__(self) -> TempLookup:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, at: TracebackType | None) -> None:
        self._db.close()

    def put(self, kind: str, key: str, value: str) -> None:
        """Keep a value beside those that the key has."""
        self._place += 1
        self._db.run("scratch_put", kind=kind, key=key, place=self._place, value=value)

    def values(self, kind: str, key: str, limit: int = -1) -> list[str]:
        """The values of a key; the first only, if there is a limit."""
        return [value for (value,) in self._db.run("scratch_values", kind=kind, key=key, limit=limit)]

    def put_between(self, kind: str, first: str, second: str, value: str) -> None:
        """Keep a value of two keys."""
        self.put(kind, f"{first}{BETWEEN}{second}", value)

    def between(self, kind: str, keys: Sequence[str]) -> list[str]:
        """The values of any two of these keys."""
        values = {"kind": kind, "keys": array(dict.fromkeys(keys)), "between": BETWEEN}
        return [value for (value,) in self._db.run("scratch_between", **values)]

    def meet(self, kind: str, first: str, second: str) -> bool:
        """Whether two keys have a value in common."""
        return self._db.run("scratch_meeting", kind=kind, first=first, second=second).fetchone() is not None
