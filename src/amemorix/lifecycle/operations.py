"""`maintain_memory` and `memory_v5_admin`: how memories fade, and what is done by hand against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, Field

from ..fields import ChatRequest, Name, Offset
from ..ops import Operations, Request, Response, ScopedResponse
from ..search.retention import DAY, Action
from ..store.ports import Connection
from ..store.queries import optional_array
from ..store.rows import retention as retention_rows
from ..store.rows.retention import Memory
from .service import Ask, Done, snapshot
from .targets import read_keys

if TYPE_CHECKING:
    from ..host.kernel import SDKMemoryKernel

__all__ = ["ops"]

ops: Operations[SDKMemoryKernel] = Operations()
PREVIEW_CHARS = 200
MOST_HOURS = 1_000_000.0
Target = Annotated[str, Field(min_length=1, max_length=2000)]
Kind = Literal["", "paragraph", "relation"]
Strength = Annotated[float, Field(gt=0, le=100)]


class Maintenance(Request):
    """Which memories, and who asks."""

    target: Target = Field(
        description="An id (`p12`, `r12`), or a text: relations with that name at an end or as predicate, and paragraphs "
        "that hold it, ten at most."
    )
    kind: Kind = Field("", description="Only memories of this kind; an id may then be its number alone.")
    chat_id: Name = Field("", description="Only what this chat may see; without it everything.")
    reason: str = Field("", max_length=2000, description="Kept with the operation.")
    requested_by: Name = Field("", description="Kept with the operation.")


class Protect(Maintenance):
    """Which memories, and for how long."""

    hours: float = Field(0.0, ge=0, le=MOST_HOURS, description="For so long from now; 0 or none pins them.")


class Used(Request):
    """What a caller has really used."""

    targets: list[Annotated[str, Field(min_length=1, max_length=40)]] = Field(
        min_length=1,
        max_length=200,
        validation_alias=AliasChoices("targets", "ids"),
        description="Ids of hits and of lines of a context: paragraphs, relations, episodes or facts (`p12`, `r12`, `e12`, "
        "`f12`).",
    )
    chat_id: Name = Field("", description="Only what this chat may see.")
    reason: str = Field("", max_length=2000, description="Kept with the operation.")
    requested_by: Name = Field("", description="Kept with the operation.")


class Strengthened(Maintenance):
    """Which memories, and how strongly."""

    strength: Strength = Field(1.0, description="How strongly; 1 is the measure of the settings.")


class MaintainedItem(BaseModel):
    """A memory before and after; times in epoch seconds."""

    id: str
    kind: str
    before: dict[str, Any] = Field(default_factory=dict)
    after: dict[str, Any] = Field(default_factory=dict)


class Maintained(Response):
    """What was done, in one transaction."""

    operation_id: int = Field(default=0, description="Its row in `memory_v5_operations`; 0 if there was nothing to do.")
    action: str = ""
    detail: str = ""
    ids: list[str] = Field(default_factory=list)
    count: int = 0
    retention_scores: dict[str, float] = Field(default_factory=dict, description="What is left of each now, 0..1.")
    statuses: dict[str, str] = Field(
        default_factory=dict, description="`active`, `inactive`, `deleted`, `expired` or `superseded`."
    )
    items: list[MaintainedItem] = Field(default_factory=list)
    skipped: list[str] = Field(
        default_factory=list, description="Used memories that are not active, or were used a short while ago."
    )


class LifecycleStatusRequest(ChatRequest):
    """Which memories; without a target those that use or a hand has touched last."""

    target: Target | None = Field(None, description="An id or a text, as in the other actions.")
    kind: Kind = Field("", description="Only memories of this kind.")
    limit: int = Field(50, ge=1, le=1000)


class StatusItem(BaseModel):
    """How a memory stands; times in epoch seconds."""

    id: str
    kind: str
    text: str = Field(description="The relation as a sentence, or the beginning of the paragraph.")
    state: str
    is_pinned: bool
    temp_protected: bool
    protected_until: float | None
    last_reinforced: float | None
    last_access_reinforced_at: float | None
    confidence: float
    retention_score: float
    retention_anchor_at: float
    next_lifecycle_at: float | None = Field(description="When it will be put to rest, recycled or expire by itself.")
    reinforcement_count: int
    inactive_reason: str
    deleted_at: float | None
    expires_at: float | None


class LifecycleConfig(BaseModel):
    """The settings behind the numbers."""

    half_life_hours: float = 0.0
    paragraph_half_life_hours: float = 0.0
    prune_threshold: float = 0.0
    revive_threshold: float = 0.0
    freeze_duration_hours: float = 0.0
    base_decay_interval_hours: float = 0.0
    access_cooldown_minutes: float = 0.0


class LifecycleStatus(ScopedResponse):
    """How memories stand."""

    items: list[StatusItem] = Field(default_factory=list)
    count: int = 0
    config: LifecycleConfig = Field(default_factory=LifecycleConfig)
    last_maintenance_at: float | None = Field(default=None, description="The last round; None if there was none.")


class ListBin(ChatRequest):
    """Which part of the recycle bin."""

    limit: int = Field(50, ge=1, le=1000)
    offset: Offset = 0


class BinItem(BaseModel):
    """A memory in the recycle bin; times in epoch seconds."""

    id: str
    kind: str
    text: str
    reason: str = Field(description="`forgotten`, `expired`, `decay` or `frozen`.")
    deleted_at: float | None
    restorable: bool = Field(description="False if a newer wording replaced it, or nothing alive supports it.")


class Bin(ScopedResponse):
    """What was forgotten, has faded or has expired, the last first."""

    items: list[BinItem] = Field(default_factory=list)
    count: int = 0
    total: int = 0


class NoArguments(Request):
    """No arguments."""


class RoundReport(Response):
    """How many memories a round moved."""

    expired: int = Field(default=0, description="Paragraphs that went to the recycle bin.")
    faded: int = Field(default=0, description="Relations that were put to rest.")
    recycled: int = Field(default=0, description="Relations that went to the recycle bin.")
    last_maintenance_at: float = 0.0


@ops.operation("memory_v5_admin", "status")
async def status(kernel: SDKMemoryKernel, request: LifecycleStatusRequest) -> LifecycleStatus:
    """Tell how much is left of memories, and what will become of them."""
    now, settings = kernel.surroundings.clock.now(), kernel.lifecycle.settings
    if request.target is None:
        scopes = await kernel.targets.scopes(request.chat_id)
        refs = await kernel.store.read(lambda db: retention_rows.touched(db, scopes, request.limit))
    else:
        found = await kernel.targets.find(request.target, request.kind or None, request.chat_id)
        refs, scopes = found.refs, found.scopes
    held = await kernel.store.read(lambda db: retention_rows.memories(db, refs, scopes))
    wanted = [memory for memory in held.values() if request.kind in ("", memory.kind)][: request.limit]
    if request.target is not None and not wanted:
        raise kernel.targets.missing(request.target)
    config = LifecycleConfig(
        half_life_hours=settings.relation_half_life_days * 24, prune_threshold=settings.freeze_threshold,
        paragraph_half_life_hours=settings.paragraph_half_life_days * 24, revive_threshold=settings.revive_threshold,
        freeze_duration_hours=settings.recycle_after_days * 24, base_decay_interval_hours=settings.interval_minutes / 60,
        access_cooldown_minutes=settings.access_cooldown_minutes,
    )  # fmt: skip
    items = [_status_item(kernel, memory, now) for memory in wanted]
    return LifecycleStatus(items=items, count=len(items), config=config, last_maintenance_at=await kernel.decay.last())


@ops.operation("maintain_memory", "recycle_bin")
@ops.operation("memory_v5_admin", "recycle_bin")
async def recycle_bin(kernel: SDKMemoryKernel, request: ListBin) -> Bin:
    """List what was forgotten, has faded or has expired, and can be restored."""
    scopes = await kernel.targets.scopes(request.chat_id)

    def read(db: Connection) -> tuple[list[Memory], int]:
        within = optional_array(scopes)
        rows = db.run("recycle_bin", scopes=within, limit=request.limit, offset=request.offset)
        memories = retention_rows.memories(db, [(kind, id_) for kind, id_ in rows], scopes)
        return list(memories.values()), db.run("recycle_bin_count", scopes=within).fetchone()[0]

    memories, total = await kernel.store.read(read)
    items = [
        BinItem(
            id=memory.key, kind=memory.kind, text=_preview(memory.text), reason=memory.reason,
            deleted_at=memory.deleted_at, restorable=memory.whole,
        )
        for memory in memories
    ]  # fmt: skip
    return Bin(items=items, count=len(items), total=total)


@ops.operation("maintain_memory", "restore", effect="write")
@ops.operation("memory_v5_admin", "restore", effect="write")
async def restore(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Bring memories back from rest or from the recycle bin, whole."""
    return await _perform(kernel, request, "restore")


