"""The package xaibo, beside the environment's own: its dependencies ask for an older version of one that is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

__all__ = ["xaibo_importable"]

PACKAGES = ("xaibo==0.3.0", "docstring-parser", "pydantic-yaml", "ruamel.yaml")
"""What its memory, its tools and an agent import that is not there already."""


@contextmanager
def xaibo_importable() -> Iterator[None]:
    """Makes it importable, installed into a folder that is kept for the next run; skips where it cannot be installed."""
    if find_spec("xaibo"):
        yield
        return
    kept = (
        Path(tempfile.gettempdir())
        / f"{PACKAGES[0].replace('==', '-')}-python{sys.version_info[0]}.{sys.version_info[1]}"
    )
    if not kept.exists():
        made = kept.with_name(f"{kept.name}.{os.getpid()}")
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(made), *PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"{PACKAGES[0]} could not be installed: {done.stderr.strip()[-300:]}")
        made.rename(kept)
    before = set(sys.modules)
    sys.path.append(str(kept))
    try:
        yield
    finally:
        sys.path.remove(str(kept))
        for name in set(sys.modules) - before:
            if name.split(".")[0] in ("xaibo", "docstring_parser", "pydantic_yaml", "ruamel"):
                del sys.modules[name]
