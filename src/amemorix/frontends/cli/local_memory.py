"""The memory that a command opens in its own process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from ...audit_context import entered_by
from ...host.service import AMemorixHostService

__all__ = ["LocalMemory"]


class LocalMemory:
    """A memory in this process."""

    def __init__(self, host: AMemorixHostService) -> None:
        self._host = host

    async def invoke(self, component_name: str, args: dict[str, Any] | None = None) -> dict[str, Any]:
        with entered_by("cli"):
            return await self._host.invoke(component_name, args)

    async def settle(self) -> None:
        await self._host.settle()

    async def stage(self, path: Path) -> dict[str, Any]:
        """Copy the file to where imports are read from."""
        staged = await asyncio.to_thread(self._host.kernel.imports.staging.adopt, path)
        return {"staged": staged.id, "name": staged.name}
