"""Where one stretch of talk ends and the next begins, by rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..config.model import Episode
from ..language.normalise import unpack_terms
from .deriving_rows import Material

__all__ = ["BLOCK", "segments"]

BLOCK = 6
"""Paragraphs compared on each side of a possible change of topic."""
COMPARED_AT_ONCE = 128
"""Places compared in one go: a table of so many paragraphs by their words stays small."""


def segments(material: Sequence[Material], settings: Episode, *, whole: bool = True) -> Iterator[list[Material]]:
    """Cut ordered paragraphs where the scope changes, at long pauses, at changes of topic, and when a stretch gets too long.

    A change of topic is a place where the words of the last paragraphs and of the next have little in common
    (lexical cohesion, after TextTiling: Hearst 1997). From the start of any stretch on, the cuts are a function of what
    follows; whether there is one at a place hangs on the `BLOCK` paragraphs on each side of it. If more paragraphs
    follow (not `whole`), only the stretches that are certain come out.
    """
    run: list[Material] = []
    for paragraph in material:
        if run:
            pause = paragraph.at - (run[-1].event_end or run[-1].at)
            if paragraph.scope != run[-1].scope or pause > settings.gap_hours * 3600:
                yield from _by_topic(run, settings, ended=True)
                run = []
        run.append(paragraph)
    if run:
        yield from _by_topic(run, settings, ended=whole)


def _by_topic(run: Sequence[Material], settings: Episode, *, ended: bool) -> Iterator[list[Material]]:
    shifts: set[int] = set()
    if settings.topic_shift > 0:
        for first in range(0, len(run) - 2 * BLOCK + 1, COMPARED_AT_ONCE):
            likeness = _likeness(run[first : first + COMPARED_AT_ONCE + 2 * BLOCK - 1])
            shifts.update((np.flatnonzero(likeness < settings.topic_shift) + first + BLOCK).tolist())
    start = 0
    for at in range(1, len(run) if ended else len(run) - BLOCK + 1):
        if at - start >= settings.max_paragraphs or (at - start >= BLOCK and at in shifts):
            yield list(run[start:at])
            start = at
    if ended:
        yield list(run[start:])


def _likeness(run: Sequence[Material]) -> NDArray[np.float32]:
    """For each place with `BLOCK` paragraphs on both sides, the cosine of the two blocks' term counts.

    Without the terms of every paragraph of both: the date's words are such.
    """
    total = np.cumsum(_table(run), axis=0)
    zero = np.zeros((1, total.shape[1]), np.float32)
    total = np.concatenate([zero, total])
    held = np.concatenate([zero, np.cumsum(np.diff(total, axis=0) > 0, axis=0, dtype=np.float32)])
    left, right = total[BLOCK:-BLOCK] - total[: -2 * BLOCK], total[2 * BLOCK :] - total[BLOCK:-BLOCK]
    somewhere_missing = held[2 * BLOCK :] - held[: -2 * BLOCK] < 2 * BLOCK
    left, right = left * somewhere_missing, right * somewhere_missing
    norm = np.sqrt(np.einsum("ij,ij->i", left, left) * np.einsum("ij,ij->i", right, right))
    return np.divide(np.einsum("ij,ij->i", left, right), norm, out=np.ones_like(norm), where=norm > 0)


def _table(run: Sequence[Material]) -> NDArray[np.float32]:
    """How often each paragraph holds each term, shape (paragraphs, terms)."""
    terms = [unpack_terms(paragraph.terms) for paragraph in run]
    rows = np.repeat(np.arange(len(run)), [len(hashes) for hashes, _ in terms])
    known, columns = np.unique(np.concatenate([hashes for hashes, _ in terms]), return_inverse=True)
    table = np.zeros((len(run), len(known)), np.float32)
    np.add.at(table, (rows, columns), np.concatenate([counts for _, counts in terms]))
    return table
