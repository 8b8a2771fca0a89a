"""The small chats by which confidence is fitted: their format, and what is said of questions that they do not answer."""

from __future__ import annotations

import numpy as np
import pytest

from amemorix_bench.fit_confidence import UNRELATED, Cases, collect, exchanged, report, small_chats
from amemorix_bench.probe import UNANSWERABLE
from amemorix_bench.small_chats import read_small_chats


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("blind", [False, True])
def test_evidence_is_in_the_chat_and_the_unrelated_have_none(language: str, blind: bool) -> None:
    chats = read_small_chats(language, blind=blind)  # type: ignore[arg-type]
    unrelated = 0
    for chat in chats:
        said = {id_ for id_, _, _ in chat["sessions"][0]["messages"]}
        for question in chat["questions"]:
            assert set(question["evidence"]) <= said, question
            assert bool(question["evidence"]) == (question["kind"] != UNANSWERABLE), question
            unrelated += not question["evidence"]
    assert unrelated >= 200 or (blind and (unrelated >= 60 or not chats))


def test_names_are_exchanged_person_by_person() -> None:
    ours, theirs = [["Ann Lee", "Ann"], ["Bob"]], [["Bob"], ["Cleo"]]
    assert exchanged("Did Ann Lee give Bob the key, or did Ann?", ours, theirs) == (
        "Did Bob give Cleo the key, or did Bob?"
    )


def figures(cases: Cases) -> tuple[float, float, float]:
    """95th percentile of the hits of unrelated questions, share of answerable ones called weak, and of right first hits."""
    of_unrelated = cases.said[(cases.kind == UNRELATED)[cases.query]]
    first = np.flatnonzero(np.diff(cases.query, prepend=-1))
    first = first[cases.answerable[cases.query[first]]]
    return (
        float(np.quantile(of_unrelated, 0.95)),
        float(cases.weak[cases.answerable].mean()),
        float(cases.answers[first].mean()),
    )


@pytest.mark.local_model
async def test_unrelated_questions_find_nothing_likely(local_model: str) -> None:
    cases = await collect(list(small_chats(blind=True)), {"embedding.provider": "local"})
    unrelated, weak, right = figures(cases)
    assert unrelated <= 0.25
    assert weak <= 0.03
    assert right >= 0.45  # half of the questions share no word with what answers them
    assert len(list(report(cases))) == 2


async def test_unrelated_words_find_nothing_likely_without_a_model() -> None:
    cases = await collect(list(small_chats())[::9], {"embedding.provider": "none"})
    assert figures(cases)[0] <= 0.25
