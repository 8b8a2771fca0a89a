"""The folder for what can be fetched again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["cache_dir"]


def cache_dir(environ: Mapping[str, str] | None = None) -> Path:
    """`$AMEMORIX_CACHE`, else `$XDG_CACHE_HOME/amemorix`, else `~/.cache/amemorix`; it need not exist."""
    env = os.environ if environ is None else environ
    if own := env.get("AMEMORIX_CACHE"):
        return Path(own).expanduser()
    if shared := env.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "amemorix"
    return Path(env.get("HOME") or Path.home()) / ".cache" / "amemorix"
