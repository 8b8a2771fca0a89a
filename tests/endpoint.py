"""A real embedding endpoint on this machine, with switches for what can go wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from amemorix.testing import HashEmbedder

__all__ = ["Endpoint", "endpoint"]


class Endpoint:
    """Answers `POST /v1/embeddings` with hashed words; `dimensions` names its models."""

    def __init__(self) -> None:
        self.base_url = ""
        self.dimensions = {"small": 64, "large": 128}
        self.status = 200
        self.poison = ""
        """Texts with this word are refused."""
        self.keys: set[str] = set()
        self.open = threading.Event()
        self.open.set()
        """While cleared, requests wait."""
        self.requests: list[tuple[str, list[str]]] = []

    def texts(self, model: str) -> list[str]:
        """Every text that was embedded with a model, the words that ask for its dimension left out."""
        return [
            text
            for name, texts in self.requests
            if name == model
            for text in texts
            if text not in ("dimension", "word")
        ]

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and content for a request."""
        self.requests.append((body["model"], body["input"]))
        self.open.wait(10)
        if self.status != 200:
            return self.status, {"error": "as you wished"}
        if body["model"] not in self.dimensions:
            return 404, {"error": "no such model"}
        if self.poison and any(self.poison in text for text in body["input"]):
            return 400, {"error": "this text I will not take"}
        embedder = HashEmbedder(self.dimensions[body["model"]], model=body["model"])
        rows = embedder.embed(body["input"]).tolist()
        return 200, {"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]}


@contextmanager
def endpoint() -> Generator[Endpoint, None, None]:
    """An endpoint that listens until the block ends."""
    served = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            served.keys.add(self.headers.get("Authorization", ""))
            status, content = served.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            raw = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    served.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield served
    finally:
        served.open.set()
        server.shutdown()
        thread.join()
        server.server_close()
