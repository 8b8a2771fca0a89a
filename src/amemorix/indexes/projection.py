"""An index that follows the change log."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from ..ports import Index
from ..store import changes as change_log
from ..store.ports import Connection
from . import snapshot
from .projection_queries import Feed

__all__ = ["Projection"]

I = TypeVar("I", bound=Index)  # noqa: E741
log = logging.getLogger(__name__)

STEP = 4_000
"""Changes taken up at a time, so that a search never waits long behind the background."""


class Projection(Generic[I]):
    """Keeps an index equal to its rows.

    The index is a pure function of the rows up to `cursor`. A snapshot is taken up only if its fingerprint fits and
    `floor <= cursor <= last` holds in the change log; otherwise the index is made anew. Of several threads that catch
    up, each with its own view of the database, the one that sees most wins: the row decides what may be seen.
    """

    def __init__(self, index: I, feed: Feed, *, database_id: str, home: Path | None) -> None:
        self.index = index
        self._feed = feed
        self._database_id = database_id
        self._home = home
        self._lock = threading.Lock()
        self._upkeep = threading.Lock()
        self._saved: int | None = None
        self.cursor: int | None = None

    @property
    def name(self) -> str:
        """The index's name."""
        return self.index.name

    @property
    def saved_cursor(self) -> int | None:
        """How far the snapshot on disk reads; None if there is none, or none is kept."""
        return self._saved

    @property
    def keeps_snapshot(self) -> bool:
        """False for an index that is always made anew when the store opens."""
        return self._home is not None

    def open(self, db: Connection) -> Literal["loaded", "rebuilt"]:
        """Load the snapshot and catch up; if it is missing, damaged or of other rows, build from the rows."""
        _, last = change_log.bounds(db)
        with self._lock:
            loaded = self._load()
            if self.cursor is not None and self.cursor > last:
                log.warning("%s: the snapshot is ahead of the rows; building from the rows", self.name)
                self.cursor = self._saved = None
        if not self.catch_up(db) and loaded:
            return "loaded"
        if self._home is not None:
            snapshot.discard(self._home)
            self._saved = None
        return "rebuilt"

    def catch_up(self, db: Connection, bounds: tuple[int, int] | None = None) -> bool:
        """Take up every change that the connection sees; True if the index had to be built from the rows.

        `bounds` are those of the change log in the same snapshot, for who knows them already.
        """
        rebuilt = False
        floor, last = bounds or change_log.bounds(db)
        while self.cursor is None or self.cursor < last:
            with self._lock:
                if self.cursor is None or self.cursor < floor:
                    self._rebuild(db, last)
                    rebuilt = True
                else:
                    self._step(db, last)
        return rebuilt

    def renew(self, db: Connection) -> None:
        """Build the index from the rows, whatever it holds."""
        with self._lock:
            self._rebuild(db, change_log.bounds(db)[1])
            if self._home is not None:
                snapshot.discard(self._home)
                self._saved = None

    def rows(self, db: Connection) -> Iterator[Any]:
        """All that the index is made of."""
        return self._feed.rows(db)

    def lag(self, db: Connection) -> int:
        """Changes not taken up yet."""
        return change_log.bounds(db)[1] - (self.cursor or 0)

    def tidy(self) -> bool:
        """Let the index merge what has accumulated."""
        with self._upkeep:
            return self.index.compact()

    def save(self) -> bool:
        """Write a snapshot if anything changed since the last one; False if not, or if its home was removed meanwhile."""
        with self._upkeep:
            cursor = self.cursor
            if self._home is None or cursor is None or cursor == self._saved:
                return False
            folder = snapshot.begin(self._home)
            try:
                self.index.save(folder)
                snapshot.publish(
                    self._home, folder, cursor=cursor, fingerprint=self.index.fingerprint, database_id=self._database_id
                )
            except FileNotFoundError:
                log.info("%s: the rows behind the snapshot went while it was written", self.name)
                return False
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self._saved = cursor
        return True

    def _load(self) -> bool:
        pointer = snapshot.read_pointer(self._home) if self._home else None
        if self._home is None or pointer is None:
            return False
        if (pointer.fingerprint, pointer.database_id) != (self.index.fingerprint, self._database_id):
            log.warning("%s: the snapshot is of another database or format; building from the rows", self.name)
            return False
        try:
            self.index.load(snapshot.verified_folder(self._home, pointer))
        except (OSError, ValueError) as exc:
            log.warning("%s: the snapshot cannot be used (%s); building from the rows", self.name, exc)
            return False
        self.cursor = self._saved = pointer.cursor
        return True

    def _rebuild(self, db: Connection, last: int) -> None:
        self.index.build(self.rows(db))
        self.cursor = last

    def _step(self, db: Connection, last: int) -> None:
        cursor = self.cursor or 0
        upto = min(last, cursor + STEP)
        if upto <= cursor:
            return
        ids = change_log.between(db, cursor, upto, self._feed.kinds)
        if ids:
            rows = self._feed.rows_of(db, ids)
            held = {row.id for row in rows}
            self.index.apply(rows, [id_ for id_ in ids if id_ not in held])
        self.cursor = upto
