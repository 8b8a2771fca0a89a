"""The formats that files may have, and how each is told by its name and content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import ijson

from ...errors import InvalidRequest
from ...lazy_regex import lazy_regex
from ..records import Reader
from .chat_exports import export_of
from .chat_json import is_event
from .json_documents import TooDeep, events

__all__ = ["FORMATS", "SUFFIXES", "detect", "reader_for"]

PEEK_EVENTS = 200
PEEK_LINE = 1 << 20
_JSON_START = lazy_regex(rb"\s*[\[{]")


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its reader as a dotted path, and what a person should know of it."""

    reader: str
    what: str
    fields: str
    example: str
    by_bytes: bool = False
    """Positions are byte offsets."""
    folder: bool = False
    """It is a folder, not a file."""
    live: bool = False
    """It may be written to while it is read, and has files beside it that belong to it."""
    options: tuple[str, ...] = ()
    """What its reader takes of the parameters of a task, and `zone`: that of times which name none."""


FORMATS: dict[str, Format] = {
    "txt": Format(
        "amemorix.importing.readers.documents:PlainText",
        "A text, stored in sections that end at blank lines. 纯文本，按空行分段。",
        "UTF-8 or GB 18030",
        "The tea house opens at nine.\n\n茶馆九点开门。",
        by_bytes=True,
    ),
    "md": Format(
        "amemorix.importing.readers.documents:Markdown",
        "Markdown, stored heading by heading. Markdown，按标题切分。",
        "UTF-8 or GB 18030; the headings become metadata",
        "# Kitchen\n\nThe oven runs hot.\n\n## 茶\n\n绿茶用八十度的水。",
        by_bytes=True,
    ),
    "chat_log": Format(
        "amemorix.importing.readers.chat_log:ChatLog",
        "A saved chat: `name: text` lines, with or without a time. 聊天记录。",
        "a time, a name, a colon and the text; or a line with time and name and the text below it; as QQ, WeChat, WhatsApp and "
        "DiscordChatExporter write them",
        "2025-03-01 09:30 周宁: 我把伞放在值班柜里。\nHannah: Thanks!",
        by_bytes=True,
        options=("reference_time",),
    ),
    "jsonl": Format(
        "amemorix.importing.readers.json_lines:JsonLines",
        "A JSON object a line: chat turns, texts as `ingest_text` takes them, or events as bots of OneBot log them. "
        "每行一个 JSON 对象，也认 OneBot 事件日志。",
        "turn: text, speaker, person_id, time, external_id, chat_id, tags, metadata; text: text or content, source_type, "
        "source, timestamp, entities, relations, knowledge_type, …; event: raw_message or message, sender, group_id, time",
        '{"speaker": "周宁", "text": "我把伞放在值班柜里。", "time": "2025-03-01T09:30:00+08:00", "chat_id": "c"}',
        by_bytes=True,
    ),
    "csv": Format(
        "amemorix.importing.readers.csv_table:CsvTable",
        "A table with a heading, separated by comma, tab, semicolon or bar. 带表头的表格。",
        "text (内容), speaker (发言人), time (时间), external_id (编号), chat_id (会话), …; `columns` maps other headings; "
        "the rest is kept as metadata",
        "speaker,text,time\nHannah,I am allergic to peanuts.,2025-03-02 09:00",
        by_bytes=True,
        options=("columns",),
    ),
    "json": Format(
        "amemorix.importing.readers.json_payload:JsonPayload",
        "Paragraphs with their entities and relations. 段落、实体与关系。",
        "paragraphs: content, source, entities, relations, event_time, knowledge_type; entities: names or objects; "
        "relations: subject, predicate, object",
        '{"paragraphs": [{"content": "Ada lives in Porto.", "entities": ["Ada"], '
        '"relations": [{"subject": "Ada", "predicate": "lives in", "object": "Porto"}]}]}',
    ),
    "messages": Format(
        "amemorix.importing.readers.chat_json:Conversation",
        "A conversation with a language model, or any messages in JSON that say who speaks. 带 role 的对话 JSON。",
        "messages, data or a list: role, speaker, sender or name; content or text (a text, or parts with a text); time, id",
        '{"messages": [{"role": "user", "content": "I like jazz"}, {"role": "assistant", "content": "Noted."}]}',
        options=("reference_time",),
    ),
    "lpmm_openie": Format(
        "amemorix.importing.readers.lpmm:LpmmOpenie",
        "The OpenIE files of LPMM. LPMM 的 OpenIE 文件。",
        "docs: passage, extracted_entities, extracted_triples, idx",
        '{"docs": [{"idx": "1", "passage": "小雨养了一只猫。", "extracted_entities": ["小雨"], '
        '"extracted_triples": [["小雨", "养", "猫"]]}]}',
    ),
    "lpmm_parquet": Format(
        "amemorix.importing.readers.lpmm:LpmmParquet",
        "The store of LPMM, without its vectors; wants the extra `amemorix[lpmm]`. LPMM 的知识库目录。",
        "a folder with embedding/paragraph.parquet, entity.parquet, relation.parquet and rag/rag-graph.graphml",
        "data/embedding",
        folder=True,
    ),
    "mem0": Format(
        "amemorix.importing.readers.mem0:Mem0Export",
        "The answer of mem0's `get_all`. mem0 的导出。",
        "results: id, memory, user_id, agent_id, run_id, created_at, metadata, categories; relations: source, "
        "relationship, target",
        '{"results": [{"id": "m1", "memory": "Likes oolong tea", "user_id": "ada", "created_at": "2025-03-01T09:00:00Z"}]}',
        options=("chat_id", "zone"),
    ),
    "discord": Format(
        "amemorix.importing.readers.chat_json:DiscordExport",
        "A chat of Discord as DiscordChatExporter writes it in JSON; its CSV and its text are read as `csv` and `chat_log`. "
        "DiscordChatExporter 的导出。",
        "messages: id, type, timestamp, content, author (id, name, nickname)",
        '{"guild": {"id": "1", "name": "Devs"}, "channel": {"id": "2", "name": "general"}, "messages": [{"id": "3", '
        '"type": "Default", "timestamp": "2026-02-03T10:00:00+00:00", "content": "I adopted a dog.", '
        '"author": {"id": "91", "name": "mia"}}]}',
        options=("chat_id",),
    ),
    "wechat": Format(
        "amemorix.importing.readers.chat_json:PyWxDump",
        "Messages of WeChat as PyWxDump writes them in JSON (`0_499.json`). PyWxDump 导出的微信聊天记录。",
        "a list: MsgSvrID, type_name, talker, room_name, msg, CreateTime",
        '[{"MsgSvrID": "7", "type_name": "文本", "is_sender": 0, "talker": "wxid_a", "room_name": "5@chatroom", '
        '"msg": "我对花生过敏", "CreateTime": "2024-05-01 12:33:21"}]',
        options=("chat_id",),
    ),
    "onebot": Format(
        "amemorix.importing.readers.chat_json:OneBotExport",
        "Messages of QQ as OneBot, go-cqhttp or NapCat keep them in a JSON document; logs with one a line are `jsonl`. "
        "OneBot、NapCat 的 QQ 消息。",
        "messages, data.messages or a list: message_id, time, message_type, group_id, sender (user_id, nickname, card), "
        "raw_message or message",
        '{"messages": [{"message_id": 7, "time": 1772366400, "message_type": "group", "group_id": 42, "sender": '
        '{"user_id": 10001, "nickname": "林澈"}, "raw_message": "明天去爬山[CQ:face,id=14]"}]}',
    ),
    "telegram": Format(
        "amemorix.importing.readers.chat_json:TelegramExport",
        "The `result.json` of Telegram Desktop, of one chat or of all. Telegram 桌面版的导出。",
        "messages: id, type, date, from, from_id, text",
        '{"name": "Hiking", "type": "private_group", "id": 42, "messages": [{"id": 1, "type": "message", '
        '"date": "2026-02-03T10:00:00", "from": "Mia", "from_id": "user91", "text": "I adopted a dog."}]}',
        options=("chat_id",),
    ),
    "graphiti": Format(
        "amemorix.importing.readers.graphiti:GraphitiExport",
        "Nodes and edges of Graphiti. Graphiti 的节点与边。",
        "nodes: uuid, name, content or summary, labels, group_id; edges: uuid, source_node_uuid, target_node_uuid, name, "
        "fact, valid_at, invalid_at, episodes",
        '{"nodes": [{"uuid": "a", "name": "Ada", "labels": ["Entity"]}, {"uuid": "b", "name": "Porto"}], "edges": '
        '[{"uuid": "e", "source_node_uuid": "a", "target_node_uuid": "b", "name": "LIVES_IN", "fact": "Ada lives in Porto"}]}',
        options=("chat_id", "zone"),
    ),
    "a_memorix": Format(
        "amemorix.importing.readers.amemorix_directory:AMemorixDirectory",
        "A data directory of A-Memorix as it comes with MaiBot, of any version. MaiBot 自带的 A-Memorix 数据目录。",
        "the directory, its folder `metadata`, or the file `metadata.db`",
        "data/a-memorix",
        folder=True,
        live=True,
        options=("chat_id", "zone"),
    ),
    "maibot": Format(
        "amemorix.importing.readers.maibot:MaiBotDatabase",
        "The chats in a database of MaiBot. MaiBot 数据库中的聊天记录。",
        "MaiBot.db with the table `messages`, or `mai_messages`; filters: time_from, time_to, stream_ids, group_ids, "
        "user_ids, start_id, end_id",
        "data/MaiBot.db",
        live=True,
        options=("time_from", "time_to", "stream_ids", "group_ids", "user_ids", "start_id", "end_id", "zone"),
    ),
}
"""Format name -> how it is read."""
SUFFIXES = {
    ".txt": "txt", ".text": "txt", ".log": "txt", ".md": "md", ".markdown": "md", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".csv": "csv", ".tsv": "csv",
}  # fmt: skip


def reader_for(name: str, options: Mapping[str, Any]) -> Reader:
    """The reader of a format, made with those of the options that it takes. Raises InvalidRequest."""
    known = FORMATS[name]
    module, _, attribute = known.reader.partition(":")
    given = {key: options[key] for key in known.options if options.get(key) is not None}
    return getattr(import_module(module), attribute)(**given)


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
            found = "a_memorix" if path.name == "metadata.db" else "maibot"
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
