"""The command that makes a folder ready for a memory."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .terminal import DEFAULT_CONFIG, say

OWNERS = (
    "shared_memory_groups", "general.timezone", "storage.data_dir", "embedding.provider", "embedding.model_name",
    "embedding.base_url", "embedding.api_key_env", "chat.base_url", "chat.model_name", "chat.api_key_env",
    "chat.daily_token_budget", "privacy.require_scope", "backup.every_hours", "backup.keep", "http.host", "http.port",
    "http.token_env", "http.tokens_file",
)  # fmt: skip
"""The settings that whoever runs a bot looks at first."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="The project.")] = Path(),
    full: Annotated[bool, typer.Option("--full", help="Write every setting, not only those to look at first.")] = False,
) -> None:
    """Write a commented configuration into a project, and say what to do next; nothing is overwritten."""
    from ... import config as configuration
    from ...models.local.install import find_installed

    path = folder / DEFAULT_CONFIG
    if found := next((one for one in (path, folder / DEFAULT_CONFIG.name) if one.exists()), None):
        say(f"{found} is there already, and is left as it is.")
    else:
        configuration.write_new(path, () if full else OWNERS)
        say(f"Wrote the configuration {path}.", "green")
    say("What to do next:")
    if folder.absolute() != Path.cwd():
        say(f"  cd {shlex.quote(str(folder))}")
    option = f" -c {found.name}" if found and found != path else ""
    if find_installed() is None:
        say("  amemorix models install   # the models, once; until then search goes by words")
    say(f"  amemorix doctor{option}           # whether everything is there")
    say(f"  amemorix serve{option}            # a daemon, where several processes share the memory")
    say(f"or in one program: from amemorix import Memory; memory = Memory({str(folder.absolute())!r})")
    if (folder / ".git").exists():
        say("Keep what is stored out of git: the folder that storage.data_dir names belongs into .gitignore.")
