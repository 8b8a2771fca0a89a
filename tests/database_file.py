"""The database files of memories, opened beside the memory: encrypted ones with the key that the tests use."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from amemorix.store import driver
from amemorix.store.cipher_pages import in_clear
from amemorix.store.keys import KEYS_FILE, Keyring, read_secret
from amemorix.store.sealed_files import is_sealed, opened_chunks

__all__ = ["content", "encrypted", "keyring", "on_disk", "open_database"]


def encrypted() -> bool:
    """Whether the memories of the tests are encrypted: with `AMEMORIX_TEST_ENCRYPTED=1`."""
    return bool(os.environ.get("AMEMORIX_TEST_KEY_FILE"))


def keyring(folder: Path) -> Keyring | None:
    """The keys that lie in a folder."""
    from amemorix.config.model import Encryption

    file = folder / KEYS_FILE
    return Keyring.read(file, read_secret(Encryption(), folder, {})) if file.exists() else None


def open_database(path: Path | str, *, uri: bool = False, **options: Any) -> sqlite3.Connection:
    """Like `sqlite3.connect`, of a file that a memory wrote; no other descriptor of it is opened."""
    where = Path(str(path).removeprefix("file://").removeprefix("file:").partition("?")[0] if uri else path)
    keys = keyring(where.parent) if encrypted() else None
    if keys is None:
        return sqlite3.connect(path, uri=uri, **options)
    db = driver.connect(path, key=keys.page_key(), uri=uri)
    db.isolation_level = options.get("isolation_level", "")  # type: ignore[assignment]
    return db


def content(path: Path) -> bytes:
    """The bytes of a file below the data directory of a memory, decrypted if the memory is."""
    folder = next((one for one in path.parents if (one / KEYS_FILE).exists()), None)
    keys = keyring(folder) if folder and encrypted() else None
    if keys is None:
        return path.read_bytes()
    if is_sealed(path):
        return b"".join(opened_chunks(path, keys))
    key, raw = keys.fitting(path.with_name(path.name.removesuffix("-wal"))), path.read_bytes()
    return b"".join(in_clear(iter([raw]), key.pages, log=path.name.endswith("-wal"))) if key else raw


def on_disk(folder: Path) -> list[bytes]:
    """The same of every file below a folder."""
    return [content(path) for path in folder.rglob("*") if path.is_file()]
