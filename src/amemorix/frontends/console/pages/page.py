"""What a page is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.responses import Response

from ..view import View

__all__ = ["Page"]


class Page(NamedTuple):
    """`name` is the menu's entry that is marked while the page is shown."""

    path: str
    name: str
    make: Callable[[View], Awaitable[Response]]
    methods: tuple[str, ...] = ("GET",)
