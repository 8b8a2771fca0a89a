"""Our own files during a purge: copies of the database written anew without the rows, every file searched for what went."""

from __future__ import annotations

import csv
import html
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..copies.age_files import AGE
from ..copies.backup_folder import MANIFEST, BackupFolder
from ..copies.portable_file import header_of, is_portable
from ..errors import InvalidRequest, NotReady
from ..importing.readers.csv_table import COLUMNS
from ..importing.roots import ALIASES, IMPORTS, STAGING
from ..language.encoding import encoding_of
from ..store import changes as change_log
from ..store import compaction
from ..store import copies as copy_rows
from ..store import operations as operation_rows
from ..store.cipher_pages import in_clear
from ..store.compaction import file_chunks, one_transaction, open_copy
from ..store.data_directory import FileKind, kind_of
from ..store.keys import Keyring, is_plain
from ..store.metadata_store import MetadataStore
from ..store.migrations import build
from ..store.operations import row_ids
from ..store.ports import Connection
from ..store.queries import DatabaseError, SqliteConnection, array
from ..store.records import MovedRow
from ..store.sealed_files import is_sealed, key_of, opened_chunks
from . import erasure, journals
from .byte_search import Patterns
from .erasure import Targets
from .journals import JOURNALS, NO_OPERATION, ImportNote, SearchPatterns

__all__ = ["LEFT", "UNPROVED", "CopyErasure", "Looked", "PurgeFiles", "purge_again", "warnings_of"]

