"""What the tests of the readers of foreign data share."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

from amemorix.importing.readers.formats import reader_for
from amemorix.importing.records import Bad, Reader, Record

Read = list[tuple[int, Record | Bad]]


def read(reader: Reader, path: Path, start: int = 0) -> Read:
    """All that a reader finds, after it was shown that it goes on from each position with the rest."""
    found: Read = []
    shares: list[float] = []
    for one in reader.read(path, start):
        found.append(one)
        shares.append(getattr(reader, "share", -1.0))
    assert all(0 < share <= 1 for share in shares)
    assert shares == sorted(shares)
    positions = [position for position, _ in found]
    assert positions == sorted(set(positions))
    for i, position in enumerate(positions):
        assert [one for one in reader.read(path, position) if one[0] > position] == found[i + 1 :]
    return found


def records(reader: Reader, path: Path) -> list[Record]:
    """The records of a file in which nothing is bad."""
    found = [record for _, record in read(reader, path)]
    assert [one for one in found if isinstance(one, Bad)] == []
    return [one for one in found if isinstance(one, Record)]


def bad(reader: Reader, path: Path) -> list[tuple[str, str]]:
    """(place, reason) of what cannot be read."""
    return [(one.place, one.reason) for _, one in read(reader, path) if isinstance(one, Bad)]


def write(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def turns(name: str, path: Path, **options: Any) -> list[dict[str, Any]]:
    """The arguments of the turns of a file that holds nothing else, the same at each reading."""
    found = list(reader_for(name, options).read(path, 0))
    assert list(reader_for(name, options).read(path, 0)) == found
    assert all(isinstance(one, Record) and one.kind == "turn" for _, one in found), found
    return [one.arguments for _, one in found if isinstance(one, Record)]


def peak(reader: Reader, path: Path) -> tuple[int, int]:
    """(records, most bytes of Python objects that were held at once) of one reading."""
    tracemalloc.start()
    try:
        count = sum(1 for _ in reader.read(path, 0))
        return count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
