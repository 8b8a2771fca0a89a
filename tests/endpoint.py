"""A real embedding endpoint on this machine, with switches for what can go wrong."""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from amemorix.testing import HashEmbedder
from loopback import Reply, loopback

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
        self.given_up = 0
        """Requests that waited in vain: whoever asked was kept waiting to the end."""
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

    def reply(self, body: dict[str, Any], headers: Mapping[str, str]) -> Reply:
        """What a request gets."""
        self.keys.add(headers.get("Authorization", ""))
        status, content = self.answer(body)
        return status, {}, content

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and content for a request."""
        self.requests.append((body["model"], body["input"]))
        self.given_up += not self.open.wait(60)
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
    with loopback(served.reply) as served.base_url:
        try:
            yield served
        finally:
            served.open.set()
