"""LoCoMo in a memory, for scripts that ask it with one setting after another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from . import recall
from .locomo_file import read_locomo
from .recall import RecallBench

__all__ = ["loaded"]


def loaded(
    file: Path,
    *,
    conversations: Collection[str] = (),
    config: Mapping[str, Any] | None = None,
    merged: bool = False,
) -> AbstractAsyncContextManager[RecallBench]:
    """A memory in a temporary folder that holds the file's conversations, or those named. Raises InvalidRequest."""
    return recall.loaded(read_locomo(file).only(conversations), config=config, merged=merged)
