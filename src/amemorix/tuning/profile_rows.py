"""Retrieval settings that were applied, so that they can be taken back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..store.ports import Connection
from ..store.queries import optional_array

__all__ = ["AppliedProfile"]


@dataclass(frozen=True, slots=True)
class AppliedProfile:
    """Settings that were applied, and those before; times in epoch seconds.

    One that is still `applying` was begun: whether it came to an end, the configuration tells.
    """

    id: int
    task: int | None
    profile: dict[str, Any]
    previous: dict[str, Any]
    reason: str
    status: str
    created_at: float
    rolled_back_at: float | None


def begin(
    db: Connection,
    *,
    task: int | None,
    profile: Mapping[str, Any],
    previous: Mapping[str, Any],
    reason: str,
    now: float,
) -> int:
    """Keep what is about to be applied."""
    values = {
        "task": task, "profile": json.dumps(profile, sort_keys=True), "reason": reason, "now": now,
        "previous": json.dumps(previous, sort_keys=True),
    }  # fmt: skip
    return db.run("retrieval_profile_insert", **values).fetchone()[0]


def applied(db: Connection, id_: int) -> None:
    """It is at work."""
    db.run("retrieval_profile_applied", id=id_)


def drop(db: Connection, id_: int) -> None:
    """It was not applied."""
    db.run("retrieval_profile_drop", id=id_)


def rolled_back(db: Connection, id_: int, now: float) -> None:
    """It was taken back."""
    db.run("retrieval_profile_rolled_back", id=id_, now=now)


def listed(db: Connection, statuses: Sequence[str] | None = None, *, limit: int) -> list[AppliedProfile]:
    """What was applied, the newest first."""
    values = {"statuses": optional_array(statuses), "limit": limit}
    return [
        AppliedProfile(id_, task, json.loads(profile), json.loads(previous), *rest)
        for id_, task, profile, previous, *rest in db.run("retrieval_profiles_list", **values)
    ]
