"""Regular expressions that are compiled when they are first used: a process uses few of the hundreds that there are."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["lazy_regex"]

_NAMES = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "search",
    "split",
    "sub",
    "subn",
)


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, without compiling yet; the functions of `re` do not take it as their pattern."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


class _Lazy:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._given = flags

    def __getattr__(self, name: str) -> Any:
        """Called once: what a compiled pattern has is afterwards found in the object itself."""
        if name not in _NAMES:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._given)
        vars(self).update({known: getattr(compiled, known) for known in _NAMES})
        return getattr(self, name)
