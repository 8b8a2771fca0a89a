"""What changes with a deletion beside the rows that it marks: what was read out of the paragraphs that go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..store.ports import Connection
from . import closure as closure_rows

__all__ = ["Effects", "effects_of"]


@dataclass(frozen=True, slots=True)
class Effects:
    """How many derived rows go with their last paragraph, and how many go on with fewer or other words."""

    facts: int = 0
    facts_changed: int = 0
    relations_changed: int = 0
    episodes: int = 0
    episodes_changed: int = 0
    profiles_changed: int = 0


def effects_of(
    db: Connection,
    paragraphs: Sequence[int],
    *,
    facts: Collection[int],
    relations_kept: int,
    profiles: Collection[int],
) -> Effects:
    """What these paragraphs take along; facts and profiles that the deletion takes itself are not counted again."""
    of_facts = _fates(closure_rows.flagged(db, "facts_losing", paragraphs), facts)
    of_episodes = _fates(closure_rows.flagged(db, "episodes_losing", paragraphs))
    told = set(closure_rows.ids(db, "profiles_losing", paragraphs)) - set(profiles)
    return Effects(*of_facts, relations_kept, *of_episodes, len(told))


def _fates(kept: dict[int, bool], but: Collection[int] = ()) -> tuple[int, int]:
    """(how many go, how many stay with less)."""
    stays = [stay for id_, stay in kept.items() if id_ not in but]
    return len(stays) - sum(stays), sum(stays)
