"""A bound for the log: a fault that comes again and again is told once, and then counted."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

__all__ = ["RepeatedFaults"]

QUIET_SECONDS = 60.0
"""Time between two lines about the same fault."""
FORGOTTEN_SECONDS = 3600.0
"""A fault that stayed away for so long is told in full again."""
MOST_FAULTS = 1_000
"""Faults that are remembered; the one that was told first is forgotten."""


@dataclass(slots=True)
class _Told:
    """A fault that was told: when it was told and came last (in seconds), and how often it came since it was told."""

    at: float
    last: float
    since: int = 0


class RepeatedFaults(logging.Handler):
    """Hands another handler the first warning, error or traceback of a kind, then a line a minute that says how often it came.

    Of one kind are what a place in the code raises, whatever was asked, and warnings that say the same. Records are shared with
    other handlers, so a line that stands for several is a copy.
    """

    def __init__(self, target: logging.Handler, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._target = target
        self._clock = clock
        self._told: dict[Hashable, _Told] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on what is to be logged; called by one thread at a time, as any handler is."""
        if (bounded := self._bounded(record)) is not None:
            self._target.handle(bounded)

    def _bounded(self, record: logging.LogRecord) -> logging.LogRecord | None:
        """The record, or for one that stands for several a copy that says so, without its traceback; None: not now."""
        if record.levelno < logging.WARNING:
            return record
        now, kind = self._clock(), _kind(record)
        told = self._told.get(kind)
        if told is None or now - told.last >= FORGOTTEN_SECONDS:
            self._told.pop(kind, None)
            if len(self._told) >= MOST_FAULTS:
                del self._told[next(iter(self._told))]
            self._told[kind] = _Told(now, now)
            return record
        told.since, told.last = told.since + 1, now
        if now - told.at < QUIET_SECONDS:
            return None
        error = f": {record.exc_info[0].__name__}" if record.exc_info and record.exc_info[0] else ""
        counted = copy.copy(record)
        counted.msg = (
            f"{record.getMessage()[:200]}{error} ({told.since} times in {now - told.at:.0f} s; told in full before)"
        )
        counted.args, counted.exc_info, counted.exc_text = None, None, None
        told.at, told.since = now, 0
        return counted


def _kind(record: logging.LogRecord) -> Hashable:
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return record.name, record.levelno, record.getMessage()
    place, step = None, error.__traceback__
    while step is not None:
        place, step = (step.tb_frame.f_code.co_filename, step.tb_lineno), step.tb_next
    return record.name, str(record.msg), type(error), place
