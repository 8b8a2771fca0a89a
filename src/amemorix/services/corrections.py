"""The correcting of memories in words: plan, confirm, undo."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import tzinfo
from typing import Any

from ..clock import Clock
from ..config.model import Config
from ..errors import ChatUnavailable, Conflict, InvalidRequest, NotFound
from ..ports import ChatModel
from ..retrieval.request import KernelSearchRequest
from ..storage.corrections import CorrectionRepository, FactState, Plan, Standing, Target
from ..storage.metadata_store import MetadataStore
from ..storage.records import ChatKey, NewText, Person
from ..strategies.correction import Correction
from ..strategies.correction_rules import read_correction
from ..strategies.correction_text import bears_on, corrected, holds
from ..text import content_hash, normalise_name
from .analysis import Analyser
from .indexes import Indexes
from .scope import visible_scopes
from .search import SearchService

__all__ = ["CorrectionService", "Preview", "Wish"]

MOST_CANDIDATES = 20
SHOWN_CHARS = 420
SOURCE_TYPE = "correction"
SPEAKER, ABOUT = 1, 3
SURE, UNSURE = 0.9, 0.6
"""Confidence of a plan whose targets speak of the matter and the person, and of one that only adds what is said."""
CHAT_SYSTEM = (
    "You read one sentence in which somebody corrects what a memory holds. Say which words are wrong, which are right "
    "instead (empty if the memory should only forget), whom it is about, and the remaining words of the sentence. "
    "Copy words from the sentence; make nothing up. If it is no correction, leave `wrong` empty."
)
CHAT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("wrong", "right", "subject", "about")},
    "required": ["wrong", "right", "subject", "about"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody says is wrong, and where; `among` limits it to these paragraphs, `reading` is how it was read."""

    text: str
    chat_id: str = ""
    person_id: str = ""
    requested_by: str = ""
    reason: str = ""
    use_model: bool = False
    allow_global: bool = False
    among: tuple[int, ...] | None = None
    reading: Correction | None = None


@dataclass(frozen=True, slots=True)
class Replacement:
    """A paragraph that is taken out of search; `becomes` is stored in its place, nothing if it is empty."""

    paragraph: int
    was: str
    becomes: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A paragraph that was looked at."""

    paragraph: int
    content: str
    score: float
    chosen: bool
    why: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan before anything is changed."""

    plan: int
    reading: Correction
    confidence: float
    replacements: tuple[Replacement, ...]
    note: str
    relations: dict[int, str]
    facts: dict[int, str]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    targets: dict[int, Target]
    names: dict[int, set[str]]
    scores: dict[int, float]


