"""What somebody says is wrong, read by rules or by the chat model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import ChatUnavailable, InvalidRequest
from ..ports import ChatModel
from .language.claim import Correction
from .language.rules import read_correction, read_denial
from .language.text import holds

__all__ = ["Authority", "Wish", "read_wish"]

Authority = Literal["direct_user", "manual"]
CHAT_SYSTEM = (
    "You read one sentence in which somebody corrects what a memory holds. Say which words are wrong, which are right "
    "instead (empty if the memory should only forget), whom it is about, and the remaining words of the sentence. "
    "Copy words from the sentence; make nothing up. If it is no correction, leave `wrong` empty."
)
CHAT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("wrong", "right", "subject", "about")},
    "required": ["wrong", "right", "subject", "about"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody says is wrong, and where; `reading` is how it was read."""

    text: str
    chat_id: str = ""
    person_id: str = ""
    """Whom it is about, where the words do not say."""
    speaker: str = ""
    """Who says it: 我 and "I" are this person, 他 and "she" are not."""
    requested_by: str = ""
    reason: str = ""
    authority: Authority = "direct_user"
    use_model: bool = False
    allow_global: bool = False
    among: tuple[int, ...] | None = None
    """It is about what these paragraphs say, or about facts that are held of the person."""
    held_at: float | None = None
    """When what it corrects was held true; now, if it does not say."""
    reading: Correction | None = None


async def read_wish(wish: Wish, chat: ChatModel | None, *, timeout: float) -> Correction:
    """What it corrects: the chat model is asked only where the wish says so, and rules read where it gives nothing.

    Raises InvalidRequest for what reads as no correction.
    """
    reading = wish.reading
    if reading is None and wish.use_model and chat is not None:
        reading = await _asked(wish.text, chat, timeout)
    reading = reading or read_correction(wish.text) or read_denial(wish.text)
    if reading is None:
        raise InvalidRequest(
            "text: cannot be read as a correction. Say what is wrong and what is right, such as "
            "“林澈不住在上海，他住在杭州”, “Mia doesn't work at Google any more, she works at Stripe”, "
            "or what to forget: “忘掉我喜欢咖啡”. To forget all that is known of a person, use memory_delete_admin with "
            "mode `person`.",
            field="text",
        )
    return reading


async def _asked(text: str, chat: ChatModel, timeout: float) -> Correction | None:
    """The chat model's reading; None where it gives none, or one that does not stand in the sentence."""
    try:
        async with asyncio.timeout(timeout):
            answer = await chat.answer("correction", CHAT_SYSTEM, text, schema=CHAT_SCHEMA)
    except (ChatUnavailable, TimeoutError):
        return None
    wrong, right, subject, about = (str(answer[name]).strip() for name in ("wrong", "right", "subject", "about"))
    if not holds(text, wrong) or (right and not holds(text, right)):
        return None
    return Correction("replace" if right else "remove", wrong, right, subject, about)
