"""Commands on the configuration file; a running daemon takes up what they write."""

from __future__ import annotations

import asyncio
import json
import tomllib
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from ... import config as configuration
from ...errors import Forbidden, InvalidConfig, NotFound, NotReady
from ...locale import told
from ..daemon import daemon_of
from ..transport import DaemonMemory, Refused, client_of
from .memory_client import answered
from .terminal import (
    DEFAULT_CONFIG,
    ConfigPath,
    FriendlyGroup,
    MemoryPath,
    columns,
    out,
    print_json,
    print_stored,
    remark,
    say,
)

app = typer.Typer(cls=FriendlyGroup, no_args_is_help=True, help="Show and change the configuration.")


@app.command()
def show(config: MemoryPath = DEFAULT_CONFIG) -> None:
    """Show every setting, its value, and what a change of it costs."""
    values = configuration.load(config, create=True).model_dump(mode="json")
    table = columns("setting", "value", "change", "meaning")
    for setting in configuration.settings():
        if "[]" in setting.path:
            continue
        value = _value(values, setting.path)
        style = "" if value == setting.default else "bold"
        table.add_row(
            setting.path, json.dumps(value, ensure_ascii=False), setting.reload, told(setting.description), style=style
        )
    out().print(table)


@app.command()
def path(config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Print where the configuration file is."""
    print_stored(str(config.absolute()))


@app.command()
def get(
    key: Annotated[str, typer.Argument(help="Such as retrieval.candidates.")], config: MemoryPath = DEFAULT_CONFIG
) -> None:
    """Print a setting or a table as JSON."""
    print_json(_value(configuration.load(config, create=True).model_dump(mode="json"), key))


@app.command("set")
def set_(
    key: Annotated[str, typer.Argument(help="Such as retrieval.candidates.")],
    value: Annotated[str, typer.Argument(help="A TOML value; a bare word is a text.")],
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Change a setting, keeping the file's comments and order; nothing is written if the file would not be valid."""
    try:
        wanted = tomllib.loads(f"value = {value}\n")["value"]
    except tomllib.TOMLDecodeError:
        wanted = value
    say(_written(config, {key: wanted}) or f"{key} was so already.")


@app.command()
def unset(
    key: Annotated[str, typer.Argument(help="Such as retrieval.candidates, or what is no setting.")],
    config: MemoryPath = DEFAULT_CONFIG,
) -> None:
    """Take a setting out of the file, so that its default holds; nothing is written if the file would not be valid."""
    say(_written(config, {key: None}) or f"{key} had its default already.")


@app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    print_json(configuration.config_schema())


@app.command()
def validate(config: ConfigPath = DEFAULT_CONFIG) -> None:
    """Check the file; exit code 1 with line and reason if it is not valid."""
    configuration.load(config)
    say(f"{config} is valid.", "green")


def _written(config: Path, patch: dict[str, Any]) -> str:
    """What became of a change of the file, which may not have been valid before; empty if nothing did.

    Raises InvalidConfig if it would not be valid afterwards or the daemon's token cannot be sent, Refused if a running
    daemon does not take it; the file is as before then.
    """
    try:
        before = configuration.load(config, create=True)
    except InvalidConfig:
        before = None
    old = configuration.read_text(config)
    text = configuration.patched(old, patch)
    after = configuration.parse(text, str(config))
    daemon = daemon_of(config)
    token_env = (before or after).http.token_env
    client = client_of(daemon, token_env) if daemon else None
    configuration.write_text(config, text, backups=after.advanced.config_backups)
    try:
        waiting = asyncio.run(_told(client, token_env)) if client else []
    except Refused:
        configuration.write_text(config, old, backups=0)
        raise
    changed = configuration.changes(before, after) if before else {}
    said = f"Changed: {', '.join(changed)} ({configuration.strongest(changed)})." if changed else ""
    said = said if before else f"{config} is valid again."
    return f"{said} {', '.join(waiting)} waits for a restart of the daemon." if said and waiting else said


async def _told(daemon: httpx.AsyncClient, token_env: str) -> list[str]:
    """Have the daemon that runs with the file apply it; returns the settings that wait for its restart."""
    async with daemon as client:
        try:
            memory = DaemonMemory(client, token_env)
            return (await answered(memory, "memory_runtime_admin", {"action": "reload"}))["needs_restart"]
        except (NotReady, Forbidden) as fault:
            remark(f"The file is written, but whether the daemon takes it is not known. {fault}", "yellow")
    return []


def _value(values: dict[str, Any], key: str) -> Any:
    """What stands at a dotted name. Raises NotFound."""
    node: Any = values
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            raise NotFound(f"There is no setting {key!r}; `amemorix config show` lists them.", key=key)
        node = node[part]
    return node
