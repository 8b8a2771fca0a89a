"""Cutting a text near a length, at the best boundary there is."""

from __future__ import annotations

import unicodedata

from ..lazy_regex import lazy_regex

__all__ = ["split"]

_CLOSERS = "[\"'”’」』）)】\\]]"
_BOUNDARIES = tuple(
    lazy_regex(pattern)
    for pattern in (
        r"\n[ \t\r]*\n\s*",
        r"\n\s*",
        rf"(?:[。！？!?…]+{_CLOSERS}*|\.{_CLOSERS}*(?=\s))\s*",
        r"(?:[，、；：]|[,;:](?=\s))\s*",
        r"\s+",
    )
)
"""Where a text may be cut, best first; the cut comes after the match."""

_JOINER = "\u200d"
_WHOLE = 1.25  # a rest of up to this many targets stays in one piece
_NEAR = 0.4  # a cut may be this share of the aimed length away from it


def split(text: str, *, target: int = 1200) -> list[str]:
    """The text in pieces of about `target` characters, none over 1.5 times that, without outer white space.

    Cuts come at the best boundary near the aim: a blank line, a line end, the end of a sentence, a comma, a space, and
    only then anywhere, outside of emoji and combined characters where possible. Nothing but white space is lost.
    Linear in the text's length. Raises ValueError if `target` is under 1.
    """
    if target < 1:
        raise ValueError("target must be at least 1")
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = _end(text, start, target)
        pieces.append(text[start:end].strip())
        start = end
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, target: int) -> int:
    """Where the piece that begins at `start` ends; the last two pieces share what is left, so no tiny tail remains."""
    rest = len(text) - start
    if rest <= _WHOLE * target:
        return len(text)
    aim = min(target, rest // 2)
    low = start + max(1, round(aim * (1 - _NEAR)))
    high = max(low, start + int(aim * (1 + _NEAR)))
    for boundary in _BOUNDARIES:
        if cuts := [m.end() for m in boundary.finditer(text, low - 1, high) if m.end() >= low]:
            return _nearest([cut for cut in cuts if _separable(text, cut)] or cuts, start + aim)
    return next((cut for cut in _outward(start + aim, low, high) if _separable(text, cut)), start + aim)


def _nearest(cuts: list[int], aim: int) -> int:
    return min(cuts, key=lambda cut: abs(cut - aim))


def _outward(aim: int, low: int, high: int) -> list[int]:
    """Every position from the aim down to `low`, then those up to `high`."""
    return [*range(aim, low - 1, -1), *range(aim + 1, high + 1)]


def _separable(text: str, cut: int) -> bool:
    """Whether the characters on both sides of the cut are seen as two."""
    if not 0 < cut < len(text):
        return True
    before, after = text[cut - 1], text[cut]
    if before == _JOINER or after == _JOINER or _modifies(after):
        return False
    return not (_is_flag_half(before) and _is_flag_half(after)) and not (_is_high(before) and _is_low(after))


def _modifies(character: str) -> bool:
    """A combining mark, a variation selector, a skin tone or a tag, which belongs to the character before it."""
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_high(character: str) -> bool:
    return "\ud800" <= character <= "\udbff"


def _is_low(character: str) -> bool:
    return "\udc00" <= character <= "\udfff"
