"""Stand-ins for Meilisearch and Pinecone, which no package brings: the calls that their adapters make, as the documentation says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np

from amemorix.language.normalise import tokens

__all__ = ["Meilisearch", "Pinecone"]


def cosine(a: list[float], b: list[float]) -> float:
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / norms if norms else 0.0


class Meilisearch:
    """One index, whose tasks are done when they are asked for the second time."""

    def __init__(self) -> None:
        self.documents: dict[str, dict[str, Any]] = {}
        self.settings: dict[str, Any] = {}
        self.made = False
        self.tasks: list[Callable[[], object] | None] = []
        self.errors: dict[int, dict[str, str]] = {}
        self.key = ""
        """Asked of every call, if it is not empty."""

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return httpx.Response(403, json={"code": "invalid_api_key", "message": "The provided API key is invalid."})
        body = json.loads(request.content) if request.content else None
        match [request.method, *request.url.path.strip("/").split("/")]:
            case ["GET", "tasks", number]:
                return self.task(int(number))
            case ["GET", "indexes", _]:
                return httpx.Response(200 if self.made else 404, json={"uid": "rooms"})
            case ["POST", "indexes"]:
                return self.later(lambda: setattr(self, "made", True))
            case _ if not self.made:
                return httpx.Response(404, json={"code": "index_not_found"})
            case ["PATCH", "indexes", _, "settings"]:
                return self.later(lambda: self.settings.update(body))
            case ["POST", "indexes", _, "documents"]:
                for one in body:
                    assert set(one["key"]) <= set("0123456789abcdefghijklmnopqrstuvwxyz-_")
                return self.later(lambda: self.documents.update({one["key"]: one for one in body}))
            case ["POST", "indexes", _, "documents", "fetch"]:
                found = self.filtered(body["filter"])[body["offset"] :][: body["limit"]]
                return httpx.Response(200, json={"results": [self.shown(one, body) for one in found]})
            case ["POST", "indexes", _, "documents", "delete"]:
                return self.later(lambda: [self.documents.pop(one["key"]) for one in self.filtered(body["filter"])])
            case ["GET", "indexes", _, "documents", key]:
                found = self.documents.get(key)
                asked = {"retrieveVectors": request.url.params["retrieveVectors"] == "true"}
                return httpx.Response(200, json=self.shown(found, asked)) if found else httpx.Response(404, json={})
            case ["DELETE", "indexes", _, "documents", key]:
                return self.later(lambda: self.documents.pop(key, None))
            case ["POST", "indexes", _, "search"]:
                return httpx.Response(200, json={"hits": [self.shown(one, body) for one in self.found(body)]})
            case other:
                raise AssertionError(other)

    def later(self, work: Callable[[], object]) -> httpx.Response:
        self.tasks.append(work)
        return httpx.Response(202, json={"taskUid": len(self.tasks) - 1, "status": "enqueued"})

    def task(self, number: int) -> httpx.Response:
        work, self.tasks[number] = self.tasks[number], None
        if work is not None:
            work()
            return httpx.Response(200, json={"status": "processing", "error": None})
        error = self.errors.get(number)
        return httpx.Response(200, json={"status": "failed" if error else "succeeded", "error": error})

    def filtered(self, filter: str | list[str]) -> list[dict[str, Any]]:
        found = list(self.documents.values())
        for condition in [filter] if isinstance(filter, str) else filter:
            name, sign, value = condition.split(" ")
            assert name in self.settings["filterableAttributes"]
            match sign:
                case "=":
                    found = [one for one in found if str(one[name]) == value]
                case ">":
                    found = [one for one in found if one[name] > float(value)]
                case _:
                    assert sign == "<="
                    found = [one for one in found if one[name] <= float(value)]
        return found

    def found(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        held = self.filtered(body["filter"])
        if "vector" in body:
            name = body["hybrid"]["embedder"]
            assert len(body["vector"]) == self.settings["embedders"][name]["dimensions"]
            scores = [cosine(body["vector"], one["_vectors"][name]["embeddings"][0]) for one in held]
            order = sorted(range(len(held)), key=lambda i: -scores[i])
        else:
            wanted = set(tokens(body["q"]))
            scores = [len(wanted & set(tokens(one["data"]))) for one in held]
            order = [i for i in sorted(range(len(held)), key=lambda i: -scores[i]) if scores[i]]
        return [held[i] for i in order[: body["limit"]]]

    def shown(self, document: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
        return document if asked["retrieveVectors"] else {k: v for k, v in document.items() if k != "_vectors"}


class Pinecone:
    """An index with namespaces; `page` ids are listed at once."""

    def __init__(self, page: int = 7) -> None:
        self.spaces: dict[str, dict[str, dict[str, Any]]] = {}
        self.page = page

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self.answer)

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["Api-Key"] == "secret"
        body = json.loads(request.content) if request.content else {}
        params = request.url.params
        name = body.get("namespace") or params.get("namespace")
        held = self.spaces.get(name, {})
        match request.method, request.url.path:
            case "POST", "/vectors/upsert":
                for one in body["vectors"]:
                    assert one["id"].isascii() and any(one["values"])
                    assert len(json.dumps(one["metadata"], ensure_ascii=False).encode()) <= 40_960
                    self.spaces.setdefault(name, {})[one["id"]] = one
                return httpx.Response(200, json={"upsertedCount": len(body["vectors"])})
            case "GET", "/vectors/fetch":
                found = {id: held[id] for id in params.get_list("ids") if id in held}
                return httpx.Response(200, json={"vectors": found, "namespace": name})
            case "GET", "/vectors/list":
                names = sorted(held)
                start = int(params.get("paginationToken", 0))
                told: dict[str, Any] = {"vectors": [{"id": id} for id in names[start : start + self.page]]}
                if start + self.page < len(names):
                    told["pagination"] = {"next": str(start + self.page)}
                return httpx.Response(200, json=told)
            case "POST", "/vectors/delete" if name not in self.spaces:
                return httpx.Response(404, json={"code": 5, "message": "Namespace not found"})
            case "POST", "/vectors/delete":
                if body.get("deleteAll"):
                    del self.spaces[name]
                for id in body.get("ids", ()):
                    held.pop(id, None)
                return httpx.Response(200, json={})
            case "POST", "/query":
                least = body["filter"]["expires"]["$gt"]
                found = [one for one in held.values() if one["metadata"]["expires"] > least]
                found.sort(key=lambda one: -cosine(body["vector"], one["values"]))
                return httpx.Response(200, json={"matches": found[: body["topK"]]})
            case other:
                raise AssertionError(other)
