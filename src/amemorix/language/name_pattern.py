"""Names found in texts as they stand, whatever their case, width or script form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..lazy_regex import lazy_regex
from .normalise import fold

__all__ = ["LETTER", "SHORTEST_NAME", "NamePattern", "as_looked_at"]

SHORTEST_NAME = 2
"""Letters of a name that is looked for; a single letter would be met everywhere."""
LETTER = r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A letter or digit of a script that puts spaces between words."""
_SPACED = lazy_regex(LETTER)


class NamePattern:
    """Normalised names, found as whole words where words are kept apart, and anywhere in Chinese."""

    def __init__(self, names: Iterable[str]) -> None:
        known = sorted({name for name in names if len(name) >= SHORTEST_NAME}, key=len, reverse=True)
        self._any = re.compile("|".join(map(_as_word, known))) if known else None

    def held(self, text: str) -> bool:
        """Whether the text holds one of the names."""
        return next(self.found(text), None) is not None

    def found(self, text: str) -> Iterator[str]:
        """Every name in reading order, the longest at each place."""
        return (name for name, *_ in self.places(as_looked_at(text)))

    def places(self, looked_at: str) -> Iterator[tuple[str, int, int]]:
        """The same with where each begins and ends in a text in the form of `as_looked_at`."""
        if self._any is not None:
            for match in self._any.finditer(looked_at):
                yield match.group(), *match.span()


def as_looked_at(text: str) -> str:
    """The form of a text in which names are looked for."""
    return " ".join(fold(text).split())


def _as_word(name: str) -> str:
    before = f"(?<!{LETTER})" if _SPACED.match(name[0]) else ""
    after = f"(?!{LETTER})" if _SPACED.match(name[-1]) else ""
    return before + re.escape(name) + after
