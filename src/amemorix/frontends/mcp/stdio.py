"""The MCP server on standard input and output: what desktop clients start."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from mcp.server.stdio import stdio_server

from ..python.memory import AsyncMemory
from .server import DefaultScope, server_of

__all__ = ["serve"]


class _Memory(AsyncMemory):
    _door = "mcp"


async def serve(folder: Path | None, default: DefaultScope) -> None:
    """Run until the client hangs up, SIGTERM or SIGINT.

    The memory is opened by the first call, so a folder that is in use is said in answer to it, and tried again by the next.
    """
    memory, closing = _Memory(folder), asyncio.Lock()

    async def close() -> None:
        async with closing:
            await memory.close()

    async def end() -> None:
        try:
            await close()
        finally:
            os._exit(0)  # a thread waits for a line of input, and nothing can take that back

    ending: list[asyncio.Task[None]] = []
    if os.name == "posix":
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, lambda: ending.append(loop.create_task(end())))
    server = server_of(memory, default)
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await close()
