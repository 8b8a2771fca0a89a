"""What to try next: a hill climb over the factors of the groups of weights."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from .rows import RoundItem
from .search_space import FACTORS, LEAST, MOST, distance, first_params

__all__ = ["best_round", "merit", "proposed"]

PRIOR = 0.015
"""What a doubling or halving of all groups of weights has to gain."""
STEPS = (2.5, 1.6, 1.25)
"""What a factor is multiplied or divided by, sweep after sweep over the groups."""


def merit(score: float, params: Mapping[str, Any]) -> float:
    """A score less what it costs to be far from what is known to work."""
    return round(score - PRIOR * distance(params), 6)


def best_round(rounds: Sequence[RoundItem]) -> RoundItem:
    """The one of the highest merit; of equal ones the first. The first round is what is at work."""
    return max(rounds, key=lambda one: (one.merit, -one.round))


def proposed(done: Sequence[RoundItem], *, seed: int, anchors: Sequence[str]) -> dict[str, Any]:
    """The numbers of the next round: first each anchor as it is, then from the best one group by group upwards, and
    downwards where that was no better.

    It follows from the rounds and the seed alone, so that a task that was cut short goes on as if it had not been.
    """
    if len(done) < len(anchors):
        return first_params(anchors[len(done)])
    best, move = best_round(done[: len(anchors)]), 0
    for one in done[len(anchors) :]:
        better = one.merit > best.merit
        best = one if better else best
        move += 2 if better and move % 2 == 0 else 1
    group = random.Random(seed).sample(FACTORS, len(FACTORS))[move // 2 % len(FACTORS)]
    step = STEPS[move // (2 * len(FACTORS)) % len(STEPS)]
    factor = best.params[group] * (step if move % 2 == 0 else 1 / step)
    return best.params | {group: round(min(MOST, max(LEAST, factor)), 4)}
