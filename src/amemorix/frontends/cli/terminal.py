"""How commands speak: plain answers on standard output, remarks and errors on standard error."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from ...errors import InvalidConfig, MemoryFault
from ...location import config_file

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

__all__ = [
    "DEFAULT_CONFIG", "ConfigPath", "FriendlyGroup", "columns", "out", "print_json", "progress_bars", "remark",
    "say", "shown_in",
]  # fmt: skip

log = logging.getLogger(__name__)
DEFAULT_CONFIG = Path("config/a_memorix.toml")


def _config_file(given: Path) -> Path:
    return config_file(given) if given.is_dir() else given


ConfigPath = Annotated[
    Path,
    typer.Option(
        "--config", "-c", envvar="AMEMORIX_CONFIG", metavar="PATH", callback=_config_file,
        help="Configuration file, or the folder of a memory; it is written if it is missing.",
    ),
]  # fmt: skip


def out() -> Console:
    """The console for answers: brackets are what they are, and lines are not broken when the output is not a terminal."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = max(console.width, 160)
    return console


def say(text: str = "", style: str = "") -> None:
    """One line of an answer, whatever characters it holds."""
    Console(highlight=False).print(Text(text, style=style), soft_wrap=True)


def remark(text: str, style: str = "dim") -> None:
    """One line beside the answer."""
    Console(stderr=True, highlight=False).print(Text(text, style=style), soft_wrap=True)


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def columns(*names: str, right: Collection[str] = ()) -> Table:
    """An empty table with these headings, those of numbers on the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name in right else "left")
    return table


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
        bars.update(shown[name], completed=done, total=total, rate=f"{done / 1e6:.0f} of {total / 1e6:.0f} MB")

    return transfer


class FriendlyGroup(TyperGroup):
    """Turns every error into one red line and exit code 1; `--debug` logs the traceback as well."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except MemoryFault as exc:
            log.debug("the command failed", exc_info=True)
            remark(str(exc) if isinstance(exc, InvalidConfig) else " ".join(str(exc).split()), "red")
            if exc.details.get("damaged"):
                remark("`amemorix check` shows which backups can be restored.")
        except (typer.Exit, typer.Abort, typer.BadParameter, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as exc:
            if type(exc).__module__.startswith("typer."):
                raise
            log.debug("the command failed", exc_info=True)
            remark(f"{type(exc).__name__}: {exc} (`amemorix --debug …` shows where)", "red")
        raise typer.Exit(1)
