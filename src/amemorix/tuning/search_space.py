"""The settings that tuning may change, how a few numbers become all of them, and which are tried next: a hill climb."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..config.model import Config, Retrieval, Section
from ..config.patch import merged
from .rows import RoundItem

__all__ = [
    "CURRENT", "FACTORS", "LEAST", "MOST", "Profile", "SHIPPED", "TUNABLE", "best_round", "changed", "decode",
    "first_params", "flat", "merit", "profile_of", "proposed", "shipped_profile", "with_profile",
]  # fmt: skip

Profile = dict[str, Any]
CURRENT, SHIPPED = "current", "shipped"
LEAST, MOST = 0.34, 3.0
"""Factors of a group of weights; they are rounded to four places, and so are these."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("paragraph", "window", "session", "coverage"),
    "meaning": ("dense", "topic"),
    "tokens": ("tokens", "token_window"),
    "people": ("person", "graph", "linked"),
    "time": ("time", "when", "chronology"),
    "talk": ("reply", "answer", "question"),
}
"""Weights that move together, in both stages of ranking: a handful of numbers can be learnt from a hundred questions,
forty cannot. How much a faded memory counts is no matter of finding, and stays."""
FACTORS = tuple(GROUPS)
_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_FURTHER = ("retrieval.candidates", "retrieval.rerank.enabled", "retrieval.rerank.depth", "retrieval.sparse.enabled")
_STAGES = ("retrieval.weights", "retrieval.rerank.weights")
HIGHEST_WEIGHT = 10.0
PRIOR = 0.015
"""What a doubling or halving of all groups of weights has to gain."""
STEPS = (2.5, 1.6, 1.25)
"""What a factor is multiplied or divided by, sweep after sweep over the groups."""


def flat(section: Section | Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of everything below."""
    items = section.items() if isinstance(section, Mapping) else iter(section)
    for name, value in items:
        if isinstance(value, Section | Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def profile_of(config: Config) -> Profile:
    """What a configuration says of the settings that tuning may change."""
    every = flat(config.retrieval, "retrieval.")
    return {name: value for name, value in every if name.rpartition(".")[0] in _STAGES or name in _FURTHER}


def shipped_profile() -> Profile:
    """What holds where nothing is set."""
    return profile_of(Config(retrieval=Retrieval()))


TUNABLE = tuple(shipped_profile())


def with_profile(config: Config, profile: Mapping[str, Any]) -> Config:
    """The configuration with these settings. Raises pydantic.ValidationError if a value is not allowed."""
    tree: dict[str, Any] = {}
    for name, value in profile.items():
        *parents, last = name.split(".")
        table = tree
        for part in parents:
            table = table.setdefault(part, {})
        table[last] = value
    return Config.model_validate(merged(config.model_dump(), tree))


def changed(profile: Mapping[str, Any], before: Mapping[str, Any]) -> Profile:
    """The settings of a profile that are not as before."""
    return {name: value for name, value in profile.items() if before.get(name) != value}


def first_params(anchor: str) -> dict[str, Any]:
    """The numbers that stand for a profile as it is."""
    return {"anchor": anchor, **dict.fromkeys(FACTORS, 1.0)}


def decode(params: Mapping[str, Any], current: Mapping[str, Any]) -> Profile:
    """All settings out of a few numbers: the profile to begin from, and a factor for each group of weights."""
    profile = shipped_profile() if params["anchor"] == SHIPPED else dict(current)
    for name, value in profile.items():
        stage, _, signal = name.rpartition(".")
        if stage in _STAGES and signal in _GROUP_OF and (factor := params[_GROUP_OF[signal]]) != 1.0:
            profile[name] = round(min(HIGHEST_WEIGHT, value * factor), 4)
    return profile


def merit(score: float, params: Mapping[str, Any]) -> float:
    """A score less what it costs to be far from what is known to work: the mean of the factors' binary logarithms."""
    distance = sum(abs(math.log2(params[name])) for name in FACTORS) / len(FACTORS)
    return round(score - PRIOR * distance, 6)


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
