"""The listener as a program: the memory of a folder, fed by bots until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from ...config import load
from ...errors import Forbidden
from ..http.auth import resolves_to_loopback
from ..http.json_response import usable_token
from ..python.memory import AsyncMemory
from .connections import accept_bots, follow_bot
from .listener import OneBotListener

__all__ = ["serve"]


class _Memory(AsyncMemory):
    _door = "onebot"


async def serve(
    config_path: Path, *, url: str | None, host: str | None, port: int | None, environ: Mapping[str, str],
    tell: Callable[[str], None],
) -> None:  # fmt: skip
    """Store what bots report until SIGTERM or SIGINT; `tell` is called once with the address.

    Raises Forbidden for an address beyond this machine without a token, Conflict if the port is taken.
    """
    settings = (await asyncio.to_thread(load, config_path, create=True)).onebot
    token = usable_token(environ.get(settings.token_env, ""), settings.token_env) if settings.token_env else ""
    url = settings.url if url is None else url
    host, port = host or settings.host, settings.port if port is None else port
    if not url and not token and not resolves_to_loopback(host):
        raise Forbidden(
            f"Others can reach {host}, so a token is needed: set the environment variable {settings.token_env}, and the same in the bot.",
            field="onebot.host",
        )
    async with _Memory(config_path) as memory:
        listener = OneBotListener(memory, commands=settings.commands, batch_seconds=settings.batch_seconds)
        storing = asyncio.create_task(listener.run())
        hearing = asyncio.create_task(_hear(listener, url, host, port, token, tell))
        try:
            await _until_signalled(hearing)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)
            await listener.finish()
            storing.cancel()
            await asyncio.gather(storing, return_exceptions=True)


async def _hear(
    listener: OneBotListener, url: str, host: str, port: int, token: str, tell: Callable[[str], None]
) -> None:
    if url:
        tell(url)
        await follow_bot(url, token, listener.heard)
    else:
        async with accept_bots(host, port, token, listener.heard) as taken:
            tell(f"ws://[{host}]:{taken}" if ":" in host else f"ws://{host}:{taken}")
            await asyncio.Event().wait()


async def _until_signalled(work: asyncio.Task[None]) -> None:
    """Wait for SIGTERM or SIGINT, or for the work, which ends by an error alone."""
    signalled = asyncio.Event()
    if os.name == "posix":
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, signalled.set)
    ending = asyncio.create_task(signalled.wait())
    await asyncio.wait((work, ending), return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    if work.done():
        await work
