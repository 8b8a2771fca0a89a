"""`/v1` of the daemon: an OpenAI-compatible endpoint asked in a bot's place, with what the memory knows before the turns."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote

import httpx
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...config.model import Proxy
from ...errors import Forbidden, InvalidRequest, MemoryFault, NotFound, NotReady
from ...host.service import AMemorixHostService
from ..python.calls import AsyncCalls, CallsOf
from ..transport import LocalMemory
from .auth import GRANT, JsonAnswer, bound_scope
from .json_response import body_of, read_object
from .metrics import Metrics

__all__ = ["ChatProxy"]

log = logging.getLogger(__name__)
USER, CHAT, TOLD = "x-amemorix-user", "x-amemorix-chat", "x-amemorix-context"
PASSED_ON = ("accept", "content-type", "openai-organization", "openai-project", "openai-beta", "idempotency-key")
PASSED_BACK = ("content-type", "retry-after", "x-request-id")
PASSED_BACK_OF = ("x-ratelimit-", "openai-")
LAST_TURNS = 12
"""Turns that the memory is asked with."""
REPEAT_SECONDS, MOST_REPEATS = 600.0, 10_000
"""Within that time the same request is another try of it, and what it says is stored once."""


class ChatProxy:
    """Two handlers; they answer nothing as long as `proxy.base_url` is empty."""

    def __init__(
        self, host: AMemorixHostService, figures: Metrics, largest_body: Callable[[], int], *, passes_keys: bool
    ) -> None:
        self._host = host
        self._figures = figures
        self._largest_body = largest_body
        self._passes_keys = passes_keys
        self._client: httpx.AsyncClient | None = None
        self._asked = dict[str, tuple[float, str]]()
        self._saving = set[asyncio.Task[None]]()

    @asynccontextmanager
    async def open(self, app: Any) -> AsyncGenerator[None]:  # noqa: ARG002
        """Give the connections back at the end of the application."""
        try:
            yield
        finally:
            await self._saved()
            if self._client is not None:
                await self._client.aclose()

    async def forward(self, request: Request) -> Response:
        """`/v1/models` and `/v1/embeddings` as they are, which clients ask beside; nothing else of the endpoint is open."""
        return await self._answered(request, self._forwarded)

    async def complete(self, request: Request) -> Response:
        """`/v1/chat/completions`, streamed or whole, with what is known of user and chat."""
        return await self._answered(request, self._completed)

    async def _answered(
        self, request: Request, answer: Callable[[Request, Proxy], Coroutine[Any, Any, Response]]
    ) -> Response:
        started, outcome = time.perf_counter(), "ok"
        try:
            settings = self._host.config.proxy
            if not settings.base_url:
                raise NotFound(
                    "There is no proxy: proxy.base_url of the configuration names none.", field="proxy.base_url"
                )
            if not request.scope[GRANT].may("write"):
                told = "The proxy asks with the endpoint's key and stores what is said: it needs the role write."
                raise Forbidden(told, role="write")
            return await answer(request, settings)
        except MemoryFault as exc:
            outcome = exc.code
            return _fault(exc)
        except httpx.HTTPError as exc:
            outcome = "upstream"
            return _fault(
                NotReady(f"The endpoint of proxy.base_url does not answer: {exc or type(exc).__name__}."), 502
            )
        finally:
            self._figures.count("proxy", "", outcome, time.perf_counter() - started)

    async def _forwarded(self, request: Request, settings: Proxy) -> Response:
        path = "/" + request.path_params["path"]
        _, first, *model = path.split("/")
        if not (path == "/embeddings" or first == "models") or {".", ".."}.intersection(model):
            raise NotFound(f"The proxy answers chat/completions, models and embeddings, not {path}.")
        body = await body_of(request, self._largest_body())
        return await self._relayed(await self._asks(request, settings, quote(path, safe="/:@"), body))

    async def _completed(self, request: Request, settings: Proxy) -> Response:
        body = read_object(await body_of(request, self._largest_body()))
        turns = _turns(body)
        chat, user = _scope(request, body)
        memory = CallsOf(LocalMemory(self._host, "proxy", request.scope[GRANT]))
        told = await self._told(memory, turns, chat, user, settings)
        if told.text:
            body["messages"] = _with(told.text, body["messages"])
        said = _Said(memory, chat, user, self._id_of(chat, user, turns)) if settings.remember else None
        if said is not None:
            self._save(said.by_user(turns))
        answer = await self._asks(
            request, settings, "/chat/completions", json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        )
        return await self._relayed(answer, said, {TOLD: told.how})

    async def _told(
        self, memory: AsyncCalls, turns: Sequence[Mapping[str, Any]], chat: str, user: str, settings: Proxy
    ) -> _Told:
        """What is known, if it is known in time; a memory that fails keeps no answer back, a caller who may not ask is told."""
        if not (settings.context_budget and turns):
            return _Told("", "none")
        try:
            async with asyncio.timeout(settings.context_timeout_ms / 1000):
                found = await memory.context(turns[-LAST_TURNS:], user=user, chat=chat, budget=settings.context_budget)
        except TimeoutError:
            return _Told("", "late")
        except MemoryFault as exc:
            if exc.status in (400, 401, 403):
                raise
            log.warning("an answer goes without the memory: %s", exc)
            return _Told("", "failed")
        return _Told(found.text, f"{found.tokens} tokens")

    def _id_of(self, chat: str, user: str, turns: Sequence[Mapping[str, Any]]) -> str:
        """An id for what a request says; that of the try before where a client asks once more."""
        now = time.monotonic()
        key = hashlib.sha256(json.dumps([chat, user, turns], default=str).encode()).hexdigest()
        asked, id_ = self._asked.pop(key, (now, f"proxy:{uuid.uuid4().hex}"))
        if now - asked > REPEAT_SECONDS:
            id_ = f"proxy:{uuid.uuid4().hex}"
        self._asked[key] = (now, id_)
        while len(self._asked) > MOST_REPEATS:
            del self._asked[next(iter(self._asked))]
        return id_

    def _save(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _saved(self) -> None:
        await asyncio.gather(*self._saving)

    async def _asks(self, request: Request, settings: Proxy, path: str, body: bytes) -> httpx.Response:
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        if key := os.environ.get(settings.api_key_env, "").strip() if settings.api_key_env else "":
            headers["authorization"] = f"Bearer {key}"
        elif settings.api_key_env:
            raise NotReady(
                f"The environment variable {settings.api_key_env}, which proxy.api_key_env names, is not set."
            )
        elif self._passes_keys and "authorization" in request.headers:
            headers["authorization"] = request.headers["authorization"]
        self._client = self._client or httpx.AsyncClient()
        asked = self._client.build_request(
            request.method, settings.base_url.rstrip("/") + path, headers=headers, content=body or None,
            params=dict(request.query_params),
            timeout=httpx.Timeout(settings.timeout_seconds, connect=min(30.0, settings.timeout_seconds)),
        )  # fmt: skip
        return await self._client.send(asked, stream=True)

    async def _relayed(
        self, answer: httpx.Response, said: _Said | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """The endpoint's answer, byte by byte as it comes; what a model says in it is stored behind it."""
        back = {
            name: value
            for name, value in answer.headers.items()
            if name in PASSED_BACK or name.startswith(PASSED_BACK_OF)
        } | dict(headers or {})
        if not back.get("content-type", "").startswith("text/event-stream"):
            try:
                content = await answer.aread()
            finally:
                await answer.aclose()
            if said is not None and answer.is_success:
                self._save(said.by_model(_whole(content)))
            return Response(content, answer.status_code, back, background=BackgroundTask(self._saved))
        return StreamingResponse(
            self._streamed(answer, said), answer.status_code, back, background=BackgroundTask(self._saved)
        )

    async def _streamed(self, answer: httpx.Response, said: _Said | None) -> AsyncGenerator[bytes]:
        spoken = _Stream()
        try:
            async for part in answer.aiter_bytes():
                yield part
                spoken.feed(part)
        except httpx.HTTPError as exc:  # the head is out: only a break tells the caller
            log.warning("the endpoint of proxy.base_url broke off: %s", exc or type(exc).__name__)
            raise
        finally:
            if said is not None and answer.is_success:
                self._save(said.by_model(spoken.text))
            await answer.aclose()


