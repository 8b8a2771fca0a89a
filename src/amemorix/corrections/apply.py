"""The carrying out of a correction, with its undoing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import Conflict
from ..graph import relation_restore
from ..ingest.analyser import Analyser
from ..language.normalise import content_hash
from ..store import tasks as task_rows
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.records import ChatKey, NewText, Person
from ..store.rows import relations as relation_rows
from ..store.time_zones import TimeZones
from . import rows as correction_rows
from .language.text import holds
from .rows import Plan, Standing, Target

__all__ = ["SOURCE_TYPE", "CorrectionWriter"]

SOURCE_TYPE = "correction"


class CorrectionWriter:
    """Puts corrected copies in the place of paragraphs, and stores what is right; runs inside the caller's transaction.

    Facts are not touched: they end and come back with the paragraphs that state them.
    """

    def __init__(self, store: MetadataStore, *, chunk_chars: int, zones: TimeZones) -> None:
        self._store = store
        self._analyser = Analyser(chunk_chars)
        self._zones = zones

    def carry_out(self, db: Connection, plan: Plan, now: float) -> dict[str, Any]:
        """Do what the plan says; returns what is needed to undo it. Raises Conflict if something changed since."""
        details = json.loads(plan.plan)
        items: list[dict[str, Any]] = details["paragraphs"]
        ids = [item["id"] for item in items]
        targets = self._unchanged(db, items, now)
        touched = correction_rows.persons(db, ids)
        correction_rows.supersede(db, ids, now)
        kept = [item for item in items if item["becomes"]]
        stored = [self._in_place(db, plan, targets[item["id"]], item["becomes"], details, now) for item in kept]
        correction_rows.count_revision(db, [item["id"] for item in kept], 1)
        notes = self._note(db, plan, details, now) if details["note"] else []
        alone = correction_rows.alone(db, details["relations"], [])
        ended = [id_ for id_, row in relation_rows.rows(db, alone).items() if row.alive]
        correction_rows.end_relations(db, ended, now)
        relation_restore.taken(db, ended, f"c{plan.id}")
        self._refresh(db, touched, now)
        return {"superseded": ids, "stored": stored, "notes": notes, "relations": ended, "at": now}

    def _unchanged(self, db: Connection, items: Sequence[dict[str, Any]], now: float) -> dict[int, Target]:
        targets = correction_rows.targets(db, [item["id"] for item in items], None, now)
        changed = [
            f"p{item['id']}" for item in items
            if item["id"] not in targets or targets[item["id"]].content_hash.hex() != item["hash"]
        ]  # fmt: skip
        if changed:
            raise Conflict(
                f"{', '.join(changed)} changed since the preview: preview again.", field="plan_id", changed=changed
            )
        return targets

    def _in_place(
        self, db: Connection, plan: Plan, old: Target, text: str, details: Mapping[str, Any], now: float
    ) -> int:
        """Store the corrected copy of a paragraph; returns its row."""
        metadata = json.loads(old.metadata) | {"corrects": f"p{old.id}", "correction": f"c{plan.id}"}
        new = self._analyser.paragraph(text, old.event_start, self._zones.of(old.chat_id))
        row = correction_rows.copy(db, old.id, new, json.dumps(metadata, ensure_ascii=False), now)
        wrong = details["reading"]["wrong"]
        entities = [
            id_ for id_, name in correction_rows.linked_entity_names(db, [old.id]).items() if holds(name, wrong)
        ]
        correction_rows.hand_on(db, old.id, row, entities=entities, relations=details["wrong_relations"])
        return row

    def _note(self, db: Connection, plan: Plan, details: Mapping[str, Any], now: float) -> list[int]:
        """Store what is right, about whom it is; its facts have the authority of the one who corrects."""
        chat = (self._store.names.chat_key(db, plan.chat_id) or ChatKey(plan.chat_id)) if plan.chat_id else None
        text: str = details["note"]
        new = NewText(
            source=f"{SOURCE_TYPE}:{plan.chat_id}" if plan.chat_id else SOURCE_TYPE, source_type=SOURCE_TYPE, kind="text",
            external_id=f"correction:{plan.id}", content_hash=bytes.fromhex(content_hash(text)),
            paragraphs=self._analyser.paragraphs(text, now, self._zones.of(plan.chat_id)), chat=chat, shared=chat is None, event_start=now,
            event_end=now, persons=(Person(plan.person_id, details["person"], about=True),) if plan.person_id else (),
            metadata=json.dumps({"correction": plan.id, "authority": details["authority"]}),
        )  # fmt: skip
        return list(self._store.texts.store(db, new, now).paragraphs)

    def _refresh(self, db: Connection, persons: Iterable[int], now: float) -> None:
        for person in persons:
            task_rows.enqueue(db, "profile", person, since=None, due_at=now, now=now)

    def undo(self, db: Connection, plan: Plan, now: float) -> None:
        """Put back what was there. Raises Conflict if something newer stands on it."""
        result = json.loads(plan.result)
        old, new, notes = result["superseded"], result["stored"], result["notes"]
        standing = correction_rows.standing(db, [*old, *new, *notes])
        moved = [f"p{p}" for p in (*new, *notes) if p not in standing or not standing[p].current]
        moved += [f"p{p}" for p in old if p not in standing or not _as_left(standing[p], result["at"])]
        if moved:
            raise Conflict(
                f"Plan c{plan.id}: {', '.join(moved)} changed since; it cannot be undone.",
                field="plan_id",
                changed=moved,
            )
        touched = correction_rows.persons(db, [*old, *new])
        ended = relation_restore.taken_by(db, result["relations"], f"c{plan.id}")
        correction_rows.revive(db, paragraphs=old, relations=ended, at=result["at"])
        correction_rows.withdraw(db, notes, now)
        self._take_back(db, new, now)
        self._refresh(db, touched, now)

    def _take_back(self, db: Connection, copies: Sequence[int], now: float) -> None:
        """Erase copies, and end what was read in nothing else."""
        supported, spoken_of = correction_rows.relations(db, copies), correction_rows.linked_entity_names(db, copies)
        correction_rows.count_revision(db, copies, -1)
        correction_rows.remove(db, copies)
        correction_rows.end_relations(db, correction_rows.alone(db, supported, []), now)
        correction_rows.end_entities(db, spoken_of, now)


def _as_left(standing: Standing, at: float) -> bool:
    """Whether a superseded paragraph is as the plan left it, and nothing newer stands in its place."""
    return standing.superseded_at == at and standing.deleted_at is None and not standing.outdated
