"""A flow, and the registry of those that the program defines."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Flow", "flow", "registered", "texts_of"]

Function = TypeVar("Function", bound=Callable[..., Any])


def texts_of(name: str, value: object) -> tuple[str, ...]:
    """A list of texts. Raises ValueError, which names the argument, for anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name}: must be a list of texts")
    return tuple(value)


@dataclass(frozen=True)
class Flow:
    """A procedure: what it does, when it is the right one, and what is so when it is done.

    `examples` are requests that it answers, in users' words. `flow_id` is made of the name if it is not given.
    """

    name: str
    description: str
    condition: str = ""
    desired_effects: Sequence[str] = ()
    examples: Sequence[str] = ()
    flow_type: str = "flow"
    flow_id: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "description", "condition", "flow_type", "flow_id"):
            if not isinstance(getattr(self, field), str):
                raise ValueError(f"{field}: must be a text")
        for field in ("name", "description"):
            if not getattr(self, field).strip():
                raise ValueError(f"{field}: must not be empty")
        for field in ("desired_effects", "examples"):
            object.__setattr__(self, field, texts_of(field, getattr(self, field)))

    @property
    def embedding_text(self) -> str:
        """What it is found by."""
        return "\n".join(filter(None, (f"{self.name}: {self.description}", self.condition, *self.examples)))

    def checksum(self) -> str:
        """16 hexadecimal digits of everything but the id."""
        told = {key: value for key, value in vars(self).items() if key != "flow_id"}
        canonical = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16]


_registry: WeakKeyDictionary[Callable[..., Any], Flow] = WeakKeyDictionary()
"""By the functions: one that a module's reload replaced is out of it."""


def flow(
    *, condition: str = "", desired_effects: Sequence[str] = (), examples: Sequence[str] = (), name: str = "",
    description: str = "", flow_type: str = "flow", flow_id: str = "",
) -> Callable[[Function], Function]:  # fmt: skip
    """A decorator: the function is a flow, by default with its name, and its docstring as the description.

    It is registered as long as the function lives.
    """

    def register(function: Function) -> Function:
        told = description or inspect.getdoc(function) or ""
        _registry[function] = Flow(
            name or function.__name__, told, condition, desired_effects, examples, flow_type, flow_id
        )
        return function

    return register


def registered() -> list[Flow]:
    """The flows of all decorated functions, in the order in which they were defined."""
    return list(_registry.values())
