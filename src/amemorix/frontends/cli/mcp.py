"""The command `mcp`: the memory as an MCP server on standard input and output."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from ...extras import require
from ...store.private_files import UMASK


def mcp_command(
    folder: Annotated[
        Path | None,
        typer.Argument(help="The memory's folder; without one the user's data directory.", show_default=False),
    ] = None,
    chat: Annotated[str, typer.Option(help="The chat of calls that name neither chat nor user.")] = "",
    user: Annotated[str, typer.Option(help="The user of calls that name neither chat nor user.")] = "",
    everything: Annotated[
        bool, typer.Option("--everything", help="Calls that name neither chat nor user read all that is stored.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", envvar="AMEMORIX_CONFIG", metavar="PATH", help="Configuration file, or the folder of a memory, where no folder is given."),
    ] = None,
) -> None:  # fmt: skip
    """Serve the memory to an MCP client on standard input and output, until it hangs up."""
    if everything and (chat or user):
        raise typer.BadParameter("--everything names no chat and no user")
    require("mcp", "The MCP server")
    from ..mcp.server import DefaultScope
    from ..mcp.stdio import serve

    os.umask(UMASK)
    asyncio.run(serve(folder or config, DefaultScope(chat, user, everything)))
