"""Indexes that follow the change log: each one alone, and those of one store opened, followed and saved together."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from ..lazy_regex import lazy_regex
from ..ports import Index
from ..store import changes as change_log
from ..store.keys import Keyring
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection, VectorIndex
from ..store.queries import array
from ..store.rows import embeddings as embedding_rows
from ..store.sealed_files import folder_of, key_of
from . import snapshot
from .columns import ColumnRow, ParagraphColumns
from .graph.store import EdgeRow, GraphStore
from .name_directory import NameDirectory, PersonRow
from .sparse.bm25 import SparseBM25Index, TermRow
from .vectors.store import QuantizationType, VectorRow, VectorStore

__all__ = ["Indexes", "Projection", "SearchIndexes"]

I = TypeVar("I", bound=Index)  # noqa: E741
log = logging.getLogger(__name__)
STEP = 4_000
"""Changes taken up at a time, so that a search never waits long behind the background."""
CHUNK, BREATH_SECONDS = 500, 0.001
"""Rows read at a time for an index that is made anew, and the pause after them: the event loop and searches go first."""
VECTOR_FOLDERS = ("vectors-", "relations-")
"""What the folders of a generation begin with; its number follows."""
_WORKING = lazy_regex(r"working-[0-9a-f-]+\.sqlite3(?:-wal|-shm|-journal)?")
"""Files that 0.1.0 kept the lexical index in."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows of one index: their kinds in the change log, and how to read all of them or some."""

    kinds: tuple[str, ...]
    query: str
    make: Callable[..., Any]
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    usable: Callable[[Any], bool] | None = None
    """Rows that are not are passed over, so that one that was damaged takes no others with it; a check tells of them."""

    def rows(self, db: Connection) -> Iterator[Any]:
        """Every row that the index should hold."""
        made = self._made(db)
        return filter(self.usable, made) if self.usable else made

    def _made(self, db: Connection) -> Iterator[Any]:
        cursor = db.run(self.query, **self.values)
        while rows := cursor.fetchmany(CHUNK):
            yield from (self.make(*row) for row in rows)
            time.sleep(BREATH_SECONDS)

    def rows_of(self, db: Connection, ids: Iterable[int]) -> Sequence[Any]:
        """Those of the ids that the index should hold."""
        made = [self.make(*row) for row in db.run(f"{self.query}_of", ids=array(ids), **self.values)]
        return [*filter(self.usable, made)] if self.usable else made


def _person(row: int, person_id: str, name: str, names: str) -> PersonRow:
    met: dict[str, set[int]] = {}
    for chat, called in json.loads(names):
        met.setdefault(called, set()).add(chat)
    return PersonRow(row, person_id, name, tuple((called, frozenset(chats)) for called, chats in met.items()))


