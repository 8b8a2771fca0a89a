"""OpenTelemetry spans, where the process has OpenTelemetry; nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import cache, partial
from typing import Any, TypeVar

__all__ = ["carried", "span"]

F = TypeVar("F", bound=Callable[..., Any])
_NOTHING = nullcontext()


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[Any]:
    """A span of the provider that the process has set up; one that records nothing if it has none."""
    tracer = _tracer()
    return _NOTHING if tracer is None else tracer.start_as_current_span(name, attributes=attributes)


def carried(function: F) -> F:
    """The same function, whose spans on another thread belong to the one that is open here."""
    return function if _tracer() is None else partial(copy_context().run, function)  # type: ignore[return-value]


@cache
def _tracer() -> Any | None:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("amemorix")
