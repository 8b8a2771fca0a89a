"""The pages: an address, a name by which the menu knows them, and a function from a `View` to what is shown."""

from __future__ import annotations

from ..view import Page
from . import chats, overview, people, search

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (*overview.PAGES, *search.PAGES, *people.PAGES, *chats.PAGES)
