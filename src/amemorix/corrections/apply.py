"""Corrections carried out and undone: the rows that they change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import Conflict
from ..graph import relation_restore
from ..ids import paragraph_key, plan_key
from ..ingest.service import new_paragraph, new_paragraphs
from ..language.normalise import content_hash
from ..store.access import TimeZones
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import ChatKey, NewText, Person
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows import relations as relation_rows
from ..store.rows.paragraphs import ParagraphRow
from . import rows as correction_rows
from .rows import Plan
from .wording import holds

__all__ = ["SOURCE_TYPE", "CorrectionWriter"]

SOURCE_TYPE = "correction"


class CorrectionWriter:
    """Puts corrected copies in the place of paragraphs, and stores what is right; runs inside the caller's transaction.

    Facts are not touched: they end and come back with the paragraphs that state them.
    """

    def __init__(self, store: MetadataStore, *, chunk_chars: int, zones: TimeZones) -> None:
        self._store = store
        self._chunk_chars = chunk_chars
        self._zones = zones

    def carry_out(self, db: Connection, plan: Plan, now: float) -> dict[str, Any]:
        """Do what the plan says; returns what is needed to undo it. Raises Conflict if something changed since."""
        details = json.loads(plan.plan)
        items: list[dict[str, Any]] = details["paragraphs"]
        ids = [item["id"] for item in items]
        targets = paragraph_rows.shown(db, ids, None, now)
        changed = [
            paragraph_key(item["id"]) for item in items
            if item["id"] not in targets or targets[item["id"]].content_hash.hex() != item["hash"]
        ]  # fmt: skip
        if changed:
            raise Conflict(
                f"{', '.join(changed)} changed since the preview: preview again.", field="plan_id", changed=changed
            )
        db.run("correction_supersede", ids=array(ids), now=now)
        kept = [item for item in items if item["becomes"]]
        stored = [self._in_place(db, plan, targets[item["id"]], item["becomes"], details, now) for item in kept]
        db.run("correction_refs_revised", ids=array(item["id"] for item in kept), step=1, now=now)
        notes = self._note(db, plan, details, now) if details["note"] else []
        alone = correction_rows.alone(db, details["relations"], [])
        ended = [id_ for id_, row in relation_rows.rows(db, alone).items() if row.alive]
        db.run("delete_relations", ids=array(ended), now=now)
        relation_restore.taken(db, ended, plan_key(plan.id))
        return {"superseded": ids, "stored": stored, "notes": notes, "relations": ended, "at": now}

    def _in_place(
        self, db: Connection, plan: Plan, old: ParagraphRow, text: str, details: Mapping[str, Any], now: float
    ) -> int:
        """Store the corrected copy of a paragraph, with what it was linked to but the wrong; returns its row."""
        metadata = json.loads(old.metadata) | {"corrects": paragraph_key(old.id), "correction": plan_key(plan.id)}
        new = new_paragraph(text, old.event_start, self._zones.of(old.chat_id))
        row: int = db.run(
            "correction_copy", old=old.id, flags=new.flags, content_hash=new.content_hash, content=new.content,
            metadata=json.dumps(metadata, ensure_ascii=False), now=now,
        ).fetchone()[0]  # fmt: skip
        db.run("terms_insert", id=row, v=new.terms)
        db.run("correction_copy_persons", old=old.id, new=row)
        named = correction_rows.linked_entity_names(db, [old.id])
        entities = [id_ for id_, name in named.items() if holds(old.content, name) and not holds(text, name)]
        db.run("correction_copy_entities", old=old.id, new=row, without=array(entities))
        db.run("correction_copy_evidence", old=old.id, new=row, without=array(details["wrong_relations"]))
        return row

    def _note(self, db: Connection, plan: Plan, details: Mapping[str, Any], now: float) -> list[int]:
        """Store what is right, about whom it is; its facts have the authority of the one who corrects."""
        chat = (self._store.names.chat_key(db, plan.chat_id) or ChatKey(plan.chat_id)) if plan.chat_id else None
        text: str = details["note"]
        new = NewText(
            source=f"{SOURCE_TYPE}:{plan.chat_id}" if plan.chat_id else SOURCE_TYPE, source_type=SOURCE_TYPE, kind="text",
            external_id=f"correction:{plan.id}", content_hash=bytes.fromhex(content_hash(text)),
            paragraphs=new_paragraphs(text, now, self._zones.of(plan.chat_id), self._chunk_chars),
            chat=chat, shared=chat is None,
            event_start=now, event_end=now,
            persons=(Person(plan.person_id, details["person"], about=True),) if plan.person_id else (),
            metadata=json.dumps({"correction": plan.id, "authority": details["authority"]}),
        )  # fmt: skip
        return list(self._store.texts.store(db, new, now).paragraphs)

    def undo(self, db: Connection, plan: Plan, now: float) -> None:
        """Put back what was there. Raises Conflict if something newer stands on it."""
        result = json.loads(plan.result)
        old, new, notes, at = result["superseded"], result["stored"], result["notes"], result["at"]
        # id -> (superseded at, deleted at, whether something newer stands under its reference); none if it was purged
        standing = {row[0]: row[1:] for row in db.run("correction_standing", ids=array([*old, *new, *notes]))}
        moved = [paragraph_key(p) for p in (*new, *notes) if p not in standing or standing[p][:2] != (None, None)]
        moved += [paragraph_key(p) for p in old if p not in standing or standing[p] != (at, None, False)]
        if moved:
            raise Conflict(
                f"Plan c{plan.id}: {', '.join(moved)} changed since; it cannot be undone.",
                field="plan_id",
                changed=moved,
            )
        ended = relation_restore.taken_by(db, result["relations"], plan_key(plan.id))
        db.run("correction_revive", ids=array(old), at=at)
        db.run("correction_refs_revive", ids=array(old))
        db.run("correction_relations_revive", ids=array(ended))
        db.run("delete_paragraphs", ids=array(notes), now=now)
        db.run("correction_withdraw_refs", ids=array(notes), now=now)
        db.run("relations_unsupported", paragraphs=array(notes), now=now)
        # the copies are erased, and what was read in nothing else ends with them
        supported, spoken_of = correction_rows.relations(db, new), correction_rows.linked_entity_names(db, new)
        db.run("correction_refs_revised", ids=array(new), step=-1, now=now)
        db.run("erase_paragraphs", ids=array(new))
        db.run("delete_relations", ids=array(correction_rows.alone(db, supported, [])), now=now)
        db.run("correction_entities_end", ids=array(spoken_of), now=now)
