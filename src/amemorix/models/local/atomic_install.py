"""A folder that appears whole or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ModelUnavailable

__all__ = ["whole_folder"]


@contextmanager
def whole_folder(target: Path, name: str, *, is_good: Callable[[], bool]) -> Generator[Path]:
    """An empty folder to fill, renamed to `target` at the end of the block, and deleted if the block fails.

    A damaged or older `target` is removed; one that appeared meanwhile stays if `is_good` says so. The folder's parent
    is there for scratch files and is deleted at the end. Raises ModelUnavailable, which names `name`, for what the
    file system refuses.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as work:
            new = Path(work) / "new"
            new.mkdir()
            yield new
            if target.exists():
                target.rename(new.parent / "old")
            try:
                new.rename(target)
            except OSError:
                if not is_good():
                    raise
    except OSError as exc:
        raise ModelUnavailable(f"{name} cannot be written to {target}: {exc.strerror}.", model=name) from exc
