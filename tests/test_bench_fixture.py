"""The group chat fixture: stored as a host would, and its cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from amemorix.bench.fixture import groups, run
from amemorix.frontends.cli import app
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
