"""How far the messages of each chat are covered by summaries, and how far they are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from ..store.queries import array
from ..store.records import ChatKey

__all__ = ["SaidInChat", "Waiting"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A chat whose messages after paragraph `upto`, up to `wanted`, are to be summarised."""

    row: int
    chat: ChatKey
    upto: int
    wanted: int
    attempts: int


@dataclass(frozen=True, slots=True)
class SaidInChat:
    """A paragraph of a message; `message` is the same for all paragraphs of one."""

    id: int
    message: int
    content: str
    at: float | None


def source_of(chat_id: str) -> str:
    """The source that a chat's summaries are stored under."""
    return f"chat_summary:{chat_id}"


def want(db: Connection, chat: int, now: float) -> bool | None:
    """Want every message held of a chat summarised; whether one waits, None if the chat holds no message."""
    row = db.run("summary_last_message", chat=chat).fetchone()
    if row is None:
        return None
    return bool(db.run("summary_want", chat=chat, wanted=row[0], now=now).fetchone()[0])


def keep(db: Connection, chat: int, now: float) -> None:
    """Let the messages that wait stand for themselves."""
    db.run("summary_keep", chat=chat, now=now)


def next_due(db: Connection, now: float, busy: Iterable[int] = ()) -> Waiting | None:
    """The chat whose turn it is, but for those that are busy."""
    row = db.run("summary_next", now=now, busy=array(busy)).fetchone()
    return None if row is None else Waiting(row[0], ChatKey(*row[1:4]), *row[4:])


def messages(db: Connection, waiting: Waiting, now: float, limit: int) -> list[SaidInChat]:
    """What waits, the oldest first."""
    values = {"chat": waiting.row, "upto": waiting.upto, "wanted": waiting.wanted, "now": now, "limit": limit}
    return [SaidInChat(*row) for row in db.run("summary_messages", **values)]


def recent(db: Connection, chat: int, limit: int) -> list[str]:
    """The chat's newest summaries, the oldest of them first."""
    rows = db.run("summary_recent", chat=chat, limit=limit).fetchall()
    return [content for (content,) in reversed(rows)]


def still_there(db: Connection, ids: Sequence[int]) -> bool:
    """Whether none of these paragraphs was deleted or revised."""
    return db.run("summary_still_there", ids=array(ids)).fetchone()[0] == len(ids)


def advance(db: Connection, waiting: Waiting, upto: int, now: float) -> bool:
    """Move the cursor; False if it is no longer where it was."""
    return db.run("summary_advance", chat=waiting.row, was=waiting.upto, upto=upto, now=now).fetchone() is not None


def postpone(db: Connection, waiting: Waiting, *, attempts: int, due_at: float, now: float) -> None:
    """Try again at `due_at`."""
    values = {"chat": waiting.row, "was": waiting.upto, "attempts": attempts, "due_at": due_at, "now": now}
    db.run("summary_postpone", **values)


def waiting_count(db: Connection) -> int:
    """Chats with messages that wait."""
    return db.run("summary_waiting_count").fetchone()[0]
