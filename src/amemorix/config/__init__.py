"""Configuration: the settings, their file, and what a change of them costs."""

from .document import decoded, read_text
from .load import load, parse, refuse_lost_folder, refuse_part, remember_data_dir, write_new
from .model import Config, ReloadLevel, Section, SharedGroup
from .patch import merged, patched
from .schema import Setting, changes, config_schema, default_toml, settings, strongest
from .watch import watch
from .write import backups_of, write_text

__all__ = [
    "Config", "ReloadLevel", "Section", "Setting", "SharedGroup", "backups_of", "changes", "config_schema",
    "decoded", "default_toml", "load", "merged", "parse", "patched", "read_text",
    "refuse_lost_folder", "refuse_part", "remember_data_dir", "settings", "strongest", "watch", "write_new", "write_text",
]  # fmt: skip
