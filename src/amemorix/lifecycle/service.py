"""What use and hand do to memories: reinforce, weaken, protect, freeze, forget, restore."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..clock import Clock
from ..config.model import Lifecycle
from ..episodes import rows as episode_rows
from ..errors import Conflict, InvalidRequest, NotFound
from ..facts import rows as fact_rows
from ..graph import relation_restore
from ..ids import episode_key, fact_key
from ..search.retention import Action, RetentionRules
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import retention as retention_rows
from ..store.rows.retention import Memory, MemoryKind, MemoryState, Ref, Retention
from .targets import Targets, read_keys

__all__ = ["Ask", "Done", "LifecycleService", "Scopes", "discard", "set_relations", "snapshot"]

Scopes = Sequence[int] | None
_Key = tuple[MemoryKind | Literal["episode"], int]
ALLOWED: dict[Action, frozenset[MemoryState]] = {
    "reinforce": frozenset({"active", "inactive"}),
    "remember_forever": frozenset({"active", "inactive"}),
    "weaken": frozenset({"active"}),
    "protect": frozenset({"active"}),
    "freeze": frozenset({"active"}),
    "forget": frozenset({"active", "inactive", "expired"}),
    "restore": frozenset({"inactive", "deleted", "expired"}),
}
"""The states in which a memory takes each action."""
MOST_RELATIONS = 100
"""Relations behind used paragraphs that count as used with them."""
MOST_WAITING = 10_000
"""Uses that may wait to be written; what comes beyond is not counted."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What is to be done, how strongly, by whom and why."""

    action: Action
    strength: float = 1.0
    hours: float = 0.0
    requested_by: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done in one transaction; `operation` is 0 if there was nothing to do."""

    operation: int
    changes: tuple[tuple[Memory, Memory], ...]
    """Each memory before and after."""
    skipped: tuple[Ref, ...] = ()
    """Used memories that are not active, or were used a short while ago."""
    at: float = 0.0


class LifecycleService:
    """Changes the retention of memories; every action is one transaction with its operation row."""

    def __init__(
        self, store: MetadataStore, *, settings: Lifecycle, clock: Clock, on_revived: Callable[[int], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_revived = on_revived
        self._waiting: dict[_Key, None] = {}
        self.rules = RetentionRules(settings)
        self.settings = settings

    async def act(self, ask: Ask, targets: Targets) -> Done:
        """Do it to all of them or to none.

        What was given by id has to be there and in a state that allows it; of what was found by words, that which does
        not allow it is passed over while other does. Raises NotFound, Conflict, InvalidRequest.
        """
        now = self._clock.now()
        done = await self._store.write(lambda db: self._act(db, ask, targets, now))
        if ask.action == "restore":
            for row in sorted(after.id for _, after in done.changes if after.kind == "paragraph")[:1]:
                self._on_revived(row)
        return done

    async def used(
        self, refs: Sequence[Ref], episodes: Iterable[int], scopes: Scopes, *, facts: Iterable[int] = (),
        requested_by: str = "", reason: str = "",
    ) -> Done:  # fmt: skip
        """Count real uses of these memories, of the paragraphs of episodes and facts, and of the relations they support.

        Raises NotFound if one of them is not there.
        """
        now = self._clock.now()
        ask = Ask("reinforce", requested_by=requested_by, reason=reason)

        def unit(db: Connection) -> Done:
            members = episode_rows.members(db, episodes)
            stated = fact_rows.evidence_of(db, facts, now)  # nothing of a fact that a hand gave: no paragraph is used
            groups = {episode_key(id_): members.get(id_, ()) for id_ in episodes}
            groups |= {
                fact_key(id_): [one.paragraph for one in stated[id_] if one.stance == "support"] for id_ in stated
            }
            known = self._every(db, refs, groups.values(), scopes)
            missing = [f"{kind[0]}{id_}" for kind, id_ in refs if (kind, id_) not in known]
            missing += [key for key, held in groups.items() if not any(("paragraph", p) in known for p in held)]
            _must_be_there(missing)
            return self._use(db, known, scopes, now, ask)

        return await self._store.write(unit)

    def note_use(self, keys: Sequence[str]) -> None:
        """Count uses of hits later, in the background; they are no acknowledged write."""
        refs, episodes, _ = read_keys(keys)
        stretches: list[_Key] = [("episode", id_) for id_ in episodes]
        for key in (*refs, *stretches):
            if len(self._waiting) < MOST_WAITING:
                self._waiting[key] = None

    async def flush(self) -> int:
        """Write the uses that wait; returns how many memories they reached."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return 0
        now = self._clock.now()
        episodes = [id_ for kind, id_ in waiting if kind == "episode"]

        def unit(db: Connection) -> Done:
            members = episode_rows.members(db, episodes)
            refs: list[Ref] = [(kind, id_) for kind, id_ in waiting if kind != "episode"]
            return self._use(db, self._every(db, refs, members.values(), None), None, now, None)

        return len((await self._store.write(unit)).changes)

    def _every(
        self, db: Connection, refs: Iterable[Ref], members: Iterable[Sequence[int]], scopes: Scopes
    ) -> dict[Ref, Memory]:
        """The memories named, and the paragraphs of episodes."""
        paragraphs: list[Ref] = [("paragraph", id_) for ids in members for id_ in ids]
        return retention_rows.memories(db, [*refs, *paragraphs], scopes)

    # acting

    def _act(self, db: Connection, ask: Ask, targets: Targets, now: float) -> Done:
        willing: list[Memory] = []
        refusals: list[InvalidRequest | Conflict] = []
        for kind in ("paragraph", "relation"):  # in this order: relations go, and come back, with their paragraphs
            mine = [ref for ref in targets.refs if ref[0] == kind]
            memories = retention_rows.memories(db, mine, targets.scopes)
            _must_be_there([f"{kind[0]}{id_}" for _, id_ in mine if (kind, id_) not in memories])
            for memory in memories.values():
                if refusal := _refusal(ask, memory, now):
                    refusals.append(refusal)
                else:
                    after = self.rules.after(
                        ask.action, kind, memory.retention, now, strength=ask.strength, hours=ask.hours
                    )
                    retention_rows.put(db, memory.ref, after)
                    self._move(db, ask.action, memory, after, now)
                    willing.append(memory)
        if refusals and (targets.named or not willing):
            raise refusals[0]
        return self._logged(db, ask.action, willing, targets.scopes, ask, now)

    def _move(self, db: Connection, action: Action, memory: Memory, after: Retention, now: float) -> None:
        """Bring the row where its new retention and the action want it."""
        if memory.kind == "paragraph":
            if action == "forget":
                discard(db, [memory.id], "forgotten", now)
            elif action == "restore":
                ids = array([memory.id])
                db.run("relations_lost_with", ids=ids)
                db.run("paragraphs_revive", ids=ids, now=now)  # an expiry that has passed is lifted
                db.run("refs_filled", ids=ids)
                db.run("embedded_upto_lower", row=memory.id)
                relation_restore.resting_on(db, [memory.id], now)
        elif action == "forget":
            set_relations(db, [memory.id], "forgotten", now, deleted_at=now)
        elif action == "freeze":
            set_relations(db, [memory.id], "frozen", now)
        elif action == "weaken" and self.rules.faded("relation", after, now):
            set_relations(db, [memory.id], "decay", now)
        elif memory.inactive_at is not None:
            # what a hand has put to rest is always taken up again, what has faded if enough is left
            by_hand = action in ("restore", "remember_forever") or memory.reason != "decay"
            if by_hand or self.rules.revives(self.rules.left("relation", after, now)):
                set_relations(db, [memory.id], "", None)

    def _use(self, db: Connection, known: dict[Ref, Memory], scopes: Scopes, now: float, ask: Ask | None) -> Done:
        behind = retention_rows.relations_of(db, [id_ for kind, id_ in known if kind == "paragraph"], MOST_RELATIONS)
        relations = retention_rows.memories(db, [("relation", id_) for id_ in behind], scopes)
        reached: list[Memory] = []
        for memory in (known | relations).values():
            after = self.rules.accessed(memory.kind, memory.retention, now)
            if after is not None and memory.state(now) == "active":
                retention_rows.put(db, memory.ref, after)
                reached.append(memory)
        passed = set(known) - {memory.ref for memory in reached}
        done = self._logged(db, "used", reached, scopes, ask, now)
        return Done(done.operation, done.changes, tuple(sorted(passed)), now)

    def _logged(
        self, db: Connection, action: str, changed: Sequence[Memory], scopes: Scopes, ask: Ask | None, now: float
    ) -> Done:
        """What has become of the memories, written down if somebody asked for it."""
        after = retention_rows.memories(db, [memory.ref for memory in changed], scopes)
        changes = tuple((memory, after[memory.ref]) for memory in changed)
        if ask is None or not changes:
            return Done(0, changes, (), now)
        items = [
            {"id": old.key, "before": snapshot(old, self.rules, now), "after": snapshot(new, self.rules, now)}
            for old, new in changes
        ]
        strength = ask.strength if action in ("reinforce", "remember_forever", "weaken") else None
        operation = retention_rows.log(
            db, action, items, kinds=[memory.kind for memory in changed], strength=strength,
            requested_by=ask.requested_by, reason=ask.reason, now=now,
        )  # fmt: skip
        return Done(operation, changes, (), now)


