"""What a memory makes of what it is told: the shipped cases are sound, and their figures are those of what was found."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amemorix.errors import InvalidRequest
from amemorix.testing import ScriptedChat
from amemorix_bench.knowledge import JUDGED, print_report, run
from amemorix_bench.observations import MOST_WORDS, read_observations

KINDS = {"", "unmeant", "identity", "home", "work", "school", "family", "pets", "possession", "health", "pref", "habit", "skill", "plan", "change"}  # fmt: skip


def test_the_shipped_cases_are_in_both_languages_and_no_training_line() -> None:
    folder = files("amemorix_bench").joinpath("data")
    told = json.loads(folder.joinpath("knowledge.json").read_text("utf-8"))
    assert {kind for _, kind, _ in told["lines"]} == KINDS
    for language in ("zh", "en"):
        assert sum(line[0] == language for line in told["lines"]) >= 190
        assert sum(pair[0] == language for pair in told["pairs"]) == 30
        assert sum(one[0] == language for one in told["corrections"]) == 30
    trained = {
        row.rsplit("\t", 1)[1].casefold()
        for file in folder.joinpath("lines").iterdir()
        for row in file.read_text("utf-8").splitlines()
    }
    short = 8  # "on my way" may well be in both
    assert not [text for _, _, text in told["lines"] if len(text) > short and text.casefold() in trained]


async def test_a_memory_without_a_model_is_judged(tmp_path: Path) -> None:
    corpus = [{
        "sample_id": "c", "qa": [{"question": "Where does Ann work?", "answer": "a bakery", "evidence": ["D1:1"], "category": 4}],
        "conversation": {
            "speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I work at a bakery in Leeds."},
                          {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice one."}],
        },
        "observation": {"session_1_observation": {"Ann": [["Ann works at a bakery in Leeds.", ["D1:1", "D:9:9"]]],
                                                  "Bo": [["Bo restores church organs.", "D1:2"]]}},
        "event_summary": {"events_session_1": {"Ann": ["Ann is promoted at the bakery."], "Bo": [], "date": "8 May, 2023"}},
    }]  # fmt: skip
    (tmp_path / "locomo.json").write_text(json.dumps(corpus))

    def judged(task: str, user: str) -> dict[str, Any]:
        if task == "bench_verdicts":
            return {"verdicts": ["useful" if "bakery" in line else "empty" for line in user.splitlines()[1:]]}
        notes, wanted = user.split("Sentences:")
        return {"told": [1] if "bakery" in notes and "works" in wanted else []}

    judge = ScriptedChat(judged)
    report = await run(tmp_path / "locomo.json", {"embedding.provider": "none"}, judge=judge)

    found = {one.text: (one.kind, one.rests, one.words >= MOST_WORDS, one.told) for one in report.recalled}
    assert found == {
        "Ann works at a bakery in Leeds.": ("observation", True, True, True),
        "Ann is promoted at the bakery.": ("event", None, True, False),
        "Bo restores church organs.": ("observation", False, False, False),
    }
    assert report.verdicts["useful"] == 1
    assert {task for task, _ in judge.asked} == {"bench_told", "bench_verdicts"}

    for part, words in JUDGED.items():
        assert {case.became for case in report.cases if case.part == part} <= {*words}
    assert len(report.cases) == 393 + 60 + 60
    assert report.coverage == {500: 1.0, 1_500: 1.0}
    print_report(report, Console(record=True, quiet=True))
    assert len(json.loads(report.to_json())["cases"]) == len(report.cases)


def test_observations_in_another_shape_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('[{"sample_id": "c", "observation": ["Ann works"]}]')
    with pytest.raises(InvalidRequest):
        read_observations(tmp_path / "odd.json")
