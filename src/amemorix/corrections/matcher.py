"""What a correction is about: the texts that say what is wrong of whom it means, and the facts held of that person."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..clock import Clock
from ..config.model import Config
from ..facts.language.slots import slot_of
from ..facts.language.values import normal
from ..indexes.name_directory import NameDirectory
from ..indexes.projections import Indexes
from ..language.chinese_words import is_person, tagged_words
from ..language.normalise import fold, is_mostly_cjk
from ..lazy_regex import lazy_regex
from ..search.operations import KernelSearchRequest
from ..search.service import SearchService
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from . import rows as correction_rows
from .language.claim import Correction
from .language.claims import Matter, denies, facts_said, matter_of
from .language.rules import read_correction
from .language.text import (
    alike,
    bears_on_value,
    calls_kin,
    holds,
    is_present,
    of_household,
    of_that_one,
    only_asks,
    parts_of,
    plain,
    rewritten,
    says,
    wrong_parts,
)
from .parser import Wish
from .person import Owners, Whom, owners_of, whom_meant
from .rows import Held, Target

__all__ = ["MOST_CANDIDATES", "OTHERS", "CorrectionFinder", "Found", "Judged"]

MOST_CANDIDATES, MOST_HELD = 20, 200
_OWN_SUBJECT = lazy_regex(r"\s*(?:and |but )?(?!(?:It|He|She|They|This|That|We|I)\b)(?:[A-Z][a-z]+|[Tt]he [a-z]+) ")
ELSE, OTHERS = "is about somebody else", "may be about several persons: say which one (person_id)"


@dataclass(frozen=True, slots=True)
class Judged:
    """A paragraph, what becomes of it, whom the wrong words are about, or why it is left alone."""

    target: Target
    score: float
    becomes: str = ""
    owners: Owners = frozenset()
    why: str = ""
    of_kin: bool = False
    """Whether it is about somebody's relative, whom it calls by the name."""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was looked at, and the one person whom the correction is about."""

    judged: tuple[Judged, ...]
    person: int | None
    matter: Matter

    @property
    def chosen(self) -> list[Judged]:
        """What says what is wrong."""
        return [one for one in self.judged if not one.why]


class CorrectionFinder:
    """Finds what a correction would change; never a clause about somebody else, and nothing where it could be several."""

    def __init__(
        self, store: MetadataStore, *, config: Config, searches: SearchService, indexes: Indexes, clock: Clock
    ) -> None:
        self._store = store
        self._config = config
        self._searches = searches
        self._indexes = indexes
        self._clock = clock

    async def find(self, wish: Wish, reading: Correction) -> Found:
        """What the wish is about, among what search gives for the wrong statement and for its words alone.

        Raises NotFound, InvalidRequest for a person who cannot be told.
        """
        scores = dict.fromkeys(wish.among or (), 1.0)
        if wish.among is None:
            for query in dict.fromkeys((f"{reading.subject} {reading.about} {reading.wrong}", reading.wrong)):
                asked = {"query": query, "limit": MOST_CANDIDATES, "chat_id": wish.chat_id}
                for hit in (await self._searches.search(KernelSearchRequest.model_validate(asked))).hits:
                    scores.setdefault(int(hit.id[1:]), hit.score)
            scores = dict(sorted(scores.items(), key=lambda pair: -pair[1]))
        return await self._store.read(lambda db: self._find_in(db, wish, reading, scores))

    def _find_in(self, db: Connection, wish: Wish, reading: Correction, scores: dict[int, float]) -> Found:
        matter, now = matter_of(reading, wish.text), self._clock.now()
        own: tuple[int, ...] | None = None
        if not wish.allow_global:  # a chat may change its own memories alone, however much more it may read
            row = self._store.names.chat_row(db, wish.chat_id)
            own = () if row is None else (row,)
        self._indexes.names.catch_up(db)
        directory = self._indexes.names.index
        seen = Access(self._store.names, self._config).scopes(db, Caller(wish.chat_id))
        whom = whom_meant(db, wish, reading, seen, directory)
        held = _held(db, wish, reading, matter, whom, own, now)
        for one in held:
            scores.setdefault(one.paragraph, 1.0)
        targets = correction_rows.targets(db, scores, own, now)
        persons: dict[int, list[tuple[int, int]]] = {}
        for paragraph, person, role in db.run("correction_persons_of", ids=array(targets)):
            persons.setdefault(paragraph, []).append((person, role))
        judge = _Judge(reading, matter, whom, directory)
        judged = [
            judge.judged(targets[id_], score, persons.get(id_, []), [one for one in held if one.paragraph == id_])
            for id_, score in scores.items() if id_ in targets
        ]  # fmt: skip
        return _settled(judged, reading, matter, whom)


def _held(
    db: Connection, wish: Wish, reading: Correction, matter: Matter, whom: Whom, own: tuple[int, ...] | None, now: float
) -> list[Held]:
    """What is held true of whom it is about, and is what the correction calls wrong."""
    if not matter.attributes or (whom.names and not whom.rows) or (matter.topic and len(whom.rows) != 1):
        return []
    words = ""
    if not matter.topic:
        words = " ".join(map(plain, reading.wrong.split())) if reading.wrong.isascii() else fold(reading.wrong)
    found = correction_rows.held(
        db, persons=whom.rows or None, attributes=matter.attributes, words=words, norms=matter.norms, scopes=own, now=now,
        held_at=now if wish.held_at is None else wish.held_at, limit=MOST_HELD,
    )  # fmt: skip

    def is_wrong(one: Held) -> bool:
        if matter.topic:
            return bears_on_value(one.value, reading)
        return alike(one.value, reading.wrong) or normal(one.attribute, one.value) in matter.norms

    return [one for one in found if one.person not in whom.but and is_wrong(one)]


