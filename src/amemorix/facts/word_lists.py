"""Lists of words that are kept as data, each read as one regular expression."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

__all__ = ["any_of", "read_lists"]


def read_lists(name: str) -> dict[str, Any]:
    """What a TOML file of `data/` holds."""
    return tomllib.loads(files("amemorix.facts").joinpath("data", name).read_text("utf-8"))


def any_of(words: Iterable[str], pattern: str = "") -> re.Pattern[str]:
    """One expression for words: those of Latin letters stand alone, others anywhere; the longest is tried first."""
    by_length = sorted(words, key=len, reverse=True)
    latin = "|".join(word for word in by_length if word.isascii())
    other = [word for word in by_length if not word.isascii()]
    return re.compile("|".join([*([rf"\b(?:{latin})\b"] if latin else []), *other, *([pattern] if pattern else [])]))
