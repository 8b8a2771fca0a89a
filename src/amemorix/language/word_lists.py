"""Word lists, which are data: the files of `language/data`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["word_lists"]


@cache
def word_lists(file: str) -> Mapping[str, frozenset[str]]:
    """Name -> words, of every list in `data/<file>.toml`."""
    text = (Path(__file__).with_name("data") / f"{file}.toml").read_text("utf-8")
    return {name: frozenset(words.split()) for name, words in tomllib.loads(text).items()}