def discard(db: Connection, paragraphs: Collection[int], reason: Literal["forgotten", "expired"], now: float) -> None:
    """Put live paragraphs into the bin, with the references and relations that rest on nothing else."""
    ids = array(paragraphs)
    db.run("paragraphs_discard", ids=ids, reason=reason, now=now)
    db.run("refs_emptied", ids=ids, now=now)
    db.run("relations_unsupported", paragraphs=ids, now=now)


def set_relations(
    db: Connection,
    relations: Iterable[int],
    reason: Literal["decay", "frozen", "forgotten", ""],
    inactive_at: float | None,
    *,
    deleted_at: float | None = None,
) -> None:
    """Make relations inactive: they leave the graph, and with `deleted_at` they are in the bin. Without a time: active."""
    values = {"ids": array(relations), "inactive_at": inactive_at, "reason": reason, "deleted_at": deleted_at}
    db.run("relations_set_state", **values)


def snapshot(memory: Memory, rules: RetentionRules, now: float) -> dict[str, Any]:
    """How a memory stands, in numbers and words of ours alone."""
    retention = memory.retention
    return {
        "state": memory.state(now), "retention": rules.left(memory.kind, retention, now), "strength": retention.strength,
        "anchor_at": retention.anchor_at, "pinned": retention.pinned, "protected_until": retention.protected_until,
        "reason": memory.reason, "expires_at": memory.expires_at,
    }  # fmt: skip


