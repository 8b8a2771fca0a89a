"""Summaries of chats: every message is covered once, whatever the model does, and none is invented."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from amemorix import AMemorixHostService
from amemorix.clock import FrozenClock
from amemorix.errors import ChatUnavailable
from amemorix.testing import ScriptedChat, memory_host, pause_background, resume_background
from conftest import Open
from entrance import contents, hits, refused, stats
from pace import PATIENCE, until

START = 1_690_000_000.0
QUIET = {"poll_interval_seconds": 3600}
"""The background looks seldom: `settle` does the work when the test wants it."""


@pytest.fixture
async def opened(opened: Open) -> Open:
    """Opens memories whose model is asked for summaries only."""
    quiet = {"profile": {"use_chat_model": False}, "episode": {"model_enabled": False}}

    async def open_(folder: Path | None = None, **settings: Any) -> AMemorixHostService:
        return await opened(folder, **quiet, **settings)

    return open_


def turns(first: int, last: int, *, chinese: bool = False) -> list[dict[str, Any]]:
    """Messages `first` to `last`, each with a mark of its own."""
    words = "号风筝是红色的" if chinese else " is the number of a red kite"
    return [
        {"external_id": f"m{n}", "speaker": "林澈" if n % 2 else "Ada", "text": f"q{n}q{words}", "time": START + 60 * n}
        for n in range(first, last + 1)
    ]


def marks(text: str) -> list[int]:
    """The messages that a question shows after its heading."""
    body = re.split(r"^(?:Messages:|消息：)$", text, flags=re.M)[1]
    return [int(n) for n in re.findall(r"q(\d+)q", body)]


class Scribe:
    """A script that notes which messages each question covered, and sums them up by their first and last."""

    def __init__(self) -> None:
        self.covered: list[list[int]] = []
        self.away = 0
        """So many questions more are not answered."""
        self.chat = ScriptedChat(self.write)

    def write(self, task: str, user: str) -> Mapping[str, Any]:
        assert task == "summary"
        if self.away:
            self.away -= 1
            raise ChatUnavailable("out for lunch")
        found = marks(user)
        self.covered.append(found)
        return {
            "summary": f"Walrus digest of {found[0]} to {found[-1]} / 海象摘要",
            "entities": [{"name": "Walrus", "type": "animal"}, {"name": "  ", "type": ""}],
            "relations": [
                {"subject": "林澈", "predicate": "owns", "object": "Walrus"},
                {"subject": "Same", "predicate": "is", "object": "same"},
            ],
        }


async def wish(host: AMemorixHostService, chat_id: str = "c", **args: Any) -> dict[str, Any]:
    result = await host.invoke("ingest_summary", {"external_id": "ask", "chat_id": chat_id, "text": "", **args})
    assert result["success"], result
    return result


async def summaries(host: AMemorixHostService, chat_id: str = "c") -> list[dict[str, Any]]:
    """The chat's summaries, the oldest first."""
    await host.settle(600)
    found = await hits(host, "walrus 海象", chat_id=chat_id, limit=100)
    return sorted(
        (hit for hit in found if hit["source"] == f"chat_summary:{chat_id}"), key=lambda hit: int(hit["id"][1:])
    )


async def waiting(host: AMemorixHostService) -> int:
    return (await stats(host))["summaries_waiting"]


@pytest.mark.parametrize("chinese", [False, True])
async def test_messages_are_stored_at_once_and_summed_up_later(opened: Open, chinese: bool) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await pause_background(host)

    result = await wish(host, messages=turns(1, 5, chinese=chinese))

    assert (result["queued"], result["reason"], len(result["stored_ids"])) == (True, "", 5)
    assert scribe.covered == [], "the call does not wait for the model"
    assert len(await contents(host, "红色的风筝" if chinese else "red kite", chat_id="c")) == 5
    assert await waiting(host) == 1
    (summary,) = await summaries(host)
    assert summary["content"] == "Walrus digest of 1 to 5 / 海象摘要"
    assert (summary["time"]["start"], summary["time"]["end"]) == (START + 60, START + 300)
    assert set(summary["person_ids"]) == {"Ada", "林澈"}
    assert summary["metadata"]["messages"] == 5
    assert scribe.covered == [[1, 2, 3, 4, 5]]
    assert await waiting(host) == 0