class Projection(Generic[I]):
    """Keeps an index equal to its rows.

    The index is a pure function of the rows up to `cursor`. A snapshot is taken up only if its fingerprint fits and
    `floor <= cursor <= last` holds in the change log; otherwise the index is made anew. Of several threads that catch
    up, each with its own view of the database, the one that sees most wins: the row decides what may be seen.
    """

    def __init__(
        self, index: I, feed: Feed, *, database_id: str, home: Path | None, keys: Keyring | None = None
    ) -> None:
        self.index = index
        self._feed = feed
        self._database_id = database_id
        self._home = home
        self._keys = keys
        self._lock = threading.Lock()
        self._upkeep = threading.Lock()
        self.saved: int | None = None
        """How far the snapshot on disk reads; None if there is none, or none is kept."""
        self.cursor: int | None = None

    @property
    def name(self) -> str:
        """The index's name."""
        return self.index.name

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
                self.cursor = self.saved = None
        if not self.catch_up(db) and loaded:
            return "loaded"
        self._discard()
        return "rebuilt"

    def _load(self) -> bool:
        pointer = snapshot.read_pointer(self._home) if self._home else None
        if self._home is None or pointer is None:
            return False
        if (pointer.fingerprint, pointer.database_id) != (self.index.fingerprint, self._database_id):
            log.warning("%s: the snapshot is of another database or format; building from the rows", self.name)
            return False
        try:
            folder = snapshot.verified_folder(self._home, pointer)
            self.index.load(folder_of(folder, self._keys))
        except (OSError, ValueError) as exc:
            log.warning("%s: the snapshot cannot be used (%s); building from the rows", self.name, exc)
            return False
        self.cursor = self.saved = pointer.cursor
        if self._keys and any(key_of(folder / name, self._keys) != self._keys.current for name in pointer.files):
            self.saved = None  # of a key that was retired: it is written anew
        return True

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
                elif self.cursor < last:
                    upto = min(last, self.cursor + STEP)
                    if ids := change_log.between(db, self.cursor, upto, self._feed.kinds):
                        rows = self._feed.rows_of(db, ids)
                        held = {row.id for row in rows}
                        self.index.apply(rows, [id_ for id_ in ids if id_ not in held])
                    self.cursor = upto
        return rebuilt

    def renew(self, db: Connection) -> None:
        """Build the index from the rows, whatever it holds."""
        with self._lock:
            self._rebuild(db, change_log.bounds(db)[1])
            self._discard()

    def _discard(self) -> None:
        if self._home is not None:
            snapshot.discard(self._home)
            self.saved = None

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
            if self._home is None or cursor is None or cursor == self.saved:
                return False
            folder = snapshot.begin(self._home)
            try:
                self.index.save(folder_of(folder, self._keys))
                snapshot.publish(
                    self._home, folder, cursor=cursor, fingerprint=self.index.fingerprint, database_id=self._database_id
                )
            except FileNotFoundError:
                log.info("%s: the rows behind the snapshot went while it was written", self.name)
                return False
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            self.saved = cursor
        return True

    def _rebuild(self, db: Connection, last: int) -> None:
        self.index.build(self.rows(db))
        self.cursor = last


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """What a search asks; the indexes of vectors are None while no embedding model answers."""

    sparse: SparseBM25Index
    columns: ParagraphColumns
    graph: GraphStore
    vectors: VectorIndex | None
    relations: VectorIndex | None
    """Vectors of relations, of the same generation."""
    last_change: int
    """The last change that the connection sees."""


