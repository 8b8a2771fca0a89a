"""Figures of merit, with the numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from amemorix_bench.metrics import (  # fmt: skip
    Interval,
    Score,
    bootstrap,
    distinct,
    intervals,
    mean_score,
    percentile,
    score_ranking,
)
from amemorix_bench.recall.dataset import Corpus, Dataset, Question, Session, Turn
from amemorix_bench.recall.floor import BM25Floor, Floors


def test_a_ranking_is_scored_against_its_evidence() -> None:
    turns = ["a", "x1", "x2", "x3", "x4", "x5", "b", "x6"]

    score = score_ranking(turns, ("a", "b", "c"), ["s1", "s2", "s3"], {"s1", "s3"})

    assert score.recall_1 == score.recall_5 == pytest.approx(1 / 3)
    assert score.recall_10 == score.recall_20 == pytest.approx(2 / 3)
    assert (score.any_1, score.any_5, score.any_10, score.any_20, score.mrr) == (1.0,) * 5
    assert (score.all_5, score.all_10, score.all_20) == (0.0,) * 3
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert score.ndcg_10 == pytest.approx((1 + 1 / math.log2(8)) / ideal)
    assert (score.session_1, score.session_3, score.session_5) == (0.5, 1.0, 1.0)
    assert (score.session_any_5, score.session_all_5) == (1.0, 1.0)


def test_all_of_the_evidence_has_to_be_there() -> None:
    turns = ["a", "x1", "x2", "x3", "x4", "b"]

    score = score_ranking(turns, ("a", "b"), ["s1"], {"s1", "s2"})

    assert (score.all_5, score.all_10, score.all_20) == (0.0, 1.0, 1.0)
    assert (score.session_any_5, score.session_all_5) == (1.0, 0.0)


def test_a_hit_below_the_tenth_place_counts_only_for_recall_20_and_mrr() -> None:
    turns = [f"x{i}" for i in range(15)] + ["a"]

    score = score_ranking(turns, ("a",), [], {"s1"})

    assert score == Score(recall_20=1.0, any_20=1.0, all_20=1.0, mrr=1 / 16)


def test_nothing_found_and_nothing_wanted_score_zero() -> None:
    assert score_ranking([], ("a",), [], {"s1"}) == Score()
    assert score_ranking(["a"], (), ["s1"], ()) == Score()


def test_the_mean_is_taken_figure_by_figure() -> None:
    assert mean_score([Score(mrr=1.0, any_5=1.0), Score(mrr=0.5)]) == Score(mrr=0.75, any_5=0.5)
    assert mean_score([]) == Score()


def test_the_bootstrap_is_repeatable_and_encloses_the_mean() -> None:
    values = [0.0, 1.0] * 50

    interval = bootstrap(values)

    assert interval == bootstrap(values)
    assert 0.38 < interval.low < 0.44 < 0.56 < interval.high < 0.62
    assert bootstrap([0.25] * 9) == Interval(0.25, 0.25)
    assert bootstrap([]) == Interval(0.0, 0.0)


def test_differences_are_resampled_in_pairs() -> None:
    """Every question gains 0.25, however much they differ: the interval has no width."""
    before = [Score(mrr=0.5 * (i % 2)) for i in range(40)]
    after = [Score(mrr=score.mrr + 0.25) for score in before]

    gained = intervals(after, minus=before)

    assert gained["mrr"] == Interval(0.25, 0.25)
    assert gained["mrr"].excludes_zero
    assert not gained["recall_10"].excludes_zero
    assert intervals(after)["mrr"].low < 0.45 < 0.55 < intervals(after)["mrr"].high
    assert intervals([])["mrr"] == Interval(0.0, 0.0)


def test_percentiles_lie_between_neighbours() -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert percentile([1.0, 2.0], 95) == pytest.approx(1.95)
    assert percentile([], 50) == 0.0


def test_distinct_keeps_the_first_of_each() -> None:
    assert distinct(["b", "a", "b", "c", "a"]) == ["b", "a", "c"]


def test_the_floor_ranks_by_rare_words_and_leaves_out_what_shares_none() -> None:
    floor = BM25Floor(
        [
            ("1", "Ada: the dog chased the ball"),
            ("2", "Ben: a dog is a dog"),
            ("3", "Ada: we painted the fence"),
            ("4", "Ben: the ball and the dog and the harbour"),
        ]
    )

    assert floor.search("Which dog was at the harbour?", 10)[0] == "4"
    assert set(floor.search("dogs", 10)) == {"1", "2", "4"}
    assert floor.search("dogs", 1) == ["2"]
    assert floor.search("the of and", 10) == []


def test_the_floor_gives_okapi_scores_in_that_order() -> None:
    """With equal lengths and idf, the document that holds the word twice comes first: 2.2·2/(2+1.2) > 1."""
    floor = BM25Floor([("once", "harbour lantern kettle"), ("twice", "harbour harbour kettle")])

    assert floor.search("harbour", 2) == ["twice", "once"]


def test_an_empty_floor_finds_nothing() -> None:
    assert BM25Floor([]).search("anything", 5) == []


def test_floors_are_those_of_a_corpus_or_of_all() -> None:
    def corpus(name: str, text: str) -> Corpus:
        return Corpus(name, (Session("s", None, (Turn("1", "Ada", text),)),), (Question("q", "harbour", "k"),))

    both = Dataset("d", (corpus("a", "the harbour"), corpus("b", "a harbour")), ("k",), ("k",))
    first = both.corpora[0]

    assert Floors(both, merged=False).search(first, first.questions[0], 5) == ["a/1"]
    assert set(Floors(both, merged=True).search(first, first.questions[0], 5)) == {"a/1", "b/1"}
