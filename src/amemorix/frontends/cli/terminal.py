"""How commands speak: plain answers on standard output, remarks and errors on standard error."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from ...errors import InvalidConfig, InvalidRequest, MemoryFault, NotFound
from ...locale import speaking, spoken, told, word
from ...location import (
    DATA_DIR,
    config_file,
    configured_language,
    data_folder,
    data_home,
    project_folder,
    refuse_within_data,
    remembered_folder,
)

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

__all__ = [
    "DEFAULT_CONFIG", "ConfigPath", "FriendlyGroup", "MemoryPath", "columns", "confirmed", "counted", "localised_command", "out",
    "print_json", "print_stored", "progress_bars", "remark", "require_memory", "say", "shown_in", "translate_typer",
]  # fmt: skip

log = logging.getLogger(__name__)
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of the click that Typer uses: the command was called wrongly."""
DEFAULT_CONFIG = Path("config/a_memorix.toml")


def _config_file(context: typer.Context, given: Path) -> Path:
    """The file that is meant; what is told speaks as it says, errors included, which are told when the command has ended."""
    named = given.is_file() or given.suffix == ".toml"
    file = given if named else config_file(given)
    source = context.get_parameter_source("config")
    if source and source.name == "DEFAULT" and not file.exists() and os.path.exists(file.name):
        file = Path(file.name)  # what `Memory(folder)` writes
    context.find_root().with_resource(speaking(configured_language(file)))
    return file


def require_memory(file: Path) -> None:
    """Raise NotFound if there is no memory of a configuration file, written or with the defaults; nothing is made.

    Raises InvalidConfig if it would be within the data of another.
    """
    if file.exists() or data_folder(file.absolute(), DATA_DIR).exists() or remembered_folder(file):
        return
    refuse_within_data(file)
    folder = project_folder(file)
    place = folder if folder.parts else folder.absolute()
    own = data_home() / DEFAULT_CONFIG.name
    another = own if own.exists() else "PATH"
    if file in (folder / DEFAULT_CONFIG, folder / DEFAULT_CONFIG.name):
        init, serve = (f" {folder}", f" -c {folder}") if folder.parts else ("", "")
        text = f"There is no memory in {place}: `amemorix init{init}` or `amemorix serve{serve}` begins one; `-c {another}` names another."
    else:
        text = f"There is no memory in {place}: `amemorix serve -c {file}` begins one; `-c {another}` names another."
    raise NotFound(text, field="config")


def _memory_file(context: typer.Context, given: Path) -> Path:
    file = _config_file(context, given)
    require_memory(file)
    return file


ConfigPath = Annotated[
    Path,
    typer.Option("--config", "-c", envvar="AMEMORIX_CONFIG", metavar="PATH", is_eager=True, callback=_config_file,
                 help="Configuration file, or the folder of a memory; it is written if it is missing."),
]  # fmt: skip
"""Of a command that may begin a memory."""
MemoryPath = Annotated[
    Path,
    typer.Option("--config", "-c", envvar="AMEMORIX_CONFIG", metavar="PATH", is_eager=True, callback=_memory_file,
                 help="Configuration file, or the folder of a memory."),
]  # fmt: skip
"""Of a command on a memory that is there."""


def out() -> Console:
    """The console for answers: brackets are what they are, and lines are not broken when the output is not a terminal."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    return console


def say(text: str = "", style: str = "") -> None:
    """One line of an answer, in the language of the terminal."""
    print_stored(told(text), style)


def confirmed(question: str) -> bool:
    """Whether a person agrees. Raises InvalidRequest where nobody can be asked."""
    asked = sys.stdin
    if asked and not asked.closed:
        try:
            return typer.confirm(told(question))
        except typer.Abort:
            if asked.isatty():
                raise
    raise InvalidRequest("Nobody answers the question: `--yes` does without it.", field="yes")


def print_stored(text: str, style: str = "") -> None:
    """What is stored, as it is, whatever characters it holds."""
    Console(highlight=False).print(Text(text, style=style), soft_wrap=True)


def remark(text: str, style: str = "dim") -> None:
    """One line beside the answer, in the language of the terminal."""
    Console(stderr=True, highlight=False).print(Text(told(text), style=style), soft_wrap=True)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def columns(*names: str, right: Collection[str] = ()) -> Table:
    """An empty table with these headings, those of numbers on the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(word(name), overflow="fold", justify="right" if name in right else "left")
    return table