@ops.operation("maintain_memory", "reinforce", effect="write")
async def reinforce(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Reinforce memories with strength 1, and protect them for a day."""
    return await _perform(kernel, request, "reinforce")


@ops.operation("maintain_memory", "protect", effect="write")
async def protect(kernel: SDKMemoryKernel, request: Protect) -> Maintained:
    """Keep memories from being put to rest, for some hours or for good."""
    return await _perform(kernel, request, "protect", hours=request.hours)


@ops.operation("maintain_memory", "freeze", effect="write")
async def freeze(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Put relations to rest: they leave the graph until they are restored or reinforced."""
    return await _perform(kernel, request, "freeze")


@ops.operation("maintain_memory", "used", effect="write")
async def used(kernel: SDKMemoryKernel, request: Used) -> Maintained:
    """Say which hits were really used: they and the relations behind them fade later, once in a while."""
    refs, episodes, facts = read_keys(request.targets)
    scopes, by = await kernel.targets.scopes(request.chat_id), {"requested_by": request.requested_by}
    done = await kernel.lifecycle.used(refs, episodes, scopes, facts=facts, reason=request.reason, **by)
    return _maintained(kernel, "used", done)


@ops.operation("memory_v5_admin", "reinforce", effect="write")
async def reinforce_strongly(kernel: SDKMemoryKernel, request: Strengthened) -> Maintained:
    """Reinforce memories, and protect them for a while."""
    return await _perform(kernel, request, "reinforce", strength=request.strength)


@ops.operation("memory_v5_admin", "weaken", effect="write")
async def weaken(kernel: SDKMemoryKernel, request: Strengthened) -> Maintained:
    """Weaken memories; a relation of which too little is left is put to rest."""
    return await _perform(kernel, request, "weaken", strength=request.strength)


@ops.operation("memory_v5_admin", "remember_forever", effect="write")
async def remember_forever(kernel: SDKMemoryKernel, request: Strengthened) -> Maintained:
    """Reinforce memories, and keep them from fading for good."""
    return await _perform(kernel, request, "remember_forever", strength=request.strength)


@ops.operation("memory_v5_admin", "forget", effect="destructive")
async def forget(kernel: SDKMemoryKernel, request: Maintenance) -> Maintained:
    """Move memories to the recycle bin; `restore` brings them back."""
    return await _perform(kernel, request, "forget")


@ops.operation("memory_v5_admin", "run", effect="write")
async def run(kernel: SDKMemoryKernel, request: NoArguments) -> RoundReport:  # noqa: ARG001
    """Make the round over what has expired or faded now, without waiting for its time."""
    done = await kernel.decay.round()
    return RoundReport(expired=done.expired, faded=done.faded, recycled=done.recycled, last_maintenance_at=done.at)


async def _perform(
    kernel: SDKMemoryKernel, request: Maintenance, action: Action, *, strength: float = 1.0, hours: float = 0.0
) -> Maintained:
    found = await kernel.targets.find(request.target, request.kind or None, request.chat_id, gone=action == "restore")
    ask = Ask(action, strength, hours, request.requested_by, request.reason)
    done = await kernel.lifecycle.act(ask, found)
    return _maintained(kernel, action, done)


def _maintained(kernel: SDKMemoryKernel, action: str, done: Done) -> Maintained:
    rules, now = kernel.lifecycle.rules, done.at
    after = [memory for _, memory in done.changes]
    return Maintained(
        operation_id=done.operation, action=action, detail=f"{action}: {len(after)} of {len(after) + len(done.skipped)}",
        ids=[memory.key for memory in after], count=len(after),
        retention_scores={memory.key: round(rules.left(memory.kind, memory.retention, now), 6) for memory in after},
        statuses={memory.key: memory.state(now) for memory in after},
        items=[
            MaintainedItem(
                id=new.key, kind=new.kind, before=snapshot(old, rules, now), after=snapshot(new, rules, now)
            )
            for old, new in done.changes
        ],
        skipped=[f"{kind[0]}{id_}" for kind, id_ in done.skipped],
    )  # fmt: skip


def _status_item(kernel: SDKMemoryKernel, memory: Memory, now: float) -> StatusItem:
    rules, retention = kernel.lifecycle.rules, memory.retention
    moves: float | None = None  # when the rounds will move it if nothing else happens
    if memory.deleted_at is None and memory.kind == "paragraph":
        moves = memory.expires_at
    elif memory.deleted_at is None and memory.inactive_at is None:
        moves = rules.fades_at(retention)
    elif memory.deleted_at is None and memory.inactive_at is not None and memory.reason == "decay":
        moves = memory.inactive_at + rules.settings.recycle_after_days * DAY
    return StatusItem(
        id=memory.key, kind=memory.kind, text=_preview(memory.text), state=memory.state(now),
        is_pinned=retention.pinned, temp_protected=(retention.protected_until or 0.0) > now,
        protected_until=retention.protected_until, last_reinforced=retention.reinforced_at,
        last_access_reinforced_at=retention.accessed_at, confidence=memory.confidence,
        retention_score=round(rules.left(memory.kind, retention, now), 6), retention_anchor_at=retention.anchor_at,
        next_lifecycle_at=moves, reinforcement_count=retention.reinforcements, inactive_reason=memory.reason,
        deleted_at=memory.deleted_at, expires_at=memory.expires_at,
    )  # fmt: skip


def _preview(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= PREVIEW_CHARS else line[: PREVIEW_CHARS - 1] + "…"
