"""The reading of paragraphs for names, and by a chat model for relations: the change log says what is new."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice

from ..background.change_follower import ChangeFollower
from ..clock import Clock
from ..config.model import Extraction as Settings
from ..ingest.late_names import last_news, news_sought
from ..language.names import MOST_CHARS, Mention, are_chinese, is_chinese_name, names, possible_names
from ..language.normalise import normalise_name
from ..store import changes as change_log
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.records import Entity
from . import extraction_rows
from .extraction_rows import Reading, ReadingMaterial

__all__ = ["CURSOR", "ExtractionService"]

CURSOR = "extracted_upto"
NameReader = Callable[[str], Iterable[Mention]]
STEP = 200
"""Paragraphs taken up at a time."""
IDLE_SHARE = 1.0
"""Seconds of rest for each second of work, so that reading never crowds out calls."""


@dataclass(frozen=True, slots=True)
class Place:
    """The last change that was taken up.

    With a `row`, all paragraphs are being read because the log no longer reaches back to where the reader was: those
    up to that row have been read, and then it goes on from the change.
    """

    cursor: int = 0
    row: int | None = None

    @classmethod
    def parsed(cls, text: str | None) -> Place:
        """From what `str` gives; the beginning for None."""
        cursor, _, row = (text or "0").partition(":")
        return cls(int(cursor), int(row) if row else None)

    def __str__(self) -> str:
        return f"{self.cursor}" if self.row is None else f"{self.cursor}:{self.row}"


@dataclass(frozen=True, slots=True)
class _Step:
    """What the next paragraphs come to, the place after them, and the last piece of news about names when they were read."""

    before: Place
    after: Place
    readings: Sequence[Reading]
    known: int = 0


class ExtractionService(ChangeFollower):
    """Reads each paragraph once for names, and again when a name in it becomes known.

    `chinese` reads Chinese names: without it only those are met that the memory knows.
    """

    def __init__(
        self, store: MetadataStore, *, settings: Settings, clock: Clock, background: Executor,
        chinese: NameReader | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            store, background=background, what="the reading of paragraphs", pause=settings.poll_interval_seconds,
            idle_share=IDLE_SHARE, cursor_key=CURSOR, enabled=settings.enabled and settings.rules,
        )  # fmt: skip
        self._settings = settings
        self._clock = clock
        self._chinese = chinese

    async def _advance(self) -> bool:
        work = await self._read_aside(self._by_rule)
        if work is None:
            return False
        await self._store.write(lambda db: self._keep(db, work))
        return True

    def _place(self, db: Connection) -> Place:
        return Place.parsed(change_log.get(db, CURSOR))

    def _by_rule(self, db: Connection) -> _Step | None:
        """Read what the next changes name; where the log no longer reaches back so far, every paragraph."""
        place = self._place(db)
        floor, last = change_log.bounds(db)
        if place.row is None and place.cursor >= last:
            return None
        begun = Place(last, 0) if place.row is None and place.cursor < floor else place
        named: Collection[int] = ()
        if begun.row is not None:
            ids = _all_after(db, begun.row, STEP)
            after = Place(begun.cursor, ids[-1] if len(ids) == STEP else None)
        else:
            upto, ids, named = extraction_rows.changed(db, begun.cursor, STEP)
            after = Place(last if upto is None else upto)
        return _Step(place, after, self._read(db, self._material(db, ids, named)), last_news(db))

    def _material(self, db: Connection, ids: Sequence[int], named: Collection[int]) -> list[ReadingMaterial]:
        found = extraction_rows.material(db, ids, named)
        return [one for one in found if one.source_type not in self._settings.disabled_source_types]

    def _read(self, db: Connection, material: Sequence[ReadingMaterial]) -> list[Reading]:
        """The names in each paragraph; one that comes later knows what an earlier one has named. A poem names nobody."""
        persons: dict[int, dict[str, Mention]] = {}
        possible = {one.id: possible_names(one.content) for one in material}
        known = self._known(db, set().union(*possible.values()))
        readings: list[Reading] = []
        for one in material:
            self._store.right_of_way.give_way()
            if one.chat not in persons:
                called = {name for _, name in db.run("chat_person_names", chat=one.chat)}
                persons[one.chat] = {normalise_name(name): Mention(name, "person") for name in sorted(called)}
            met = {norm: known[norm] for norm in possible[one.id] if norm in known}
            met |= {norm: mention for norm, mention in persons[one.chat].items() if norm in possible[one.id]}
            found = {} if one.knowledge == "quote" else self._named(one.content, met)
            known |= {norm: mention for norm, mention in found.items() if len(norm) > 1}
            entities = (Entity(mention.name, norm, mention.kind) for norm, mention in found.items())
            readings.append(Reading(one.id, tuple(islice(entities, self._settings.max_entities)), ()))
        return readings

    def _named(self, text: str, met: Mapping[str, Mention]) -> dict[str, Mention]:
        """Normalised name -> what is met of what is known, and what is written or read as a name; of names within one
        another the longest."""
        called = tuple(f" {norm}" for norm, mention in met.items() if mention.kind == "person")
        read = {normalise_name(mention.name): mention for mention in names(text)}
        # "Bridesmaids Jiahe and Siqi": where Jiahe is known, she is meant.
        read = {norm: mention for norm, mention in read.items() if not norm.endswith(called)}
        if self._chinese is not None and are_chinese(text):
            for mention in self._chinese(text[:MOST_CHARS]):
                norm = normalise_name(mention.name)
                # 轩轩乐疯了: where 轩轩 is known, he is meant.
                if is_chinese_name(mention.name) and not any(norm.startswith(known) for known in met):
                    read[norm] = mention
        found = {**read, **met}
        return {
            norm: mention
            for norm, mention in found.items()
            if not any(norm != other and norm in other for other in found)
        }

    def _known(self, db: Connection, norms: Iterable[str]) -> dict[str, Mention]:
        found = self._store.names.entities(db, norms)
        kinds = dict[int, str](db.run("extraction_entity_kinds", ids=array(id_ for id_, _, _ in found)).fetchall())
        return {norm: Mention(name, kinds.get(id_, "")) for id_, norm, name in found if len(norm) > 1}

    def _keep(self, db: Connection, step: _Step) -> None:
        """Store a step, unless it has to be worked out again.

        The kernel that is being replaced may have been quicker, or a name that the rules did not know has been looked for
        meanwhile: the lines that hold it are found by the mark that reading leaves.
        """
        if step.known < news_sought(db) or self._place(db) != step.before:
            return
        extraction_rows.keep(db, self._store.names, step.readings, "rule", self._clock.now(), known=step.known)
        change_log.put(db, CURSOR, str(step.after))


def _all_after(db: Connection, after: int, limit: int) -> list[int]:
    """The next paragraphs by row, live or not."""
    return [row[0] for row in db.run("extraction_all", after=after, limit=limit)]
