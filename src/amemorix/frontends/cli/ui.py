"""`amemorix ui`: the console in the browser."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...config import load
from ...extras import require
from ..daemon import daemon_of
from .terminal import DEFAULT_CONFIG, ConfigPath, print_stored, say

__all__ = ["console", "ui"]

if TYPE_CHECKING:
    from ..http.serving import Listening


def ui(
    config: ConfigPath = DEFAULT_CONFIG,
    browser: Annotated[bool, typer.Option(help="Open the browser; else only say the address.")] = True,
) -> None:
    """Open the console at the daemon that runs, or run one until Ctrl+C."""
    console(config, browser=browser)


def console(config: Path, *, browser: bool, port: int | None = None) -> None:
    """Open the console at the daemon of a configuration, or at one that runs until Ctrl+C, at `port` instead of http.port."""
    if daemon := daemon_of(config):
        _show(daemon.url, load(config).http.token_env, opens=browser)
        return
    require("server", "The console")
    from ..http.serving import serve

    def tell(listening: Listening) -> None:
        _show(listening.url, load(config).http.token_env if listening.needs_token else "", opens=browser)
        say("The daemon runs here: Ctrl+C stops it.", "dim")

    logging.getLogger("amemorix").setLevel(min(logging.INFO, logging.getLogger().level or logging.INFO))
    asyncio.run(serve(config, port=port, environ=os.environ, tell=tell))


def _show(url: str, token_env: str, *, opens: bool) -> None:
    if opens and _has_browser() and webbrowser.open(url):
        say("The console is open in the browser:", "green")
    else:
        say("Open this address in a browser:")
    print_stored(f"{url}/")
    if token_env and os.environ.get(token_env):
        say(f"It asks for a token: the one in the environment variable {token_env}, or one that `amemorix token` made.")


def _has_browser() -> bool:
    """Whether there is one with windows: one of the terminal would take the place of this command."""
    shown = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return shown or sys.platform in ("win32", "darwin")
