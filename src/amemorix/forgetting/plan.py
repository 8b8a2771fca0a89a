"""Everything that a deletion takes along, worked out before anything is touched."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ..language.person_names import SHORTEST_NAME, NamePattern
from ..store.operations import DELETED_BEFORE, ROW_KINDS, Item, RowKind, flagged_ids, row_ids, rows_to_move
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import MovedRow
from .selection import Seeds, paragraphs_holding

__all__ = ["DeletionPlan", "Stay", "planned"]

MOST_STAYS = 100
SELECTED, MENTION, EVIDENCE, ENTITY, PERSON = "selected", "mention", "evidence", "entity", "person"
CHAT, REFERENCE = "chat", "reference"
BEFORE = DELETED_BEFORE
"""Why a row is in a plan: named; it names the person; its last evidence goes; an end of it goes; it tells of the person,
belongs to the chat; no text is left under its external id, so its older wordings go too; it was deleted before, and is there to be purged."""
TOO_SHORT = "a name of a single letter is not looked for in what others said"
PROFILE = "the profile written by hand for them names the person: "
EVERY_CHAT = "it counts in every chat"
CALLED = "its name, an alias or what is noted of it holds the person's name"
ALIAS = "an alias of theirs holds the person's name"
NAMESAKE = "it is somebody else of the same name"
ELSEWHERE, IF_ELSEWHERE = "another chat holds it too", "it stays if another chat holds it too"
SPOKEN_OF = "memories that stay speak of it"


@dataclass(frozen=True, slots=True)
class Stay:
    """Something that one might expect to go, and why it stays; for a reference `label` is its external id, for a namesake the person's."""

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
    effects: dict[str, int] = field(default_factory=dict[str, int])
    """How many derived rows go with their last paragraph, and how many (`…_changed`) go on with fewer or other words."""
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
        paragraphs, effects = len(self.rows.get("paragraph", {})), Counter(self.effects)
        return {
            "paragraphs": self.current,
            "mentions": self.mentions,
            "mentions_kept": self.stays_unclear,
            "superseded": paragraphs - self.current,
            "relations": len(self.rows.get("relation", {})),
            "relations_changed": effects["relations_changed"],
            "entities": len(self.rows.get("entity", {})),
            "facts": len(self.rows.get("fact", {})) + effects["facts"],
            "facts_changed": effects["facts_changed"],
            "episodes": effects["episodes"],
            "episodes_changed": effects["episodes_changed"],
            "external_refs": len(self.rows.get("ref", {})),
            "sources": len(self.sources),
            "persons": len(self.persons),
            "chats": len(self.chats),
            "profiles": effects["profiles"] + sum(one.kind == "profile_override" for one in self.moved),
            "profiles_changed": effects["profiles_changed"],
            "aliases": sum(one.kind == "person_alias" for one in self.moved),
            "deleted_before": len(self.dead.get("paragraph", ())),
        }


def planned(db: Connection, seeds: Seeds, *, entity_paragraphs: bool, emptied_chats: bool = False) -> DeletionPlan:
    """What goes when these seeds are deleted now; reads rows and writes none. With `emptied_chats` also the chats that hold
    nothing else."""
    plan = DeletionPlan(limited=seeds.chat is not None, persons=list(seeds.persons), chats=sorted(seeds.chats))
    plan.stays = [Stay("person", id_, NAMESAKE, person_id) for id_, person_id in seeds.namesakes.items()]
    entities = _entities(db, seeds, plan)
    meant = _paragraphs(db, seeds, entities if entity_paragraphs else [])
    plan.add("paragraph", row_ids(db, "deletable_paragraphs", meant, chat=None), SELECTED)
    meant |= _mentions(db, seeds, plan)
    # external ids that keep no current text go, with every older wording
    emptied = row_ids(db, "refs_left_empty", plan.ids("paragraph"))
    kept = db.run("refs_kept", ids=array(plan.ids("paragraph")), but=array(emptied), limit=MOST_STAYS).fetchall()
    plan.add("ref", row_ids(db, "refs_alive", emptied), REFERENCE)
    plan.add("paragraph", row_ids(db, "paragraphs_of_refs", emptied), REFERENCE)
    plan.stays += [Stay("ref", id_, "other paragraphs are stored under this external id", label) for id_, label in kept]
    if seeds.whole:  # entities that bear the person's name, unless somebody else's memories speak of them
        unspoken = db.run("entities_unspoken", norms=array(seeds.norms), ids=array(plan.ids("paragraph")))
        plan.add("entity", [row[0] for row in unspoken], PERSON)
        left = set(row_ids(db, "entities_of_names", seeds.norms)) - plan.rows["entity"].keys()
        plan.stays += [Stay("entity", id_, SPOKEN_OF) for id_ in sorted(left)[:MOST_STAYS]]
    relations_kept = _relations(db, seeds, plan)
    # facts given by hand; what was read out of paragraphs is not told without them anyway
    plan.add("fact", row_ids(db, "facts_of_persons", plan.persons, scope=seeds.chat, dead=False), PERSON)
    plan.add("fact", row_ids(db, "facts_of_scopes", seeds.chats, dead=False), CHAT)
    plan.add("fact", row_ids(db, "facts_of_entities", plan.told("entity"), scope=seeds.chat, dead=False), ENTITY)
    _deleted_before(db, seeds, meant, plan)
    if emptied_chats:
        plan.chats = row_ids(db, "chats_emptied_by", meant | plan.rows["paragraph"].keys())
    if plan.persons or plan.chats:
        plan.moved = rows_to_move(db, plan.persons, seeds.chat, plan.chats)
    if seeds.chat is not None:
        kept = row_ids(db, "overrides_of_persons", plan.persons)
        plan.stays += [Stay("person", id_, "the profile written by hand counts in every chat") for id_ in kept]
    _stated(db, seeds, plan)
    _count(db, plan, relations_kept)
    return plan


