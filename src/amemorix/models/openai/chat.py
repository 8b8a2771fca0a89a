"""The client of an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from ...clock import Clock, SystemClock
from ...config.model import Chat
from ...errors import ChatUnavailable
from ...ports import ChatInfo
from ..chat_answers import shape_in_words
from ..structured_chat import ChatMessage, Said
from .endpoint import LONGEST_PAUSE, PASSING, backoff, bearer, endpoint_url, on_one_line, retry_after

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


class _Refused(Exception):
    """The endpoint will not take this request."""


class OpenAITalker:
    """Talks with `POST {base_url}/chat/completions`.

    The shape of the answer goes into `response_format` as a JSON Schema. An endpoint that refuses that is asked for any
    JSON object from then on, with the shape in the words of the question. A request that was not answered in full after
    `timeout_seconds`, or meets another passing fault, is tried up to `max_attempts` times. No message holds the key.
    """

    def __init__(
        self,
        settings: Chat,
        *,
        api_key: str = "",
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._url = endpoint_url(settings.base_url, "/chat/completions", section="chat", fault=ChatUnavailable)
        self._key = api_key
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._client = httpx.AsyncClient(
            headers=bearer(api_key, who="chat endpoint", fault=ChatUnavailable), timeout=None
        )
        self._knows_schemas = True

    @property
    def info(self) -> ChatInfo:
        return ChatInfo("openai", self._settings.model_name)

    async def say(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> Said:
        """The next reply. Raises ChatUnavailable."""
        try:
            if not self._knows_schemas:
                return await self._ask(self._in_words(messages, schema))
            try:
                return await self._ask(self._in_schema(task, messages, schema))
            except _Refused:
                said = await self._ask(self._in_words(messages, schema))
                self._knows_schemas = False
                return said
        except _Refused as exc:
            raise ChatUnavailable(f"{self._who} {exc}.") from exc

    async def close(self) -> None:
        await self._client.aclose()

    def _in_schema(self, task: str, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> dict[str, Any]:
        named = {"name": re.sub(r"[^\w-]", "_", task, flags=re.A)[:64] or "answer", "schema": schema}
        return self._body(messages, {"type": "json_schema", "json_schema": named})

    def _in_words(self, messages: Sequence[ChatMessage], schema: Mapping[str, Any]) -> dict[str, Any]:
        first, *rest = messages
        first = {**first, "content": f"{first['content']}\n\n{shape_in_words(schema)}"}
        return self._body([first, *rest], {"type": "json_object"})

    def _body(self, messages: Sequence[ChatMessage], response_format: Mapping[str, Any]) -> dict[str, Any]:
        most = self._settings.max_output_tokens
        return {
            "model": self._settings.model_name,
            "messages": list(messages),
            "temperature": self._settings.temperature,
            "response_format": response_format,
            **({"max_tokens": most} if most else {}),
        }

    async def _ask(self, body: Mapping[str, Any]) -> Said:
        """The first good answer; _Refused, or ChatUnavailable after the last try."""
        attempt = 1
        while True:
            said, problem, pause = await self._try(body)
            if said is not None:
                return said
            if attempt >= self._settings.max_attempts or (pause or 0) > LONGEST_PAUSE:
                raise ChatUnavailable(f"{self._who} {problem}.", retry_after=pause)
            await self._sleep(backoff(attempt) if pause is None else pause)
            attempt += 1

    async def _try(self, body: Mapping[str, Any]) -> tuple[Said | None, str, float | None]:
        """A reply; or what went wrong, with the pause that the endpoint asks for."""
        try:
            answer, content = await self._exchange(body)
        except (TimeoutError, httpx.TimeoutException):
            return None, "did not answer in time", None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as exc:
            return None, f"cannot be reached ({self._clean(str(exc))})", None
        except (httpx.HTTPError, RuntimeError) as exc:  # httpx raises RuntimeError when the client is closed
            raise ChatUnavailable(f"{self._who} cannot be asked: {self._clean(str(exc))}.") from exc
        if 200 <= answer.status_code < 300:
            return self._read(content), "", None
        said = f"answered HTTP {answer.status_code}: {self._clean(content.decode(errors='replace'))[:200]}"
        if answer.status_code in _REFUSED:
            raise _Refused(said)
        if answer.status_code not in PASSING:
            raise ChatUnavailable(f"{self._who} {said}.", status=answer.status_code)
        return None, said, retry_after(answer.headers, self._clock.now())

    async def _exchange(self, body: Mapping[str, Any]) -> tuple[httpx.Response, bytes]:
        seconds = self._settings.timeout_seconds
        async with asyncio.timeout(seconds), self._client.stream("POST", self._url, json=body) as answer:
            content = bytearray()
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > _LARGEST_ANSWER:
                    raise ChatUnavailable(f"{self._who} answered with more than {_LARGEST_ANSWER} bytes.")
            return answer, bytes(content)

    def _read(self, content: bytes) -> Said:
        try:
            answer = _Answer.model_validate_json(content)
        except ValidationError as exc:
            raise ChatUnavailable(f"{self._who} answered something else than a chat reply.") from exc
        usage = answer.usage or _Usage()
        return Said(answer.choices[0].message.content or "", usage.prompt_tokens, usage.completion_tokens)

    @property
    def _who(self) -> str:
        return f"The chat endpoint {self._url.host}"

    def _clean(self, text: str) -> str:
        return on_one_line(text, self._key)
