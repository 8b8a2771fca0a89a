"""A chat log of a platform of its own, turned into messages."""

from collections.abc import Iterable
from typing import assert_type

from amemorix import Memory
from amemorix.operation_types import Message, MessagesResult


def messages(rows: Iterable[tuple[str, str, float]]) -> list[Message]:
    return [{"speaker": speaker, "text": text, "time": time} for speaker, text, time in rows]


def store(memory: Memory, rows: Iterable[tuple[str, str, float]]) -> int:
    answer = memory.call("ingest_messages", chat_id="club", messages=messages(rows), expires_at="明天")
    assert_type(answer, MessagesResult)
    assert_type(answer["results"][0]["status"], str)
    memory.call("ingest_messages", chat_id="club", message=messages(rows))  # error
    memory.call("ingest_messages", chat_id="club", messages=[{"role": "user", "content": "as a chat model has it"}])
    wrong: Message = {"speakr": "ann", "text": "hello"}  # error
    print(wrong)
    return len(answer["stored_ids"])
