"""The merging of all modes into one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .result import Hit

__all__ = ["AggregateQueryService"]

RRF_K = 60


class AggregateQueryService:
    """Merges the branches' hits by reciprocal rank fusion."""

    def __init__(self, k: int = RRF_K) -> None:
        self._k = k

    def merge(self, branches: Mapping[str, Sequence[Hit]], limit: int) -> list[Hit]:
        """Hits of all branches, best first; each says which branches found it and at which rank.

        The score is the sum of 1 / (k + rank) over the branches (Cormack, Clarke, Büttcher 2009), ranks begin at 1, as
        a share of what a hit reaches that is the first of all of them.
        """
        first: dict[str, Hit] = {}
        found: dict[str, dict[str, int]] = {}
        for name, hits in branches.items():
            for rank, hit in enumerate(hits, 1):
                first.setdefault(hit.id, hit)
                found.setdefault(hit.id, {})[name] = rank
        fused = {key: sum(1.0 / (self._k + rank) for rank in ranks.values()) for key, ranks in found.items()}
        reachable = sum(1 for hits in branches.values() if hits) / (self._k + 1)
        order = sorted(fused, key=lambda key: (-fused[key], -first[key].score, key))[:limit]
        return [
            first[key].model_copy(
                update={
                    "score": round(min(1.0, fused[key] / reachable), 6),
                    "explain": {**first[key].explain, "branches": found[key], "branch_score": first[key].score},
                }
            )
            for key in order
        ]
