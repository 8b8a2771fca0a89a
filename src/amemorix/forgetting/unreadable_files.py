"""Files whose bytes do not show what they say: packed ones, and texts in encodings of two bytes."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

__all__ = ["packed_as", "read_wide"]

_HEAD = 4_096
_PORTION = 20_000
_PACKED = (
    (b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"BZh", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"), (b"PAR1", "Parquet"),
)  # fmt: skip
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


def packed_as(path: Path) -> str:
    """How the file is packed; empty if it is not, or gone."""
    head = _head(path)
    return next((how for mark, how in _PACKED if head.startswith(mark)), "")


def read_wide(path: Path) -> Iterator[bytes]:
    """What a text in UTF-16 or UTF-32 says, as UTF-8; nothing of any other file."""
    head = _head(path)
    encoding = next((name for mark, name in _WIDE if head.startswith(mark)), "") or _without_a_mark(head)
    if not encoding:
        return
    with path.open(encoding=encoding, errors="replace") as file:
        while text := file.read(_PORTION):
            yield text.encode("utf-8", "replace")


def _without_a_mark(head: bytes) -> str:
    """UTF-16 by the zero bytes beside Latin letters: at every second place and hardly anywhere else."""
    even, odd, many = head[::2].count(0), head[1::2].count(0), len(head) // 8
    if many < 2 or min(even, odd) * 20 > max(even, odd):
        return ""
    return "utf-16-le" if odd > many else "utf-16-be" if even > many else ""


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        return b""
