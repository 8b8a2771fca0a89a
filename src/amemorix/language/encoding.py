"""The encoding of texts: of a file in UTF-8, with or without a mark, or else in GB 18030; of what a model is given."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Literal

from ..errors import InvalidRequest

__all__ = ["Encoding", "encodable", "encoding_of", "mark_length"]

Encoding = Literal["utf-8", "gb18030"]
SAMPLE = 1 << 20
_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def encoding_of(path: Path) -> Encoding:
    """By the first megabyte. Raises InvalidRequest if it is neither, as with an image or a program."""
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
    for mark, name in _MARKS.items():
        if sample.startswith(mark):
            raise InvalidRequest(f"file: it is {name}; save it as UTF-8.", field="file")
    if b"\0" in sample:
        raise InvalidRequest("file: it holds NUL bytes: it is no text.", field="file")
    encodings: tuple[Encoding, ...] = ("utf-8", "gb18030")
    for encoding in encodings:
        try:
            codecs.getincrementaldecoder(encoding)().decode(sample)
        except UnicodeDecodeError:
            continue
        return encoding
    raise InvalidRequest("file: it is neither UTF-8 nor GB 18030 text.", field="file")


def mark_length(head: bytes) -> int:
    """How many bytes of a byte order mark stand at the start of a UTF-8 file."""
    return 3 if head.startswith(codecs.BOM_UTF8) else 0


def encodable(text: str) -> str:
    """The text with a question mark for each lone surrogate, which neither a tokenizer nor JSON in UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
