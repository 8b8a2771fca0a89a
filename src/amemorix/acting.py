"""In whose name the memory is being changed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["Act", "acting", "acting_as", "entered_by", "front_door"]

_ACT: ContextVar[Act | None] = ContextVar("act", default=None)
_DOOR: ContextVar[str] = ContextVar("door", default="host")


@dataclass(slots=True)
class Act:
    """A call, or a round of background work, that may change what is stored.

    `at` in epoch seconds; `target` names the records it was asked to work on, by number and never by text. Work that it
    has left behind is not done in its name any more once it is `over`.
    """

    component: str
    action: str
    requested_by: str
    door: str
    at: float
    target: str = ""
    over: bool = False


def acting() -> Act | None:
    """The act under way here; None where nobody acts, as in what only derives rows from others."""
    act = _ACT.get()
    return None if act is None or act.over else act


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


@contextmanager
def entered_by(door: str) -> Generator[None]:
    """Until the block ends, calls came in by this door."""
    token = _DOOR.set(door)
    try:
        yield
    finally:
        _DOOR.reset(token)
