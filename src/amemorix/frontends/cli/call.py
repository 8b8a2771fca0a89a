"""The command for every operation: the table of operations as commands and options."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ...errors import InvalidRequest
from ...host.operations import OPERATIONS
from ...locale import joined, spoken, told
from ...ops import Operation
from ..reference import bounds, default
from .memory import Arguments, print_answer, read_arguments
from .terminal import DEFAULT_CONFIG, ConfigPath, FriendlyGroup, localised_command

SAME_SPELLING = {"token_normalize_func": lambda name: name.replace("_", "-")}
"""`--chat_id` is `--chat-id`."""


class Components(FriendlyGroup):
    """A command for each component, made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return OPERATIONS.components()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        meant = OPERATIONS.older_names.get(cmd_name, cmd_name)
        ops = [op for op in OPERATIONS if op.component == meant]
        return localised_command(_built(meant, ops)) if ops else None


app = typer.Typer(
    cls=Components,
    no_args_is_help=True,
    help="Call any operation, its arguments as options, and print its JSON answer.",
)


@app.callback()
def _every() -> None: ...


def _built(component: str, ops: list[Operation]) -> Any:
    holder = typer.Typer(cls=FriendlyGroup, callback=_every)
    if ops[0].action is None:
        holder.command(component, help=ops[0].summary, context_settings=SAME_SPELLING)(_caller(ops[0]))
    else:
        names = f"{', '.join(str(op.action) for op in ops)}."
        actions = typer.Typer(cls=FriendlyGroup, callback=_every, no_args_is_help=True, help=names)
        for op in ops:
            call = _caller(op)
            for name in op.actions:
                hidden = name != op.action
                actions.command(name, help=op.summary, hidden=hidden, context_settings=SAME_SPELLING)(call)
        holder.add_typer(actions, name=component)
    group: Any = typer.main.get_command(holder)
    return group.commands[component]


def _caller(op: Operation) -> Callable[..., None]:
    every = arguments(op)

    def call(**given: Any) -> None:
        config, base = given.pop("config"), given.pop("json")
        named = {one.name: one.value(given[one.name]) for one in every if given[one.name] not in (None, [])}
        action = {"action": op.action} if op.action else {}
        print_answer(config, op.component, read_arguments(base) | named | action)

    parameters = [*map(_parameter, every), *COMMON]
    call.__signature__ = Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _parameter(argument: Argument) -> Parameter:
    spellings = argument.spellings
    if argument.is_flag:
        first = spellings[0]
        option = typer.Option(f"{first}/--no-{first.removeprefix('--')}", *spellings[1:], help=argument.help)
        kind: Any = bool | None
    else:
        option = typer.Option(*spellings, metavar=argument.metavar, help=argument.help)
        kind = list[str] | None if argument.is_list else str | None
    option.show_default = False
    return Parameter(argument.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


COMMON = [
    Parameter("json", Parameter.KEYWORD_ONLY, default="{}", annotation=Arguments),
    Parameter("config", Parameter.KEYWORD_ONLY, default=DEFAULT_CONFIG, annotation=ConfigPath),
]


# an operation's arguments as words on a command line

WORDS = {"integer": "INTEGER", "number": "NUMBER", "object": "JSON", "array": "JSON", "string": "TEXT"}
STRUCTURED = frozenset({"object", "array"})
NUMBERS = frozenset({"integer", "number", "null"})


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: how it is written, and what it means."""

    name: str
    spellings: tuple[str, ...]
    """`--chat-id`, and the older names."""
    kinds: frozenset[str]
    """JSON types that a single value may have; empty for any."""
    is_flag: bool
    is_list: bool
    metavar: str
    help: str

    def value(self, given: Any) -> Any:
        """What the memory is handed. Raises InvalidRequest for what begins as JSON and is none."""
        if self.is_flag:
            return given
        return [self._one(text) for text in given] if self.is_list else self._one(given)

    def _one(self, text: str) -> Any:
        """An object or a list where one may stand, a number where no text may; else the text, for the memory to judge."""
        structured = text.lstrip()[:1] in ("{", "[") and (not self.kinds or self.kinds & STRUCTURED)
        if not structured and not (self.kinds and self.kinds <= NUMBERS):
            return text
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as exc:
            if not structured:
                return text
            raise InvalidRequest(f"{self.spellings[0]} is not valid JSON: {exc}.", field=self.name) from exc
        return found if structured or (isinstance(found, int | float) and not isinstance(found, bool)) else text


def arguments(op: Operation) -> list[Argument]:
    """In the order of the request model."""
    document = op.request.model_json_schema()
    required = document.get("required", [])
    return [
        _argument(op, name, node, document, name in required) for name, node in document.get("properties", {}).items()
    ]


def _argument(op: Operation, name: str, node: dict[str, Any], document: dict[str, Any], required: bool) -> Argument:
    older = getattr(op.request.model_fields[name].validation_alias, "choices", [])
    names = dict.fromkeys([name, *(choice for choice in older if isinstance(choice, str))])
    found = [choice for choice in _choices(node, document) if choice.get("type") != "null"]
    lists = [choice for choice in found if choice.get("type") == "array"]
    single = _choices(lists[0].get("items", {}), document) if lists else found
    kinds = frozenset(kind for choice in single for kind in _types(choice))
    limits = ["required"] if required else []
    limits += ["repeatable"] if lists else []
    limits += [words.removeprefix(", ") for words in map(bounds, found) if words]
    limits += [f"default {default(node['default'])}"] if node.get("default") not in (None, "", [], {}) else []
    bounded, meaning = joined(map(told, limits)), told(node.get("description", ""))
    if bounded:
        meaning += f"（{bounded}）" if spoken() == "zh" else f" ({bounded})"
    return Argument(
        name, tuple(f"--{one.replace('_', '-')}" for one in names), kinds,
        is_flag=kinds == frozenset({"boolean"}) and not lists, is_list=bool(lists), metavar=_metavar(single),
        help=meaning.strip(),
    )  # fmt: skip


def _choices(node: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas that a value may follow, without references."""
    if "$ref" in node:
        return _choices(document["$defs"][node["$ref"].removeprefix("#/$defs/")], document)
    return [inner for choice in node["anyOf"] for inner in _choices(choice, document)] if "anyOf" in node else [node]


def _types(node: dict[str, Any]) -> Sequence[str]:
    kind = node.get("type", [])
    return [kind] if isinstance(kind, str) else kind


def _metavar(choices: list[dict[str, Any]]) -> str:
    words = [
        "|".join(map(str, choice["enum"])) if "enum" in choice else WORDS.get(kind, "")
        for choice in choices
        for kind in _types(choice)
    ]
    return "|".join(dict.fromkeys(word for word in words if word)) or "TEXT|JSON"
