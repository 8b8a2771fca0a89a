"""`SQLiteMemoryStore`: items in this memory, which is a SQLite database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..store import KernelStore

__all__ = ["SQLiteMemoryStore"]


class SQLiteMemoryStore(KernelStore):
    """A `KernelStore`, of which `db_path` says where the memory is: a folder or a configuration file.

    An Exo database as Exo wrote it is no such place: `python -m amemorix.facades.exo` imports it.
    """

    def __init__(self, db_path: str | Path, namespace: str = "default", **how: Any) -> None:
        super().__init__(db_path, namespace, **how)
