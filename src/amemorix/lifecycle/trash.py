"""The recycle bin: what goes into it, and what comes back out of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from ..store.ports import Connection
from ..store.queries import array


def discard(db: Connection, paragraphs: Collection[int], reason: Literal["forgotten", "expired"], now: float) -> None:
    """Put live paragraphs into the bin, with the references and relations that rest on nothing else."""
    ids = array(paragraphs)
    db.run("paragraphs_discard", ids=ids, reason=reason, now=now)
    db.run("refs_emptied", ids=ids, now=now)
    db.run("relations_unsupported", paragraphs=ids, now=now)


def revive(db: Connection, paragraphs: Collection[int], now: float) -> None:
    """Take paragraphs out of the bin, with what went when they went; a time that has run out is lifted."""
    ids = array(paragraphs)
    db.run("relations_lost_with", ids=ids)
    db.run("paragraphs_revive", ids=ids, now=now)
    db.run("refs_filled", ids=ids)
    for lowest in sorted(paragraphs)[:1]:
        db.run("embedded_upto_lower", row=lowest)


def rest(
    db: Connection,
    relations: Iterable[int],
    reason: Literal["decay", "frozen", "forgotten"],
    now: float,
    *,
    deleted_at: float | None = None,
) -> None:
    """Make relations inactive: they leave the graph; with `deleted_at` they are in the bin."""
    values = {"ids": array(relations), "inactive_at": now, "reason": reason, "deleted_at": deleted_at}
    db.run("relations_set_state", **values)


def wake(db: Connection, relations: Iterable[int]) -> None:
    """Make relations active again, wherever they were."""
    values = {"ids": array(relations), "inactive_at": None, "reason": "", "deleted_at": None}
    db.run("relations_set_state", **values)
