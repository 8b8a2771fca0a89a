"""The `amemorix` command."""

from __future__ import annotations

import logging
import sys
from typing import Annotated

import typer

from .. import __version__
from . import cli_bench, cli_config, cli_models
from .cli_demo import demo
from .cli_import import import_command
from .cli_ingest import ingest
from .cli_memory import check, invoke, search, stats
from .cli_serve import serve_command
from .console import FriendlyGroup

__all__ = ["app", "main"]

app = typer.Typer(
    name="amemorix",
    cls=FriendlyGroup,
    help="Long-term memory for chatbots.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"amemorix {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Log everything, tracebacks included.")] = False,
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before the command."""
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format=form, stream=sys.stderr)


app.command("serve")(serve_command)
app.command("import")(import_command)
for _command in (invoke, search, ingest, stats, check, demo):
    app.command()(_command)
app.add_typer(cli_config.app, name="config")
app.add_typer(cli_models.app, name="models")
app.add_typer(cli_bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    app()
