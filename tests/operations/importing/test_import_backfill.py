"""Paragraphs without a time get the one that they name, else the one when they were stored."""

from __future__ import annotations

from datetime import UTC, datetime

from amemorix import AMemorixHostService
from amemorix.testing import FrozenClock
from conftest import Open
from entrance import contents, hits, said, told
from import_entrance import admin, imported


def epoch(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, tzinfo=UTC).timestamp()


async def filled(host: AMemorixHostService) -> None:
    await told(host, "我们在2021年5月3日去了青岛。", external_id="zh")
    await told(host, "We flew to Porto on 4 July 2022.", external_id="en")
    await told(host, "The kite is red.", external_id="none")
    await told(host, "Dated already: 4 July 2022.", external_id="dated", timestamp="2020-01-01")
    await said(host, "c", ("Ada", "the lamp", 1000))


async def start_of(host: AMemorixHostService, query: str) -> float | None:
    return (await hits(host, query))[0]["time"]["start"]


async def test_times_come_from_the_text_or_from_when_it_was_stored(host: AMemorixHostService) -> None:
    await filled(host)
    task = await imported(host, "create_temporal_backfill")
    assert (task["status"], task["progress"]) == ("completed", 1.0)
    assert task["counts"] == {"by_text": 2, "by_recorded_time": 1}
    assert await start_of(host, "青岛") == epoch(2021, 5, 3)
    assert await start_of(host, "Porto") == epoch(2022, 7, 4)
    assert await start_of(host, "kite") == FrozenClock().now()
    assert await start_of(host, "Dated already") == epoch(2020, 1, 1)
    in_may = await contents(host, mode="time", time_start="2021-05-01", time_end="2021-05-31")
    assert in_may == ["我们在2021年5月3日去了青岛。"]
    again = await imported(host, "create_temporal_backfill")
    assert again["counts"] == {}


async def test_what_names_no_time_may_be_left_alone(host: AMemorixHostService) -> None:
    await filled(host)
    task = await imported(host, "create_temporal_backfill", no_created_fallback=True)
    assert task["counts"] == {"by_text": 2, "left_undated": 1}
    assert await start_of(host, "kite") is None


async def test_trying_changes_nothing(host: AMemorixHostService) -> None:
    await filled(host)
    task = await imported(host, "create_temporal_backfill", dry_run=True)
    assert task["counts"] == {"by_text": 2, "by_recorded_time": 1}
    assert await start_of(host, "青岛") is None


async def test_no_more_than_the_limit_is_looked_at(opened: Open) -> None:
    host = await opened(imports={"chunk_records": 2})
    for n in range(7):
        await told(host, f"kite {n}")
    task = await imported(host, "create_temporal_backfill", limit=5)
    assert (task["records"], task["counts"]) == (5, {"by_recorded_time": 5})
    assert [chunk["records"] for chunk in task["files"][0]["chunk_list"]] == [2, 2, 1]
    assert (await imported(host, "create_temporal_backfill"))["counts"] == {"by_recorded_time": 2}


async def test_an_empty_memory_has_nothing_to_date(host: AMemorixHostService) -> None:
    task = await imported(host, "create_temporal_backfill")
    assert (task["status"], task["counts"]) == ("completed", {})
    assert (await admin(host, "list"))["items"][0]["kind"] == "temporal_backfill"
