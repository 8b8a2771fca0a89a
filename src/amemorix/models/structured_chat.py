"""A chat model made of anything that carries on a conversation: answers are read, checked and once asked to be repaired."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ChatUnavailable
from ..language.encoding import encodable
from ..ports import ChatInfo
from .chat_answers import Misfit, read_object, shape_in_words

__all__ = ["ChatMessage", "Said", "StructuredChat", "Talker", "Tally", "tokens_about"]

ChatMessage = dict[str, str]
"""`role` (`system`, `user`, `assistant`) and `content`."""
_BYTES_PER_TOKEN = 4
"""About a token: four Latin letters, or one Chinese character and a third."""


@dataclass(frozen=True, slots=True)
class Said:
    """One reply, as a text or as an object, with the tokens that it cost if the model said so."""

    content: str | Mapping[str, Any]
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(slots=True)
class Tally:
    """Tokens used so far."""

    prompt: int = 0
    completion: int = 0

    def add(self, messages: Sequence[ChatMessage], said: Said) -> None:
        """Count a reply; what the model did not count is estimated."""
        asked = sum(tokens_about(message["content"]) for message in messages)
        self.prompt += asked if said.prompt_tokens is None else said.prompt_tokens
        answered = tokens_about(said.content if isinstance(said.content, str) else str(said.content))
        self.completion += answered if said.completion_tokens is None else said.completion_tokens


class Talker(Protocol):
    """Carries on a conversation."""

    @property
    def info(self) -> ChatInfo: ...

    async def say(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> Said:
        """The next reply, which should fit the schema but need not. Raises ChatUnavailable."""
        ...

    async def close(self) -> None: ...


class StructuredChat:
    """A `ChatModel` over a talker."""

    def __init__(self, talker: Talker) -> None:
        self._talker = talker

    @property
    def info(self) -> ChatInfo:
        return self._talker.info

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object that is valid against the schema. Raises ChatUnavailable."""
        return await self.counted(task, system, user, schema=schema, tally=Tally())

    async def counted(
        self, task: str, system: str, user: str, *, schema: Mapping[str, Any], tally: Tally
    ) -> dict[str, Any]:
        """The same; `tally` grows by every reply, also when none of them fits."""
        messages = [_message("system", system), _message("user", user)]
        said = await self._said(task, messages, schema, tally)
        try:
            return read_object(said.content, schema)
        except Misfit as misfit:
            answered = said.content if isinstance(said.content, str) else str(dict(said.content))
            problem = f"That does not fit: {misfit.problem}. {shape_in_words(schema)}"
            messages += [_message("assistant", answered), _message("user", problem)]
        said = await self._said(task, messages, schema, tally)
        try:
            return read_object(said.content, schema)
        except Misfit as misfit:
            raise ChatUnavailable(f"The chat model's answer for {task} does not fit: {misfit}.", misfit=True) from None

    async def close(self) -> None:
        await self._talker.close()

    async def _said(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any], tally: Tally) -> Said:
        said = await self._talker.say(task, messages, schema)
        tally.add(messages, said)
        return said


def tokens_about(text: str) -> int:
    """An estimate of the tokens of a text."""
    return len(text.encode(errors="replace")) // _BYTES_PER_TOKEN + 1


def _message(role: str, content: str) -> ChatMessage:
    return {"role": role, "content": encodable(content)}
