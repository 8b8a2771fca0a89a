"""The context of a call: who acts, for the audit log, what they may do, the trace that it belongs to, and how it went."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from .clock import Clock
from .errors import MemoryFault
from .lazy_regex import lazy_regex

if TYPE_CHECKING:
    from .ops import Operation, Request

__all__ = [
    "IN_PROCESS", "Act", "Grant", "acting", "acting_as", "carried", "entered_by", "front_door", "granted", "naming", "observed",
    "span",
]  # fmt: skip

log = logging.getLogger("amemorix.calls")
F = TypeVar("F", bound=Callable[..., Any])
ROLES = ("read", "write", "admin")
"""Each is allowed what those before it are."""
MOST_LETTERS = 200
"""Of what a caller gave; more of it is only counted."""

RECORD = lazy_regex(r"[a-z]?\d+")
PEOPLE = ("chat_id", "group_id", "person_id", "user_id", "external_id", "session_id")
"""Ids that are given by others, and may be names."""
MEMORY = lazy_regex(r"[prnf][0-9]+")
MEMORIES = ("target", "winner", "superseded_by")
"""Arguments that take the number of a memory, among other things."""
IN_PROCESS = frozenset({"host", "cli"})
"""Front doors of the process that holds the memory."""
_ACT: ContextVar[Act | None] = ContextVar("act", default=None)
_DOOR: ContextVar[str] = ContextVar("door", default="host")
_NOTHING = nullcontext()
_GRANT: ContextVar[Grant | None] = ContextVar("grant", default=None)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller may do: the role `read`, `write` or `admin`, and the chats that it is bound to (none: any)."""

    role: str
    chats: tuple[str, ...] = ()
    name: str = ""
    on_loopback: bool = False
    """The call was addressed to this machine as itself."""

    def may(self, role: str) -> bool:
        """Whether it has this role, or one that is allowed more."""
        return ROLES.index(self.role) >= ROLES.index(role)

    @property
    def is_unlimited(self) -> bool:
        """Whether nothing is kept from it."""
        return self.role == "admin" and not self.chats


@dataclass(slots=True)
class Act:
    """A call, or a round of background work, that may change what is stored.

    `at` in epoch seconds; `named` are the records it works on, by what they are: by their numbers where they have any.
    Work that it has left behind is not done in its name any more once it is `over`.
    """

    component: str
    action: str
    requested_by: str
    door: str
    at: float
    named: dict[str, str] = field(default_factory=dict[str, str])
    over: bool = False

    @property
    def target(self) -> str:
        """What it works on, such as `mode=chat selector={"chats": ["c"]} operation_id=d3`."""
        return " ".join(f"{what}={value}" for what, value in self.named.items())

    def name(self, given: dict[str, Any] | None = None, **known: str) -> None:
        """Say what it works on: `known` are words and numbers of the memory's own, `given` is what callers called it.

        What was given stands there as JSON, so that a purge finds whole names in it.
        """
        self.named.update({what: value for what, value in known.items() if value})
        for what, value in (given or {}).items():
            if value:
                text = json.dumps(value, ensure_ascii=False)
                if len(text) > MOST_LETTERS:
                    text = str(len(value)) if isinstance(value, Sized) and not isinstance(value, str) else "(long)"
                self.named[what] = text


def acting() -> Act | None:
    """The act under way here; None where nobody acts, as in what only derives rows from others."""
    act = _ACT.get()
    return None if act is None or act.over else act


def naming() -> Callable[..., None]:
    """What tells the act under way here, from any thread, what it works on; nothing where nobody acts."""
    return (acting() or Act("", "", "", "", 0.0)).name


@contextmanager
def acting_as(act: Act) -> Generator[None]:
    """Until the block ends, writes are done in this name."""
    token = _ACT.set(act)
    try:
        yield
    finally:
        act.over = True
        _ACT.reset(token)


@contextmanager
def observed(op: Operation, request: Request, clock: Clock, *, slow_ms: float) -> Generator[None]:
    """Until the block ends, what is written is written by this call; then the log says how it went.

    It is slow from `slow_ms` milliseconds on, unless it was to wait or was typed; never with 0.
    """
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
        slow = bool(slow_ms) and milliseconds >= slow_ms and not watched
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


def front_door() -> str:
    """How the call came in: `host` for one of the process that holds the memory."""
    return _DOOR.get()


def granted() -> Grant | None:
    """What the caller may do; None for one in this process, who may do everything."""
    return _GRANT.get()


@contextmanager
def entered_by(door: str, grant: Grant | None = None) -> Generator[None]:
    """Until the block ends, calls came in by this door, and may do what was granted."""
    token, granting = _DOOR.set(door), _GRANT.set(grant)
    try:
        yield
    finally:
        _DOOR.reset(token)
        _GRANT.reset(granting)


def span(name: str, **attributes: str | int | float | bool) -> AbstractContextManager[Any]:
    """An OpenTelemetry span of the provider that the process has set up; nothing if it has none."""
    tracer = _tracer()
    return _NOTHING if tracer is None else tracer.start_as_current_span(name, attributes=attributes)


def carried(function: F) -> F:
    """The same function, whose spans on another thread belong to the one that is open here."""
    return function if _tracer() is None else partial(copy_context().run, function)  # type: ignore[return-value]


def _tracer() -> Any | None:
    """What makes spans; None while the process has set up no provider, so that nobody would hear of them."""
    trace, tracer = _opentelemetry()
    return None if trace is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider) else tracer


@cache
def _opentelemetry() -> tuple[Any | None, Any]:
    try:
        from opentelemetry import trace
    except ImportError:
        return None, None
    return trace, trace.get_tracer("amemorix")
