"""Conversations in JSON as programs for language models keep them: messages with a role and a content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...ingest.messages import Misspelt, read_message
from ..duplicates import Occurrences
from ..records import Bad, Record
from .foreign_values import digest, metadata, name, text_of
from .json_members import Member, members, records

__all__ = ["Conversation"]

EXPECTED = 'a conversation: {"messages": [{"role", "content"}]}, or a list of such messages'
LISTS = ("", "messages", "data", "data.messages")
IDS = ("external_id", "id", "message_id")


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
        try:
            turn, rest = read_message(member.value)
        except Misspelt as exc:
            return Bad(member.place, f"{exc.key}: {exc}")
        if "text" not in turn or turn.keys().isdisjoint(("speaker", "person_id")):
            return Bad(member.place, "is no message: there is no `role` or `speaker` with a `content` or `text`")
        text = text_of(turn["text"])
        if not text:
            return None
        speaker, person, time = name(turn.get("speaker")), name(turn.get("person_id")), turn.get("time")
        key = digest(
            text, speaker, str(time or ""), *(name(member.value.get(one)) for one in IDS)
        )  # ids may begin anew elsewhere
        arguments = {
            "external_id": f"said:{key}:{said.count(key)}",
            "text": text,
            "speaker": speaker,
            "person_id": person,
            "aliases": [name(one) for one in turn.get("aliases", ())],
            "time": self._reference if time is None else time,
            "metadata": metadata({**rest, **given} if isinstance(given := turn.get("metadata", {}), dict) else rest),
        }
        return Record(
            "turn", {key: value for key, value in arguments.items() if value not in ("", None, {}, [])}, member.place
        )
