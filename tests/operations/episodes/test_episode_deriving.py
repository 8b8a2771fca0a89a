"""The deriving of episodes: only what changed is read and written, ids stay, and nothing is lost or done twice."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

import pace
from amemorix import AMemorixHostService
from amemorix.episodes import grouping as episode_grouping
from amemorix.episodes import rows as episode_rows
from amemorix.episodes.service import EpisodeService
from amemorix.testing import FrozenClock, memory_host
from conftest import Open
from entrance import admin_of, change, rows, said, told
from lives import Life, Tell

DAY = 86_400.0
START = 1_680_000_000.0
MANUAL = {"poll_interval_seconds": 3600, "debounce_seconds": 0}
UNREAD = {"enabled": False}
"""For facts, where thousands of lines are told that all speak of one person."""
COMPONENT = "memory_episode_admin"


asked = admin_of(COMPONENT)


async def listed(host: AMemorixHostService) -> list[tuple[str, int, int]]:
    """(id, revision, paragraphs) of every episode, the oldest first."""
    items = (await asked(host, "list", limit=200))["items"]
    return [(item["episode_id"], item["revision"], item["paragraph_count"]) for item in reversed(items)]


async def until(host: AMemorixHostService, name: str, value: int) -> None:
    """Wait until the status says so."""

    async def so() -> bool:
        return (await asked(host, "status"))[name] == value

    await pace.until(so, f"{name} never came to {value}")


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many paragraphs each page held that was read from now on."""
    pages: list[int] = []
    read = episode_rows.material

    def counted(*args: Any) -> Any:
        found = read(*args)
        pages.append(len(found))
        return found

    monkeypatch.setattr(episode_rows, "material", counted)
    return pages


async def test_episodes_that_do_not_change_are_not_written_again(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(episode=MANUAL, clock=clock)
    await said(host, "c", *[("Ada", f"kite {n}", START + n * 2 * DAY) for n in range(4)])
    await host.settle(600)
    before = (await asked(host, "list"))["items"]
    clock.advance(1000)
    await said(host, "c", ("Ada", "one more kite", START + 6 * DAY + 60))
    await host.settle(600)
    after = (await asked(host, "list"))["items"]

    assert after[1:] == before[1:]
    assert (after[0]["episode_id"], after[0]["revision"], after[0]["paragraph_count"]) == (
        before[0]["episode_id"], 2, 2,
    )  # fmt: skip
    assert after[0]["derived_at"] == before[0]["derived_at"] + 1000


@pytest.mark.parametrize("words", ["a kite", "风筝"])
async def test_an_edit_keeps_the_id_and_counts_the_revision(opened: Open, words: str) -> None:
    host = await opened(episode=MANUAL)
    turns = [{"external_id": f"m{n}", "speaker": "Ada", "text": f"{words} {n}", "time": START + n} for n in range(5)]
    await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns})
    await host.settle(600)
    (first,) = await listed(host)
    for changed in (2, 0):
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": [turns[changed] | {"text": f"new {words}"}]})
        await host.settle(600)

    assert await listed(host) == [(first[0], 3, 5)]


async def test_an_episode_that_is_cut_in_two_goes_on_as_its_beginning(opened: Open) -> None:
    host = await opened(episode={**MANUAL, "gap_hours": 1})
    await said(host, "c", ("Ada", "kite", START), ("Ada", "lamp", START + 7200), ("Ada", "rope", START + 7300))
    await told(host, "bridge", source="chat:c", chat_id="c", timestamp=START + 3600, external_id="bridge")
    await host.settle(600)
    (whole,) = await listed(host)
    await told(host, "gone", source="chat:c", chat_id="c", timestamp=START + 90 * DAY, external_id="bridge")
    await host.settle(600)

    assert await listed(host) == [(whole[0], 2, 1), ("e2", 1, 2), ("e3", 1, 1)]


