"""How memories fade, and what use and hand do against it: formulas without side effects."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..config.model import Lifecycle
from ..store.rows.retention import MemoryKind, Retention

__all__ = ["DAY", "Action", "RetentionRules", "retained", "retained_all"]

Action = Literal["reinforce", "weaken", "remember_forever", "protect", "freeze", "forget", "restore"]
"""What a hand does to a memory."""
HOUR, DAY = 3_600.0, 86_400.0
PROTECTION_HOURS = 24.0
"""A reinforcement of strength 1 protects for so long."""


def retained(retention: Retention, now: float, half_life: float) -> float:
    """What is left: strength · 2^(−(now − anchor) / half_life), the half-life in seconds.

    A pinned memory does not fade, and a clock that goes backwards takes nothing back.
    """
    if retention.pinned:
        return retention.strength
    return retention.strength * 2.0 ** (-max(0.0, now - retention.anchor_at) / half_life)


def retained_all(
    strength: NDArray[np.float64], anchor_at: NDArray[np.float64], now: float, half_life: float
) -> NDArray[np.float32]:
    """The same of many memories; an anchor at infinity stands for a pinned one."""
    return (strength * np.exp2(-np.maximum(0.0, now - anchor_at) / half_life)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class RetentionRules:
    """What each event does to a retention r(now); after it the anchor is now, or stays where it was if that is later.

    - evidence: 1 (the database's own trigger, when a new paragraph supports a relation)
    - access: r + access_gain · (1 − r), and nothing within the cool-down after the last access
    - reinforce: r + min(1, reinforce_gain · strength) · (1 − r), protected for max(1, 24 · strength) hours
    - weaken: r · (1 − min(1, weaken_gain · strength))
    - protect: r, protected for some hours, or pinned
    - remember for ever: reinforced and pinned
    - forget: 0, neither pinned nor protected
    - restore: 1
    """

    settings: Lifecycle

    def half_life(self, kind: MemoryKind) -> float:
        """Seconds after which half of a memory is left."""
        settings = self.settings
        days = settings.relation_half_life_days if kind == "relation" else settings.paragraph_half_life_days
        return days * DAY

    def left(self, kind: MemoryKind, retention: Retention, now: float) -> float:
        """What is left now."""
        return retained(retention, now, self.half_life(kind))

    def exempt(self, retention: Retention, now: float) -> bool:
        """Whether it is pinned or protected, and so never put to rest."""
        return retention.pinned or (retention.protected_until or 0.0) > now

    def faded(self, kind: MemoryKind, retention: Retention, now: float) -> bool:
        """Whether too little is left, and nothing protects it."""
        return not self.exempt(retention, now) and self.left(kind, retention, now) <= self.settings.freeze_threshold

    def span(self, strength: float) -> float:
        """Seconds after which a relation of this strength falls under the threshold; below zero if it has."""
        if strength <= 0:
            return -math.inf
        return self.half_life("relation") * math.log2(strength / self.settings.freeze_threshold)

    def fades_at(self, retention: Retention) -> float | None:
        """When a relation will be put to rest if nothing happens; None if never."""
        if retention.pinned:
            return None
        return max(retention.anchor_at + max(0.0, self.span(retention.strength)), retention.protected_until or 0.0)

    def revives(self, left: float) -> bool:
        """Whether so much is enough to be taken up again after fading."""
        return left >= max(self.settings.revive_threshold, self.settings.freeze_threshold)

    def accessed(self, kind: MemoryKind, retention: Retention, now: float) -> Retention | None:
        """After a real use; None while it is too soon after the last one."""
        last = retention.accessed_at
        if last is not None and now - last < self.settings.access_cooldown_minutes * 60:
            return None
        left = self.left(kind, retention, now)
        gained = left + self.settings.access_gain * (1 - left)
        return replace(self._at(retention, now, gained), accessed_at=now)

    def after(
        self,
        action: Action,
        kind: MemoryKind,
        retention: Retention,
        now: float,
        *,
        strength: float = 1.0,
        hours: float = 0.0,
    ) -> Retention:
        """What an action by hand makes of it; `hours` are those of a protection, 0 for one for good."""
        left, until = self.left(kind, retention, now), retention.protected_until or 0.0
        match action:
            case "freeze":
                return retention
            case "restore":
                return self._at(retention, now, 1.0)
            case "forget":
                return replace(self._at(retention, now, 0.0), pinned=False, protected_until=None)
            case "weaken":
                return self._at(retention, now, left * (1 - min(1.0, self.settings.weaken_gain * strength)))
            case "protect":
                held = self._at(retention, now, left)
                return (
                    replace(held, protected_until=max(now + hours * HOUR, until))
                    if hours
                    else replace(held, pinned=True)
                )
            case "reinforce" | "remember_forever":
                gained = self._at(retention, now, left + min(1.0, self.settings.reinforce_gain * strength) * (1 - left))
                until = max(now + max(1.0, PROTECTION_HOURS * strength) * HOUR, until)
                held = replace(
                    gained, protected_until=until, reinforced_at=now, reinforcements=retention.reinforcements + 1
                )
                return held if action == "reinforce" else replace(held, pinned=True, protected_until=None)

    def _at(self, retention: Retention, now: float, strength: float) -> Retention:
        anchor = max(now, retention.anchor_at)
        return replace(retention, strength=min(1.0, max(0.0, strength)), anchor_at=anchor)
