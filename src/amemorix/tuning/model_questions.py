"""Questions that the chat model thinks of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ..errors import ChatUnavailable
from ..ports import ChatModel
from .material import Line
from .query_set import Draft
from .questions import copies

__all__ = ["asked_by_model"]

log = logging.getLogger(__name__)
BATCH = 10
"""Lines shown at once."""
LONGEST = 400
"""Characters shown of each."""
SYSTEM = (
    "You are given numbered lines of a chat, each with who said it. For each line that holds something worth remembering "
    "write one short question, in the language of the line, that somebody might ask weeks later and that this line "
    "answers. Name the person where it is about one. Use other words than the line does, and do not give the answer "
    "away. Leave out lines that hold nothing worth asking for."
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"line": {"type": "integer"}, "question": {"type": "string"}},
                "required": ["line", "question"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


async def asked_by_model(chat: ChatModel, lines: Sequence[Line]) -> list[Draft]:
    """A question for each line that is worth one, none worded like it; what there is if the model falls silent."""
    found: dict[int, Draft] = {}
    for start in range(0, len(lines), BATCH):
        some = lines[start : start + BATCH]
        shown = "\n".join(f"{i}. {one.speaker or '-'}: {one.content[:LONGEST]}" for i, one in enumerate(some, 1))
        try:
            answer = await chat.answer("tuning", SYSTEM, shown, schema=SCHEMA)
        except ChatUnavailable as exc:
            log.info("no more questions from the chat model: %s", exc)
            break
        for entry in answer["questions"]:
            text = str(entry["question"]).strip()
            if 1 <= entry["line"] <= len(some) and text and not copies(text, some[entry["line"] - 1].content):
                line = some[entry["line"] - 1]
                found.setdefault(line.id, Draft("asked", line.chat_id, text, (line.id,), frozenset({line.session})))
    return list(found.values())
