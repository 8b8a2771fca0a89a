"""Chat logs and texts, a JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import InvalidRequest
from ...ingest.messages import Misspelt, read_message
from ...ingest.operations import IngestText, Message
from ...language.encoding import Encoding
from ..records import Bad, Line, Occurrences, Reader, Record, read_lines
from .chat_json import is_event, turn_of

__all__ = ["JsonLines"]

CHAT = ("chat_id", "group_id", "user_id")
CALL = (*CHAT, "source", "expires_at", "ttl_seconds")
TEXT_KEYS = frozenset(IngestText.known_keys() - {"respect_filter"})
ONLY_TEXT = frozenset(TEXT_KEYS - Message.known_keys() - {*CALL})
"""Keys by which a line is a text and no turn."""
SAME = {"content": "text", "id": "external_id"}
"""Other names of keys of a text."""
SAID_BY = ("speaker", "person_id")
SAMPLE = 1 << 20


class JsonLines(Reader):
    """The lines of a file; positions are byte offsets.

    A line that is a text (`source_type`, `knowledge_type`, `entities` …, or `content` without a speaker) is stored as by
    `ingest_text`, an event of OneBot by who said what where, any other as a chat turn. What has no `external_id` is known
    by what it says and how often that was said before.
    """

    what = (
        "A JSON object a line: chat turns, texts as `ingest_text` takes them, or events as bots of OneBot log them. "
        "每行一个 JSON 对象，也认 OneBot 事件日志。"
    )
    fields = (
        "turn: text, speaker, person_id, time, external_id, chat_id, tags, metadata; text: text or content, source_type, "
        "source, timestamp, entities, relations, knowledge_type, …; event: raw_message or message, sender, group_id, time"
    )
    example = '{"speaker": "周宁", "text": "我把伞放在值班柜里。", "time": "2025-03-01T09:30:00+08:00", "chat_id": "c"}'

    def records(self, path: Path) -> Iterator[tuple[int, Record | Bad]]:
        encoding, said, met = _encoding_of(path), Occurrences(), False
        with path.open("rb") as file:
            for line in read_lines(file):
                record = _read(line, encoding, said)
                if record is None:
                    continue
                begun = line.raw is None or line.raw.lstrip()[:1] in (b"{", b'"')
                if not met and not begun and isinstance(record, Bad):
                    raise InvalidRequest("file: JSON lines begin with `{`; this file does not.", field="file")
                met = True
                yield line.after, record


def _read(line: Line, encoding: Encoding, said: Occurrences) -> Record | Bad | None:
    """The record; None for an empty line, and for an event in which nobody says anything."""
    place = f"line {line.number}"
    if line.raw is None:
        return Bad(place, "the line is too long")
    if not line.raw.strip():
        return None
    try:
        raw = line.raw if encoding == "utf-8" else line.raw.decode(encoding)
        value = json.loads(raw, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        kind = "not UTF-8" if encoding == "utf-8" else "not GB 18030, as the lines before"
        return Bad(place, f"{kind}; save the file as UTF-8")
    except RecursionError:
        return Bad(place, "nested too deep")
    except ValueError as exc:
        return Bad(place, f"not valid JSON: {exc}")
    if not isinstance(value, dict):
        return Bad(place, "must be a JSON object")
    try:
        return turn_of(value, place) if is_event(value) else _record(value, place, said)
    except RecursionError:
        return Bad(place, "nested too deep")


def _record(value: dict[str, Any], place: str, said: Occurrences) -> Record | Bad:
    value = {key: one for key, one in value.items() if one is not None}
    named: dict[str, Any] = {}
    if "external_id" not in value and "id" not in value:
        named["external_id"] = said.external_id("line", json.dumps(value, sort_keys=True))
    try:
        turn, rest = read_message({key: one for key, one in value.items() if key not in CALL})
        refused = ""
    except Misspelt as exc:
        turn, rest, refused = {}, {}, f"{exc.key}: {exc}"
    if ONLY_TEXT & value.keys() or ("content" in value and not refused and turn.keys().isdisjoint(SAID_BY)):
        text = {SAME.get(key, key) if SAME.get(key) not in value else key: one for key, one in value.items()}
        if unknown := sorted(text.keys() - TEXT_KEYS):
            return Bad(place, f"unknown {json.dumps(unknown[0])}; known: {', '.join(sorted(TEXT_KEYS))}")
        return Record("text", {**named, **text}, place) if "text" in text else Bad(place, "there is no `text`")
    if unknown := sorted(key for key in rest if _plain(key) in map(_plain, CALL)):
        refused = f"unknown {json.dumps(unknown[0])}; known: {', '.join(CALL)}"
    if refused or "text" not in turn:
        return Bad(place, refused or "there is no `text`")
    if rest:
        turn["metadata"] = {**rest, **turn.get("metadata", {})}
    return Record("turn", {**named, **turn, **{key: value[key] for key in CALL if key in value}}, place)


def _plain(key: str) -> str:
    return "".join(char for char in key.lower() if char.isalnum())


def _encoding_of(path: Path) -> Encoding:
    """GB 18030 only where no line of the sample is UTF-8: a broken byte must not make other words of all the others."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    whole = sample if len(sample) < SAMPLE else sample[: sample.rfind(b"\n") + 1]
    telling = [line for line in whole.split(b"\n") if not line.isascii()]
    if any(_is(line, "utf-8") for line in telling) or not any(_is(line, "gb2312") for line in telling):
        return "utf-8"
    return "gb18030" if all(_is(line, "gb18030") for line in telling) else "utf-8"


def _is(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
