"""The finding of lines that were read before a name in them was known: they are read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..background.change_follower import UNLIMITED, ChangeFollower
from ..language.normalise import normalise_name, term_hashes, tokens
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows

__all__ = ["PLACE", "NamingService", "last_news", "news_sought"]

PLACE = "names_sought"
BATCH = 2_000
"""Pieces of news that are looked for in one pass over the terms of all lines."""
SLICE = 20_000
"""Lines looked at in a step."""
PAUSE = 2.0
IDLE_SHARE = 10.0
"""Seconds of rest for each second of work: a pass looks at every line there is."""
EVERYWHERE = 0
_BYTES_PER_TERM = 5


@dataclass(frozen=True, slots=True)
class _Place:
    """How far a pass has come: the news it is about, the last line it looks at, and the line it has reached."""

    news: int
    last: int
    row: int

    @classmethod
    def parsed(cls, text: str | None) -> _Place | None:
        """From what `str` gives; None between two passes."""
        return cls(*map(int, text.split(":"))) if text else None

    def __str__(self) -> str:
        return f"{self.news}:{self.last}:{self.row}"


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step has found; the place after it is None at the end of a pass.

    `lines` hold a person's name; `mentions` name entities (line -> the last piece of news about one of them).
    """

    before: str
    place: _Place
    after: _Place | None
    lines: Sequence[int]
    mentions: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class _Name:
    """A name as a text holds it: in one chat or everywhere.

    `entity`: lines that are linked to it know it already, and those that were read after `news`.
    """

    text: str
    chat: int
    entity: int = 0
    news: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    """The terms of a paragraph, deleted or not, the chats to which it belongs, and the mark of its reading."""

    id: int
    chat: int
    scope: int
    extracted: int
    terms: bytes


class NamingService(ChangeFollower):
    """Looks for the lines that hold a name that has become known, once, so that it does not matter which came first.

    A person is known in a chat by a name when they are met there or given it, an entity everywhere. The lines found go
    into the change log, which those who read lines follow; the place of a pass is stored in the same transaction.
    """

    def __init__(self, store: MetadataStore, *, background: Executor) -> None:
        super().__init__(store, background=background, what="looking for names", pause=PAUSE, idle_share=IDLE_SHARE)

    async def _advance(self) -> bool:
        work = await self._read_aside(self._look)
        if work is None:
            return False
        await self._store.write(lambda db: self._keep(db, work))
        return True

    def lag(self, db: Connection) -> int:
        """Names not looked for yet."""
        return db.run("naming_count").fetchone()[0]

    def cursor(self, db: Connection) -> int:  # noqa: ARG002 - one signature for all
        """The change log is not needed here."""
        return UNLIMITED

    def _look(self, db: Connection) -> _Step | None:
        before = change_log.get(db, PLACE) or ""
        place = _Place.parsed(before)
        if place is None:
            news = db.run("naming_news", limit=BATCH).fetchone()[0]
            if news is None:
                return None
            place = _Place(news, paragraph_rows.highest(db), 0)
        found = db.run("naming_blobs", after=place.row, last=place.last, limit=SLICE)
        lines = [_Line(*row) for row in found]
        more = _Place(place.news, place.last, lines[-1].id) if len(lines) == SLICE else None
        with_person, mentions = _held(db, place.news, lines) if lines else ([], {})
        return _Step(before, place, more, with_person, mentions)

    def _keep(self, db: Connection, step: _Step) -> None:
        """Store a step, unless the kernel that is being replaced was quicker."""
        if (change_log.get(db, PLACE) or "") != step.before:
            return
        _read_again(db, step.lines, "naming")
        marks = dict(db.run("naming_extracted", ids=array(step.mentions)).fetchall())
        unknowing = [id_ for id_, news in step.mentions.items() if 0 < marks.get(id_, 0) <= news]
        _read_again(db, set(unknowing).difference(step.lines), "mention")
        if step.after is None:
            db.run("naming_done", upto=step.place.news)
        change_log.put(db, PLACE, str(step.after or ""))


