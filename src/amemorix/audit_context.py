"""The context of a call: who acts, for the audit log, what they may do, and the trace that the call belongs to."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sized
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

__all__ = [
    "IN_PROCESS", "Act", "Grant", "acting", "acting_as", "carried", "entered_by", "front_door", "granted", "naming", "span",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
ROLES = ("read", "write", "admin")
"""Each is allowed what those before it are."""
MOST_LETTERS = 200
"""Of what a caller gave; more of it is only counted."""

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
