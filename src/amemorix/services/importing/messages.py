"""Conversations in JSON as programs for language models keep them: messages with a role and a content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .foreign_values import digest, metadata, name, text_of
from .json_members import Member, members, records
from .occurrences import Occurrences
from .records import Bad, Record

__all__ = ["Conversation"]

EXPECTED = 'a conversation: {"messages": [{"role", "content"}]}, or a list of such messages'
LISTS = ("", "messages", "data", "data.messages")
SPEAKERS = ("name", "speaker", "sender", "role")
TEXTS = ("content", "text")
TIMES = ("time", "timestamp", "created_at", "create_time", "date")
IDS = ("external_id", "id", "message_id")
NOT_METADATA = frozenset({*SPEAKERS, *TEXTS, *TIMES, *IDS, "person_id"})
_LABELS = {
    "image_url": "图片",
    "image": "图片",
    "input_image": "图片",
    "input_audio": "语音",
    "audio": "语音",
    "file": "文件",
}


class Conversation:
    """Messages with `role` or `speaker` and `content` or `text`; of one without a text, as a call of a tool is, nothing is kept.

    `reference_time` is the time of messages that have none.
    """

    def __init__(self, *, reference_time: Any = None) -> None:
        self._reference = reference_time
        self.share = 0.0
        """Of the file that has been read."""

    def read(self, path: Path, start: int) -> Iterator[tuple[int, Record | Bad]]:
        """See `Reader.read`; positions are ordinals."""
        said = Occurrences()

        def make(member: Member) -> Record | Bad | None:
            return self._turn(member, said)

        return records(members(path, LISTS, EXPECTED, self._told), start, make)

    def _told(self, share: float) -> None:
        self.share = share

    def _turn(self, member: Member, said: Occurrences) -> Record | Bad | None:
        item = {key: value for key, value in member.value.items() if value is not None}
        if not (item.keys() & {*SPEAKERS, "person_id"} and item.keys() & {*TEXTS, "tool_calls"}):
            return Bad(member.place, "is no message: there is no `role` or `speaker` with a `content` or `text`")
        text = next((found for key in TEXTS if (found := _written(item.get(key)))), "")
        if not text:
            return None
        speaker = next((found for key in SPEAKERS if (found := name(item.get(key)))), "")
        person, time = name(item.get("person_id")), next((item[key] for key in TIMES if item.get(key)), None)
        key = digest(
            text, speaker, str(time or ""), *(name(item.get(one)) for one in IDS)
        )  # ids may begin anew elsewhere
        kept = metadata({key: value for key, value in item.items() if key not in NOT_METADATA})
        arguments = {
            "external_id": f"said:{key}:{said.count(key)}",
            "text": text,
            "speaker": speaker,
            "person_id": person,
            "time": self._reference if time is None else time,
            "metadata": kept,
        }
        return Record(
            "turn", {key: value for key, value in arguments.items() if value not in ("", None, {})}, member.place
        )


def _written(content: Any) -> str:
    """A text, or the parts of one, with a word for each part that is something else."""
    if isinstance(content, list):
        return "\n".join(part for one in content if (part := _part(one)))
    return text_of(content)


def _part(one: Any) -> str:
    if not isinstance(one, dict):
        return text_of(one)
    label = _LABELS.get(name(one.get("type")), "")
    return text_of(one.get("text")) or (f"[{label}]" if label else "")
