"""The search for episodes, through the paragraphs they are made of."""

from __future__ import annotations

import sqlite3
from typing import Any

from ..storage.episodes import EpisodeRepository
from .fusion import Fused

__all__ = ["rank_episodes"]

SUPPORT = 0.3
"""What further paragraphs of an episode add, halved for each."""


def rank_episodes(
    db: sqlite3.Connection, episodes: EpisodeRepository, fused: Fused, limit: int, now: float
) -> dict[int, tuple[float, dict[str, Any]]]:
    """Episode -> (score in 0..1, explanation), best first.

    An episode scores as its best paragraph does, and a little more for each further one that answers.
    """
    of = episodes.of_paragraphs(db, fused.ids.tolist(), now)
    best: dict[int, list[tuple[float, int]]] = {}
    for paragraph, score in zip(fused.ids.tolist(), fused.score.tolist(), strict=True):
        if paragraph in of:
            best.setdefault(of[paragraph], []).append((score, paragraph))
    ranked = sorted(((_score(found), episode, found) for episode, found in best.items()), key=lambda r: (-r[0], r[1]))
    return {
        episode: (score, {"lanes": {"episode": {"rank": rank}}, "paragraphs": [f"p{p}" for _, p in found[:3]]})
        for rank, (score, episode, found) in enumerate(ranked[:limit], 1)
    }


def _score(found: list[tuple[float, int]]) -> float:
    first, *rest = (score for score, _ in found)
    bonus = sum(score * SUPPORT / 2**i for i, score in enumerate(rest[:4], 1))
    return min(1.0, (first + bonus) / (1.0 + SUPPORT))
