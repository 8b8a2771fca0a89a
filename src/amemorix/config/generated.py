"""The checked-in files that are made from the settings."""

from __future__ import annotations

import json
from pathlib import Path

from .render import default_toml
from .schema import config_schema

__all__ = ["generated_files", "write_generated"]


def generated_files() -> dict[str, str]:
    """Path from the project's root, and the text that the file must have."""
    schema = json.dumps(config_schema(), indent=2, ensure_ascii=False)
    return {"config/a_memorix.toml": default_toml(), "schemas/config_schema.json": f"{schema}\n"}


def write_generated(root: Path) -> None:
    """Write the files below the project's root."""
    for name, text in generated_files().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline="\n")
