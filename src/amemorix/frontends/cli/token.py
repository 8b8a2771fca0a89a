"""The command that makes tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from ...ops import Role
from ..http.tokens import make_token
from .terminal import remark

__all__ = ["token"]


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
    remark("Append the line to the file that http.tokens_file of the configuration names, and start the daemon again.")
    remark(f"The token, shown this once: {made}", "bold")
    typer.echo(line)
