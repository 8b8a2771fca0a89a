"""What to try next, by what has been tried."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from .rows import RoundRow
from .search_space import CURRENT, FACTORS, LEAST, MOST, SHIPPED, first_params

__all__ = ["proposed"]

AT_RANDOM = 6
"""Rounds before there is anything to learn from."""


def proposed(done: Sequence[RoundRow], *, seed: int, anchors: Sequence[str]) -> dict[str, Any]:
    """The numbers of the next round: first each anchor as it is, then what a tree-structured Parzen estimator expects to
    be better (Bergstra and others 2011, as Optuna has it).

    It follows from the rounds and the seed alone, so that a task that was cut short goes on as if it had not been.
    """
    if len(done) < len(anchors):
        return first_params(anchors[len(done)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _estimated(done, seed * 1_009 + len(done), anchors)


def _estimated(done: Sequence[RoundRow], seed: int, anchors: Sequence[str]) -> dict[str, Any]:
    """Imported on use: a memory that is never tuned does not pay for the library."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(LEAST, MOST, log=True) for name in FACTORS
    }
    if len(anchors) > 1:
        space["anchor"] = optuna.distributions.CategoricalDistribution([CURRENT, SHIPPED])
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, n_startup_trials=AT_RANDOM)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for one in done:
        params = {name: one.params[name] for name in space}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=one.merit))
    found = study.ask(space).params
    return {"anchor": anchors[0], **{name: round(v, 4) if name in FACTORS else v for name, v in found.items()}}
