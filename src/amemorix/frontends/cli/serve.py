"""The command that runs the daemon."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...config import load
from ...extras import require
from ..http.json_response import BASE_PATH
from .terminal import DEFAULT_CONFIG, ConfigPath, say

if TYPE_CHECKING:
    from ..http.serving import Listening

__all__ = ["serve_command"]


def serve_command(
    config: ConfigPath = DEFAULT_CONFIG,
    host: Annotated[str | None, typer.Option(help="Address to listen on, instead of http.host.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Port, instead of http.port; 0 takes a free one.")
    ] = None,
) -> None:
    """Run the daemon: the memory behind HTTP, until Ctrl+C or SIGTERM."""
    require("server", "The daemon")
    from ..http.serving import serve

    logging.getLogger("amemorix").setLevel(min(logging.INFO, logging.getLogger().level or logging.INFO))
    asyncio.run(serve(config, host=host, port=port, environ=os.environ, tell=_tell))


def _tell(listening: Listening) -> None:
    stats = listening.statistics
    say(f"A-Memorix answers on {listening.url}", "bold green")
    say(f"  data    {stats['data_dir']} ({stats['paragraphs']:,} paragraphs)")
    say(f"  model   {_model(stats['embedding'])}")
    if stats["notice"]:
        say(f"          {stats['notice']}", "yellow")
    say(f"  config  {listening.config_path.absolute()} (an edit applies when it is saved)")
    say("Try")
    for line in _examples(listening):
        say(f"  {line}")
    say("Ctrl+C stops it.", "dim")


def _model(embedding: dict[str, object]) -> str:
    if embedding["state"] == "off":
        return "none: searching by words and structure"
    return f"{embedding['model']} ({embedding['provider']}, {embedding['dimension']} dimensions)"


def _examples(listening: Listening) -> list[str]:
    command, path = _command(), listening.config_path
    option = "" if path == DEFAULT_CONFIG else f" -c {path}"
    variable = load(path).http.token_env
    token = f' -H "Authorization: Bearer ${variable}"' if listening.needs_token else ""
    body = """'{"query": "coffee", "chat_id": "friends"}'"""
    return [
        f"""echo '{{"speaker": "Mia", "text": "I drink coffee, black."}}' | """
        f"{command} ingest - --format jsonl --chat friends{option}",
        f'{command} search "who likes coffee?" --chat friends{option}',
        f"curl -s{token} {listening.url}{BASE_PATH}/search_memory -d {body}",
    ]


def _command() -> str:
    """How this program was called, if its name alone would not be found."""
    if shutil.which("amemorix"):
        return "amemorix"
    own = Path(sys.argv[0]).absolute()
    return str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)
