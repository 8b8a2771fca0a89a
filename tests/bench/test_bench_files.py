"""The formats that benchmarks are read from, and what they are read into."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from amemorix.errors import InvalidRequest
from amemorix_bench.fixture.file import read_fixture
from amemorix_bench.recall.chinese import read_chinese
from amemorix_bench.recall.dataset import Dataset, spread
from amemorix_bench.recall.locomo import read_locomo
from amemorix_bench.recall.longmemeval import read_longmemeval
from bench_samples import CHINESE, FIXTURE, LOCOMO, LONGMEMEVAL, written_json


def at(year: int, month: int, day: int, hour: int, minute: int) -> float:
    return datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()


def test_locomo_is_read_leniently(tmp_path: Path) -> None:
    dataset = read_locomo(written_json(tmp_path, "locomo.json", LOCOMO))

    first, second = dataset.corpora
    assert [s.id for s in first.sessions] == ["session_1", "session_2"]
    assert [s.time for s in first.sessions] == [at(2023, 5, 8, 13, 56), at(2023, 6, 1, 0, 9)]
    shared = first.sessions[1].turns[0]
    assert shared.text == "I finished the marathon in Lisbon. [shares a photo of a medal with a ribbon]"
    assert shared.extra == {"blip_caption": "a photo of a medal with a ribbon"}
    assert [q.evidence for q in first.questions] == [("D1:1",), ("D2:1", "D2:3"), ("D2:1",), (), (), ("D2:1",)]
    assert [q.sessions for q in first.questions][:3] == [("session_1",), ("session_2",), ("session_2",)]
    assert [q.unusable for q in first.questions] == [(), (), ("D",), ("D9:9",), (), ()]
    assert [q.category for q in first.questions][::5] == ["single-hop", "adversarial"]
    assert "adversarial" not in dataset.headline
    assert (dataset.turns, second.key("D1:4")) == (10, "conv-2/D1:4")


def longmemeval_as_lines(folder: Path) -> Path:
    path = folder / "longmemeval.jsonl"
    path.write_text("\n".join(json.dumps(item) for item in LONGMEMEVAL) + "\n", "utf-8")
    return path


def longmemeval_as_array(folder: Path) -> Path:
    return written_json(folder, "longmemeval_s.json", LONGMEMEVAL)


@pytest.mark.parametrize("write", [longmemeval_as_array, longmemeval_as_lines])
@pytest.mark.parametrize("block", [7, 1 << 22])
def test_longmemeval_is_read_from_an_array_and_from_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path], block: int
) -> None:
    monkeypatch.setattr("amemorix_bench.recall.longmemeval._BLOCK", block)

    dataset = read_longmemeval(write(tmp_path))

    cello, violin = dataset.corpora
    assert [s.id for s in cello.sessions] == ["answer_1", "later", "later#2"]
    assert cello.sessions[0].time == at(2023, 5, 20, 2, 21)
    assert [(t.id, t.speaker) for t in cello.sessions[0].turns] == [("answer_1:1", "user"), ("answer_1:2", "assistant")]
    question = cello.questions[0]
    assert (question.evidence, question.sessions, question.unusable) == (("answer_1:1",), ("answer_1",), ("answer_9",))
    assert (question.category, question.asked_at) == ("single-session-user", at(2023, 5, 30, 23, 40))
    assert (violin.questions[0].category, violin.questions[0].evidence) == ("abstention", ())
    assert [c.id for c, _ in dataset.judged()] == ["q-cello", "q-violin_abs"]
    assert (dataset.unanswerable, "abstention" in dataset.headline) == ("abstention", False)


@pytest.mark.parametrize(
    ("questions", "chat", "speaker", "said", "asked"),
    [
        ("zh", "zh", "陆晴", "我报了周末的陶艺课", "谁报了陶艺课？"),
        ("zh", "en", "Qing", "I signed up for the weekend pottery class", "谁报了陶艺课？"),
        ("en", "zh", "陆晴", "我报了周末的陶艺课", "Who signed up for the pottery class?"),
    ],
)
def test_the_chinese_set_is_read_in_either_language(
    tmp_path: Path, questions: Any, chat: Any, speaker: str, said: str, asked: str
) -> None:
    dataset = read_chinese(written_json(tmp_path, "tiny.json", CHINESE), questions=questions, chat=chat)

    corpus = dataset.corpora[0]
    first = corpus.sessions[0].turns[0]
    assert (corpus.id, first.speaker, first.text, corpus.questions[0].text) == ("zh_tiny", speaker, said, asked)
    assert corpus.sessions[0].time == at(2025, 3, 2, 11, 30)
    assert [(q.category, q.evidence, q.sessions) for q in corpus.questions] == [
        ("keyword", ("s01m01",), ("s01",)),
        ("person", ("s02m01",), ("s02",)),
        ("multi", ("s01m01", "s03m01"), ("s01", "s03")),
    ]
    assert {q.asked_at for q in corpus.questions} == {at(2025, 7, 1, 4, 10)}
    assert (dataset.name, dataset.leading) == (f"chinese {questions}→{chat}", "any_5")


def test_the_chinese_set_that_is_shipped_is_whole() -> None:
    """Every question has evidence and both languages, and ids are unique."""
    for language in ("zh", "en"):
        for corpus in read_chinese(questions=language, chat=language).corpora:
            turns = corpus.turns
            assert len({turn.id for turn in turns}) == len(turns) >= 240
            assert len({question.id for question in corpus.questions}) == len(corpus.questions) == 122
            assert all(turn.text.strip() and turn.speaker for turn in turns)
            assert all(question.text.strip() and question.evidence for question in corpus.questions)


def test_the_fixture_is_read_as_a_host_would_store_it(tmp_path: Path) -> None:
    fixture = read_fixture(written_json(tmp_path, "fixture.json", FIXTURE))

    assert [component for component, _ in fixture.writes] == [
        "ingest_messages", "ingest_summary", "ingest_text", "ingest_text",
    ]  # fmt: skip
    talk, _, knowledge, fact = (args for _, args in fixture.writes)
    assert talk["messages"][0] == {
        "external_id": "boat:1", "speaker": "陆晴", "text": "小木船漏水，船桨放在码头仓库",
        "time": "2026-04-02 20:15:00+08:00",
    }  # fmt: skip
    assert [relation["predicate"] for relation in knowledge["relations"]] == ["保管"]
    assert (fact["person_ids"], fact["participants"]) == (["p-7"], ["陆晴"])
    assert {case.group: case.enough for case in fixture.cases if case.group != "aggregate"} == {
        "search": 1.0, "knowledge_fetcher": 0.75, "time": 0.75, "hybrid": 0.75, "episode": 0.75, "profile": 0.75,
        "writeback": 0.75, "negative_control": 0.75,
    }  # fmt: skip


WRONG = ["", "{", '{"a": 1}', '[{"sample_id": "x"}]', "[1]", "null", '"text"', "[[]]"]


@pytest.mark.parametrize("text", WRONG)
@pytest.mark.parametrize(
    ("read", "says"),
    [
        (read_locomo, "LoCoMo's format"),
        (read_longmemeval, "LongMemEval's format"),
        (read_chinese, "the Chinese benchmark"),
        (read_fixture, "group chat fixture"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, read: Callable[[Path], Any], says: str, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")

    with pytest.raises(InvalidRequest, match=says):
        read(path)


@pytest.mark.parametrize(
    "damage", [{"question_date": "yesterday"}, {"haystack_dates": []}, {"haystack_sessions": [[1]]}]
)
def test_a_damaged_longmemeval_file_is_refused(tmp_path: Path, damage: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="LongMemEval's format"):
        read_longmemeval(written_json(tmp_path, "x.json", [LONGMEMEVAL[0] | damage]))


def test_a_truncated_longmemeval_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(LONGMEMEVAL)[:-40], "utf-8")
    with pytest.raises(InvalidRequest, match="LongMemEval's format"):
        read_longmemeval(path)


def test_a_folder_without_chinese_chats_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no Chinese chats"):
        read_chinese(tmp_path)


@pytest.fixture
def locomo(tmp_path: Path) -> Dataset:
    return read_locomo(written_json(tmp_path, "locomo.json", LOCOMO))


def test_corpora_can_be_chosen_by_id(locomo: Dataset) -> None:
    assert [c.id for c in locomo.only(["conv-2"]).corpora] == ["conv-2"]
    assert locomo.only([]) is locomo
    with pytest.raises(InvalidRequest, match="no conversation 'conv-9'"):
        locomo.only(["conv-9"])


def test_a_sample_keeps_the_corpora_that_are_asked_about(locomo: Dataset) -> None:
    few = locomo.sample(1)

    assert [(c.id, [q.id for q in c.questions]) for c in few.corpora] == [("conv-1", ["q0"])]
    assert len(locomo.sample(99).judged()) == len(locomo.judged()) == 5


def test_items_are_taken_evenly() -> None:
    assert list(spread(range(10), 4)) == [0, 2, 5, 7]
    assert list(spread(range(3), 5)) == list(spread(range(3), None)) == [0, 1, 2]
