"""The memory's JSON answers as HTTP responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from ...errors import MemoryFault
from .json_response import encoded

__all__ = ["JsonAnswer", "fault_answer"]


class JsonAnswer(Response):
    """A JSON response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return encoded(content)


def fault_answer(fault: MemoryFault, *, status: int = 0, headers: Mapping[str, str] | None = None) -> JsonAnswer:
    """The error's wire form under its HTTP status, or under another."""
    return JsonAnswer(fault.to_dict(), status_code=status or fault.status, headers=headers)
