"""Small chats with questions: the shipped ones are sound, and their figures are those of what was found."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from amemorix.errors import InvalidRequest
from amemorix.search.confidence import FEATURES, judge
from amemorix_bench.probe import UNANSWERABLE, read_probe, run, shipped


def test_the_evidence_of_every_shipped_question_is_in_its_chat() -> None:
    names = shipped()
    assert {"colloquial_zh", "dialogues_en", "dialogues_zh", "harbour_en", "harbour_ru"} <= set(names)
    for probe in (probe for name in names for probe in read_probe(name)):
        said = {id_ for session in probe["sessions"] for id_, _, _ in session["messages"]}
        assert len(said) == sum(len(session["messages"]) for session in probe["sessions"]), probe["id"]
        for question in probe["questions"]:
            assert set(question["evidence"]) <= said, (probe["id"], question)
            assert bool(question["evidence"]) == (question["kind"] != UNANSWERABLE), (probe["id"], question)


async def test_a_probe_is_asked_without_a_model() -> None:
    report = await run(["harbour_en"], {"embedding.provider": "none"})

    assert len(report.asked) == 30
    assert sum(0 < one.rank <= 5 for one in report.asked) >= 6
    assert all(len(one.hits) == len(one.scores) for one in report.asked)
    assert not any(one.misled for one in report.asked), "every question has an answer"
    assert len(json.loads(report.to_json())) == 30


async def test_a_probe_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidRequest, match="no probe 'nowhere'"):
        await run(["nowhere"])


def test_the_weights_of_confidence_are_those_of_its_features() -> None:
    fitted = json.loads(files("amemorix.search").joinpath("confidence.json").read_text("utf-8"))
    assert fitted["features"] == list(FEATURES)
    for kind in ("model", "words"):
        assert len(judge(kind).weights) == len(judge(kind).mean) == len(judge(kind).spread) == len(FEATURES)
