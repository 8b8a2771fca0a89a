"""The command for every operation: the table of operations as commands and options."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ...host.operations import OPERATIONS
from ...ops import Operation
from .arguments import Argument, arguments
from .memory import Arguments, print_answer, read_arguments
from .terminal import DEFAULT_CONFIG, ConfigPath, FriendlyGroup

__all__ = ["app"]

SAME_SPELLING = {"token_normalize_func": lambda name: name.replace("_", "-")}
"""`--chat_id` is `--chat-id`."""


class Components(FriendlyGroup):
    """A command for each component, made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return OPERATIONS.components()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The component's command, or its group of actions."""
        meant = OPERATIONS.older_names.get(cmd_name, cmd_name)
        ops = [op for op in OPERATIONS if op.component == meant]
        return _built(meant, ops) if ops else None


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
        holder.add_typer(_actions(ops), name=component)
    group: Any = typer.main.get_command(holder)
    return group.commands[component]


def _actions(ops: list[Operation]) -> typer.Typer:
    actions = typer.Typer(cls=FriendlyGroup, callback=_every, no_args_is_help=True, help=_listed(ops))
    for op in ops:
        call = _caller(op)
        for name in op.actions:
            hidden = name != op.action
            actions.command(name, help=op.summary, hidden=hidden, context_settings=SAME_SPELLING)(call)
    return actions


def _listed(ops: list[Operation]) -> str:
    return f"{', '.join(str(op.action) for op in ops)}."


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
