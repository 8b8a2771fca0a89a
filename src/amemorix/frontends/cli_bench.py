"""Commands that measure: how well the memory recalls, and how fast it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ..errors import StorageFailure
from .console import FriendlyGroup, remark

__all__ = ["app"]

app = typer.Typer(cls=FriendlyGroup, no_args_is_help=True, help="Measure recall and speed.")
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting to measure with, its value as JSON.")
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the raw results here.")]


@app.command()
def locomo(
    file: Annotated[Path, typer.Argument(help="Conversations in LoCoMo's format.")],
    json_file: JsonFile = None,
    conversations: Annotated[str, typer.Option(help="Only these, separated by commas.")] = "",
    limit_questions: Annotated[int | None, typer.Option(min=1, help="Ask so many, evenly spread.")] = None,
    settings: Settings = None,
) -> None:
    """Store LoCoMo conversations, ask every question, and compare with plain BM25."""
    from ..bench.locomo import run
    from ..bench.locomo_report import print_report
    from ..bench.workspace import read_setting

    patch = dict(map(read_setting, settings or []))
    names = [name for name in conversations.split(",") if name]
    report = asyncio.run(run(file, conversations=names, limit=limit_questions, config=patch))
    _write(json_file, report.to_json())
    print_report(report)


@app.command()
def speed(
    rows: Annotated[int, typer.Option(min=1, help="Paragraphs to fill the store with.")] = 10_000,
    json_file: JsonFile = None,
    only: Annotated[
        str, typer.Option(help="Of search, embedding, ingest, load, reload, process; separated by commas.")
    ] = "",
    data_dir: Annotated[Path | None, typer.Option(help="Keep the filled store here for the next run.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions.")] = False,
    settings: Settings = None,
) -> None:
    """Fill a store and measure search, ingest, embedding, reload, cold start and memory."""

    from ..bench.speed import Effort, run
    from ..bench.speed_report import print_report, shown_progress
    from ..bench.workspace import read_setting

    wanted = [name for name in only.split(",") if name]
    patch = dict(map(read_setting, settings or []))
    effort = Effort.quick() if quick else Effort()
    with shown_progress() as on_progress:
        report = asyncio.run(
            run(rows, only=wanted, data_dir=data_dir, config=patch, effort=effort, on_progress=on_progress)
        )
    _write(json_file, report.to_json())
    print_report(report)


def _write(path: Path | None, text: str) -> None:
    if path is None:
        return
    try:
        path.write_text(text + "\n", "utf-8")
    except OSError as exc:
        raise StorageFailure(f"{path} cannot be written: {exc.strerror}.", file=str(path)) from exc
    remark(f"The raw results are in {path}.")
