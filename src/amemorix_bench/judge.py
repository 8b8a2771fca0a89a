"""A chat model as a judge of what a memory tells of a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amemorix.ports import ChatModel

__all__ = ["VERDICTS", "are_told", "verdicts"]

VERDICTS = ("useful", "unresolved", "empty")
"""What a statement of a profile may be to somebody who has seen nothing else."""
AT_ONCE = 20
_TOLD = """You check whether notes about a person hold what is known of them. You are given the notes and numbered \
sentences. Answer with the numbers of those sentences whose gist the notes tell, be it in other words. Leave out what \
the notes tell only in part or let one merely guess."""
_RATED = """You are given numbered notes about a person, each to be read by somebody who has not seen the talk that it \
is from. Answer for each, in their order, with one word: "useful" if it tells something in particular about the person \
and stands alone; "unresolved" if one would have to know what a word in it points to; "empty" if it says nothing in \
particular."""


async def are_told(chat: ChatModel, person: str, notes: Sequence[str], wanted: Sequence[str]) -> list[bool]:
    """Which of the sentences about a person the notes tell. Raises ChatUnavailable."""
    shape = _shape("told", {"type": "integer"})
    found: list[bool] = []
    for start in range(0, len(wanted), AT_ONCE):
        part = wanted[start : start + AT_ONCE]
        user = f"Notes about {person}:\n{_listed(notes)}\n\nSentences:\n{_listed(part)}"
        answer = await chat.answer("bench_told", _TOLD, user, schema=shape)
        found += [n in answer["told"] for n in range(1, len(part) + 1)]
    return found


async def verdicts(chat: ChatModel, person: str, notes: Sequence[str]) -> list[str]:
    """What each of the notes is, one of VERDICTS. Raises ChatUnavailable, also where there is not one for each."""
    found: list[str] = []
    for start in range(0, len(notes), AT_ONCE):
        part = notes[start : start + AT_ONCE]
        shape = _shape("verdicts", {"enum": list(VERDICTS)}, minItems=len(part), maxItems=len(part))
        user = f"Notes about {person}:\n{_listed(part)}"
        found += (await chat.answer("bench_verdicts", _RATED, user, schema=shape))["verdicts"]
    return found


def _shape(name: str, items: dict[str, Any], **bounds: int) -> dict[str, Any]:
    listed = {"type": "array", "items": items, **bounds}
    return {"type": "object", "properties": {name: listed}, "required": [name], "additionalProperties": False}


def _listed(texts: Sequence[str]) -> str:
    return "\n".join(f"{n}. {text}" for n, text in enumerate(texts, 1))
