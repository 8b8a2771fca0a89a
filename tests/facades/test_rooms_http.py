"""`/api/rooms`: the suite through HTTP, the JSON of the interface, roles, and tokens that are bound to rooms."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from time import time
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.config.model import Http
from amemorix.errors import InvalidRequest, TooLarge, fault_of
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.tokens import Tokens
from amemorix.testing import FrozenClock
from doors import web_client
from suite import FacadeSuite, HostedPort, Lack, Text

Call = Callable[..., Any]


class HttpPort(HostedPort):
    """Rooms over HTTP as the suite calls them."""

    refuses = (InvalidRequest, TooLarge)
    lacks: Collection[Lack] = ("metadata", "similarity")

    async def begin(self, stack: AsyncExitStack) -> None:
        self.web = await stack.enter_async_context(web_client(self.host))

    async def ask(self, method: str, space: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        address = f"http://localhost/api/rooms/{quote(space, safe='')}/{path}"
        # A JSON text of lone surrogates is sent as a JavaScript program would send it.
        content = json.dumps(body) if body is not None else None
        answer = (await self.web.request(method, address, content=content)).json()
        if fault := fault_of(answer):
            raise fault
        return answer

    async def put(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None,
        expires_at: datetime | None = None,
    ) -> str:  # fmt: skip
        body = {"id": id, "data": text, "expiresAt": expires_at.isoformat() if expires_at else None}
        return (await self.ask("POST", space, "memories", body))["memory"]["id"]

    async def get(self, id: str, *, space: str = "a") -> Text | None:
        found = (await self.ask("GET", space, f"memories/{quote(id, safe='').replace('.', '%2E')}"))["memory"]
        return None if found is None else Text(found["id"], found["data"])

    async def search(self, query: str, *, space: str = "a", limit: int = 10) -> Sequence[Text]:
        return texts(await self.ask("POST", space, "search", {"query": query, "limit": limit}))

    async def list(self, *, space: str = "a") -> Sequence[Text]:
        return texts(await self.ask("GET", space, "memories"))

    async def update(
        self, id: str, text: str, *, space: str = "a", metadata: Mapping[str, Any] | None = None
    ) -> object:
        return await self.put(id, text, space=space)

    async def delete(self, id: str, *, space: str = "a") -> object:
        return await self.ask("DELETE", space, f"memories/{quote(id, safe='').replace('.', '%2E')}")

    async def clear(self, *, space: str = "a") -> object:
        return await self.ask("DELETE", space, "memories")


def texts(answer: Mapping[str, Any]) -> list[Text]:
    return [Text(one["id"], one["data"]) for one in answer["memories"]]


class TestHttp(FacadeSuite):
    many = 30

    @pytest.fixture
    async def port(self, tmp_path: Path) -> AsyncIterator[HttpPort]:
        clock = FrozenClock(int(time()) + 3600)  # what has expired when it is told is judged by the daemon's own
        async with HttpPort(tmp_path, "vectors", clock=clock) as port:
            yield port


async def test_the_json_is_that_of_the_interface(web: httpx.AsyncClient) -> None:
    given = {"data": "hello room", "embedding": [0.25, 0.5], "expiresAt": "2030-01-01T00:00:00Z"}
    made = (await web.post("/api/rooms/r/memories", json=given)).json()["memory"]
    assert sorted(made) == ["createdAt", "data", "embedding", "expiresAt", "id", "roomId"]
    assert (made["roomId"], made["expiresAt"]) == ("r", "2030-01-01T00:00:00Z")
    assert datetime.fromisoformat(made["createdAt"]).tzinfo is not None
    held = (await web.get(f"/api/rooms/r/memories/{made['id']}")).json()["memory"]
    assert held | {"embedding": made["embedding"]} == made
    assert held["embedding"] == pytest.approx(made["embedding"], rel=1e-3)
    found = await web.post("/api/rooms/r/search", json={"query": "hello", "minSimilarity": 0.5, "limit": 1})
    assert found.json() == {"success": True, "memories": [held]}
    past = await web.post("/api/rooms/r/memories", json={"data": "late", "expiresAt": "2020-01-01T00:00:00Z"})
    assert past.json() == {"success": True, "memory": None}
    assert (await web.get("/api/rooms/r/memories/nobody")).json() == {"success": True, "memory": None}
    await web.delete("/api/rooms/r/memories")
    assert (await web.get("/api/rooms/r/memories")).json() == {"success": True, "memories": []}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "r/memories", {"data": ""}, 400, "data"), ("POST", "r/memories", {}, 400, "data"),
        ("POST", "r/memories", {"data": "x", "roomId": "other"}, 400, "roomId"), ("POST", "r/search", {"limit": 3}, 400, "query"),
        ("POST", "r/search", {"query": "x", "limit": 0}, 400, "limit"), ("POST", "r/search", {"query": "x", "minSimilarity": 2}, 400, "minSimilarity"),
        ("POST", "r/memories", {"data": "x", "expiresAt": "soon"}, 400, "expiresAt"), ("POST", "r/memories", {"data": "x", "expiresAt": "9999-12-31T23:59:59-14:00"}, 400, "expiresAt"),
        ("POST", "r/memories", {"data": "x", "expiresAt": "0001-01-01T00:00:00+14:00"}, 400, "expiresAt"), ("GET", "r/memories?room=x", None, 400, "room"),
        ("GET", "%FF/memories", None, 400, "roomId"), ("GET", "/memories", None, 400, "roomId"),
        ("PUT", "r/memories", {}, 405, ""), ("POST", "r/memories/a", {}, 404, ""), ("GET", "r/memories/a/b", None, 404, ""), ("GET", "r", None, 404, ""),
    ],
    ids=str,
)  # fmt: skip
async def test_what_does_not_fit(
    web: httpx.AsyncClient, method: str, path: str, body: Any, status: int, field: str
) -> None:
    answer = await web.request(method, f"/api/rooms/{path}", json=body)
    told = answer.json()
    assert (answer.status_code, told["success"]) == (status, False)
    assert told["details"].get("field", "") == field
    assert field in told["error"]


async def test_a_token_reaches_its_rooms_and_does_what_its_role_allows(host: AMemorixHostService) -> None:
    listed = [
        {"token": "reader", "role": "read", "chats": ["room:r"]}, {"token": "writer", "role": "write", "chats": ["room:r", "qq:1"]},
        {"token": "anywhere", "role": "write"}, {"token": "admin", "role": "admin"},
    ]  # fmt: skip
    tokens = Tokens.read(Http(), {Http().tokens_env: json.dumps(listed)}, Path())
    transport = httpx.ASGITransport(app=create_app(host, tokens=tokens))

    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:

        async def status(token: str, method: str, path: str, body: Any = None) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            answer = await web.request(method, f"/api/rooms/{path}", json=body, headers=headers)
            return answer.status_code

        entry = {"id": "e", "data": "a secret of the room"}
        assert (await web.get("/api/rooms/r/memories")).status_code == 401
        assert await status("reader", "POST", "r/memories", entry) == 403
        assert await status("writer", "POST", "r/memories", entry | {"embedding": [1, 0]}) == 200
        assert await status("anywhere", "POST", "other/memories", entry) == 200
        for token in ("reader", "writer"):
            assert await status(token, "GET", "r/memories/e") == 200
            assert await status(token, "POST", "r/search", {"query": "secret", "embedding": [1, 0]}) == 200
            for method, path, body in (
                ("GET", "other/memories", None), ("GET", "other/memories/e", None), ("POST", "other/search", {"query": "secret"}),
                ("POST", "other/memories", entry), ("DELETE", "other/memories", None), ("GET", "r%2F/memories", None), ("GET", "R/memories", None),
                ("GET", "%20r/memories", None),
            ):  # fmt: skip
                assert await status(token, method, path, body) == 403
        assert await status("reader", "DELETE", "r/memories/e") == 403
        assert await status("writer", "DELETE", "r/memories/e") == 200
        assert await status("admin", "DELETE", "other/memories") == 200


async def test_a_chat_filter_speaks_of_chats_and_not_of_rooms(opened: Any) -> None:
    host = await opened(filter={"mode": "whitelist", "chats": ["qq:1"]})
    async with web_client(host) as web:
        assert (await web.post("/api/rooms/r/memories", json={"data": "kept all the same"})).status_code == 200
        assert len((await web.get("/api/rooms/r/memories")).json()["memories"]) == 1
        found = (await web.post("/api/rooms/r/search", json={"query": "kept"})).json()
        assert len(found["memories"]) == 1


@pytest.mark.parametrize(
    "id", ["p%2f1", "%e4%bd%a0", "a%0d", "%252f", "100%", "%", "p%2F1", "x\r", "a\nb", "a\u2028b", "x\n"]
)
async def test_an_id_that_looks_percent_encoded_is_kept_as_it_is(web: httpx.AsyncClient, id: str) -> None:
    await web.post("/api/rooms/r/memories", json={"id": id, "data": "hello"})
    room = quote(id, safe="")
    await web.post(f"/api/rooms/{room}/memories", json={"id": "1", "data": "in it"})
    assert (await web.get(f"/api/rooms/r/memories/{quote(id, safe='')}")).json()["memory"]["id"] == id
    assert [one["id"] for one in (await web.get("/api/rooms/r/memories")).json()["memories"]] == [id]
    assert [one["roomId"] for one in (await web.get(f"/api/rooms/{room}/memories")).json()["memories"]] == [id]


@pytest.mark.parametrize("at", ["2700-06-01T12:00:00Z", "5500-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_an_entry_may_expire_in_a_distant_year(web: httpx.AsyncClient, at: str) -> None:
    await web.post("/api/rooms/r/memories", json={"id": "1", "data": "hello", "expiresAt": at})
    assert [one["expiresAt"] for one in (await web.get("/api/rooms/r/memories")).json()["memories"]] == [at]
