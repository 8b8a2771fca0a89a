"""The client of an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from ...clock import Clock
from ...config.model import Chat
from ...errors import ChatUnavailable
from ...ports import ChatInfo
from ..chat_answers import shape_in_words
from ..structured_chat import ChatMessage, Said
from .client import OpenAIClient, Refused, TooLarge

__all__ = ["OpenAITalker"]

_REFUSED = frozenset({400, 404, 415, 422, 501})
"""Answers of an endpoint that does not know a parameter."""
_LARGEST_ANSWER = 4 * 2**20
"""Bytes."""


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)


class _Answer(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class OpenAITalker:
    """Talks with `POST {base_url}/chat/completions`.

    The shape of the answer goes into `response_format` as a JSON Schema. An endpoint that refuses that is asked for any
    JSON object from then on, with the shape in the words of the question.
    """

    def __init__(
        self,
        settings: Chat,
        *,
        api_key: str = "",
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._settings = settings
        self._client = OpenAIClient(
            "chat", settings.base_url, "/chat/completions", key=api_key, fault=ChatUnavailable, details={}, refused=_REFUSED,
            timeout=settings.timeout_seconds, max_attempts=settings.max_attempts, max_bytes=_LARGEST_ANSWER, clock=clock,
            sleep=sleep,
        )  # fmt: skip
        self._knows_schemas = True

    @property
    def info(self) -> ChatInfo:
        return ChatInfo("openai", self._settings.model_name)

    async def say(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> Said:
        """The next reply. Raises ChatUnavailable."""
        try:
            if self._knows_schemas:
                name = re.sub(r"[^\w-]", "_", task, flags=re.A)[:64] or "answer"
                try:
                    shape = {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}
                    return await self._ask(messages, shape)
                except TooLarge:
                    raise
                except Refused:
                    pass
            first, *rest = messages
            first = {**first, "content": f"{first['content']}\n\n{shape_in_words(schema)}"}
            said = await self._ask([first, *rest], {"type": "json_object"})
            self._knows_schemas = False
            return said
        except Refused as exc:
            raise self._client.failed(str(exc)) from exc

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, messages: Sequence[ChatMessage], response_format: Mapping[str, Any]) -> Said:
        body: dict[str, Any] = {
            "model": self._settings.model_name,
            "messages": list(messages),
            "temperature": self._settings.temperature,
            "response_format": response_format,
        }
        if self._settings.max_output_tokens:
            body["max_tokens"] = self._settings.max_output_tokens
        try:
            answer = _Answer.model_validate_json(await self._client.post(body))
        except ValidationError as exc:
            raise self._client.failed("answered something else than a chat reply") from exc
        usage = answer.usage or _Usage()
        return Said(answer.choices[0].message.content or "", usage.prompt_tokens, usage.completion_tokens)
