"""Checks change-log cursors: of one that is past the end nothing would ever be read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..episodes import service as episodes
from ..facts import service as facts
from ..graph import extraction
from ..ingest import late_names as namings
from ..store import changes as change_log
from ..store import copies as copy_rows
from ..store.copies import FLOOR
from ..store.ports import Connection
from ..store.rows.embeddings import WATERMARK

Of = Literal["changes", "paragraphs", ""]
"""What a number counts; an empty one is not looked at."""
_NUMBER = r"([0-9]{1,18})"


@dataclass(frozen=True, slots=True)
class _Form:
    """How a mark is written: its numbers, what they count, and the mark of who has read nothing."""

    pattern: str
    counts: tuple[Of, ...]
    anew: str = "0"


_UPTO = _Form(_NUMBER, ("changes",))
_ROWS = _Form(_NUMBER, ("paragraphs",))
_PLACE = _Form(f"{_NUMBER}(?::{_NUMBER})?", ("changes", "paragraphs"))
_FORMS = {
    FLOOR: _UPTO,
    episodes.CURSOR: _UPTO,
    facts.CURSOR: _UPTO,
    facts.SCAN: _Form(f"(?:{_NUMBER}:{_NUMBER})?", ("paragraphs", "changes"), ""),
    extraction.CURSOR: _PLACE,
    namings.PLACE: _Form(f"(?:{_NUMBER}:{_NUMBER}:{_NUMBER})?", ("", "paragraphs", "paragraphs"), ""),
}
_WATERMARKS = WATERMARK.format("")
_READERS = (episodes.CURSOR, facts.CURSOR, facts.SCAN, extraction.CURSOR)
_TOGETHER = {FLOOR: _READERS}
"""Marks that mean nothing where another is wrong."""


def impossible(db: Connection) -> dict[str, str]:
    """Key of a cursor -> why it cannot be right; empty if all is well."""
    last, wrong = copy_rows.given(db), dict[str, str]()
    for key, value in copy_rows.kept(db).items():
        if (key in _FORMS or key.startswith(_WATERMARKS)) and (why := _wrong(value, _form(key), last)):
            wrong[key] = why
    return wrong


def begin_anew(db: Connection) -> list[str]:
    """Let those whose cursors cannot be right read everything again; names the cursors."""
    wrong = set(impossible(db))
    for key in wrong | {other for one in wrong for other in _TOGETHER.get(one, ())}:
        change_log.put(db, key, _form(key).anew)
    if wrong:
        floor, last = change_log.bounds(db)
        change_log.prune(db, last if FLOOR in wrong else max(floor, min(last, 1)))
    return sorted(wrong)


def _form(key: str) -> _Form:
    return _FORMS.get(key, _ROWS)


def _wrong(value: str, form: _Form, last: Mapping[str, int]) -> str:
    read = re.fullmatch(form.pattern, value)
    if read is None:
        return f"{value[:40]!r} is no mark"
    for number, of in zip(read.groups(), form.counts, strict=True):
        if of and number and int(number) > last.get(of, 0):
            return f"{number} is past the last of the {of}, {last.get(of, 0)}"
    return ""
