"""The `amemorix` command."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...locale import language_of, speaking
from ...location import configured_language
from ...version import program
from ..repeated_faults import RepeatedFaults
from .terminal import DEFAULT_CONFIG, FriendlyGroup, localised_command, translate_typer

COMMANDS = {
    "init": ("amemorix.frontends.cli.init:init", "Write a commented configuration into a project, and say what to do next; nothing is overwritten."),
    "serve": ("amemorix.frontends.cli.serve:serve_command", "Run the daemon: the memory behind HTTP, until Ctrl+C or SIGTERM."),
    "ui": ("amemorix.frontends.cli.ui:ui", "Open the console at the daemon that runs, or run one until Ctrl+C."),
    "mcp": (
        "amemorix.frontends.cli.mcp:mcp_command",
        "Serve the memory to an MCP client on standard input and output, until it hangs up.",
    ),
    "onebot": (
        "amemorix.frontends.cli.onebot:onebot_command",
        "Store the chats of QQ bots that speak OneBot v11 as they happen, and answer /忘了 and the like, until Ctrl+C or SIGTERM.",
    ),
    "call": ("amemorix.frontends.cli.call:app", "Call any operation, its arguments as options, and print its JSON answer."),
    "invoke": ("amemorix.frontends.cli.memory:invoke", "Call a component and print its JSON answer; exit code 1 if it failed."),
    "search": ("amemorix.frontends.cli.memory:search", "Search the memory, and say of each hit why it was found; those that are unlikely to answer are left out."),
    "ingest": (
        "amemorix.frontends.cli.ingest:ingest",
        "Store files: a text as one memory, a .jsonl file as chat turns {speaker, text, time, external_id} a line.",
    ),
    "import": (
        "amemorix.frontends.cli.imports:import_command",
        "Import files in the background of the memory, and show how far it is; what a crash interrupts goes on later.",
    ),
    "chats": ("amemorix.frontends.cli.everyday:chats", "List the chats, the one talked in last first."),
    "people": ("amemorix.frontends.cli.everyday:people", "List the people of whom something is known."),
    "log": ("amemorix.frontends.cli.everyday:log", "Print the last lines of a chat, the newest last."),
    "show": ("amemorix.frontends.cli.everyday:show", "Show texts with where they are from."),
    "profile": ("amemorix.frontends.cli.everyday:profile", "Print what is known of a person."),
    "facts": ("amemorix.frontends.cli.everyday:facts", "Print what is held true of a person, since when, and on which texts it stands."),
    "context": ("amemorix.frontends.cli.everyday:context", "Print what the memory would put into a bot's prompt."),
    "forget": ("amemorix.frontends.cli.everyday:forget", "Delete a person, a chat or a text, after a look at what goes."),
    "stats": ("amemorix.frontends.cli.memory:stats", "Show what is stored and how current the indexes are."),
    "check": (
        "amemorix.frontends.cli.runtime:check",
        "Check the database, the indexes, the models, the configuration and the disk; exit code 1 if something is wrong.",
    ),
    "doctor": (
        "amemorix.frontends.cli.doctor:doctor",
        "Look at all that a memory needs to run, and say what to do; exit code 1 if something is wrong.",
    ),
    "audit": ("amemorix.frontends.cli.runtime:audit", "Show who changed what, and when, the newest first."),
    "backup": ("amemorix.frontends.cli.backup:backup", "Back the memory up, while it is in use."),
    "backups": ("amemorix.frontends.cli.backup:backups", "List the backups, the newest first."),
    "restore": (
        "amemorix.frontends.cli.backup:restore",
        "Put a backup in the place of all that is stored, which is set aside as a backup first.",
    ),
    "export": (
        "amemorix.frontends.cli.backup:export",
        "Write the whole memory into one file of JSON lines; `import-export` makes a memory of it.",
    ),
    "import-export": ("amemorix.frontends.cli.backup:import_export", "Fill an empty memory with an export."),
    "demo": (
        "amemorix.frontends.cli.demo:demo",
        "Store a conversation of five friends, half Chinese, half English, and ask it ten questions in five modes.",
    ),
    "tune": ("amemorix.frontends.cli.tune:tune", 'Search for retrieval settings that suit what is stored; a search that is cut short goes on when the memory is opened again.'),
    "config": ("amemorix.frontends.cli.config:app", "Show and change the configuration."),
    "deploy": ("amemorix.frontends.cli.deploy:deploy", "Print a compose.yaml, a systemd unit or a Dockerfile for this installation; on standard error, what to do with it."),
    "token": ("amemorix.frontends.cli.serve:token", "Make a token for the daemon, shown on standard error, and its line for http.tokens_file."),
    "key": ("amemorix.frontends.cli.key:app", "Encrypt the memory, and look after its keys."),
    "models": ("amemorix.frontends.cli.models:app", "Install and check local models: for vectors, and for Chinese names."),
    "bench": ("amemorix_bench.cli:app", "Measure recall and speed."),
}  # fmt: skip
"""Name -> where it is, and the sentence that help shows without importing it."""


class LateGroup(FriendlyGroup):
    """Imports a command when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and localised_command(_imported(str(command.name))), rest


def _imported(name: str) -> Any:
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(import_module(module), attribute)
    holder = typer.Typer(cls=FriendlyGroup, callback=_nothing)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name)(found)
    group: Any = typer.main.get_command(holder)
    return group.commands[name]


def _nothing() -> None:
    """Stands for a command until it is called."""


app = typer.Typer(
    name="amemorix", cls=LateGroup, help="Long-term memory for chatbots.", no_args_is_help=True,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip


# how log lines are written: for people, or as JSON

LogFormat = Literal["text", "json"]
TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; whatever else it has was said about this one."""


class JsonLines(logging.Formatter):
    """One JSON object a line: time (ISO 8601, UTC), level, logger, message, what was said with it, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"amemorix {program()}")
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
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else logging.Formatter(TEXT))
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, handlers=[RepeatedFaults(handler)])


for _name, (_, _sentence) in COMMANDS.items():
    app.command(_name, help=_sentence)(_nothing)


def main() -> None:
    config = Path(os.environ.get("AMEMORIX_CONFIG") or DEFAULT_CONFIG)
    with speaking(configured_language(config) or language_of(os.environ)):
        translate_typer()
        app()