LOST_KEY = "encrypted with a key that this memory does not have"
PORTION = 1 << 18
LEFT = "left: it is not a file of this program"
UNPROVED = "left: what had been erased before an interruption could not be looked for in it"
NEVER_TOUCHED = (FileKind.KEYS, FileKind.NOTE, FileKind.PURGE, FileKind.INDEX)
"""What a purge neither writes anew nor removes: keys belong to the keyring, indexes follow the rows by themselves."""
OURS = (FileKind.DATABASE, FileKind.SETTINGS, FileKind.EXPORT, FileKind.STAGED)
"""What a purge removes where it has looked into it and something was there."""
_UNREAD = (
    (b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"), (b"PAR1", "Parquet"), (b"\xff\xfe\0\0", "UTF-32"),
    (AGE, "age"), (b"\0\0\xfe\xff", "UTF-32"), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"),
)  # fmt: skip
"""First bytes of files that do not show what they say."""
RECORDS = {"delete_operations": "id", "delete_operation_items": "operation"}
"""Tables of what was purged, and the column that holds the operation."""
TABLES, DELIMITERS = (".csv", ".tsv"), (",", "\t", ";", "|")
"""How the names of tables end, and what parts the fields of a line of one."""
STEP = 10_000
"""Rows erased from a copy in one statement."""


@dataclass(frozen=True, slots=True)
class CopyErasure:
    """What goes from every copy, whether it is marked there or not; of `persons` and `chats` nothing is left."""

    targets: Targets
    persons: Collection[int]
    chats: Collection[int] = ()

    def erase(self, db: SqliteConnection, wanted: SearchPatterns, *, complete: bool = False) -> tuple[int, int]:
        """Erase and empty journals in one transaction; returns (rows, records) that went.

        What a record may quote is read from the copy itself, for the memory that was purged may not know it any more;
        with `complete`, `wanted` knows the texts of all paragraphs that go.
        """
        with one_transaction(db):
            records = self._empty_journals(db, wanted, complete)
            rows = sum(operation_rows.take_out(db, MovedRow(kind, 0, row)) for kind, row in wanted.moved)
            rows += erasure.erase_known_of(db, self.persons, self.chats)
            units = erasure.erasing(self.targets, STEP, force=True)
            return rows + sum(unit(db).counts.total() for unit in units), records

    def _empty_journals(self, db: SqliteConnection, wanted: SearchPatterns, complete: bool) -> int:
        whole = replace(self.targets, persons=tuple(self.persons))
        vanishing = journals.vanishing_with(db, whole)
        own = journals.patterns_of(db, replace(whole, paragraphs=()) if complete else whole, vanishing)
        names = list(journals.names_staying(db, whole, vanishing))
        both = [one.without(erasure.held(db, one.quotes, names, but=whole.paragraphs)) for one in (wanted, own)]
        done = 0
        for table in JOURNALS:
            keys = {
                key for one in both
                for key in journals.to_empty(db, table, NO_OPERATION, self.targets, vanishing, one)
            }  # fmt: skip
            done += journals.empty(db, table, keys) if keys else 0
        done += sum(journals.forget(db, self.targets).values())
        for one in both:
            for table, ids in journals.asked_by(db, one).items():
                journals.unname(db, table, ids)
                done += len(ids)
        return done


def purge_again(memory: Path, copy: Path, keys: Keyring | None) -> int:
    """Erase from the copy what has been purged from the memory, and take over the records of it; returns how many rows.

    What came back to life since stays. Both are database files that nobody has open. Blocking.
    """
    with open_copy(memory, keys, unchanged=True) as db:
        purged = frozenset(row[0] for row in db.run("operations_purged"))
        items = [item for operation in purged for item in operation_rows.open_items(db, operation)]
        imports = {
            file for operation in purged for file in operation_rows.operation(db, operation).receipt.get("imports", ())
        }
        asked = Targets.of(dict.fromkeys((item.kind, item.id) for item in items))
        gone, persons, _ = erasure.gone_of(db, asked)
        paragraphs = tuple(row_ids(db, "paragraphs_gone", asked.paragraphs))
        gone = replace(gone, paragraphs=paragraphs, refs=(), imports=tuple(imports))
        columns = {table: copy_rows.tables(db)[table] for table in RECORDS}
        records = {
            table: [
                row for row in copy_rows.rows(db, table, columns[table]) if row[columns[table].index(key)] in purged
            ]
            for table, key in RECORDS.items()
        }
    if not purged:
        return 0
    with open_copy(copy, keys) as db:
        with one_transaction(db):
            db.run("operations_forget", ids=array(purged))
            for table, found in records.items():
                copy_rows.write(db, table, columns[table], found)
        rows, emptied = CopyErasure(gone, persons).erase(db, SearchPatterns())
        if rows + emptied:
            compaction.rewrite(db, copy.stat().st_size)
    return rows


@dataclass(slots=True)
class Looked:
    """What a search of the files came to; `found` counts patterns by file."""

    files: int = 0
    bytes: int = 0
    found: dict[str, int] = field(default_factory=dict[str, int])
    held_elsewhere: int = 0
    unread: dict[str, str] = field(default_factory=dict[str, str])
    """Files that cannot be read as they are, and how they are packed."""


class PurgeFiles:
    """Searches every file below the data directory; everything here is blocking."""

    def __init__(self, store: MetadataStore, backups: BackupFolder) -> None:
        self._store = store
        self._backups = backups
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End what is under way as soon as may be."""
        self._stopping.set()

    def watched(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The chunks. Raises NotReady when the memory is being closed."""
        for chunk in chunks:
            if self._stopping.is_set():
                raise NotReady("The memory is being closed; the purge goes on when it is opened.")
            yield chunk

    def look(self, patterns: Patterns, rewritten: Collection[str]) -> Looked:
        """Search every file for the patterns; what rows that stay hold too is counted apart.

        `rewritten` names the databases that were written anew. Such a file holds the values of its rows and nothing else,
        so that what no value holds stands there by chance, where two values meet.
        """
        looked, met = Looked(), dict[Path, set[bytes]]()
        for path in (*(path for path in self._store.files if path.exists()), *self._all()):
            if self._kind(path) == FileKind.PURGE:
                continue  # it holds all that is looked for, and goes with the end of the purge
            try:
                found = patterns.search(self._counted(path, looked))
                unread = "" if found else self._packed_as(path)
            except ValueError as exc:
                found, unread = set[bytes](), str(exc)
            except FileNotFoundError:
                continue
            looked.files += 1
            if found:
                met[path] = found
            if unread:
                looked.unread[self._name(path)] = unread
        staying = self._staying(patterns.only(set().union(*met.values())))
        for path, found in met.items():
            left, name = found - staying, self._name(path)
            if left and name in rewritten:
                left = self._in_values(path, patterns.only(left))
            looked.held_elsewhere += len(found) - len(left)
            if left:
                looked.found[name] = len(left)
        return looked

    def _counted(self, path: Path, looked: Looked) -> Iterator[bytes]:
        for chunk in self._chunks(path):
            looked.bytes += len(chunk)
            yield chunk

    def _in_values(self, path: Path, patterns: Patterns) -> set[bytes]:
        """What the rows of a database hold that do not stay."""

        def read(db: Connection) -> set[bytes]:
            found = patterns.search(self.watched(erasure.joined(erasure.values(db))))
            return found - erasure.held(db, patterns.only(found))

        if self._is_live(path):
            return self._store.read_here(read)
        with open_copy(path, self._store.keys, unchanged=True) as db:
            return read(db)

    def _staying(self, patterns: Patterns) -> set[bytes]:
        return self._store.read_here(lambda db: erasure.held(db, patterns)) if len(patterns) else set()

    def mend_copies(
        self, copy: CopyErasure, wanted: SearchPatterns, complete: bool, done: dict[str, str],
        told: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        """Erase the rows from every copy of the database in the directory; a damaged one that holds them is removed.

        So is an export of the graph that shows what is gone, and a file that waits to be imported and holds it. If not
        everything is known any more that is looked for (`complete`), what cannot be proved to hold nothing is named and left.
        `done` says of each file what was done about it, also if this is cut short.
        """
        touched: dict[Path, bool] = {}
        try:
            others = [path for path in self._all() if self._kind(path) not in NEVER_TOUCHED]
            for number, path in enumerate(others):
                told(number, len(others))
                before, name = _written(path), self._name(path)
                if what := self._mend(path, copy, wanted, complete) if before else "":
                    done[name] = what
                if _written(path) != before:
                    touched[path.parent] = touched.get(path.parent, False) or bool(what)
        finally:
            for folder, purged in touched.items():
                self._reseal(folder, purged)

    def _reseal(self, folder: Path, purged: bool) -> None:
        """Let the manifest of a backup say what is left, and whether something went."""
        if not (folder / MANIFEST).exists():
            return
        database, found = folder / self._store.files[0].name, None
        if database.exists():
            with open_copy(database, self._store.keys, unchanged=True) as db:
                found = copy_rows.inventory(db)
        self._backups.reseal(folder, found, purged=purged)

    def _mend(self, path: Path, copy: CopyErasure, wanted: SearchPatterns, complete: bool) -> str:
        """What was done about the file; empty if nothing had to be."""
        if self._is_database(path) and (done := self._rewritten(path, copy, wanted, complete)) is not None:
            return "rewritten" if done else ""
        if self._is_locked(path):
            return ""  # it is named among those that could not be looked through
        kind = FileKind.EXPORT if is_portable(path) else self._kind(path)
        held = (
            self._tells_of(path, wanted) if self._store.folder / IMPORTS in path.parents else self._holds(path, wanted)
        )
        if kind == FileKind.EXPORT and not held:
            texts = (html.unescape(chunk.decode(errors="replace")) for chunk in _lines(self._chunks(path)))
            held = any(map(wanted.marks.in_export, texts))
        if not held:
            return "" if complete or kind == FileKind.SETTINGS else UNPROVED
        if kind not in OURS:
            return LEFT
        path.unlink(missing_ok=True)
        return "removed"

    def _holds(self, path: Path, wanted: SearchPatterns) -> bool:
        found = wanted.files.search(self._chunks(path))
        return bool(found - self._staying(wanted.files.only(found)))

    def _tells_of(
        self, path: Path, wanted: SearchPatterns, columns: Mapping[str, str] | None = None, *, speakers: bool = False
    ) -> bool:
        """Whether a file that is to be imported, or was, speaks of what goes; by ids of any length in the fields for them.

        `columns`: headings of a table by what they mean, where an import said so; `speakers`: by names of any length as well.
        """
        if self._holds(path, wanted):
            return True
        ids, is_table = wanted.marks.ids, path.suffix.lower() in TABLES
        meanings = {heading: meaning for meaning, headings in COLUMNS.items() for heading in headings}
        meanings |= {heading.lower(): meaning for meaning, heading in (columns or {}).items()}

        def named(fields: Iterable[tuple[str, str]]) -> bool:
            found = list(fields)
            said_by = (value for key, value in found if speakers and meanings.get(key.lower(), key) == "speaker")
            return ids.among(found) or any(map(wanted.marks.persons.held, said_by))

        fields, delimiter = list[str](), ""
        for text in (chunk.decode(errors="replace") for chunk in _lines(self._chunks(path))):
            if ids.held(text) or named(journals.fields_in(text)):
                return True
            with suppress(csv.Error):  # it is no table, whatever it is called
                if is_table and not delimiter:
                    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
                for row in csv.reader(text.splitlines(), delimiter=delimiter) if is_table else ():
                    if not fields:
                        fields = [meanings.get(name.strip("\ufeff ").lower(), "") for name in row]
                    elif named((field, cell.strip()) for field, cell in zip(fields, row, strict=False)):
                        return True
        return False

    def imports_about(
        self, wanted: SearchPatterns, notes: Collection[ImportNote], targets: Targets, known: Collection[int]
    ) -> tuple[list[ImportNote], list[Path]]:
        """(imports that were to bring what goes, files of theirs that were handed over).

        One is, if it was `known` before an interruption, says so, or its file tells of it. Of one whose file is gone, and that named no chat, nobody can tell any
        more: it counts too where a chat or a person goes.
        """
        found, staged = list[ImportNote](), set[Path]()
        for note in notes:
            if self._stopping.is_set():
                raise NotReady("The memory is being closed; the purge goes on when it is opened.")
            place = self._place(note)
            if note.id in known or wanted.marks.ids.among(journals.leaves(note.params)):
                about = True
            elif note.named_chat and note.params.get("scope_type") == "chat":
                about = False
            elif place is not None:
                about = self._tells_of(place, wanted, note.params.get("columns"), speakers=bool(targets.persons))
            else:
                about = bool(targets.chats or targets.persons) and not note.named_chat
            if about:
                found.append(note)
                if note.root == STAGING and place:
                    staged.add(place)
        return found, sorted(staged)

    def _place(self, note: ImportNote) -> Path | None:
        """Where the file of an import is; None if it is gone, or is none."""
        home = self._store.folder / IMPORTS
        folder = home / ALIASES.get(note.root, note.root)
        if not note.path or not folder.is_absolute():
            return None
        place = folder / note.path
        with suppress(OSError, ValueError):
            if place.is_file() and not place.is_symlink():
                return place
        return None

    def remove_staged(self, places: Collection[Path]) -> dict[str, str]:
        """Remove files that were handed over; what was done, by their names in a receipt."""
        names = {self._name(path): "removed" for path in places}
        for path in places:
            path.unlink(missing_ok=True)
        return names

    def _rewritten(self, path: Path, copy: CopyErasure, wanted: SearchPatterns, complete: bool) -> bool | None:
        """Whether the file was written anew, without the rows and records; None if it is no sound copy of this database."""
        version = self._store.read_here(compaction.version)
        try:
            with open_copy(path, self._store.keys) as db:
                held = compaction.version(db)
                if held > version or change_log.get(db, "database_id") != self._store.database_id:
                    return None
                if held < version:
                    if complete and not self._holds(path, wanted):
                        return False
                    build(db, version)  # what goes is told by statements for the schema of this program
                if not any(copy.erase(db, wanted, complete=complete)) and complete and not self._holds(path, wanted):
                    return False
                compaction.rewrite(db, path.stat().st_size)
                return True
        except DatabaseError:
            return None

    # which files

    def _all(self) -> list[Path]:
        """The files below the data directory but the database, and those of this program's that were put elsewhere.

        The manifests of backups hold numbers and words of the program.
        """
        elsewhere = self._backups.elsewhere(self._store.database_id)
        found = (path for folder in (self._store.folder, *elsewhere) for path in folder.rglob("*"))
        files = {path for path in found if path.is_file() and not path.is_symlink() and not self._is_live(path)}
        files |= {path for path in self._backups.exports() if self._is_own_export(path)}
        return sorted(path for path in files if not (path.name == MANIFEST and self._backups.holds(path)))

    def _is_own_export(self, path: Path) -> bool:
        try:
            return is_portable(path) and header_of(path).database_id == self._store.database_id
        except InvalidRequest:
            return False

    def _kind(self, path: Path) -> FileKind:
        return kind_of(self._store.folder, path)

    def _is_live(self, path: Path) -> bool:
        return self._kind(path) == FileKind.LIVE

    def _is_given(self, path: Path) -> bool:
        """Whether somebody may have put it there: it is neither the database nor an index nor a backup."""
        given = self._kind(path) in (FileKind.UNKNOWN, FileKind.EXPORT, FileKind.STAGED)
        return given and not is_portable(path)

    def _is_locked(self, path: Path) -> bool:
        """Whether a file of ours is encrypted with a key that is not there."""
        keys = self._store.keys
        if is_sealed(path):
            return keys is None or key_of(path, keys) is None
        copy = self._kind(path) == FileKind.DATABASE and not path.name.endswith(("-wal", "-shm", "-journal"))
        encrypted = copy and path.stat().st_size > 0 and not is_plain(path)
        return encrypted and (keys is None or keys.fitting(path) is None)

    def _chunks(self, path: Path) -> Iterator[bytes]:
        """The bytes of a file; of a text in GB 18030, as it may be imported, the same text in UTF-8."""
        keys = self._store.keys
        if self._is_live(path):
            chunks = self._store.raw_chunks(path)
            if keys:
                chunks = in_clear(chunks, keys.current.pages, log=path.name.endswith("-wal"))
            return self.watched(chunks)
        if keys and is_sealed(path):
            return self.watched(opened_chunks(path, keys))
        log = path.name.endswith("-wal")
        if keys and (key := keys.fitting(path.with_name(path.name.removesuffix("-wal")))):
            return self.watched(in_clear(file_chunks(path), key.pages, log=log))
        if self._is_given(path):
            with suppress(InvalidRequest):
                if encoding_of(path) == "gb18030":
                    return self.watched(_recoded(path))
        return self.watched(file_chunks(path))

    def _packed_as(self, path: Path) -> str:
        """How a file is packed that does not show what it says; empty for any other."""
        if self._is_given(path):
            with path.open("rb") as file:
                head = file.read(len(AGE))
            return next((how for mark, how in _UNREAD if head.startswith(mark)), "")
        return LOST_KEY if not self._is_live(path) and self._is_locked(path) else ""

    def _is_database(self, path: Path) -> bool:
        return is_plain(path) or bool(self._store.keys and self._store.keys.fitting(path))

    def _name(self, path: Path) -> str:
        """As a receipt says it: a file that was handed over goes by its id, for its own name may quote somebody."""
        if self._kind(path) == FileKind.STAGED:
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


def _recoded(path: Path) -> Iterator[bytes]:
    with path.open(encoding="gb18030", errors="replace") as file:
        while text := file.read(PORTION):
            yield text.encode("utf-8", "replace")


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, many at a time."""
    rest = b""
    for chunk in chunks:
        whole, end, rest = (rest + chunk).rpartition(b"\n")
        yield whole + end
    yield rest
