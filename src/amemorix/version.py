"""Which program this is: its version, and the commit that it was made from."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path

__all__ = ["PACKAGE", "__version__", "commit", "program"]

__version__ = "0.1.1"
PACKAGE = Path(__file__).parent


@cache
def commit() -> str:
    """The commit that the package was built from, in a checkout the one that is checked out; `unknown` where neither is told."""
    import subprocess

    with contextlib.suppress(OSError):
        return (PACKAGE / "commit.txt").read_text("ascii").strip()
    checkout = PACKAGE.parents[1]
    if (checkout / ".git").exists():
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            ask = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
            return subprocess.run(ask, capture_output=True, text=True, check=True, timeout=5).stdout.strip()
    return "unknown"


def program() -> str:
    """Version and commit, as `0.1.0 (48bd424)`."""
    return f"{__version__} ({commit()})"
