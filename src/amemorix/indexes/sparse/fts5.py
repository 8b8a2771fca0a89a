"""The lexical index as an SQLite FTS5 file, for those who want none in memory."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...language.normalise import ANALYSER_VERSION
from ...ports import SparseScores
from ..process_id import process_mark
from .levels import Floats, Hashes, Ints, Matches, bm25
from .search import SCAN_LIMIT, Candidates, is_in, search_view
from .segment import TermRow, row_matches

__all__ = ["FORMAT", "Fts5SparseIndex", "create"]

FORMAT = 1
"""The file's `user_version`; changes with its tables."""
_FILE = "sparse.sqlite3"
_APPLICATION_ID = 0x416D5350
_STEP = 1_000
_OPTIMISE_ROWS = 8_000

# The statements of this index stand here and not under storage/: the file is derived from rows and not one of them.
_SCHEMA = """
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, session INTEGER NOT NULL, position INTEGER NOT NULL,
  length INTEGER NOT NULL, terms BLOB NOT NULL
) STRICT;
CREATE INDEX documents_in_reading_order ON documents (scope, session, position, id);
CREATE INDEX documents_of_session ON documents (session);
CREATE TABLE totals (scope INTEGER PRIMARY KEY, documents INTEGER NOT NULL, length INTEGER NOT NULL) STRICT;
CREATE TRIGGER documents_added AFTER INSERT ON documents BEGIN
  INSERT INTO totals VALUES (new.scope, 1, new.length)
  ON CONFLICT (scope) DO UPDATE SET documents = documents + 1, length = length + excluded.length;
END;
CREATE TRIGGER documents_removed AFTER DELETE ON documents BEGIN
  UPDATE totals SET documents = documents - 1, length = length - old.length WHERE scope = old.scope;
END;
CREATE VIRTUAL TABLE postings USING fts5 (terms, content='', detail=none, columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab (postings, row);
"""
_CLEAR = (
    "DELETE FROM documents",
    "DELETE FROM totals",
    "INSERT INTO postings (postings) VALUES ('delete-all')",
)
_INSERT_DOCUMENT = "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)"
_INSERT_POSTINGS = "INSERT INTO postings (rowid, terms) VALUES (?, ?)"
_DELETE_POSTINGS = "INSERT INTO postings (postings, rowid, terms) VALUES ('delete', ?, ?)"
_OPTIMISE = "INSERT INTO postings (postings) VALUES ('optimize')"
_REWRITE = "VACUUM"
_FOLD = "PRAGMA wal_checkpoint(TRUNCATE)"
_DELETE_DOCUMENTS = "DELETE FROM documents WHERE id IN (SELECT value FROM json_each(?))"
_COLUMNS = "SELECT id, scope, session, position, terms FROM documents"
_BY_ID = f"{_COLUMNS} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY scope, session, position, id"
_BY_SCOPE = f"{_COLUMNS} WHERE scope IN (SELECT value FROM json_each(?)) ORDER BY scope, session, position, id"
_BY_SESSION = f"{_COLUMNS} WHERE session IN (SELECT value FROM json_each(?)) ORDER BY scope, session, position, id"
_EVERYTHING = f"{_COLUMNS} ORDER BY scope, session, position, id"
_SCOPES_AND_SESSIONS = "SELECT scope, session FROM documents WHERE id IN (SELECT value FROM json_each(?))"
_TOTALS = "SELECT total(documents), total(length) FROM totals"
_TOTALS_OF = f"{_TOTALS} WHERE scope IN (SELECT value FROM json_each(?))"
_FREQUENCY = "SELECT doc FROM vocabulary WHERE term = ?"
_MATCHING = "SELECT rowid FROM postings WHERE postings MATCH ?"
_COUNT_MATCHING = "SELECT count(*) FROM postings WHERE postings MATCH ?"


