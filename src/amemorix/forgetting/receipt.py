"""What a purge tells of itself when it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["PurgeReceipt"]


@dataclass(slots=True)
class PurgeReceipt:
    """What a purge did, and what was looked at to be sure of it."""

    step: str = ""
    erased: dict[str, int] = field(default_factory=dict[str, int])
    """Rows gone, by kind."""
    scrubbed: dict[str, int] = field(default_factory=dict[str, int])
    """Rows that quoted what is erased and were emptied, by table."""
    unnamed: dict[str, int] = field(default_factory=dict[str, int])
    """Rows that no longer say that a person who is gone asked for something, by table."""
    stays: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What one might have expected to go with the deletion and did not: `kind`, `id`, `why`, and no text."""
    copies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Other files that held it, and what was done about each."""
    indexes: list[str] = field(default_factory=list[str])
    """Snapshots written anew."""
    needles: int = 0
    """Fragments looked for, as UTF-8 and as JSON writes them."""
    held_elsewhere: int = 0
    """Fragments that rows which stay hold as well, and which say nothing therefore."""
    too_short: int = 0
    """Texts of fewer than six bytes, which cannot be told from chance."""
    incoming: list[str] = field(default_factory=list[str])
    """Imports that were open when a chat or a person was purged, or had told of what is purged: they may bring, or have
    brought, more of it."""
    complete: bool = True
    """False if a crash came between, until everything is done all the same: what had been erased before cannot be looked
    for, so that copies are written anew and exports go whatever they hold. So it is in the end if something was found, a
    file could not be looked through, for what had been erased before or at all, or an import may bring more."""
    files: int = 0
    bytes: int = 0
    found: dict[str, int] = field(default_factory=dict[str, int])
    """Fragments found in the last look through the files, by file: empty, or something is left."""
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Files that could not be looked through, and how they are packed."""
    warnings: list[str] = field(default_factory=list[str])
    """What is left to whoever put the files there."""
    rewritten: int = 0
    """How often the database was written anew."""
    log_emptied: bool = False
    seconds: float = 0.0
