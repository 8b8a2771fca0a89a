"""Processes that work on a memory until they are killed: forked from one that has imported it, so that each begins at once."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Collection
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from amemorix.host.operations import MODULES
from amemorix.store import driver

__all__ = ["NAMES", "Deadline", "Life", "Tell"]

Tell = Callable[[Any], None]
FORKS = multiprocessing.get_context("forkserver")
OPERATIONS = sorted({f"amemorix.{module}" for modules in MODULES.values() for module in modules})
FORKS.set_forkserver_preload(
    ["amemorix.host.kernel", *OPERATIONS, "amemorix.testing", "hypothesis", "pytest", "life_preload"]
)
HUNG_SECONDS = 240.0
NAMES = ("os.rename", "os.link", "os.remove")
"""What changes which file has which name."""
FOLDERS = ("os.mkdir", "os.rmdir", "os.truncate")
STATEMENTS = ("commit", "vacuum", "pragma wal_checkpoint", "pragma journal_mode")
"""What SQLite writes files with."""


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


class Deadline:
    """Kills this process at one of its operations on the files below a folder, or a moment later."""

    def __init__(self, folder: Path, *, names_alone: bool = False) -> None:
        """Count renames, links and removals; else also files opened for writing, folders, `fsync`, and SQLite's commits."""
        self._folder = str(folder)
        self._left = -1
        self._seconds = 0.0
        self.counted = 0
        """Operations so far."""
        if names_alone:
            sys.addaudithook(lambda event, args: self._named(NAMES, event, args))
        else:
            sys.addaudithook(lambda event, args: self._named((*NAMES, *FOLDERS), event, args))
            sys.addaudithook(self._opened)
            self._count_synced()
            self._count_statements()

    def set(self, operations: int, seconds: float = 0.0) -> None:
        """Die before the operation after so many, or so many seconds later."""
        self._left, self._seconds = operations, seconds

    def _count(self) -> None:
        self.counted += 1
        if self._left == 0:
            if self._seconds:
                threading.Thread(target=self._die_later, daemon=True).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1

    def _die_later(self) -> None:
        time.sleep(self._seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    def _named(self, names: Collection[str], event: str, args: tuple[Any, ...]) -> None:
        if event in names and self._folder in str(args[0]):
            self._count()

    def _opened(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and args[2] & (os.O_WRONLY | os.O_RDWR) and self._folder in str(args[0]):
            self._count()

    def _count_synced(self) -> None:
        sync = os.fsync

        def counted(file: Any) -> None:
            self._count()
            sync(file)

        os.fsync = counted

    def _count_statements(self) -> None:
        connect = driver.connect

        def traced(path: Path | str, **options: Any) -> driver.SqliteConnection:
            db = connect(path, **options)
            if self._folder in str(path):
                db.set_trace_callback(lambda sql: self._count() if sql.lower().startswith(STATEMENTS) else None)
            return db

        driver.connect = traced
