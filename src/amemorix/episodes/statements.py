"""What a chat model has read in a window goes into the ledger of facts: added, in the place of what is known, or its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..facts import rows as fact_rows
from ..facts.language.slots import STATEMENT
from ..facts.ledger import UNDO_KIND, Change, FactLedger, snapshot
from ..facts.rows import FactGroup, FactRow, Moment, Transition
from ..facts.timeline import Point
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import undo_records
from .window import Known, Statement

__all__ = ["StatementWriter", "known_of"]

MOST_READ = 400
"""Facts of the people of a window that are looked through, the newest."""
IMPORTANCE = 0.6
"""The weight of what the model finds worth keeping."""
OWN_WORDS, HEARSAY = 0.8, 0.6
"""The confidence of what the model read in a person's own lines, and in those of others."""


def known_of(db: Connection, persons: Iterable[int], scope: int, now: float) -> list[Known]:
    """What is held of these persons in a chat, the newest first."""
    held = fact_rows.held(db, persons, [scope], Moment(now), limit=MOST_READ)
    rows = [row for row in held if row.scope == scope and row.person is not None]
    of = {row[0]: row[1:] for row in db.run("window_evidence", ids=array(row.id for row in rows))}
    sentences = {p.fact: p.sentence for p in fact_rows.points(db, [row.id for row in rows]) if p.sentence}
    found: list[Known] = []
    for row in rows:
        said, own = of.get(row.id, (row.valid_from, False))
        by_hand = row.asserted_at is not None or row.authority == "manual"
        found.append(
            Known(row.id, row.person or 0, sentences.get(row.id) or _worded(row), said, bool(own), not by_hand)
        )
    return found


def _worded(row: FactRow) -> str:
    if row.attribute == STATEMENT:
        return row.value
    return f"{row.attribute}: {'not ' if row.polarity < 0 else ''}{row.value}"


@dataclass(frozen=True, slots=True)
class _Said:
    """A statement as it is put into the ledger."""

    group: FactGroup
    points: tuple[Point, ...]


class StatementWriter:
    """Writes statements in the caller's transaction; what has been written once is not written again."""

    def __init__(self) -> None:
        self._ledger = FactLedger()

    def write(self, db: Connection, scope: int, statements: Sequence[Statement], now: float) -> None:
        """Put the statements of a window of this chat into the ledger."""
        lines = {line.id for one in statements for line in one.evidence}
        recorded = {row[0]: row[1] for row in db.run("window_recorded", ids=array(lines))}
        for one in statements:
            self._write(db, scope, one, recorded, now)

    def _write(self, db: Connection, scope: int, one: Statement, recorded: Mapping[int, float], now: float) -> None:
        old = fact_rows.one(db, one.replaces) if one.replaces is not None else None
        if old is not None and (
            not old.is_held or old.asserted_at is not None or (old.person, old.scope) != (one.person, scope)
        ):
            old = None  # it has changed since the model was asked
        said = self._said(scope, one, old)
        if said is None:
            return
        first = said.points[0]
        key = {
            "paragraph": first.paragraph, "person": one.person, "scope": scope, "attribute": said.group.attribute,
            "norm": first.norm, "polarity": first.polarity,
        }  # fmt: skip
        if db.run("window_fact", **key).fetchone() is not None:  # it was read before, and may have been undone
            return
        verb = "closed" if one.closes else "updated" if old is not None else "stated"
        change = Change(now, max(recorded[line.id] for line in one.evidence), f"model: {verb}")
        gone = [] if old is None else [old]
        if not one.closes:
            gone += [row for row in self._chosen(db, scope, one) if row.id != one.replaces]
        # a sentence draws on all of its lines: it goes with any of them
        self._ledger.settle(
            db, said.group, change, said.points, merged=len(said.points) > 1, kind=one.kind or (old.kind if old else ""),
            importance=max([IMPORTANCE, *(row.importance for row in gone)]),
        )  # fmt: skip
        found = db.run("window_fact", **key).fetchone()
        new = fact_rows.one(db, found[0]) if found else None
        if new is not None and new.is_held:
            self._replace(db, [row for row in gone if row.id != new.id], new, change, one)

    def _said(self, scope: int, one: Statement, old: FactRow | None) -> _Said | None:
        """The points of a statement; of one that only ends what is known, denials of it."""
        polarity, attribute, value, sentence = 1, STATEMENT, one.sentence, ""
        norm = fact_rows.statement_norm(one.sentence)
        if one.closes:
            if old is None:
                return None
            polarity, attribute, value, norm, sentence = -old.polarity, old.attribute, old.value, old.norm, one.sentence
        own = any(line.speaker == one.person for line in one.evidence)
        points: list[Point] = []
        for line in one.evidence:
            # what begins later is known from when it was said
            at = min(one.valid_from, line.at) if one.valid_from is not None else line.at
            until, told = one.valid_to, line.at if at < line.at else None
            if one.kind == "plan" and until is None and one.valid_from is not None and one.valid_from > line.at:
                until = one.valid_from + 86_400
            if until is not None and until <= line.at:
                told = at
            points.append(
                Point(
                    0, line.id, at, norm, polarity, value, "model", OWN_WORDS if own else HEARSAY, until, told, sentence
                )
            )
        return _Said(FactGroup.of(one.person, None, scope, attribute, norm), tuple(points))

    def _chosen(self, db: Connection, scope: int, one: Statement) -> list[FactRow]:
        """Whole sentences that were kept of these very lines before the model put them better."""
        lines = array(line.id for line in one.evidence)
        rows = db.run("window_sentences", person=one.person, scope=scope, attribute=STATEMENT, ids=lines)
        found = [fact_rows.one(db, id_) for (id_,) in rows.fetchall()]
        return [row for row in found if row is not None and row.is_held and row.authority != "model"]

    def _replace(self, db: Connection, rows: Sequence[FactRow], new: FactRow, change: Change, one: Statement) -> None:
        """Let facts give way to a statement, by the model's word and not by the rules; it can be undone."""
        if not rows:
            return
        refute = [[new.id, line.id] for line in one.evidence]
        detail = snapshot(rows, [*rows, new], refute=refute)
        undo = undo_records.keep(db, UNDO_KIND, detail, "", change.reason, change.now)
        for before in rows:
            row = fact_rows.one(db, before.id) or before  # a denial may have made it doubtful
            state = replace(
                row, status="superseded", pinned=1, valid_to=max(row.valid_from, new.valid_from),
                superseded_at=change.at, superseded_by=new.id,
            )  # fmt: skip
            fact_rows.decide(db, state)
            note = Transition(row.status, state.status, new.id, undo, "", change.reason, change.at)
            fact_rows.transition(db, row.id, note)
            self._ledger.settle(db, row.group, change)
