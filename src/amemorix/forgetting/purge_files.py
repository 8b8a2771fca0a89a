"""The files of the data directory during a purge: looked through, rewritten, removed."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..copies.backup_folder import MANIFEST, SETTINGS, BackupFolder
from ..copies.portable_file import header_of, is_portable
from ..errors import InvalidRequest, NotReady
from ..language.encoding import encoding_of
from ..store import changes as change_log
from ..store import compaction
from ..store import copies as copy_rows
from ..store.compaction import file_chunks, open_copy
from ..store.connection import DatabaseError
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.reserve import RESERVE
from . import text_references
from .byte_search import Gathering, Needles, Remnants
from .purge_copies import CopyErasing, without
from .purge_rows import ErasureRepository, Targets
from .record_scrubber import Marks, Sought
from .text_references import QUOTING, Going
from .unreadable_files import packed_as, read_wide

__all__ = ["UNPROVED", "Looked", "PurgeFiles", "warnings_of"]

NO_NEEDLES = Needles({})
SQLITE = b"SQLite format 3\0"
PORTION = 20_000
OURS = "memory."
"""What the names of the files begin with that this program puts beside the database."""
INDEXES = "indexes"
"""The folder of the snapshots of the indexes."""
TERM_BYTES = 4
"""Bytes of a term in them."""
STAGED = ("imports", "staging")
"""The folder of the files that were handed over to be imported."""
LEFT = "left: it is not a file of this program"
UNPROVED = "left: what had been erased before an interruption could not be looked for in it"
OWN_NOTES = (".lock", "daemon.json", RESERVE)
"""What the names of our own files in the data directory begin with that hold nothing of the memory."""
EXPORTS = "exports"
"""The folder of the files that the program writes when the graph is exported."""


@dataclass(slots=True)
class Looked:
    """What a look through the files came to; `found` counts fragments by file."""

    files: int = 0
    bytes: int = 0
    found: dict[str, int] = field(default_factory=dict[str, int])
    held_elsewhere: int = 0
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Files that nobody can look through as they are, and how they are packed."""

    @property
    def remnants(self) -> int:
        """Fragments found in all."""
        return sum(self.found.values())


