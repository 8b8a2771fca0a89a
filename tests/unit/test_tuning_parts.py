"""The parts of tuning that are functions of their arguments."""

from __future__ import annotations

import random

import pytest

from amemorix.tuning.comparison import Outcome, compare, judge, mean_outcome, outcome, worth
from amemorix.tuning.query_set import divided
from amemorix.tuning.questions import about_fact, about_relation, copies, from_turn
from amemorix.tuning.rows import Question, RoundItem
from amemorix.tuning.search_space import (
    CURRENT,
    FACTORS,
    LEAST,
    MOST,
    SHIPPED,
    best_round,
    decode,
    first_params,
    merit,
    proposed,
    shipped_profile,
)


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Great! How was your pottery class?", "How was Ada's pottery class?"),
        ("What did you paint for my sister, by the way?", "What did Ada paint for Ben's sister, by the way?"),
        ("真好！你上周的花园计划怎么样了？", "Ada上周的花园计划怎么样了？"),
        ("How are you?", ""),
        ("And what did they say about it?", ""),
        ("你好吗？", ""),
    ],
)
def test_what_a_turn_asks(text: str, asks: str) -> None:
    assert from_turn(text, asker="Ben", answerer="Ada") == asks


@pytest.mark.parametrize(
    ("question", "answer", "same"),
    [
        ("Where did Ada repair the rusty bicycle chain?", "Ada repaired the rusty bicycle chain at home.", True),
        ("Where did Ada repair the bike?", "I took the rusty bicycle to Jo's workshop.", False),
        ("what happened beside the old lakeside gate", "We met beside the old lakeside gate and left", True),
        ("唐未去敦煌看壁画了吗", "我坐火车到敦煌看壁画", True),
        ("唐未的旅行怎么样", "坐火车到敦煌看壁画，骑骆驼", False),
    ],
)
def test_what_is_worded_like_its_answer(question: str, answer: str, same: bool) -> None:
    assert copies(question, answer) is same


def test_questions_about_facts_and_relations_lack_the_answer() -> None:
    assert about_fact("Ada", "residence", cjk=False) == "Where does Ada live?"
    assert about_fact("林澈", "favourite:颜色", cjk=True) == "林澈最喜欢的颜色是什么？"
    assert about_fact("Ada", "statement", cjk=False) == ""
    assert about_relation("林澈", "加入", cjk=True) == "林澈加入什么？"
    assert about_relation("Ada", "has", cjk=False) == ""


def test_figures_of_a_ranking() -> None:
    best = outcome(1, "reply", [5, 6, 7], {5}, 10, 1.0)
    second = outcome(1, "reply", [6, 5, 7], {5}, 10, 3.0)
    none = outcome(1, "reply", [6, 7, 5], {5}, 2, 1.0)
    assert (best.reciprocal_rank, best.gain, best.recall) == (1.0, 1.0, 1.0)
    assert second.reciprocal_rank == 0.5
    assert second.gain == pytest.approx(0.6309, abs=1e-4)
    assert (none.reciprocal_rank, none.gain, none.recall) == (0.0, 0.0, 0.0)
    assert mean_outcome(best, second).reciprocal_rank == 0.75
    assert worth(best, "balanced") == pytest.approx(1.0)
    assert worth(second, "recall_priority") > worth(second, "precision_priority")


def test_a_difference_by_chance_is_not_taken_for_one() -> None:
    rng = random.Random(3)
    before = {n: rng.random() for n in range(60)}
    noise = {n: value + rng.gauss(0, 0.3) for n, value in before.items()}
    better = {n: value + 0.2 + rng.gauss(0, 0.3) for n, value in before.items()}
    assert compare(before, noise, seed=0).p > 0.05
    assert compare(before, better, seed=0).p < 0.01
    assert compare(before, better, seed=0) == compare(before, better, seed=0)
    assert compare(before, before, seed=0).p == 1.0
    assert compare({}, {}, seed=0).questions == 0


def drafts(chats: int, sessions: int, each: int) -> list[Question]:
    return [
        Question("reply", f"c{c}", f"q{c}.{s}.{n}", (1000 * c + 10 * s + n,), frozenset({100 * c + s}))
        for c in range(chats)
        for s in range(sessions)
        for n in range(each)
    ]


@pytest.mark.parametrize(("chats", "unit"), [(2, "session"), (8, "chat")])
def test_parts_are_made_of_whole_sessions_or_chats(chats: int, unit: str) -> None:
    parts = divided(drafts(chats, 12, 4), seed=1)
    of: dict[str, set[str]] = {}
    for one in parts:
        chat, session, _ = one.text.split(".")
        of.setdefault(chat if unit == "chat" else f"{chat}.{session}", set()).add(one.split)
    assert all(len(some) == 1 for some in of.values())
    share = {
        split: sum(one.split == split for one in parts) / len(parts) for split in ("train", "validation", "held_out")
    }
    assert share == pytest.approx({"train": 0.4, "validation": 0.3, "held_out": 0.3}, abs=0.08)
    assert divided(drafts(chats, 12, 4), seed=1) == parts
    assert divided(drafts(chats, 12, 4), seed=2) != parts


