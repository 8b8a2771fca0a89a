"""Telling when the configuration file has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

from .document import decoded, read_text

__all__ = ["settled_text", "watch"]

logger = logging.getLogger(__name__)
_DEBOUNCE_SECONDS = 0.1
_MOST_LOOKS = 50


async def watch(
    path: Path,
    on_change: Callable[[], Awaitable[None]],
    *,
    stop: asyncio.Event,
    seen: bytes | None = None,
    force_polling: bool | None = None,
    tick_seconds: float = 1.0,
) -> None:
    """Call `on_change` each time the file's content has become another, until `stop` is set.

    Notices of the operating system are only hints to look: what counts is the content, read at each hint and every
    `tick_seconds`. So renames over the file, symbolic links, folders that vanish and come back, and file systems that
    send no notices all work, and other files of the folder do not matter. A file that is gone is no change.
    An exception of `on_change` is logged and the watch goes on. `seen` is the content that is at work already; without
    it, what stands in the file when the watch begins. `force_polling` is handed to watchfiles.
    """
    seen = await asyncio.to_thread(_content, path) if seen is None else seen
    async with aclosing(_hints(path.parent, stop, force_polling, tick_seconds)) as hints:
        async for _ in hints:
            now = await _settled(path, seen)
            if now is None or now == seen or stop.is_set():
                continue
            seen = now
            try:
                await on_change()
            except Exception:
                logger.exception("the change of %s could not be applied", path)


async def settled_text(path: Path) -> str:
    """The file's text once nobody is half way through writing it. Raises InvalidConfig as `read_text` does."""
    content = await _settled(path, None)
    return await asyncio.to_thread(read_text, path) if content is None else decoded(content, path)


async def _settled(path: Path, seen: bytes | None) -> bytes | None:
    """The content, once it is the same at two looks in a row: an editor may be half way through."""
    now = await asyncio.to_thread(_content, path)
    for _ in range(_MOST_LOOKS):
        if now is None or now == seen:
            break
        await asyncio.sleep(_DEBOUNCE_SECONDS)
        before, now = now, await asyncio.to_thread(_content, path)
        if now == before:
            break
    return now


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


async def _hints(folder: Path, stop: asyncio.Event, force_polling: bool | None, tick: float) -> AsyncGenerator[None]:
    """Yield when something happened in the folder, and at least every `tick` seconds."""
    while not stop.is_set():
        identity = _identity(folder)
        try:
            async with aclosing(_notices(folder, stop, force_polling, tick)) as notices:
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


async def _notices(folder: Path, stop: asyncio.Event, force_polling: bool | None, tick: float) -> AsyncGenerator[None]:
    """What watchfiles sees in the folder itself, and a beat every `tick` seconds of silence."""
    from watchfiles import awatch

    async for _ in awatch(
        folder,
        watch_filter=None,
        stop_event=stop,
        debounce=200,
        rust_timeout=max(1, int(tick * 1000)),
        yield_on_timeout=True,
        force_polling=force_polling,
        recursive=False,
    ):
        yield
