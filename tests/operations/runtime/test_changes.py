"""`memory_runtime_admin changes`: what became of documents since a number, for whoever keeps a copy of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from amemorix import AMemorixHostService
from amemorix.audit_context import Grant, entered_by
from amemorix.clock import FrozenClock
from amemorix.frontends.http.app import create_app
from amemorix.frontends.http.tokens import Tokens
from amemorix.store import changes as change_log
from amemorix.testing import memory_host
from doors import served
from entrance import call, refused, said, told
from pace import PATIENCE

Event = tuple[str, str | None]


async def changes(host: AMemorixHostService, since: int = 0, **args: Any) -> dict[str, Any]:
    return await call(host, "memory_runtime_admin", "changes", since=since, **args)


async def news(host: AMemorixHostService, since: int = 0, **args: Any) -> list[Event]:
    return [(one["kind"], one["external_id"]) for one in (await changes(host, since, **args))["items"]]


async def now_at(host: AMemorixHostService) -> int:
    return (await changes(host))["next"]


async def gone(host: AMemorixHostService, source: str) -> str:
    return (await call(host, "memory_delete_admin", "execute", mode="source", selector={"source": source}))[
        "operation_id"
    ]


async def test_each_kind_of_change_is_told_once(host: AMemorixHostService) -> None:
    note = {"source": "notes", "external_id": "n1", "chat_id": "c"}
    at = await now_at(host)
    assert at == 0

    async def since_then() -> list[Event]:
        nonlocal at
        answer = await changes(host, at)
        assert not answer["reset"]
        numbers = [one["number"] for one in answer["items"]]
        assert numbers == sorted(set(numbers))
        assert all(at < number <= answer["next"] for number in numbers)
        at = answer["next"]
        return [(one["kind"], one["external_id"]) for one in answer["items"]]

    stored = await told(host, "The kite is red.", **note)
    (item,) = (await changes(host))["items"]
    assert (item["source"], item["chat_id"], item["kind"]) == ("notes", "c", "added")
    assert await since_then() == [("added", "n1")]
    await told(host, "The kite is red.", **note)
    assert await since_then() == [], "the same again is no change"
    await told(host, "The kite is green.", **note)
    assert await since_then() == [("revised", "n1")]
    await told(host, "The kite is green.", **note, metadata={"a": 1})
    assert await since_then() == [("metadata", "n1")]
    texts = (await call(host, "memory_text_admin", "get", source="notes", external_ids=["n1"]))["items"]
    await call(host, "memory_document_admin", "set", ids=[texts[0]["id"]], expires_at="2030-01-01")
    assert await since_then() == [("metadata", "n1")]
    operation = await gone(host, "notes")
    assert await since_then() == [("deleted", "n1")]
    await call(host, "memory_delete_admin", "restore", operation_id=operation)
    assert await since_then() == [("restored", "n1")]
    await host.settle()
    assert await since_then() == [], "what is derived is not told"
    operation = await gone(host, "notes")
    await call(host, "memory_delete_admin", "purge", operation_id=operation)
    (_, purged) = (await changes(host, at))["items"]
    assert (purged["kind"], purged["external_id"], purged["source"]) == ("purged", None, None), (
        "nothing is left that names it"
    )
    assert purged["document"] == item["document"], "but a number that is of nothing else"
    assert stored["success"]


async def test_all_that_happened_is_told_from_the_beginning(host: AMemorixHostService) -> None:
    for n in range(3):
        await told(host, f"kite number {n}", source="s", external_id=f"n{n}")
    await told(host, "kite number one, again", source="s", external_id="n1")
    everything = [("added", "n0"), ("added", "n1"), ("added", "n2"), ("revised", "n1")]
    assert await news(host) == everything
    at, pages = 0, list[Event]()
    while True:
        page = await changes(host, at, limit=1)
        if not page["items"]:
            break
        pages += [(one["kind"], one["external_id"]) for one in page["items"]]
        assert page["more"] is (len(pages) < 4)
        at = page["next"]
    assert pages == everything
    assert await news(host, kinds=["revised"]) == [("revised", "n1")]
    assert (await changes(host, kinds=["purged"]))["next"] == at, (
        "one that waits for some kinds goes on behind the others"
    )
    await refused(host, "memory_runtime_admin", {"action": "changes", "kinds": ["eaten"]}, "kinds.0")
    await refused(host, "memory_runtime_admin", {"action": "changes", "since": -1}, "since")


async def test_a_long_text_is_one_document(host: AMemorixHostService) -> None:
    text = "\n\n".join(f"Paragraph {n}: " + "kites and boats and harbours. " * 30 for n in range(12))
    await told(host, text, source="long", external_id="l")
    assert await news(host) == [("added", "l")]
    at = await now_at(host)
    operation = await gone(host, "long")
    assert await news(host, at) == [("deleted", "l")]
    at = await now_at(host)
    await call(host, "memory_delete_admin", "restore", operation_id=operation)
    assert await news(host, at) == [("restored", "l")]
    at = await now_at(host)
    texts = (await call(host, "memory_text_admin", "list", scope="all", source="long"))["items"]
    assert len(texts) > 3
    await call(host, "memory_delete_admin", "execute", mode="paragraph", selector={"ids": [texts[0]["id"]]})
    assert await news(host, at) == [("revised", "l")], "a part of it is gone"


async def test_what_has_expired_is_told(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "kite for an hour", source="s", external_id="short", ttl_seconds=3600)
    await told(host, "kite for a day", source="s", external_id="longer", ttl_seconds=86400)
    at = await now_at(host)
    clock.advance(3599)
    assert await news(host, at) == []
    clock.advance(2)
    assert await news(host, at) == [("expired", "short")]
    at = await now_at(host)
    assert await news(host, at) == []
    clock.advance(86400)
    assert await news(host, at) == [("expired", "longer")]


async def test_a_chat_sees_itself_alone(host: AMemorixHostService) -> None:
    await told(host, "kite of a", source="s", external_id="a", chat_id="a")
    await told(host, "kite of b", source="s", external_id="b", chat_id="b")
    await told(host, "kite of all", source="s", external_id="all")
    await said(host, "b", ("Ada", "hello"))
    assert await news(host, chat_id="a") == [("added", "a")]
    assert len(await news(host, chat_id="b")) == 2
    assert await news(host, chat_id="nobody") == []
    at = await now_at(host)
    operation = (await call(host, "memory_delete_admin", "execute", mode="chat", chat_id="b"))["operation_id"]
    await call(host, "memory_delete_admin", "purge", operation_id=operation)
    assert await news(host, at, chat_id="a") == []
    for grant, args, code in (
        (Grant("read", ("a",)), {"chat_id": "a"}, None), (Grant("read", ("a",)), {"chat_id": "b"}, "forbidden"),
        (Grant("read", ("a",)), {}, "forbidden"), (Grant("read"), {}, "forbidden"), (Grant("admin", ("a",)), {}, "forbidden"),
        (Grant("admin"), {"scope": "all"}, None),
    ):  # fmt: skip
        with entered_by("http", grant):
            answer = await host.invoke("memory_runtime_admin", {"action": "changes", **args})
        assert answer.get("error_code") == code, (grant, args, answer)


async def test_waiting_ends_when_something_comes(host: AMemorixHostService) -> None:
    at = await now_at(host)
    waiting = [asyncio.create_task(news(host, at, wait_seconds=60)) for _ in range(40)]
    other = asyncio.create_task(news(host, at, wait_seconds=60, chat_id="c"))
    await asyncio.sleep(0.1)
    assert not any(one.done() for one in waiting)
    await told(host, "a kite", source="s", external_id="n")
    assert await asyncio.wait_for(asyncio.gather(*waiting), 30) == [[("added", "n")]] * 40
    await asyncio.sleep(0.1)
    assert not other.done(), "what it does not want does not end its waiting"
    await told(host, "a kite of c", source="s", external_id="c", chat_id="c")
    assert await asyncio.wait_for(other, 30) == [("added", "c")]
    assert await news(host, await now_at(host), wait_seconds=0.05) == []


async def test_an_expiry_ends_the_waiting(host: AMemorixHostService, clock: FrozenClock) -> None:
    await told(host, "a kite", source="s", external_id="n", ttl_seconds=10)
    waiting = asyncio.create_task(news(host, await now_at(host), wait_seconds=60))
    await asyncio.sleep(0.05)
    clock.advance(11)
    assert await asyncio.wait_for(waiting, 30) == [("expired", "n")]


async def test_nobody_who_waits_holds_up_a_reload_or_the_end(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        at = await now_at(host)
        waiting = asyncio.create_task(
            host.invoke("memory_runtime_admin", {"action": "changes", "since": at, "wait_seconds": 300})
        )
        await asyncio.sleep(0.05)
        await host.update_config({"retrieval.candidates": 60})
        assert (await asyncio.wait_for(waiting, 20))["items"] == []
        waiting = asyncio.create_task(
            host.invoke("memory_runtime_admin", {"action": "changes", "since": at, "wait_seconds": 300})
        )
        await asyncio.sleep(0.05)
        begun = time.monotonic()
    assert (await asyncio.wait_for(waiting, 1))["items"] == []
    assert time.monotonic() - begun < 25, "not as long as it would have waited"


async def test_one_who_was_away_for_long_is_told_to_begin_anew(
    host: AMemorixHostService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log, "KEPT", 5)
    for n in range(12):
        await told(host, f"kite number {n}", source="s", external_id=f"n{n}")
    await call(host, "memory_runtime_admin", "save")
    last = (await changes(host, 10))["next"]
    assert last == 12
    assert await news(host, 7) == [("added", f"n{n}") for n in range(7, 12)]
    for since in (0, 3, 6, last + 1):
        answer = await changes(host, since, wait_seconds=60)
        assert (answer["reset"], answer["items"], answer["next"]) == (True, [], last), since
    assert not (await changes(host, last))["reset"]


async def test_numbers_of_rows_that_were_exchanged_are_not_gone_on_with(host: AMemorixHostService) -> None:
    await told(host, "kite", source="s", external_id="n")
    made = (await call(host, "memory_runtime_admin", "backup"))["backup"]["id"]
    await told(host, "boat", source="s", external_id="m")
    before = await now_at(host)
    await call(host, "memory_runtime_admin", "restore", backup=made)
    for n in range(5):
        await told(host, f"harbour {n}", source="s", external_id=f"h{n}")
    for since in (1, before):
        answer = await changes(host, since)
        assert (answer["reset"], answer["items"]) == (True, [])
    assert await news(host, answer["next"]) == []
    await told(host, "harbour again", source="s", external_id="h9")
    assert await news(host, answer["next"]) == [("added", "h9")]


# server-sent events


class Stream:
    """The events of one connection."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        """The next event: its fields, with the data read."""
        found: dict[str, Any] = {}
        while True:
            line = await asyncio.wait_for(anext(self._lines), 30)
            if not line and found:
                return found | {"data": json.loads(found["data"])}
            if line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                found[name] = value


async def test_events_are_sent_as_they_come_and_resumed(host: AMemorixHostService) -> None:
    await told(host, "before", source="s", external_id="n0")
    async with served(host) as url, httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
        async with client.stream("GET", "/api/changes?scope=all") as response:
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            stream = Stream(response)
            await told(host, "kite", source="s", external_id="n1")
            event = await stream.next()
            assert (event["event"], event["data"]["external_id"]) == ("added", "n1"), "what came before is not sent"
            assert event["id"] == str(event["data"]["number"])
        await told(host, "boat", source="s", external_id="n2")
        await told(host, "boats", source="s", external_id="n2")
        async with client.stream("GET", "/api/changes?scope=all", headers={"Last-Event-ID": event["id"]}) as response:
            stream = Stream(response)
            assert [(await stream.next())["event"], (await stream.next())["event"]] == ["added", "revised"]
        async with client.stream("GET", "/api/changes?scope=all&since=0&kinds=revised,deleted") as response:
            assert (await Stream(response).next())["event"] == "revised"
        async with client.stream("GET", "/api/changes?scope=all", headers={"Last-Event-ID": "900"}) as response:
            event = await Stream(response).next()
            assert (event["event"], event["id"]) == ("reset", "4")
        for query, field in (
            ("sincce=1", "sincce"),
            ("since=x", "since"),
            ("kinds=eaten", "kinds"),
            ("wait_seconds=1", "wait_seconds"),
        ):
            answer = await client.get(f"/api/changes?scope=all&{query}")
            assert (answer.status_code, answer.json()["details"]["field"].partition(".")[0]) == (400, field), query
        assert (await client.get("/api/changes?scope=all", headers={"Last-Event-ID": "x"})).status_code == 400


async def test_events_go_to_those_who_may_see_them(host: AMemorixHostService) -> None:
    grants = {"a": Grant("read", ("a",)), "b": Grant("read", ("a", "b")), "c": Grant("admin")}
    tokens = Tokens({hashlib.sha256(letter.encode() * 32).digest(): grant for letter, grant in grants.items()})
    async with served(host, tokens) as url, httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:

        def bearer(letter: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {letter * 32}"}

        await told(host, "kite of b", source="s", external_id="b", chat_id="b")
        await told(host, "kite of a", source="s", external_id="a", chat_id="a")
        for letter, query, first in (
            ("a", "", "a"),
            ("a", "&chat_id=a", "a"),
            ("b", "&chat_id=b", "b"),
            ("c", "&scope=all", "b"),
            ("c", "&chat_id=a", "a"),
        ):
            async with client.stream("GET", f"/api/changes?since=0{query}", headers=bearer(letter)) as response:
                assert (await Stream(response).next())["data"]["external_id"] == first, (letter, query)
        for letter, query in (("a", "?chat_id=b"), ("b", ""), ("b", "?chat_id=c")):
            assert (await client.get(f"/api/changes{query}", headers=bearer(letter))).status_code == 403
        assert (await client.get("/api/changes")).status_code == 401
        assert (await client.get("/api/changes", headers=bearer("x"))).status_code == 401


async def test_the_end_of_the_daemon_ends_the_events(host: AMemorixHostService) -> None:
    ending: list[bool] = []
    transport = httpx.ASGITransport(app=create_app(host, is_ending=lambda: bool(ending)))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        following = asyncio.create_task(client.get("/api/changes?scope=all"))
        await asyncio.sleep(0.1)
        assert not following.done()
        ending.append(True)
        assert (await asyncio.wait_for(following, 30)).status_code == 200
