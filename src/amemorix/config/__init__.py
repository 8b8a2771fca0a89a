"""Configuration: the settings, their file, and what a change of them costs."""

from .diff import changes, strongest
from .document import read_text
from .generated import generated_files, write_generated
from .load import load, parse
from .model import Config, ReloadLevel, Section, SharedGroup
from .patch import merged, patched
from .render import default_toml
from .schema import Setting, config_schema, settings
from .watch import settled_text, watch
from .write import backups_of, write_text

__all__ = [
    "Config",
    "ReloadLevel",
    "Section",
    "Setting",
    "SharedGroup",
    "backups_of",
    "changes",
    "config_schema",
    "default_toml",
    "generated_files",
    "load",
    "merged",
    "parse",
    "patched",
    "read_text",
    "settings",
    "settled_text",
    "strongest",
    "watch",
    "write_generated",
    "write_text",
]
