"""Corrections of memories in words: plan, confirm, undo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from ..audit_context import naming
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, InvalidRequest, NotFound
from ..indexes.projections import Indexes
from ..ports import ChatModel
from ..search.service import SearchService
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as correction_rows
from .apply import CorrectionWriter
from .language.claim import Correction
from .language.claims import facts_said, states
from .language.rules import plainly
from .language.text import alike, holds
from .matcher import OTHERS, CorrectionFinder, Found
from .parser import Wish, read_wish
from .rows import Plan

__all__ = ["CorrectionService", "Preview"]

SURE, UNSURE = 0.9, 0.6
"""Confidence of a plan whose targets speak of the matter and the person, and of one that only adds what is said."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan before anything is changed; what is chosen of `found` is taken out of search."""

    plan: int
    reading: Correction
    found: Found
    confidence: float
    note: str
    relations: list[str]
    """Relations that end, as sentences."""
    facts: list[str]
    """Values of facts that end."""


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
        self._chat = chat
        self._timeout = config.correction.model_timeout_seconds
        self._finder = CorrectionFinder(store, config=config, searches=searches, indexes=indexes, clock=clock)
        self._writer = CorrectionWriter(store, chunk_chars=config.ingest.chunk_chars, zones=zones)

    async def preview(self, wish: Wish) -> Preview:
        """Work out what would change, and keep the plan. Raises InvalidRequest for what reads as no correction."""
        reading = await read_wish(wish, self._chat, timeout=self._timeout)
        found, name = await self._finder.find(wish, reading), naming()
        return await self._store.write(lambda db: self._keep(db, wish, reading, found, name))

    async def preview_if_any(self, wish: Wish) -> Preview | None:
        """The same, but None and no plan if nothing stored says what is wrong, or it may mean several persons."""
        reading = await read_wish(wish, self._chat, timeout=self._timeout)
        try:
            found, name = await self._finder.find(wish, reading), naming()
        except InvalidRequest:
            return None
        return await self._store.write(lambda db: self._keep(db, wish, reading, found, name)) if found.chosen else None

    def _keep(
        self, db: Connection, wish: Wish, reading: Correction, found: Found, name: Callable[..., None]
    ) -> Preview:
        ids = [one.target.id for one in found.chosen]
        supported = correction_rows.relations(db, ids)
        wrong = [id_ for id_, sentence in supported.items() if holds(sentence, reading.wrong)]
        ending, note = correction_rows.alone(db, wrong, ids), _note(wish, reading, found)
        confidence = SURE if ids else UNSURE if note else 0.0
        person = self._indexes.names.index.row(found.person) if found.person is not None else None
        plan = {
            "reading": asdict(reading), "confidence": confidence, "note": note, "authority": wish.authority,
            "person": person.name if person else "", "wrong_relations": wrong, "relations": ending,
            "paragraphs": [
                {"id": one.target.id, "becomes": one.becomes, "hash": one.target.content_hash.hex()} for one in found.chosen
            ],
        }  # fmt: skip
        chat = (self._store.names.chat_row(db, wish.chat_id) or 0) if wish.chat_id else 0
        id_: int = db.run(
            "correction_insert", request=wish.text, person=found.person, chat=chat,
            plan=json.dumps(plan, ensure_ascii=False), requested_by=wish.requested_by, reason=wish.reason,
            now=self._clock.now(),
        ).fetchone()[0]  # fmt: skip
        name(plan_id=f"c{id_}")
        relations = [supported[relation] for relation in ending]
        return Preview(id_, reading, found, confidence, note, relations, _facts_that_end(db, reading, found))

    async def execute(self, id_: int, *, confirmed: bool) -> Plan:
        """Carry a plan out, in one transaction. Raises NotFound, Conflict, InvalidRequest if it is not confirmed."""
        naming()(plan_id=f"c{id_}")

        def unit(db: Connection) -> Plan:
            plan, now = _plan(db, id_), self._clock.now()
            if plan.status != "awaiting_confirmation":
                raise Conflict(
                    f"Plan c{id_} is {plan.status}, it cannot be executed.", field="plan_id", status=plan.status
                )
            if not confirmed:
                raise InvalidRequest("confirmed: has to be true, after the preview was read.", field="confirmed")
            details = json.loads(plan.plan)
            if not details["paragraphs"] and not details["note"]:
                raise Conflict(f"Plan c{id_} found nothing that says so: there is nothing to execute.", field="plan_id")
            result = self._writer.carry_out(db, plan, now)
            db.run("correction_executed", id=id_, result=json.dumps(result), now=now)
            return _plan(db, id_)

        return await self._store.write(unit)

    async def rollback(self, id_: int) -> Plan:
        """Undo a plan that was carried out. Raises NotFound, Conflict if something newer stands on it."""
        naming()(plan_id=f"c{id_}")

        def unit(db: Connection) -> Plan:
            plan, now = _plan(db, id_), self._clock.now()
            if plan.status != "executed":
                raise Conflict(
                    f"Plan c{id_} is {plan.status}, there is nothing to undo.", field="plan_id", status=plan.status
                )
            self._writer.undo(db, plan, now)
            db.run("correction_rolled_back", id=id_, now=now)
            return _plan(db, id_)

        return await self._store.write(unit)

    async def get(self, id_: int) -> Plan:
        """A plan. Raises NotFound."""
        return await self._store.read(lambda db: _plan(db, id_))

    async def list(self, statuses: Sequence[str], chat_id: str, *, limit: int, offset: int) -> tuple[list[Plan], int]:
        """(plans, the newest first; how many there are)."""

        def unit(db: Connection) -> tuple[list[Plan], int]:
            chat = self._store.names.chat_row(db, chat_id) if chat_id else None
            if chat_id and chat is None:
                return [], 0
            return correction_rows.listed(db, statuses=statuses or None, chat=chat, limit=limit, offset=offset)

        return await self._store.read(unit)


def _plan(db: Connection, id_: int) -> Plan:
    row = db.run("correction_get", id=id_).fetchone()
    if row is None:
        raise NotFound(f"plan_id: there is no plan c{id_}.", field="plan_id")
    return Plan(*row)


def _note(wish: Wish, reading: Correction, found: Found) -> str:
    """What is to be stored besides: the sentence, if no corrected text says what is right, or not with its authority."""
    vouched = wish.authority == "manual" and found.matter.right
    if not reading.right or (not vouched and any(states(one.becomes, reading, found.matter) for one in found.chosen)):
        return ""
    guess = any(one.why == OTHERS for one in found.judged)
    return plainly(wish.text) if (found.chosen or wish.among is None) and not guess else ""


def _facts_that_end(db: Connection, reading: Correction, found: Found) -> list[str]:
    """Values of facts that rest on what is replaced and end: those that are wrong, and those that nothing then states."""
    ids, matter = [one.target.id for one in found.chosen], found.matter
    ending = {
        one.id: one.value for one in correction_rows.facts(db, ids, found.person)
        if (one.attribute in matter.attributes if matter.topic else alike(one.value, reading.wrong))
    }  # fmt: skip
    left = "\n".join(one.becomes for one in found.chosen)
    stated = {(claim.attribute, claim.norm) for claim in facts_said(left, ())}
    ending |= {
        one.id: one.value for one in correction_rows.facts(db, ids, None)
        if not (one.elsewhere or alike(left, one.value) or (one.attribute, one.norm) in stated)
    }  # fmt: skip
    return list(ending.values())