def _entities(db: Connection, seeds: Seeds, plan: DeletionPlan) -> list[int]:
    """The entities named; one that another chat knows too keeps its row when the deletion is of one chat."""
    named = row_ids(db, "deletable_entities", seeds.entities)
    if seeds.chat is None:
        plan.add("entity", named, SELECTED)
        return named
    here = flagged_ids(db, "entities_in_chat", named, chat=seeds.chat)
    plan.add("entity", [id_ for id_, elsewhere in here.items() if not elsewhere], SELECTED)
    plan.elsewhere["entity"] = {id_: SELECTED for id_, elsewhere in here.items() if elsewhere}
    return list(here)


def _paragraphs(db: Connection, seeds: Seeds, entities: Collection[int]) -> set[int]:
    chat = seeds.chat
    return set[int]().union(
        row_ids(db, "paragraphs_in_chat", seeds.paragraphs, chat=chat),
        row_ids(db, "paragraphs_of_sources", seeds.sources),
        row_ids(db, "paragraphs_of_chats", seeds.chats),
        row_ids(db, "paragraphs_of_persons", seeds.persons, chat=chat),
        row_ids(db, "paragraphs_of_entities", entities, chat=chat),
        paragraphs_holding(db, seeds.words, chat, seeds.upto),
    )


def _mentions(db: Connection, seeds: Seeds, plan: DeletionPlan) -> set[int]:
    """Lines that name the persons: those that can mean nobody else go, the others are told of."""
    if seeds.finder is None:
        return set()
    news = seeds.finder.read(db, seeds.upto)
    lines, stays = seeds.mentioned.lines | news.lines, seeds.mentioned.stays | news.stays
    plan.add("paragraph", row_ids(db, "deletable_paragraphs", lines, chat=None), MENTION)
    left = row_ids(db, "deletable_paragraphs", stays.keys() - plan.rows["paragraph"].keys(), chat=None)
    plan.stays_unclear = len(left)
    plan.stays += [Stay("paragraph", id_, stays[id_]) for id_ in left[:MOST_STAYS]]
    short = [row for row, names in seeds.persons.items() if any(len(name.name) < SHORTEST_NAME for name in names)]
    plan.stays += [Stay("person", row, TOO_SHORT) for row in short]
    return lines


def _relations(db: Connection, seeds: Seeds, plan: DeletionPlan) -> int:
    """Returns how many relations stay that lose a paragraph which supported them."""
    named = row_ids(db, "deletable_relations", seeds.relations)
    plan.add("relation", _in_chat(db, seeds, plan, named, SELECTED), SELECTED)
    plan.add("relation", row_ids(db, "relations_of_entities", plan.ids("entity")), ENTITY)
    if seeds.chat is not None:
        touching = row_ids(db, "relations_of_entities", row_ids(db, "deletable_entities", seeds.entities))
        plan.add("relation", _in_chat(db, seeds, plan, touching, ENTITY), ENTITY)
    losing = flagged_ids(db, "relations_losing", plan.ids("paragraph"))
    plan.add("relation", [id_ for id_, kept in losing.items() if not kept], EVIDENCE)
    supported = row_ids(db, "relations_supported", plan.ids("paragraph"))
    kept = [id_ for id_ in supported if losing.get(id_) and id_ not in plan.told("relation")]
    if seeds.chat is not None:
        only = row_ids(
            db, "relations_held_elsewhere", plan.ids("paragraph"), relations=array(kept), chat=seeds.chat
        )  # fmt: skip
        plan.elsewhere["relation"] |= dict.fromkeys(only, EVIDENCE)
        kept = [id_ for id_ in kept if id_ not in only]
    plan.stays += [Stay("relation", id_, "other memories support it") for id_ in kept[:MOST_STAYS]]
    return len(kept)


