"""What stands on a disk: whether the bytes of a file look random, and which of many byte strings are met in them."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from amemorix.forgetting.byte_search import Patterns

__all__ = ["READABLE", "files_below", "hashes_met", "met", "not_random", "repeated_blocks", "without_plain_bytes"]

READABLE = {"manifest.json", "current.json", "memory.keys", ".lock", "memory.db-shm", ".reserve"}
"""Files in the clear: numbers and names of the program, wrapped keys, page numbers, room that is kept."""
WINDOWS, WIDTH = 20, 4096
SAVED = 5
"""Of n random bytes no code shortens more than one in 256^k by k bytes: five, once in 10^12 windows."""
SIGMA = 6.5
"""Chi squared of the byte values, as a normal deviate (Wilson and Hilferty 1931): once in 2·10^10 windows.

With both, a thousand files of random bytes give one false alarm in 10^6 runs.
"""
LEAST_CHI = 1280
"""Five of each byte value are expected in so many bytes; of fewer, chi squared says nothing."""
PAGE, FRAME = 4096, 24


def files_below(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def without_plain_bytes(name: str, raw: bytes) -> bytes:
    """What of a file has to look random. In the clear are

    - `AMXSEAL1`, the first 8 bytes of a sealed file;
    - of a write-ahead log the 32 bytes at its beginning, and the 24 before each page: page numbers, salts, checksums;
    - of a rollback journal the first sector, and the number and checksum beside each page;
    - of an age file the lines down to `---`, which say how its key is wrapped;
    - of a database that a crash left half written, pages of zeros.
    """
    if name.endswith("-wal"):
        return b"".join(raw[at + FRAME : at + FRAME + PAGE] for at in range(32, len(raw), FRAME + PAGE))
    if name.endswith("-journal"):
        return b"".join(raw[at + 4 : at + 4 + PAGE] for at in range(512, len(raw), PAGE + 8))
    if raw.startswith(b"age-encryption.org/v1"):
        return raw[raw.index(b"\n", raw.index(b"\n---")) + 1 :]
    if name.startswith("memory.") and not len(raw) % PAGE:
        return b"".join(page for at in range(0, len(raw), PAGE) if (page := raw[at : at + PAGE]) != bytes(PAGE))
    return raw.removeprefix(b"AMXSEAL1")


def not_random(raw: bytes, rng: random.Random) -> str:
    """Why one of 20 windows at random places does not look like random bytes; empty if all do."""
    for _ in range(WINDOWS):
        at = rng.randrange(max(1, len(raw) - WIDTH))
        window = raw[at : at + WIDTH]
        code = zlib.compressobj(9, wbits=-15)
        saved = len(window) - len(code.compress(window) + code.flush())
        if saved >= SAVED:
            return f"{len(window)} bytes at {at} can be said in {saved} fewer"
        if len(window) >= LEAST_CHI:
            counts, even = np.bincount(np.frombuffer(window, np.uint8), minlength=256), len(window) / 256
            freedom, chi = 255, float(((counts - even) ** 2 / even).sum())
            spread = 2 / (9 * freedom)
            if ((chi / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread) > SIGMA:
                return f"{len(window)} bytes at {at} prefer some values: chi squared is {chi:.0f}"
    return ""


def repeated_blocks(files: Mapping[Path, bytes]) -> set[bytes]:
    """Blocks of 16 bytes that stand twice in all files: none, but where the same was encrypted in the same way twice.

    The salt with which the first page of a database begins stands in each frame of its log that holds that page.
    """
    blocks, counts = np.unique(
        np.concatenate([np.frombuffer(raw[: len(raw) // 16 * 16], "V16") for raw in files.values()]), return_counts=True
    )
    return {block.tobytes() for block in blocks[counts > 1]} - {raw[:16] for raw in files.values()}


def met(raw: bytes, needles: Collection[bytes]) -> set[bytes]:
    """Those of the needles, of six bytes at least, that stand in the bytes."""
    return Patterns(needles).search(iter([raw]))


def hashes_met(files: Iterable[bytes], hashes: Collection[int]) -> tuple[int, float]:
    """How often one of these 32-bit numbers stands at any place, in either byte order, and how often chance alone has it."""
    wanted = np.unique(np.array([*hashes], "<u4"))
    both = np.unique(np.concatenate([wanted, wanted.byteswap()]))
    found = places = 0
    for raw in files:
        for start in range(min(4, max(0, len(raw) - 3))):
            words = np.frombuffer(raw, "<u4", (len(raw) - start) // 4, start)
            places += len(words)
            found += int(np.isin(words, both).sum())
    return found, places * len(both) / 2**32


def pieces(texts: Iterable[str], blobs: Iterable[bytes]) -> Iterator[bytes]:
    """Needles of texts, in two encodings, and the beginning, middle and end of blobs that are not a few bytes repeated."""
    for text in texts:
        for needle in (text.encode(), text.encode("utf-16-le")):
            if len(needle) >= 6:
                yield needle
    for blob in blobs:
        for at in (0, len(blob) // 2, max(0, len(blob) - 16)):
            if len(set(blob[at : at + 16])) >= 8:
                yield blob[at : at + 16]
