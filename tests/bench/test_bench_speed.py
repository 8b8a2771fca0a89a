"""The speed benchmark on a store of three hundred paragraphs."""

from __future__ import annotations

import io
import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from amemorix.errors import InvalidRequest
from amemorix_bench.corpus import calls, fresh_texts, questions, span_of
from amemorix_bench.heartbeat import heartbeat
from amemorix_bench.machine import describe_machine, resident_mib
from amemorix_bench.speed.report import print_report, report_rows
from amemorix_bench.speed.run import MEASURES, Effort, SpeedReport, run
from amemorix_bench.speed.store import perturbed
from amemorix_bench.workspace import open_memory, read_setting

NO_MODEL = {"embedding.provider": "none", "facts.enabled": False}
ROWS = 300
EFFORT = Effort(searches=5, pages=2, embedded_texts=50, seconds=0.3, runs=1)


def test_the_corpus_is_the_same_every_time_and_has_the_size_asked_for() -> None:
    made = list(calls(2_600))

    assert made == list(calls(2_600))
    assert sum(len(call.messages) for call in made) == 2_600
    assert {call.chat_id for call in made} == {"chat-00000", "chat-00001", "chat-00002"}
    assert [call.chat_id for call in made[:4]] == ["chat-00000", "chat-00001", "chat-00002", "chat-00000"]
    keys = [(call.chat_id, m["external_id"]) for call in made for m in call.messages]
    assert len(set(keys)) == 2_600


def test_its_texts_are_like_small_talk() -> None:
    messages = list(chain.from_iterable(call.messages for call in calls(2_000)))
    first, last = span_of(2_000)

    assert 120 < sum(len(m["text"]) for m in messages) / 2_000 < 160
    assert len({m["text"] for m in messages}) > 1_950
    assert len({m["speaker"] for m in messages}) <= 4
    assert all(first <= m["time"] <= last for m in messages)
    assert not any("{" in m["text"] for m in messages)


def test_questions_differ_from_each_other_and_name_a_chat_that_exists() -> None:
    asked = questions(200, 2_000, "a")

    assert len({q.text for q in asked}) == 200
    assert {q.chat_id for q in asked} == {"chat-00000", "chat-00001"}
    assert asked == questions(200, 2_000, "a") != questions(200, 2_000, "b")
    assert fresh_texts(3, "a") == fresh_texts(3, "a") != fresh_texts(3, "b")


def test_perturbed_vectors_are_unit_vectors_near_their_original() -> None:
    sample = np.eye(3, 384, dtype=np.float32)

    made = perturbed(sample, np.array([0, 1, 2, 3], np.int64))

    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    cosines = [float(made[i] @ sample[i % 3]) for i in range(4)]
    assert all(0.7 < cosine < 0.9 for cosine in cosines)
    assert float(made[0] @ made[3]) < 0.8
    assert np.array_equal(made, perturbed(sample, np.array([0, 1, 2, 3], np.int64)))


async def test_the_heartbeat_notices_what_blocks_the_loop() -> None:
    import asyncio
    import time

    async with heartbeat() as pulse:
        await asyncio.sleep(0.01)
        time.sleep(0.05)  # noqa: ASYNC251 - it is what is measured
        await asyncio.sleep(0.01)

    assert 40 < pulse.longest < 60_000
    assert pulse.p99 <= pulse.longest


def test_the_machine_describes_itself(tmp_path: Path) -> None:
    machine = describe_machine(tmp_path)

    assert machine.cores >= 1
    assert machine.sync_ms > 0
    assert "Python 3" in machine.line()
    assert list(tmp_path.iterdir()) == []
    assert 10 < resident_mib() < 100_000


def test_a_setting_is_read_from_its_text() -> None:
    assert read_setting("retrieval.candidates=50") == ("retrieval.candidates", 50)
    assert read_setting("embedding.provider=none") == ("embedding.provider", "none")
    assert read_setting('filter.chats=["a=b"]') == ("filter.chats", ["a=b"])


async def test_everything_is_measured(tmp_path: Path) -> None:
    report = await run(ROWS, data_dir=tmp_path, config=NO_MODEL, effort=EFFORT)

    assert (report.rows, report.model, report.embedding) == (ROWS, "no model", None)
    assert report.fill.rate > 10
    assert [(s.mode, s.scoped) for s in report.searches] == [
        (mode, scoped) for scoped in (False, True) for mode in ("search", "time", "hybrid", "episode", "aggregate")
    ]
    assert all(0 < s.p50 <= s.p95 and s.cpu > 0 and s.hits > 0 for s in report.searches)
    assert all(0 < one.p50 <= one.p95 and one.first > 0 for one in report.pages)
    assert [one.page for one in report.pages if one.over is not None] == ["search"]
    assert report.singles and report.singles.texts > 1
    assert report.small_singles and report.small_singles.rows == ROWS
    assert report.load and report.load.writes > 1 and report.load.searches > 1
    assert [(r.name, r.failed) for r in report.reloads] == [("live setting", 0), ("all indexes from rows", 0)]
    assert report.derive and report.derive.episodes >= report.derive.sources >= 1
    assert 0 < report.derive.loop_share < 1
    assert report.process and report.empty_process
    assert 0 < report.process.ready_seconds <= report.process.answer_seconds < 120
    assert 20 < report.empty_process.rss_mib < 10_000
    _assert_printable(report)
    await _assert_left_as_it_was(tmp_path)


def _assert_printable(report: SpeedReport) -> None:
    printed = io.StringIO()
    print_report(report, Console(width=140, file=printed))
    text = printed.getvalue()
    for row in report_rows(report):
        assert row.name in text
    assert json.loads(report.to_json())["searches"][0]["mode"] == "search"


async def _assert_left_as_it_was(folder: Path) -> None:
    """What the measures stored has been deleted."""
    async with open_memory(folder, NO_MODEL) as host:
        assert (await host.invoke("memory_stats"))["paragraphs"] == ROWS


async def test_a_filled_store_is_used_again_and_only_what_is_named_is_measured(tmp_path: Path) -> None:
    first = await run(ROWS, data_dir=tmp_path, only=["load"], config=NO_MODEL, effort=EFFORT)
    said: list[str] = []

    again = await run(
        ROWS, data_dir=tmp_path, only=["search"], config=NO_MODEL, effort=EFFORT,
        on_progress=lambda what, done, rows: said.append(what),
    )  # fmt: skip

    assert first.load is not None and not first.searches
    assert again.fill == first.fill
    assert again.searches and again.load is None and again.process is None
    assert "storing" not in said


async def test_a_folder_with_anything_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")

    with pytest.raises(InvalidRequest, match="is not empty"):
        await run(ROWS, data_dir=tmp_path, config=NO_MODEL, effort=EFFORT)

    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


async def test_an_unknown_measure_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no measure 'luck'"):
        await run(10, only=["luck"])
    assert MEASURES == ("search", "console", "embedding", "ingest", "load", "reload", "derive", "process")


async def test_vectors_of_the_fill_leave_nothing_pending(tmp_path: Path, local_model: str) -> None:
    report = await run(200, data_dir=tmp_path, only=["embedding"], effort=EFFORT)

    assert report.model == local_model
    assert report.fill.vectors == 200
    assert report.embedding and report.embedding.rate > 1
    async with open_memory(tmp_path) as host:
        stats = await host.invoke("memory_stats")
    assert (stats["paragraphs"], stats["embedding"]["pending"]) == (200, 0)
