"""The thread on which whole memories are copied and checked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from ..background.change_follower import run_to_completion
from ..errors import NotReady
from ..ops import Response

__all__ = ["CopyProgress", "CopyThread"]

T = TypeVar("T")


class CopyProgress(Response):
    """What is under way: a backup, a check, a restore, an export or an import; `doing` is empty if nothing is."""

    doing: str = ""
    step: str = ""
    done: int = 0
    total: int = 0
    seconds: float = 0.0


class CopyThread:
    """One thread, so that two such works never compete; its works end early when the memory is closed."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "amemorix-copy")
        self._stopping = threading.Event()
        self._progress = CopyProgress()
        self._started = 0.0

    @property
    def progress(self) -> CopyProgress:
        seconds = round(time.monotonic() - self._started, 3) if self._progress.doing else 0.0
        return self._progress.model_copy(update={"seconds": seconds})

    @contextmanager
    def doing(self, what: str) -> Generator[None]:
        self._progress, self._started = CopyProgress(doing=what), time.monotonic()
        try:
            yield
        finally:
            self._progress = CopyProgress()

    def step(self, name: str, total: int = 0) -> None:
        self.go_on()
        self._progress = self._progress.model_copy(update={"step": name, "done": 0, "total": total})

    def so_far(self, done: int, total: int) -> None:
        """So much of the part is done. Raises NotReady if the memory is being closed."""
        self.go_on()
        self._progress = self._progress.model_copy(update={"done": done, "total": total})

    def more(self, amount: int) -> None:
        """So much more of the part is done. Raises NotReady if the memory is being closed."""
        self.so_far(self._progress.done + amount, self._progress.total)

    def go_on(self) -> None:
        """Raises NotReady if the memory is being closed."""
        if self._stopping.is_set():
            raise NotReady("The memory is being closed.")

    async def run(self, work: Callable[[], T]) -> T:
        """Do it on the thread; a cancellation waits for its end, so that nothing works on files that nobody minds."""
        self.go_on()
        return await run_to_completion(self._pool, work)

    def close(self) -> None:
        self._stopping.set()
        self._pool.shutdown(wait=True, cancel_futures=True)