def counted(count: int, state: str) -> str:
    """How many are in a state: `3 stored`."""
    return f"{word(state)} {count:,}" if spoken() == "zh" else f"{count:,} {state}"


def progress_bars() -> Progress:
    """Bars on standard error, with a rate (`rate` of each task) and the time that is left; gone at the end."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"), TimeRemainingColumn(), console=Console(stderr=True), transient=True,
    )  # fmt: skip


def shown_in(bars: Progress) -> Callable[[str, int, int], None]:
    """What shows downloads in bars: it is told a file's name, the bytes that came, and all of them."""
    shown: dict[str, TaskID] = {}

    def transfer(name: str, done: int, total: int) -> None:
        if name not in shown:
            shown[name] = bars.add_task(name, rate="")
        bars.update(shown[name], completed=done, total=total, rate=f"{done / 1e6:.0f}/{total / 1e6:.0f} MB")

    return transfer


def localised_command(command: Any) -> Any:
    """A command whose help is in the language of the terminal."""
    if spoken() != "zh":
        return command
    command.help = told(command.help or "")
    for param in command.params:
        param.help = told(getattr(param, "help", None) or "")
    usage, option = type(command).get_usage, type(command).get_help_option

    def help_option(ctx: Any) -> Any:
        found = option(command, ctx)
        if found is not None:
            found.help = told(found.help)
        return found

    command.get_usage = lambda ctx: usage(command, ctx).replace("Usage: ", told("Usage: "), 1)
    command.get_help_option = help_option
    return command


def translate_typer() -> None:
    """Put the words that Typer itself shows into the language of the terminal, for the life of the process."""
    if spoken() == "zh":
        from rich.columns import Columns
        from rich.table import Table
        from typer import rich_utils

        class FoldingTable(Table):
            """Breaks Chinese, which has no spaces, where a cell ends, and cuts nothing off."""

            def add_row(self, *cells: Any, **options: Any) -> None:
                super().add_row(*cells, **options)
                for column in self.columns:
                    column.overflow = "fold"

        class FoldingColumns(Columns):
            """The same for the remarks on an option."""

            def __init__(self, renderables: Iterable[Any], **options: Any) -> None:
                shown = list(renderables)
                for one in shown:
                    if isinstance(one, Text):
                        one.overflow = "fold"
                super().__init__(shown, **options)

        for name, folding in (("Table", FoldingTable), ("Columns", FoldingColumns)):
            setattr(rich_utils, name, folding)
        for name in dir(rich_utils):
            if name.endswith(("_STRING", "_TITLE", "_TEXT")) or name == "RICH_HELP":
                setattr(rich_utils, name, told(getattr(rich_utils, name)))


def _localised_fault(exc: Any) -> Any:
    """An error of Typer's own, which says how a command is called, in the language of the terminal."""
    if spoken() == "zh":
        text = told(exc.format_message())
        exc.format_message = lambda: text
    return exc


class FriendlyGroup(TyperGroup):
    """Turns every error into one red line and exit code 1; `--debug` logs the traceback as well.

    Help and errors are in the language of the terminal.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = super().get_command(ctx, cmd_name)
        return found and localised_command(found)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        localised_command(self)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except UsageError as exc:
            raise _localised_fault(exc)  # noqa: B904 - it is the same

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MemoryFault as exc:
            log.debug("the command failed", exc_info=True)
            remark(str(exc) if isinstance(exc, InvalidConfig) else " ".join(str(exc).split()), "red")
            if exc.details.get("damaged"):
                remark("`amemorix check` shows which backups can be restored.")
        except (typer.Exit, typer.Abort, KeyboardInterrupt, BrokenPipeError):
            raise
        except UsageError as exc:
            raise _localised_fault(exc)  # noqa: B904 - it is the same
        except Exception as exc:
            if type(exc).__module__.startswith("typer."):
                raise
            log.debug("the command failed", exc_info=True)
            remark(f"{type(exc).__name__}: {exc} (`amemorix --debug …` shows where)", "red")
        raise typer.Exit(1)
