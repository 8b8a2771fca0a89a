"""The pages: an address, a name by which the menu knows them, and a function from a `View` to what is shown."""

from __future__ import annotations

from . import chats, corrections, deletion, episodes, graph, overview, people, search
from .page import Page

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (
    *overview.PAGES,
    *search.PAGES,
    *people.PAGES,
    *chats.PAGES,
    *episodes.PAGES,
    *graph.PAGES,
    *corrections.PAGES,
    *deletion.PAGES,
)
