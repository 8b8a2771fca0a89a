"""The finding of lines that were read before a name in them was known: they are read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

import numpy as np

from ..background.change_follower import UNLIMITED, ChangeFollower
from ..language.normalise import fold, normalise_name, term_hashes, tokens
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import late_name_rows
from .late_name_rows import Blob

__all__ = ["PLACE", "NamingService", "news_sought"]

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
    lines: Sequence[int] = ()
    mentions: Mapping[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class _Sought:
    """A name as a text holds it: in one chat or everywhere.

    `entity`: lines that are linked to it know it already, and those that were read after `news`.
    """

    text: str
    chat: int
    entity: int = 0
    news: int = 0


@dataclass(slots=True)
class _Names:
    """Names by a term that every text has that holds them; `plain`: those without terms."""

    by_term: dict[int, list[_Sought]] = field(default_factory=dict[int, list[_Sought]])
    plain: list[_Sought] = field(default_factory=list[_Sought])

    def add(self, name: str, chat: int, entity: int = 0, news: int = 0) -> None:
        """Look for a name."""
        norm = normalise_name(name)
        sought, term = _Sought(norm, chat, entity, news), max(tokens(norm), key=len, default="")
        if term:
            self.by_term.setdefault(int(term_hashes([term])[0]), []).append(sought)
        elif norm:
            self.plain.append(sought)


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
        return late_name_rows.waiting(db)

    def cursor(self, db: Connection) -> int:  # noqa: ARG002 - one signature for all
        """The change log is not needed here."""
        return UNLIMITED

    def _look(self, db: Connection) -> _Step | None:
        before = change_log.get(db, PLACE) or ""
        place = _Place.parsed(before) or self._begun(db)
        if place is None:
            return None
        blobs = late_name_rows.blobs(db, place.row, place.last, SLICE)
        more = _Place(place.news, place.last, blobs[-1].id) if len(blobs) == SLICE else None
        lines, mentions = self._found(db, self._names(db, place.news), blobs) if blobs else ([], {})
        return _Step(before, place, more, lines, mentions)

    def _begun(self, db: Connection) -> _Place | None:
        news = late_name_rows.next_name(db, BATCH)
        return None if news is None else _Place(news, late_name_rows.last_paragraph(db), 0)

    def _names(self, db: Connection, news: int) -> _Names:
        names = _Names()
        for person in late_name_rows.persons(db, news):
            names.add(person.name, person.chat)
        for entity in late_name_rows.entities(db, news):
            names.add(entity.norm, EVERYWHERE, entity.entity, entity.news)
        return names

    def _found(self, db: Connection, names: _Names, blobs: Sequence[Blob]) -> tuple[list[int], dict[int, int]]:
        """The lines that hold a person's name, and those that name an entity, as far as they may have been read without it."""
        may = _candidates(names, blobs)
        texts = {id_: " ".join(fold(text).split()) for id_, text in late_name_rows.texts(db, may).items()}
        held = {id_: [one for one in sought if one.text in texts.get(id_, "")] for id_, sought in may.items()}
        lines = [id_ for id_, names_ in held.items() if any(not one.entity for one in names_)]
        named = {id_: names_ for id_, names_ in held.items() if any(one.entity for one in names_)}
        entities = {one.entity for names_ in named.values() for one in names_ if one.entity}
        linked = late_name_rows.linked(db, entities, named) if entities else set[tuple[int, int]]()
        mentions = {
            id_: max((one.news for one in names_ if one.entity and (one.entity, id_) not in linked), default=0)
            for id_, names_ in named.items()
        }
        return lines, {id_: news for id_, news in mentions.items() if news}

    def _keep(self, db: Connection, step: _Step) -> None:
        """Store a step, unless the kernel that is being replaced was quicker."""
        if (change_log.get(db, PLACE) or "") != step.before:
            return
        late_name_rows.read_again(db, step.lines)
        marks = late_name_rows.extracted(db, step.mentions)
        unknowing = [id_ for id_, news in step.mentions.items() if 0 < marks.get(id_, 0) <= news]
        late_name_rows.read_again(db, set(unknowing).difference(step.lines), "mention")
        if step.after is None:
            late_name_rows.done(db, step.place.news)
        change_log.put(db, PLACE, str(step.after or ""))


def news_sought(db: Connection) -> int:
    """The last piece of news that is being looked for, or has been: what was read without it comes too late."""
    place = _Place.parsed(change_log.get(db, PLACE))
    return place.news if place else late_name_rows.looked_for(db)


def _candidates(names: _Names, blobs: Sequence[Blob]) -> dict[int, list[_Sought]]:
    """Line -> names that it may hold, by its terms, its chat, and when it was read."""
    found: dict[int, list[_Sought]] = {}
    for place, term in _hits(names.by_term, [blob.terms for blob in blobs]):
        _note(found, blobs[place], names.by_term[term])
    for blob in blobs if names.plain else ():
        _note(found, blob, names.plain)
    return found


def _note(found: dict[int, list[_Sought]], line: Blob, names: Iterable[_Sought]) -> None:
    here = [
        one
        for one in names
        if one.chat in (EVERYWHERE, line.chat, line.scope) and not (one.entity and line.extracted > one.news)
    ]
    if here:
        found.setdefault(line.id, []).extend(here)


def _hits(wanted: Iterable[int], blobs: Sequence[bytes]) -> list[tuple[int, int]]:
    """(place of the blob, hash) of the wanted hashes that the blobs hold."""
    sizes = [len(blob) // _BYTES_PER_TERM for blob in blobs]
    joined = b"".join(blob[: 4 * size] for blob, size in zip(blobs, sizes, strict=True))
    hashes = np.frombuffer(joined, "<u4")
    at = np.flatnonzero(np.isin(hashes, np.fromiter(wanted, np.uint32)))
    owner = np.searchsorted(np.cumsum(sizes), at, side="right")
    return list(zip(owner.tolist(), hashes[at].tolist(), strict=True))
