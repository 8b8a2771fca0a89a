"""`memory_episode_admin`: episodes found, read, and made anew on request."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock, HashEmbedder, memory_host, pause_background
from conftest import Open
from entrance import change, refused, said, told

HOUR, DAY = 3_600.0, 86_400.0
START = 1_680_000_000.0
COMPONENT = "memory_episode_admin"


async def asked(host: AMemorixHostService, action: str, **args: Any) -> dict[str, Any]:
    result = await host.invoke(COMPONENT, {"action": action, **args})
    assert result["success"], result
    assert not result["warnings"], result
    return result


async def titles(host: AMemorixHostService, action: str = "list", **args: Any) -> list[str]:
    """The summaries of the episodes listed, in order, without their days."""
    return [undated(item["summary"]) for item in (await asked(host, action, **args))["items"]]


def undated(summary: str) -> str:
    return re.sub(r" \([0-9-]{10}\)|^[0-9-]{10}: ", "", summary, flags=re.M)


async def furnished(host: AMemorixHostService) -> None:
    """Two chats, two days each, in two languages, and a note for everyone."""
    await said(host, "sea", ("Ada", "the walrus sleeps on the pier", START), ("Bob", "a walrus snores", START + 60))
    await said(host, "sea", ("Ada", "lemon cake for tea", START + 3 * DAY))
    await said(
        host, "山", ("林澈", "折叠伞放回值班柜了", START + DAY), ("周枝", "值班柜的钥匙在我这里", START + DAY + 60)
    )
    await told(host, "the harbour opens at nine", source="notice", scope="global", timestamp=START + 9 * DAY)
    await host.settle(600)


async def test_the_list_is_newest_first_and_paged(host: AMemorixHostService) -> None:
    await furnished(host)

    assert await titles(host) == [
        "the harbour opens at nine", "Ada: lemon cake for tea", "林澈: 折叠伞放回值班柜了\n周枝: 值班柜的钥匙在我这里",
        "Ada: the walrus sleeps on the pier\nBob: a walrus snores",
    ]  # fmt: skip
    page = await asked(host, "list", limit=2, offset=1)
    assert (page["count"], page["more"]) == (2, True)
    assert [undated(item["summary"])[:5] for item in page["items"]] == ["Ada: ", "林澈: 折"]
    assert not (await asked(host, "list", limit=2, offset=2))["more"]
    assert await titles(host, offset=1_000_000) == []


async def test_an_item_tells_what_an_episode_is(host: AMemorixHostService) -> None:
    await furnished(host)
    item = (await asked(host, "list", source="chat:sea", time_end=START + DAY))["items"][0]

    assert item["episode_id"].startswith("e")
    assert (item["source"], item["source_type"], item["chat_id"]) == ("chat:sea", "chat", "sea")
    assert (item["time_start"], item["time_end"]) == (START, START + 60)
    assert (item["paragraph_count"], item["revision"], item["segmented_by"]) == (2, 1, "rules")
    assert "walrus" in item["keywords"]
    assert len(item["participants"]) == 2
    assert item["derived_at"] == FrozenClock().now()


@pytest.mark.parametrize(("query", "word"), [("where does the walrus sleep", "walrus"), ("值班柜的钥匙", "值班柜")])
@pytest.mark.parametrize("embed", [None, HashEmbedder()])
async def test_a_query_ranks_them_and_says_why(opened: Open, embed: Any, query: str, word: str) -> None:
    host = await opened(embed=embed)
    await furnished(host)
    items = (await asked(host, "query", query=query))["items"]

    assert word in items[0]["summary"]
    assert 0 < items[0]["score"] <= 1
    assert items[0]["explain"]["lanes"]["episode"]["rank"] == 1
    assert items[0]["explain"]["paragraphs"]
    assert [item["score"] for item in items] == sorted((item["score"] for item in items), reverse=True)
    searched = await host.invoke("search_memory", {"query": query, "mode": "episode", "limit": 20})
    assert [hit["id"] for hit in searched["hits"]] == [item["episode_id"] for item in items]


@pytest.mark.parametrize("query", ["green submarine volcano", "火星上的潜水艇"])
async def test_a_query_about_nothing_that_is_stored_finds_nothing(host: AMemorixHostService, query: str) -> None:
    await furnished(host)
    assert await titles(host, query=query) == []


async def test_a_query_is_paged_as_far_as_its_ranking_goes(host: AMemorixHostService) -> None:
    await said(host, "c", *[("Ada", f"walrus number {n}", START + n * 2 * DAY) for n in range(5)])
    await host.settle(600)
    whole = await titles(host, query="walrus")
    page = await asked(host, "query", query="walrus", limit=2, offset=2)

    assert len(whole) == 5
    assert [undated(item["summary"]) for item in page["items"]] == whole[2:4]
    assert page["more"]
    await refused(host, COMPONENT, {"action": "query", "query": "walrus", "offset": 181}, "offset")


@pytest.mark.parametrize("with_query", [False, True])
async def test_they_are_found_by_person_time_and_source(host: AMemorixHostService, with_query: bool) -> None:
    await furnished(host)

    async def found(query: str, **args: Any) -> list[str]:
        return await titles(host, **({"query": query} if with_query else {}), **args)

    sea = ["Ada: the walrus sleeps on the pier\nBob: a walrus snores"]
    assert await found("walrus", person_id="Bob") == sea
    assert await found("walrus", person="bob") == sea
    assert await found("walrus", person_id="nobody") == []
    assert [text[:2] for text in await found("值班柜", person_id="林澈")] == ["林澈"]
    assert await found("walrus", time_start=START - 5, time_end=START + HOUR) == sea
    assert await found("walrus", time_from=START + 30, time_to=START + 90) == sea
    assert await found("walrus", time_start=START + 2 * DAY, time_end=START + 2.5 * DAY) == []
    assert await found("harbour", source="notice") == ["the harbour opens at nine"]
    assert await found("walrus", source="notice") == ([] if with_query else ["the harbour opens at nine"])
    assert await found("walrus", source="nowhere") == []


async def test_a_person_is_found_by_the_id_of_a_participant(host: AMemorixHostService) -> None:
    await furnished(host)
    item = (await asked(host, "list", person_id="Bob"))["items"][0]
    for person in item["participants"]:
        assert item["episode_id"] in {i["episode_id"] for i in (await asked(host, "list", person_id=person))["items"]}


@pytest.mark.parametrize("query", ["", "the walrus by the harbour"])
async def test_a_chat_sees_itself_and_what_is_for_everyone(host: AMemorixHostService, query: str) -> None:
    await furnished(host)
    texts = await titles(host, query=query, chat_id="sea")

    assert any("walrus" in text for text in texts)
    assert any("harbour" in text for text in texts)
    assert not any("值班柜" in text for text in texts)
    assert {"the harbour opens at nine"} >= set(await titles(host, query=query, chat_id="unknown"))
    assert await titles(host, query=query, chat_id="sea", source="chat:山") == []
    assert await titles(host, query=query, chat_id="sea", person_id="林澈") == []


async def test_an_episode_is_read_with_its_paragraphs(host: AMemorixHostService) -> None:
    await furnished(host)
    for source, text, speaker in (("chat:sea", "a walrus snores", "Bob"), ("chat:山", "值班柜的钥匙在我这里", "周枝")):
        id_ = (await asked(host, "list", source=source))["items"][-1]["episode_id"]
        result = await asked(host, "get", episode_id=id_)

        assert result["episode"]["episode_id"] == id_
        assert not result["stale"]
        assert {result["names"].get(one, one) for one in result["episode"]["participants"]} >= {speaker}
        first, second = result["paragraphs"]
        assert (second["content"].split(": ")[-1], second["speaker"]) == (text, speaker)
        assert second["time_start"] == first["time_start"] + 60
        assert second["id"].startswith("p")
        assert len((await asked(host, "get", episode_id=id_[1:], paragraph_limit=1))["paragraphs"]) == 1
        assert (await asked(host, "get", episode_id=int(id_[1:]), paragraph_limit=0))["paragraphs"] == []


async def test_an_episode_of_another_chat_cannot_be_read(host: AMemorixHostService) -> None:
    await furnished(host)
    id_ = (await asked(host, "list", source="chat:山"))["items"][0]["episode_id"]
    unknown = await refused(host, COMPONENT, {"action": "get", "episode_id": "e999999"}, "episode_id", "not_found")
    foreign = await refused(
        host, COMPONENT, {"action": "get", "episode_id": id_, "chat_id": "sea"}, "episode_id", "not_found"
    )

    assert unknown.replace("e999999", id_) == foreign
    assert (await asked(host, "get", episode_id=id_, chat_id="山"))["episode"]


async def test_a_chat_that_is_not_served_sees_nothing(opened: Open) -> None:
    host = await opened(filter={"chats": ["stream:sea"]})
    async with memory_host(host.config_path.parent.parent / "other") as other:
        await furnished(other)
        id_ = (await asked(other, "list", source="chat:sea"))["items"][0]["episode_id"]
    async with memory_host(host.config_path.parent.parent / "other", filter={"chats": ["stream:sea"]}) as closed:
        for query in ("", "walrus"):
            result = await asked(closed, "list", query=query, chat_id="sea")
            assert (result["items"], result["filtered"]) == ([], True)
            assert not any("walrus" in text for text in await titles(closed, query=query))
        await refused(closed, COMPONENT, {"action": "get", "episode_id": id_}, "episode_id", "not_found")
        assert (await asked(closed, "get", episode_id=id_, respect_filter=False))["episode"]


async def still(opened: Open, clock: FrozenClock | None = None) -> AMemorixHostService:
    """A memory that makes episodes only when it is told to."""
    settings = {"poll_interval_seconds": 3600, "debounce_seconds": 3600}
    host = await opened(episode=settings, **({"clock": clock} if clock else {}))
    await pause_background(host)  # on a slow machine the first look of the background would come in between
    return host


async def expiring(host: AMemorixHostService, word: str, at: float) -> None:
    """Let the paragraphs with this word expire at a time."""
    statement = "update paragraphs set expires_at = ? where content like ?"
    change(host, statement, (at, f"%{word}%"))


@pytest.mark.parametrize("how", ["deleted", "reworded", "expired"])
async def test_words_of_what_is_gone_are_not_shown(opened: Open, how: str) -> None:
    clock = FrozenClock()
    host = await still(opened, clock)
    text = {"external_id": "x", "source": "s", "timestamp": START, "chat_id": "c"}
    await told(host, "the secret walrus 秘密海象", **text)
    await told(host, "an open kite", external_id="y", source="s", timestamp=START + 60, chat_id="c")
    await host.settle(600)
    id_ = (await asked(host, "list"))["items"][0]["episode_id"]
    assert "secret" in (await asked(host, "get", episode_id=id_))["episode"]["summary"]

    if how == "deleted":
        await host.invoke("memory_source_admin", {"action": "delete", "source": "s"})
    elif how == "reworded":
        await told(host, "nothing to see", **text)
    else:
        await expiring(host, "secret", clock.now() + 5)
        clock.advance(10)

    for query in ("", "secret walrus", "秘密海象", "an open kite"):
        assert await titles(host, query=query) == []
    if how == "deleted":
        await refused(host, COMPONENT, {"action": "get", "episode_id": id_}, "episode_id", "not_found")
    else:
        result = await asked(host, "get", episode_id=id_)
        assert result["stale"]
        assert "secret" not in str(result) and "秘密" not in str(result)
        assert result["paragraphs"]
    await host.settle(600)
    assert not any("secret" in text for text in await titles(host))
    assert len(await titles(host)) == (0 if how == "deleted" else 1)
    if how != "deleted":
        assert not (await asked(host, "get", episode_id=id_))["stale"], "the episode keeps its id"


async def test_status_counts_what_is_left(opened: Open) -> None:
    host = await still(opened)
    assert (await asked(host, "status"))["lag"] == 0
    await said(host, "c", ("Ada", "a kite", START))
    await said(host, "d", ("林澈", "风筝", START))
    before = await asked(host, "status")
    await host.settle(600)
    after = await asked(host, "status")

    assert (before["enabled"], before["lag"] > 0, before["episodes"]) == (True, True, 0)
    assert (after["lag"], after["pending"], after["completed"], after["episodes"]) == (0, 0, 2, 2)
    assert (after["failed"], after["failures"], after["model"]) == (0, [], False)


async def test_processing_is_bounded_and_goes_on_where_it_ended(opened: Open) -> None:
    host = await still(opened)
    for chat in "abc":
        await said(host, chat, ("Ada", f"kite of {chat}", START))
    first = await asked(host, "process_pending", limit=2)
    second = await asked(host, "process_sources")
    third = await asked(host, "process_pending")

    assert (first["processed"], first["rebuilt"], first["failed"], first["remaining"]) == (2, 2, 0, 1)
    assert (second["processed"], second["remaining"]) == (1, 0)
    assert third["processed"] == 0
    assert len(await titles(host)) == 3


@pytest.mark.parametrize(
    ("args", "queued"),
    [({"source": "chat:c"}, 1), ({"sources": ["chat:c", "chat:d"]}, 2), ({"all": True}, 3), ({"source": "chat:山"}, 1),
     ({"all": True, "chat_id": "c"}, 1), ({"source": "chat:c", "chat_id": "c"}, 1)],
)  # fmt: skip
async def test_a_rebuild_leaves_what_comes_out_the_same(opened: Open, args: dict[str, Any], queued: int) -> None:
    host = await still(opened)
    for chat in ("c", "d", "山"):
        await said(host, chat, ("Ada", "kite and wind 风筝", START), ("Bob", "lamp", START + 2 * DAY))
    await host.settle(600)
    before = (await asked(host, "list"))["items"]
    result = await asked(host, "rebuild", **args)

    assert (result["queued"], result["pending"], result["unknown"]) == (queued, queued, [])
    assert not result["finished"]
    done = await asked(host, "rebuild", wait=60, **args)
    assert (done["finished"], done["pending"], done["failed"]) == (True, 0, 0)
    assert (await asked(host, "list"))["items"] == before


async def test_a_rebuild_follows_new_settings(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await said(host, "c", *[("Ada", f"kite {n}", START + n) for n in range(6)])
        await host.settle(600)
        (one,) = (await asked(host, "list"))["items"]
    async with memory_host(tmp_path, episode={"max_paragraphs": 2}) as host:
        await host.settle(600)
        assert len(await titles(host)) == 1, "another setting alone changes nothing"
        await asked(host, "rebuild", source="chat:c", wait=60)
        items = (await asked(host, "list"))["items"]

    assert [item["paragraph_count"] for item in items] == [2, 2, 2]
    assert (items[-1]["episode_id"], items[-1]["revision"]) == (one["episode_id"], 2)


async def test_names_that_no_source_has_are_told(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "kite", START))
    result = await asked(host, "rebuild", sources=["chat:c", "nothing", "没有"])

    assert (result["requested"], result["queued"], result["unknown"]) == (3, 1, ["nothing", "没有"])


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"action": "rebuild"}, "source", "invalid_request"),
    ({"action": "rebuild", "chat_id": "c"}, "source", "invalid_request"),
    ({"action": "rebuild", "sources": []}, "source", "invalid_request"),
    ({"action": "rebuild", "source": "chat:c", "all": True}, "source", "invalid_request"),
    ({"action": "rebuild", "source": " "}, "source", "invalid_request"),
    ({"action": "rebuild", "sources": ["chat:c", ""]}, "sources.1", "invalid_request"),
    ({"action": "rebuild", "source": "没有"}, "source", "not_found"),
    ({"action": "rebuild", "source": "chat:c", "chat_id": "d"}, "source", "not_found"),
    ({"action": "rebuild", "sources": ["x", "y"]}, "sources", "not_found"),
    ({"action": "rebuild", "all": True, "chat_id": "nowhere"}, "chat_id", "not_found"),
    ({"action": "rebuild", "all": True, "wait": 301}, "wait", "invalid_request"),
    ({"action": "rebuild", "all": True, "wait": -1}, "wait", "invalid_request"),
    ({"action": "process_pending", "limit": 0}, "limit", "invalid_request"),
    ({"action": "process_sources", "limit": True}, "limit", "invalid_request"),
    ({"action": "status", "limit": -1}, "limit", "invalid_request"),
    ({"action": "get"}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": "p1"}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": 0}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": True}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": "e" + "9" * 30}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": 10**400}, "episode_id", "invalid_request"),
    ({"action": "get", "episode_id": "e1", "paragraph_limit": 1001}, "paragraph_limit", "invalid_request"),
    ({"action": "get", "episode_id": "e77"}, "episode_id", "not_found"),
    ({"action": "list", "limit": 0}, "limit", "invalid_request"),
    ({"action": "list", "limit": 201}, "limit", "invalid_request"),
    ({"action": "list", "offset": -1}, "offset", "invalid_request"),
    ({"action": "list", "time_start": "the day of the walrus"}, "time_start", "invalid_request"),
    ({"action": "list", "time_start": 20, "time_end": 10}, "time_start", "invalid_request"),
    ({"action": "query", "query": "x", "time_start": 20, "time_end": 10}, "time_start", "invalid_request"),
    ({"action": "query", "query": "x" * 10_001}, "query", "invalid_request"),
    ({"action": "query", "person_id": ["a"]}, "person_id", "invalid_request"),
]  # fmt: skip


async def test_what_does_not_fit_is_refused(host: AMemorixHostService) -> None:
    await said(host, "c", ("Ada", "kite", START))
    for args, field, code in REFUSED:
        await refused(host, COMPONENT, args, field, code)


@pytest.mark.parametrize("action", ["rebuild", "process_pending"])
async def test_nothing_is_made_while_episodes_are_off(opened: Open, action: str) -> None:
    host = await opened(episode={"enabled": False})
    args = {"action": action, **({"all": True} if action == "rebuild" else {})}
    await refused(host, COMPONENT, args, "episode.enabled", "conflict")
    assert (await asked(host, "status"))["enabled"] is False


async def test_a_memory_that_is_off_shows_nothing(tmp_path: Path) -> None:
    async with memory_host(tmp_path) as host:
        await furnished(host)
    async with memory_host(tmp_path, plugin={"enabled": False}) as host:
        for args in ({"action": "list"}, {"action": "query", "query": "walrus"}):
            result = await host.invoke(COMPONENT, args)
            assert (result["disabled"], result["items"]) == (True, [])
        assert (await host.invoke(COMPONENT, {"action": "get", "episode_id": "e1"}))["episode"] is None
        await refused(host, COMPONENT, {"action": "rebuild", "all": True}, "plugin.enabled", "conflict")
