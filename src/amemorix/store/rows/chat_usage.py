"""What the chat model was asked, by day (UTC) and task."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..ports import Connection

__all__ = ["ChatUsage"]


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """Counts of one task."""

    calls: int = 0
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def add(db: Connection, day: str, task: str, used: ChatUsage) -> None:
    """Count more of a task on a day."""
    db.run("chat_usage_add", day=day, task=task, **asdict(used))


def tokens(db: Connection, day: str) -> int:
    """Tokens used on a day, questions and answers together."""
    return db.run("chat_usage_tokens", day=day).fetchone()[0]


def by_task(db: Connection) -> dict[str, ChatUsage]:
    """Task -> what it came to on all days."""
    return {task: ChatUsage(*counts) for task, *counts in db.run("chat_usage_by_task")}
