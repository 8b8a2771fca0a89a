"""The projections of one store, opened, followed and saved together."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..ports import Index, SparseIndex
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection, VectorIndex
from ..store.rows import embeddings as embedding_rows
from . import projection_queries as feeds
from . import snapshot
from .graph.store import GraphStore
from .name_directory import NameDirectory
from .projection import Projection
from .sparse.bm25 import SparseBM25Index
from .vectors.store import QuantizationType, VectorStore

__all__ = ["Indexes", "SearchIndexes"]


@dataclass(frozen=True, slots=True)
class SearchIndexes:
    """What a search asks; the indexes of vectors are None while no embedding model answers."""

    sparse: SparseIndex
    graph: GraphStore
    vectors: VectorIndex | None
    relations: VectorIndex | None = None
    """Vectors of relations, of the same generation."""


I = TypeVar("I", bound=Index)  # noqa: E741
VECTOR_FOLDERS = ("vectors-", "relations-")
"""What the folders of a generation begin with; its number follows."""


@dataclass(frozen=True, slots=True)
class _Vectors:
    """What one generation holds."""

    paragraphs: Projection[VectorStore]
    relations: Projection[VectorStore]


class Indexes:
    """Sparse, graph and name projections, and two of vectors for each generation in use: of paragraphs, of relations."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._home = store.folder / "indexes"
        self._vectors: dict[int, _Vectors] = {}
        self._lock = threading.Lock()
        self.sparse = self._projection(SparseBM25Index(), feeds.terms(), self._home / "sparse")
        self.graph = self._projection(GraphStore(), feeds.edges(), self._home / "graph")
        self.names = self._projection(NameDirectory(), feeds.persons(), None)

    def open(self) -> dict[str, str]:
        """Load or rebuild everything but vectors; says how each was had. Files of vectors that are gone go too, and those
        of the lexical index that 0.1.0 kept in SQLite."""
        for working in self._home.glob("working-*.sqlite3*"):
            working.unlink(missing_ok=True)
        self._remove_vectors(self._strays(self._store.read_here(embedding_rows.ids)))
        return self._store.read_here(lambda db: {p.name: p.open(db) for p in (self.names, self.graph, self.sparse)})

    def vectors(self, generation: int, dimension: int, quantization: str) -> Projection[VectorStore]:
        """The paragraphs' projection of a generation, opened with that of its relations when it is first asked for."""
        with self._lock:
            known = self._vectors.get(generation)
            if known is None:
                known = self._opened(generation, dimension, QuantizationType(quantization))
                self._vectors = {**self._vectors, generation: known}
            return known.paragraphs

    def _opened(self, generation: int, dimension: int, quantization: QuantizationType) -> _Vectors:
        def opened(name: str, feed: feeds.Feed) -> Projection[VectorStore]:
            store = VectorStore(dimension, quantization, f"generation-{generation}", name=name)
            projection = self._projection(store, feed, self._home / f"{name}-{generation}")
            self._store.read_here(projection.open)
            return projection

        return _Vectors(
            opened("vectors", feeds.vectors(generation, dimension)),
            opened("relations", feeds.relation_vectors(generation, dimension)),
        )

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
                shutil.rmtree(self._home / f"{kind}{generation}", ignore_errors=True)

    def caught_up(self, db: Connection, vectors: Projection[VectorStore] | None = None) -> SearchIndexes:
        """The indexes as the connection sees the rows; those of vectors for the generation whose paragraphs are given."""
        held = next((one for one in self._vectors.values() if one.paragraphs is vectors), None)
        relations = held.relations if held else None
        bounds = change_log.bounds(db)
        for projection in (self.sparse, self.graph, vectors, relations):
            if projection is not None:
                projection.catch_up(db, bounds)
        return SearchIndexes(
            self.sparse.index,
            self.graph.index,
            vectors.index if vectors else None,
            relations.index if relations else None,
        )

    def __iter__(self) -> Iterator[Projection]:
        with self._lock:
            of_vectors = [one for held in self._vectors.values() for one in (held.paragraphs, held.relations)]
            return iter([self.sparse, self.graph, self.names, *of_vectors])

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

    def safe_to_prune(self) -> int:
        """The change up to which every snapshot on disk reads."""
        return min((p.saved_cursor or 0 for p in self if p.keeps_snapshot), default=0)

    def _projection(self, index: I, feed: feeds.Feed, home: Path | None) -> Projection[I]:
        return Projection(index, feed, database_id=self._store.history, home=home)
