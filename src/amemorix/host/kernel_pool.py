"""The kernels that are open, and the folders that they hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ..config import Config
from ..errors import Conflict, MemoryFault
from ..runtime_status import RuntimeStatus, Takeover
from ..store.file_swap import DATABASE_FILE, forget_incoming
from ..store.keys import Keyring
from ..store.lock import DirectoryLock
from .environment import Surroundings

if TYPE_CHECKING:
    from .kernel import SDKMemoryKernel

__all__ = ["KernelPool"]

DRAIN_SECONDS = 30.0


class KernelPool:
    """Opens kernels over locked folders, and closes each when its last call has ended."""

    def __init__(self, surroundings: Surroundings, status: RuntimeStatus) -> None:
        self._surroundings = surroundings
        self._status = status
        self._calls: Counter[SDKMemoryKernel] = Counter()
        self._idle: dict[SDKMemoryKernel, asyncio.Event] = {}
        self._locks: dict[Path, DirectoryLock] = {}
        self._users: Counter[Path] = Counter()
        self._retiring: dict[SDKMemoryKernel, asyncio.Task[None]] = {}

    async def open(
        self, config: Config, folder: Path, replaces: SDKMemoryKernel | None, keys: Keyring | None = None
    ) -> SDKMemoryKernel:
        """A kernel over the folder, which is locked for it. Raises DirectoryInUse and whatever opening raises."""
        if folder not in self._locks:
            self._locks[folder] = await asyncio.to_thread(DirectoryLock, folder, Path(self._status.config_file))
            await asyncio.to_thread(forget_incoming, folder / DATABASE_FILE)
        self._users[folder] += 1
        try:
            kernel = await asyncio.to_thread(import_module, "amemorix.host.kernel")
            return await kernel.SDKMemoryKernel.open(
                config, folder, surroundings=self._surroundings, status=self._status, replaces=replaces, keys=keys
            )
        except BaseException:
            self._leave(folder)
            raise

    @contextmanager
    def leased(self, kernel: SDKMemoryKernel) -> Generator[SDKMemoryKernel]:
        """The kernel, kept open until the block ends."""
        self._calls[kernel] += 1
        try:
            yield kernel
        finally:
            self._call_ended(kernel)

    @contextmanager
    def given_back(self, kernel: SDKMemoryKernel) -> Generator[None]:
        """Do not wait for the one call that asks, until the block ends."""
        self._call_ended(kernel)
        try:
            yield
        finally:
            self._calls[kernel] += 1

    def _call_ended(self, kernel: SDKMemoryKernel) -> None:
        self._calls[kernel] -= 1
        if not self._calls[kernel]:
            del self._calls[kernel]
            if kernel in self._idle:
                self._idle.pop(kernel).set()

    async def drained(self, kernel: SDKMemoryKernel) -> bool:
        """Wait until its last call has ended; False if one still goes on when too long has passed."""
        if kernel in self._calls:
            idle = self._idle.setdefault(kernel, asyncio.Event())
            try:
                async with asyncio.timeout(DRAIN_SECONDS):
                    await idle.wait()
            except TimeoutError:
                return False
        return True

    async def exchanged(self, old: SDKMemoryKernel, takeover: Takeover) -> tuple[SDKMemoryKernel, MemoryFault | None]:
        """The kernel that answers after its rows were exchanged; with a fault, it is over the rows that were there before.

        The calls in flight end first. Raises what opening raises if the memory cannot be opened over either.
        """
        folder, keys = old.store.folder, old.store.keys
        self._users[folder] += 1  # the folder stays locked while no kernel is open
        try:
            await old.pause()
            await self.retired()
            try:
                if not await self.drained(old):
                    told = f"Calls that are under way did not end within {DRAIN_SECONDS:g} s; try again later."
                    raise Conflict(told)
                await asyncio.to_thread(takeover.ready)
            except MemoryFault as exc:
                return old, exc
            await self.close(old)
            try:
                await asyncio.to_thread(takeover.perform)
            except MemoryFault as exc:
                return await self.open(old.config, folder, None, keys), exc
            try:
                return await self.open(old.config, folder, None, keys), None
            except MemoryFault as exc:
                await asyncio.to_thread(takeover.undo)
                return await self.open(old.config, folder, None, keys), exc
        finally:
            self._leave(folder)

    def retire(self, kernel: SDKMemoryKernel) -> None:
        """Close a kernel when its last call has ended."""

        async def later() -> None:
            await self.drained(kernel)
            await self.close(kernel)

        self._retiring[kernel] = asyncio.create_task(later())

    async def retired(self) -> None:
        """Wait until every kernel that was retired is closed; those whose loop is gone are closed now."""
        here = asyncio.get_running_loop()
        await asyncio.gather(
            *(task for task in self._retiring.values() if task.get_loop() is here), return_exceptions=True
        )
        for kernel in [kernel for kernel, task in self._retiring.items() if task.get_loop() is not here]:
            await self.close(kernel)

    async def close(self, kernel: SDKMemoryKernel) -> None:
        """Close a kernel that nobody asks any more."""
        try:
            await kernel.close()
        finally:
            self._retiring.pop(kernel, None)
            self._leave(kernel.store.folder)

    def _leave(self, folder: Path) -> None:
        """One kernel less in this folder; after the last one it is free for others."""
        self._users[folder] -= 1
        if not self._users[folder]:
            del self._users[folder]
            self._locks.pop(folder).release()