class CorrectionService:
    """Finds what a sentence says is wrong, and replaces it in one transaction that can be undone.

    The rule: raw text is never changed or destroyed. A paragraph that says what is wrong is superseded, so that search
    no longer gives it, and a corrected copy stands in its place (same source, time and speaker): wrong words replaced,
    or the parts that say them left out. If nothing stored says it, what was said is stored as it is.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        searches: SearchService,
        indexes: Indexes,
        clock: Clock,
        zone: tzinfo,
        chat: ChatModel | None,
    ) -> None:
        self._store = store
        self._config = config
        self._searches = searches
        self._indexes = indexes
        self._clock = clock
        self._chat = chat
        self._plans = CorrectionRepository()
        self._analyser = Analyser(config.ingest.chunk_chars, zone)

    # planning

    async def preview(self, wish: Wish) -> Preview:
        """Work out what would change, and keep the plan. Raises InvalidRequest for what reads as no correction."""
        reading = await self._read(wish)
        found = await self._search(wish, reading)
        return await self._store.write(lambda db: self._kept(db, wish, reading, found))

    async def _read(self, wish: Wish) -> Correction:
        reading = wish.reading or (await self._asked(wish.text) if wish.use_model else None)
        reading = reading or read_correction(wish.text)
        if reading is None:
            raise InvalidRequest(
                "text: cannot be read as a correction. Say what is wrong and what is right, such as "
                "“林澈不住在上海，他住在杭州”, “Mia doesn't work at Google any more, she works at Stripe”, "
                "or what to forget: “忘掉我喜欢咖啡”.",
                field="text",
            )
        return reading

    async def _asked(self, text: str) -> Correction | None:
        """The chat model's reading; None where there is none, or where it does not stand in the sentence."""
        if self._chat is None:
            return None
        try:
            async with asyncio.timeout(self._config.correction.model_timeout_seconds):
                answer = await self._chat.answer("correction", CHAT_SYSTEM, text, schema=CHAT_SCHEMA)
        except (ChatUnavailable, TimeoutError):
            return None
        wrong, right, subject, about = (str(answer[name]).strip() for name in ("wrong", "right", "subject", "about"))
        if not holds(text, wrong) or (right and not holds(text, right)):
            return None
        return Correction("replace" if right else "remove", wrong, right, subject, about)

    async def _search(self, wish: Wish, reading: Correction) -> _Found:
        """The paragraphs that search gives for the wrong statement, and for its words alone."""
        if wish.among is not None:
            return await self._store.read(lambda db: self._looked_up(db, wish, dict.fromkeys(wish.among or (), 1.0)))
        whole = f"{reading.subject} {reading.about} {reading.wrong}"
        scores: dict[int, float] = {}
        for query in dict.fromkeys((whole, reading.wrong)):
            asked = {"query": query, "limit": MOST_CANDIDATES, "chat_id": wish.chat_id}
            request = KernelSearchRequest.model_validate(asked)
            for hit in (await self._searches.search(request)).hits:
                scores.setdefault(int(hit.id[1:]), hit.score)
        best = dict(sorted(scores.items(), key=lambda pair: -pair[1]))
        return await self._store.read(lambda db: self._looked_up(db, wish, best))

    def _looked_up(self, db: sqlite3.Connection, wish: Wish, scores: dict[int, float]) -> _Found:
        targets = self._plans.targets(db, scores, self._own_scopes(db, wish), self._clock.now())
        persons = self._store.paragraphs.persons(db, targets)
        names = {
            id_: {normalise_name(key) for person in persons.get(id_, ()) for key in (person.name, person.person_id)}
            for id_ in targets
        }
        return _Found(targets, names, scores)

    def _own_scopes(self, db: sqlite3.Connection, wish: Wish) -> tuple[int, ...] | None:
        """What the wish may change: a chat its own memories alone, however much more it may read."""
        if wish.allow_global:
            return None
        row = self._store.names.chat_row(db, wish.chat_id)
        return () if row is None else (row,)

    def _kept(self, db: sqlite3.Connection, wish: Wish, reading: Correction, found: _Found) -> Preview:
        person = self._person(db, wish)
        wanted = self._names_of(db, wish, reading, person)
        judged = {id_: _judged(target, reading, wanted, found.names[id_]) for id_, target in found.targets.items()}
        chosen = [found.targets[id_] for id_, why in judged.items() if not why]
        replacements = tuple(
            Replacement(t.id, t.content, _rest(t.content, reading), t.content_hash.hex()) for t in chosen
        )
        ids = [target.id for target in chosen]
        supported = self._plans.relations(db, ids)
        wrong = [id_ for id_, sentence in supported.items() if holds(sentence, reading.wrong)]
        lost = self._plans.alone(db, wrong, ids)
        facts = {id_: value for id_, value in self._plans.facts(db, ids).items() if _says(value, reading)}
        note = wish.text if not chosen and reading.right and wish.among is None else ""
        preview = Preview(
            0, reading, SURE if chosen else UNSURE if note else 0.0, replacements, note,
            {id_: supported[id_] for id_ in lost}, facts, _candidates(found, judged),
        )  # fmt: skip
        plan = {
            "reading": asdict(reading), "confidence": preview.confidence, "note": note, "wrong_relations": wrong,
            "relations": lost, "facts": list(facts),
            "paragraphs": [{"id": r.paragraph, "becomes": r.becomes, "hash": r.content_hash} for r in replacements],
        }  # fmt: skip
        id_ = self._plans.add(
            db, request=wish.text, person=person, chat=self._chat_row(db, wish.chat_id),
            plan=json.dumps(plan, ensure_ascii=False), by=wish.requested_by, reason=wish.reason, now=self._clock.now(),
        )  # fmt: skip
        return replace(preview, plan=id_)

    def _chat_row(self, db: sqlite3.Connection, chat_id: str) -> int:
        return (self._store.names.chat_row(db, chat_id) or 0) if chat_id else 0

    def _person(self, db: sqlite3.Connection, wish: Wish) -> int | None:
        """The person whom the caller names. Raises NotFound, InvalidRequest if the name is not enough to tell."""
        if not wish.person_id:
            return None
        self._indexes.names.catch_up(db)
        scopes = visible_scopes(db, self._store.names, self._config, wish.chat_id, "", "", respect_filter=True)
        meant = sorted(self._indexes.names.index.matching(wish.person_id, scopes))
        if not meant:
            raise NotFound(f"person_id: nobody is known as {wish.person_id!r}.", field="person_id")
        if len(meant) > 1:
            raise InvalidRequest(f"person_id: {wish.person_id!r} may be several persons.", field="person_id")
        return meant[0]

    def _names_of(self, db: sqlite3.Connection, wish: Wish, reading: Correction, person: int | None) -> set[str]:
        """Normalised names of whom the correction is about; empty if it says nobody."""
        directory = self._indexes.names.index
        rows = {person} if person is not None else set[int]()
        names: set[str] = set()
        if reading.subject:
            self._indexes.names.catch_up(db)
            scopes = visible_scopes(db, self._store.names, self._config, wish.chat_id, "", "", respect_filter=True)
            meant = directory.matching(reading.subject, scopes)
            rows, names = (set(meant), names) if meant else (rows, {normalise_name(reading.subject)})
        for row in rows:
            known = directory.row(row)
            if known is not None:
                names |= {normalise_name(known.person_id), normalise_name(known.name)}
                names |= {normalise_name(name) for name, _ in known.names}
        return names

    # carrying out

    async def execute(self, id_: int, *, confirmed: bool) -> Plan:
        """Carry a plan out, in one transaction. Raises NotFound, Conflict, InvalidRequest if it is not confirmed."""

        def unit(db: sqlite3.Connection) -> Plan:
            plan = self._waiting(db, id_, confirmed)
            result = self._carried_out(db, plan, json.loads(plan.plan))
            if not self._plans.executed(db, id_, json.dumps(result), self._clock.now()):
                raise Conflict(f"Plan c{id_} no longer waits for a confirmation.", field="plan_id")
            return self._got(db, id_)

        return await self._store.write(unit)

    def _waiting(self, db: sqlite3.Connection, id_: int, confirmed: bool) -> Plan:
        plan = self._got(db, id_)
        if plan.status != "awaiting_confirmation":
            raise Conflict(f"Plan c{id_} is {plan.status}, it cannot be executed.", field="plan_id", status=plan.status)
        if not confirmed:
            raise InvalidRequest("confirmed: has to be true, after the preview was read.", field="confirmed")
        details = json.loads(plan.plan)
        if not details["paragraphs"] and not details["note"]:
            raise Conflict(f"Plan c{id_} found nothing that says so: there is nothing to execute.", field="plan_id")
        return plan

    def _got(self, db: sqlite3.Connection, id_: int) -> Plan:
        plan = self._plans.get(db, id_)
        if plan is None:
            raise NotFound(f"plan_id: there is no plan c{id_}.", field="plan_id")
        return plan

    def _carried_out(self, db: sqlite3.Connection, plan: Plan, details: dict[str, Any]) -> dict[str, Any]:
        now = self._clock.now()
        ids = [item["id"] for item in details["paragraphs"]]
        targets = self._plans.targets(db, ids, None, now)
        changed = [
            f"p{item['id']}" for item in details["paragraphs"]
            if item["id"] not in targets or targets[item["id"]].content_hash.hex() != item["hash"]
        ]  # fmt: skip
        if changed:
            raise Conflict(
                f"{', '.join(changed)} changed since the preview: preview again.", field="plan_id", changed=changed
            )
        touched = self._plans.persons(db, ids)
        self._plans.supersede(db, ids, now)
        stored = [self._in_place(db, plan, targets[item["id"]], item["becomes"], details, now)
                  for item in details["paragraphs"] if item["becomes"]]  # fmt: skip
        self._plans.count_revision(db, [item["id"] for item in details["paragraphs"] if item["becomes"]], 1)
        notes = self._note(db, plan, now) if details["note"] else []
        ended = self._plans.alone(db, details["relations"], [])
        self._plans.end_relations(db, ended, now)
        facts = self._plans.end_facts(db, details["facts"], now)
        self._refresh(db, touched, now)
        return {
            "superseded": ids, "stored": stored, "notes": notes, "relations": ended,
            "facts": [asdict(fact) for fact in facts], "at": now,
        }  # fmt: skip

    def _in_place(
        self, db: sqlite3.Connection, plan: Plan, old: Target, text: str, details: dict[str, Any], now: float
    ) -> int:
        """Store the corrected copy of a paragraph; returns its row."""
        metadata = json.loads(old.metadata) | {"corrects": f"p{old.id}", "correction": f"c{plan.id}"}
        new = self._analyser.paragraph(text, old.event_start)
        row = self._plans.copy(db, old.id, new, json.dumps(metadata, ensure_ascii=False), now)
        wrong = details["reading"]["wrong"]
        entities = [id_ for id_, name in self._plans.entity_names(db, [old.id]).items() if holds(name, wrong)]
        self._plans.hand_on(db, old.id, row, entities=entities, relations=details["wrong_relations"])
        return row

    def _note(self, db: sqlite3.Connection, plan: Plan, now: float) -> list[int]:
        """Store what was said, because nothing stored says what is wrong."""
        chat = self._store.names.chat_key(db, plan.chat_id) if plan.chat_id else None
        chat = chat or (ChatKey(plan.chat_id) if plan.chat_id else None)
        new = NewText(
            source=f"{SOURCE_TYPE}:{plan.chat_id}" if plan.chat_id else SOURCE_TYPE, source_type=SOURCE_TYPE, kind="text",
            external_id=f"correction:{plan.id}", content_hash=bytes.fromhex(content_hash(plan.request)),
            paragraphs=self._analyser.paragraphs(plan.request, now), chat=chat, shared=chat is None, event_start=now,
            event_end=now, persons=(Person(plan.person_id, plan.person_id),) if plan.person_id else (),
            metadata=json.dumps({"correction": plan.id}),
        )  # fmt: skip
        return list(self._store.texts.store(db, new, now).paragraphs)

    def _refresh(self, db: sqlite3.Connection, persons: Iterable[int], now: float) -> None:
        for person in persons:
            self._store.derive_tasks.want(db, "profile", person, since=None, due_at=now, now=now)

    # undoing

    async def rollback(self, id_: int) -> Plan:
        """Undo a plan that was carried out. Raises NotFound, Conflict if something newer stands on it."""

        def unit(db: sqlite3.Connection) -> Plan:
            plan = self._got(db, id_)
            if plan.status != "executed":
                raise Conflict(
                    f"Plan c{id_} is {plan.status}, there is nothing to undo.", field="plan_id", status=plan.status
                )
            self._undone(db, id_, json.loads(plan.result))
            self._plans.rolled_back(db, id_, self._clock.now())
            return self._got(db, id_)

        return await self._store.write(unit)

    def _undone(self, db: sqlite3.Connection, id_: int, result: dict[str, Any]) -> None:
        now, at = self._clock.now(), result["at"]
        old, new, notes = result["superseded"], result["stored"], result["notes"]
        standing = self._plans.standing(db, [*old, *new, *notes])
        moved = [f"p{p}" for p in (*new, *notes) if p not in standing or not standing[p].current]
        moved += [f"p{p}" for p in old if p not in standing or not _as_left(standing[p], at)]
        if moved:
            raise Conflict(
                f"Plan c{id_}: {', '.join(moved)} changed since; it cannot be undone.", field="plan_id", changed=moved
            )
        touched = self._plans.persons(db, [*old, *new])
        facts = [FactState(**fact) for fact in result["facts"]]
        self._plans.revive(db, paragraphs=old, relations=result["relations"], facts=facts, at=at)
        self._plans.withdraw(db, notes, now)
        self._take_back(db, new, now)
        self._refresh(db, touched, now)

    def _take_back(self, db: sqlite3.Connection, copies: Sequence[int], now: float) -> None:
        """Erase copies, and end what was read in nothing else."""
        supported, spoken_of = self._plans.relations(db, copies), self._plans.entity_names(db, copies)
        self._plans.count_revision(db, copies, -1)
        self._plans.remove(db, copies)
        self._plans.end_relations(db, self._plans.alone(db, supported, []), now)
        self._plans.end_entities(db, spoken_of, now)

    # reading

    async def get(self, id_: int) -> Plan:
        """A plan. Raises NotFound."""
        return await self._store.read(lambda db: self._got(db, id_))

    async def list(self, statuses: Sequence[str], chat_id: str, *, limit: int, offset: int) -> tuple[list[Plan], int]:
        """(plans, the newest first; how many there are)."""

        def read(db: sqlite3.Connection) -> tuple[list[Plan], int]:
            chat = self._store.names.chat_row(db, chat_id) if chat_id else None
            if chat_id and chat is None:
                return [], 0
            return self._plans.list(db, statuses=statuses or None, chat=chat, limit=limit, offset=offset)

        return await self._store.read(read)


def _judged(target: Target, reading: Correction, wanted: set[str], persons: set[str]) -> str:
    """Why the paragraph is left alone; empty if it says what is wrong."""
    if not holds(target.content, reading.wrong):
        return "does not say it"
    if wanted and not wanted & persons and not any(holds(target.content, name) for name in wanted):
        return "is about somebody else"
    if not bears_on(target.content, reading):
        return "says it of something else"
    return "" if _rest(target.content, reading) != target.content else "holds it in a part that cannot be told apart"


def _rest(content: str, reading: Correction) -> str:
    return corrected(content, reading)


def _says(value: str, reading: Correction) -> bool:
    return holds(value, reading.wrong) or holds(reading.wrong, value)


def _candidates(found: _Found, judged: dict[int, str]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(id_, found.targets[id_].content[:SHOWN_CHARS], round(found.scores[id_], 6), not why, why or "says what is wrong")
        for id_, why in list(judged.items())[:MOST_CANDIDATES]
    )  # fmt: skip


def _as_left(standing: Standing, at: float) -> bool:
    """Whether a superseded paragraph is as the plan left it, and nothing newer stands in its place."""
    return standing.superseded_at == at and standing.deleted_at is None and not standing.outdated
