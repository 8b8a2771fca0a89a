"""Model endpoints on this machine: real servers, with a script of what they answer and switches for what can go wrong."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from amemorix.testing import HashEmbedder

__all__ = ["ChatEndpoint", "Endpoint", "Reply", "ScriptedEndpoint", "chat_endpoint", "endpoint", "said", "served"]

Reply = tuple[int, dict[str, str], Any]
"""Status, headers, content; what is not bytes is written as JSON."""


class ScriptedEndpoint:
    """Answers POST requests: with what is scripted first, then with what `reply` gives."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply]) -> None:
        self.base_url = ""
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        """Those of each request, and its path."""
        self.script: list[Reply] = []
        self.reply = reply
        self.open = threading.Event()
        self.open.set()
        """While cleared, requests wait."""
        self.given_up = 0
        """Requests that waited in vain: whoever asked was kept waiting to the end."""
        self.drip = 0.0
        """Seconds between the bytes of an answer."""
        self.sent = threading.Event()
        """Set when an answer has gone out whole."""
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    def noted(self, body: dict[str, Any]) -> Any:
        """What is kept of a request."""
        return body

    def respond(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        with self._lock:
            self.requests.append(self.noted(body))
            self.headers.append(dict(headers))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            scripted = self.script.pop(0) if self.script else None
        self.given_up += not self.open.wait(60)
        with self._lock:
            self._at_once -= 1
        return scripted or self.reply(body)

    def send(self, out: Any, data: bytes) -> None:
        step = 1 if self.drip else len(data) or 1
        with contextlib.suppress(ConnectionError):
            for start in range(0, len(data), step):
                out.write(data[start : start + step])
                time.sleep(self.drip)
            self.sent.set()


class Endpoint(ScriptedEndpoint):
    """Answers `POST /v1/embeddings` with hashed words; `dimensions` names its models."""

    def __init__(self) -> None:
        super().__init__(self._embedded)
        self.dimensions = {"small": 64, "large": 128}
        self.status = 200
        self.poison = ""
        """Texts with this word are refused."""

    def noted(self, body: dict[str, Any]) -> tuple[str, list[str]]:
        """The model and the texts."""
        return body["model"], body["input"]

    def texts(self, model: str) -> list[str]:
        """Every text that was embedded with a model, the words that ask for its dimension left out."""
        given = [text for name, texts in self.requests if name == model for text in texts]
        return [text for text in given if text not in ("dimension", "word")]

    def _embedded(self, body: dict[str, Any]) -> Reply:
        status, content = self.answer(body)
        return status, {}, content

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and content for a request."""
        if self.status != 200:
            return self.status, {"error": "as you wished"}
        if body["model"] not in self.dimensions:
            return 404, {"error": "no such model"}
        if self.poison and any(self.poison in text for text in body["input"]):
            return 400, {"error": "this text I will not take"}
        embedder = HashEmbedder(self.dimensions[body["model"]], model=body["model"])
        rows = embedder.embed(body["input"]).tolist()
        return 200, {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


def said(content: Any, *, usage: dict[str, int] | None = None) -> Reply:
    """A good reply of a chat model; what is no text is written as JSON."""
    text = content if isinstance(content, str | None) else json.dumps(content, ensure_ascii=False)
    body: dict[str, Any] = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return 200, {}, body | ({"usage": usage} if usage else {})


class ChatEndpoint(ScriptedEndpoint):
    """Answers `POST /v1/chat/completions`."""

    def __init__(self) -> None:
        super().__init__(lambda _: said({"name": "Ada"}))
        self.knows_schemas = True

    def respond(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        answer = super().respond(body, headers)
        if body["response_format"]["type"] == "json_schema" and not self.knows_schemas:
            return 400, {}, {"error": {"message": "This response_format type is unavailable now"}}
        return answer

    @property
    def formats(self) -> list[str]:
        """How each request asked for its shape."""
        return [request["response_format"]["type"] for request in self.requests]


One = TypeVar("One", bound=ScriptedEndpoint)


@contextmanager
def served(made: One) -> Generator[One, None, None]:
    """The endpoint, which listens until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, content = made.respond(body, {"path": self.path, **dict(self.headers)})
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(raw))}.items():
                self.send_header(name, value)
            self.end_headers()
            made.send(self.wfile, raw)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    made.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield made
    finally:
        made.open.set()
        server.shutdown()
        thread.join()
        server.server_close()


def endpoint() -> contextlib.AbstractContextManager[Endpoint]:
    """An embedding endpoint that listens until the block ends."""
    return served(Endpoint())


def chat_endpoint() -> contextlib.AbstractContextManager[ChatEndpoint]:
    """A chat endpoint that listens until the block ends."""
    return served(ChatEndpoint())
