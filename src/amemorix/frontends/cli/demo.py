"""The command that shows the memory at work on a conversation that ships with it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding

from .demo_conversation import Demo, load
from .demo_run import Asked, DemoRun
from .hit_table import hit_table
from .terminal import out, say

__all__ = ["demo"]


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(help="Keep the memory below this folder; without one it is temporary.")
    ] = None,
    hits: Annotated[int, typer.Option(min=1, max=20, help="Most hits shown of each answer.")] = 5,
) -> None:
    """Store a conversation of five friends, half Chinese, half English, and ask it ten questions in five modes."""
    with _folder(data_dir) as folder:
        asyncio.run(_demonstrate(load(), folder, hits))


async def _demonstrate(conversation: Demo, folder: Path, shown: int) -> None:
    run, console = DemoRun(conversation, folder), out()
    async with run.host:
        started = time.perf_counter()
        stored = await run.store()
        seconds = time.perf_counter() - started
        _introduce(conversation, stored, seconds, await run.host.invoke("memory_stats"))
        complete = 0
        async for asked in run.ask():
            _show(console, asked, shown)
            complete += asked.found > 0
        say(f"{complete} of {len(conversation.questions)} questions got an expected line.", "bold")


def _introduce(conversation: Demo, stored: int, seconds: float, stats: dict[str, object]) -> None:
    people = ", ".join(person.name for person in conversation.people)
    say(f"A chat of {people}: {len(conversation.messages)} lines in {len(conversation.sessions)} sittings.", "bold")
    say(f"{stored} stored and indexed in {seconds:.1f} s; {stats['episodes']} episodes. ✓ marks an expected line.")
    if stats["notice"]:
        say(str(stats["notice"]), "yellow")


def _show(console: Console, asked: Asked, shown: int) -> None:
    question, answer = asked.question, asked.answer
    say()
    say(f"[{question.mode}] {question.question}", "bold cyan")
    say(f"  {json.dumps(question.args, ensure_ascii=False)}", "dim")
    if answer["hits"]:
        console.print(Padding(hit_table(answer["hits"][:shown], marked=asked.marked), (0, 0, 0, 2)))
    else:
        say("  Nothing found.", "dim")
    left = len(answer["hits"]) - shown
    more = f" {left} more hits are not shown." if left > 0 else ""
    style = "green" if asked.found else "red"
    say(f"  {asked.found} of {len(question.expect)} expected lines came back.{more} {question.note}", style)


@contextmanager
def _folder(given: Path | None) -> Generator[Path, None, None]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="amemorix-demo-") as folder:
        yield Path(folder)
