"""The command that stores files."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import typer
from rich.progress import Progress

from ...errors import InvalidRequest
from ...importing.records import Occurrences
from ...locale import word
from ..http.json_response import read_object
from .memory_client import Memory, answered, opened
from .terminal import DEFAULT_CONFIG, ConfigPath, counted, progress_bars, say

BATCH = 200
"""Turns of one call, so of one transaction."""
FIELDS = ("external_id", "speaker", "person_id", "text", "time", "tags", "metadata")
Format = Literal["auto", "text", "jsonl"]


def ingest(
    files: Annotated[list[str], typer.Argument(metavar="FILE|-", help="Texts (.txt, .md …) or chat turns (.jsonl).")],
    chat: Annotated[str, typer.Option(help="The chat they belong to.")],
    format_: Annotated[Format, typer.Option("--format", help="`auto`: by the file's name.")] = "auto",
    wait: Annotated[bool, typer.Option(help="Wait until everything has its vectors.")] = True,
    config: ConfigPath = DEFAULT_CONFIG,
) -> None:
    """Store files: a text as one memory, a .jsonl file as chat turns {speaker, text, time, external_id} a line."""
    for name in files:  # before anything is stored
        if name != "-" and not Path(name).is_file():
            raise InvalidRequest(f"There is no file {name}.", field="files")
    counts = asyncio.run(_ingest(files, chat, format_, wait, config))
    say(", ".join(counted(count, name) for name, count in sorted(counts.items())) or "Nothing to store.")


async def _ingest(files: list[str], chat: str, format_: Format, wait: bool, config: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    async with opened(config) as memory:
        with progress_bars() as progress:
            for name in files:
                with _reading(name) as stream:
                    counts += await _store(memory, name, stream, chat, format_, progress)
            if wait:
                task = progress.add_task(word("vectors"), total=None, rate="")
                await memory.settle()
                progress.update(task, total=1, completed=1)
    return counts


async def _store(
    memory: Memory, name: str, stream: IO[bytes], chat: str, format_: Format, progress: Progress
) -> Counter[str]:
    if format_ == "jsonl" or (format_ == "auto" and Path(name).suffix.lower() in (".jsonl", ".ndjson")):
        return await _store_messages(memory, name, stream, chat, progress)
    answer = await answered(memory, "ingest_text", _text_request(name, stream.read(), chat))
    counts = Counter({"stored": len(answer["stored_ids"])} if answer["stored_ids"] else {})
    if reason := answer["reason"]:
        counts["existing" if reason == "exists" else reason] += 1
    return counts


async def _store_messages(memory: Memory, name: str, stream: IO[bytes], chat: str, progress: Progress) -> Counter[str]:
    """Store batch by batch; the bar counts bytes, the rate turns."""
    counts: Counter[str] = Counter()
    task = progress.add_task(Path(name).name, total=None if name == "-" else Path(name).stat().st_size, rate="")
    for messages, size in _message_batches(name, stream):
        if messages:
            answer = await answered(memory, "ingest_messages", {"chat_id": chat, "messages": messages})
            counts.update(item["status"] for item in answer["results"])
            counts.update({answer["reason"]: len(messages)} if answer["reason"] else {})
        seconds = progress.tasks[task].elapsed or 0.0
        rate = f"{counts.total() / seconds:,.0f}/s" if seconds else ""
        progress.update(task, advance=size, rate=rate)
    return counts


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


def _text_request(name: str, data: bytes, chat_id: str) -> dict[str, Any]:
    """Arguments of `ingest_text` for a text; a file is known by its path, standard input (`-`) by its content.

    Raises InvalidRequest if it is not UTF-8.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidRequest(f"{name} is not UTF-8 text: {exc.reason} at byte {exc.start}.", field="text") from exc
    key = f"stdin:{hashlib.sha256(data).hexdigest()[:32]}" if name == "-" else f"file:{Path(name).resolve()}"[-512:]
    source = {} if name == "-" else {"source": f"file:{Path(name).name}"}
    return {"external_id": key, "source_type": "file", "text": text, "chat_id": chat_id, **source}


def _message_batches(name: str, lines: IO[bytes]) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """(turns to be stored together, bytes of the file that they took) of one JSON object a line; empty lines are passed over.

    A turn without an `external_id` is known by what it says, and how often that was said before in the file: the same file
    again changes nothing, and no other line takes its place. Raises InvalidRequest with the line's number.
    """
    held: list[dict[str, Any]] = []
    said = Occurrences()
    size = 0
    for number, line in enumerate(lines, 1):
        size += len(line)
        if line.strip():
            message = _message(name, number, line)
            held.append({"external_id": said.external_id("line", json.dumps(message, sort_keys=True)), **message})
        if len(held) == BATCH:
            yield held, size
            held, size = [], 0
    if held or size:
        yield held, size


def _message(name: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        message = read_object(line.removeprefix(b"\xef\xbb\xbf"))
    except InvalidRequest as exc:
        raise InvalidRequest(f"{name}, line {number}: {exc}".replace("The body", "it"), line=number) from exc
    if not isinstance(message.get("text"), str):
        raise InvalidRequest(f"{name}, line {number}: there is no `text`.", line=number)
    if unknown := sorted(message.keys() - set(FIELDS)):
        known = ", ".join(FIELDS)
        raise InvalidRequest(f"{name}, line {number}: unknown {json.dumps(unknown[0])}. Known: {known}.", line=number)
    return {key: value for key, value in message.items() if value is not None}