def last_news(db: Connection) -> int:
    """The last piece of news that there ever was."""
    return db.run("naming_last_news").fetchone()[0]


def news_sought(db: Connection) -> int:
    """The last piece of news that is being looked for, or has been: what was read without it comes too late."""
    if place := _Place.parsed(change_log.get(db, PLACE)):
        return place.news
    waiting = db.run("naming_first_waiting").fetchone()[0]
    return last_news(db) if waiting is None else waiting - 1


def _read_again(db: Connection, ids: Iterable[int], kind: Literal["naming", "mention"]) -> None:
    """Have paragraphs read again that hold a person's name, or mention an entity; deleted ones, when they are back."""
    given = array(ids)
    db.run("naming_unread", ids=given)
    db.run("naming_tell", ids=given, kind=kind)


def _held(db: Connection, news: int, lines: Sequence[_Line]) -> tuple[list[int], dict[int, int]]:
    """The lines that hold a person's name, and those that name an entity, as far as they may have been read without it."""
    names = [_Name(normalise_name(name), chat) for chat, name in db.run("naming_persons", upto=news)]
    entities = db.run("naming_entities", upto=news)
    names += [_Name(normalise_name(norm), EVERYWHERE, entity, told) for entity, norm, told in entities]
    may = _candidates(names, lines)
    texts = {id_: normalise_name(text) for id_, text in paragraph_rows.contents(db, may).items()}
    held = {id_: [one for one in sought if one.text in texts.get(id_, "")] for id_, sought in may.items()}
    with_person = [id_ for id_, here in held.items() if any(not one.entity for one in here)]
    named = {id_: [one for one in here if one.entity] for id_, here in held.items()}
    named = {id_: here for id_, here in named.items() if here}
    ids = {one.entity for here in named.values() for one in here}
    linked = set(db.run("naming_linked", entities=array(ids), ids=array(named)).fetchall())
    mentions = {
        id_: max((one.news for one in here if (one.entity, id_) not in linked), default=0)
        for id_, here in named.items()
    }
    return with_person, {id_: news for id_, news in mentions.items() if news}


def _candidates(names: Iterable[_Name], lines: Sequence[_Line]) -> dict[int, list[_Name]]:
    """Line -> names that it may hold, by a term that every text has that holds them, by its chat, and when it was read."""
    by_term: dict[int, list[_Name]] = {}
    plain: list[_Name] = []
    for one in names:
        if term := max(tokens(one.text), key=len, default=""):
            by_term.setdefault(int(term_hashes([term])[0]), []).append(one)
        elif one.text:
            plain.append(one)
    may = [(lines[place], by_term[term]) for place, term in _hits(by_term, [line.terms for line in lines])]
    may += [(line, plain) for line in lines] if plain else []
    found: dict[int, list[_Name]] = {}
    for line, some in may:
        chats = (EVERYWHERE, line.chat, line.scope)
        here = [one for one in some if one.chat in chats and not (one.entity and line.extracted > one.news)]
        if here:
            found.setdefault(line.id, []).extend(here)
    return found


def _hits(wanted: Iterable[int], blobs: Sequence[bytes]) -> list[tuple[int, int]]:
    """(place of the blob, hash) of the wanted hashes that the blobs hold."""
    sizes = [len(blob) // _BYTES_PER_TERM for blob in blobs]
    joined = b"".join(blob[: 4 * size] for blob, size in zip(blobs, sizes, strict=True))
    hashes = np.frombuffer(joined, "<u4")
    at = np.flatnonzero(np.isin(hashes, np.fromiter(wanted, np.uint32)))
    owner = np.searchsorted(np.cumsum(sizes), at, side="right")
    return list(zip(owner.tolist(), hashes[at].tolist(), strict=True))
