"""Whether the best settings that were found are to be recommended."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .metrics import Comparison, Objective, Outcome, compare, percentile, worth
from .rows import RoundRow
from .search_space import changed, distance

__all__ = ["PRIOR", "Verdict", "best_round", "judged", "merit"]

PRIOR = 0.015
"""What a doubling or halving of all groups of weights has to gain."""
SURE = 0.05
WORSE = 0.005
"""The held-out questions must not lose more."""
WORSE_KIND, KIND_LEAST = 0.05, 10
"""Neither must questions of one kind, where there are enough of them that it is no chance."""
SLOWER, SLOWER_MS = 1.2, 10.0
"""The slowest twentieth may take so many times as long, or so many milliseconds more."""
SLOWER_USUALLY = 1.1
"""The median has to have grown too: where it has not, the machine was busy with something else."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the comparison came to; `reasons` say why the profile is not recommended."""

    recommended: bool = False
    reasons: tuple[str, ...] = ()
    best_round: int = 0
    profile: dict[str, Any] = field(default_factory=dict)
    """Every setting of the best round."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Those that are not as they were."""
    validation: Comparison = field(default_factory=Comparison)
    held_out: Comparison = field(default_factory=Comparison)
    p95_before: float = 0.0
    p95_after: float = 0.0
    kinds: dict[str, Comparison] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)


def merit(score: float, params: Mapping[str, Any]) -> float:
    """A score less what it costs to be far from what is known to work."""
    return score - PRIOR * distance(params)


def best_round(rounds: Sequence[RoundRow]) -> RoundRow:
    """The one of the highest merit; of equal ones the first. The first round is what is at work."""
    return max(rounds, key=lambda one: (round(one.merit, 9), -one.round))


def judged(
    best: RoundRow,
    baseline: Mapping[str, Any],
    validation: Sequence[Sequence[Outcome]],
    held_out: Sequence[Sequence[Outcome]],
    *,
    objective: Objective,
    seed: int,
) -> Verdict:
    """Compare the baseline's outcomes with those of the best round.

    One profile alone is tested, the best by the training questions, so that the test needs no correction.
    """
    tested = compare(*_worths(validation, objective), seed=seed)
    again = compare(*_worths(held_out, objective), seed=seed)
    both = [[*one, *other] for one, other in zip(validation, held_out, strict=True)]
    times = [[one.milliseconds for one in outcomes] for outcomes in both]
    slow = [percentile(some, 95) for some in times]
    kinds = _by_kind(both, objective, seed)
    reasons = [*_doubts(tested, again), *_slower(*times), *_worse_kinds(kinds)]
    return Verdict(
        not reasons, tuple(reasons), best.round, dict(best.profile), changed(best.profile, baseline), tested, again,
        round(slow[0], 3), round(slow[1], 3), kinds,
    )  # fmt: skip


def _worths(both: Sequence[Sequence[Outcome]], objective: Objective) -> list[dict[int, float]]:
    return [{one.query: worth(one, objective) for one in outcomes} for outcomes in both]


def _doubts(tested: Comparison, again: Comparison) -> list[str]:
    found: list[str] = []
    if tested.difference <= 0 or tested.p >= SURE:
        found.append(
            f"On the validation questions the difference of {tested.difference:+.4f} may be chance (p = {tested.p:.3f})."
        )
    if again.difference < -WORSE:
        found.append(f"The held-out questions are answered worse: {again.difference:+.4f}.")
    return found


def _slower(one: Sequence[float], other: Sequence[float]) -> list[str]:
    before, after = percentile(one, 95), percentile(other, 95)
    usual = percentile(other, 50) <= SLOWER_USUALLY * percentile(one, 50)
    if usual or after <= max(SLOWER * before, before + SLOWER_MS):
        return []
    return [f"The slowest searches take longer: {after:.1f} ms instead of {before:.1f} ms (95th percentile)."]


def _by_kind(both: Sequence[Sequence[Outcome]], objective: Objective, seed: int) -> dict[str, Comparison]:
    found: dict[str, list[dict[int, float]]] = defaultdict(lambda: [{}, {}])
    for place, outcomes in enumerate(both):
        for one in outcomes:
            found[one.kind][place][one.query] = worth(one, objective)
    return {kind: compare(*found[kind], seed=seed) for kind in sorted(found)}


def _worse_kinds(kinds: Mapping[str, Comparison]) -> list[str]:
    return [
        f"Questions of the kind `{kind}` are answered worse: {one.difference:+.4f}."
        for kind, one in kinds.items()
        if one.questions >= KIND_LEAST and one.difference < -WORSE_KIND and one.high < 0
    ]