class PurgeFiles:
    """Looks through every file below the data directory; everything here is blocking."""

    def __init__(self, store: MetadataStore, backups: BackupFolder) -> None:
        self._store = store
        self._rows = ErasureRepository()
        self._backups = backups
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End what is under way as soon as may be."""
        self._stopping.set()

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise NotReady("The memory is being closed; the purge goes on when it is opened.")

    def _watched(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._go_on()
            yield chunk

    def look(self, wanted: Sought, copy: CopyErasing, rewritten: Collection[str]) -> Looked:
        """Search every file for the needles; what rows that stay hold too is counted apart.

        `rewritten` names the databases that were written anew. Such a file holds the values of its rows and nothing else,
        so that a fragment which no value holds stands there by chance, where two values meet.
        """
        needles = wanted.files
        looked, met = Looked(), list[tuple[Path, Remnants]]()
        for path, chunks in self._readable():
            try:
                found = needles.search(self._watched(chunks))
                if not found.count and self._is_given(path):
                    found = needles.search(self._watched(_respelled(path))).with_bytes(found.bytes)
            except FileNotFoundError:
                continue
            if how := packed_as(path) if not found.count and self._is_given(path) else "":
                looked.unread[self._name(path)] = how
            looked.files += 1
            looked.bytes += found.bytes
            if found.count:
                met.append((path, found))
        for path, found in met:
            name, strange = self._name(path), self._strange(needles, found)
            if len(strange) and _is_database(path):
                strange = self._in_rows(path, strange, copy, name in rewritten)
            strange = self._without_longer_ids(path, strange, wanted.marks)
            if len(strange) and name.startswith(f"{INDEXES}/") and self._is_index_of_kept(name, strange):
                strange = needles.only({})
            looked.held_elsewhere += found.count - len(strange)
            if len(strange):
                looked.found[name] = len(strange)
        return looked

    def _in_rows(self, path: Path, strange: Needles, copy: CopyErasing, rewritten: bool) -> Needles:
        """What of it the rows of a database hold that do not stay; of one that was not written anew, all of it."""
        if self._is_live(path):
            return self._store.read_here(lambda db: self._in_values(db, strange)) if rewritten else strange
        if not rewritten:
            return strange
        with open_copy(path, unchanged=True) as db:
            left = copy.strange(db, Gathering(strange))
            return self._in_values(db, left) if len(left) else left

    def _in_values(self, db: Connection, needles: Needles) -> Needles:
        held = Gathering(needles)
        for values in _portions(value for _, value in self._rows.values(db)):
            self._go_on()
            held.add(values)
        return held.held

    def _strange(self, needles: Needles, found: Remnants) -> Needles:
        """What was found and no row that stays holds."""
        return self._staying(needles.only(found.met)).missing if found.count else needles.only({})

    def _without_longer_ids(self, path: Path, strange: Needles, marks: Marks) -> Needles:
        """Without ids that the file holds within longer ones only, or that records hold which were looked through."""
        if not len(ids := strange.of_ids):
            return strange
        if self._is_live(path):
            return strange.with_ids(self._store.read_here(lambda db: _without_recorded(ids, db)))
        if _is_database(path) or any(map(marks.ids.held, _lines(path))):
            return strange
        return strange.with_ids(NO_NEEDLES)

    def _is_index_of_kept(self, name: str, strange: Needles) -> bool:
        """Whether every word of an index where a fragment was met is a term of a row that stays.

        An index keeps terms in an order of its own, so that those of several rows come to stand side by side.
        """
        try:
            data = (self._store.folder / name).read_bytes()
        except FileNotFoundError:
            return True
        whole = np.frombuffer(data, "<u4", len(data) // TERM_BYTES)
        places = strange.places(data)
        words = [whole[at // TERM_BYTES : -(-(at + width) // TERM_BYTES)] for at, width in places]
        return bool(words) and bool(np.isin(np.concatenate(words), self._live_terms()).all())

    def _live_terms(self) -> NDArray[np.uint32]:
        rows, after, parts = self._rows, 0, [np.zeros(0, np.uint32)]
        while True:
            upto, hashes = self._store.read_here(lambda db, after=after: rows.terms_kept(db, after))
            if upto == after:
                return np.unique(np.concatenate(parts))
            self._go_on()
            parts.append(hashes)
            after = upto

    def in_database(self, looked: Looked) -> bool:
        """Whether something was found in the database or its log."""
        return any(self._name(path) in looked.found for path in self._store.files)

    def size(self) -> int:
        """Bytes of the database file."""
        return self._store.files[0].stat().st_size

    def _pages(self, but: Collection[int] = ()) -> Iterator[list[bytes]]:
        """The texts and the terms of all other paragraphs."""
        rows, after, gone = self._rows, 0, set(but)
        while page := self._store.read_here(lambda db, after=after: rows.texts_kept(db, after)):
            self._go_on()
            yield [raw for id_, raw in page if id_ not in gone]
            after = page[-1][0]

    def kept_beside(self, needles: Needles, targets: Targets, going: Going) -> Needles:
        """The needles without those that a page of rows holds which stay when the targets go.

        Pages count by themselves: this is for records, of which rather one too many is emptied.
        """
        for page in self._pages(targets.paragraphs):
            needles = without(needles, page)
        names = text_references.names_staying
        return self._store.read_here(lambda db: _without_all(needles, names(db, targets, going)))

    def _staying(self, needles: Needles) -> Gathering:
        """What rows that stay hold of the needles, all of them together: a file mixes the bytes of all rows."""
        found = Gathering(needles)
        for page in self._pages() if len(needles) else ():
            found.add(page)
        if len(needles):
            self._store.read_here(lambda db: self._names_added(db, found))
        return found

    def _names_added(self, db: Connection, found: Gathering) -> None:
        for names in _portions(self._rows.names_kept(db)):
            found.add(names)

    def strange(self, wanted: Sought) -> Sought:
        """The same without what rows that stay hold as well; new rows may come to hold more of it."""
        return replace(wanted, files=self._staying(wanted.files).missing)

    def mend_copies(
        self, copy: CopyErasing, wanted: Sought, complete: bool, done: dict[str, str], told: Callable[[int, int], None]
    ) -> None:
        """Erase the rows from every copy of the database in the directory; a damaged one that holds them is removed.

        So is an export of the graph that shows what is gone, and a file that waits to be imported and holds it. If not
        everything is known any more that is looked for (`complete`), copies and exports go whatever they hold, and files of
        others are named. `done` says of each file what was done about it, also if this is cut short.
        """
        touched: dict[Path, bool] = {}
        try:
            others = self._others()
            for number, path in enumerate(others):
                told(number, len(others))
                before, name = _written(path), self._name(path)
                what = self._mend(path, copy, wanted, complete) if before else ""
                if what:
                    done[name] = what
                if _written(path) != before:
                    touched[path.parent] = touched.get(path.parent, False) or bool(what)
        finally:
            self._reseal(touched)

    def _reseal(self, folders: Mapping[Path, bool]) -> None:
        """Let the manifests of backups say what is left, and whether something went; one that lost its database goes."""
        for folder, purged in folders.items():
            if not (folder / MANIFEST).exists():
                continue
            database = folder / self._store.files[0].name
            found = None
            if database.exists():
                with open_copy(database, unchanged=True) as db:
                    found = copy_rows.inventory(db)
            self._backups.reseal(folder, found, purged=purged)

    # one file

    def _mend(self, path: Path, copy: CopyErasing, wanted: Sought, complete: bool) -> str:
        """What was done about the file; empty if nothing had to be."""
        if _is_database(path) and (done := self._rewritten(path, copy, wanted, complete)) is not None:
            return "rewritten" if done else ""
        ours = path.name.startswith(OURS) or self._is_export(path) or self._is_staged(path)
        held = self._holds(path, wanted) or (
            self._is_export(path) and any(map(wanted.marks.in_export, _texts_of(path)))
        )
        if not held and (complete or path.name == SETTINGS):
            return ""
        if not ours or (self._is_staged(path) and not held):
            return LEFT if held else UNPROVED
        path.unlink(missing_ok=True)
        return "removed"

    def _is_export(self, path: Path) -> bool:
        return self._store.folder / EXPORTS in path.parents or is_portable(path)

    def _is_given(self, path: Path) -> bool:
        """Whether somebody may have put it there: it is neither the database nor an index nor a backup."""
        inner = self._store.folder / INDEXES in path.parents
        return not (inner or self._is_live(path) or path.name.startswith(OURS) or is_portable(path))

    def _is_staged(self, path: Path) -> bool:
        return self._store.folder.joinpath(*STAGED) in path.parents

    def _holds(self, path: Path, wanted: Sought) -> bool:
        needles = wanted.files
        found = self._strange(needles, needles.search(file_chunks(path)))
        if len(self._without_longer_ids(path, found, wanted.marks)):
            return True
        if self._is_given(path):
            respelled = self._strange(needles, needles.search(_respelled(path)))
            if len(self._without_longer_ids(path, respelled, wanted.marks)):
                return True
        return self._is_staged(path) and any(map(wanted.marks.ids.held, _lines(path)))

    def _rewritten(self, path: Path, copy: CopyErasing, wanted: Sought, complete: bool) -> bool | None:
        """Whether the file was written anew, without the rows and records; None if it is no sound copy of this database."""
        try:
            with open_copy(path) as db:
                if not self._is_copy(db):
                    return None
                if not (copy.erase(db, wanted, complete=complete) or not complete or self._holds(path, wanted)):
                    return False
                compaction.rewrite(db, path.stat().st_size)
                return True
        except DatabaseError:
            return None

    def _is_copy(self, db: Connection) -> bool:
        version = self._store.read_here(compaction.version)
        if compaction.version(db) != version:
            return False
        return change_log.get(db, "database_id") == self._store.database_id

    # which files

    def _readable(self) -> Iterator[tuple[Path, Iterator[bytes]]]:
        for path in self._store.files:
            if path.exists():
                yield path, self._store.raw_chunks(path)
        for path in self._all():
            if not self._is_live(path):
                yield path, file_chunks(path)

    def _all(self) -> list[Path]:
        """The files below the data directory, and those of this program's that were put elsewhere.

        The manifests of backups hold numbers and words of the program.
        """
        elsewhere = self._backups.elsewhere(self._store.database_id)
        found = (path for folder in (self._store.folder, *elsewhere) for path in folder.rglob("*"))
        files = {path for path in found if path.is_file() and not path.is_symlink()}
        files |= {path for path in self._backups.exports() if self._is_ours(path)}
        return sorted(path for path in files if not self._is_manifest(path))

    def _is_manifest(self, path: Path) -> bool:
        return path.name == MANIFEST and self._backups.holds(path)

    def _is_ours(self, path: Path) -> bool:
        """Whether a file outside is an export of this memory."""
        try:
            return is_portable(path) and header_of(path).database_id == self._store.database_id
        except InvalidRequest:
            return False

    def _is_live(self, path: Path) -> bool:
        """The database, its log and the table of contents of the log, which holds no text."""
        return (
            path.name.startswith(self._store.files[0].name)
            and path.parent == self._store.folder
            and (path.name.removeprefix(self._store.files[0].name) in ("", "-wal", "-shm"))
        )

    def _others(self) -> list[Path]:
        """Files that are neither the database nor an index."""
        indexes = self._store.folder / INDEXES
        return [
            path
            for path in self._all()
            if not (self._is_live(path) or indexes in path.parents)
            and not (path.parent == self._store.folder and path.name.startswith(OWN_NOTES))
        ]

    def _name(self, path: Path) -> str:
        """As a receipt says it: a file that was handed over goes by its id, for its own name may quote somebody."""
        if self._is_staged(path):
            path = path.parent
        inside = path.is_relative_to(self._store.folder)
        return path.relative_to(self._store.folder).as_posix() if inside else str(path)


def warnings_of(copies: Collection[Mapping[str, Any]], unread: Mapping[str, str]) -> list[str]:
    """What is left to whoever put the files there: the memory removes no file that is not its own."""
    held = [
        f"{copy['file']} holds what was erased and is no file of this program, which leaves it as it is: remove it yourself, "
        "or what is to go from it."
        for copy in copies
        if copy["done"] == LEFT
    ]
    unproved = [
        f"{copy['file']} may hold some of it: the program ended in the midst of this purge, and what it had erased before "
        "could not be looked for in this file any more. Look yourself whether it is to go."
        for copy in copies
        if copy["done"] == UNPROVED
    ]
    packed = [
        f"{name} could not be looked through ({how}): look yourself whether it is to go."
        for name, how in unread.items()
    ]
    return held + unproved + packed


def _written(path: Path) -> tuple[int, int] | None:
    """When the file was written, and its size; None if it is gone."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size


