"""Everything this package raises on purpose.

MemoryFault
├── InvalidRequest     400  the arguments do not fit the request model
├── InvalidConfig      400  the configuration does not fit its schema
├── UnknownComponent   404  no component or action has that name
├── NotFound           404  the thing named does not exist
├── Conflict           409  the store is not in the state the call needs
│   └── DirectoryInUse 409  another process owns the data directory
├── Forbidden          403  a token is missing or wrong
├── TooLarge           413  a body or a text is over its limit
├── NotReady           503  the host is not started, or is stopping
├── TimedOut           504  the call took longer than its `timeout_ms`
├── ModelUnavailable   503  an embedding model cannot be loaded or reached
├── ChatUnavailable    503  the chat model gave no usable answer, or its budget is spent
└── StorageFailure     500  the database refused: disk full, damaged file, newer schema
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "ChatUnavailable", "Conflict", "DirectoryInUse", "Forbidden", "InvalidConfig", "InvalidRequest", "MemoryFault",
    "ModelUnavailable", "NotFound", "NotReady", "StorageFailure", "TimedOut", "TooLarge", "UnknownComponent", "fault_of",
]  # fmt: skip


class MemoryFault(Exception):
    """The memory could not do what was asked."""

    code = "internal_error"
    status = 500

    def __init__(self, message: str | None = None, **details: Any) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.details = details
        self.answer: Mapping[str, Any] = {}
        """Fields of the operation's answer that it has although it failed: what it was to do, and that nothing is deleted."""

    def to_dict(self) -> dict[str, Any]:
        """The wire form of the error: `success`, `error`, `error_code`, `details`, and what `answer` has."""
        return {**self.answer, "success": False, "error": str(self), "error_code": self.code, "details": self.details}


class InvalidRequest(MemoryFault):
    """The arguments do not fit the request."""

    code, status = "invalid_request", 400


class InvalidConfig(MemoryFault):
    """The configuration does not fit its schema."""

    code, status = "invalid_config", 400


class UnknownComponent(MemoryFault):
    """No component or action has that name."""

    code, status = "unknown_component", 404


class NotFound(MemoryFault):
    """The thing named does not exist."""

    code, status = "not_found", 404


class Conflict(MemoryFault):
    """The store is not in the state that the call needs."""

    code, status = "conflict", 409


class DirectoryInUse(Conflict):
    """Another process owns the data directory."""

    code = "directory_in_use"


class Forbidden(MemoryFault):
    """A token is missing or wrong."""

    code, status = "forbidden", 403


class TooLarge(MemoryFault):
    """The body is over its limit."""

    code, status = "too_large", 413


class NotReady(MemoryFault):
    """The memory is not started."""

    code, status = "not_ready", 503


class TimedOut(MemoryFault):
    """The call took longer than it was given."""

    code, status = "timed_out", 504


class ModelUnavailable(MemoryFault):
    """The embedding model cannot be loaded or reached."""

    code, status = "model_unavailable", 503


class ChatUnavailable(MemoryFault):
    """The chat model gave no usable answer."""

    code, status = "chat_unavailable", 503


class StorageFailure(MemoryFault):
    """The database refused the operation."""

    code, status = "storage_failure", 500


def fault_of(answer: Mapping[str, Any]) -> MemoryFault | None:
    """The error that an answer with `error_code` tells of, as it was raised; None if it tells of none."""
    if answer.get("success") or not answer.get("error_code"):
        return None
    classes = {one.code: one for one in globals().values() if isinstance(one, type) and issubclass(one, MemoryFault)}
    fault = classes.get(str(answer.get("error_code")), MemoryFault)
    return fault(str(answer.get("error", "")), **answer.get("details", {}))
