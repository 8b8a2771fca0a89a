"""Who is at the console: a cookie for a token that was shown once, and the secret that its forms carry."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ...audit_context import Grant

__all__ = ["COOKIE", "Session", "Sessions"]

COOKIE = "amemorix_session"
IDLE_SECONDS = 12 * 3600.0
MOST = 1_000
"""Sessions; a further one ends that which was idle for longest."""


@dataclass(slots=True)
class Session:
    """Someone at a browser; `told`: what the next page says was done, with the id by which it is undone."""

    id: str
    grant: Grant
    seen: float
    stands: Callable[[], bool] = lambda: True
    """Whether the token that it began with still allows this."""
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    told: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class Sessions:
    """Held in memory: after a restart the token is asked for again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._by_id = dict[str, Session]()

    def begin(self, grant: Grant, stands: Callable[[], bool] = lambda: True) -> Session:
        """A new session, under an id that nobody could know."""
        while len(self._by_id) >= MOST:
            del self._by_id[next(iter(self._by_id))]
        made = Session(secrets.token_urlsafe(32), grant, self._clock(), stands)
        self._by_id[made.id] = made
        return made

    def of(self, id_: str) -> Session | None:
        """The session of a cookie, which is in use now; None if there is none, it was idle for too long, or its token is revoked."""
        found = self._by_id.pop(id_, None)
        if found is None or self._clock() - found.seen > IDLE_SECONDS or not found.stands():
            return None
        found.seen = self._clock()
        self._by_id[id_] = found  # the last in use stands last
        return found

    def end(self, id_: str) -> None:
        self._by_id.pop(id_, None)