def _without_recorded(ids: Needles, db: Connection) -> Needles:
    """The ids that no record holds, not even within longer ones: those of the ids themselves are empty by now."""
    held = Gathering(ids)
    for table in QUOTING:
        held.add(record.raw.encode() for record in text_references.records(db, table, 0))
    return held.missing


def _without_all(needles: Needles, texts: Iterator[bytes]) -> Needles:
    for some in _portions(texts):
        needles = without(needles, some)
    return needles


def _portions(texts: Iterator[bytes]) -> Iterator[list[bytes]]:
    while some := list(islice(texts, PORTION)):
        yield some


def _lines(path: Path) -> Iterator[str]:
    """What a file says, line by line, and what it says in another encoding."""
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(PORTION):
            yield line
    yield from (piece.decode() for piece in _respelled(path))


def _respelled(path: Path) -> Iterator[bytes]:
    """What a text in another encoding than UTF-8 says."""
    yield from read_wide(path)
    if _is_gb18030(path):
        with path.open(encoding="gb18030", errors="replace") as file:
            while text := file.read(PORTION):
                yield text.encode("utf-8", "replace")


def _is_gb18030(path: Path) -> bool:
    """Not for what is no text: read as one, any bytes are Chinese words by chance."""
    try:
        return encoding_of(path) == "gb18030"
    except InvalidRequest:
        return False


def _texts_of(path: Path) -> Iterator[str]:
    """What the file says, line by line if it may be long; an XML attribute or text is read as it is meant."""
    if not is_portable(path):
        yield html.unescape(path.read_text("utf-8", errors="replace"))
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        yield from file


def _is_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE
