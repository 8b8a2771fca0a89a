"""What a memory and each of its backups may hold when operations on the whole of it were cut short, line by line."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

__all__ = ["Account", "Held", "Ids", "Operation", "World", "ids_in", "line", "of_chat"]

Ids = frozenset[str]
"""Lines by what only they hold: `c1` is the chat of `line-c1-83a4f1q`."""
_ID = re.compile(rb"line-c\d-[0-9a-f]+q")
NOTHING: Ids = frozenset()
Kind = Literal["write", "import", "fill", "delete", "purge", "restore", "other"]


def line(chat: int, rng: random.Random) -> str:
    """A line that no other history has."""
    return f"line-c{chat}-{rng.getrandbits(48):x}q"


def ids_in(raw: bytes) -> Ids:
    """The lines that stand in some bytes."""
    return frozenset(found.decode() for found in _ID.findall(raw))


def of_chat(lines: Iterable[str], chat: str) -> Ids:
    return frozenset(one for one in lines if one.startswith(f"line-{chat}-"))


@dataclass(frozen=True, slots=True)
class Held:
    """What the rows of a database hold: lines that are shown, and lines that are marked as deleted."""

    live: Ids = NOTHING
    deleted: Ids = NOTHING

    def without(self, gone: Ids) -> Held:
        return Held(self.live - gone, self.deleted - gone)


@dataclass(frozen=True, slots=True)
class Operation:
    """One call or command, and what it is about."""

    number: int
    kind: Kind
    name: str
    lines: Ids = NOTHING
    chat: str = ""
    backup: str = ""
    filling: Held = Held()
    encrypted: bool | None = None
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class World:
    """One of the states that a memory may be in."""

    held: Held = Held()
    coming: Ids = NOTHING
    """Lines of an import that goes on."""
    partly: bool = False
    """Whether some of them alone may come, since the rows of the import are those of a backup."""
    going: Ids = NOTHING
    """Lines of a purge that goes on."""
    unsure: Ids = NOTHING
    """Those of them whose purge was perhaps not begun: one of several deletions follows the other."""
    erased: Ids = NOTHING
    begun: frozenset[int] = frozenset()
    """Numbers of the operations that have begun to have an effect."""

    def after(self, operation: Operation, backups: dict[str, World]) -> World:
        """Begin an operation."""
        held, begun = self.held, self.begun | {operation.number}
        match operation.kind:
            case "write":
                return replace(self, held=Held(held.live | operation.lines, held.deleted), begun=begun)
            case "import":
                return replace(self, coming=self.coming | operation.lines, begun=begun)
            case "fill":
                return replace(self, held=operation.filling, begun=begun)
            case "delete":
                gone = of_chat(held.live, operation.chat)
                return replace(self, held=Held(held.live - gone, held.deleted | gone), begun=begun)
            case "purge":
                going, unsure = self.going | held.deleted, self.unsure | held.deleted
                return replace(self, held=Held(held.live), going=going, unsure=unsure, begun=begun)
            case "restore":
                then, erased, unsure = backups[operation.backup], self.erased | self.going - self.unsure, self.unsure
                live, deleted, coming = then.held.live - erased, then.held.deleted - erased, then.coming - erased
                coming |= live & unsure
                going = deleted & unsure
                return World(Held(live - unsure, deleted - unsure), coming, bool(coming), going, going, erased, begun)
            case _:
                return replace(self, begun=begun)

    def ended(self, operation: Operation) -> World:
        """End an operation that was begun: nothing of it goes on."""
        held = self.held
        match operation.kind:
            case "import":
                come = self.coming & operation.lines
                return replace(self, held=Held(held.live | come, held.deleted), coming=self.coming - come)
            case "purge":
                return replace(self, going=NOTHING, unsure=NOTHING, erased=self.erased | self.going)
            case _:
                return self

    def may_hold(self, found: Held) -> bool:
        """Tell whether a database can be a copy of this one, with an import and a purge under way."""
        live, deleted = found.live - self.coming, found.deleted - self.going
        return live == self.held.live and deleted == self.held.deleted

    def settled(self, found: Held) -> World | None:
        """The state when nothing goes on any more, with these rows; None if it cannot have come to them."""
        come = found.live & self.coming
        if come and come != self.coming and not self.partly:
            return None
        left = found.deleted & self.unsure
        if found != Held(self.held.live | come, self.held.deleted | left):
            return None
        return World(found, erased=self.erased | self.going - left)


@dataclass(slots=True)
class Account:
    """What was acknowledged, and what the memory may be by now."""

    encrypted: set[bool]
    candidates: set[int]
    """What `retrieval.candidates` may be."""
    worlds: list[World] = field(default_factory=lambda: [World()])
    seen: list[World] = field(default_factory=lambda: [World()])
    """Every state that it may have been in since it was looked at."""
    backups: dict[str, World] = field(default_factory=dict[str, World])
    """What each backup was found to hold; an import under way in it is `coming`."""
    unreached: dict[str, Ids] = field(default_factory=dict[str, Ids])
    """Erased lines that a backup may still hold, since it was encrypted and the memory was not."""
    was_plain: bool = False
    """Whether the memory may have been in the clear since it was looked at."""
    made: set[str] = field(default_factory=set[str])
    """Backups that were acknowledged and not looked at yet."""
    pending: dict[int, Operation] = field(default_factory=dict[int, Operation])
    log: list[str] = field(default_factory=list[str])
    """What was done since it was looked at, for people."""
    numbers: int = 0
    """How many operations there were."""

    def begin(self, operation: Operation) -> None:
        """Expect each state without it, and with it."""
        self.numbers = operation.number
        self.pending[operation.number] = operation
        self.log.append(f"begun {operation.name}")
        with_it = [world.after(operation, self.backups) for world in self.worlds]
        self._may_be([*self.worlds, *with_it])
        self.encrypted |= {operation.encrypted} if operation.encrypted is not None else set()
        self.was_plain |= operation.encrypted is False
        self.candidates |= {operation.candidates} if operation.candidates else set()

    def accept(self, number: int) -> None:
        """It goes on without the caller, also after a crash."""
        operation = self.pending.pop(number)
        self.log.append(f"accepted {operation.name}")
        self._may_be([replace(world, unsure=NOTHING) for world in self.worlds if number in world.begun])

    def end(self, number: int, backup: str = "") -> None:
        """It was acknowledged, with the id of a new backup."""
        operation = self.pending.pop(number)
        self.log.append(f"done {operation.name}")
        self._may_be([world.ended(operation) for world in self.worlds if number in world.begun])
        self.encrypted = self.encrypted if operation.encrypted is None else {operation.encrypted}
        self.candidates = {operation.candidates} if operation.candidates else self.candidates
        if backup:
            self.made.add(backup)

    def cut_short(self, number: int) -> None:
        """It was an import that a purge cancelled: some of its lines may be there."""
        self.log.append(f"cut short {self.pending.pop(number).name}")
        self._may_be([replace(world, partly=True) for world in self.worlds if number in world.begun])

    def refuse(self, number: int, told: str) -> None:
        """Nothing is changed."""
        operation = self.pending.pop(number)
        self.log.append(f"refused {operation.name}: {told}")
        self._may_be([world for world in self.worlds if number not in world.begun])

    def _may_be(self, worlds: list[World]) -> None:
        self.worlds = list(dict.fromkeys(worlds))
        self.seen = list(dict.fromkeys([*self.seen, *worlds]))

    def look(self, found: Held, encrypted: bool, candidates: int) -> None:
        """The memory has settled, and holds these rows; AssertionError if it cannot."""
        assert encrypted in self.encrypted, f"encrypted: {encrypted}"
        assert candidates in self.candidates, f"{candidates} candidates, not {self.candidates}"
        self.encrypted, self.candidates = {encrypted}, {candidates}
        fitting = [after for world in self.worlds if (after := world.settled(found))]
        if not fitting:
            told = [_difference(world, found) for world in self.worlds]
            raise AssertionError(f"the rows are of none of {len(told)} states: {told[:4]}")
        self.worlds, self.pending = fitting[:1], {}

    def look_at_backup(self, which: str, found: Held, *, encrypted: bool) -> None:
        """A backup holds these rows, after the memory was looked at; AssertionError if it cannot.

        One that is encrypted cannot be read by a memory in the clear, nor purged; once it is in the clear itself, it is.
        """
        (world,) = self.worlds
        if which not in self.backups:
            left = found.without(world.erased)
            fitting = [one for one in self.seen if replace(one, held=one.held.without(world.erased)).may_hold(left)]
            assert fitting, f"backup {which} holds what never was: {[_difference(one, found) for one in self.seen][:6]}"
            self.backups[which] = World(found, coming=fitting[0].coming - found.live)
        held = self.backups[which].held.without(world.erased)
        assert found.without(world.erased) == held, f"backup {which}: {_difference(World(held), found)}"
        back = (found.live | found.deleted) & world.erased
        known = back if self.was_plain else self.unreached.get(which, NOTHING)
        known = known if encrypted else NOTHING
        assert back <= known, f"backup {which} holds what was purged: {sorted(back - known)}"
        self.unreached[which] = back

    def looked(self) -> None:
        """Everything was looked at: forget what may have been."""
        self.seen, self.made, self.was_plain = self.worlds, set(), False in self.encrypted
        self.log.clear()


def _difference(world: World, found: Held) -> dict[str, Any]:
    known: dict[str, Any] = {
        "missing": sorted(world.held.live - found.live),
        "not expected": sorted(found.live - world.held.live),
        "not deleted": sorted(world.held.deleted - found.deleted),
        "deleted": sorted(found.deleted - world.held.deleted),
        "coming": sorted(world.coming),
        "going": sorted(world.going),
        "begun": sorted(world.begun),
    }
    return {name: lines for name, lines in known.items() if lines}