def test_a_question_answered_in_two_parts_is_left_out() -> None:
    across = Question("fact", "c0", "across", (1, 2), frozenset(range(12)))
    assert "across" not in {one.text for one in divided([*drafts(1, 12, 2), across], seed=0)}


def rounds(seed: int, count: int, anchors: tuple[str, ...] = (CURRENT, SHIPPED)) -> list[RoundItem]:
    done: list[RoundItem] = []
    for n in range(count):
        params = proposed(done, seed=seed, anchors=anchors)
        score = 0.5 - 0.1 * abs(params["words"] - 1.5)
        done.append(RoundItem(n, score, merit(score, params), params, {}, decode(params, shipped_profile()), 0.1))
    return done


@pytest.mark.parametrize("seed", range(5))
def test_proposals_stay_where_they_may_be(seed: int) -> None:
    """Also where the best lies at the edge, so that rounding must not lead beyond it."""
    done: list[RoundItem] = []
    for n in range(25):
        params = proposed(done, seed=seed, anchors=(CURRENT,))
        assert all(LEAST <= params[name] <= MOST for name in FACTORS)
        edge = {**params, "words": LEAST, "talk": MOST} if n else params
        score = -sum(params[name] for name in FACTORS)
        done.append(RoundItem(n, score, score, edge, {}, {}, 0.1))


def test_factors_move_their_weights_and_nothing_else() -> None:
    current = shipped_profile() | {"retrieval.weights.dense": 0.1, "retrieval.candidates": 50}
    assert decode(first_params(CURRENT), current) == current
    assert decode(first_params(SHIPPED), current) == shipped_profile()
    moved = decode({**first_params(CURRENT), "meaning": 2.0}, current)
    assert moved["retrieval.weights.dense"] == 0.2
    assert {name for name in moved if moved[name] != current[name]} == {
        f"retrieval.{stage}.{name}" for stage in ("weights", "rerank.weights") for name in ("dense", "topic")
    }
    assert merit(0.5, first_params(CURRENT)) == 0.5
    assert merit(0.5, {**first_params(CURRENT), "meaning": 2.0}) == pytest.approx(0.5 - 0.015 / len(FACTORS))


def test_of_equal_rounds_the_one_nearest_to_what_is_known_wins() -> None:
    far = {**first_params(CURRENT), "words": 3.0}
    some = [
        RoundItem(0, 0.5, merit(0.5, first_params(CURRENT)), first_params(CURRENT), {}, {}, 0.1),
        RoundItem(1, 0.5, merit(0.5, far), far, {}, {}, 0.1),
    ]
    assert best_round(some).round == 0


def outcomes(values: list[float], kind: str = "reply", milliseconds: float = 10.0) -> list[Outcome]:
    return [Outcome(n, kind, value, value, value, milliseconds) for n, value in enumerate(values)]


@pytest.mark.parametrize(("loss", "refused"), [([0.6] * 12, True), ([1.3] + [0.0] * 11, False)])
def test_a_kind_that_loses_for_sure_speaks_against_it(loss: list[float], refused: bool) -> None:
    base, better = outcomes([0.3] * 60), outcomes([0.7] * 60)
    few = [Outcome(100 + n, "fact", v, v, v, 10.0) for n, v in enumerate([0.9] * 12)]
    worse = [Outcome(100 + n, "fact", 0.9 - d, 0.9 - d, 0.9 - d, 10.0) for n, d in enumerate(loss)]
    best = RoundItem(3, 0.6, 0.6, first_params(CURRENT), {}, shipped_profile(), 0.1)
    verdict = judge(
        best, shipped_profile(), [[*base, *few], [*better, *worse]], [base, better], objective="balanced", seed=0
    )
    assert verdict.kinds["fact"].difference < -0.05
    assert ("`fact`" in " ".join(verdict.reasons)) is refused


@pytest.mark.parametrize(
    ("validation", "held_out", "milliseconds", "word"),
    [
        (0.3, 0.3, 10.0, ""),
        (0.0, 0.3, 10.0, "chance"),
        (0.3, -0.1, 10.0, "held-out"),
        (0.3, 0.3, 25.0, "longer"),
        (0.3, 0.3, 19.0, ""),
    ],
)
def test_only_what_holds_is_recommended(validation: float, held_out: float, milliseconds: float, word: str) -> None:
    base = [0.4] * 30
    best = RoundItem(3, 0.6, 0.6, first_params(CURRENT), {}, shipped_profile(), 0.1)
    verdict = judge(
        best, shipped_profile(),
        [outcomes(base), outcomes([v + validation for v in base], milliseconds=milliseconds)],
        [outcomes(base), outcomes([v + held_out for v in base], milliseconds=milliseconds)],
        objective="balanced", seed=0,
    )  # fmt: skip
    assert verdict.recommended is (not word)
    assert word in " ".join(verdict.reasons)
