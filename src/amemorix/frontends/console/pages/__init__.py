"""The pages: an address, a name by which the menu knows them, and a function from a `View` to what is shown."""

from __future__ import annotations

from ..view import Page
from . import (
    auditing,
    backups,
    chats,
    configuring,
    corrections,
    deletion,
    episodes,
    graph,
    health,
    importing,
    overview,
    people,
    search,
    tuning,
)  # fmt: skip

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (
    *overview.PAGES, *search.PAGES, *people.PAGES, *chats.PAGES, *episodes.PAGES, *graph.PAGES, *corrections.PAGES,
    *deletion.PAGES, *importing.PAGES, *tuning.PAGES, *configuring.PAGES, *auditing.PAGES, *backups.PAGES, *health.PAGES,
)  # fmt: skip
