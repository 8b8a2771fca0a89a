"""Long-term memory for chatbots."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import MemoryFault
from .version import __version__

if TYPE_CHECKING:
    from .host.kernel import SDKMemoryKernel
    from .host.service import AMemorixHostService

__all__ = ["AMemorixHostService", "MemoryFault", "SDKMemoryKernel", "__version__"]

_ON_USE = {"AMemorixHostService": "host.service", "SDKMemoryKernel": "host.kernel"}
"""These take a second to import, which a command's help need not wait for."""


def __getattr__(name: str) -> Any:
    if name not in _ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_ON_USE[name]}", __name__), name)
    globals()[name] = value
    return value
