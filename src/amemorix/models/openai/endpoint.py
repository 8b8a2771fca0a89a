"""What requests to any OpenAI-compatible endpoint have in common."""

from __future__ import annotations

import random
from email.utils import parsedate_to_datetime

import httpx

from ...errors import MemoryFault

__all__ = ["LONGEST_PAUSE", "PASSING", "backoff", "bearer", "endpoint_url", "on_one_line", "retry_after"]

PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Answers that another try may change."""
LONGEST_PAUSE = 30.0
"""Seconds: an endpoint that asks for a longer pause is down for this call."""


def endpoint_url(base_url: str, path: str, *, section: str, fault: type[MemoryFault]) -> httpx.URL:
    """`base_url` with `path` appended; `fault` names the setting if it is no address."""
    field = f"{section}.base_url"
    try:
        url = httpx.URL(base_url.strip().rstrip("/") + path)
    except httpx.InvalidURL as exc:
        raise fault(f"{field} is not an address.", field=field) from exc
    if url.scheme not in {"http", "https"} or not url.host:
        raise fault(f"{field} must be like https://api.example.com/v1.", field=field)
    return url


def bearer(key: str, *, who: str, fault: type[MemoryFault]) -> dict[str, str]:
    """The header that carries the key; `fault`, without the key, if no header can."""
    if not key:
        return {}
    if not (key.isascii() and key.isprintable()):
        raise fault(f"The {who}'s key holds characters that no header can carry.")
    return {"Authorization": f"Bearer {key}"}


def retry_after(headers: httpx.Headers, now: float) -> float | None:
    """Seconds to wait as the endpoint says (RFC 9110, section 10.2.3), or None."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now) if value else None
    except ValueError:
        return None


def backoff(attempt: int) -> float:
    """Seconds before the next try: doubling from half a second, with as much again of chance."""
    return min(0.5 * 2 ** (attempt - 1), LONGEST_PAUSE / 2) * (1 + random.random())


def on_one_line(text: str, key: str) -> str:
    """`text` on one line, without the key."""
    hidden = text.replace(key, "***") if key else text
    return " ".join(hidden.split())
