"""The merging of all modes into one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .fusion import RRF_K, reciprocal_rank_fusion
from .result import Hit

__all__ = ["AggregateQueryService"]


class AggregateQueryService:
    """Merges the branches' hits by reciprocal rank fusion."""

    def __init__(self, k: int = RRF_K) -> None:
        self._k = k

    def merge(self, branches: Mapping[str, Sequence[Hit]], limit: int) -> list[Hit]:
        """Hits of all branches, best first; each says which branches found it and at which rank."""
        ranks = {name: [hit.id for hit in hits] for name, hits in branches.items()}
        fused = reciprocal_rank_fusion(ranks, self._k)
        reachable = len([hits for hits in branches.values() if hits]) / (self._k + 1)
        first: dict[str, Hit] = {}
        for hits in branches.values():
            for hit in hits:
                first.setdefault(hit.id, hit)
        order = sorted(fused, key=lambda key: (-fused[key], -first[key].score, key))[:limit]
        return [self._merged(first[key], fused[key] / reachable, ranks) for key in order]

    def _merged(self, hit: Hit, score: float, ranks: Mapping[str, Sequence[str]]) -> Hit:
        found = {name: order.index(hit.id) + 1 for name, order in ranks.items() if hit.id in order}
        explain = {**hit.explain, "branches": found, "branch_score": hit.score}
        return hit.model_copy(update={"score": round(min(1.0, score), 6), "explain": explain})
