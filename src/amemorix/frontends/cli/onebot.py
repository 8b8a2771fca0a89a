"""The command `onebot`: the chats of QQ bots, stored as they happen."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import Annotated

import typer

from ...extras import require
from ...store.private_files import UMASK
from .terminal import DEFAULT_CONFIG, ConfigPath, say


def onebot_command(
    config: ConfigPath = DEFAULT_CONFIG,
    url: Annotated[
        str | None,
        typer.Option(
            help="Websocket address of the bot to connect to, instead of onebot.url; empty waits for the bot."
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Address to wait for bots on, instead of onebot.host.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port, instead of onebot.port; 0 takes a free one.")
    ] = None,
) -> None:
    """Store the chats of QQ bots that speak OneBot v11 as they happen, and answer /忘了 and the like, until Ctrl+C or SIGTERM."""
    require("onebot", "The listener to bots")
    from ..onebot.serving import serve

    def tell(address: str) -> None:
        say(f"It listens at {address}.", "bold green")
        say("Ctrl+C stops it.", "dim")

    logging.getLogger("amemorix.frontends.onebot").setLevel(
        min(logging.INFO, logging.getLogger().level or logging.INFO)
    )
    os.umask(UMASK)
    asyncio.run(serve(config, url=url, host=host, port=port, environ=os.environ, tell=tell))
