"""Processes that work on a memory until they are killed: forked from one that has imported it, so that each begins at once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import traceback
from collections.abc import Awaitable, Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from amemorix.host.operations import MODULES

__all__ = ["Life", "Tell"]

Tell = Callable[[Any], None]
FORKS = multiprocessing.get_context("forkserver")
OPERATIONS = sorted({f"amemorix.{module}" for modules in MODULES.values() for module in modules})
FORKS.set_forkserver_preload(
    ["amemorix.host.kernel", *OPERATIONS, "amemorix.testing", "hypothesis", "pytest", "life_preload"]
)
HUNG_SECONDS = 240.0


@cache
def start_forkserver() -> None:
    """Let it find the modules of the tests: before Python 3.13 it has a path of its own."""
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(Path(__file__).parent), before)))
    forkserver.ensure_running()
    os.environ["PYTHONPATH"] = before


class Life:
    """A process that runs `live(tell, *args)`; what it tells can be heard here."""

    def __init__(self, live: Callable[..., Awaitable[None]], *args: Any) -> None:
        start_forkserver()
        self._ear, mouth = FORKS.Pipe(duplex=False)
        self._process = FORKS.Process(target=lived, args=(live, mouth, args), daemon=True)
        self._process.start()
        mouth.close()

    def heard(self) -> Any:
        """What it tells next. Raises EOFError once it has ended, and AssertionError for what went wrong in it."""
        assert self._ear.poll(HUNG_SECONDS), "it says nothing any more"
        told = self._ear.recv()
        if isinstance(told, AssertionError):
            raise told
        return told

    def rest(self) -> list[Any]:
        """What it still tells, up to its end."""
        told: list[Any] = []
        try:
            while True:
                told.append(self.heard())
        except (EOFError, OSError):
            self._process.join()
            return told

    def kill(self) -> list[Any]:
        """End it by SIGKILL; what it had told before."""
        self._process.kill()
        return self.rest()

    @property
    def exitcode(self) -> int | None:
        """As `multiprocessing` has it: -9 after SIGKILL."""
        return self._process.exitcode


def lived(live: Callable[..., Awaitable[None]], mouth: Connection, args: tuple[Any, ...]) -> None:
    try:
        asyncio.run(live(mouth.send, *args))
    except BaseException:
        mouth.send(AssertionError(traceback.format_exc()))
