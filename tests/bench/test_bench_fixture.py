"""The group chat fixture: stored as a host would, and its cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amemorix.frontends.cli.main import app
from amemorix_bench.fixture.run import groups, run
from bench_samples import FIXTURE, NO_MODEL, written_json


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written_json(tmp_path, "fixture.json", FIXTURE)


async def test_cases_pass_when_their_words_are_found(file: Path) -> None:
    report = await run(file, config=NO_MODEL)

    passed = {group.name: (group.passed, group.cases) for group in groups(report)}
    assert passed == {
        "search": (1, 2), "knowledge_fetcher": (1, 1), "aggregate": (2, 3), "time": (1, 1), "hybrid": (1, 1),
        "episode": (1, 1), "profile": (1, 1), "writeback": (1, 1), "negative_control": (1, 1),
    }  # fmt: skip
    failed = report.results[1]
    assert (failed.query, failed.recall, failed.missing) == ("码头仓库 钥匙", 0.5, ("保险箱",))
    assert groups(report)[0].required == {"keyword_recall_at_5": 0.8}


async def test_a_hit_of_another_day_or_a_hit_at_all_can_be_a_failure(tmp_path: Path) -> None:
    """Each fails for a reason of its own: nothing was said that day, and what was said is found."""
    damaged = FIXTURE | {
        "time_cases": [FIXTURE["time_cases"][0] | {"time_expression": "2026/04/03"}],
        "negative_control_cases": [{"query": "小木船 船桨"}],
    }

    report = await run(written_json(tmp_path, "other.json", damaged), config=NO_MODEL)

    passed = {group.name: group.passed for group in groups(report)}
    assert (passed["time"], passed["hybrid"], passed["negative_control"]) == (0, 0, 0)


async def test_a_fixture_without_talk_dates_and_controls_is_run(tmp_path: Path) -> None:
    """As the one of a novel: a private chat, known by imports, summaries and facts, with figures that are not by kind."""
    left_out = ("simulated_stream_batches", "time_cases", "negative_control_cases")
    novel = {key: value for key, value in FIXTURE.items() if key not in left_out} | {
        "session": {"session_id": "private:novel", "group_id": "", "user_id": "10001"},
        "meta": {"quantitative_targets": {"search_accuracy_at_1": 0.35, "profile_success_rate": 0.66}},
    }

    report = await run(written_json(tmp_path, "novel.json", novel), config=NO_MODEL)

    found = {group.name: group for group in groups(report)}
    assert list(found) == ["search", "knowledge_fetcher", "aggregate", "episode", "profile", "writeback"]
    assert found["search"].required == {"accuracy_at_1": 0.35}
    assert found["profile"].required == {"success_rate": 0.66}
    assert found["profile"].passed == 1


def test_the_command_prints_every_case_and_a_figure_a_group(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    shown = CliRunner().invoke(
        app, ["bench", "fixture", str(file), "--json", str(out), "--set", "embedding.provider=none"]
    )

    assert shown.exit_code == 0, shown.output
    for words in ("小木船 船桨", "保险箱", "FAIL", "negative_control", "1 of 2", "keyword_recall_at_5 0.8"):
        assert words in shown.output, words
    summary = json.loads(out.read_text("utf-8"))["summary"]
    assert {one["name"]: one["passed"] for one in summary}["search"] == 1
