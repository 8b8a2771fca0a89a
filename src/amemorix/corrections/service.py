"""The correcting of memories in words: plan, confirm, undo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from ..audit_context import naming
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, InvalidRequest, NotFound
from ..indexes.projections import Indexes
from ..ports import ChatModel
from ..search.service import SearchService
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.time_zones import TimeZones
from . import rows as correction_rows
from .apply import CorrectionWriter
from .language.claim import Correction
from .language.claims import facts_said, states
from .language.rules import plainly
from .language.text import alike, holds
from .matcher import MOST_CANDIDATES, OTHERS, CorrectionFinder, Found
from .parser import CorrectionReader, Wish
from .rows import Plan

__all__ = ["CorrectionService", "Preview"]

SHOWN_CHARS = 420
SURE, UNSURE = 0.9, 0.6
"""Confidence of a plan whose targets speak of the matter and the person, and of one that only adds what is said."""


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


class CorrectionService:
    """Finds what a sentence says is wrong, and replaces it in one transaction that can be undone.

    The rule: raw text is never changed or destroyed. A paragraph that says what is wrong of whom the sentence is about
    is superseded, so that search no longer gives it, and a corrected copy stands in its place (same source, time and
    speaker): wrong words replaced, or the parts that say them left out. If nothing that is stored then says what is
    right, the sentence itself is stored, about that person.
    """

    def __init__(
        self,
        store: MetadataStore,
        *,
        config: Config,
        searches: SearchService,
        indexes: Indexes,
        clock: Clock,
        zones: TimeZones,
        chat: ChatModel | None,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock
        self._reader = CorrectionReader(chat, timeout=config.correction.model_timeout_seconds)
        self._finder = CorrectionFinder(store, config=config, searches=searches, indexes=indexes, clock=clock)
        self._writer = CorrectionWriter(store, chunk_chars=config.ingest.chunk_chars, zones=zones)

    # planning

    async def preview(self, wish: Wish) -> Preview:
        """Work out what would change, and keep the plan. Raises InvalidRequest for what reads as no correction."""
        reading = await self._reader.read(wish)
        found, name = await self._finder.find(wish, reading), naming()
        return await self._store.write(lambda db: self._kept(db, wish, reading, found, name))

    async def preview_if_any(self, wish: Wish) -> Preview | None:
        """The same, but None and no plan if nothing stored says what is wrong, or it may mean several persons."""
        reading = await self._reader.read(wish)
        try:
            found = await self._finder.find(wish, reading)
        except InvalidRequest:
            return None
        name = naming()
        return await self._store.write(lambda db: self._kept(db, wish, reading, found, name)) if found.chosen else None

    def _kept(
        self, db: Connection, wish: Wish, reading: Correction, found: Found, name: Callable[..., None]
    ) -> Preview:
        preview, wrong = self._drawn_up(db, wish, reading, found)
        person = self._indexes.names.index.row(found.person) if found.person is not None else None
        plan = {
            "reading": asdict(reading), "confidence": preview.confidence, "note": preview.note,
            "authority": wish.authority, "person": person.name if person else "", "wrong_relations": wrong,
            "relations": list(preview.relations),
            "paragraphs": [{"id": r.paragraph, "becomes": r.becomes, "hash": r.content_hash} for r in preview.replacements],
        }  # fmt: skip
        id_ = correction_rows.add(
            db, request=wish.text, person=found.person, chat=self._chat_row(db, wish.chat_id),
            plan=json.dumps(plan, ensure_ascii=False), by=wish.requested_by, reason=wish.reason, now=self._clock.now(),
        )  # fmt: skip
        name(plan_id=f"c{id_}")
        return replace(preview, plan=id_)

    def _drawn_up(self, db: Connection, wish: Wish, reading: Correction, found: Found) -> tuple[Preview, list[int]]:
        """(the plan without its number, relations that say what is wrong)."""
        replacements = tuple(
            Replacement(one.target.id, one.target.content, one.becomes, one.target.content_hash.hex())
            for one in found.chosen
        )
        ids = [one.paragraph for one in replacements]
        supported = correction_rows.relations(db, ids)
        wrong = [id_ for id_, sentence in supported.items() if holds(sentence, reading.wrong)]
        note = _note(wish, reading, found)
        preview = Preview(
            0, reading, SURE if ids else UNSURE if note else 0.0, replacements, note,
            {id_: supported[id_] for id_ in correction_rows.alone(db, wrong, ids)},
            self._facts(db, replacements, reading, found),
            _candidates(found),
        )  # fmt: skip
        return preview, wrong

    def _facts(
        self, db: Connection, replacements: Sequence[Replacement], reading: Correction, found: Found
    ) -> dict[int, str]:
        """Facts that rest on these paragraphs and end: those that are wrong, and those that nothing then states."""
        ids, matter = [one.paragraph for one in replacements], found.matter
        wrong = {
            one.id: one.value for one in correction_rows.facts(db, ids, found.person)
            if (one.attribute in matter.attributes if matter.topic else alike(one.value, reading.wrong))
        }  # fmt: skip
        left = "\n".join(one.becomes for one in replacements)
        stated = {(claim.attribute, claim.norm) for claim in facts_said(left, ())}
        unsaid = {
            one.id: one.value for one in correction_rows.facts(db, ids, None)
            if not (one.elsewhere or alike(left, one.value) or (one.attribute, one.norm) in stated)
        }  # fmt: skip
        return wrong | unsaid

    def _chat_row(self, db: Connection, chat_id: str) -> int:
        return (self._store.names.chat_row(db, chat_id) or 0) if chat_id else 0

    # carrying out

    async def execute(self, id_: int, *, confirmed: bool) -> Plan:
        """Carry a plan out, in one transaction. Raises NotFound, Conflict, InvalidRequest if it is not confirmed."""
        naming()(plan_id=f"c{id_}")

        def unit(db: Connection) -> Plan:
            plan, now = self._waiting(db, id_, confirmed), self._clock.now()
            result = self._writer.carry_out(db, plan, now)
            if not correction_rows.executed(db, id_, json.dumps(result), now):
                raise Conflict(f"Plan c{id_} no longer waits for a confirmation.", field="plan_id")
            return self._got(db, id_)

        return await self._store.write(unit)

    def _waiting(self, db: Connection, id_: int, confirmed: bool) -> Plan:
        plan = self._got(db, id_)
        if plan.status != "awaiting_confirmation":
            raise Conflict(f"Plan c{id_} is {plan.status}, it cannot be executed.", field="plan_id", status=plan.status)
        if not confirmed:
            raise InvalidRequest("confirmed: has to be true, after the preview was read.", field="confirmed")
        details = json.loads(plan.plan)
        if not details["paragraphs"] and not details["note"]:
            raise Conflict(f"Plan c{id_} found nothing that says so: there is nothing to execute.", field="plan_id")
        return plan

    def _got(self, db: Connection, id_: int) -> Plan:
        plan = correction_rows.get(db, id_)
        if plan is None:
            raise NotFound(f"plan_id: there is no plan c{id_}.", field="plan_id")
        return plan

    async def rollback(self, id_: int) -> Plan:
        """Undo a plan that was carried out. Raises NotFound, Conflict if something newer stands on it."""
        naming()(plan_id=f"c{id_}")

        def unit(db: Connection) -> Plan:
            plan, now = self._got(db, id_), self._clock.now()
            if plan.status != "executed":
                raise Conflict(
                    f"Plan c{id_} is {plan.status}, there is nothing to undo.", field="plan_id", status=plan.status
                )
            self._writer.undo(db, plan, now)
            correction_rows.rolled_back(db, id_, now)
            return self._got(db, id_)

        return await self._store.write(unit)

    # reading

    async def get(self, id_: int) -> Plan:
        """A plan. Raises NotFound."""
        return await self._store.read(lambda db: self._got(db, id_))

    async def list(self, statuses: Sequence[str], chat_id: str, *, limit: int, offset: int) -> tuple[list[Plan], int]:
        """(plans, the newest first; how many there are)."""

        def read(db: Connection) -> tuple[list[Plan], int]:
            chat = self._store.names.chat_row(db, chat_id) if chat_id else None
            if chat_id and chat is None:
                return [], 0
            return correction_rows.listed(db, statuses=statuses or None, chat=chat, limit=limit, offset=offset)

        return await self._store.read(read)


def _note(wish: Wish, reading: Correction, found: Found) -> str:
    """What is to be stored besides: the sentence, if no corrected text says what is right, or not with its authority."""
    vouched = wish.authority == "manual" and found.matter.right
    if not reading.right or (not vouched and any(states(one.becomes, reading, found.matter) for one in found.chosen)):
        return ""
    guess = any(one.why == OTHERS for one in found.judged)
    return plainly(wish.text) if (found.chosen or wish.among is None) and not guess else ""


def _candidates(found: Found) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            one.target.id, one.target.content[:SHOWN_CHARS], round(one.score, 6), not one.why,
            one.why or "says what is wrong",
        )
        for one in found.judged[:MOST_CANDIDATES]
    )  # fmt: skip