class Fts5SparseIndex:
    """The same scores as `SparseBM25Index`, read from disk: slower, but with nothing in memory.

    The file at `path` is this index's own working copy, made anew when it is opened and filled by `build` or `load`.
    Its FTS5 table finds ids only; scores come from the term blobs. A search reads one snapshot of the file.
    """

    name = "sparse"

    def __init__(self, path: Path, *, scan_limit: int = SCAN_LIMIT) -> None:
        self._path = path
        self._scan_limit = scan_limit
        self._changing = threading.Lock()
        self._idle_readers: list[sqlite3.Connection] = []
        self._untidy = 0
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        self._writer = self._connect()
        self._writer.executescript(_SCHEMA)
        self._writer.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        self._writer.execute(f"PRAGMA user_version = {FORMAT}")

    @property
    def fingerprint(self) -> str:
        """The file format and the analyser version."""
        return f"fts5:{FORMAT}:{ANALYSER_VERSION}"

    def __len__(self) -> int:
        """Living documents."""
        with self._reading() as db:
            return int(db.execute(_TOTALS).fetchone()[0])

    def build(self, rows: Iterator[TermRow]) -> None:
        """Replace the whole content in one transaction. Of several rows with one id the last counts."""
        with self._changing, self._transaction() as db:
            for statement in _CLEAR:
                db.execute(statement)
            while chunk := list(islice(rows, _STEP)):
                self._insert(db, chunk)
        self.compact()

    def apply(self, rows: Sequence[TermRow], removed: Sequence[int]) -> None:
        """Insert or replace rows by id, and remove ids; an id in both is kept."""
        with self._changing, self._transaction() as db:
            self._remove(db, removed)
            for start in range(0, len(rows), _STEP):
                self._insert(db, rows[start : start + _STEP])

    def compact(self) -> bool:
        """Merge the inverted lists once many rows were written since the last time."""
        with self._changing:
            if self._untidy < _OPTIMISE_ROWS:
                return False
            with self._transaction() as db:
                db.execute(_OPTIMISE)
            self._untidy = 0
            return True

    def erase(self) -> bool:
        """Leave nothing of removed documents in the file's pages and its log; False if a search was in the way."""
        with self._changing:
            with self._transaction() as db:
                db.execute(_OPTIMISE)
            self._untidy = 0
            self._writer.execute(_REWRITE)
            return self._writer.execute(_FOLD).fetchone()[0] == 0

    def save(self, folder: Path) -> None:
        """Write a copy of the file."""
        with self._reading() as source, closing(sqlite3.connect(folder / _FILE)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")

    def load(self, folder: Path) -> None:
        """Replace the content by what `save` wrote. Raises OSError or ValueError if it cannot be used."""
        saved = folder / _FILE
        if not saved.is_file():
            raise FileNotFoundError(saved)
        try:
            with self._changing, closing(sqlite3.connect(f"{saved.as_uri()}?mode=ro", uri=True)) as source:
                _check(source)
                source.backup(self._writer)
        except sqlite3.DatabaseError as exc:
            raise ValueError(f"{saved} is not a sparse index: {exc}") from exc

    def search(
        self,
        terms: NDArray[np.uint32],
        *,
        scopes: Sequence[int] | None = None,
        allow: NDArray[np.int64] | None = None,
        hidden: NDArray[np.int64] | None = None,
        limit: int = 100,
    ) -> SparseScores:
        """Score documents for the query's term hashes; the contract is `SparseIndex.search`.

        All documents of a small set of scopes, or of the allow list, are returned, those that score nothing too.
        """
        with self._reading() as db:
            view = _View(db, scopes)
            return search_view(view, terms, allow=allow, hidden=hidden, limit=limit, scan_limit=self._scan_limit)

    def document_frequency(self, terms: NDArray[np.uint32]) -> tuple[Ints, int]:
        """In how many documents each term occurs, and how many documents there are."""
        with self._reading() as db:
            view = _View(db, None)
            return view.frequencies(terms), view.documents

    def dump(self) -> dict[int, tuple[int, int, int, bytes]]:
        """Every document: id to scope, session, position and term blob. For comparing indexes."""
        with self._reading() as db:
            return {id_: (*place, blob) for id_, *place, blob in db.execute(_EVERYTHING)}

    def close(self) -> None:
        """Close the working copy and remove it. No search may be going on."""
        for connection in (self._writer, *self._idle_readers):
            connection.close()
        self._idle_readers.clear()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=60)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection]:
        """A connection inside a read transaction, out of those not in use."""
        try:
            connection = self._idle_readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.rollback()
            self._idle_readers.append(connection)

    @contextmanager
    def _transaction(self) -> Generator[sqlite3.Connection]:
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            yield self._writer
        except BaseException:
            self._writer.rollback()
            raise
        self._writer.commit()

    def _insert(self, db: sqlite3.Connection, rows: Sequence[TermRow]) -> None:
        latest = sorted({row.id: row for row in rows}.values(), key=lambda row: row.id)
        lengths = row_matches(latest, np.zeros(0, np.uint32)).length.astype(int).tolist()
        self._remove(db, [row.id for row in latest])
        db.executemany(
            _INSERT_DOCUMENT,
            (
                (row.id, row.scope, row.session, row.position, length, row.terms)
                for row, length in zip(latest, lengths, strict=True)
            ),
        )
        db.executemany(_INSERT_POSTINGS, ((row.id, _words(row.scope, row.terms)) for row in latest))
        self._untidy += len(latest)

    def _remove(self, db: sqlite3.Connection, ids: Sequence[int]) -> None:
        """A contentless table forgets a document only if it is told its words again."""
        wanted = json.dumps([int(id_) for id_ in ids])
        old = db.execute(_BY_ID, (wanted,)).fetchall()
        if old:
            db.executemany(_DELETE_POSTINGS, ((id_, _words(scope, blob)) for id_, scope, _, _, blob in old))
            db.execute(_DELETE_DOCUMENTS, (wanted,))
            self._untidy += len(old)


