"""Puts the commit that is built from into the package, where a checkout can no longer be asked for it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface[Any]):
    """Adds `commit.txt`, unless the tree that is built from has it or is no checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build."""
        if version == "editable" or not (Path(self.root) / ".git").exists():
            return
        ask = ["git", "-C", self.root, "rev-parse", "--short=7", "HEAD"]
        answer = subprocess.run(ask, capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            self._made = tempfile.TemporaryDirectory()
            file = Path(self._made.name) / "commit.txt"
            file.write_text(answer.stdout, "ascii")
            build_data["force_include"][str(file)] = (
                f"{'src/' if self.target_name == 'sdist' else ''}amemorix/commit.txt"
            )