def _in_chat(db: Connection, seeds: Seeds, plan: DeletionPlan, ids: list[int], why: str) -> list[int]:
    if seeds.chat is None:
        return ids
    here = flagged_ids(db, "relations_in_chat", ids, chat=seeds.chat)
    elsewhere = plan.elsewhere.setdefault("relation", {})
    elsewhere |= {id_: why for id_, held in here.items() if held and id_ not in elsewhere}
    return [id_ for id_, elsewhere in here.items() if not elsewhere]


def _deleted_before(db: Connection, seeds: Seeds, meant: set[int], plan: DeletionPlan) -> None:
    """What is meant and was deleted before, with the older wordings that nothing newer answers for."""
    going = plan.rows["paragraph"]
    emptied = row_ids(db, "refs_left_empty", meant | going.keys())
    found: dict[RowKind, set[int]] = {
        "paragraph": meant.union(row_ids(db, "wordings_of_refs", emptied)),
        "ref": set(row_ids(db, "refs_deleted", emptied)),
        "fact": {
            *row_ids(db, "facts_of_persons", seeds.persons, scope=seeds.chat, dead=True),
            *row_ids(db, "facts_of_scopes", seeds.chats, dead=True),
        },
        "entity": set(row_ids(db, "entities_deleted", seeds.norms if seeds.whole else ())),
    }
    plan.dead = {kind: some for kind, held in found.items() if (some := held - plan.rows.get(kind, {}).keys())}


def _stated(db: Connection, seeds: Seeds, plan: DeletionPlan) -> None:
    """What others stated by hand that names the persons, and what is called after them.

    What can mean nobody else goes; the rest stays and is told of.
    """
    finder, persons, stays = seeds.finder, plan.persons, list[Stay]()
    if finder is None:
        return
    told = {one.id for one in plan.stays if one.kind == "entity"} | plan.rows["entity"].keys()
    others = array(persons)
    for one in _profiles_of_others(db, others):
        why = finder.judge(db, 0, one.row["text"])
        if why == "" and seeds.chat is None:
            plan.moved.append(one)
        elif why is not None:
            stays.append(Stay("person", one.id, PROFILE + (why or EVERY_CHAT)))
    kinds: tuple[RowKind, ...] = ("fact", "relation") if seeds.chat is None else ("fact",)
    for kind in kinds:
        for id_, chat, text in db.run(f"by_hand_{kind}", persons=others, scope=seeds.chat).fetchall():
            why = finder.judge(db, chat, text)
            if why == "":
                plan.add(kind, [id_], MENTION)
            elif why is not None:
                stays.append(Stay(kind, id_, why))
    if seeds.chat is None:
        names = {name for name in seeds.norms if len(name) >= SHORTEST_NAME}
        pattern = NamePattern(names)
        values = {"names": array(names), "but": array(told), "paragraphs": array(plan.ids("paragraph"))}
        called = db.run("by_hand_entities", **values).fetchall()
        stays += [Stay("entity", id_, CALLED) for id_, text in called if pattern.held(text)]
        aliased = db.run("by_hand_aliases", names=array(names), persons=others).fetchall()
        stays += [Stay("person", id_, ALIAS) for id_, text in aliased if pattern.held(text)]
    going = {(kind, id_) for kind, held in plan.rows.items() for id_ in held}
    plan.stays += [one for one in stays if (one.kind, one.id) not in going][:MOST_STAYS]


def _profiles_of_others(db: Connection, persons: str) -> list[MovedRow]:
    """Those written by hand, as rows that may be taken out; the id is the person."""
    cursor = db.run("by_hand_profiles", persons=persons)
    names = [column[0] for column in cursor.description]
    return [MovedRow("profile_override", row[0], dict(zip(names, row, strict=True)), MENTION) for row in cursor]


def _count(db: Connection, plan: DeletionPlan, relations_kept: int) -> None:
    paragraphs, why = plan.ids("paragraph"), plan.rows.get("paragraph", {})

    def current(ids: Collection[int]) -> int:
        return db.run("count_current", ids=array(ids)).fetchone()[0]

    plan.current, plan.mentions = current(paragraphs), current([id_ for id_ in paragraphs if why[id_] == MENTION])
    plan.sources = [row[0] for row in db.run("sources_of_paragraphs", ids=array(paragraphs))]
    losing = set(row_ids(db, "profiles_losing", paragraphs))
    plan.effects = {
        "relations_changed": relations_kept,
        "profiles": len(losing.intersection(plan.persons)),
        "profiles_changed": len(losing.difference(plan.persons)),
    }
    for kind, but in (("facts", plan.rows.get("fact", {})), ("episodes", {})):
        losing = flagged_ids(db, f"{kind}_losing", paragraphs)
        kept = [stays for id_, stays in losing.items() if id_ not in but]
        plan.effects |= {kind: len(kept) - sum(kept), f"{kind}_changed": sum(kept)}
