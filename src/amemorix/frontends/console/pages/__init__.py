"""The pages: an address, a name by which the menu knows them, and a function from a `View` to what is shown."""

from __future__ import annotations

from . import auditing, backups, chats, configuring, health, importing, overview, people, search, tuning
from .page import Page

__all__ = ["PAGES"]

PAGES: tuple[Page, ...] = (
    *overview.PAGES, *search.PAGES, *people.PAGES, *chats.PAGES, *importing.PAGES, *tuning.PAGES, *configuring.PAGES,
    *auditing.PAGES, *backups.PAGES, *health.PAGES,
)  # fmt: skip
