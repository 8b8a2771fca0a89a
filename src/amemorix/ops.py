"""The one table of operations: request model, handler, response model; every front door is a loop over it."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import getdoc
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails

from .errors import InvalidRequest, UnknownComponent
from .lazy_regex import lazy_regex

__all__ = [
    "CHAT_KEYS", "LONGEST_NAME", "Effect", "NoArguments", "Operation", "Operations", "Request", "Response", "Role",
    "ScopedRequest", "ScopedResponse", "did_you_mean", "sorted_keys", "unknown_arguments",
]  # fmt: skip

Effect = Literal["read", "write", "destructive"]
Role = Literal["read", "write", "admin"]
"""What a caller may do: each includes the one before."""
Kernel = TypeVar("Kernel")
LONGEST_NAME = 64
"""Letters of a name that is compared with those that are known."""
_REQUIRED = lazy_regex(r"([a-z_]+) is required\b")
"""How a check of several fields together names the one to give."""
CHAT_KEYS = ("chat_id", "group_id", "user_id")
"""Arguments that say for which chat a call is made."""


class Request(BaseModel):
    """Base of every request: null means default, strings are stripped, unknown keys are reported, types are checked."""

    model_config = ConfigDict(
        frozen=True, str_strip_whitespace=True, populate_by_name=True, allow_inf_nan=False, extra="ignore",
        defer_build=True,
    )  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _null_means_default(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value_for_a_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and info.field_name in _numbers(cls):
            raise ValueError("must be a number, not true or false")
        return value

    @classmethod
    def known_keys(cls) -> set[str]:
        """Every argument name the request understands, older names included."""
        names: set[str] = set()
        for name, field in cls.model_fields.items():
            names.add(name)
            alias = field.validation_alias
            choices = getattr(alias, "choices", [alias] if alias else [])
            names.update(choice for choice in choices if isinstance(choice, str))
        return names


class NoArguments(Request):
    """No arguments."""


class Response(BaseModel):
    """Base of every response: constructible with no arguments."""

    model_config = ConfigDict(defer_build=True)

    success: bool = True
    warnings: list[str] = Field(default_factory=list, description="What was understood differently than it was said.")


class ScopedRequest(Request):
    """Base of what reads for a chat, or for everybody."""

    asks: ClassVar[bool] = False
    """It answers a question or follows what happens: over HTTP it always says whose memory is meant."""
    scope: Literal["", "all"] = Field(
        default="",
        description="`all`: read every chat, and say so; without it a call that names no chat may be refused.",
    )

    @property
    def names_chat(self) -> bool:
        """Whether the call is made for a chat."""
        return any(getattr(self, key, "") for key in CHAT_KEYS)

    @property
    def is_list(self) -> bool:
        """Whether it shows what there is or how it stands, and looks for nothing."""
        return not (self.asks or getattr(self, "query", ""))


class ScopedResponse(Response):
    """Base of what is answered to a ScopedRequest."""

    scope: Literal["chat", "all"] = Field(
        default="chat",
        description="`chat`: what the chat that asks may see. `all`: the call named no chat and read every one.",
    )
    timezone: str = Field(
        default="",
        description="The zone in which its times are meant to be shown: that of the chat, or of the settings, such as "
        "`Asia/Shanghai`; empty for that of the machine.",
    )


@dataclass(frozen=True, slots=True)
class Operation:
    """One (component, action) with its request, response and handler, and the role that callers need."""

    component: str
    action: str | None
    aliases: tuple[str, ...]
    effect: Effect
    request: type[Request]
    response: type[Response]
    handler: Callable[[Any, Any], Awaitable[Response]]
    summary: str
    role: Role

    @property
    def is_scoped(self) -> bool:
        """Whether it reads for a chat, or for everybody."""
        return issubclass(self.request, ScopedRequest)

    @property
    def name(self) -> str:
        """`component` or `component_action`, unique in the table."""
        return self.component if self.action is None else f"{self.component}_{self.action}"

    @property
    def actions(self) -> tuple[str, ...]:
        """The action and its older names; empty for a component without actions."""
        return () if self.action is None else (self.action, *self.aliases)


class Operations(Generic[Kernel]):
    """Operations by component and action."""

    def __init__(self, modules: Mapping[str, Sequence[str]] | None = None) -> None:
        """`modules`: where the tables `ops` of a component are; they are imported when it is first asked for."""
        self._table: dict[tuple[str, str | None], Operation] = {}
        self._older: dict[str, str] = {}
        self._modules = dict(modules or {})
        self._waiting = dict(self._modules)

    def _import(self, component: str) -> None:
        for module in self._waiting.get(component, ()):
            table: Operations[Kernel] = import_module(module).ops
            for key, op in table._table.items():
                if self._table.setdefault(key, op) is not op:
                    raise ValueError(f"registered twice: {key}")
        self._waiting.pop(component, None)

    def older_name(self, older: str, component: str) -> None:
        """Let a component go by another name too."""
        self._older[older] = component

    @property
    def older_names(self) -> dict[str, str]:
        """Another name -> the component that it means."""
        return dict(self._older)

    def __iter__(self) -> Iterator[Operation]:
        for component in [*self._waiting]:
            self._import(component)
        every = {id(op): op for op in self._table.values()}.values()
        return iter(sorted(every, key=lambda op: op.component))

    def operation(
        self,
        component: str,
        action: str | None = None,
        *aliases: str,
        effect: Effect = "read",
        role: Role | None = None,
    ) -> Callable[[Callable[[Kernel, Any], Awaitable[Any]]], Callable[[Kernel, Any], Awaitable[Any]]]:
        """Register the decorated `async def handler(kernel, request: R) -> S`.

        Without `role` what reads or writes for a chat wants the role `read` or `write`, everything else `admin`.
        """

        def register(fn: Callable[[Kernel, Any], Awaitable[Any]]) -> Callable[[Kernel, Any], Awaitable[Any]]:
            hints = get_type_hints(fn, localns={"SDKMemoryKernel": object})  # imported for its type alone
            summary = (getdoc(fn) or "").split("\n")[0]
            request = hints["request"]
            needs = role or ("admin" if effect == "destructive" or "chat_id" not in request.known_keys() else effect)
            op = Operation(component, action, aliases, effect, request, hints["return"], fn, summary, needs)
            for key in (action, *aliases):
                if (component, key) in self._table:
                    raise ValueError(f"{component}.{key} is already registered")
                self._table[component, key] = op
            return fn

        return register

    def components(self) -> list[str]:
        return sorted({*self._modules, *(component for component, _ in self._table)})

    def actions(self, component: str) -> list[str]:
        """The actions of a component, older names included."""
        self._import(component)
        return sorted(action for name, action in self._table if name == component and action)

    def named(self, component: Any, action: Any) -> tuple[str, str] | None:
        """Component and action by the names that they have now; None if there is no such operation."""
        op = self.find(component, action)
        return None if op is None else (op.component, op.action or "")

    def find(self, component: Any, action: Any) -> Operation | None:
        """The operation of that name, older ones included; None if there is none."""
        if not isinstance(component, str) or not isinstance(action, str | None):
            return None
        component = self._older.get(component, component)
        self._import(component)
        return self._table.get((component, action.strip().lower() if action else None))

    def nothing_destroyed(self, component: Any, args: Any) -> dict[str, Any]:
        """What a destructive operation answers that has done nothing; empty of any other, and of none."""
        op = self.find(component, args.get("action") if isinstance(args, dict) else None)
        return op.response().model_dump(mode="json") if op and op.effect == "destructive" else {}

    def resolve(self, component: Any, args: Any) -> tuple[Operation, Request, dict[str, Any]]:
        """The operation, its request, and the arguments without the action. Raises UnknownComponent, InvalidRequest."""
        known = self.components()
        if not isinstance(component, str):
            raise UnknownComponent(f"A component is named by a text, not by {type(component).__name__}.", known=known)
        component = self._older.get(component, component)
        if component not in known:
            raise UnknownComponent(
                f"There is no component {component!r}.{did_you_mean(component, known)}",
                component=component,
                known=known,
            )
        args = {} if args is None else args
        if not isinstance(args, dict):
            raise InvalidRequest(f"args must be an object, not {type(args).__name__}.", field="args")
        self._import(component)
        args, op = dict(args), self._table.get((component, None))
        if op is None:
            action, actions = args.pop("action", None), self.actions(component)
            if not isinstance(action, str) or not action.strip():
                told = f"{component} needs an action: one of {', '.join(actions)}."
                raise InvalidRequest(told, field="action", allowed=actions)
            op = self._table.get((component, action.strip().lower()))
            if op is None:
                told = f"{component} has no action {action!r}.{did_you_mean(action, actions)}"
                raise UnknownComponent(told, component=component, field="action", allowed=actions)
        try:
            request = op.request.model_validate(args)
        except ValidationError as exc:
            raise _invalid(op, exc) from exc
        return op, request, args

    def json_schema(self, component: str) -> dict[str, Any]:
        """What `invoke(component, args)` takes: one object, or one of several told apart by `action`."""
        variants: list[dict[str, Any]] = []
        shared: dict[str, Any] = {}
        for op in self:
            if op.component != component:
                continue
            schema = op.request.model_json_schema()
            schema["description"] = op.summary
            if op.action:
                shared |= schema.pop("$defs", {})
                schema.setdefault("properties", {})["action"] = {"enum": list(op.actions)}
                schema["required"] = ["action", *schema.get("required", [])]
            variants.append(schema)
        body = variants[0] if len(variants) == 1 else {"type": "object", "oneOf": variants}
        if shared:
            body = {**body, "$defs": shared}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": component, **body}


def unknown_arguments(request: Request, args: dict[str, Any], place: str = "") -> Iterator[str]:
    """A warning for each argument that the request, or a request within one of its lists, does not know."""
    known = sorted_keys(type(request))
    for key, raw in args.items():
        if key not in known:
            yield f"unknown argument {f'{place}{key}'!r} was ignored.{did_you_mean(key, sorted(type(request).model_fields))}"
        elif isinstance(raw, list):
            read = getattr(request, key, None)
            for i, (inner, given) in enumerate(zip(read, raw, strict=False) if isinstance(read, list) else ()):
                if isinstance(inner, Request) and isinstance(given, dict):
                    yield from unknown_arguments(inner, given, f"{place}{key}.{i}.")


@cache
def _numbers(request: type[Request]) -> frozenset[str]:
    """The arguments that take a number and no truth value."""
    kinds = {name: _alternatives(field.annotation) for name, field in request.model_fields.items()}
    return frozenset(name for name, some in kinds.items() if some & {int, float} and bool not in some)


def _alternatives(annotation: Any) -> set[Any]:
    """What a field may be; what lists hold does not count."""
    inner = get_args(annotation)
    if isinstance(annotation, type) or not inner:
        return {annotation}
    return {kind for one in inner for kind in _alternatives(one)}


@cache
def sorted_keys(request: type[Request]) -> list[str]:
    return sorted(request.known_keys())


def did_you_mean(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(str(word)[:LONGEST_NAME], known, n=1, cutoff=0.6)
    if near or not known:
        return f" Did you mean {near[0]!r}?" if near else " It takes none."
    return f" Known: {', '.join(known)}."


def _invalid(op: Operation, exc: ValidationError) -> InvalidRequest:
    errors = exc.errors(include_url=False, include_context=False, include_input=False)
    problems = [_problem(error) for error in errors if error["type"] != "default_factory_not_called"]
    first = problems[0]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    where = "" if first["problem"].startswith(first["field"]) else f"{first['field']}: "
    return InvalidRequest(f"{op.name}: {where}{first['problem']}{more}", field=first["field"], problems=problems)


def _problem(error: ErrorDetails) -> dict[str, str]:
    field = ".".join(map(str, error["loc"]))
    told = error["msg"].removeprefix("Value error, ")
    if error["type"] == "missing":
        told = f"{field} is required."
    elif error["type"] == "too_short" and "at least 1 item" in told:
        told = f"{field} must not be empty."
    elif not field and (named := _REQUIRED.match(told)):
        field = named.group(1)
    return {"field": field or "args", "problem": told}
