"""The erasing of rows from a copy of the database, with the records in it that quote or name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache as once

from ..language.normalise import normalise_name
from ..store import row_images as deletion_rows
from ..store.compaction import one_transaction
from ..store.connection import of_file
from ..store.ports import Connection
from ..store.records import MovedRow
from . import text_references
from .byte_search import Gathering, Needles
from .purge_rows import ErasureRepository, Targets
from .record_scrubber import NOTHING, ONLY_IDS, Sought, quoting, sought
from .text_references import ASKED, QUOTING, Going, Record

__all__ = ["CopyErased", "CopyErasing", "without"]

NO_OPERATION = 0
"""In a copy the records of the purge itself are looked through as well."""


@dataclass(frozen=True, slots=True)
class CopyErased:
    """How many rows went from a copy, and how many records in it were emptied."""

    rows: int = 0
    records: int = 0

    def __bool__(self) -> bool:
        return self.rows + self.records > 0


class CopyErasing:
    """Erases rows from a copy, whether they are marked there or not; everything here is blocking.

    What a record may quote is read from the copy itself: the memory that was purged does not know it any more. A purge
    that still does tells its needles and marks too.
    """

    def __init__(self, targets: Targets, persons: Collection[int], chats: Collection[int] = ()) -> None:
        """`persons` and `chats`: those of the targets of whom nothing is left."""
        self._targets = targets
        self._chats = chats
        self._whole = replace(targets, persons=tuple(persons))
        self._rows = ErasureRepository()

    def erase(self, db: Connection, wanted: Sought = NOTHING, *, complete: bool = False) -> CopyErased:
        """Erase and scrub in one transaction; `complete`: `wanted` knows the texts of all paragraphs that go."""
        with one_transaction(of_file(db)):
            records = self._scrubbed(db, wanted, complete)
            rows = sum(deletion_rows.take_out(db, MovedRow(kind, 0, row)) for kind, row in wanted.moved)
            rows += self._rows.known_of(db, self._whole.persons, self._chats)
            rows += _erased_all(db, self._targets)
        return CopyErased(rows, records)

    def strange(self, db: Connection, staying: Gathering) -> Needles:
        """What no paragraph of the copy holds, nor what was gathered before: what is derived might still quote what went.

        An id may be part of another one that the copy alone knows.
        """
        for page in self._pages(db):
            staying.add(page)
        left = staying.missing
        if not len(ids := left.of_ids):
            return left
        held = Gathering(ids)
        held.add(self._rows.names_kept(db))
        for table in QUOTING:
            held.add(one.raw.encode() for one in text_references.records(db, table, NO_OPERATION))
        return left.with_ids(held.missing)

    def _scrubbed(self, db: Connection, wanted: Sought, complete: bool) -> int:
        going = text_references.going(db, self._whole, (), normalise_name)
        read = replace(self._whole, paragraphs=()) if complete else self._whole
        known = [wanted, sought(db, self._rows, read, going)]
        kept = [once(lambda one=one: self._kept_beside(db, one.quotes, going)) for one in known]
        done = 0
        for table in QUOTING:
            keys = self._about(db, table, going, known, kept)
            done += text_references.scrub(db, table, keys) if keys else 0
        done += sum(text_references.forget(db, self._targets).values())
        for table in ASKED:
            ids = text_references.asked(db, table, lambda text: any(one.marks.persons.held(text) for one in known))
            if ids:
                text_references.unname(db, table, ids)
                done += len(ids)
        return done

    def _about(
        self,
        db: Connection,
        table: str,
        going: Going,
        known: Sequence[Sought],
        kept: Sequence[Callable[[], Needles]],
    ) -> list[int | str]:
        def named(record: Record) -> bool:
            return any(one.marks.in_record(table, record) for one in known)

        found = {
            *text_references.about(db, table, self._targets, going),
            *text_references.quoting(db, table, NO_OPERATION, named),
        }
        for one, strange in zip(known, kept, strict=True) if table not in ONLY_IDS else ():
            if self._quoted(db, table, one.quotes):
                found.update(self._quoted(db, table, strange()))
        if table == "delete_operation_items":
            found.update(key for key, _ in text_references.kept_of(db, NO_OPERATION, self._targets))
        return list(found)

    def _quoted(self, db: Connection, table: str, needles: Needles) -> list[int | str]:
        return quoting(needles, text_references.records(db, table, NO_OPERATION))

    def _kept_beside(self, db: Connection, needles: Needles, going: Going) -> Needles:
        left = self._said_by_nobody(db, needles)
        return without(left, text_references.names_staying(db, self._whole, going)) if len(left) else left

    def _said_by_nobody(self, db: Connection, needles: Needles) -> Needles:
        """The needles that no page of paragraphs of the copy holds but those that go."""
        for page in self._pages(db):
            needles = without(needles, page)
        return needles

    def _pages(self, db: Connection) -> Iterator[list[bytes]]:
        """The paragraphs of the copy that stay."""
        after, gone = 0, set(self._targets.paragraphs)
        while page := self._rows.texts_kept(db, after):
            yield [raw for id_, raw in page if id_ not in gone]
            after = page[-1][0]


def without(needles: Needles, raw: Iterable[bytes]) -> Needles:
    """The needles that these bytes do not hold."""
    return needles.without(needles.search(iter([b"\n".join(raw)]), all_of_them=True).met)


def _erased_all(db: Connection, targets: Targets) -> int:
    """Erase the rows, whether they are marked or not; returns how many there were."""
    rows, done = ErasureRepository(), Counter[str]()
    for erase, ids in (
        (rows.paragraphs, targets.paragraphs), (rows.relations, targets.relations),
        (rows.entities, targets.entities), (rows.facts, targets.facts),
    ):  # fmt: skip
        done += erase(db, ids, force=True).counts
    done += rows.persons(db, targets.persons).counts + rows.chats(db, targets.chats).counts
    return done.total()
