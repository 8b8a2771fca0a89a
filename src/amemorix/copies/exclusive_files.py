"""Whose turn it is to work on the files of a memory: one after the other, and nobody beside an exchange of the rows."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from ..errors import Conflict
from ..store.metadata_store import MetadataStore

__all__ = ["exchanging_files", "must_not_be_exchanged", "using_files"]


@asynccontextmanager
async def using_files(store: MetadataStore) -> AsyncGenerator[None]:
    """Wait for the turn. Raises Conflict beside an exchange.

    The exchange waits for the calls under way: one that waited for it would hold it up, and all others with it.
    """
    must_not_be_exchanged(store)
    async with store.purging:
        yield


@asynccontextmanager
async def exchanging_files(store: MetadataStore) -> AsyncGenerator[None]:
    """Let those that wait already have their turn, refuse others until the block ends. Raises Conflict beside another."""
    must_not_be_exchanged(store)
    store.exchanging = True
    try:
        async with store.purging:
            yield
    finally:
        store.exchanging = False


def must_not_be_exchanged(store: MetadataStore) -> None:
    """Raises Conflict while a restore or the import of an export is under way."""
    if store.exchanging:
        raise Conflict("A restore, or the import of an export, is under way: try again when it is done.")
