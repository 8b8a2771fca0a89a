"""Telling when the configuration file has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

from ..errors import MemoryFault

__all__ = ["watch"]

logger = logging.getLogger(__name__)
_DEBOUNCE_SECONDS = 0.1
_QUIET_LOOKS_OF_A_PART = 30
"""A content that may be the beginning of another is read when it stayed the same for three seconds."""


async def watch(
    path: Path,
    on_change: Callable[[bytes], Awaitable[None]],
    *,
    stop: asyncio.Event,
    seen: bytes | None = None,
    force_polling: bool | None = None,
    tick_seconds: float = 1.0,
) -> None:
    """Call `on_change` with the file's content each time it has become another, until `stop` is set.

    A content is told once it stayed the same for a moment. One that is shorter than the last good one and ends with another line may
    be a file that is being saved in place: it has to stay for three seconds.

    Notices of the operating system are only hints to look: what counts is the content, read at each hint and every
    `tick_seconds`. So renames over the file, symbolic links, folders that vanish and come back, and file systems that
    send no notices all work, and other files of the folder do not matter. A file that is gone is no change.
    An exception of `on_change` means that the content is not good; it is logged, unless it is a MemoryFault, and the watch goes on.
    `seen` is the content that is at work already; without it, what stands in the file when the watch begins. `force_polling` is handed to watchfiles.
    """
    seen = good = await asyncio.to_thread(_content, path) if seen is None else seen
    async with aclosing(_hints(path.parent, stop, force_polling, tick_seconds)) as hints:
        async for _ in hints:
            now = await _settled(path, seen, good, stop)
            if now is None or now == seen or stop.is_set():
                continue
            seen = now
            try:
                await on_change(now)
            except MemoryFault:
                pass  # told by whoever applies it
            except Exception:
                logger.exception("the change of %s could not be applied", path)
            else:
                good = now


async def _settled(path: Path, seen: bytes | None, good: bytes | None, stop: asyncio.Event) -> bytes | None:
    """The content, once it stayed the same for long enough: an editor may be half way through."""
    now, quiet = await asyncio.to_thread(_content, path), 0
    while now is not None and now != seen and not stop.is_set():
        may_be_part = good is not None and len(now) < len(good) and _last_line(now) != _last_line(good)
        if quiet >= (_QUIET_LOOKS_OF_A_PART if may_be_part else 1):
            break
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        before, now = now, await asyncio.to_thread(_content, path)
        quiet = quiet + 1 if now == before else 0
    return now


def _last_line(content: bytes) -> bytes:
    return content.rstrip().rpartition(b"\n")[2].strip()


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None  # a pipe would be waited for
    except OSError:
        return None


async def _hints(folder: Path, stop: asyncio.Event, force_polling: bool | None, tick: float) -> AsyncGenerator[None]:
    """Yield when watchfiles saw something happen in the folder itself, and at least every `tick` seconds."""
    from watchfiles import awatch

    while not stop.is_set():
        identity = _identity(folder)
        try:
            notices = awatch(
                folder, watch_filter=None, stop_event=stop, debounce=200, rust_timeout=max(1, int(tick * 1000)),
                yield_on_timeout=True, force_polling=force_polling, recursive=False,
            )  # fmt: skip
            async with aclosing(notices):
                async for _ in notices:
                    yield
                    if _identity(folder) != identity:
                        break
        except (OSError, RuntimeError) as exc:
            logger.debug("%s cannot be watched (%s); looking every %g s", folder, exc, tick)
            with suppress(TimeoutError):
                async with asyncio.timeout(tick):
                    await stop.wait()
        yield


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
