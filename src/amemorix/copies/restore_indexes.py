"""The indexes of a database that is to take the memory's place, made while the memory still answers."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from ..config.model import Config
from ..errors import MemoryFault, StorageFailure
from ..indexes.projections import Indexes
from ..store.file_swap import DATABASE_FILE, RESTORING, forget_incoming, incoming
from ..store.metadata_store import MetadataStore
from ..store.rows import embeddings as embedding_rows
from .worker import CopyThread

__all__ = ["make_indexes", "take_indexes"]

INDEXES = "indexes"


def make_indexes(data: Path, config: Config, thread: CopyThread) -> None:
    """Build and save the indexes of the incoming database; it is the incoming one again afterwards. Blocking.

    Raises StorageFailure if the disk refuses, NotReady if the memory is being closed; the incoming database is gone then.
    """
    try:
        _make_beside(data, config, thread)
    except OSError as exc:
        forget_incoming(data / DATABASE_FILE)
        raise StorageFailure(
            f"{exc.filename or data} cannot be written: {exc.strerror or exc}.", file=str(data)
        ) from exc
    except MemoryFault:
        forget_incoming(data / DATABASE_FILE)
        raise


def _make_beside(data: Path, config: Config, thread: CopyThread) -> None:
    home, file = data / RESTORING, incoming(data / DATABASE_FILE)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    os.replace(file, home / DATABASE_FILE)
    thread.step("indexes")
    store = MetadataStore(home)
    try:
        _make(store, config, thread)
    finally:
        store.close()
    os.replace(home / DATABASE_FILE, file)


def _make(store: MetadataStore, config: Config, thread: CopyThread) -> None:
    indexes = Indexes(store)
    indexes.open()
    thread.go_on()
    serving = store.read_here(embedding_rows.serving)
    if serving:
        indexes.vectors(serving.id, serving.dimension, config.embedding.quantization_type)
    thread.go_on()
    indexes.save()


def take_indexes(data: Path, *, fit: bool) -> None:
    """Let the indexes that were made be those of the memory, which is closed; not if rows were erased since. Blocking.

    Those of before go in any case: none of another history fits it. Without any the memory makes them when it is opened.
    """
    made = data / RESTORING / INDEXES
    with suppress(OSError):
        shutil.rmtree(data / INDEXES, ignore_errors=True)
        if fit and made.is_dir():
            os.replace(made, data / INDEXES)
    shutil.rmtree(data / RESTORING, ignore_errors=True)
