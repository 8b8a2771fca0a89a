"""Texts and chat turns out of files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...errors import InvalidRequest
from ...importing.duplicates import Occurrences
from ..http.json_response import read_object

__all__ = ["Batch", "message_batches", "text_request"]

BATCH = 200
"""Turns of one call, so of one transaction."""
FIELDS = ("external_id", "speaker", "person_id", "text", "time", "tags", "metadata")


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns to be stored together, and how many bytes of the file they took."""

    messages: list[dict[str, Any]]
    size: int


def text_request(name: str, data: bytes, chat_id: str) -> dict[str, Any]:
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


def message_batches(name: str, lines: IO[bytes]) -> Iterator[Batch]:
    """The turns of a file with one JSON object a line; empty lines are passed over.

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
            yield Batch(held, size)
            held, size = [], 0
    if held or size:
        yield Batch(held, size)


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
