"""The import of an Exo database: `python -m amemorix.facades.exo SOURCE --memory FOLDER`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from ...errors import MemoryFault
from .base import MemoryError
from .import_database import import_database


def main(given: Sequence[str] | None = None) -> int:
    """Import, and tell how many items came."""
    parser = argparse.ArgumentParser("python -m amemorix.facades.exo", description="Import an Exo database.")
    parser.add_argument("source", help="the SQLite file, or the address postgresql://… of the server")
    parser.add_argument(
        "--memory", help="folder, configuration file or daemon (http…); that of `Memory()` if not given"
    )
    parser.add_argument("--namespace", default="default", help="what LongTermMemory and the stores are opened with")
    asked = parser.parse_args(given)
    try:
        done = asyncio.run(import_database(asked.source, asked.memory, asked.namespace))
    except (MemoryError, MemoryFault, ImportError) as exc:
        print(exc, file=sys.stderr)
        return 1
    print(f"{done.stored} items imported")
    for id_, why in done.left.items():
        print(f"left out: {id_}: {why}", file=sys.stderr)
    return 1 if done.left else 0


if __name__ == "__main__":
    sys.exit(main())