class _Judge:
    """Says of each paragraph whether it says what is wrong of whom it is about, and what becomes of it."""

    def __init__(self, reading: Correction, matter: Matter, whom: Whom, directory: NameDirectory) -> None:
        self._reading = reading
        self._matter = matter
        self._whom = whom
        self._directory = directory

    def judged(self, target: Target, score: float, persons: list[tuple[int, int]], held: list[Held]) -> Judged:
        """The paragraph with what becomes of it, or why it is left alone."""
        parts = parts_of(target.content)
        stating = self._stating(parts, held)
        spoken = {i for i, part in enumerate(parts) if says(part, self._reading.wrong)} | stating
        if not spoken:
            return Judged(target, score, why="does not say it")
        owners = owners_of(parts, target, persons, self._directory)
        others = of_household(parts, self._reading)
        mine = {place for place in spoken - others if self._is_meant(parts, place, owners[place])}
        if not mine:
            return Judged(target, score, why=ELSE)
        other = read_correction(target.content)
        if (other is not None and alike(other.wrong, self._reading.wrong)) or denies(
            target.content, self._reading, self._matter
        ):
            return Judged(target, score, why="says itself that it is not so")
        mine &= wrong_parts(parts, self._reading) | stating | of_that_one(parts, self._reading)
        if not mine:
            return Judged(target, score, why="says it of something else")
        if not self._whom.rows:  # those that name what is no known person, where some do
            mine = {place for place in mine if any(holds(parts[place], n) for n in self._whom.names)} or mine
        kin = set() if self._whom.rows else {place for place in mine if calls_kin(parts[place], self._reading)}
        mine = {place for place in mine if is_present(parts[place], self._reading, of_kin=place in kin)}
        if not mine:
            return Judged(target, score, why="asks, or says it of another time or of a relative")
        if all(only_asks(part) for part in parts):
            return Judged(target, score, why="only asks")
        becomes = rewritten(parts, self._exactly(parts, held), mine)
        if becomes == target.content:
            return Judged(target, score, why="holds it in a part that cannot be told apart")
        meant = frozenset[int]().union(*(owners[place] for place in mine))
        return Judged(target, score, becomes, (meant & self._whom.rows) or meant, of_kin=bool(mine & kin))

    def _exactly(self, parts: list[str], held: list[Held]) -> Correction:
        """The correction of the whole value where a clause gives it more exactly: 上海浦东 for 上海."""
        wrong = self._reading.wrong
        longer = (one.value for one in held if slot_of(one.attribute).nested and fold(one.value) != fold(wrong))
        exact = (value for value in longer if holds(value, wrong) and any(holds(part, value) for part in parts))
        value = next(exact, wrong)
        return replace(self._reading, wrong=value)

    def _stating(self, parts: list[str], held: list[Held]) -> set[int]:
        """The clauses that state a fact that is held; all that hold its words where no single one does."""
        if not held:
            return set()
        facts = {(one.attribute, fold(one.value)) for one in held}
        names = (self._reading.subject,) if self._reading.subject else ()
        found = {
            place for place, part in enumerate(parts)
            if any((claim.attribute, fold(claim.value)) in facts for claim in facts_said(part, names))
        }  # fmt: skip
        if found:
            return found
        whole = "".join(parts)
        over_several = {v for v in {o.value for o in held} if holds(whole, v) and not any(holds(p, v) for p in parts)}
        values = [one.value for one in held if one.value not in over_several]
        return {i for i, part in enumerate(parts) if any(alike(part, value) for value in values)}

    def _is_meant(self, parts: list[str], place: int, owners: Owners) -> bool:
        if self._whom.rows:
            return bool(owners & self._whom.rows)
        if not self._whom.names:
            return not owners or not owners <= self._whom.but
        if any(holds(parts[place], name) for name in self._whom.names):
            return True
        before = [i for i, part in enumerate(parts[:place]) if any(holds(part, name) for name in self._whom.names)]
        return bool(before) and not any(_names_somebody(part) for part in parts[before[-1] + 1 : place + 1])


def _names_somebody(part: str) -> bool:
    """Whether the clause begins with somebody or something of its own."""
    words = tagged_words(part) if is_mostly_cjk(part) else ()
    return bool(_OWN_SUBJECT.match(part)) or any(is_person(word, flag) for word, flag in words)


def _settled(judged: list[Judged], reading: Correction, matter: Matter, whom: Whom) -> Found:
    """Nothing is chosen where it would be a guess whom the correction means."""
    chosen = [one for one in judged if not one.why]
    meant, one_person = {one.owners for one in chosen}, len(whom.rows) == 1
    personal = reading.action == "replace" or reading.of_speaker or reading.of_somebody or len(whom.rows) > 1
    several = personal and not (whom.names and not whom.rows) and not one_person and len(meant) > 1
    if several or len({one.owners for one in chosen if one.of_kin}) > 1:
        judged = [Judged(one.target, one.score, why=one.why or OTHERS) for one in judged]
        return Found(tuple(judged), None, matter)
    sure = whom.rows if one_person else next(iter(meant)) if len(meant) == 1 else frozenset[int]()
    return Found(tuple(judged), next(iter(sure)) if len(sure) == 1 else None, matter)
