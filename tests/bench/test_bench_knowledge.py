"""What a memory makes of what it is told: the shipped cases are sound, and their figures are those of what was found."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from amemorix_bench.knowledge import JUDGED, print_report, run

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
    }]  # fmt: skip
    (tmp_path / "locomo.json").write_text(json.dumps(corpus))

    report = await run(tmp_path / "locomo.json", {"embedding.provider": "none"})

    for part, words in JUDGED.items():
        assert {case.became for case in report.cases if case.part == part} <= {*words}
    assert len(report.cases) == 393 + 60 + 60
    assert report.coverage == {500: 1.0, 1_500: 1.0}
    print_report(report, Console(record=True, quiet=True))
    assert len(json.loads(report.to_json())["cases"]) == len(report.cases)
