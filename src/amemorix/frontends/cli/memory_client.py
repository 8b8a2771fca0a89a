"""A command's way to the memory: opened here, or asked of the daemon that has it open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ...location import TOKEN_ENV, locate
from ...store.private_files import UMASK
from ..daemon import daemon_of
from ..transport import DaemonMemory, LocalMemory, Refused, client_of
from .terminal import remark

__all__ = ["Memory", "answered", "ask", "opened", "remark_unread"]

Memory = DaemonMemory | LocalMemory
"""What commands work on: `invoke` answers a component with a dict that has `success`, `settle` waits until what was written has its
vectors, where this process makes them, and `stage` hands a file over and returns what `create_upload` takes for it."""


async def answered(memory: Memory, component: str, args: dict[str, Any]) -> dict[str, Any]:
    """The answer of a component. Raises Refused with the error's sentence if it failed."""
    answer = await memory.invoke(component, args)
    if not answer.get("success") and "error_code" in answer:
        raise Refused(str(answer["error"]), **answer.get("details", {}))
    return answer


def ask(config: Path, component: str, args: dict[str, Any], *, raising: bool = True) -> dict[str, Any]:
    """The answer of a component of the memory of a configuration file. Raises as `opened` and, if asked to, `answered` do."""

    async def asked() -> dict[str, Any]:
        async with opened(config) as memory:
            return await (answered(memory, component, args) if raising else memory.invoke(component, args))

    return asyncio.run(asked())


async def remark_unread(memory: Memory) -> None:
    """Say so where facts and profiles do not know yet all that is stored."""
    if (await answered(memory, "memory_stats", {}))["lag"].get("facts"):
        remark(
            "Not all that is stored has been read yet, so facts and profiles may lack some of it: it is read in the "
            "background while the memory is open, as by `amemorix serve`.", "yellow",
        )  # fmt: skip


@asynccontextmanager
async def opened(config_path: Path) -> AsyncGenerator[Memory, None]:
    """The memory of a configuration file; if a daemon holds its data directory, that daemon is asked.

    Raises what starting a host raises.
    """
    if not config_path.exists():
        remark(f"There is no {config_path} yet: it is written with the defaults.")
    if daemon := daemon_of(config_path):
        place = locate(config_path)
        token_env = place.token_env if place else TOKEN_ENV
        async with client_of(daemon, token_env) as client:
            yield DaemonMemory(client, token_env)
        return
    from ...host.service import AMemorixHostService

    os.umask(UMASK)
    async with AMemorixHostService(config_path, watch=False) as host:
        yield LocalMemory(host, "cli")
