"""The LoCoMo benchmark over two small conversations in its format."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amemorix.bench.locomo import loaded, main, run
from amemorix.bench.locomo_file import read_conversations
from amemorix.bench.locomo_report import breakdown, print_report
from amemorix.errors import InvalidRequest

NO_MODEL = {"embedding.provider": "none"}


def turn(session: int, place: int, speaker: str, text: str, caption: str = "") -> dict[str, Any]:
    said = {"dia_id": f"D{session}:{place}", "speaker": speaker, "text": text}
    return said | ({"blip_caption": caption} if caption else {})


FIRST = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            turn(1, 1, "Ada", "I adopted a greyhound from the shelter yesterday."),
            turn(1, 2, "Ben", "Lovely! What is its name?"),
            turn(1, 3, "Ada", "Her name is Pepper."),
        ],
        "session_2_date_time": "12:09 am on 1 June, 2023",
        "session_2": [
            turn(2, 1, "Ben", "I finished the marathon in Lisbon.", "a photo of a medal with a ribbon"),
            turn(2, 2, "Ada", "Congratulations on the marathon!"),
            turn(2, 3, "Ben", "My knees hurt, but the pastries were worth it."),
        ],
        "session_3_date_time": "9:00 am on 2 June, 2023",
    },
    "qa": [
        {"question": "Where did Ada get the greyhound?", "evidence": ["D1:1"], "category": 4},
        {"question": "What did Ben do in Lisbon?", "evidence": ["D2:1; D:2:3"], "category": 1},
        {"question": "Who won a medal with a ribbon?", "evidence": ["D2:01", "D"], "category": 3},
        {"question": "What is lost?", "evidence": ["D9:9"], "category": 2},
        {"question": "Who said nothing?", "category": 2},
        {"question": "What did Ada do in Lisbon?", "evidence": ["D2:1"], "category": 5},
    ],
}
SECOND = {
    "sample_id": "conv-2",
    "conversation": {
        "session_1_date_time": "10:30 am on 3 March, 2022",
        "session_1": [
            turn(1, 1, "Cleo", "The orchard gave us forty kilos of quinces."),
            turn(1, 2, "Dan", "Quince jam for everybody, then."),
            turn(1, 3, "Cleo", "And cider from the apples."),
            turn(1, 4, "Dan", "I will bring the bottles."),
        ],
    },
    "qa": [{"question": "How many kilos of quinces were there?", "evidence": ["D1:1"], "category": 4}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([FIRST, SECOND]), "utf-8")
    return path


def test_the_file_is_read_leniently(file: Path) -> None:
    first, second = read_conversations(file)

    assert [s.name for s in first.sessions] == ["session_1", "session_2"]
    assert [s.time for s in first.sessions] == ["2023-05-08T13:56:00+00:00", "2023-06-01T00:09:00+00:00"]
    assert first.sessions[1].turns[0].text == (
        "I finished the marathon in Lisbon. [shares a photo of a medal with a ribbon]"
    )
    assert [q.evidence for q in first.questions] == [("D1:1",), ("D2:1", "D2:3"), ("D2:1",), (), (), ("D2:1",)]
    assert [q.unusable for q in first.questions] == [(), (), ("D",), ("D9:9",), (), ()]
    assert second.session_of()["D1:4"] == "session_1"


@pytest.mark.parametrize("text", ["{", '{"a": 1}', '[{"sample_id": "x"}]', "[1]"])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")

    with pytest.raises(InvalidRequest, match="LoCoMo's format"):
        read_conversations(path)


async def test_every_question_with_evidence_is_asked_and_scored(file: Path) -> None:
    report = await run(file, config=NO_MODEL)

    assert (report.conversations, report.turns, report.model) == (("conv-1", "conv-2"), 10, "no model")
    assert (report.without_evidence, report.unusable) == (2, ("conv-1: D", "conv-1: D9:9"))
    assert [r.category for r in report.results] == [4, 1, 3, 5, 4]
    first = report.results[0]
    assert (first.conversation, first.found[0], first.score.mrr) == ("conv-1", "D1:1", 1.0)
    assert (first.floor_found, first.floor.mrr, first.floor.session_1) == (("D1:1", "D1:3", "D2:2"), 1.0, 1.0)
    assert all(0 < r.milliseconds < 60_000 and len(r.found) <= 20 for r in report.results)


async def test_conversations_and_questions_can_be_chosen(file: Path) -> None:
    report = await run(file, conversations=["conv-1"], limit=2, config=NO_MODEL)

    assert report.conversations == ("conv-1",)
    assert [r.question for r in report.results] == [
        "Where did Ada get the greyhound?",
        "Who won a medal with a ribbon?",
    ]
    with pytest.raises(InvalidRequest, match="no conversation 'conv-9'"):
        await run(file, conversations=["conv-9"], config=NO_MODEL)


async def test_a_loaded_bench_can_be_asked_again_with_other_settings(file: Path) -> None:
    async with loaded(file, conversations=["conv-2"], config=NO_MODEL) as bench:
        before = await bench.ask()
        after = await bench.ask(config={"retrieval.sparse.enabled": False}, categories=[4])

    assert before.results[0].found[0] == "D1:1"
    assert len(after.results) == 1
    assert after.results[0].found != before.results[0].found


async def test_the_breakdown_keeps_the_adversarial_questions_apart(file: Path) -> None:
    report = await run(file, config=NO_MODEL)

    lines = breakdown(report)

    assert [(line.label, line.questions) for line in lines] == [
        ("multi-hop", 1),
        ("open-domain", 1),
        ("single-hop", 2),
        ("all", 4),
        ("adversarial", 1),
    ]
    overall = next(line for line in lines if line.label == "all")
    assert overall.score.recall_10 == pytest.approx(
        sum(r.score.recall_10 for r in report.results if r.category != 5) / 4
    )
    assert overall.interval.low <= overall.score.recall_10 <= overall.interval.high


async def test_the_tables_name_categories_floor_latency_and_what_was_unusable(file: Path) -> None:
    printed = io.StringIO()

    print_report(await run(file, config=NO_MODEL), Console(width=140, file=printed))

    text = printed.getvalue()
    for words in (
        "single-hop",
        "adversarial",
        "plain BM25 over turns",
        "NDCG@10",
        "p95",
        "2 unusable evidence entries",
    ):
        assert words in text


def test_the_command_writes_raw_results(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"

    main([str(file), "--json", str(out), "--conversations", "conv-2", "--set", "embedding.provider=none"])

    results = json.loads(out.read_text("utf-8"))["results"]
    assert [r["evidence"] for r in results] == [["D1:1"]]
    assert results[0]["score"]["recall_10"] == 1.0
    assert "search_memory" in capsys.readouterr().out
