"""Every call is audited, traced, and logged if it was slow."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator
from contextlib import contextmanager

from ..audit_context import Act, acting_as, front_door, span
from ..clock import Clock
from ..config.model import Observability
from ..errors import MemoryFault
from ..lazy_regex import lazy_regex
from ..ops import Operation, Request

__all__ = ["observed"]

log = logging.getLogger("amemorix.calls")
RECORD = lazy_regex(r"[a-z]?\d+")
PEOPLE = ("chat_id", "group_id", "person_id", "user_id", "external_id", "session_id")
"""Ids that are given by others, and may be names."""
MEMORY = lazy_regex(r"[prnf][0-9]+")
MEMORIES = ("target", "winner", "superseded_by")
"""Arguments that take the number of a memory, among other things."""


@contextmanager
def observed(op: Operation, request: Request, settings: Observability, clock: Clock) -> Generator[None]:
    """Until the block ends, what is written is written by this call; then say how it went."""
    by = str(getattr(request, "requested_by", ""))
    act = Act(op.component, op.action or "", by, front_door(), clock.now(), _named(request))
    started, outcome = time.perf_counter(), "ok"
    try:
        with acting_as(act), span(f"amemorix {op.name}", component=op.component, action=act.action, door=act.door):
            yield
    except BaseException as exc:
        outcome = exc.code if isinstance(exc, MemoryFault) else type(exc).__name__
        raise
    finally:
        milliseconds = (time.perf_counter() - started) * 1000
        waits = bool(getattr(request, "wait_seconds", 0.0))
        watched = waits or act.door == "cli"  # whoever typed the command has seen how long it took
        slow = bool(settings.slow_call_ms) and milliseconds >= settings.slow_call_ms and not watched
        extra = {
            "component": op.component, "action": act.action, "door": act.door, "outcome": outcome,
            "milliseconds": round(milliseconds, 2),
        }  # fmt: skip
        level, told = (logging.WARNING, ", slow") if slow else (logging.DEBUG, "")
        log.log(level, "%s: %s in %.1f ms%s", op.name, outcome, milliseconds, told, extra=extra)


def _named(request: Request) -> dict[str, str]:
    """The numbers of the records that a request names, such as `operation_id` -> `d3`."""
    found: dict[str, str] = {}
    for name in type(request).model_fields:
        form = MEMORY if name in MEMORIES else RECORD if name.endswith("_id") and name not in PEOPLE else None
        if form and form.fullmatch(value := str(getattr(request, name))):
            found[name] = value
    return found