class _Told(NamedTuple):
    """What is put before the turns, and what the answer's header says of it."""

    text: str
    how: str


class _Said:
    """Stores what a request says and what is answered, each under an id, so that another try replaces it."""

    def __init__(self, memory: AsyncCalls, chat: str, user: str, id_: str) -> None:
        self._memory, self._chat, self._user, self._id = memory, chat, user, id_

    async def by_user(self, turns: Sequence[Mapping[str, Any]]) -> None:
        """The turns since the model's last."""
        last = next((n for n in range(len(turns), 0, -1) if turns[n - 1]["role"] != "user"), 0)
        await self._store([{**turn, "id": f"{self._id}:{n}"} for n, turn in enumerate(turns[last:])])

    async def by_model(self, text: str) -> None:
        """Its answer; nothing where it only calls tools."""
        await self._store([{"role": "assistant", "content": text, "id": f"{self._id}:answer"}] if text.strip() else [])

    async def _store(self, turns: Sequence[Mapping[str, Any]]) -> None:
        if not turns:
            return
        try:
            added = await self._memory.add(messages=turns, user=self._user, chat=self._chat, wait="stored")
            if added.refused:
                log.info("the memory did not take what was said in %r (%s)", self._chat or self._user, added.refused)
        except MemoryFault as exc:
            log.warning("what was said through the proxy was not stored: %s", exc)


