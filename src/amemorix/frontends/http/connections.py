"""The connections of the daemon: how long a request may take to arrive, and how many one address may hold."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["Connections"]

log = logging.getLogger(__name__)
MOST_WAITING = 500
"""Connections of others than this machine that have not sent a whole head; beyond it the oldest is closed."""


class Connections:
    """Makes the protocol of each connection, and holds the ones of other machines to their share."""

    def __init__(self, *, idle_seconds: float, per_peer: int, trusted: Callable[[str], bool]) -> None:
        """`trusted` says of an address whether it may hold any number of connections."""
        self.idle_seconds = idle_seconds
        self._per_peer = per_peer
        self._trusted = trusted
        self._peers = Counter[str]()
        self._waiting: dict[_Protocol, None] = {}

    def protocol(self, **given: Any) -> _Protocol:
        return _Protocol(self, **given)

    def is_welcome(self, peer: str) -> bool:
        """Count a connection in; False if its address holds too many."""
        self._peers[peer] += 1
        return self._trusted(peer) or self._peers[peer] <= self._per_peer

    def left(self, peer: str) -> None:
        self._peers[peer] -= 1
        if self._peers[peer] <= 0:
            del self._peers[peer]

    def waits(self, one: _Protocol, peer: str) -> None:
        """Note that a connection owes the head of a request, and close the oldest of too many."""
        if not self._trusted(peer):
            self._waiting[one] = None
            if len(self._waiting) > MOST_WAITING:
                next(iter(self._waiting)).abandon()

    def arrived(self, one: _Protocol) -> None:
        self._waiting.pop(one, None)


class _Protocol(H11Protocol):
    """Closes a connection whose request does not arrive.

    A head has `idle_seconds` from its first byte (or from the connection) to its last; a body may not stand still for so
    long. Between requests the keep-alive time of uvicorn counts.
    """

    def __init__(self, every: Connections, **given: Any) -> None:
        super().__init__(**given)
        self._every = every
        self._peer = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        if not self._every.is_welcome(self._peer):
            transport.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self._every.left(self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def abandon(self) -> None:
        """Close a connection that owes something, unless the program itself does not read."""
        if self._in_body and self.flow.read_paused:
            self._watch()
            return
        self._stop()
        if not self.transport.is_closing():
            log.debug("a request of %s did not arrive", self._peer)
            self.transport.abort()

    def _watch(self) -> None:
        """Set the deadline of what is still to come; one of a head that was begun stays."""
        state = self.conn.their_state
        in_body = state is h11.SEND_BODY
        if state is not h11.IDLE and not in_body:
            self._stop()
        elif in_body or self._in_body or self._deadline is None:
            if self._deadline is not None:
                self._deadline.cancel()
            if in_body:
                self._every.arrived(self)
            else:
                self._every.waits(self, self._peer)
            self._in_body = in_body
            self._deadline = self.loop.call_later(self._every.idle_seconds, self.abandon)

    def _stop(self) -> None:
        self._every.arrived(self)
        self._in_body = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
