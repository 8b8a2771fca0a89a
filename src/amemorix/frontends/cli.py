"""The `amemorix` command."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from . import cli_bench, cli_config, cli_models
from .cli_backup import backup, backups, export, import_export, restore
from .cli_check import check
from .cli_demo import demo
from .cli_import import import_command
from .cli_ingest import ingest
from .cli_memory import invoke, search, stats
from .cli_serve import serve_command
from .cli_tune import tune
from .console import FriendlyGroup
from .logs import LogFormat, write_logs

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
    log_format: Annotated[
        LogFormat, typer.Option(envvar="AMEMORIX_LOG_FORMAT", help="How log lines are written.")
    ] = "text",
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Options before the command."""
    write_logs(log_format, debug=debug)


app.command("serve")(serve_command)
app.command("import")(import_command)
for _command in (invoke, search, ingest, stats, check, demo, backup, backups, restore, export, import_export, tune):
    app.command()(_command)
app.add_typer(cli_config.app, name="config")
app.add_typer(cli_models.app, name="models")
app.add_typer(cli_bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    app()
