"""Times as callers write them, read with the name of the field in the error."""

from __future__ import annotations

import math
from datetime import tzinfo
from typing import Any, Literal

from ..errors import InvalidRequest
from .times import read_time

__all__ = ["NEVER", "read_bound", "read_event", "read_expiry", "read_instant"]

NEVER = math.inf
"""The expiry of what is kept for good."""
NEVER_WORDS = frozenset({"never", "forever", "永不", "永久", "永不过期"})


def read_bound(field: str, value: Any, now: float, zone: tzinfo) -> float | None:
    """A bound of a window: a start is the first moment of the span named, an end its last. None stays None."""
    return _read(field, value, now, zone, "end" if field.endswith("end") else "start")


def read_instant(field: str, value: Any, now: float, zone: tzinfo) -> float | None:
    """The last moment of the time named. None stays None."""
    return _read(field, value, now, zone, "end")


def read_event(
    fields: tuple[str, str], values: tuple[Any, Any], now: float, zone: tzinfo
) -> tuple[float | None, float | None]:
    """(start, end) of an event: one that has only one of them begins and ends there; InvalidRequest if start > end."""
    start = _read(fields[0], values[0], now, zone, "start")
    end = _read(fields[1], values[1], now, zone, "end")
    if start is not None and end is not None and start > end:
        raise InvalidRequest(f"{fields[0]} is after {fields[1]}.", field=fields[0])
    return (end if start is None else start), (start if end is None else end)


def read_expiry(expires_at: Any, ttl_seconds: float | None, now: float, zone: tzinfo) -> float | None:
    """When it expires, as epoch seconds; None if nothing was said. InvalidRequest for a time that has passed."""
    if ttl_seconds is not None:
        return now + ttl_seconds
    if isinstance(expires_at, str) and expires_at.strip().lower() in NEVER_WORDS:
        return NEVER
    at = _read("expires_at", expires_at, now, zone, "end")
    if at is not None and at <= now:
        raise InvalidRequest("expires_at has passed already.", field="expires_at")
    return at


def _read(field: str, value: Any, now: float, zone: tzinfo, edge: Literal["start", "end"]) -> float | None:
    if value is None or value == "":
        return None
    try:
        return read_time(value, now=now, zone=zone, edge=edge)
    except ValueError as exc:
        raise InvalidRequest(f"{field}: {exc}", field=field) from exc
