"""Rankings that follow the course of events."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.language.times import Span
from amemorix.search.chronology import anchor_span, anchored, ordered
from amemorix.search.fusion import Fused
from amemorix.search.language.temporal_order import End, Ordering
from pace import assert_linear

DAY = 86_400.0
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC).timestamp()
UNDATED = math.nan


def ranking(scores: Sequence[float], **signals: Sequence[float]) -> Fused:
    """Candidates 1, 2, 3, … with these scores and signals; their words match fully unless `coverage` says otherwise."""
    columns = {"coverage": [1.0] * len(scores)} | signals
    count = len(scores)
    return Fused(
        ids=np.arange(1, count + 1, dtype=np.int64),
        score=np.array(scores, np.float32),
        names=tuple(columns),
        values=np.array([*columns.values()], np.float32).reshape(len(columns), count).T,
        weights=(1.0,) * len(columns),
        cosine=np.full(count, np.nan, np.float32),
        coverage=np.array(columns["coverage"], np.float32),
        bm25=np.zeros(count, np.float32),
        matched=np.full((count, 2), np.nan, np.float32),
        confidence=np.full(count, np.nan, np.float32),
    )


def days(*numbers: float) -> np.ndarray:
    return MAY + DAY * np.array(numbers, np.float64)


def after_ordering(fused: Fused, end: End, times: np.ndarray) -> list[int]:
    return ordered(fused, end, times).ids.tolist()


# The first or the last


def test_the_earliest_or_latest_of_equals_comes_first() -> None:
    assert after_ordering(ranking([0.8, 0.79, 0.78]), "first", days(2, 3, 1)) == [3, 1, 2]
    assert after_ordering(ranking([0.8, 0.79, 0.78]), "last", days(2, 3, 1)) == [2, 1, 3]


def test_without_an_end_nothing_moves() -> None:
    fused = ranking([0.8, 0.79])
    assert ordered(fused, "", days(2, 1)) is fused


def test_a_clearly_better_match_stays_first() -> None:
    assert after_ordering(ranking([0.8, 0.7]), "last", days(1, 2)) == [1, 2]


def test_undated_candidates_keep_their_place() -> None:
    assert after_ordering(ranking([0.8, 0.79, 0.78]), "first", days(2, UNDATED, 1)) == [3, 2, 1]
    assert after_ordering(ranking([0.8, 0.79, 0.78]), "first", days(UNDATED, 2, 1)) == [1, 3, 2]


def test_what_matches_neither_in_words_nor_in_meaning_keeps_its_place() -> None:
    fused = ranking([0.8, 0.79, 0.78], coverage=[1.0, 0.3, 0.2], dense=[0.6, 0.4, 0.9])
    assert after_ordering(fused, "last", days(1, 3, 2)) == [3, 2, 1]


@pytest.mark.parametrize("signal", ["person", "time", "chronology"])
def test_what_the_best_one_meets_its_rivals_must_meet(signal: str) -> None:
    assert after_ordering(ranking([0.8, 0.79], **{signal: [1, 0]}), "last", days(1, 2)) == [1, 2]
    assert after_ordering(ranking([0.8, 0.79], **{signal: [1, 1]}), "last", days(1, 2)) == [2, 1]


def test_a_question_is_not_put_before_a_statement() -> None:
    assert after_ordering(ranking([0.8, 0.79], question=[0, 1]), "last", days(1, 2)) == [1, 2]


def test_within_one_occasion_relevance_decides() -> None:
    assert after_ordering(ranking([0.8, 0.79]), "last", days(1, 1.02)) == [1, 2]
    assert after_ordering(ranking([0.8, 0.79, 0.78]), "last", days(1, 2, 2.02)) == [2, 1, 3]


@given(st.lists(st.tuples(st.floats(0, 1, width=32), st.none() | st.integers(0, 9)), max_size=8))
def test_no_candidate_passes_one_that_is_clearly_better(rows: list[tuple[float, int | None]]) -> None:
    rows = sorted(rows, key=lambda row: -row[0])
    fused = ranking([score for score, _ in rows])
    times = days(*(UNDATED if day is None else day for _, day in rows))
    after = ordered(fused, "first", times)
    own = dict(zip(fused.ids.tolist(), fused.score.tolist(), strict=True))
    best = fused.score[:1].tolist()
    moved = fused.ids != after.ids
    assert sorted(after.ids.tolist()) == fused.ids.tolist()
    assert np.all(np.diff(after.score) <= 0)
    assert not np.any(moved & np.isnan(times))
    assert all(own[id_] >= 0.89 * best[0] for id_ in after.ids[moved].tolist())


# Around another event


def test_before_and_after_are_open_at_the_far_end() -> None:
    assert anchor_span(MAY, Ordering(relation="before", anchor="the trip")) == Span(-math.inf, MAY)
    assert anchor_span(MAY, Ordering(relation="after", anchor="the trip")) == Span(MAY, math.inf)


def test_an_offset_names_a_stretch_around_its_moment() -> None:
    two_weeks = Ordering(relation="before", anchor="the trip", offset_seconds=14 * DAY, offset_span=7 * DAY)
    assert anchor_span(MAY, two_weeks) == Span(MAY - 17.5 * DAY, MAY - 10.5 * DAY)
    a_day = Ordering(relation="after", anchor="the trip", offset_seconds=DAY, offset_span=DAY)
    assert anchor_span(MAY, a_day) == Span(MAY + 0.5 * DAY, MAY + 1.5 * DAY)


def test_no_stretch_is_meant_without_a_relation_or_a_date() -> None:
    assert anchor_span(MAY, Ordering(end="first")) is None
    assert anchor_span(UNDATED, Ordering(relation="before", anchor="the trip")) is None


def test_what_lies_inside_the_span_rises() -> None:
    fused = anchored(
        ranking([0.8, 0.78, 0.5]), days(1, 5, 6), Span(MAY + 5 * DAY, MAY + 6 * DAY), 0.05
    )  # both ends too
    assert fused.ids.tolist() == [2, 1, 3]
    assert fused.score.tolist() == pytest.approx([0.83, 0.8, 0.55])
    assert fused.signals["chronology"].tolist() == [1.0, 0.0, 1.0]
    assert fused.signals["coverage"].tolist() == [1.0, 1.0, 1.0]
    assert fused.weights[fused.names.index("chronology")] == 0.05


def test_undated_candidates_lie_outside_any_span() -> None:
    fused = anchored(ranking([0.8, 0.7]), days(UNDATED, 1), Span(-math.inf, math.inf), 0.05)
    assert fused.signals["chronology"].tolist() == [0.0, 1.0]
    assert fused.ids.tolist() == [1, 2]


def test_what_follows_an_event_is_not_passed_by_what_came_before_it() -> None:
    fused = anchored(ranking([0.8, 0.78]), days(1, 9), Span(MAY + 5 * DAY, math.inf), 0.05)
    assert ordered(fused, "first", days(9, 1)).ids.tolist() == [2, 1]


# The whole


def test_the_work_grows_with_the_ranking() -> None:
    def work(size: int) -> None:
        fused = ranking(np.linspace(0.8, 0.4, size).tolist(), dense=[1.0] * size, person=[1.0] * size)
        times = days(*range(size))
        ordered(fused, "last", times)
        anchored(fused, times, Span(MAY, math.inf), 0.05)

    assert_linear(work, 640, 6_400)
