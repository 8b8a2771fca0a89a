"""Filling paragraphs with blocks that stay whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .chunking import split

__all__ = ["LONGEST", "packed"]

LONGEST = 1.5
"""Targets that a piece may measure."""


def packed(blocks: Iterable[str], target: int, joiner: str) -> list[str]:
    """Neighbouring blocks together up to `target` characters; a block of more than 1.5 times that is cut at its lines."""
    pieces: list[str] = []
    held: list[str] = []
    for block in (part for whole in blocks for part in _fitting(whole, target)):
        if held and _length(held, joiner) + len(joiner) + len(block) > target:
            pieces.append(joiner.join(held))
            held = []
        held.append(block)
    return [*pieces, joiner.join(held)] if held else pieces


def _length(held: Sequence[str], joiner: str) -> int:
    return sum(map(len, held)) + len(joiner) * (len(held) - 1)


def _fitting(block: str, target: int) -> list[str]:
    block = block.strip("\n")
    if len(block) <= LONGEST * target:
        return [block] if block.strip() else []
    lines = block.split("\n")
    return split(block, target=target) if len(lines) == 1 else packed(lines, target, "\n")
