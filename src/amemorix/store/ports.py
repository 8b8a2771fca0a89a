"""What subjects see of a database: a connection that runs statements by their name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeVar

__all__ = ["Connection", "Rows", "Unit"]

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


Unit = Callable[[Connection], T]
"""A unit of work: one function that runs whole on one thread, in one transaction."""
