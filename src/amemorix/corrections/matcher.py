"""What a correction is about: the lines that it is nearest to in meaning and words, and what becomes of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..indexes.projections import Indexes
from ..language.normalise import fold, tokens
from ..language.times import is_question
from ..search.operations import KernelSearchRequest
from ..search.service import SearchService
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from . import rows as correction_rows
from .person import Clause, Whom, calls_by_name, read_clauses, speaks_of_self, whom_meant
from .rows import Target
from .sentence import Sentence, data, kin, read_sentence, topics
from .wording import VALUES, clauses_of, holds, reworded, values_differ, without, words_of

__all__ = ["MOST_CANDIDATES", "CorrectionFinder", "Found", "Judged", "Wish"]

MOST_CANDIDATES, MOST_HELD = 20, 200
ELSE, OTHERS = "is about somebody else", "may be about several persons: say which one (person_id)"
SEVERAL = "may be one of several: say more of which one"
FAR = "says something else"
WRONG, SHARED, VALUE, TOPIC, SUBJECT, NEAR = 1.0, 0.8, 0.3, 0.45, 0.15, 0.3
"""What counts for a clause: words that are denied, other words, a value of the same type, the matter, the same subject, and
what search thinks of the line."""
LEAST_DENIED = 0.34
LEAST, MARGIN = 0.42, 0.12
"""The least score of a target, and how much better than another it has to be to be the only one."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody says is wrong, and where."""

    text: str
    chat_id: str = ""
    person_id: str = ""
    """Whom it is about, where the words do not say."""
    speaker: str = ""
    """Who says it: 我 and "I" are this person, 他 and "she" are not."""
    requested_by: str = ""
    reason: str = ""
    authority: str = "direct_user"
    use_model: bool = False
    allow_global: bool = False
    among: tuple[int, ...] | None = None
    """It is about what these paragraphs say, or about facts that are held of the person."""
    held_at: float | None = None
    """When what it corrects was held true; now, if it does not say."""
    exchange: tuple[str, str] | None = None
    """What is wrong and what is right, where a model has told them apart."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A paragraph, the clauses of it that are meant, and what becomes of it, or why it is left alone."""

    target: Target
    score: float
    clauses: tuple[Clause, ...] = ()
    places: frozenset[int] = frozenset()
    denied: float = 0.0
    shared: frozenset[str] = frozenset()
    wrong: str = ""
    right: str = ""
    becomes: str = ""
    why: str = ""

    @property
    def owners(self) -> frozenset[int]:
        """Whom the meant clauses are about."""
        return frozenset[int]().union(*(self.clauses[place].owners for place in self.places))


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was looked at, the best first, and the one person whom the correction is about."""

    sentence: Sentence
    judged: tuple[Judged, ...]
    person: int | None
    told: bool = False
    """Whether the words, or the caller, say whom it is about."""
    asks: bool = False
    """Whether several are meant as likely, so that nothing is chosen."""

    @property
    def chosen(self) -> list[Judged]:
        """What says what is wrong."""
        return [one for one in self.judged if not one.why]

    @property
    def is_reworded(self) -> bool:
        """Whether what is chosen is corrected in its own words."""
        return bool(self.chosen) and all(one.right for one in self.chosen)


class CorrectionFinder:
    """Finds what a correction would change; never a clause about somebody else, and nothing where it would be a guess."""

    def __init__(
        self, store: MetadataStore, *, config: Config, searches: SearchService, indexes: Indexes, clock: Clock
    ) -> None:
        self._store = store
        self._config = config
        self._searches = searches
        self._indexes = indexes
        self._clock = clock

    async def find(self, wish: Wish) -> Found:
        """What the wish is about. Raises NotFound, InvalidRequest for a person who cannot be told, and for what says nothing."""
        sentence = read_sentence(wish.text)
        if sentence is None:
            raise unreadable()
        if wish.exchange is not None:
            wrong, right = wish.exchange
            exchange = wish.exchange if right else None
            sentence = replace(sentence, exchange=exchange, said=(right,) if right else (), denied=(wrong,))
        whom = await self._store.read(lambda db: self._whom(db, wish, sentence))
        scores = dict.fromkeys(wish.among or (), 1.0)
        if wish.among is None:
            scores = await self._searched(wish, sentence, whom)
        return await self._store.read(lambda db: self._found_in(db, wish, sentence, whom, scores))

    def _whom(self, db: Connection, wish: Wish, sentence: Sentence) -> Whom:
        self._indexes.names.catch_up(db)
        seen = Access(self._store.names, self._config).scopes(db, Caller(wish.chat_id))
        directory = self._indexes.names.index
        return whom_meant(db, sentence, seen, directory, person_id=wish.person_id, speaker=wish.speaker)

    async def _searched(self, wish: Wish, sentence: Sentence, whom: Whom) -> dict[int, float]:
        """Paragraph -> how likely search thinks that it is about the same."""
        asked = dict.fromkeys((sentence.forget or sentence.text, " ".join(sentence.denied)))
        persons = [self._indexes.names.index.row(row) for row in sorted(whom.rows)]
        only = persons[0].person_id if len(persons) == 1 and persons[0] else ""
        scores: dict[int, float] = {}
        for query, person in [(one, who) for one in asked if one for who in dict.fromkeys(("", only))]:
            given = {"query": query, "limit": MOST_CANDIDATES, "chat_id": wish.chat_id, "person_id": person}
            for hit in (await self._searches.search(KernelSearchRequest.model_validate(given))).hits:
                scores[int(hit.id[1:])] = max(scores.get(int(hit.id[1:]), 0.0), hit.score)
        return scores

    def _found_in(self, db: Connection, wish: Wish, sentence: Sentence, whom: Whom, scores: dict[int, float]) -> Found:
        now = self._clock.now()
        own: tuple[int, ...] | None = None
        if not wish.allow_global:  # a chat may change its own memories alone, however much more it may read
            row = self._store.names.chat_row(db, wish.chat_id)
            own = () if row is None else (row,)
        held: dict[int, set[str]] = {}
        if whom.rows:
            at = now if wish.held_at is None else wish.held_at
            for one in correction_rows.held(db, persons=whom.rows, scopes=own, now=now, held_at=at, limit=MOST_HELD):
                held.setdefault(one.paragraph, set()).update((one.attribute, one.kind))
        newest = correction_rows.newest(db, whom.rows, own, MOST_HELD) if wish.among is None else []
        targets = correction_rows.targets(db, {*scores, *held, *newest}, own, now)
        persons: dict[int, list[tuple[int, int]]] = {}
        for paragraph, person, role in db.run("correction_persons_of", ids=array(targets)):
            persons.setdefault(paragraph, []).append((person, role))
        directory = self._indexes.names.index
        lines = [
            (target, read_clauses(clauses_of(target.content), target, persons.get(id_, []), directory))
            for id_, target in targets.items()
        ]  # fmt: skip
        names = {fold(name) for row in map(directory.row, whom.rows) if row for name, _ in row.names} | {whom.name}
        match = _Match(sentence, whom, frozenset(names), [target.content for target, _ in lines])
        judged = [
            match.judged(t, clauses, scores.get(t.id, 0.0), frozenset(held.get(t.id, ()))) for t, clauses in lines
        ]
        return match.settled(sorted(judged, key=lambda one: (-one.score, -one.target.id)))


class _Match:
    """Compares a sentence with lines, clause by clause."""

    def __init__(self, sentence: Sentence, whom: Whom, names: frozenset[str], texts: Sequence[str]) -> None:
        self._sentence = sentence
        self._whom = whom
        self._names = names
        said, denied = " ".join(sentence.said), " ".join((*sentence.denied, sentence.forget))
        self._words = [word for part in (said, denied) for word in words_of(part)]
        values = [word for word in words_of(said) if word.type in VALUES]
        new = (
            frozenset().union(*(_terms(said[word.start : word.end]) for word in values)) if values else frozenset[str]()
        )
        named = frozenset().union(*map(_terms, names))
        self._denied = _terms(denied) - (frozenset() if sentence.forget else _terms(said)) - named
        self._matter = (_terms(said) | _terms(denied)) - self._denied - new - named
        seen = Counter(term for text in texts for term in _terms(text))
        self._weight = {
            term: (1.0 if len(term) > 1 else 0.3) * math.log1p((1 + len(texts)) / (1 + seen[term]))
            for term in self._denied | self._matter
        }  # fmt: skip
        self._topics = topics(" ".join((said, denied)))
        self._kin = [frozenset(kin(part)) for part in (*sentence.said, *sentence.denied, sentence.forget) if part]

    def judged(self, target: Target, clauses: Sequence[Clause], near: float, attributes: frozenset[str]) -> Judged:
        """How near the line is, by the clause that is nearest, or why it cannot be meant."""
        mine = [i for i, clause in enumerate(clauses) if self._is_meant(clause, clauses[:i])]
        if not mine:
            return Judged(target, near * NEAR, tuple(clauses), why=ELSE)
        if all(is_question(clause.text) for clause in clauses):
            return Judged(target, near * NEAR, tuple(clauses), why="only asks")
        scored = {i: self._score(clauses[i], target.content, near, attributes) for i in mine}
        best = max(scored.values(), key=lambda one: one[0])
        places = frozenset(i for i, one in scored.items() if one[0] >= best[0] - MARGIN / 2 and one[1] >= best[1])
        shared = frozenset(_terms(target.content) & self._matter)
        return Judged(target, best[0], tuple(clauses), places, best[1], shared)

    def _score(self, clause: Clause, line: str, near: float, attributes: frozenset[str]) -> tuple[float, float]:
        """(how near a clause is; how much of what is denied it says)."""
        text = clause.text
        terms, whole = _terms(text), _terms(line)
        denied = self._share(self._denied, terms)
        shared = 0.8 * self._share(self._matter, terms) + 0.2 * self._share(self._matter, whole)
        score = WRONG * denied + (SHARED if not self._denied else SHARED / 2) * shared + NEAR * near
        score += VALUE * values_differ(words_of(text), self._words)
        score += TOPIC * bool(topics(text, attributes) & self._topics)
        same = (
            any(clause.kin in one for one in self._kin)
            if clause.kin
            else self._sentence.first_person and speaks_of_self(text)
        )
        return score + SUBJECT * same, denied

    def _share(self, wanted: Collection[str], terms: Collection[str]) -> float:
        total = sum(self._weight[term] for term in wanted)
        return sum(self._weight[term] for term in wanted if term in terms) / total if total else 0.0

    def _is_meant(self, clause: Clause, before: Sequence[Clause]) -> bool:
        """Whether the clause is about whom the sentence is: the person, and the same of their relatives."""
        if self._whom.rows:
            if not clause.owners & self._whom.rows:
                return False
        elif self._whom.name:
            named = [i for i, one in enumerate((*before, clause)) if holds(one.text, self._whom.name)]
            if not named or (named[-1] < len(before) and clause.owners != before[named[-1]].owners):
                return False
        elif clause.owners and clause.owners <= self._whom.but:
            return False
        if not clause.kin:
            return not self._kin or frozenset() in self._kin or any(kin(clause.text).keys() & one for one in self._kin)
        if any(clause.kin in one for one in self._kin) or (
            self._sentence.forget and holds(clause.text, self._sentence.forget)
        ):
            return True
        return bool(self._whom.name) and not self._whom.rows and calls_by_name(clause, self._whom.name)

    def settled(self, judged: Sequence[Judged]) -> Found:
        """The targets: the best, and those that say the same; none where it would be a guess."""
        able = [one for one in judged if not one.why and one.score >= LEAST]
        most = max((one.denied for one in able), default=0.0)
        if self._denied:
            able = [one for one in able if one.denied >= LEAST_DENIED]
        if most >= 0.5:  # some say what is denied: the others are not meant
            able = [one for one in able if one.denied >= 0.6 * most]
        if (
            able
            and not self._whom.rows
            and len({one.owners for one in able if one.score >= able[0].score - MARGIN}) > 1
        ):
            if not self._whom.name and (self._sentence.first_person or not able[0].shared):
                return self._found(judged, (), OTHERS)
        chosen: list[Judged] = []
        for one in able:
            if not chosen or (one.score >= able[0].score - 2 * MARGIN and self._says_the_same(able[0], one)):
                chosen.append(one)
            elif one.score >= able[0].score - MARGIN and not (able[0].denied > one.denied + 0.2):
                return self._found(judged, (), SEVERAL)
        return self._found(judged, [self._changed(one) for one in chosen])

    def _says_the_same(self, one: Judged, other: Judged) -> bool:
        """Whether both lines say what is wrong: all that is denied or to be forgotten, and of the same matter."""
        if min(one.denied, other.denied) < 0.99:
            return False
        return (
            bool(one.shared & other.shared)
            or bool(self._sentence.forget)
            or (not self._matter and self._sentence.first_person)
        )

    def _found(self, judged: Sequence[Judged], chosen: Sequence[Judged], why: str = "") -> Found:
        by_id = {one.target.id: one for one in chosen}
        shown = [
            by_id.get(one.target.id) or replace(one, why=one.why or (why if one.score >= LEAST else "") or FAR)
            for one in judged
        ]
        meant = {one.owners for one in chosen}
        sure = (
            self._whom.rows if len(self._whom.rows) == 1 else next(iter(meant)) if len(meant) == 1 else frozenset[int]()
        )
        told = bool(self._whom.rows or self._whom.name)
        return Found(self._sentence, tuple(shown), next(iter(sure)) if len(sure) == 1 else None, told, bool(why))

    def _changed(self, one: Judged) -> Judged:
        """The line with what becomes of it: corrected in its own words where that is safe, else without what is wrong."""
        parts, words = [clause.text for clause in one.clauses], ""
        said = self._sentence
        if not said.forget:
            for place in sorted(one.places):
                if found := reworded(parts[place], said, self._names):
                    wrong, right, parts[place] = found
                    return replace(one, wrong=wrong, right=right, becomes="".join(parts))
        if said.forget or not said.said:
            listed = [
                parts[p][w.start : w.end]
                for p in one.places
                for w in words_of(parts[p])
                if w.form in {x.form for x in self._words}
            ]
            words = listed[-1] if listed else ""
        places = one.places if words else {
            i for i, clause in enumerate(one.clauses) if i in one.places or (self._matter | self._denied) & _terms(clause.text)
        }  # fmt: skip
        wrong = "".join(parts[place] for place in sorted(one.places)).strip().rstrip(",，。.;；")
        return replace(one, wrong=wrong, becomes=without(parts, places, words))


def _terms(text: str) -> frozenset[str]:
    """What of a text is compared: its terms without those of fillers."""
    fillers = data()["fillers"]
    small, words = frozenset(fillers["zh"]), frozenset(fillers["words"])
    return frozenset(
        term for term in tokens(text) if term not in words and not (term[0] > "\x7f" and set(term) & small)
    )


def unreadable() -> InvalidRequest:
    """What reads as no correction, and is near nothing that is stored."""
    return InvalidRequest(
        "text: cannot be read as a correction. Say what is wrong and what is right, such as "
        "“林澈不住在上海，他住在杭州”, “Mia doesn't work at Google any more, she works at Stripe”, "
        "or what to forget: “忘掉我喜欢咖啡”. To forget all that is known of a person, use memory_delete_admin with "
        "mode `person`.",
        field="text",
    )
