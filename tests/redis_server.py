"""A Redis server of our own, at a socket in a folder that is removed again."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def redis_server() -> Iterator[str]:
    """Its address; skips the test where there is no `redis-server`."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with tempfile.TemporaryDirectory(prefix="amemorix-redis-") as folder:
        socket = Path(folder) / "redis.sock"
        options = {"port": "0", "unixsocket": str(socket), "save": "", "dir": folder, "daemonize": "no"}
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        server = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            while line := server.stdout.readline():
                if "ready to accept connections" in line.lower():
                    break
            yield f"unix://{socket}"
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