def _refusal(ask: Ask, memory: Memory, now: float) -> InvalidRequest | Conflict | None:
    """Why the memory does not take the action; None if it does."""
    if ask.action == "freeze" and memory.kind == "paragraph":
        return InvalidRequest(
            f"target: {memory.key} is a paragraph, and only relations can be frozen; `forget` it instead.",
            field="target",
        )
    state, known = memory.state(now), {}
    if state not in ALLOWED[ask.action]:
        hint = {"deleted": " `restore` it first.", "inactive": " `restore` or `reinforce` it first."}.get(state, "")
        why = f"{memory.key} is {state}.{hint if ask.action not in ('restore', 'forget') else ''}"
    elif ask.action != "restore":
        return None
    elif state == "deleted" and not memory.reason:
        why = f"{memory.key} was deleted, not forgotten; it is not in the recycle bin."
    elif memory.lost_end is not None:
        known = {"node": f"n{memory.lost_end}"}
        why = (
            f"{known['node']}, at an end of {memory.key} ({memory.text}), has been deleted or merged since; "
            "bring it back first."
        )
    elif not memory.whole:
        why = f"nothing that is alive supports {memory.key} any more."
    else:
        return None
    return Conflict(f"target: {why}", field="target", id=memory.key, state=state, **known)


def _must_be_there(missing: Sequence[str]) -> None:
    if missing:
        raise NotFound(f"target: there is no memory {', '.join(missing[:10])}.", field="target", ids=list(missing[:10]))
