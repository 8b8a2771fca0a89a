"""What a correction is about: the lines that it is nearest to in meaning and words, and what becomes of each."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ..clock import Clock
from ..config.model import Config
from ..errors import InvalidRequest
from ..facts.succession import MemUpdateChecker
from ..facts.succession import said as taken_apart
from ..indexes.projections import Indexes
from ..language.normalise import fold, is_mostly_cjk, tokens
from ..language.times import asks_something
from ..lazy_regex import lazy_regex
from ..search.operations import KernelSearchRequest
from ..search.service import SearchService
from ..store.access import Access, Caller
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from ..store.queries import array
from ..store.rows import paragraphs as paragraph_rows
from ..store.rows.paragraphs import ParagraphRow
from . import rows as correction_rows
from .person import (
    Clause,
    Whom,
    calls_by_name,
    named_in_full,
    read_clauses,
    speaks_of_another,
    speaks_of_self,
    subject_kin,
    whom_meant,
)
from .sentence import SPELLING, Sentence, data, fillers, kin, negation, read_sentence, topics
from .wording import (
    VALUES,
    clauses_of,
    holds,
    in_list,
    other_value,
    reworded,
    spelt_otherwise,
    values_differ,
    without,
    words_of,
)

__all__ = ["ELSE", "MOST_CANDIDATES", "CorrectionFinder", "Found", "Judged", "Wish", "unreadable"]

MOST_CANDIDATES, MOST_HELD, MOST_COMPARED = 20, 200, 50
ELSE, OTHERS = "is about somebody else", "may be about several persons: say which one (person_id)"
SEVERAL = "may be one of several: say more of which one"
FAR = "says something else"
RIGHT = "says already what is right"
WRONG, SHARED, VALUE, TOPIC, SUBJECT, NEAR = 1.0, 0.8, 0.3, 0.45, 0.25, 0.3
"""What counts for a clause: words that are denied, other words, a value of the same type, the matter, the same subject, and
what search thinks of the line."""
LEAST_DENIED, ALL_DENIED, HALF = 0.34, 0.75, 0.5
"""How much of what is denied a target has to say, how much without anything else, and how much of the rest where nothing is
denied."""
LEAST, MARGIN = 0.42, 0.12
"""The least score of a target, and how much better than another it has to be to be the only one."""

LEAST_NEAR, NEAR_MARGIN, SPELT, LASTING = 0.24, 0.1, 0.3, 0.2
"""The same where meaning decides: the least, how much better than any other, what a name in another spelling counts, and how
lasting a sentence is at least that does not show that it corrects something."""
NEAR_NEGATION = 3
"""Characters between a Chinese negation and what it denies."""
_THIRD_PERSON = lazy_regex(r"(?<=[A-Za-z]{3})(?<![sSuU])s\b")
_PREPOSITION = lazy_regex("^[叫在住是对用去到姓属有养]")
_FROM_TO = lazy_regex(r"从.+[到去进了]|离开.+去|\b(?:from|left|quit|leaving)\b.+\b(?:to|for|and joined|joined)\b", re.I)
_EXISTS = lazy_regex(
    r"there(?:'s| is| are| was| were)\b|[^我，]{0,4}(?:楼下|楼上|隔壁|路边|路上|门口|小区|街上|外面|[一二三四五六七八九十\d]楼)[^，]{0,3}有",
    re.I,
)
_UNMARKED = lazy_regex(r"(?:[在去到从]哪[里儿]?|咋|怎么)[^\W\d_]{0,2}\W*$")
"""How a Chinese question ends that was typed without its mark."""
_LIGHT = lazy_regex("喜欢|现在|目前|其实|应该|已经|早就|真的|我们|他们|不是|名字|号码")
"""Chinese fillers, which are told from the words beside them here."""


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

    target: ParagraphRow
    score: float
    clauses: tuple[Clause, ...] = ()
    places: frozenset[int] = frozenset()
    denied: float = 0.0
    shared: frozenset[str] = frozenset()
    wrong: str = ""
    right: str = ""
    exchange: tuple[str, str] | None = None
    """A value or a spelling of the line, and the one that the sentence gives in its place."""
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
    by_meaning: bool = False
    """Whether what is chosen is only the nearest in meaning: its words do not show that it is meant."""

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
        self, store: MetadataStore, *, config: Config, searches: SearchService, indexes: Indexes, clock: Clock,
        checker: MemUpdateChecker,
    ) -> None:  # fmt: skip
        self._store = store
        self._config = config
        self._searches = searches
        self._indexes = indexes
        self._clock = clock
        self._checker = checker

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
        match, found = await self._store.read(lambda db: self._found_in(db, wish, sentence, whom, scores))
        if found.chosen or (found.asks and not match.asks_which) or wish.among is not None or sentence.forget:
            return found
        clauses = match.own_clauses(found.judged)
        compared = await self._checker.likeness(sentence.text, [clause.text for _, _, clause in clauses])
        return match.nearest(found, clauses, compared)

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

    def _found_in(
        self, db: Connection, wish: Wish, sentence: Sentence, whom: Whom, scores: dict[int, float]
    ) -> tuple[_Match, Found]:
        now = self._clock.now()
        own: tuple[int, ...] | None = None
        if not wish.allow_global:  # a chat may change its own memories alone, however much more it may read
            row = self._store.names.chat_row(db, wish.chat_id)
            own = () if row is None else (row,)
        held: list[int] = []
        if whom.rows:
            at = now if wish.held_at is None else wish.held_at
            held = correction_rows.held(db, persons=whom.rows, scopes=own, now=now, held_at=at, limit=MOST_HELD)
        newest = correction_rows.newest(db, whom.rows, own, MOST_HELD) if wish.among is None else []
        targets = paragraph_rows.shown(db, {*scores, *held, *newest}, own, now)
        persons: dict[int, list[tuple[int, int]]] = {}
        for paragraph, person, role in db.run("correction_persons_of", ids=array(targets)):
            persons.setdefault(paragraph, []).append((person, role))
        directory = self._indexes.names.index
        lines = [
            (target, read_clauses(clauses_of(target.content), target, persons.get(id_, []), directory))
            for id_, target in targets.items()
        ]  # fmt: skip
        names = {fold(name) for row in map(directory.row, whom.rows) if row for name, _ in row.names} | {whom.name}
        others = [name for name in directory.find(sentence.text, own).names if fold(name) not in names]
        match = _Match(sentence, whom, frozenset(names - {""}), others, [target.content for target, _ in lines])
        judged = [match.judged(t, clauses, scores.get(t.id, 0.0)) for t, clauses in lines]
        return match, match.settled(sorted(judged, key=lambda one: (-one.score, -one.target.id)))


class _Match:
    """Compares a sentence with lines, clause by clause."""

    def __init__(
        self, sentence: Sentence, whom: Whom, names: frozenset[str], others: Collection[str], texts: Sequence[str]
    ) -> None:
        """`names` are those of whom it is about, `others` of whoever else it names, `texts` what it is compared with."""
        self._sentence = sentence
        self._whom = whom
        self._names = names
        not_so = [*sentence.denied, *([sentence.forget] if sentence.forget else [])]
        seen = Counter(term for text in texts for term in _terms(text))
        named = _terms(" ".join((*names, *others)))
        # what ends ("we sold the van") or is so of somebody else ("Dave has two kids, I have one") is wrong where a line says it
        also = dict(sentence.ended)
        if any(speaks_of_self(part) and not subject_kin(part) for part in (*sentence.said, *not_so)):
            about_others = [part for part in sentence.said if kin(part) or any(holds(part, one) for one in others)]
            also |= {part: part for part in about_others if not speaks_of_self(part) or subject_kin(part)}
        said = frozenset[str]().union(*(_terms(part) for part in sentence.said if part not in also))
        kept = frozenset[str]() if sentence.forget else said
        self._denied = [terms for part in not_so if (terms := _terms(part) - kept - named)]
        if sentence.forget and not self._denied:  # somebody is called so
            self._denied = [terms] if (terms := _terms(sentence.forget)) else []
        if not sentence.forget:  # of a relative, what is said of them counts
            of_kin = _terms(" ".join(part[a:b] for part in not_so for a, b in kin(part).values()))
            self._denied = [terms - of_kin or terms for terms in self._denied]
        for part in also.values():
            terms = _terms(part) - said - named - _terms(" ".join(part[a:b] for a, b in kin(part).values()))
            self._denied += [terms] if not terms.isdisjoint(seen) else []
        every = frozenset[str]().union(*self._denied)
        values = [part[w.start : w.end] for part in sentence.said for w in words_of(part) if w.type in VALUES]
        relatives = (
            [] if sentence.forget else [part[a:b] for part in (*sentence.said, *not_so) for a, b in kin(part).values()]
        )
        told = frozenset[str]().union(*map(_terms, (*sentence.said, *not_so)))
        self._matter = told - every - named - _terms(" ".join((*values, *relatives)))
        self._words = [word for part in sentence.said or not_so for word in words_of(part)]
        self._weight = {
            term: (1.0 if len(term) > 1 else 0.5) * math.log1p((1 + len(texts)) / (1 + (seen[term] or 1)))
            for term in every | self._matter
        }  # fmt: skip
        known = {word.form for part in not_so for word in words_of(part)} | names
        fresh = (
            part[word.start : word.end] if word.type else _PREPOSITION.sub("", part[word.start : word.end])
            for part in sentence.said if not_so and part not in also
            for word in words_of(part) if not (word.filler or word.form in known)
        )  # fmt: skip
        self._right = frozenset(word for word in fresh if word)
        """Words for what is right, where it says what is not so as well."""
        spelt = any(get_close_matches(word.lower(), every, 1, 0.7) for word in self._right if word.isascii())
        self._is_spelling = spelt or SPELLING.search(sentence.text) is not None
        self._frame = self._matter - _terms(" ".join(self._right))
        self._topics = topics(" ".join((*sentence.said, *not_so)))
        self._kin = [frozenset(kin(part)) for part in (*sentence.said, *not_so)]
        self._kin_named = frozenset[str]().union(*self._kin)
        self.asks_which = False
        """Whether several lines are meant as likely by their words, so that their meaning has to tell."""
        apart = taken_apart(sentence.text)
        self._cues, self._kind, self._durable = apart.cues, apart.kind, apart.durable
        self._changes = bool(self._cues["change"] or self._cues["end"])
        self._beside = not sentence.cued and bool(self._cues["also"] or self._cues["moment"])
        """Whether it tells of something else besides, or of a moment."""
        self._subjects = {subject_kin(part) for part in (*sentence.said, *not_so)}

    def judged(self, target: ParagraphRow, clauses: Sequence[Clause], near: float) -> Judged:
        """How near the line is, by the clause that is nearest, or why it cannot be meant."""
        mine = [i for i, clause in enumerate(clauses) if self._is_meant(clause, clauses[:i])]
        if not mine:
            return Judged(target, near * NEAR, tuple(clauses), why=ELSE)
        mine = [i for i in mine if not _asks(clauses[i].text)]
        if not mine:
            return Judged(target, near * NEAR, tuple(clauses), why="only asks")
        mine = [i for i in mine if not self._is_denied(clauses[i].text)]
        if not mine or fold(self._sentence.text) in fold(target.content):
            return Judged(target, near * NEAR, tuple(clauses), why="says itself that it is not so")
        if _FROM_TO.search(target.content) and self._is_right(target.content):
            return Judged(target, near * NEAR, tuple(clauses), why=RIGHT)
        scored = {i: self._score(clauses[i], target.content, near) for i in mine}
        most, denied, enough = max(scored.values(), key=lambda one: (one[2], one[0]))
        places = frozenset(i for i, one in scored.items() if one[0] >= most - MARGIN / 2 and one[1] >= denied)
        shared = frozenset(_terms(target.content) & self._matter)
        return Judged(target, most, tuple(clauses), places, denied, shared, why="" if enough else FAR)

    def _score(self, clause: Clause, line: str, near: float) -> tuple[float, float, bool]:
        """(how near a clause is; how much of what is denied it says; whether it can be what is meant)."""
        text, terms = clause.text, _terms(clause.text)
        denied = max((self._share(part, terms) for part in self._denied), default=0.0)
        shared = 0.8 * self._share(self._matter, terms) + 0.2 * self._share(self._matter, _terms(line))
        differs = values_differ(words_of(text), self._words)
        same = clause.kin in self._subjects if clause.kin else self._sentence.first_person and speaks_of_self(text)
        topic = bool(topics(text) & self._topics)
        score = WRONG * denied + (SHARED / 2 if self._denied else SHARED) * shared + VALUE * differs
        score += TOPIC * topic + SUBJECT * same + NEAR * near
        if self._denied:
            bare = not self._matter or not self._sentence.said
            least = HALF if self._sentence.forget else LEAST_DENIED
            enough = denied >= ALL_DENIED or (denied >= least and (topic or same or shared > 0 or bare))
            enough = enough and not (self._right and self._only_mentions(text))
        else:
            contradicts = shared >= HALF and (self._sentence.cued or self._changes or self._is_of_the_same_kind(text))
            enough = not self._beside and bool(topic or contradicts or (differs and (shared > 0 or same)))
        return score, denied, enough

    def _is_right(self, text: str) -> bool:
        """Whether a text says what is right."""
        telling = any(len(word) > 1 and not word.isdigit() for word in self._right)  # another line may hold a 3 as well
        return telling and all(holds(text, word) for word in self._right)

    def _listed(self, clause: str) -> str:
        """A word of the clause that is denied, and is one thing of a list beside what is right."""
        denied = frozenset[str]().union(*self._denied)
        words = (clause[word.start : word.end] for word in words_of(clause))
        return next((word for word in words if not _terms(word).isdisjoint(denied) and in_list(clause, word)), "")

    def _is_of_the_same_kind(self, clause: str) -> bool:
        """Whether both say something lasting, of one kind."""
        apart = taken_apart(clause)
        lasting = self._durable >= LASTING and not apart.cues["moment"] and not _EXISTS.match(clause.lstrip())
        return lasting and (apart.kind == self._kind or self._durable >= 3 * LASTING)

    def _only_mentions(self, clause: str) -> bool:
        """Whether a clause names what is denied, and speaks of another matter, or of what happened once."""
        if _EXISTS.match(clause.lstrip()) and not _EXISTS.match(self._sentence.text):
            return True
        if not self._topics or topics(clause) & self._topics or self._kin_named & kin(clause).keys():
            return False
        same = any(holds(clause, word) for word in self._right) or not self._frame.isdisjoint(_terms(clause))
        if self._is_spelling or same:
            return False
        apart = taken_apart(clause)
        return not apart.kind or apart.kind != self._kind or bool(apart.cues["moment"] and not self._cues["moment"])

    def _may_be_of(self, clause: Clause) -> bool:
        """Whether a clause about a relative may be meant: the sentence is about them too, or names nobody."""
        if self._whom.name:
            return holds(clause.text, self._whom.name) or clause.kin in self._subjects
        return clause.kin in self._subjects or not (self._kin_named or self._sentence.first_person)

    def _is_denied(self, clause: str) -> bool:
        """Whether a clause says of what is denied that it is not so."""
        at = negation(clause)
        if at is None or self._sentence.forget:
            return False
        every = frozenset[str]().union(*self._denied)
        said = [word for word in words_of(clause) if not every.isdisjoint(_terms(clause[word.start : word.end]))]
        near = NEAR_NEGATION if is_mostly_cjk(clause) else len(clause)
        return any(
            at - word.end <= near if word.end <= at and is_mostly_cjk(clause) else 0 <= word.start - at <= near
            for word in said
        )

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
        if not clause.kin or (
            not self._whom.name and speaks_of_another(self._sentence.text) and frozenset() in self._kin
        ):
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
        if most >= 0.5:  # some say what is denied: the others are not meant
            able = [one for one in able if one.denied >= 0.6 * most]
        if (
            not self._whom.rows
            and len({one.owners for one in able if one.denied >= 0.5 or one.score >= able[0].score - MARGIN}) > 1
        ):
            of_kin = any(one.clauses[place].kin for one in able for place in one.places)
            if of_kin if self._whom.name else (self._sentence.first_person or not able[0].shared):
                return self._found(judged, (), OTHERS)
        chosen: list[Judged] = []
        for one in able:
            near = one.score >= able[0].score - MARGIN or bool(self._sentence.forget)
            if not chosen or (near and self._says_the_same(able[0], one)):
                chosen.append(one)
            elif one.score >= able[0].score - MARGIN and not (able[0].denied > one.denied + 0.2):
                self.asks_which = True
                return self._found(judged, (), SEVERAL)
        return self._found(judged, [self._changed(one) for one in chosen])

    def own_clauses(self, judged: Sequence[Judged]) -> list[tuple[Judged, int, Clause]]:
        """The statements about whom the sentence is, and their relatives, in the newest lines."""
        return [
            (one, place, clause)
            for one in sorted(judged, key=lambda one: -one.target.id)[:MOST_COMPARED]
            for place, clause in enumerate(one.clauses)
            if (clause.owners & self._whom.rows or (self._whom.name and holds(clause.text, self._whom.name)))
            and not _asks(clause.text)
            and one.why != RIGHT
            and not (self._right and self._only_mentions(clause.text))
            and not (_EXISTS.match(clause.text.lstrip()) and not _EXISTS.match(self._sentence.text))
        ]

    def nearest(
        self, found: Found, clauses: Sequence[tuple[Judged, int, Clause]], compared: Sequence[tuple[float, float]]
    ) -> Found:
        """The clause that is nearest in meaning, or has the only value of the same type, where the sentence is news of it."""
        said, text = self._sentence, self._sentence.text
        of_another = speaks_of_another(text) and not said.first_person and not self._kin_named
        changes = self._changes
        ranked: list[tuple[float, bool, Judged]] = []
        for (one, place, clause), (near, over) in zip(clauses, compared, strict=True):
            differs = values_differ(words_of(clause.text), self._words)
            named = said.exchange is not None and holds(clause.text, said.exchange[0])
            spelt = said.exchange if named else spelt_otherwise(clause.text, text)
            score = near + VALUE * differs + 0.1 * over + 0.1 * (of_another and bool(clause.kin)) + SPELT * bool(spelt)
            topic = topics(clause.text)
            lasts = self._durable >= LASTING and (over >= 0.8 or near >= 0.55)
            news = differs or said.cued or spelt or changes or lasts
            able = news and score >= LEAST_NEAR and (near == 0 or near >= 0.22 or spelt)
            able = able and (over >= 0.8 or not self._beside or (differs and (changes or not self._cues["moment"])))
            elsewhere = topic and self._topics and not topic & self._topics and not differs
            able = bool(able) and (not clause.kin or self._may_be_of(clause)) and not elsewhere
            exchange = spelt or (None if said.first_person or self._kin_named else other_value(clause.text, text))
            ranked.append(
                (score, able, replace(one, score=score, places=frozenset({place}), exchange=exchange, why=""))
            )
        ranked.sort(key=lambda one: -one[0])
        if not ranked or not ranked[0][1]:
            return found
        score, _, best = ranked[0]
        if any(score - other < NEAR_MARGIN for other, _, one in ranked if one.target.id != best.target.id):
            return found
        alike = {
            place for (one, place, _), (near, _) in zip(clauses, compared, strict=True)
            if one.target.id == best.target.id and near >= LEAST_NEAR
        }  # fmt: skip
        best = self._changed(replace(best, places=best.places | alike))  # what it says besides of the same is as wrong
        if of_another and not best.right:  # she's in Madrid now, of "my sister lives in Porto"
            clause = next(best.clauses[place] for place in sorted(best.places))
            self._sentence = replace(said, text=named_in_full(text, clause))
        return replace(self._found(found.judged, [best]), by_meaning=True, asks=False)

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
        parts = [clause.text for clause in one.clauses]
        said = self._sentence
        if not said.forget:
            for place in sorted(one.places):
                exchanged = replace(said, exchange=one.exchange) if one.exchange else said
                if found := reworded(parts[place], exchanged, self._names):
                    wrong, right, parts[place] = found
                    return replace(one, wrong=wrong, right=right, becomes="".join(parts))
        words = next(filter(None, (self._listed(parts[place]) for place in one.places)), "") if self._right else ""
        if said.forget or not said.said:
            listed = [
                parts[p][w.start : w.end]
                for p in one.places
                for w in words_of(parts[p])
                if w.form in {x.form for x in self._words}
            ]
            words = next((word for word in listed if any(in_list(parts[place], word) for place in one.places)), "")
        places = one.places if words else {
            i for i, clause in enumerate(one.clauses) if i in one.places
            or (any(len(term) > 1 for term in self._weight.keys() & _terms(clause.text)) and not self._is_right(clause.text))
        }  # fmt: skip
        wrong = "".join(parts[place] for place in sorted(one.places)).strip().rstrip(",，。.;；")
        return replace(one, wrong=wrong, becomes=without(parts, places, words))


def _terms(text: str) -> frozenset[str]:
    """What of a text is compared: its terms without those of fillers."""
    particles = frozenset(data()["fillers"]["zh"])
    bare = _LIGHT.sub(" ", _THIRD_PERSON.sub("", text))
    return frozenset(
        term for term in tokens(bare) if term not in fillers() and not (term[0] > "\x7f" and set(term) & particles)
    )


def _asks(clause: str) -> bool:
    """Whether a clause is a question, which says nothing that could be wrong."""
    return asks_something(clause) or _UNMARKED.search(clause) is not None


def unreadable() -> InvalidRequest:
    """What reads as no correction, and is near nothing that is stored."""
    return InvalidRequest(
        "text: cannot be read as a correction. Say what is wrong and what is right, such as "
        "“林澈不住在上海，他住在杭州”, “Mia doesn't work at Google any more, she works at Stripe”, "
        "or what to forget: “忘掉我喜欢咖啡”. To forget all that is known of a person, use memory_delete_admin with "
        "mode `person`.",
        field="text",
    )
