"""The formats that files may have, and how each is told by its name and content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ijson

from ...errors import InvalidRequest
from ...lazy_regex import lazy_regex
from ..records import Reader
from .amemorix_directory import AMemorixDirectory
from .chat_exports import export_of
from .chat_json import Conversation, DiscordExport, OneBotExport, PyWxDump, TelegramExport, is_event
from .chat_log import ChatLog
from .csv_table import CsvTable
from .documents import Markdown, PlainText
from .graphiti import GraphitiExport
from .json_documents import TooDeep, events
from .json_lines import JsonLines
from .json_payload import JsonPayload
from .lpmm import LpmmOpenie, LpmmParquet
from .maibot import MaiBotDatabase
from .mem0 import Mem0Export

__all__ = ["FORMATS", "SUFFIXES", "detect", "reader_for"]

PEEK_EVENTS = 200
PEEK_LINE = 1 << 20
_JSON_START = lazy_regex(rb"\s*[\[{]")


FORMATS: dict[str, type[Reader]] = {
    "txt": PlainText, "md": Markdown, "chat_log": ChatLog, "jsonl": JsonLines, "csv": CsvTable, "json": JsonPayload,
    "messages": Conversation, "lpmm_openie": LpmmOpenie, "lpmm_parquet": LpmmParquet, "mem0": Mem0Export,
    "discord": DiscordExport, "wechat": PyWxDump, "onebot": OneBotExport, "telegram": TelegramExport,
    "graphiti": GraphitiExport, "a_memorix": AMemorixDirectory, "maibot": MaiBotDatabase,
}  # fmt: skip
SUFFIXES = {
    ".txt": "txt", ".text": "txt", ".log": "txt", ".md": "md", ".markdown": "md", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "csv",
}  # fmt: skip


def reader_for(name: str, options: Mapping[str, Any]) -> Reader:
    """The reader of a format, made with those of the options that it takes. Raises InvalidRequest."""
    kind = FORMATS[name]
    taken = ("chat_id", "reference_time", "zone", *kind.takes)
    return kind(**{key: options[key] for key in taken if options.get(key) is not None})


def detect(name: str, path: Path) -> str:
    """The format of a file by its name, else by its content. Raises InvalidRequest if it is none that is known."""
    suffix = Path(name).suffix.lower()
    if path.is_dir():
        parquet = next(path.glob("*.parquet"), None) or next(path.glob("**/*.parquet"), None)
        found = "lpmm_parquet" if parquet else "a_memorix" if next(path.glob("**/metadata.db"), None) else None
    else:
        with path.open("rb") as file:
            head = file.read(4096)
        found = SUFFIXES.get(suffix)
        if not found and head.startswith(b"SQLite format 3\0"):
            found = "a_memorix" if "metadata.db" in (path.name, Path(name).name) else "maibot"
        elif not found and _JSON_START.match(head.removeprefix(b"\xef\xbb\xbf")):
            found = _kind_of_json(path)
        if found in ("txt", None):
            found = "jsonl" if _is_log_of_events(path) else "chat_log" if export_of(path) is not None else found
    if found is None or found not in FORMATS:
        raise InvalidRequest(
            f"format: what {name} is cannot be told; say which of {', '.join(FORMATS)} it is.",
            field="format", allowed=list(FORMATS),
        )  # fmt: skip
    return found


def _kind_of_json(path: Path) -> str | None:
    """By the keys that stand first."""
    keys: set[str] = set()
    try:
        with path.open("rb") as file:
            for number, (prefix, event, value) in enumerate(events(file)):
                if event == "map_key" and prefix in _PEEKED:
                    keys.add(f"{prefix}.{value}".lstrip("."))
                if event == "start_map" and prefix.rpartition(".")[0] in _PEEKED:
                    keys.add(f"{prefix}.*")
                if number > PEEK_EVENTS:
                    break
    except (ijson.IncompleteJSONError, TooDeep):
        pass
    except ijson.JSONError:
        return "jsonl" if b"\n" in path.open("rb").read(1 << 16) else None
    return next((kind for kind, fits in _KINDS if fits(keys)), "json")


_MESSAGES = ("messages.item", "data.messages.item", "data.item", "item")
_PEEKED = ("", "results.item", "data", *_MESSAGES)
_GRAPH = {"nodes", "edges", "episodes", "entity_nodes", "entity_edges", "episodic_nodes", "episodic_edges"}


def _of_messages(*names: str) -> frozenset[str]:
    return frozenset(f"{where}.{name}" for where in _MESSAGES for name in names)


_ONEBOT = _of_messages("raw_message", "post_type", "sender.*")
_TELEGRAM = {"chats", "personal_information", *_of_messages("from_id", "actor_id", "text_entities", "date_unixtime")}
_KINDS: tuple[tuple[str, Callable[[set[str]], Any]], ...] = (
    ("jsonl", lambda keys: keys & {"post_type", "raw_message"}),
    ("wechat", lambda keys: keys & _of_messages("MsgSvrID", "type_name")),
    ("onebot", lambda keys: keys & _ONEBOT),
    ("telegram", lambda keys: keys & _TELEGRAM),
    ("discord", lambda keys: keys & _of_messages("author.*") or {"guild", "channel"} <= keys),
    ("messages", lambda keys: "messages" in keys or keys & _of_messages("role", "speaker", "sender")),
    ("lpmm_openie", lambda keys: "docs" in keys),
    ("graphiti", lambda keys: keys & _GRAPH),
    ("mem0", lambda keys: keys & {"results", "memories"} or "item.memory" in keys),
)
"""What the keys show, the surest first."""


def _is_log_of_events(path: Path) -> bool:
    """Whether a text is a log of OneBot in truth: an event a line."""
    with path.open("rb") as file:
        line = file.readline(PEEK_LINE).removeprefix(b"\xef\xbb\xbf")
    try:
        value = json.loads(line) if line.lstrip().startswith(b"{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and is_event(value)
