"""The one table of operations: request model, handler, response model; every front door is a loop over it."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import getdoc
from itertools import islice
from typing import Any, Generic, Literal, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import ErrorDetails

from .errors import InvalidRequest, UnknownComponent
from .lazy_regex import lazy_regex

__all__ = [
    "CHAT_KEYS",
    "Effect",
    "Operation",
    "Operations",
    "Request",
    "Response",
    "Role",
    "ScopedRequest",
    "ScopedResponse",
]

Effect = Literal["read", "write", "destructive"]
Role = Literal["read", "write", "admin"]
"""What a caller may do: each includes the one before."""
Kernel = TypeVar("Kernel")
MOST_WARNINGS = 20
MOST_UNKNOWN = 100
"""Arguments of a call that are not known, with those within them."""
LONGEST_NAME = 64
"""Letters of a name that is compared with those that are known."""
_REQUIRED = lazy_regex(r"([a-z_]+) is required\b")
"""How a check of several fields together names the one to give."""
CHAT_KEYS = ("chat_id", "group_id", "user_id")
"""Arguments that say for which chat a call is made."""
SCOPE_KEYS = (*CHAT_KEYS, "person_id", "session_id", "scope")
"""Arguments that bound what a call reaches."""
WHO_AND_WHERE = frozenset({*SCOPE_KEYS, "respect_filter", "source"})
"""Arguments that say whose memory is meant: one that is misspelt must not be passed over, the call would reach further."""
_PERSONS = r"user|uid|uin|person|member|account|customer|client|owner|tenant|contact|openid|wxid|用户|成员|好友"
_GROUPS = r"group|guild|server|team|organi[sz]ation|org|community|群聊?|频道组"
_CHATS = (
    r"chat|conversation|convo(?!wner|penid|rg)|conv|thread|room|channel|session|stream|dialog(?:ue)?|peer|agent|bot|namespace|workspace|"
    r"space|project|partition|collection|scope|visibility|audience|filter|where|jid|聊天|会话|对话|房间|频道|私聊"
)
_SCOPE_WORD = lazy_regex(
    rf"(?:current|my|this|src|source|target|from|to|in|for|by|the|asking|private|public|only)*+"
    rf"(?:(?P<person>{_PERSONS})|(?P<group>{_GROUPS})|(?P<chat>{_CHATS})|(?:app|run|user|group|chat)(?=id))s?"
    rf"(?:{_PERSONS}|{_GROUPS}|{_CHATS}|id|key|name|uuid|guid|number|num|no|code|type|list|号码?|s)*+"
)
"""An argument's name without case and separators, if other programs say by it whose memory is meant."""


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


class Response(BaseModel):
    """Base of every response: constructible with no arguments."""

    model_config = ConfigDict(defer_build=True)

    success: bool = True
    warnings: list[str] = Field(default_factory=list, description="What was understood differently than it was said.")


class ScopedRequest(Request):
    """Base of what reads for a chat, or for everybody."""

    scope: Literal["", "all"] = Field(
        default="",
        description="`all`: read every chat, and say so; without it a call that names no chat may be refused.",
    )

    @property
    def names_chat(self) -> bool:
        """Whether the call is made for a chat."""
        return any(getattr(self, key, "") for key in CHAT_KEYS)

    def remarks(self) -> list[str]:
        """What a caller should know whose chat id is empty."""
        if "chat_id" not in self.model_fields_set or getattr(self, "chat_id", "") or self.scope:
            return []
        if not self.names_chat:
            return ["chat_id is empty, so every chat is read: give a chat, or say `scope`: `all`."]
        meant = " and ".join(f"{key} {value!r}" for key in CHAT_KEYS if (value := getattr(self, key, "")))
        return [f"chat_id is empty, so the chats of {meant} are read."]