async def test_an_appended_paragraph_reads_its_neighbourhood_only(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await opened(episode={**MANUAL, "max_paragraphs": 20}, facts=UNREAD)
    await said(host, "c", *[("Ada", f"kite {n % 7} wind", START + n * 60) for n in range(3000)])
    await host.settle(600)
    before = await listed(host)
    pages = counting(monkeypatch)
    await said(host, "c", ("Ada", "one more", START + 3000 * 60))
    await host.settle(600)
    after = await listed(host)

    assert 0 < sum(pages) <= 2 * 20 + 1
    assert len(set(before) ^ set(after)) <= 2


async def test_a_revision_in_a_very_long_source_reads_a_page_or_two(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6,000 paragraphs: an edit of an old turn, and one far away in the same step, are two places and not a stretch."""
    host = await opened(episode=MANUAL, facts=UNREAD)
    for at in range(0, 6_000, 2_000):
        turns = [
            {"external_id": f"m{n}", "speaker": "Ada", "text": f"kite {n % 11} over the bay {n % 5}",
             "time": START + n * 60 + (n // 500) * 2 * DAY}
            for n in range(at, at + 2_000)
        ]  # fmt: skip
        await host.invoke("ingest_messages", {"chat_id": "c", "messages": turns})
    await host.settle(600)
    before = await written(host)
    pages = counting(monkeypatch)

    await edited(host, 3_003)
    await host.settle(600)
    once = sum(pages)
    await edited(host, 901, 5_555)
    await host.settle(600)

    assert 0 < once <= 2 * episode_grouping.PAGE
    assert sum(pages) - once <= 4 * episode_grouping.PAGE
    after = await written(host)
    assert len(after) == len(before)
    assert 3 <= len(set(after) - set(before)) <= 6, "no more than the edited episodes have a new revision"
    assert sum(count for _, _, count in after) == 6_000


async def edited(host: AMemorixHostService, *turns: int) -> None:
    messages = [
        {"external_id": f"m{n}", "speaker": "Ada", "text": f"something else {n}", "time": START + n * 60 + (n // 500) * 2 * DAY}
        for n in turns
    ]  # fmt: skip
    result = await host.invoke("ingest_messages", {"chat_id": "c", "messages": messages})
    assert [one["status"] for one in result["results"]] == ["revised"] * len(turns)


async def written(host: AMemorixHostService) -> list[tuple[int, int, int]]:
    """(id, revision, paragraphs) of every episode."""
    query = "select id, revision, paragraph_count from episodes order by id"
    return rows(host, query)


async def grouping(host: AMemorixHostService) -> list[list[int]]:
    """The paragraphs of every episode."""
    query = "select episode, paragraph from episode_paragraphs order by episode, position"
    found: dict[int, list[int]] = {}
    for episode, paragraph in rows(host, query):
        found.setdefault(episode, []).append(paragraph)
    return sorted(found.values())


@pytest.mark.parametrize("apart", [60.0, 0.0])
async def test_a_long_source_done_in_slices_comes_out_the_same(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apart: float
) -> None:
    """Also where hundreds of paragraphs have the same time."""
    topics = ("kite wind sky string cloud", "cake oven sugar lemon flour", "船 绳子 桅杆 港口 灯塔")
    turns = [("Ada", f"{topics[n // 40 % 3]} {n}", START + (n // 90) * 3600 + apart * (n % 90)) for n in range(700)]
    settings = {**MANUAL, "max_paragraphs": 30}
    whole = await opened(tmp_path / "whole", episode=settings, facts=UNREAD)
    await said(whole, "c", *turns)
    await whole.settle(600)
    monkeypatch.setattr(episode_grouping, "SLICE", 100)
    monkeypatch.setattr(episode_grouping, "PAGE", 50)
    sliced = await opened(tmp_path / "sliced", episode=settings, facts=UNREAD)
    await said(sliced, "c", *turns)
    assert (await asked(sliced, "process_pending"))["processed"] > 3

    assert await grouping(sliced) == await grouping(whole)
    assert {revision for _, revision, _ in await written(sliced)} <= {1, 2}


async def test_talk_in_full_flow_waits_for_the_pause_of_the_settings(opened: Open) -> None:
    clock = FrozenClock()
    host = await opened(episode={"poll_interval_seconds": 0.01, "debounce_seconds": 60}, clock=clock)
    await said(host, "c", ("Ada", "kite", START))
    await until(host, "lag", 0)
    await said(host, "c", ("Ada", "lamp", START + 1))
    await until(host, "pending", 1)
    await asyncio.sleep(0.1)
    assert (await asked(host, "status"))["pending"] == 1
    assert await listed(host) == []
    clock.advance(61)
    await until(host, "completed", 1)

    assert await listed(host) == [("e1", 1, 2)]


async def test_a_failure_keeps_its_reason_and_is_tried_again_a_few_times(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = FrozenClock()
    settings = {**MANUAL, "retry_seconds": 10, "retry_max_seconds": 15, "max_attempts": 3}
    host = await opened(episode=settings, clock=clock)
    derive = episode_grouping.derive

    def broken(db: Any, source: int, *args: Any, **more: Any) -> Any:
        if broken_sources and source in broken_sources:
            raise RuntimeError("the oven is cold 烤箱是冷的")
        return derive(db, source, *args, **more)

    monkeypatch.setattr(episode_grouping, "derive", broken)
    broken_sources = {1}
    await said(host, "c", ("Ada", "kite", START))
    await said(host, "d", ("Ada", "lamp", START))
    waits: list[float] = []
    for attempt in range(1, 4):
        await host.settle(600)
        status = await asked(host, "status")
        (failure,) = status["failures"]
        assert (status["failed"], status["completed"]) == (1, 1)
        assert (failure["source"], failure["chat_id"], failure["attempts"]) == ("chat:c", "c", attempt)
        assert "烤箱是冷的" in failure["error"]
        assert failure["given_up"] == (attempt == 3)
        waits.append(failure["next_at"] - clock.now())
        clock.advance(waits[-1])
    await host.settle(600)
    assert waits == [10, 15, 15]
    assert (await asked(host, "status"))["failures"][0]["attempts"] == 3, "it has been given up"

    assert (await asked(host, "process_pending"))["failed"] >= 1
    broken_sources.clear()
    assert (await asked(host, "process_pending"))["rebuilt"] == 1
    assert (await asked(host, "status"))["failed"] == 0
    assert len(await listed(host)) == 2
    assert "the oven is cold" in caplog.text


async def test_news_of_a_source_that_failed_is_a_new_beginning(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await opened(episode={**MANUAL, "max_attempts": 1})
    with monkeypatch.context() as patch:
        patch.setattr(episode_grouping, "derive", lambda *_, **__: 1 / 0)
        await said(host, "c", ("Ada", "kite", START))
        await host.settle(600)
    assert (await asked(host, "status"))["failures"][0]["given_up"]
    await said(host, "c", ("Ada", "lamp", START + 1))
    await host.settle(600)

    assert await listed(host) == [("e1", 1, 2)]


async def test_work_is_thrown_away_when_another_has_taken_it_over(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is lost between the working out and the storing: only the other's work is stored, once."""
    host = await opened(episode=MANUAL)
    await said(host, "c", ("Ada", "kite", START), ("Ada", "lamp", START + 2 * DAY))
    derive = EpisodeService._derive
    stored: list[Any] = []

    async def robbed(self: EpisodeService, source: int) -> Any:
        found = await derive(self, source)
        stored.append(rows(host, "select * from episodes"))
        if len(stored) == 1:
            change(host, "update tasks set worker = 'robber' where kind = 'episodes'")
        return found

    monkeypatch.setattr(EpisodeService, "_derive", robbed)
    while len(stored) < 2:
        await host.settle(600)

    assert stored == [[], []], "what was worked out first was not stored"
    assert await written(host) == [(1, 1, 1), (2, 1, 1)]
    assert (await asked(host, "status"))["completed"] == 1


async def test_news_that_come_while_it_is_worked_on_are_not_lost(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    host = await opened(episode=MANUAL)
    await said(host, "c", ("Ada", "kite", START))
    derive = EpisodeService._derive
    spoken: list[bool] = []

    async def interrupted(self: EpisodeService, source: int) -> Any:
        found = await derive(self, source)
        if not spoken:
            spoken.append(True)
            await said(host, "c", ("Ada", "lamp", START + 1))
            await self._take_up()
        return found

    monkeypatch.setattr(EpisodeService, "_derive", interrupted)
    await host.settle(600)

    assert await written(host) == [(1, 2, 2)]


async def test_a_paragraph_that_is_removed_takes_the_words_of_its_episode_along(opened: Open) -> None:
    """A purge removes rows: no episode may go on telling of them, and the rest is grouped again."""
    host = await opened(episode=MANUAL)
    await said(host, "c", ("Ada", "the secret walrus", START), ("Ada", "an open kite", START + 1))
    await host.settle(600)
    change(host, "delete from paragraphs where content like '%secret%'")
    counts = "select (select count(*) from episodes), (select count(*) from episode_terms)"
    assert rows(host, counts) == [(0, 0)]
    await host.settle(600)

    assert [item["summary"] for item in (await asked(host, "list"))["items"]] == ["Ada (2023-03-28): an open kite"]


async def live(tell: Tell, folder: Path) -> None:
    settings = {"poll_interval_seconds": 0.01, "debounce_seconds": 0, "max_paragraphs": 8, "max_attempts": 50}
    async with memory_host(folder, episode=settings, facts=UNREAD) as host:
        tell("open")
        await host.settle(600)


async def test_a_kill_at_any_moment_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """Episodes of 40 sources, killed several times while they are made; then each paragraph is in exactly one."""
    quiet = {"poll_interval_seconds": 3600, "max_paragraphs": 8, "max_attempts": 50}  # each kill counts as a try
    topics = ("kite wind sky", "cake oven sugar", "风筝 线 天空")
    async with memory_host(tmp_path / "killed", episode=quiet, facts=UNREAD) as host:
        await fill(host, topics)
    shutil.copytree(tmp_path / "killed", tmp_path / "calm")
    async with memory_host(tmp_path / "calm", episode={**quiet, "debounce_seconds": 0}, facts=UNREAD) as host:
        await host.settle(600)
        wanted = await grouping(host)
    for delay in (0.0, 0.02, 0.05, 0.1, 0.15):
        killed(tmp_path / "killed", delay)
    async with memory_host(tmp_path / "killed", episode={**quiet, "debounce_seconds": 0}, facts=UNREAD) as host:
        await host.settle(600)
        assert (await asked(host, "status"))["completed"] == 40, await asked(host, "status")
        assert await grouping(host) == wanted
        assert {revision for _, revision, _ in await written(host)} == {1}, "no episode was made twice"


async def fill(host: AMemorixHostService, topics: tuple[str, ...]) -> None:
    for chat in range(40):
        await said(host, f"c{chat}", *[("Ada", f"{topics[n // 12 % 3]} {n}", START + n * 60) for n in range(50)])


def killed(folder: Path, delay: float) -> None:
    """Open the memory in a process of its own and kill it so long after it was open."""
    life = Life(live, folder)
    assert life.heard() == "open"
    time.sleep(delay)
    life.kill()
