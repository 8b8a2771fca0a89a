"""What facades that keep something in PostgreSQL share: a connection that runs named statements, and the terms of a text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..extras import require
from ..language.normalise import tokens
from ..store.queries import queries

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["PostgresStatements", "terms_of"]

LONGEST_TERM = 200
"""Letters of a term that count: an index of the server takes no long ones."""


class PostgresStatements:
    """The statements of a folder, run on one connection, each by itself; a connection that was lost is made anew."""

    def __init__(self, address: str, folder: str, what: str) -> None:
        """`what` needs the extra `postgres`, for the error that says so."""
        require("postgres", what)
        self._address, self._folder = address, folder
        self._db: Connection | None = None

    @property
    def connection(self) -> Connection:
        """It is open."""
        import psycopg

        if self._db is None or self._db.closed:
            self._db = psycopg.connect(self._address, autocommit=True)
        return self._db

    def rows(self, name: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a statement answers."""
        cursor = self.connection.execute(queries((self._folder,))[name].encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def terms_of(text: str) -> list[str]:
    """The terms that a text is found by, each once."""
    return list(dict.fromkeys(term[:LONGEST_TERM] for term in tokens(text)))
