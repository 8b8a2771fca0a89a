"""Corrections of memories in words: plan, confirm, undo."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..audit_context import naming
from ..clock import Clock
from ..config.model import Config
from ..errors import Conflict, InvalidRequest, NotFound
from ..facts.clauses import clauses
from ..facts.language.sentences import sentences
from ..facts.succession import MemUpdateChecker
from ..ids import plan_key
from ..indexes.projections import Indexes
from ..ports import ChatModel
from ..search.service import SearchService
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as correction_rows
from .apply import CorrectionWriter
from .matcher import MOST_CANDIDATES, CorrectionFinder, Found, Wish, unreadable
from .plan_model import planned_by_model
from .rows import Plan
from .wording import holds

__all__ = ["CorrectionService", "Preview"]

DENIED = 0.6
"""How much of what a sentence denies a line has to say before it is corrected without being asked."""
SURE, LIKELY, UNSURE = 0.9, 0.75, 0.6
"""Confidence of a plan whose targets speak of the matter and the person, of one whose target is nearest in meaning, and of one
that only adds what is said."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A plan before anything is changed; what is chosen of `found` is taken out of search."""

    plan: int
    action: str
    wrong: str
    right: str
    subject: str
    found: Found
    confidence: float
    note: str
    """The sentence that is stored as it was said; empty for none."""
    relations: list[str]
    """Relations that end, as sentences."""
    facts: list[str]
    """Values of facts that end."""


class CorrectionService:
    """Finds what a sentence says is wrong, and replaces it in one transaction that can be undone.

    The rule: raw text is never changed or destroyed. The paragraph that the sentence is nearest to, of whom it is about,
    is superseded, so that search no longer gives it. Where its wrong words can be exchanged safely, a corrected copy
    stands in its place (same source, time and speaker); else the sentence itself is stored, about that person, and of
    the paragraph a copy of what stands by itself beside the wrong.
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
        checker: MemUpdateChecker,
    ) -> None:
        self._store = store
        self._indexes = indexes
        self._clock = clock
        self._chat = chat
        self._timeout = config.correction.model_timeout_seconds
        self._finder = CorrectionFinder(
            store, config=config, searches=searches, indexes=indexes, clock=clock, checker=checker
        )
        self._writer = CorrectionWriter(store, chunk_chars=config.ingest.chunk_chars, zones=zones)

    async def preview(self, wish: Wish) -> Preview:
        """Work out what would change, and keep the plan. Raises InvalidRequest for what reads as no correction and is near
        nothing that is stored."""
        found = await self._finder.find(wish)
        if wish.use_model and self._chat is not None:
            by_model = planned_by_model(wish.text, found, self._chat, most=MOST_CANDIDATES, timeout=self._timeout)
            found = await by_model or found
        if not (found.chosen or found.sentence.states_something):
            raise unreadable()
        if not (found.chosen or found.asks or found.sentence.cued):
            raise InvalidRequest(
                "text: it corrects nothing: it does not say what is wrong, and nothing stored says otherwise. Such as "
                "“林澈不住在上海，他住在杭州”, “Mia doesn't work at Google any more, she works at Stripe”. What is new "
                "is stored by ingest_messages.",
                field="text",
            )
        name = naming()
        return await self._store.write(lambda db: self._keep(db, wish, found, name))

    async def preview_if_any(self, wish: Wish) -> Preview | None:
        """The same, but None and no plan if nothing stored says what the sentence denies, or it may mean several persons."""
        try:
            found, name = await self._finder.find(wish), naming()
        except InvalidRequest:
            return None
        told = found.told or wish.exchange is not None
        if not (found.chosen and told and found.sentence.denied and found.chosen[0].denied >= DENIED):
            return None
        return await self._store.write(lambda db: self._keep(db, wish, found, name))

    def _keep(self, db: Connection, wish: Wish, found: Found, name: Callable[..., None]) -> Preview:
        ids = [one.target.id for one in found.chosen]
        old, left = (
            (
                "\n".join(texts)
                for texts in zip(*((one.target.content, one.becomes) for one in found.chosen), strict=True)
            )
            if ids
            else ("", "")
        )
        supported = correction_rows.relations(db, ids)
        wrong = [
            id_ for id_, (subject, _, object_) in supported.items()
            if not left.strip() or any(holds(old, end) and not holds(left, end) for end in (subject, object_))
        ]  # fmt: skip
        ending, note = correction_rows.alone(db, wrong, ids), _note(wish, found)
        confidence = (LIKELY if found.by_meaning else SURE) if ids else UNSURE if note else 0.0
        person = self._indexes.names.index.row(found.person) if found.person is not None else None
        reading = {
            "action": "remove" if found.sentence.forget else "replace",
            "wrong": found.sentence.forget or (found.chosen[0].wrong if ids else " ".join(found.sentence.denied)),
            "right": (found.chosen[0].right if ids else "") or note, "subject": person.name if person else "",
        }  # fmt: skip
        plan = {
            "reading": reading, "confidence": confidence, "note": note, "authority": wish.authority,
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
        name(plan_id=plan_key(id_))
        said = {part for line in sentences(left, said=True) for part in clauses(line)}
        facts = [
            one.value for one in correction_rows.facts(db, ids)
            if not (one.elsewhere or one.value in said or holds(left, one.value))
        ]  # fmt: skip
        return Preview(
            id_, reading["action"], reading["wrong"], reading["right"], reading["subject"], found, confidence, note,
            [" ".join(supported[relation]) for relation in ending], facts,
        )  # fmt: skip

    async def execute(self, id_: int, *, confirmed: bool) -> Plan:
        """Carry a plan out, in one transaction. Raises NotFound, Conflict, InvalidRequest if it is not confirmed."""
        naming()(plan_id=plan_key(id_))

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
        naming()(plan_id=plan_key(id_))

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


def _note(wish: Wish, found: Found) -> str:
    """What is to be stored besides: the sentence, if no corrected text says what is right, or not with its authority."""
    sentence = found.sentence
    if sentence.forget or found.asks or (found.is_reworded and wish.authority != "manual"):
        return ""
    return sentence.text if found.chosen or wish.among is None else ""
