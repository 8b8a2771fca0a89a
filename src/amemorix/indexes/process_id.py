"""What tells the files of this process from those that an earlier one left behind."""

from __future__ import annotations

import os
import secrets

__all__ = ["process_mark"]

_BORN = secrets.token_hex(4)


def process_mark() -> str:
    """A part of file names: the process id, and a random number because ids come back, in containers at every start."""
    return f"{os.getpid():x}-{_BORN}"