class _View:
    """What one search sees: a read transaction, and the scopes if there are any."""

    def __init__(self, db: sqlite3.Connection, scopes: Sequence[int] | None) -> None:
        self._db = db
        self._scopes = None if scopes is None else sorted({int(scope) for scope in scopes})
        self.scoped = scopes is not None
        totals = db.execute(_TOTALS) if scopes is None else db.execute(_TOTALS_OF, (json.dumps(self._scopes),))
        documents, self._length = totals.fetchone()
        self.documents = int(documents)

    def average_length(self) -> float:
        return self._length / max(self.documents, 1)

    def frequencies(self, terms: Hashes) -> Ints:
        return np.array([self._frequency(word) for word in _hex_words(terms)], np.int64)

    def everything(self, terms: Hashes) -> Matches:
        if self._scopes is None:
            return self._matches(terms, _EVERYTHING)
        return self._matches(terms, _BY_SCOPE, json.dumps(self._scopes))

    def sessions(self, sessions: Ints, terms: Hashes) -> Matches:
        found = self._matches(terms, _BY_SESSION, json.dumps(sessions.tolist()))
        return found if self._scopes is None else found.take(is_in(found.scope, np.array(self._scopes, np.int64)))

    def sessions_of(self, ids: Ints) -> Ints:
        found = self._db.execute(_SCOPES_AND_SESSIONS, (json.dumps(ids.tolist()),))
        allowed = None if self._scopes is None else set(self._scopes)
        return np.array(sorted({s for scope, s in found if allowed is None or scope in allowed}), np.int64)

    def candidates(self, terms: Hashes, weights: Floats, average: float, allow: Ints | None, limit: int) -> Candidates:
        """Every document with one of the terms and its BM25; at most `limit` are asked for, the rest is a surplus."""
        ids = self._matching(_hex_words(terms))
        if allow is not None:
            ids = ids[is_in(ids, allow)]
        order = np.argsort(terms)
        found = self._matches(terms[order], _BY_ID, json.dumps(ids.tolist()))
        places = np.argsort(order)
        scores = bm25(found.counts[places], found.length, average, weights)
        return Candidates(found.ids, found.session, scores).best(limit)

    def _matches(self, terms: Hashes, *query: Any) -> Matches:
        statement, *values = query
        return row_matches((TermRow(*row) for row in self._db.execute(statement, values)), terms)

    def _matching(self, words: Sequence[str]) -> Ints:
        if not words:
            return np.zeros(0, np.int64)
        found = self._db.execute(_MATCHING, (self._expression(words),))
        return np.fromiter((id_ for (id_,) in found), np.int64)

    def _frequency(self, word: str) -> int:
        if self._scopes is None:
            row = self._db.execute(_FREQUENCY, (word,)).fetchone()
        else:
            row = self._db.execute(_COUNT_MATCHING, (self._expression([word]),)).fetchone()
        return 0 if row is None else row[0]

    def _expression(self, words: Iterable[str]) -> str:
        """An FTS5 query for any of the words, within the scopes."""
        wanted = f"({' OR '.join(words)})"
        if self._scopes is None:
            return wanted
        return f"({' OR '.join(map(_scope_word, self._scopes))}) AND {wanted}"


def _words(scope: int, blob: bytes) -> str:
    """What the FTS5 table is given for a document: its scope, and its term hashes in hexadecimal."""
    return f"{_scope_word(scope)} {blob[: len(blob) // 5 * 4].hex(' ', 4)}"


def _scope_word(scope: int) -> str:
    return f"s{scope & 0xFFFF_FFFF_FFFF_FFFF:x}"


def _hex_words(terms: Hashes) -> list[str]:
    return [term.hex() for term in terms.astype("<u4").reshape(-1, 1).view("V4").ravel().tolist()]


def _check(db: sqlite3.Connection) -> None:
    stamp = db.execute("SELECT * FROM pragma_application_id, pragma_user_version").fetchone()
    if stamp != (_APPLICATION_ID, FORMAT):
        raise ValueError(f"not a sparse index of this format: {stamp}")
    db.execute(_TOTALS).fetchone()


def create(home: Path) -> Fts5SparseIndex:
    """An empty index whose working copy lies in `home`; copies that a crash left behind are removed."""
    home.mkdir(parents=True, exist_ok=True)
    for stale in home.glob("working-*.sqlite3*"):
        if not _alive(stale):
            stale.unlink(missing_ok=True)
    return Fts5SparseIndex(home / f"working-{process_mark()}-{secrets.token_hex(4)}.sqlite3")


def _alive(working: Path) -> bool:
    """Whether the working copy belongs to this process: another kernel of the same host may be using it."""
    return working.name.startswith(f"working-{process_mark()}-")