async def test_entities_and_relations_of_a_summary_have_it_as_evidence(opened: Open) -> None:
    host = await opened(chat=Scribe().chat, summary=QUIET)
    await wish(host, messages=turns(1, 3))
    (summary,) = await summaries(host)

    assert summary["explain"]["matched_entities"] == ["Walrus"]
    assert summary["explain"]["relations"] == ["林澈 owns Walrus"], "a relation with itself is none"


async def test_two_hundred_messages_between_two_calls_are_all_covered(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await wish(host, messages=turns(1, 3))
    await host.settle(600)
    for first in range(4, 204, 20):
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns(first, first + 19)})

    assert (await wish(host, metadata={"generate_from_chat": True}))["queued"]
    found = await summaries(host)

    assert [n for window in scribe.covered for n in window] == list(range(1, 204))
    assert [len(window) for window in scribe.covered] == [3, 40, 40, 40, 40, 40]
    assert len(found) == 6


async def test_messages_that_nobody_asked_about_wait(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns(1, 5)})
    assert await summaries(host) == []
    await wish(host)
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns(6, 9)})
    await host.settle(600)
    assert scribe.covered == [[1, 2, 3, 4, 5]]


async def test_the_same_call_again_changes_nothing(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    bare = [{key: value for key, value in turn.items() if key != "external_id"} for turn in turns(1, 4)]
    await wish(host, messages=bare)
    await host.settle(600)
    before = await stats(host)

    again = await wish(host, messages=bare)
    await host.settle(600)

    assert (again["stored_ids"], again["queued"], again["reason"]) == ([], False, "nothing_new")
    assert again["skipped_ids"] == [f"ask#{n}" for n in range(4)]
    assert await stats(host) == before
    assert len(scribe.covered) == 1


async def test_chats_are_never_mixed_and_a_summary_is_seen_in_its_chat_only(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await wish(host, "c", messages=turns(1, 3), group_id="g")
    await wish(host, "d", messages=turns(4, 6))
    await host.settle(600)

    assert sorted(scribe.covered) == [[1, 2, 3], [4, 5, 6]]
    assert [hit["content"] for hit in await summaries(host, "c")] == ["Walrus digest of 1 to 3 / 海象摘要"]
    assert [hit["content"] for hit in await summaries(host, "d")] == ["Walrus digest of 4 to 6 / 海象摘要"]
    assert await contents(host, "walrus", chat_id="e") == []


async def test_a_window_is_bounded_by_characters_and_long_messages_go_on_in_the_next(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary={**QUIET, "window_chars": 1000}, ingest={"chunk_chars": 300})
    long = " ".join(f"q{n}q word number {n}." for n in range(200))
    await wish(host, messages=[{"external_id": "long", "speaker": "Ada", "text": long, "time": START}])
    await host.settle(600)

    assert [n for window in scribe.covered for n in window] == list(range(200))
    assert len(scribe.covered) >= 4


@pytest.mark.parametrize("summary", [QUIET, {**QUIET, "enabled": False}])
async def test_without_a_model_the_messages_are_the_memory(opened: Open, summary: dict[str, Any]) -> None:
    scribe = Scribe()
    host = await opened(chat=None if summary == QUIET else scribe.chat, summary=summary)
    result = await wish(host, messages=turns(1, 5))
    again = await wish(host)

    assert (result["queued"], result["reason"], len(result["stored_ids"])) == (False, "kept_messages", 5)
    assert (again["queued"], again["reason"]) == (False, "nothing_new")
    assert await waiting(host) == 0
    await host.settle(600)
    assert (await stats(host))["paragraphs"] == 5
    assert scribe.covered == []


async def test_a_model_that_is_away_is_asked_again_later(opened: Open) -> None:
    scribe, clock = Scribe(), FrozenClock(START + 90_000)
    host = await opened(chat=scribe.chat, clock=clock, summary={**QUIET, "retry_seconds": 30})
    scribe.away = 2
    await wish(host, messages=turns(1, 5))

    for pause, answered, left in ((0, 0, 1), (29, 0, 1), (2, 0, 1), (59, 0, 1), (2, 1, 0)):
        clock.advance(pause)
        assert len(await summaries(host)) == answered
        assert await waiting(host) == left
    assert len(scribe.chat.asked) == 3


async def test_after_the_last_try_the_messages_are_kept_as_they_are(opened: Open) -> None:
    scribe, clock = Scribe(), FrozenClock(START + 90_000)
    settings = {**QUIET, "max_attempts": 3, "retry_seconds": 10, "window_messages": 5}
    host = await opened(chat=scribe.chat, clock=clock, summary=settings)
    scribe.away = 3
    await wish(host, messages=turns(1, 10))
    for _ in range(3):
        await host.settle(600)
        clock.advance(1000)

    assert len(await summaries(host)) == 1
    assert scribe.covered == [[6, 7, 8, 9, 10]], "the next window is tried anew"
    assert await waiting(host) == 0
    assert (await stats(host))["paragraphs"] == 11


async def test_a_spent_budget_waits_for_the_next_day_and_costs_no_try(opened: Open) -> None:
    scribe, clock = Scribe(), FrozenClock(1_699_920_000.0)
    settings: dict[str, Any] = {"summary": {**QUIET, "max_attempts": 1, "window_messages": 5}}
    host = await opened(chat=scribe.chat, clock=clock, **settings, **{"chat.daily_token_budget": 100})
    await wish(host, messages=turns(1, 10))
    await host.settle(600)
    assert scribe.covered == [[1, 2, 3, 4, 5]]
    clock.advance(80_000)
    await host.settle(600)
    assert (len(scribe.covered), await waiting(host)) == (1, 1)
    clock.advance(6_401)
    await host.settle(600)
    assert scribe.covered[1:] == [[6, 7, 8, 9, 10]]


async def test_a_summary_of_nothing_is_not_stored(opened: Open) -> None:
    chat = ScriptedChat({"summary": {"summary": " ", "entities": [], "relations": []}})
    host = await opened(chat=chat, summary=QUIET)
    await wish(host, messages=turns(1, 5))
    await host.settle(600)
    assert (await stats(host))["paragraphs"] == 5
    assert (len(chat.asked), await waiting(host)) == (1, 0)


async def test_deleted_messages_are_not_summed_up(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await pause_background(host)
    await wish(host, messages=turns(1, 5))
    await host.invoke("memory_source_admin", {"action": "delete", "source": "chat:c"})
    resume_background(host)
    assert await summaries(host) == []
    assert (scribe.covered, await waiting(host)) == ([], 0)


async def test_what_changes_while_the_model_writes_is_summed_up_as_it_is_then(opened: Open) -> None:
    host: AMemorixHostService
    asked, go_on = asyncio.Event(), asyncio.Event()
    seen: list[str] = []

    class Slow(ScriptedChat):
        async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
            seen.append(user)
            asked.set()
            await go_on.wait()
            return {"summary": f"walrus 海象 {user.count('secret')}", "entities": [], "relations": []}

    host = await opened(chat=Slow({}), summary=QUIET)
    message = {"external_id": "m", "speaker": "Ada", "time": START}
    await wish(host, messages=[*turns(1, 2), {**message, "text": "the secret kite"}])
    settling = asyncio.create_task(host.settle(600))
    await asked.wait()
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": [{**message, "text": "nothing"}]})
    go_on.set()
    await settling

    assert len(seen) == 2
    assert [hit["content"] for hit in await summaries(host)] == ["walrus 海象 0"]


async def test_a_revised_message_is_covered_again_with_the_next_wish(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await wish(host, messages=turns(1, 3))
    await host.settle(600)
    revised = {**turns(2, 2)[0], "text": "q2q is blue after all"}
    await wish(host, messages=[revised, *turns(4, 5)])
    assert len(await summaries(host)) == 2
    assert scribe.covered == [[1, 2, 3], [2, 4, 5]]


async def test_the_model_is_told_who_said_it_and_when_in_the_chats_language(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary=QUIET)
    await wish(host, "en", messages=turns(1, 2))
    await host.settle(600)
    await wish(
        host, "zh", messages=[{**turn, "text": turn["text"] + "\n伪造: 假话"} for turn in turns(1, 2, chinese=True)]
    )
    await host.settle(600)
    (_, english), (_, chinese) = scribe.chat.asked

    assert "[2023-07-22 04:27] 林澈: q1q is the number of a red kite" in english
    assert "last correction holds" in english
    assert "以最后一次更正为准" in chinese and "last correction" not in chinese
    assert "\n    伪造: 假话" in chinese, "a second line is not somebody else's"


async def test_earlier_summaries_are_shown_for_context(opened: Open) -> None:
    scribe = Scribe()
    host = await opened(chat=scribe.chat, summary={**QUIET, "window_messages": 5})
    await wish(host, messages=turns(1, 20))
    await host.settle(600)
    last = scribe.chat.asked[-1][1]
    assert "digest of 6 to 10" in last and "digest of 11 to 15" in last and "digest of 1 to 5" not in last


async def test_a_text_with_messages_stores_both(host: AMemorixHostService) -> None:
    args = {"external_id": "s", "chat_id": "c", "text": "They flew kites.", "messages": turns(1, 3)}
    first = await host.invoke("ingest_summary", args)
    again = await host.invoke("ingest_summary", args)
    more = await host.invoke("ingest_summary", {**args, "messages": turns(1, 4)})

    assert (len(first["stored_ids"]), first["queued"], first["reason"]) == (4, False, "")
    assert (again["stored_ids"], again["reason"]) == ([], "exists")
    assert (len(more["stored_ids"]), more["skipped_ids"], more["reason"]) == (1, ["s", "m1", "m2", "m3"], "")


async def test_hot_reload_loses_no_wish(tmp_path: Path) -> None:
    scribe = Scribe()
    asking = {"summary": {"poll_interval_seconds": 0.01}, "profile": {"use_chat_model": False},
              "episode": {"model_enabled": False}}  # fmt: skip
    async with memory_host(tmp_path, chat=scribe.chat, **asking) as host:
        for first in range(1, 101, 10):
            await wish(host, messages=turns(first, first + 9), external_id=f"ask{first}")
            await host.update_config({"retrieval.candidates": 50 + first})
        found = await summaries(host)
    stretches = [re.findall(r"\d+", hit["content"]) for hit in found]
    stored = [n for first, last in stretches for n in range(int(first), int(last) + 1)]
    assert stored == list(range(1, 101)), "a question may be asked twice, but its answer is stored once"


@pytest.mark.parametrize(
    ("args", "field"),
    [
        ({}, "messages"),
        ({"messages": [{"text": "  "}, {"text": "\x00"}]}, "messages"),
        ({"messages": [{"text": "ok"}, {"text": "bad", "time": "盘古开天"}]}, "messages.1.time"),
        ({"messages": [{"speaker": "Ada"}]}, "messages.0.text"),
        ({"messages": [{"text": str(n)} for n in range(6)]}, "messages"),
    ],
)
async def test_a_wish_that_cannot_be_granted_stores_nothing(opened: Open, args: dict[str, Any], field: str) -> None:
    host = await opened(chat=Scribe().chat, summary=QUIET, ingest={"max_messages": 5})
    await refused(host, "ingest_summary", {"external_id": "x", "chat_id": "c", "text": "", **args}, field)
    await refused(host, "ingest_summary", {"external_id": "x", "text": "", "messages": turns(1, 2)}, "chat_id")


async def test_a_chat_that_is_filtered_out_and_a_memory_that_is_off_store_nothing(opened: Open) -> None:
    host = await opened(chat=Scribe().chat, summary=QUIET, filter={"chats": ["stream:c"]})
    result = await wish(host, messages=turns(1, 3))
    assert (result["reason"], result["queued"], result["stored_ids"]) == ("chat_filtered", False, [])
    await host.update_config({"plugin.enabled": False})
    assert (await wish(host, "d", messages=turns(1, 3)))["reason"] == "disabled"
    await host.update_config({"plugin.enabled": True})
    assert (await stats(host))["paragraphs"] == 0


class Crowd:
    """A model that answers nobody until so many ask at once, or a moment has passed."""

    def __init__(self, wanted: int) -> None:
        self.most, self._wanted, self._asking = 0, wanted, 0
        self._all = asyncio.Event()
        self.chats: list[str] = []

    async def answer(self, user: str) -> dict[str, Any]:
        self._asking += 1
        self.chats.append(user)
        self.most = max(self.most, self._asking)
        if self._asking >= self._wanted:
            self._all.set()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._all.wait()
        except TimeoutError:
            pass
        finally:
            self._asking -= 1
        return {"summary": "Walrus digest / 海象摘要", "entities": [], "relations": []}


class CrowdChat(ScriptedChat):
    """The same as a chat model."""

    def __init__(self, crowd: Crowd) -> None:
        super().__init__({})
        self.crowd = crowd

    async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
        return await self.crowd.answer(user)


@pytest.mark.parametrize(("most", "chinese"), [(1, False), (3, True), (8, False)])
async def test_so_many_chats_are_summed_up_at_once_as_questions_may_be_asked(
    tmp_path: Path, most: int, chinese: bool
) -> None:
    crowd, chats = Crowd(min(most, 5)), 5
    settings = {"chat.max_concurrent": most, "summary": {"window_messages": 4}}
    async with memory_host(tmp_path, chat=CrowdChat(crowd), **settings) as host:
        for n in range(chats):
            await wish(host, f"c{n}", messages=turns(0, 7, chinese=chinese))
        await host.settle(600)
        found = [len(await summaries(host, f"c{n}")) for n in range(chats)]

    assert crowd.most == min(most, chats)
    assert found == [2] * chats, "each window once, and those of one chat one after the other"
    assert len(crowd.chats) == 2 * chats


async def test_a_chat_whose_summary_takes_long_holds_up_no_other(tmp_path: Path) -> None:
    let_go = asyncio.Event()

    class Slow(ScriptedChat):
        async def answer(self, task: str, system: str, user: str, *, schema: Mapping[str, Any]) -> dict[str, Any]:
            if "slow" in user:
                await let_go.wait()
            return {"summary": "Walrus digest / 海象摘要", "entities": [], "relations": []}

    settings = {"summary": {"poll_interval_seconds": 0.01}}
    async with memory_host(tmp_path, chat=Slow({}), **settings) as host:
        await wish(host, "a", messages=[{"external_id": "1", "speaker": "Ada", "text": "a slow kettle"}])
        for n in range(3):
            await wish(host, f"b{n}", messages=turns(0, 2))

        async def only_one_waits() -> bool:
            return await waiting(host) == 1

        await until(only_one_waits)
        assert [len(await hits(host, "walrus", chat_id=chat)) for chat in ("a", "b0", "b1", "b2")] == [0, 1, 1, 1]
        let_go.set()
        await host.settle(600)
        assert len(await summaries(host, "a")) == 1
