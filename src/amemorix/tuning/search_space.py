"""The settings that tuning may change, and how a few numbers become all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ..config.model import Config, Retrieval, Section
from ..config.patch import merged

__all__ = [
    "CURRENT", "FACTORS", "LEAST", "MOST", "Profile", "SHIPPED", "TUNABLE", "changed", "decode", "distance",
    "first_params", "flat", "profile_of", "shipped_profile", "with_profile",
]  # fmt: skip

Profile = dict[str, Any]
CURRENT, SHIPPED = "current", "shipped"
LEAST, MOST = 0.34, 3.0
"""Factors of a group of weights; they are rounded to four places, and so are these."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("paragraph", "window", "session", "coverage"),
    "meaning": ("dense", "topic"),
    "tokens": ("tokens", "token_window", "words"),
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


def distance(params: Mapping[str, Any]) -> float:
    """How far the factors are from 1: the mean of their binary logarithms, without sign."""
    return sum(abs(math.log2(params[name])) for name in FACTORS) / len(FACTORS)
