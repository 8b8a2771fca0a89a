"""Commands of the daemon: serve, and token."""

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
from ...locale import word
from ...ops import Role
from ..http.json_response import BASE_PATH
from ..http.tokens import make_token
from .terminal import DEFAULT_CONFIG, ConfigPath, remark, say

if TYPE_CHECKING:
    from ..http.serving import Listening


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


def token(
    role: Annotated[Role, typer.Option(help="What it allows; each includes the one before.")] = "read",
    chat: Annotated[
        list[str] | None,
        typer.Option(
            help="Bind it to this chat (repeatable); group:ID and private:ID where groups and users are named."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="What to call it in the file.")] = "",
) -> None:
    """Make a token for the daemon, shown on standard error, and its line for http.tokens_file."""
    made, line = make_token(role, chat or (), name)
    remark(
        "Append the line to the file that http.tokens_file of the configuration names: it counts once that is saved."
    )
    remark(f"The token, shown this once: {made}", "bold")
    typer.echo(line)


def _tell(listening: Listening) -> None:
    stats = listening.statistics
    say(f"A-Memorix answers on {listening.url}", "bold green")
    say(f"  console {listening.url}/ (open it in a browser)")
    say(f"  data    {stats['data_dir']} ({stats['paragraphs']:,} paragraphs)")
    model = stats["embedding"]
    if model["state"] == "off":
        say("  model   none: searching by words and structure")
    else:
        say(f"  model   {model['model']} ({model['provider']}, {model['dimension']} dimensions)")
    if stats["notice"]:
        say(f"          {stats['notice']}", "yellow")
    say(f"  config  {listening.config_path.absolute()} (an edit applies when it is saved)")
    say(f"  docs    {listening.url}/docs")
    command, path = "amemorix", listening.config_path
    if not shutil.which(command):  # how this program was called, if its name alone would not be found
        own = Path(sys.argv[0]).absolute()
        command = str(own.relative_to(Path.cwd())) if own.is_relative_to(Path.cwd()) else str(own)
    option = "" if path == DEFAULT_CONFIG else f" -c {path}"
    variable = load(path).http.token_env
    token = f' -H "Authorization: Bearer ${variable}"' if listening.needs_token else ""
    body = """'{"query": "coffee", "chat_id": "friends"}'"""
    say(word("Try"))
    for line in (
        f"""echo '{{"speaker": "Mia", "text": "I drink coffee, black."}}' | """
        f"{command} ingest - --format jsonl --chat friends{option}",
        f'{command} search "who likes coffee?" --chat friends{option}',
        f"curl -s{token} {listening.url}{BASE_PATH}/search_memory -d {body}",
    ):
        say(f"  {line}")
    say("Ctrl+C stops it.", "dim")
