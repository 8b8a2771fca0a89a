"""What can be known of somebody: the attributes of facts, each with how many values it takes and how long it lasts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["FAVOURITE", "SLOTS", "STATEMENT", "Cardinality", "Slot", "Stability", "slot_of"]

Cardinality = Literal["single", "set"]
Stability = Literal["stable", "temporal", "uncertain"]
STATEMENT, FAVOURITE = "statement", "favourite"


@dataclass(frozen=True, slots=True)
class Slot:
    """An attribute; `single` has one value at a time."""

    attribute: str
    cardinality: Cardinality
    stability: Stability
    nested: bool = False
    """A value that begins like another says the same more exactly: 上海 and 上海浦东."""

    def compatible(self, one: str, other: str) -> bool:
        """Whether both normalised values can be true at the same time."""
        if self.cardinality == "set" or one == other:
            return True
        return self.nested and (one.startswith(other) or other.startswith(one))


_ALL = (
    Slot("residence", "single", "stable", nested=True),
    Slot("hometown", "single", "stable", nested=True),
    Slot("workplace", "single", "stable", nested=True),
    Slot("occupation", "single", "stable"),
    Slot("school", "set", "stable"),
    Slot("birthday", "single", "stable"),
    Slot("age", "single", "temporal"),
    Slot("name", "single", "stable"),
    Slot("nickname", "set", "stable"),
    Slot("spouse", "single", "stable"),
    Slot("partner", "single", "stable"),
    Slot("child", "set", "stable"),
    Slot("pet", "set", "stable"),
    Slot("allergy", "set", "stable"),
    Slot("avoids", "set", "stable"),
    Slot("diet", "single", "stable"),
    Slot("like", "set", "stable"),
    Slot(FAVOURITE, "single", "stable"),
    Slot("language", "set", "stable"),
    Slot("phone", "single", "stable"),
    Slot("email", "single", "stable"),
    Slot("plan", "set", "temporal"),
    Slot(STATEMENT, "set", "stable"),
)  # fmt: skip
SLOTS = {slot.attribute: slot for slot in _ALL}
"""Attribute -> slot; `favourite:<thing>` is a slot of its own for each thing."""


def slot_of(attribute: str) -> Slot:
    """The slot of an attribute; one that is not in the table takes any number of values."""
    known = SLOTS.get(attribute.partition(":")[0])
    return known or Slot(attribute, "set", "stable")
