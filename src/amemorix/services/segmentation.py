"""Where one stretch of talk ends and the next begins, by rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..config.model import Episode
from ..storage.episodes import Material
from ..text import unpack_terms

__all__ = ["EpisodeSegmentationService"]

Counts = dict[int, int]
BLOCK = 6
"""Paragraphs compared on each side of a possible change of topic."""


class EpisodeSegmentationService:
    """Cuts ordered paragraphs at long pauses, at changes of topic, and when a stretch gets too long.

    A change of topic is a place where the words of the last paragraphs and of the next have little in common
    (lexical cohesion, after TextTiling: Hearst 1997).
    """

    def __init__(self, settings: Episode) -> None:
        self._settings = settings

    def segments(self, material: Sequence[Material]) -> Iterator[list[Material]]:
        """Stretches of one scope each, in order."""
        for run in self._runs(material):
            yield from self._by_topic(run)

    def _runs(self, material: Sequence[Material]) -> Iterator[list[Material]]:
        run: list[Material] = []
        for paragraph in material:
            if run and (paragraph.scope != run[-1].scope or self._pause(run[-1], paragraph)):
                yield run
                run = []
            run.append(paragraph)
        if run:
            yield run

    def _pause(self, before: Material, after: Material) -> bool:
        return after.at - (before.event_end or before.at) > self._settings.gap_hours * 3600

    def _by_topic(self, run: Sequence[Material]) -> Iterator[list[Material]]:
        counts = [_counts(paragraph) for paragraph in run] if self._settings.topic_shift > 0 else []
        start = 0
        for at in range(1, len(run)):
            long = at - start >= self._settings.max_paragraphs
            if long or (at - start >= BLOCK and len(run) - at >= BLOCK and self._shifts(counts, at)):
                yield list(run[start:at])
                start = at
        yield list(run[start:])

    def _shifts(self, counts: Sequence[Counts], at: int) -> bool:
        if not counts:
            return False
        return _likeness(counts[at - BLOCK : at], counts[at : at + BLOCK]) < self._settings.topic_shift


def _likeness(left: Sequence[Counts], right: Sequence[Counts]) -> float:
    """Cosine of the two term-count vectors, without the terms of every paragraph: the date's words are such."""
    everywhere = set[int].intersection(*(set(counts) for counts in (*left, *right)))
    a, b = _summed(left, everywhere), _summed(right, everywhere)
    norm = float(np.sqrt(sum(v * v for v in a.values()) * sum(v * v for v in b.values())))
    return sum(count * b.get(term, 0) for term, count in a.items()) / norm if norm else 1.0


def _summed(block: Sequence[Counts], without: set[int]) -> Counts:
    total: Counts = {}
    for counts in block:
        for term, count in counts.items():
            if term not in without:
                total[term] = total.get(term, 0) + count
    return total


def _counts(paragraph: Material) -> Counts:
    hashes, counts = unpack_terms(paragraph.terms)
    return dict(zip(hashes.tolist(), counts.tolist(), strict=True))
