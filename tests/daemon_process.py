"""A daemon as a process, for the tests that ask one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Running", "daemon"]

COMMAND = (sys.executable, "-c", "from amemorix.frontends.cli.main import main; main()")


@dataclass
class Running:
    """A daemon with what it printed before it answered."""

    process: subprocess.Popen[str]
    url: str
    banner: list[str]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", **(extra or {})}


@contextmanager
def daemon(config: Path, *args: str, env: Mapping[str, str] | None = None) -> Generator[Running, None, None]:
    command = [*COMMAND, "serve", "-c", str(config), "--port", "0", *args]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", env=environment(env)
    )
    try:
        assert process.stdout is not None
        banner: list[str] = []
        for line in process.stdout:
            banner.append(line.rstrip())
            if "Ctrl+C" in line:
                break
        found = re.search(r"http://\S+", "\n".join(banner))
        assert found, banner
        yield Running(process, found[0], banner)
    finally:
        process.kill()
        process.communicate(timeout=120)
