"""Everything that a deletion takes along, worked out before anything is touched."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from ..language.person_names import SHORTEST_NAME
from ..store import operations as operation_rows
from ..store.operations import DELETED_BEFORE, ROW_KINDS, Item, RowKind
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import MovedRow
from . import closure as closure_rows
from .statements import stated_of
from .targets import Seeds

__all__ = ["DeletionPlan", "Stay", "planned"]

MOST_STAYS = 100
SELECTED, MENTION, EVIDENCE, ENTITY, PERSON = "selected", "mention", "evidence", "entity", "person"
CHAT, REFERENCE = "chat", "reference"
BEFORE = DELETED_BEFORE
"""Why a row is in a plan: named; it names the person; its last evidence goes; an end of it goes; it tells of the person,
belongs to the chat; no text is left under its external id, so its older wordings go too; it was deleted before, and is there to be purged."""
TOO_SHORT = "a name of a single letter is not looked for in what others said"
ELSEWHERE, IF_ELSEWHERE = "another chat holds it too", "it stays if another chat holds it too"
SPOKEN_OF = "memories that stay speak of it"


@dataclass(frozen=True, slots=True)
class Effects:
    """How many derived rows go with their last paragraph, and how many go on with fewer or other words."""

    facts: int = 0
    facts_changed: int = 0
    relations_changed: int = 0
    episodes: int = 0
    episodes_changed: int = 0
    profiles_changed: int = 0


@dataclass(frozen=True, slots=True)
class Stay:
    """Something that one might expect to go, and why it stays; for a reference `label` is its external id."""

    kind: str
    id: int
    reason: str
    label: str = ""


@dataclass(slots=True)
class DeletionPlan:
    """Rows by kind with the reason why each goes, and what stays."""

    rows: dict[RowKind, dict[int, str]] = field(default_factory=dict[RowKind, dict[int, str]])
    dead: dict[RowKind, set[int]] = field(default_factory=dict[RowKind, set[int]])
    """Rows that were deleted before: a purge erases them too, and a restore leaves them as they were."""
    moved: list[MovedRow] = field(default_factory=list[MovedRow])
    persons: list[int] = field(default_factory=list[int])
    chats: list[int] = field(default_factory=list[int])
    elsewhere: dict[RowKind, dict[int, str]] = field(default_factory=dict[RowKind, dict[int, str]])
    """Rows that would go if another chat did not hold them as well, which a preview from one chat does not tell."""
    limited: bool = False
    """Whether only what one chat holds goes, so that a person named may stay."""
    stays: list[Stay] = field(default_factory=list[Stay])
    stays_unclear: int = 0
    """Lines that stay although they may name the person."""
    current: int = 0
    """Paragraphs that are not superseded."""
    mentions: int = 0
    """Those of them that only name the person."""
    effects: Effects = field(default_factory=Effects)
    sources: list[str] = field(default_factory=list[str])

    def ids(self, kind: RowKind) -> list[int]:
        """The rows of a kind, ascending."""
        return sorted(self.rows.get(kind, {}))

    def told(self, kind: RowKind) -> dict[int, str]:
        """The rows of a kind that go as far as the chat knows, each with the reason."""
        return {**self.elsewhere.get(kind, {}), **self.rows.get(kind, {})}

    def show_as_the_chat_knows(self) -> None:
        """Show what another chat holds as well like what only this one does: for a look, not for deleting."""
        kinds: tuple[RowKind, ...] = ("entity", "relation") if self.limited else ()
        for kind in kinds:
            self.rows[kind] = self.told(kind)
            self.stays += [Stay(kind, id_, IF_ELSEWHERE) for id_ in self.ids(kind)[:MOST_STAYS]]

    def leave_elsewhere(self) -> None:
        """Tell of what stays because another chat holds it as well."""
        self.stays += [Stay(kind, id_, ELSEWHERE) for kind, held in self.elsewhere.items() for id_ in sorted(held)]

    def add(self, kind: RowKind, ids: Iterable[int], why: str) -> None:
        """Take rows along; the first reason given counts."""
        held = self.rows.setdefault(kind, {})
        for id_ in ids:
            held.setdefault(id_, why)

    @property
    def empty(self) -> bool:
        """Whether nothing goes that is not deleted yet."""
        return not self.moved and not any(self.rows.values())

    @property
    def items(self) -> list[Item]:
        """Every row of the plan as it is recorded; persons and chats are there to be known when it is purged."""
        rows = [Item(kind, id_, {"why": why}) for kind, held in self.rows.items() for id_, why in sorted(held.items())]
        moved = [Item(one.kind, one.id, {"why": one.why, "row": dict(one.row)}) for one in self.moved]
        person = {"why": SELECTED} | ({"limited": True} if self.limited else {})
        persons = [Item("person", id_, person) for id_ in self.persons]
        dead = [Item(kind, id_, {"why": BEFORE}) for kind, held in self.dead.items() for id_ in sorted(held)]
        chats = [Item("chat", id_, {"why": SELECTED}) for id_ in self.chats]
        return [*rows, *dead, *moved, *persons, *chats]

    @property
    def token(self) -> str:
        """The same for the same rows."""
        keys = [f"{kind}:{id_}" for kind in ROW_KINDS for id_ in (*self.told(kind), *self.dead.get(kind, ()))]
        keys += [f"{one.kind}:{one.id}" for one in self.moved]
        keys += [f"person:{id_}" for id_ in self.persons] + [f"chat:{id_}" for id_ in self.chats]
        return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:32]

    @property
    def counts(self) -> dict[str, int]:
        """How many rows of each kind go, or change; `superseded` are older wordings, `mentions` are among `paragraphs`."""
        paragraphs, effects = len(self.rows.get("paragraph", {})), self.effects
        return {
            "paragraphs": self.current,
            "mentions": self.mentions,
            "mentions_kept": self.stays_unclear,
            "superseded": paragraphs - self.current,
            "relations": len(self.rows.get("relation", {})),
            "relations_changed": effects.relations_changed,
            "entities": len(self.rows.get("entity", {})),
            "facts": len(self.rows.get("fact", {})) + effects.facts,
            "facts_changed": effects.facts_changed,
            "episodes": effects.episodes,
            "episodes_changed": effects.episodes_changed,
            "external_refs": len(self.rows.get("ref", {})),
            "sources": len(self.sources),
            "persons": len(self.persons),
            "chats": len(self.chats),
            "profiles": sum(one.kind.startswith("profile") for one in self.moved),
            "profiles_changed": effects.profiles_changed,
            "aliases": sum(one.kind == "person_alias" for one in self.moved),
            "deleted_before": len(self.dead.get("paragraph", ())),
        }


def planned(db: Connection, seeds: Seeds, *, entity_paragraphs: bool) -> DeletionPlan:
    """What goes when these seeds are deleted now; reads rows and writes none."""
    plan = DeletionPlan(limited=seeds.chat is not None)
    entities = _entities(db, seeds, plan)
    meant = _paragraphs(db, seeds, entities if entity_paragraphs else [])
    plan.add("paragraph", closure_rows.ids(db, "deletable_paragraphs", meant, chat=None), SELECTED)
    meant |= _mentions(db, seeds, plan)
    _references(db, plan)
    _named_as_person(db, seeds, plan)
    relations_kept = _relations(db, seeds, plan)
    _facts(db, seeds, plan)
    _deleted_before(db, seeds, meant, plan)
    _known_of(db, seeds, plan)
    _stated(db, seeds, plan)
    _count(db, plan, relations_kept)
    return plan


def _count(db: Connection, plan: DeletionPlan, relations_kept: int) -> None:
    paragraphs, facts = plan.ids("paragraph"), plan.rows.get("fact", {})
    why = plan.rows.get("paragraph", {})
    plan.current = closure_rows.count_current(db, paragraphs)
    plan.mentions = closure_rows.count_current(db, [id_ for id_ in paragraphs if why[id_] == MENTION])
    plan.sources = [row[0] for row in db.run("sources_of_paragraphs", ids=array(paragraphs))]
    profiles = [one.id for one in plan.moved if one.kind == "profile_snapshot"]
    of_facts = _fates(closure_rows.flagged(db, "facts_losing", paragraphs), facts)
    of_episodes = _fates(closure_rows.flagged(db, "episodes_losing", paragraphs))
    told = set(closure_rows.ids(db, "profiles_losing", paragraphs)) - set(profiles)
    plan.effects = Effects(*of_facts, relations_kept, *of_episodes, len(told))


def _mentions(db: Connection, seeds: Seeds, plan: DeletionPlan) -> set[int]:
    """Lines that name the persons: those that can mean nobody else go, the others are told of."""
    if seeds.finder is None:
        return set()
    news = seeds.finder.read(db, seeds.upto)
    lines = seeds.mentioned.lines | news.lines
    plan.add("paragraph", closure_rows.ids(db, "deletable_paragraphs", lines, chat=None), MENTION)
    stays = seeds.mentioned.stays | news.stays
    left = closure_rows.ids(db, "deletable_paragraphs", stays.keys() - plan.rows["paragraph"].keys(), chat=None)
    plan.stays_unclear = len(left)
    plan.stays += [Stay("paragraph", id_, stays[id_]) for id_ in left[:MOST_STAYS]]
    plan.stays += [
        Stay("person", one.row, TOO_SHORT)
        for one in seeds.persons
        if any(len(name.name) < SHORTEST_NAME for name in one.names)
    ]
    return lines


def _paragraphs(db: Connection, seeds: Seeds, entities: Sequence[int]) -> set[int]:
    chat = seeds.chat
    found = set(closure_rows.ids(db, "paragraphs_in_chat", seeds.paragraphs, chat=chat))
    found.update(closure_rows.ids(db, "paragraphs_of_sources", seeds.sources))
    found.update(closure_rows.ids(db, "paragraphs_of_chats", seeds.chats))
    found.update(closure_rows.ids(db, "paragraphs_of_persons", [one.row for one in seeds.persons], chat=chat))
    found.update(closure_rows.ids(db, "paragraphs_of_entities", entities, chat=chat))
    for scan in seeds.scans:
        found.update(scan.read(db, scan.upto))
    return found


def _references(db: Connection, plan: DeletionPlan) -> None:
    """External ids that keep no current text go, with every older wording."""
    going = plan.ids("paragraph")
    emptied = closure_rows.ids(db, "refs_left_empty", going)
    plan.add("ref", closure_rows.ids(db, "refs_alive", emptied), REFERENCE)
    plan.add("paragraph", closure_rows.ids(db, "paragraphs_of_refs", emptied), REFERENCE)
    kept = dict(db.run("refs_kept", ids=array(going), but=array(emptied), limit=MOST_STAYS).fetchall())
    plan.stays += [
        Stay("ref", id_, "other paragraphs are stored under this external id", label) for id_, label in kept.items()
    ]


def _entities(db: Connection, seeds: Seeds, plan: DeletionPlan) -> list[int]:
    """The entities named; one that another chat knows too keeps its row when the deletion is of one chat."""
    named = closure_rows.ids(db, "deletable_entities", seeds.entities)
    if seeds.chat is None:
        plan.add("entity", named, SELECTED)
        return named
    here = closure_rows.flagged(db, "entities_in_chat", named, chat=seeds.chat)
    plan.add("entity", [id_ for id_, elsewhere in here.items() if not elsewhere], SELECTED)
    plan.elsewhere["entity"] = {id_: SELECTED for id_, elsewhere in here.items() if elsewhere}
    return list(here)


def _named_as_person(db: Connection, seeds: Seeds, plan: DeletionPlan) -> None:
    """Entities that bear the person's name, unless somebody else's memories speak of them."""
    if not seeds.whole:
        return
    unspoken = db.run("entities_unspoken", norms=array(seeds.norms), ids=array(plan.ids("paragraph")))
    plan.add("entity", [row[0] for row in unspoken], PERSON)
    left = set(closure_rows.ids(db, "entities_of_names", seeds.norms)) - plan.rows["entity"].keys()
    plan.stays += [Stay("entity", id_, SPOKEN_OF) for id_ in sorted(left)[:MOST_STAYS]]


def _relations(db: Connection, seeds: Seeds, plan: DeletionPlan) -> int:
    """Returns how many relations stay that lose a paragraph which supported them."""
    named = closure_rows.ids(db, "deletable_relations", seeds.relations)
    plan.add("relation", _in_chat(db, seeds, plan, named, SELECTED), SELECTED)
    plan.add("relation", closure_rows.ids(db, "relations_of_entities", plan.ids("entity")), ENTITY)
    if seeds.chat is not None:
        touching = closure_rows.ids(
            db, "relations_of_entities", closure_rows.ids(db, "deletable_entities", seeds.entities)
        )
        plan.add("relation", _in_chat(db, seeds, plan, touching, ENTITY), ENTITY)
    losing = closure_rows.flagged(db, "relations_losing", plan.ids("paragraph"))
    plan.add("relation", [id_ for id_, kept in losing.items() if not kept], EVIDENCE)
    supported = closure_rows.ids(db, "relations_supported", plan.ids("paragraph"))
    kept = [id_ for id_ in supported if losing.get(id_) and id_ not in plan.told("relation")]
    if seeds.chat is not None:
        only = closure_rows.ids(
            db, "relations_held_elsewhere", plan.ids("paragraph"), relations=array(kept), chat=seeds.chat
        )  # fmt: skip
        plan.elsewhere["relation"] |= dict.fromkeys(only, EVIDENCE)
        kept = [id_ for id_ in kept if id_ not in only]
    plan.stays += [Stay("relation", id_, "other memories support it") for id_ in kept[:MOST_STAYS]]
    return len(kept)


def _in_chat(db: Connection, seeds: Seeds, plan: DeletionPlan, ids: list[int], why: str) -> list[int]:
    if seeds.chat is None:
        return ids
    here = closure_rows.flagged(db, "relations_in_chat", ids, chat=seeds.chat)
    elsewhere = plan.elsewhere.setdefault("relation", {})
    elsewhere |= {id_: why for id_, held in here.items() if held and id_ not in elsewhere}
    return [id_ for id_, elsewhere in here.items() if not elsewhere]


def _facts(db: Connection, seeds: Seeds, plan: DeletionPlan) -> None:
    """Facts given by hand; what was read out of paragraphs is not told without them anyway."""
    persons = [one.row for one in seeds.persons]
    plan.add("fact", closure_rows.ids(db, "facts_of_persons", persons, scope=seeds.chat, dead=False), PERSON)
    plan.add("fact", closure_rows.ids(db, "facts_of_scopes", seeds.chats, dead=False), CHAT)
    entities = sorted(plan.told("entity"))
    plan.add("fact", closure_rows.ids(db, "facts_of_entities", entities, scope=seeds.chat, dead=False), ENTITY)


def _stated(db: Connection, seeds: Seeds, plan: DeletionPlan) -> None:
    """What others stated by hand that names the persons, and what is called after them."""
    told = {one.id for one in plan.stays if one.kind == "entity"} | plan.rows["entity"].keys()
    stated = stated_of(db, seeds, plan.ids("paragraph"), told)
    plan.moved += stated.profiles
    plan.add("fact", stated.facts, MENTION)
    plan.add("relation", stated.relations, MENTION)
    going = {(kind, id_) for kind, held in plan.rows.items() for id_ in held}
    left = [Stay(kind, id_, why) for kind, id_, why in stated.stays if (kind, id_) not in going]
    plan.stays += left[:MOST_STAYS]


def _deleted_before(db: Connection, seeds: Seeds, meant: set[int], plan: DeletionPlan) -> None:
    """What is meant and was deleted before, with the older wordings that nothing newer answers for."""
    going = plan.rows["paragraph"]
    emptied = closure_rows.ids(db, "refs_left_empty", meant | going.keys())
    dead = (meant | set(closure_rows.ids(db, "wordings_of_refs", emptied))) - going.keys()
    persons = [one.row for one in seeds.persons]
    facts = closure_rows.ids(db, "facts_of_persons", persons, scope=seeds.chat, dead=True)
    facts += closure_rows.ids(db, "facts_of_scopes", seeds.chats, dead=True)
    names = seeds.norms if seeds.whole else set[str]()
    found: dict[RowKind, set[int]] = {
        "paragraph": dead, "ref": set(closure_rows.ids(db, "refs_deleted", emptied)), "fact": set(facts),
        "entity": set(closure_rows.ids(db, "entities_deleted", names)),
    }  # fmt: skip
    plan.dead = {kind: some for kind, held in found.items() if (some := held - plan.rows.get(kind, {}).keys())}


def _known_of(db: Connection, seeds: Seeds, plan: DeletionPlan) -> None:
    """Profiles, aliases and cursors of the persons and chats named."""
    persons = [one.row for one in seeds.persons]
    plan.persons = persons
    plan.chats = sorted(seeds.chats)
    if persons or plan.chats:
        plan.moved = operation_rows.rows_to_move(db, persons, seeds.chat, plan.chats)
    if seeds.chat is not None:
        kept = closure_rows.ids(db, "overrides_of_persons", persons)
        plan.stays += [Stay("person", id_, "the profile written by hand counts in every chat") for id_ in kept]


def _fates(kept: dict[int, bool], but: Collection[int] = ()) -> tuple[int, int]:
    """(how many go, how many stay with less)."""
    stays = [stay for id_, stay in kept.items() if id_ not in but]
    return len(stays) - sum(stays), sum(stays)