class _Stream:
    """What the first choice says, of server-sent events in parts that end anywhere."""

    def __init__(self) -> None:
        self._left = b""
        self._parts = list[str]()

    def feed(self, part: bytes) -> None:
        *lines, self._left = (self._left + part).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                self._parts.append(_whole(line[5:], "delta"))

    @property
    def text(self) -> str:
        return "".join(self._parts)


def _whole(content: bytes, kind: str = "message") -> str:
    """What the first choice of an answer, or of a piece of it, says; empty where it says nothing that can be read."""
    try:
        for choice in json.loads(content)["choices"]:
            if choice.get("index", 0) == 0:
                return _text_of(choice[kind].get("content"))
    except (ValueError, LookupError, TypeError, AttributeError):
        pass  # the end of a stream, a remark, an error: for the caller, who gets it as it is
    return ""


def _text_of(content: Any) -> str:
    """What is written in a turn: its text, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = cast(list[Any], content) if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _turns(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What users and the model say in a request, turns without words left out. Raises InvalidRequest."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in cast(list[Any], messages)):
        raise InvalidRequest("messages: expected a list of turns, each an object.", field="messages")
    turns = list[dict[str, Any]]()
    for one in cast(list[dict[str, Any]], messages):
        role, text = one.get("role"), _text_of(one.get("content"))
        if role in ("user", "assistant") and text.strip():
            name = {"speaker": one["name"]} if role == "user" and isinstance(one.get("name"), str) else {}
            turns.append({"role": role, "content": text, **name})
    return turns


def _scope(request: Request, body: Mapping[str, Any]) -> tuple[str, str]:
    """(chat, user) by the headers, the field `user`, or the one chat of the token. Raises InvalidRequest without any."""
    user, chat = (_unquoted(request.headers.get(name, "")) for name in (USER, CHAT))
    user = user or body.get("user") or ""
    if not isinstance(user, str):
        raise InvalidRequest("user: expected a text.", field="user")
    if not (chat or user):
        chat, user = bound_scope(request.scope[GRANT])
    if not (chat or user):
        raise InvalidRequest(
            f"user: say whose memory it is, in the field `user` or the headers {USER.title()} and {CHAT.title()}.",
            field="user",
        )
    return chat, user


def _unquoted(header: str) -> str:
    """A header's text: as UTF-8 or, where a client sends ASCII alone, percent-encoded."""
    try:
        return unquote(header.encode("latin-1").decode("utf-8")).strip()
    except UnicodeDecodeError:
        return header.strip()


def _with(text: str, messages: Sequence[Any]) -> list[Any]:
    """The turns with a text at the end of their instructions: some models take one system message, at the beginning."""
    first, *rest = messages
    if first.get("role") not in ("system", "developer"):
        return [{"role": "system", "content": text}, *messages]
    content = first.get("content")
    more = (
        [*content, {"type": "text", "text": text}]
        if isinstance(content, list)
        else f"{content or ''}\n\n{text}".strip()
    )
    return [{**first, "content": more}, *rest]


def _fault(fault: MemoryFault, status: int = 0) -> JsonAnswer:
    """An error as clients of such endpoints read it."""
    told = fault.to_dict()
    error = {
        "message": str(fault),
        "type": fault.code,
        "code": fault.code,
        "param": told.get("details", {}).get("field"),
    }
    return JsonAnswer({"error": error}, status_code=status or fault.status)