class ScopedResponse(Response):
    """Base of what is answered to a ScopedRequest."""

    scope: Literal["chat", "all"] = Field(
        default="chat",
        description="`chat`: what the chat that asks may see. `all`: the call named no chat and read every one.",
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
        if not isinstance(component, str) or not isinstance(action, str | None):
            return None
        component = self._older.get(component, component)
        self._import(component)
        op = self._table.get((component, action.strip().lower() if action else None))
        return None if op is None else (op.component, op.action or "")

    def resolve(self, component: Any, args: Any) -> tuple[Operation, Request, list[str]]:
        """Find the operation and validate its arguments.

        Returns the operation, the request and a warning for each unknown argument. Raises UnknownComponent, or
        InvalidRequest: also for an unknown argument of a destructive operation, for one that looks like a chat, group,
        person or user, and for one of these that is null.
        """
        known = self.components()
        if not isinstance(component, str):
            raise UnknownComponent(f"A component is named by a text, not by {type(component).__name__}.", known=known)
        component = self._older.get(component, component)
        if component not in known:
            raise UnknownComponent(
                f"There is no component {component!r}.{_did_you_mean(component, known)}",
                component=component,
                known=known,
            )
        args = {} if args is None else args
        if not isinstance(args, dict):
            raise InvalidRequest(f"args must be an object, not {type(args).__name__}.", field="args")
        op, args = self._choose(component, dict(args))
        try:
            request = op.request.model_validate(args)
        except ValidationError as exc:
            raise _invalid(op, exc) from exc
        _refuse_unclear_scope(op, args)
        remarks = request.remarks() if isinstance(request, ScopedRequest) else []
        if isinstance(request, ScopedRequest) and request.scope and request.names_chat:
            raise InvalidRequest(
                f"{op.name}: scope `all` reads every chat: leave it out, or the chat, group and user.", field="scope"
            )
        return op, request, [*remarks, *islice(_unknown(request, args), MOST_WARNINGS)]

    def _choose(self, component: str, args: dict[str, Any]) -> tuple[Operation, dict[str, Any]]:
        self._import(component)
        plain = self._table.get((component, None))
        if plain is not None:
            return plain, args
        action = args.pop("action", None)
        known = self.actions(component)
        if not isinstance(action, str) or not action.strip():
            raise InvalidRequest(
                f"{component} needs an action: one of {', '.join(known)}.", field="action", allowed=known
            )
        op = self._table.get((component, action.strip().lower()))
        if op is None:
            raise UnknownComponent(
                f"{component} has no action {action!r}.{_did_you_mean(action, known)}",
                component=component, field="action", allowed=known,
            )  # fmt: skip
        return op, args

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


def _unknown(request: Request, args: dict[str, Any], place: str = "") -> Iterator[str]:
    """A warning for each argument that the request, or a request within one of its lists, does not know."""
    known = _sorted_keys(type(request))
    for key, raw in args.items():
        if key not in known:
            yield f"unknown argument {f'{place}{key}'!r} was ignored.{_did_you_mean(key, sorted(type(request).model_fields))}"
        elif isinstance(raw, list):
            read = getattr(request, key, None)
            for i, (inner, given) in enumerate(zip(read, raw, strict=False) if isinstance(read, list) else ()):
                if isinstance(inner, Request) and isinstance(given, dict):
                    yield from _unknown(inner, given, f"{place}{key}.{i}.")


def _refuse_unclear_scope(op: Operation, args: dict[str, Any]) -> None:
    """Raises InvalidRequest for an argument without which the call would reach further than was meant.

    That is one that bounds the call and is null, or that is unknown and looks as if it did; a destructive operation
    knows every argument. A write may leave its group or user null where it names a chat by another key.
    """
    known = _sorted_keys(op.request)
    writes = op.effect == "write"
    bounded = writes and any(args.get(key) not in (None, "") for key in CHAT_KEYS)
    for key in () if bounded else CHAT_KEYS if writes else SCOPE_KEYS:
        if key in known and args.get(key, "") is None:
            all_ = "leave it out to search every chat" if op.is_scoped and key in CHAT_KEYS else "leave it out"
            raise InvalidRequest(f"{op.name}: {key} is null, which names nobody: {all_}, or give an id.", field=key)
    unknown = {key: value for key, value in args.items() if key not in known}
    if len(list(islice(_names_within(unknown), MOST_UNKNOWN + 1))) > MOST_UNKNOWN:
        first = str(next(iter(unknown)))[:LONGEST_NAME]
        raise InvalidRequest(
            f"{op.name}: {first}: there is no such argument, and more than {MOST_UNKNOWN} (nested ones counted) are not known: leave them out.",
            field=first,
        )
    for key, value in unknown.items():
        if op.effect == "destructive" or any(_looks_like_scope(name, known) for name in _names_within({key: value})):
            raise InvalidRequest(
                f"{op.name}: {key}: there is no such argument.{_scope_meant(str(key), known)}", field=str(key)
            )


def _names_within(value: Any, depth: int = 6) -> Iterator[str]:
    """The names in an object and in what it holds; objects within lists have an empty one."""
    if isinstance(value, dict) and depth:
        for name, one in value.items():
            yield str(name)
            yield from _names_within(one, depth - 1)
    elif isinstance(value, list) and depth:
        for one in value:
            if isinstance(one, dict | list):
                yield ""
                yield from _names_within(one, depth - 1)


def _looks_like_scope(key: str, known: list[str]) -> bool:
    if not 0 < len(key) <= LONGEST_NAME:
        return False
    near = difflib.get_close_matches(key, WHO_AND_WHERE.intersection(known), n=1, cutoff=0.7)
    return bool(near) or key in WHO_AND_WHERE or _SCOPE_WORD.fullmatch(_bare(key)) is not None


def _scope_meant(key: str, known: list[str]) -> str:
    key = key[:LONGEST_NAME]
    bare = _bare(key)
    near = (
        [one for one in known if _bare(one) == bare]
        or difflib.get_close_matches(key, set(CHAT_KEYS).intersection(known), n=1, cutoff=0.8)
        or difflib.get_close_matches(key, known, n=1, cutoff=0.8)
    )
    if near:
        return f" Did you mean {near[0]!r}?"
    found = _SCOPE_WORD.fullmatch(bare)
    if found is None:
        return _did_you_mean(key, known)
    meant = "user_id" if found["person"] else "group_id" if found["group"] else "chat_id"
    meant = meant if meant in known else "chat_id"
    return f" A chat is named by {meant!r}." if meant in known else " It is not bound to a chat: leave it out."


def _bare(key: str) -> str:
    """An argument's name without case, width and separators."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", key)).casefold()


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
def _sorted_keys(request: type[Request]) -> list[str]:
    return sorted(request.known_keys())


def _did_you_mean(word: str, known: list[str]) -> str:
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
