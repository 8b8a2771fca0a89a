"""What a facade stands on: whatever answers calls, and the one memory that this process has of a configuration file."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..errors import InvalidRequest, fault_of
from ..location import TOKEN_ENV

if TYPE_CHECKING:
    from amemorix import AMemorixHostService, AsyncClient, AsyncMemory, Client, Memory

    AnyMemory = AMemorixHostService | AsyncMemory | AsyncClient | Memory | Client
else:
    AnyMemory = Any

__all__ = ["AnyMemory", "Caller", "SharedMemory", "caller_of", "shared"]


class Caller(Protocol):
    """An `AsyncMemory`, an `AsyncClient`, or what `shared` and `caller_of` give."""

    async def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """The answer of an operation, ready for JSON. Raises the MemoryFault that it answers."""


class _Hosted:
    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host

    async def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        answer = await self._host.invoke(component, {**(arguments or {}), **named})
        if fault := fault_of(answer):
            raise fault
        return answer


class SharedMemory:
    """A `Memory` or `Client`, called from any event loop or none."""

    def __init__(self, memory: Memory | Client) -> None:
        self._memory = memory

    async def call(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """The answer of an operation, ready for JSON. Raises the MemoryFault that it answers."""
        return await asyncio.to_thread(self.call_sync, component, arguments, **named)

    def call_sync(self, component: str, arguments: Mapping[str, Any] | None = None, /, **named: Any) -> Any:
        """The same for a thread that does not await."""
        return self._memory.call(component, {**(arguments or {}), **named})

    def close(self) -> None:
        """Close it, for all who share it; `shared` opens it anew. What was acknowledged is stored."""
        with _changing:
            for place in [place for place, one in _memories.items() if one is self]:
                del _memories[place]
        self._memory.close()

    def __repr__(self) -> str:
        return f"SharedMemory({self._memory!r})"


_memories: dict[tuple[int, str], SharedMemory] = {}
"""By process and place: after a fork the child has memories of its own."""
_changing = threading.Lock()


def shared(config_path: str | Path | None = None, *, url: str = "", token_env: str = TOKEN_ENV) -> SharedMemory:
    """The memory of a folder or a configuration file, or the daemon at `url`: the same for everybody in this process.

    Without either it is the one of `Memory()`. A daemon's token is in the environment variable `token_env`. It is closed
    when the process ends. Raises DirectoryInUse where another process that is no daemon has the folder.
    """
    from amemorix import AsyncMemory, Client, Memory

    if config_path and url:
        raise InvalidRequest("url: give config_path or url, not both.", field="url")
    place = f"{url} {token_env}" if url else str(AsyncMemory(config_path).config_path)
    with _changing:
        known = _memories.get((os.getpid(), place))
        if known is None:
            memory = Client(url, os.environ.get(token_env, "")) if url else Memory(config_path)
            known = _memories[os.getpid(), place] = SharedMemory(memory)
        return known


def caller_of(memory: AnyMemory | Caller | str | Path | None) -> Caller:
    """What answers for a memory of any kind: a running host, the four of Python, a `Caller`, or the place that `shared` takes."""
    if memory is None or isinstance(memory, str | Path):
        return shared(memory)
    from amemorix import Client, Memory

    if isinstance(memory, Memory | Client):
        return SharedMemory(memory)
    return _Hosted(cast("AMemorixHostService", memory)) if hasattr(memory, "invoke") else cast(Caller, memory)
