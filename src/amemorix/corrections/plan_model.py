"""Which lines a correction changes, and how they read then, as the chat model says it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ..errors import ChatUnavailable
from ..language.normalise import tokens
from ..ports import ChatModel
from .matcher import ELSE, Found, Judged

__all__ = ["planned_by_model"]

CHAT_SYSTEM = (
    "Somebody corrects what a memory holds. You get the correction and numbered lines of the memory. Name each line that the "
    "correction makes wrong, and write how the whole line reads then: in its own language and voice, with everything else "
    "that it says; empty if it should only be forgotten. Use words of the line and of the correction alone. Where it is not "
    "clear which line is meant, or none is, give no changes."
)
CHAT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "changes": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"line": {"type": "integer", "minimum": 1}, "becomes": {"type": "string"}},
                "required": ["line", "becomes"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["changes"],
    "additionalProperties": False,
}


async def planned_by_model(text: str, found: Found, chat: ChatModel, *, most: int, timeout: float) -> Found | None:
    """The plan that the model gives for the nearest lines; None where it gives none, or one that names or says what is
    neither in the lines nor in the correction."""
    lines = [one for one in found.judged if one.why != ELSE][:most]
    shown = "\n".join(f"{i}. {one.target.content}" for i, one in enumerate(lines, 1))
    try:
        async with asyncio.timeout(timeout):
            answer = await chat.answer(
                "correction", CHAT_SYSTEM, f"Correction: {text}\n\nLines:\n{shown}", schema=CHAT_SCHEMA
            )
    except (ChatUnavailable, TimeoutError):
        return None
    chosen: dict[int, Judged] = {}
    for change in answer["changes"]:
        number, becomes = int(change["line"]), " ".join(str(change["becomes"]).split())
        if not 1 <= number <= len(lines):
            return None
        one = lines[number - 1]
        if becomes == one.target.content or not set(tokens(becomes)) <= {*tokens(one.target.content), *tokens(text)}:
            return None
        chosen[one.target.id] = replace(one, wrong=one.target.content, right=becomes, becomes=becomes, why="")
    if not chosen:
        return None
    judged = (chosen.get(one.target.id) or replace(one, why=one.why or "says something else") for one in found.judged)
    return replace(found, judged=tuple(judged), asks=False, by_meaning=False)
