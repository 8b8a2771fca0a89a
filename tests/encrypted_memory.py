"""Memories that are encrypted with a secret of the tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amemorix.store.keys import Secret
from amemorix.testing import HashEmbedder, memory_host

__all__ = ["ENCRYPTED", "PASSPHRASE", "RAW_KEY", "SECRET", "encrypted_memory"]

PASSPHRASE = "correct horse battery staple"
"""Takes a moment to become a key: for what is about passphrases."""
RAW_KEY = "5a" * 32
SECRET = Secret(bytes.fromhex(RAW_KEY), is_key=True)
ENCRYPTED = {
    "storage.encryption.enabled": True, "storage.encryption.key_env": "KEY", "storage.encryption.key_file": "",
}  # fmt: skip
"""Settings of a memory whose secret is in the variable `KEY`."""


def encrypted_memory(folder: Path, *, secret: str = RAW_KEY, **settings: Any) -> Any:
    """One below a folder, unless the settings say that it is in the clear."""
    return memory_host(folder, environ={"KEY": secret}, embed=HashEmbedder(32), **{**ENCRYPTED, **settings})
