"""The key of an endpoint, taken from the environment."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import MemoryFault

__all__ = ["key_of"]


def key_of(variable: str, environ: Mapping[str, str], *, section: str, fault: type[MemoryFault]) -> str:
    """The key that the environment variable holds, empty if no variable is named; `fault` if it is not set."""
    if not variable:
        return ""
    key = environ.get(variable, "").strip()
    if not key:
        raise fault(
            f"The environment variable {variable}, which {section}.api_key_env names, is not set.", variable=variable
        )
    return key
