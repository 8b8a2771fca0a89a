"""A real chat endpoint on this machine, with a script of what it answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from loopback import Reply, loopback

__all__ = ["ChatEndpoint", "Reply", "chat_endpoint", "said"]


def said(content: Any, *, usage: dict[str, int] | None = None) -> Reply:
    """A good reply; what is no text is written as JSON."""
    text = content if isinstance(content, str | None) else json.dumps(content, ensure_ascii=False)
    body: dict[str, Any] = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return 200, {}, body | ({"usage": usage} if usage else {})


class ChatEndpoint:
    """Answers `POST /v1/chat/completions`: what is scripted first, then what `reply` gives."""

    def __init__(self) -> None:
        self.base_url = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[Reply] = []
        self.reply: Callable[[dict[str, Any]], Reply] = lambda _: said({"name": "Ada"})
        self.knows_schemas = True
        self.open = threading.Event()
        self.open.set()
        """While cleared, requests wait."""
        self.given_up = 0
        """Requests that waited in vain: whoever asked was kept waiting to the end."""
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        """What a request gets."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(dict(headers))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            scripted = self.script.pop(0) if self.script else None
        self.given_up += not self.open.wait(60)
        with self._lock:
            self._at_once -= 1
        if scripted:
            return scripted
        if body["response_format"]["type"] == "json_schema" and not self.knows_schemas:
            return 400, {}, {"error": {"message": "This response_format type is unavailable now"}}
        return self.reply(body)

    @property
    def formats(self) -> list[str]:
        """How each request asked for its shape."""
        return [request["response_format"]["type"] for request in self.requests]


@contextmanager
def chat_endpoint() -> Generator[ChatEndpoint, None, None]:
    """An endpoint that listens until the block ends."""
    served = ChatEndpoint()
    with loopback(served.answer) as served.base_url:
        try:
            yield served
        finally:
            served.open.set()
