"""What subjects see of a database: a connection that runs statements by their name, and an index of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Connection", "Rows", "Unit", "VectorIndex"]

T = TypeVar("T")


class Rows(Protocol):
    """What a statement gives back: tuples, in the order of its columns."""

    @property
    def rowcount(self) -> int:
        """How many rows a writing statement touched."""
        ...

    @property
    def description(self) -> Any:
        """A tuple for each column that begins with its name."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any:
        """The next row, None after the last."""
        ...

    def fetchmany(self, size: int, /) -> list[Any]:
        """At most so many of the next rows."""
        ...

    def fetchall(self) -> list[Any]:
        """Every row that is left."""
        ...


class Connection(Protocol):
    """A connection within a transaction that others begin and end. Its statements stand in `.sql` files."""

    @property
    def total_changes(self) -> int:
        """Rows that were written through it so far."""
        ...

    def run(self, name: str, /, **values: Any) -> Rows:
        """Run the statement of this name with these values for its parameters."""
        ...

    def run_many(self, name: str, rows: Iterable[Mapping[str, Any]], /) -> Rows:
        """Run the statement of this name once for each row of values."""
        ...


class VectorIndex(Protocol):
    """Unit vectors by id, compared by cosine. A query has shape (dimension,) and any length."""

    def search(
        self, query: NDArray[np.float32], k: int, allow: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The `k` nearest as (ids, cosines), best first; `allow` restricts to these ascending ids, an empty one to none."""
        ...

    def scores(self, query: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosine of each id's vector, NaN where there is none."""
        ...

    def background(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines with a sample of all vectors: what the query has in common with anything."""
        ...


Unit = Callable[[Connection], T]
"""A unit of work: one function that runs whole on one thread, in one transaction."""
