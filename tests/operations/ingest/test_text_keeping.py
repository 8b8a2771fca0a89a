"""What a host does with the texts that it keeps: many chats at once, its own ids, other metadata, what they said before."""

from __future__ import annotations

from typing import Any

from amemorix import AMemorixHostService
from amemorix.audit_context import Grant, entered_by
from amemorix.clock import FrozenClock
from entrance import contents, hits, refused, told


async def test_a_pattern_names_chats_and_nothing_else(host: AMemorixHostService) -> None:
    for chat in ("qq:1", "qq:12", "tg:1", "q*1"):
        await told(host, f"a kite of {chat}", chat_id=chat)
    await told(host, "a kite of everybody", scope="global")
    wanted = {
        "qq:*": {"qq:1", "qq:12"}, "*:1": {"qq:1", "tg:1"}, "qq:1": {"qq:1"}, "q*1": {"qq:1", "q*1"}, "*": {"qq:1", "qq:12", "tg:1", "q*1"},
        "q?:1": set(), "QQ:*": set(), "*q*:*2": {"qq:12"}, "none": set(),
    }  # fmt: skip
    for pattern, chats in wanted.items():
        texts = {f"a kite of {chat}" for chat in chats}
        assert set(await contents(host, "kite", scope="all", chat_pattern=pattern)) == texts, pattern
        listed = await host.invoke("memory_text_admin", {"action": "list", "scope": "all", "chat_pattern": pattern})
        assert {item["text"] for item in listed["items"]} == texts
        found = await host.invoke("memory_text_admin", {"action": "chats", "chat_pattern": pattern})
        assert {item["chat_id"] for item in found["items"]} == chats
        shown = await host.invoke("memory_text_admin", {"action": "get", "ids": ["p1", "p5"], "chat_pattern": pattern})
        assert {item["text"] for item in shown["items"]} == texts & {"a kite of qq:1"}
    await refused(host, "search_memory", {"query": "kite", "chat_pattern": "qq:*", "chat_id": "qq:1"})
    await refused(host, "search_memory", {"query": "kite", "chat_pattern": "qq:*", "user_id": "u"})
    for none in (None, "", " "):
        await refused(host, "search_memory", {"query": "kite", "chat_pattern": none}, "chat_pattern")
    many = "*a" * 200
    assert await contents(host, "kite", chat_pattern=many) == []


async def test_a_pattern_is_beyond_one_chat(host: AMemorixHostService) -> None:
    await told(host, "a kite", chat_id="qq:1")
    for args in ({"chat_pattern": "qq:1"}, {"chat_pattern": "*", "scope": "all"}):
        with entered_by("http", Grant("read")):
            answer = await host.invoke("search_memory", {"query": "kite", **args})
        assert (answer["error_code"], answer.get("hits")) == ("forbidden", None)
    await host.update_config({"filter.enabled": True, "filter.mode": "blacklist", "filter.chats": ["qq:1"]})
    assert await contents(host, "kite", chat_pattern="qq:*") == []


async def test_texts_by_the_callers_ids(host: AMemorixHostService) -> None:
    for chat in ("a", "b"):
        await told(host, f"a kite of {chat}", chat_id=chat, external_id="x", source="s")
    await told(host, "a kite of another source", chat_id="a", external_id="x", source="t")
    await told(host, "a red kite of b", chat_id="b", external_id="x", source="s")

    async def got(**args: Any) -> tuple[list[str], list[str]]:
        answer = await host.invoke("memory_text_admin", {"action": "get", "source": "s", **args})
        return [item["text"] for item in answer["items"]], answer["missing"]

    assert await got(external_ids=["x", "y"]) == (["a kite of a", "a red kite of b"], ["y"])
    assert await got(external_id="x", chat_id="a") == (["a kite of a"], [])
    assert await got(external_ids=["x"], ids=["p3"], chat_id="c") == ([], ["p3", "x"])
    await refused(host, "memory_text_admin", {"action": "get", "external_ids": ["x"]}, "source")
    await refused(host, "memory_text_admin", {"action": "get"}, "ids")


async def test_metadata_and_expiry_are_changed_and_the_words_stay(
    host: AMemorixHostService, clock: FrozenClock
) -> None:
    await told(host, "a kite", chat_id="a", external_id="x", metadata={"n": 1})
    again = await told(host, "a kite", chat_id="a", external_id="x", metadata={"n": 2})
    assert (again["reason"], again["stored_ids"], again["skipped_ids"]) == ("metadata_changed", [], ["x"])
    assert (await told(host, "a kite", chat_id="a", external_id="x"))["reason"] == "exists"
    assert [hit["metadata"] for hit in await hits(host, "kite")] == [{"n": 2}]

    described = {"action": "set", "ids": ["p1", "p7"]}
    answer = await host.invoke("memory_document_admin", {**described, "metadata": {"n": 3}, "ttl_seconds": 60})
    assert (answer["count"], answer["missing"]) == (1, ["p7"])
    assert [hit["metadata"] for hit in await hits(host, "kite")] == [{"n": 3}]
    clock.advance(50)
    await host.invoke("memory_document_admin", {**described, "ttl_seconds": 60})
    clock.advance(50)
    assert await contents(host, "kite") == ["a kite"]
    clock.advance(11)
    assert await contents(host, "kite") == []
    assert (await host.invoke("memory_document_admin", {**described, "expires_at": "never"}))["missing"] == ["p1", "p7"]
    long = " ".join(f"On day {n} the kite flew {n} miles." for n in range(100))
    parts = (await told(host, long, chat_id="a", external_id="long"))["stored_ids"]
    await host.invoke("memory_document_admin", {"action": "set", "ids": parts[1], "metadata": {"n": 4}})
    shown = await host.invoke("memory_text_admin", {"action": "get", "ids": parts})
    assert len(parts) > 2 and [item["metadata"] for item in shown["items"]] == [{"n": 4}] * len(parts)
    await refused(host, "memory_document_admin", described, "metadata")
    await refused(host, "memory_document_admin", {**described, "metadata": {"n": "x" * 70_000}}, "metadata")


async def test_the_wordings_of_a_text(host: AMemorixHostService, clock: FrozenClock) -> None:
    for text in ("a kite", "a red kite"):
        await told(host, text, chat_id="a", external_id="x", source="s", metadata={"of": text})
        clock.advance(60)
    await told(host, "another kite", chat_id="a", external_id="y", source="s")

    async def wordings(**args: Any) -> list[tuple[str, bool, bool]]:
        answer = await host.invoke("memory_text_admin", {"action": "history", **args})
        return [
            (one["text"], one["superseded_at"] is not None, one["deleted_at"] is not None) for one in answer["items"]
        ]

    told_so_far = [("a kite", True, False), ("a red kite", False, False)]
    assert await wordings(external_id="x", source="s") == await wordings(id="p1") == told_so_far
    await host.invoke("memory_delete_admin", {"action": "execute", "mode": "paragraph", "selector": "p2"})
    assert [one[0] for one in await wordings(id="p2")] == ["a kite", "a red kite"]
    assert (await wordings(id="p2"))[1][2]
    with entered_by("http", Grant("read")):
        assert (await host.invoke("memory_text_admin", {"action": "history", "id": "p1"}))["error_code"] == "forbidden"
    await host.invoke("memory_delete_admin", {"action": "execute", "mode": "chat", "selector": "a", "purge": True})
    assert await wordings(external_id="x", source="s") == []
    await refused(host, "memory_text_admin", {"action": "history", "external_id": "x"}, "id")