class Indexes:
    """Sparse, column, graph and name projections, and two of vectors for each generation in use: of paragraphs, of relations."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._home = store.folder / "indexes"
        self._vectors: dict[int, tuple[Projection[VectorStore], Projection[VectorStore]]] = {}
        self._lock = threading.Lock()
        self.sparse = self._projection(
            SparseBM25Index(), Feed(("paragraph",), "term_rows", TermRow), self._home / "sparse"
        )
        self.columns = self._projection(
            ParagraphColumns(), Feed(("paragraph",), "column_rows", ColumnRow), self._home / "columns"
        )
        self.graph = self._projection(GraphStore(), Feed(("relation",), "edge_rows", EdgeRow), self._home / "graph")
        self.names = self._projection(NameDirectory(), Feed(("person",), "person_rows", _person), None)

    def open(self) -> None:
        """Load or rebuild everything but vectors. Files of vectors that are gone go too, and those of the lexical index
        that 0.1.0 kept in SQLite."""
        for working in self._home.glob("working-*.sqlite3*"):
            if _WORKING.fullmatch(working.name):
                working.unlink(missing_ok=True)
        self._remove_vectors(self._strays(self._store.read_here(embedding_rows.ids)))

        def open_each(db: Connection) -> None:
            for projection in (self.names, self.graph, self.columns, self.sparse):
                rebuilt = projection.open(db) == "rebuilt"
                if rebuilt and projection.keeps_snapshot and len(projection.index):
                    log.info("the %s index was built from the rows", projection.name)

        self._store.read_here(open_each)

    def vectors(self, generation: int, dimension: int, quantization: str) -> Projection[VectorStore]:
        """The paragraphs' projection of a generation, opened with that of its relations when it is first asked for."""

        def usable(row: VectorRow) -> bool:
            return len(row.vector) == 2 * dimension and bool(np.isfinite(np.frombuffer(row.vector, "<f2")).all())

        def opened(name: str, kinds: tuple[str, ...], query: str) -> Projection[VectorStore]:
            store = VectorStore(dimension, QuantizationType(quantization), f"generation-{generation}", name=name)
            feed = Feed(kinds, query, VectorRow, {"generation": generation}, usable)
            projection = self._projection(store, feed, self._home / f"{name}-{generation}")
            self._store.read_here(projection.open)
            return projection

        with self._lock:
            if generation not in self._vectors:
                paragraphs = opened("vectors", ("paragraph", "embedding"), "vector_rows")
                relations = opened("relations", ("relation", "relation_embedding"), "relation_vector_rows")
                self._vectors = {**self._vectors, generation: (paragraphs, relations)}
            return self._vectors[generation][0]

    def forget_vectors(self, keep: set[int], gone: Iterable[int]) -> None:
        """Let go of the projections of generations that are not used, and of the files of those that are gone."""
        with self._lock:
            self._vectors = {id_: held for id_, held in self._vectors.items() if id_ in keep}
            self._remove_vectors(gone)

    def _strays(self, known: set[int]) -> list[int]:
        """Generations that have files and are not among these."""
        names = (path.name.removeprefix(kind) for kind in VECTOR_FOLDERS for path in self._home.glob(f"{kind}*"))
        return [int(name) for name in names if name.isdecimal() and int(name) not in known]

    def _remove_vectors(self, generations: Iterable[int]) -> None:
        for generation in generations:
            for kind in VECTOR_FOLDERS:
                snapshot.remove(self._home / f"{kind}{generation}")

    def caught_up(self, db: Connection, vectors: Projection[VectorStore] | None = None) -> SearchIndexes:
        """The indexes as the connection sees the rows; those of vectors for the generation whose paragraphs are given."""
        relations = next((beside for held, beside in self._vectors.values() if held is vectors), None)
        bounds = change_log.bounds(db)
        for projection in (self.names, self.sparse, self.columns, self.graph, vectors, relations):
            if projection is not None:
                projection.catch_up(db, bounds)
        return SearchIndexes(
            self.sparse.index,
            self.columns.index,
            self.graph.index,
            vectors.index if vectors else None,
            relations.index if relations else None,
            bounds[1],
        )

    def __iter__(self) -> Iterator[Projection]:
        with self._lock:
            return iter(
                [self.sparse, self.columns, self.graph, self.names, *chain.from_iterable(self._vectors.values())]
            )

    def follow(self) -> None:
        """Catch up with the change log and merge what has accumulated; on a background thread."""
        for projection in self:
            self._store.right_of_way.give_way()
            self._store.read_here(projection.catch_up)
            self._store.right_of_way.give_way()
            projection.tidy()

    def save(self) -> list[str]:
        """Write the snapshots that are out of date; names them."""
        return [projection.name for projection in self if projection.save()]

    def remove_unused(self) -> None:
        """Remove the files of generations that nothing uses: they are made anew from the rows when they are wanted."""
        with self._lock:
            used = set(self._vectors)
        self._remove_vectors(self._strays(used))

    def sweep(self) -> None:
        """Remove what is left of snapshots that were replaced, of any kernel of this process as well."""
        for home in self._home.glob("*/"):
            snapshot.sweep(home)

    def lag(self, db: Connection) -> dict[str, int]:
        """Changes that each projection has not taken up yet."""
        return {projection.name: projection.lag(db) for projection in self}

    def _projection(self, index: I, feed: Feed, home: Path | None) -> Projection[I]:
        return Projection(index, feed, database_id=self._store.history, home=home, keys=self._store.keys)
