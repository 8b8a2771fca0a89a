"""The formulas of fading, with their values spelled out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemorix.config.model import Lifecycle
from amemorix.search.fusion import fading
from amemorix.search.retention import RetentionRules, retained, retained_all
from amemorix.store.rows.retention import Retention

HOUR, DAY = 3_600.0, 86_400.0
START = 1_700_000_000.0
RULES = RetentionRules(Lifecycle())
FRESH = Retention(1.0, START)

times = st.floats(START - 1e9, START + 1e9)
strengths = st.floats(0, 1)
retentions = st.builds(
    Retention, strengths, times, st.booleans(), st.none() | times, st.none() | times, st.none() | times
)
kinds = st.sampled_from(["paragraph", "relation"])
measures = st.floats(0.001, 100)


@pytest.mark.parametrize(
    ("strength", "days", "half_life_days", "expected"),
    [(1, 0, 180, 1), (1, 180, 180, 0.5), (1, 360, 180, 0.25), (0.8, 180, 180, 0.4), (1, 90, 180, math.sqrt(0.5)),
     (1, 365, 730, math.sqrt(0.5)), (0, 10, 180, 0), (1, -5, 180, 1)],
)  # fmt: skip
def test_what_is_left_halves_with_each_half_life(
    strength: float, days: float, half_life_days: float, expected: float
) -> None:
    assert retained(Retention(strength, START), START + days * DAY, half_life_days * DAY) == pytest.approx(expected)


def test_the_half_lives_are_months_and_years_by_default() -> None:
    assert RULES.half_life("relation") == 180 * DAY
    assert RULES.half_life("paragraph") == 730 * DAY


def test_what_is_pinned_does_not_fade() -> None:
    pinned = Retention(0.7, START, pinned=True)
    assert retained(pinned, START + 9999 * DAY, 180 * DAY) == 0.7
    assert RULES.exempt(pinned, START)
    assert RULES.fades_at(pinned) is None


def test_many_are_worked_out_as_one_is() -> None:
    strength = np.array([1.0, 1.0, 0.5])
    anchors = np.array([START, START - 730 * DAY, math.inf])
    assert retained_all(strength, anchors, START, 730 * DAY).tolist() == [1.0, 0.5, 0.5]
    assert retained_all(strength, anchors, START + 5, math.inf).tolist() == [1.0, 1.0, 0.5]
    assert retained_all(strength, anchors, START - 800 * DAY, DAY).tolist() == [1.0, 1.0, 0.5]


def test_a_relation_fades_after_598_days() -> None:
    at = RULES.fades_at(FRESH)
    assert at == pytest.approx(START + 180 * DAY * math.log2(10))
    assert at is not None
    assert not RULES.faded("relation", FRESH, at - 60)
    assert RULES.faded("relation", FRESH, at + 60)


def test_access_gives_back_a_twentieth_of_what_is_missing_once_in_an_hour() -> None:
    later = START + 180 * DAY
    once = RULES.accessed("relation", FRESH, later)
    assert once is not None
    assert (once.strength, once.anchor_at, once.accessed_at) == (pytest.approx(0.525), later, later)
    assert RULES.accessed("relation", once, later + HOUR - 1) is None
    again = RULES.accessed("relation", once, later + HOUR)
    assert again is not None
    left = 0.525 * 2 ** (-1 / (180 * 24))
    assert again.strength == pytest.approx(left + 0.05 * (1 - left))


def test_reinforcing_gives_back_half_of_what_is_missing_and_protects() -> None:
    later = START + 360 * DAY
    after = RULES.after("reinforce", "relation", FRESH, later, strength=1.0)
    assert after.strength == pytest.approx(0.625)
    assert (after.anchor_at, after.reinforced_at, after.reinforcements) == (later, later, 1)
    assert after.protected_until == later + 24 * HOUR
    assert RULES.after("reinforce", "relation", FRESH, later, strength=0.01).protected_until == later + 1 * HOUR
    assert RULES.after("reinforce", "relation", FRESH, later, strength=3).strength == 1.0
    assert RULES.after("reinforce", "relation", FRESH, later, strength=3).protected_until == later + 72 * HOUR
    assert RULES.after("reinforce", "relation", FRESH, later, strength=0.5).strength == pytest.approx(
        0.25 + 0.25 * 0.75
    )


def test_weakening_takes_half_and_at_most_all() -> None:
    assert RULES.after("weaken", "relation", FRESH, START, strength=1.0).strength == 0.5
    assert RULES.after("weaken", "relation", FRESH, START + 180 * DAY, strength=0.5).strength == pytest.approx(0.375)
    assert RULES.after("weaken", "relation", FRESH, START, strength=2.0).strength == 0.0
    assert RULES.after("weaken", "relation", FRESH, START, strength=50.0).strength == 0.0


def test_protection_holds_for_hours_or_for_good() -> None:
    some = RULES.after("protect", "relation", FRESH, START, hours=48)
    assert (some.protected_until, some.pinned, some.strength) == (START + 48 * HOUR, False, 1.0)
    assert RULES.after("protect", "relation", some, START, hours=2).protected_until == START + 48 * HOUR
    late = START + 9999 * DAY
    assert not RULES.faded("relation", RULES.after("protect", "relation", FRESH, late, hours=1), late + HOUR - 1)
    assert RULES.faded("relation", RULES.after("protect", "relation", FRESH, late, hours=1), late + HOUR)
    good = RULES.after("protect", "relation", FRESH, START + 180 * DAY, hours=0)
    assert (good.pinned, good.strength) == (True, pytest.approx(0.5))
    assert RULES.left("relation", good, late) == pytest.approx(0.5)


def test_remembering_for_ever_reinforces_and_pins() -> None:
    after = RULES.after("remember_forever", "paragraph", FRESH, START + 730 * DAY)
    assert (after.strength, after.pinned, after.protected_until) == (pytest.approx(0.75), True, None)


def test_forgetting_leaves_nothing_and_restoring_gives_all() -> None:
    gone = RULES.after("forget", "relation", Retention(0.7, START, True, START + 5), START + 1)
    assert (gone.strength, gone.pinned, gone.protected_until) == (0.0, False, None)
    assert RULES.after("restore", "relation", gone, START + 2).strength == 1.0
    assert RULES.fades_at(gone) == START + 1


def test_enough_to_revive_is_never_less_than_enough_to_stay() -> None:
    rules = RetentionRules(Lifecycle(freeze_threshold=0.3, revive_threshold=0.2))
    assert not rules.revives(0.25)
    assert rules.revives(0.3)


@given(retentions, kinds, times, st.floats(0, 1e9))
def test_time_takes_and_never_gives(retention: Retention, kind: str, now: float, more: float) -> None:
    assert 0 <= RULES.left(kind, retention, now + more) <= RULES.left(kind, retention, now) <= 1


@given(retentions, kinds, times, measures, measures)
def test_a_stronger_event_does_no_less(retention: Retention, kind: str, now: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    left = RULES.left(kind, retention, now)
    less, more = (RULES.after("reinforce", kind, retention, now, strength=by).strength for by in (low, high))
    assert left <= less + 1e-12
    assert less <= more + 1e-12 <= 1 + 1e-9
    less, more = (RULES.after("weaken", kind, retention, now, strength=by).strength for by in (low, high))
    assert 0 <= more <= less <= left + 1e-12


@given(retentions, kinds, times, measures)
def test_the_anchor_never_moves_backwards(retention: Retention, kind: str, now: float, strength: float) -> None:
    after = [
        RULES.after("reinforce", kind, retention, now, strength=strength),
        RULES.after("weaken", kind, retention, now, strength=strength),
        RULES.after("protect", kind, retention, now, hours=strength),
        RULES.after("forget", kind, retention, now),
        RULES.after("restore", kind, retention, now),
        RULES.accessed(kind, retention, now) or retention,
    ]
    assert all(one.anchor_at >= retention.anchor_at and 0 <= one.strength <= 1 for one in after)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_signal_is_bounded_and_absent_where_all_are_as_fresh(left: list[float]) -> None:
    values = np.array(left, np.float32)
    signal = fading(values)
    if float(np.ptp(values)) < 0.0049:
        assert signal == {}
    for lost in signal.values():
        assert lost.min() >= 0
        assert lost.max() <= 1
        assert lost[int(values.argmax())] == 0
        assert np.all(np.diff(lost[np.argsort(-values, kind="stable")]) >= 0)
