"""The command that stores files."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Literal

import typer
from rich.progress import Progress

from ...errors import InvalidRequest
from .ingest_files import message_batches, text_request
from .memory_client import Memory, answered, opened
from .progress_bars import progress_bars
from .terminal import DEFAULT_CONFIG, ConfigPath, remark, say

__all__ = ["ingest"]

Format = Literal["auto", "text", "jsonl"]


def ingest(
    files: Annotated[list[str], typer.Argument(metavar="FILE|-", help="Texts (.txt, .md …) or chat turns (.jsonl).")],
    chat: Annotated[str, typer.Option(help="The chat they belong to.")],
    format_: Annotated[Format, typer.Option("--format", help="`auto`: by the file's name.")] = "auto",
    wait: Annotated[bool, typer.Option(help="Wait until everything has its vectors.")] = True,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Store files: a text as one memory, a .jsonl file as chat turns {speaker, text, time, external_id} a line."""
    _all_readable(files)
    counts = asyncio.run(_ingest(files, chat, format_, wait, config))
    say(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "Nothing to store.")


async def _ingest(files: list[str], chat: str, format_: Format, wait: bool, config: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with opened(config, note=remark) as memory:
        with progress_bars() as progress:
            for name in files:
                with _reading(name) as stream:
                    counts += await _store(memory, name, stream, chat, format_, progress)
            if wait:
                task = progress.add_task("vectors", total=None, rate="")
                await memory.settle()
                progress.update(task, total=1, completed=1)
    return counts


async def _store(
    memory: Memory, name: str, stream: IO[bytes], chat: str, format_: Format, progress: Progress
) -> Counter[str]:
    if format_ == "jsonl" or (format_ == "auto" and Path(name).suffix.lower() in (".jsonl", ".ndjson")):
        return await _store_messages(memory, name, stream, chat, progress)
    answer = await answered(memory, "ingest_text", text_request(name, stream.read(), chat))
    return Counter(dict(_outcome(answer["stored_ids"], answer["reason"])))


async def _store_messages(memory: Memory, name: str, stream: IO[bytes], chat: str, progress: Progress) -> Counter[str]:
    """Store batch by batch; the bar counts bytes, the rate turns."""
    counts: Counter[str] = Counter()
    task = progress.add_task(Path(name).name, total=None if name == "-" else Path(name).stat().st_size, rate="")
    for batch in message_batches(name, stream):
        if batch.messages:
            answer = await answered(memory, "ingest_messages", {"chat_id": chat, "messages": batch.messages})
            counts.update(item["status"] for item in answer["results"])
            counts.update({answer["reason"]: len(batch.messages)} if answer["reason"] else {})
        seconds = progress.tasks[task].elapsed or 0.0
        rate = f"{counts.total() / seconds:,.0f} turns/s" if seconds else ""
        progress.update(task, advance=batch.size, rate=rate)
    return counts


def _outcome(stored: list[str], reason: str) -> Iterator[tuple[str, int]]:
    if stored:
        yield "stored", len(stored)
    if reason:
        yield {"exists": "existing"}.get(reason, reason), 1


def _all_readable(files: list[str]) -> None:
    """Fail before anything is stored."""
    for name in files:
        if name != "-" and not Path(name).is_file():
            raise InvalidRequest(f"There is no file {name}.", field="files")


@contextmanager
def _reading(name: str) -> Generator[IO[bytes], None, None]:
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = open(name, "rb")  # noqa: SIM115 - closed below
    except OSError as exc:
        raise InvalidRequest(f"{name} cannot be read: {exc.strerror}.", field="files") from exc
    with stream:
        yield stream
